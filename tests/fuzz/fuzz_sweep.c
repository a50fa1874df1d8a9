/* libFuzzer target: any bytes as a sweep of the tiny workload. What is refused is explained; what
 * is taken makes a point of every number that is tried, or says why there is none. */
#include "fuzz_target.h"
#include "search/sweep.h"

enum { POINTS_TRIED = 4 };

static void try_point(ms_sweep *sweep, size_t point, ms_arena *arena, ms_diag *diag) {
    ms_point made;
    diag->errors = 0;
    ms_status status = ms_sweep_make(sweep, point, arena, diag, &made);
    require((status == MS_OK) == (diag->errors == 0));
    require(made.settings.count == sweep->key_count + sweep->fixed.count);
    for (size_t key = 0; key < sweep->key_count; key++) {
        require(ms_sweep_value(sweep, point, key) != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char HEAD[] = "workload: " MS_SOURCE_DIR "/workloads/tiny.yaml\n";
    ms_arena arena;
    ms_diag diag;
    ms_sweep sweep;
    ms_arena_init(&arena);
    ms_diag_init(&diag, discard, NULL);
    uint8_t *text = ms_arena_alloc(&arena, sizeof HEAD + size, 1);
    memcpy(text, HEAD, sizeof HEAD - 1);
    if (size > 0) {
        memcpy(text + sizeof HEAD - 1, data, size);
    }
    memory_file file = memory_file_open(text, sizeof HEAD - 1 + size);
    ms_status status = ms_sweep_read(file.path, MS_SOURCE_DIR, &arena, &diag, &sweep);
    memory_file_close(&file);
    require((status == MS_OK) == (diag.errors == 0));
    for (size_t i = 0; i < POINTS_TRIED && status == MS_OK; i++) {
        try_point(&sweep, i * (sweep.count - 1) / (POINTS_TRIED - 1), &arena, &diag);
    }
    ms_arena_release(&arena);
    return 0;
}
