/* libFuzzer target: the resolved inputs of two traces, any two texts with a NUL between them, told
 * apart by `meshsim compare`. What is refused is explained, no default is told that is the same on
 * both sides, and a text differs from itself in nothing. */
#include <string.h>

#include "fuzz_target.h"
#include "search/compare.h"

static ms_status compare(const char *a, const char *b, ms_arena *arena, ms_diag *diag,
                         ms_differences *defaults) {
    const ms_trace first = {.path = "a.h5", .inputs.resolved = a};
    const ms_trace second = {.path = "b.h5", .inputs.resolved = b};
    ms_differences inputs = {.count = 0};
    diag->errors = 0;
    ms_status status = ms_compare_defaults(&first, &second, arena, diag, &inputs, defaults);
    require(status == (diag->errors == 0 ? MS_OK : MS_E_INPUT));
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ms_arena arena;
    ms_diag diag;
    ms_differences defaults = {.count = 0};
    ms_arena_init(&arena);
    ms_diag_init(&diag, discard, NULL);
    char *texts = ms_arena_alloc(&arena, size + 2, 1);
    require(texts != NULL);
    if (size > 0) {
        memcpy(texts, data, size);
    }
    texts[size] = texts[size + 1] = '\0';
    const char *second = texts + strlen(texts) + 1;
    second = second > texts + size ? "" : second;
    if (compare(texts, second, &arena, &diag, &defaults) == MS_OK) {
        for (size_t i = 0; i < defaults.count; i++) {
            const ms_difference *one = &defaults.items[i];
            require(one->a != NULL || one->b != NULL);
            require(one->a == NULL || one->b == NULL ||
                    strcmp(one->a->as.string, one->b->as.string) != 0);
        }
        require(compare(texts, texts, &arena, &diag, &defaults) == MS_OK);
        require(defaults.count == 0);
    }
    ms_arena_release(&arena);
    return 0;
}
