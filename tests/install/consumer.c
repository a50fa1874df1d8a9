/* A stranger's program: uses the installed headers and library, found with pkg-config alone.
 * usage: consumer WORKLOAD.yaml DATA_FOLDER TRACE.h5 */
#include <stdio.h>

#include <meshsim/job.h>
#include <meshsim/summary.h>
#include <meshsim/trace.h>

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
    ms_value *summary = NULL;
    ms_job_request request = {.workload = argv[1], .data_folder = argv[2]};
    ms_status status = ms_job_load(&request, &arena, &diag, &job);
    if (status == MS_OK) {
        status = ms_job_run(&job, &arena, &diag, &result);
        if (status == MS_OK) {
            status = ms_trace_write(argv[3], &result, "consumer", &diag);
        }
        if (status == MS_OK) {
            status = ms_summary_build(&result, &arena, &summary);
            printf("%.17g\n", ms_value_number(summary, "step_time_s", -1));
        }
        ms_result_release(&result);
    }
    ms_arena_release(&arena);
    return ms_status_exit_code(status);
}
