/* meshsim schedule search. */
#include <limits.h>
#include <math.h>

#include "cli/schedule_studies.h"

static ms_status read_spec(const ms_invocation *call, ms_search_spec *spec_out) {
    ms_schedule_spec sizes;
    double cap = 0;
    ms_status status = ms_cli_schedule_need_sizes(call);
    if (status == MS_OK) {
        status = ms_cli_schedule_sizes(call, &sizes);
    }
    if (status == MS_OK) {
        status = ms_cli_schedule_cap(call, &cap);
    }
    if (status != MS_OK) {
        return status;
    }
    if (sizes.chunks > 2 || sizes.group != 0 || sizes.splits > 1 || sizes.is_reordered) {
        ms_diag_error(
            call->diag,
            "search finds schedules of one stage per rank or of two in a V, and of whole "
            "sequences; leave out '--group', '--splits', '--reorder', '--chunks' above 2");
        return MS_E_USAGE;
    }
    if (ms_cli_has(call, "memory-cap") && cap < 1) {
        ms_diag_error(call->diag, "a rank holds at least 1 microbatch, got '--memory-cap %s'",
                      ms_cli_value(call, "memory-cap", ""));
        return MS_E_USAGE;
    }
    int chunks = sizes.chunks == 2 ? 2 : 1;
    cap = floor(cap * chunks); /* in microbatches of a stage */
    *spec_out = (ms_search_spec){.pipeline_ranks = sizes.pipeline_ranks,
                                 .chunks = chunks,
                                 .microbatches = sizes.microbatches,
                                 .memory_cap = cap > INT_MAX ? 0 : (int)cap};
    return MS_OK;
}

ms_status ms_cli_schedule_search(const ms_invocation *call, ms_cli_schedule *schedule_out,
                                 ms_schedule_costs *costs_out) {
    ms_search_spec spec;
    ms_schedule_costs costs = {0};
    ms_search_result *found = MS_NEW(call->arena, ms_search_result, 1);
    if (found == NULL) {
        ms_diag_error(call->diag, "out of memory");
        return MS_E_NOMEM;
    }
    ms_status status = read_spec(call, &spec);
    if (status == MS_OK) {
        status = ms_cli_schedule_costs(call, spec.pipeline_ranks * spec.chunks, &costs);
    }
    if (status == MS_OK) {
        status = ms_schedule_search(&spec, &costs, call->arena, call->diag, found);
        status = status == MS_E_INPUT ? MS_E_USAGE : status; /* all of it came from options */
    }
    if (status == MS_OK) {
        *schedule_out = (ms_cli_schedule){.program = found->program, .search = found};
        *costs_out = costs;
    }
    return status;
}
