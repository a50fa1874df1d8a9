/* libFuzzer target: any bytes as a schedule file. What is read can be written, read again and
 * lowered; what is refused is explained. */
#include <string.h>

#include "fuzz_target.h"
#include "schedule/schedule_csv.h"

/* A table is written as it was read. */
static void check_table(const ms_csv_table *table, const uint8_t *data, size_t size) {
    ms_buffer text;
    ms_buffer_init(&text);
    ms_csv_write(table, &text);
    require(text.length == size && memcmp(ms_buffer_text(&text), data, size) == 0);
    ms_buffer_release(&text);
}

/* A program lowers, and the lowered table, and its text read again, hold the same program. */
static void check_program(const ms_program *program, ms_arena *arena, ms_diag *diag) {
    require(ms_program_check(program, diag) == MS_OK);
    ms_csv_form form = {.has_sends = true, .has_shards = true};
    ms_csv_table table;
    require(ms_csv_lower(program, &form, arena, diag, &table) == MS_OK);
    ms_program again;
    int splits = program->spec.slices;
    require(ms_csv_program(&table, "again", splits, arena, diag, &again) == MS_OK);
    require(ms_program_crc32(&again) == ms_program_crc32(program));
    ms_buffer text;
    ms_buffer_init(&text);
    ms_csv_write(&table, &text);
    require(ms_csv_read(ms_buffer_text(&text), text.length, "text", arena, diag, &table) == MS_OK);
    require(ms_csv_program(&table, "text", splits, arena, diag, &again) == MS_OK);
    require(ms_program_crc32(&again) == ms_program_crc32(program));
    ms_buffer_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ms_arena arena;
    ms_diag diag;
    ms_csv_table table;
    ms_program program;
    ms_arena_init(&arena);
    ms_diag_init(&diag, discard, NULL);
    ms_status status = ms_csv_read((const char *)data, size, "fuzz", &arena, &diag, &table);
    for (int splits = 1; status == MS_OK && splits <= 2; splits++) {
        check_table(&table, data, size);
        diag.errors = 0;
        bool is_program = ms_csv_program(&table, "fuzz", splits, &arena, &diag, &program) == MS_OK;
        require(is_program == (diag.errors == 0));
        if (is_program) {
            check_program(&program, &arena, &diag);
        }
    }
    require(status == MS_OK || diag.errors > 0);
    ms_arena_release(&arena);
    return 0;
}
