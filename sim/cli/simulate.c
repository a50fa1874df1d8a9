/* One job for a program that links the library (meshsim/simulate.h): what `meshsim run --json`
 * prints, as a text in memory. */
#include "meshsim/simulate.h"

#include "base/arena.h"
#include "base/buffer.h"
#include "base/diag.h"
#include "base/value.h"
#include "simulate/run/job.h"
#include "trace/summary.h"
#include "trace/trace.h"

/* Load and simulate a job, write its trace if one is wanted, and append its summary as JSON.
 * trace: path, or NULL. */
static ms_status simulate(const ms_job_request *request, const char *trace, ms_arena *arena,
                          ms_diag *diag, ms_buffer *json) {
    ms_job job;
    ms_result result;
    ms_status status = ms_job_load(request, arena, diag, &job);
    if (status != MS_OK) {
        return status;
    }
    status = ms_job_run(&job, arena, diag, &result);
    if (status == MS_OK && trace != NULL) {
        status = ms_trace_write(trace, &result, MESHSIM_VERSION, diag);
    }
    ms_value *summary = NULL;
    if (status == MS_OK) {
        status = ms_summary_build(&result, arena, &summary);
        status = status == MS_E_NOMEM ? ms_diag_no_memory(diag) : status;
    }
    if (status == MS_OK) {
        ms_summary_add_usage(&result, summary);
        ms_value_write_json(summary, 0, json);
        status = json->failed ? ms_diag_no_memory(diag) : MS_OK;
    }
    ms_result_release(&result);
    return status;
}

int ms_simulate(const char *workload, const char *const *settings, const char *data_folder,
                const char *trace, char **json_out) {
    ms_arena arena;
    ms_diag diag;
    ms_buffer json = {0};
    ms_arena_init(&arena);
    ms_diag_init_stderr(&diag);
    ms_job_request request = {.workload = workload, .data_folder = data_folder, .sets = settings};
    while (settings != NULL && settings[request.set_count] != NULL) {
        request.set_count++;
    }
    ms_status status = simulate(&request, trace, &arena, &diag, &json);
    if (status != MS_OK) {
        ms_buffer_release(&json);
    }
    *json_out = json.data; /* the caller frees it */
    ms_arena_release(&arena);
    return ms_status_exit_code(status);
}
