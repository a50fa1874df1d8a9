/* libFuzzer target: any text as a list expression of --moe-layer-freq, and as a schedule of
 * batches. What is read can be written as a list and read again; what is refused is explained. */
#include <string.h>

#include "fuzz_target.h"
#include "meshsim/megatron.h"

static void check_list(const ms_ints *values, ms_arena *arena, ms_diag *diag) {
    ms_buffer text;
    ms_ints again;
    ms_buffer_init(&text);
    for (size_t i = 0; i < values->count; i++) {
        ms_buffer_printf(&text, "%s%d", i == 0 ? "[" : ", ", values->items[i]);
    }
    ms_buffer_puts(&text, values->count == 0 ? "[]" : "]");
    require(ms_megatron_read_pattern(ms_buffer_text(&text), NULL, arena, diag, &again) == MS_OK);
    require(again.count == values->count);
    require(again.count == 0 || memcmp(again.items, values->items, again.count * sizeof(int)) == 0);
    ms_buffer_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ms_arena arena;
    ms_diag diag;
    ms_ints values;
    ms_arena_init(&arena);
    ms_diag_init(&diag, discard, NULL);
    const char *text = size == 0 ? "" : ms_arena_strndup(&arena, (const char *)data, size);
    ms_status status = ms_megatron_read_pattern(text, NULL, &arena, &diag, &values);
    require((status == MS_OK) == (diag.errors == 0));
    if (status == MS_OK && values.count < 1000) {
        check_list(&values, &arena, &diag);
    }
    diag.errors = 0;
    status = ms_megatron_read_steps(text, NULL, &arena, &diag, &values);
    require((status == MS_OK) == (diag.errors == 0));
    require(status != MS_OK || values.count > 0);
    ms_arena_release(&arena);
    return 0;
}
