/* libFuzzer target: any bytes as what varies in a search of the tiny workload. What is refused is
 * explained; what is taken makes a job of every number that is tried, or says why there is none,
 * and its settings make the same job of the workload. */
#include "fuzz_target.h"
#include "search/space.h"
#include "spec_equal.h"

enum { CANDIDATES_TRIED = 4 };

/* The job that the settings of a candidate make must be that of the candidate. */
static void compare(const ms_space *space, int64_t index, const ms_job_request *job,
                    const ms_job_spec *spec, ms_arena *arena) {
    ms_words settings;
    ms_job_spec read;
    ms_diag mute;
    ms_diag_init_mute(&mute);
    require(ms_space_settings(space, index, arena, &settings) == MS_OK);
    ms_job_request request = *job;
    request.sets = settings.items;
    request.set_count = settings.count;
    require(ms_job_spec_read(&request, arena, &mute, &read) == MS_OK);
    require(spec_is_equal(spec, &read));
}

static void try_candidate(ms_space *space, int64_t index, const ms_job_request *job,
                          ms_arena *arena) {
    ms_job_spec spec;
    ms_diag mute;
    ms_diag_init_mute(&mute);
    ms_status status = ms_space_spec(space, index, &mute, &spec);
    require(status == MS_OK || status == MS_E_NO || status == MS_E_INPUT || status == MS_E_USAGE ||
            status == MS_E_IO);
    if (status == MS_OK) {
        compare(space, index, job, &spec, arena);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const ms_job_request job = {.workload = MS_SOURCE_DIR "/workloads/tiny.yaml",
                                .data_folder = MS_SOURCE_DIR};
    ms_space_request request = {.job = &job};
    ms_space *space = NULL;
    ms_arena arena;
    ms_diag diag;
    ms_arena_init(&arena);
    ms_diag_init(&diag, discard, NULL);
    memory_file file = memory_file_open(data, size);
    ms_status status = ms_space_read_file(file.path, &arena, &diag, &request);
    memory_file_close(&file);
    require((status == MS_OK) == (diag.errors == 0));
    if (status == MS_OK) {
        status = ms_space_open(&request, &arena, &diag, &space);
        require((status == MS_OK) == (diag.errors == 0));
    }
    int64_t count = status == MS_OK ? ms_space_count(space) : 0;
    for (int64_t i = 0; i < CANDIDATES_TRIED && count > 0; i++) {
        try_candidate(space, i * (count - 1) / (CANDIDATES_TRIED - 1), &job, &arena);
    }
    ms_arena_release(&arena);
    return 0;
}
