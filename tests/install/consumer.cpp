// A stranger's program in C++: every public header, the same step as consumer.c.
// usage: consumer WORKLOAD.yaml DATA_FOLDER TRACE.h5
#include "headers.h" // tests/install/check writes it: all that is installed

#include <cstdio>

int main(int argc, char **argv) {
    if (argc != 4) {
        return 2;
    }
    ms_arena arena;
    ms_arena_init(&arena);
    ms_diag diag;
    ms_diag_init_stderr(&diag);
    ms_job job;
    ms_result result;
    ms_job_request request = ms_job_request();
    request.workload = argv[1];
    request.data_folder = argv[2];
    ms_status status = ms_job_load(&request, &arena, &diag, &job);
    if (status == MS_OK) {
        status = ms_job_run(&job, &arena, &diag, &result);
        if (status == MS_OK) {
            status = ms_trace_write(argv[3], &result, "consumer", &diag);
        }
        if (status == MS_OK) {
            std::printf("%.17g\n", result.metrics.step_time_s);
        }
        ms_result_release(&result);
    }
    ms_arena_release(&arena);
    return ms_status_exit_code(status);
}
