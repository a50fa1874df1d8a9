/* meshsim schedule search: reads the sizes, times and memory cap of a search for the pipeline
 * schedule with the shortest span, and runs it (schedule/schedule_search.h). */
#include <limits.h>
#include <math.h>

#include "cli/schedule_options.h"

/* Refuse more than two virtual stages per rank, which the search cannot order.  Returns MS_OK;
 * MS_E_USAGE (reported). */
static ms_status check_chunks(const ms_invocation *call, const ms_schedule_spec *sizes) {
    if (sizes->chunks > 2) {
        return ms_diag_usage(call->diag, "search finds schedules of one stage per rank or of two "
                                         "in a V; leave out '--chunks' above 2");
    }
    return MS_OK;
}

/* Read --memory-cap, in microbatches in flight per rank, as the number of microbatches that all V =
 * `chunks` stages of a rank hold together. A fraction is rounded down.  *cap_out: 0: no cap, or a
 * cap beyond INT_MAX.  Returns MS_OK; MS_E_USAGE (reported). */
static ms_status read_cap(const ms_invocation *call, int chunks, int *cap_out) {
    double cap = 0;
    ms_status status = ms_cli_schedule_cap(call, &cap);
    if (status == MS_OK && ms_cli_has(call, "memory-cap") && cap < 1) {
        status =
            ms_diag_usage(call->diag, "a rank holds at least 1 microbatch, got '--memory-cap %s'",
                          ms_cli_value(call, "memory-cap", ""));
    }
    cap = floor(cap * chunks);
    *cap_out = cap > INT_MAX ? 0 : (int)cap;
    return status;
}

/* Read sizes and times from the command line, or from a workload. The workload is laid out with a
 * schedule whose stages lie on the ranks as those of the search: 1F1B, or ZB-V for two stages in a
 * V.  *job: that workload; unchanged without --workload.  *costs_out: in the arena of the call. */
static ms_status read_spec(const ms_invocation *call, ms_job *job, ms_search_spec *spec_out,
                           ms_schedule_costs *costs_out) {
    ms_schedule_spec sizes;
    ms_status status = ms_cli_schedule_sizes(call, &sizes);
    status = status == MS_OK ? check_chunks(call, &sizes) : status;
    if (status != MS_OK) {
        return status;
    }
    int chunks = sizes.chunks == 2 ? 2 : 1;
    if (ms_cli_has(call, "workload")) {
        const ms_schedule_choice like = {.name = chunks == 2 ? "zbv" : "1f1b",
                                         .kind = chunks == 2 ? MS_SCHEDULE_ZBV : MS_SCHEDULE_1F1B};
        status = ms_cli_schedule_of_workload(call, &like, job, costs_out);
        sizes = status == MS_OK ? job->program.spec : sizes;
    } else {
        status = ms_cli_schedule_costs(call, sizes.pipeline_ranks * chunks, costs_out);
    }
    ms_search_spec spec = {.pipeline_ranks = sizes.pipeline_ranks,
                           .chunks = chunks,
                           .microbatches = sizes.microbatches};
    status = status == MS_OK ? read_cap(call, chunks, &spec.memory_cap) : status;
    *spec_out = spec;
    return status;
}

/* The result is in the arena, because the schedule refers to it. */
ms_status ms_cli_schedule_search(const ms_invocation *call, ms_cli_schedule *schedule_out,
                                 ms_schedule_costs *costs_out) {
    ms_search_spec spec;
    ms_job job = {0};
    ms_search_result *found = MS_NEW(call->arena, ms_search_result, 1);
    if (found == NULL) {
        return ms_diag_no_memory(call->diag);
    }
    ms_status status = read_spec(call, &job, &spec, costs_out);
    if (status == MS_OK) {
        status = ms_schedule_search(&spec, costs_out, call->arena, call->diag, found);
        status = status == MS_E_INPUT ? MS_E_USAGE : status; /* all of it came from options */
    }
    if (status == MS_OK) {
        *schedule_out = (ms_cli_schedule){
            .opened.program = found->program, .search = found, .workload = job.name};
    }
    return status;
}
