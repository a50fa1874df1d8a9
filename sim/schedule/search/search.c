/* Entry of the search for a schedule under a memory cap (ms_schedule_search): fills in defaults,
 * checks sizes and costs, runs the search over caps (levels.c), and makes the result, with the
 * proof of optimality by the lower bound (bound.c). */
#include "schedule/schedule_search.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "schedule/search/search.h"

/* Default number of evaluations for the improvement of one schedule: EFFORT_ACTIONS passes to
 * evaluate, which take about half a second, but within the two limits. */
enum { EFFORT_ACTIONS = 3 * 1000 * 1000, EFFORT_LEAST = 10, EFFORT_MOST = 20 * 1000 };

/* Make a program with P, V, M and placement of the search, and F, I and W of every stage and
 * microbatch: that of a fixed kind, whose order the search overwrites. */
static ms_status make_program(const ms_search_run *search, ms_program *program_out) {
    ms_schedule_spec spec = {.kind = search->spec.chunks == 2 ? MS_SCHEDULE_ZBV : MS_SCHEDULE_ZBH1,
                             .pipeline_ranks = search->spec.pipeline_ranks,
                             .microbatches = search->spec.microbatches};
    ms_status status = ms_schedule_build(&spec, search->arena, search->diag, program_out);
    if (status == MS_OK) {
        program_out->spec.kind = MS_SCHEDULE_CUSTOM;
        program_out->type = NULL;
        program_out->name = "search";
    }
    return status;
}

/* Check the costs, by an evaluation of any schedule of this shape. */
static ms_status check_costs(const ms_search_run *search, const ms_program *program) {
    ms_arena scratch;
    ms_arena_init(&scratch);
    ms_schedule_result result;
    ms_status status =
        ms_schedule_evaluate(program, search->costs, &scratch, search->diag, &result);
    ms_arena_release(&scratch);
    return status;
}

/* Run the search with the defaults filled in, and fill in the result: the schedule, its measures,
 * and whether its span equals the lower bound. */
static ms_status find(ms_search_run *search, ms_search_result *result) {
    ms_score score;
    ms_status status = make_program(search, &result->program);
    status = status == MS_OK ? check_costs(search, &result->program) : status;
    if (status != MS_OK) {
        return status;
    }
    result->bound = ms_schedule_span_bound(&search->spec, search->costs, &result->bound_rank);
    status = ms_search_levels(search, result, &score);
    if (status != MS_OK) {
        return status;
    }
    double dust = 1e-9 * (1 + result->bound); /* rounding of sums of times */
    result->span = score.span;
    result->makespan = score.makespan;
    result->is_optimal = score.span <= result->bound + dust;
    result->peak_inflight = ms_search_peak(&result->program);
    result->evaluations = search->evaluations;
    return status;
}

/* Fill in the defaults of a spec: V = 1, a cap that no schedule exceeds, and the effort by the
 * number of passes. Checks V and the cap (MS_E_INPUT, reported). */
static ms_status resolve(ms_search_spec *spec, ms_diag *diag) {
    spec->chunks = spec->chunks == 0 ? 1 : spec->chunks;
    if (spec->chunks != 1 && spec->chunks != 2) {
        return ms_diag_error(diag, "search finds schedules of 1 or 2 stages per rank, got V = '%d'",
                             spec->chunks);
    }
    if (spec->memory_cap != 0 && spec->memory_cap < spec->chunks) {
        return ms_diag_error(diag, "the memory cap must be at least 1 microbatch%s, got '%d'",
                             spec->chunks == 2 ? ", which is 2 with two stages per rank" : "",
                             spec->memory_cap);
    }
    long most = (long)spec->microbatches * spec->chunks;
    if (spec->memory_cap == 0 || spec->memory_cap > most) {
        spec->memory_cap = (int)(most < INT_MAX ? most : INT_MAX);
    }
    if (spec->effort == 0) {
        double actions = 3.0 * spec->pipeline_ranks * spec->chunks * spec->microbatches;
        double effort = EFFORT_ACTIONS / (actions + 1);
        spec->effort = (long)fmin(fmax(effort, EFFORT_LEAST), EFFORT_MOST);
    }
    return MS_OK;
}

/* Search for a schedule: fills in the defaults, then runs the search. */
ms_status ms_schedule_search(const ms_search_spec *spec, const ms_schedule_costs *costs,
                             ms_arena *arena, ms_diag *diag, ms_search_result *result_out) {
    ms_search_run search = {.spec = *spec, .costs = costs, .arena = arena, .diag = diag};
    ms_search_result result = {.variant = -1};
    ms_status status = resolve(&search.spec, diag);
    status = status == MS_OK ? find(&search, &result) : status;
    if (status == MS_OK) {
        *result_out = result;
    }
    return status;
}
