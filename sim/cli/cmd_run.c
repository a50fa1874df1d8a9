/* meshsim run: simulate one step of a workload. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/job_options.h"
#include "cli/show_result.h"
#include "cli/show_text.h"
#include "meshsim/advice.h"
#include "meshsim/summary.h"
#include "meshsim/target.h"
#include "meshsim/trace.h"

static const ms_option OPTIONS[] = {
    MS_OPTION_PLATFORM,
    MS_OPTION_SET,
    {.name = "output",
     .letter = 'o',
     .argument = "TRACE.h5",
     .arguments = 1,
     .help = "write a trace with every operation to this HDF5 file",
     .writes = ".h5"},
    MS_OPTION_JSON,
    MS_OPTION_FIDELITY,
    MS_OPTION_GRANULARITY,
    MS_OPTION_OVERLAP,
    MS_OPTION_SENDS,
    {.name = "no-fold", .help = "simulate every rank instead of one of each role"},
    {.name = "ignore-memory", .help = "exit with 0 also if the job does not fit in memory"},
    {0},
};

static ms_status print_tree(const ms_invocation *call, const ms_result *result) {
    ms_value *summary = NULL;
    ms_status status = ms_summary_build(result, call->arena, &summary);
    if (status != MS_OK) {
        ms_diag_error(call->diag, "out of memory while summing up");
        return status;
    }
    return ms_cli_print_json(call, summary);
}

static ms_status print_result(const ms_invocation *call, const ms_result *result) {
    if (ms_cli_has(call, "json")) {
        return print_tree(call, result);
    }
    ms_buffer page;
    ms_buffer_init(&page);
    ms_show_result(result, &page);
    return ms_cli_print_page(call, &page);
}

/* Say what does not fit, and by how much. */
static ms_status judge_memory(const ms_invocation *call, const ms_result *result) {
    if (result->fits || ms_cli_has(call, "ignore-memory")) {
        return MS_OK;
    }
    char peak[32];
    char capacity[96];
    double peak_B = result->memory[result->peak_rank].peak_B;
    fprintf(stderr, "meshsim: does not fit in memory: rank %d needs %s, %s\n",
            result->dag.ranks[result->peak_rank].rank,
            ms_unit_format(peak_B, MS_DIM_BYTES, peak, sizeof peak),
            ms_show_capacity(&result->job->platform.gpu, capacity, sizeof capacity));
    return MS_E_NO;
}

static ms_status run_job(const ms_invocation *call, ms_job *job, const char *trace_path) {
    ms_result result;
    ms_status status = ms_job_run(job, call->arena, call->diag, &result);
    if (status == MS_OK && trace_path != NULL) {
        status = ms_trace_write(trace_path, &result, MESHSIM_VERSION, call->diag);
    }
    if (status == MS_OK) {
        status = print_result(call, &result);
    }
    if (status == MS_OK) {
        ms_advise_placement(&job->mesh, &job->platform, call->diag);
        ms_advise_latency(&result.metrics, call->diag);
    }
    if (status == MS_OK) {
        status = judge_memory(call, &result);
    }
    ms_result_release(&result);
    return status;
}

static ms_status run(const ms_invocation *call) {
    const char *trace_path = ms_cli_value(call, "output", NULL);
    ms_job job;
    ms_status status = ms_cli_load_job(call, &job);
    if (status == MS_OK && trace_path != NULL) {
        status = ms_target_check(trace_path, MS_TARGET_FILE, call->diag);
    }
    return status == MS_OK ? run_job(call, &job, trace_path) : status;
}

const ms_command ms_cmd_run = {
    .name = "run",
    .summary = "simulate one training step of a workload",
    .positional_help = "WORKLOAD.yaml",
    .positionals_min = 1,
    .positionals_max = 1,
    .options = OPTIONS,
    .description =
        "Reads the workload and its platform, lays model, mesh and schedule out as operations, "
        "runs them on SimGrid and prints where the step's time went. With several steps "
        "(the workload's 'steps') every figure is one step's, the mean of all but the first. "
        "'exposed_dp' is the time in which a GPU computes nothing because it waits for "
        "communication along dp, its own or that of other GPUs; 'stalling' is the part of its own "
        "communication that falls into that time. 'other' parts into waiting for the norm of the "
        "world's gradient and for the host. "
        "Exits with 1 when the job does not fit in memory.",
    .example = "meshsim run workloads/tiny.yaml --set batch.global=64 -o tiny.h5",
    .run = run,
};
