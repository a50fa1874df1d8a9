/* libFuzzer target: any bytes as a schedule file. What is read can be written, read again and
 * lowered; what is refused is explained. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "meshsim/schedule_csv.h"

static void discard(void *context, const char *text) {
    (void)context;
    (void)text;
}

static void require(int claim) {
    if (!claim) {
        abort();
    }
}

/* Writing what was read, and reading that, changes nothing more. */
static void check_table(const ms_csv_table *table, ms_arena *arena, ms_diag *diag) {
    ms_buffer once;
    ms_buffer twice;
    ms_buffer_init(&once);
    ms_buffer_init(&twice);
    ms_csv_write(table, &once);
    ms_csv_table again;
    if (once.length > 0 &&
        ms_csv_read(ms_buffer_text(&once), once.length, "again", arena, diag, &again) == MS_OK) {
        ms_csv_write(&again, &twice);
        require(strcmp(ms_buffer_text(&once), ms_buffer_text(&twice)) == 0);
    }
    ms_buffer_release(&once);
    ms_buffer_release(&twice);
}

/* A program lowers, and the lowered file holds the same program. */
static void check_program(const ms_program *program, ms_arena *arena, ms_diag *diag) {
    require(ms_program_check(program, diag) == MS_OK);
    ms_csv_form form = {.has_sends = true, .has_shards = true};
    ms_csv_table table;
    require(ms_csv_lower(program, &form, arena, diag, &table) == MS_OK);
    ms_program again;
    require(ms_csv_program(&table, "again", arena, diag, &again) == MS_OK);
    require(ms_program_crc32(&again) == ms_program_crc32(program));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ms_arena arena;
    ms_diag diag;
    ms_csv_table table;
    ms_program program;
    ms_arena_init(&arena);
    ms_diag_init(&diag, discard, NULL);
    ms_status status = ms_csv_read((const char *)data, size, "fuzz", &arena, &diag, &table);
    if (status == MS_OK) {
        check_table(&table, &arena, &diag);
        diag.errors = 0;
        status = ms_csv_program(&table, "fuzz", &arena, &diag, &program);
    }
    require((status == MS_OK) == (diag.errors == 0));
    if (status == MS_OK) {
        check_program(&program, &arena, &diag);
    }
    ms_arena_release(&arena);
    return 0;
}
