/* libFuzzer target: any bytes as a table of measured steps. What is refused is explained; what is
 * read can be replayed, as it is and with changes. */
#include "fuzz_target.h"
#include "search/recorded/recorded.h"

static void exercise(const char *path, ms_arena *arena) {
    static const char *const LEFT_OUT[] = {"dp=0"};
    ms_recorded_whatif request = {.name = "", .transfer_factor = 0.5, .replicas = 1};
    ms_diag diag;
    ms_recorded *job = NULL;
    ms_value *tree = NULL;
    ms_diag_init(&diag, discard, NULL);
    ms_status status = ms_recorded_read(path, 0, arena, &diag, &job);
    require((status == MS_OK) == (diag.errors == 0) && status != MS_E_BUG);
    if (status == MS_OK) {
        require(ms_recorded_study(job, &request, arena, &diag, &tree) == MS_OK);
        request.left_out = LEFT_OUT;
        request.left_out_count = 1;
        status = ms_recorded_study(job, &request, arena, &diag, &tree);
        require(status == MS_OK || status == MS_E_INPUT);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return exercise_file(data, size, exercise);
}
