/* Simulates what-ifs, for `run --whatif` and `search --whatif`: the same job with one improvement
 * at a time, such as twice a tier's bandwidth. The gain of each shows what limits the job
 * (search/whatif.h). */
#include "cli/run_whatif.h"
#include "cli/study_options.h"

#include "base/progress.h"
#include "cli/job_options.h"

/* Pass on the number of simulations that have ended: `progress` of ms_whatif_study. */
static void count_progress(void *context, size_t done, size_t count) {
    (void)context;
    (void)count;
    ms_progress_done((int64_t)done);
}

/* Simulate the what-ifs of a job, --jobs of them at the same time. The gains of the rows are set
 * later (ms_whatif_rank). request: the request that the job was read by. */
static ms_status simulate(const ms_invocation *call, const ms_job_request *request,
                          const ms_job *job, ms_cli_whatif *whatif) {
    ms_whatif_study study = {.job = job, .request = request, .progress = count_progress};
    ms_status status = ms_cli_jobs(call, &study.jobs);
    if (status == MS_OK) {
        ms_progress_begin("simulating what-ifs", 0);
        status = ms_whatif_run(&study, call->arena, call->diag, &whatif->rows, &whatif->count);
    }
    return status;
}

ms_status ms_cli_simulate_whatifs(const ms_invocation *call, const ms_job_request *request,
                                  const ms_job *job, ms_cli_whatif *whatif_out) {
    *whatif_out = (ms_cli_whatif){.is_asked = ms_cli_has(call, "whatif")};
    if (!whatif_out->is_asked) {
        if (ms_cli_has(call, "jobs")) {
            return ms_diag_usage(
                call->diag,
                "--jobs says how many simulations of --whatif run at once; expected --whatif, too");
        }
        return MS_OK;
    }
    if (request->run.is_bounded) {
        return ms_diag_usage(call->diag, "--whatif compares exact steps; --fold bounded has none");
    }
    return simulate(call, request, job, whatif_out);
}

/* The job is loaded again with the settings of the candidate, because what-ifs are changes of a
 * whole job. */
ms_status ms_cli_simulate_whatifs_of(const ms_invocation *call, const ms_job_request *request,
                                     const ms_words *settings, double step_time_s,
                                     ms_cli_whatif *whatif_out) {
    ms_job job;
    ms_job_request asked;
    *whatif_out = (ms_cli_whatif){.is_asked = ms_cli_has(call, "whatif")};
    if (!whatif_out->is_asked) {
        return MS_OK;
    }
    if (!ms_cli_extend_request(request, settings, call->arena, &asked)) {
        return ms_diag_no_memory(call->diag);
    }
    ms_status status = ms_job_load(&asked, call->arena, call->diag, &job);
    status = status == MS_OK ? simulate(call, &asked, &job, whatif_out) : status;
    if (status == MS_OK) {
        ms_whatif_rank(step_time_s, whatif_out->rows, whatif_out->count);
    }
    return status;
}
