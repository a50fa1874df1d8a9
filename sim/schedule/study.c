/* Two studies of an evaluated schedule: the parts of its makespan (closed form, order of passes,
 * unequal stages, latency of messages; ms_schedule_explain), and its period, the time that one more
 * microbatch takes once the pipeline is full (ms_schedule_period). */
#include "schedule/schedule_study.h"

#include <stdlib.h>

#include "schedule/internal.h"

enum {
    STEADY_FROM = 4, /* times P V: number of microbatches after which the pipeline runs evenly */
    SLOPE_ACTIONS_MAX = 4 * 1000 * 1000, /* actions to evaluate; more would take over a second */
};

/* An array of `count` entries, all of them the mean of `values`. NULL: out of memory (not
 * reported). */
static const double *mean_of(const double *values, int count, ms_arena *scratch) {
    double *means = MS_NEW(scratch, double, count);
    double sum = 0;
    bool is_even = true;
    for (int i = 0; i < count; i++) {
        sum += values[i];
        is_even = is_even && values[i] == values[0];
    }
    for (int i = 0; means != NULL && i < count; i++) {
        /* equal values stay exact: the rounding of sum / count would count as imbalance */
        means[i] = is_even ? values[0] : sum / count;
    }
    return means;
}

/* Mean over the ranks of their busy times. */
static double mean_work(const ms_program *program, const ms_schedule_result *result) {
    double busy = 0;
    for (int rank = 0; rank < program->spec.pipeline_ranks; rank++) {
        busy += result->ranks[rank].busy;
    }
    return busy / program->spec.pipeline_ranks;
}

/* Evaluate a program with free messages, once with its own stages and once with equal stages (each
 * cost at its mean), and set the parts of the makespan from the differences. gap: gap->latency
 * holds the makespan with messages at the call. Returns MS_E_NOMEM or the status of the
 * evaluations, reported. */
static ms_status explain(const ms_program *program, const ms_schedule_costs *costs,
                         ms_arena *scratch, ms_diag *diag, ms_schedule_gap *gap) {
    int stages = program->model_stages;
    ms_schedule_costs free_costs = *costs;
    free_costs.p2p = MS_NEW(scratch, double, stages); /* zeroed */
    ms_schedule_costs equal_costs = free_costs;
    equal_costs.forward = mean_of(costs->forward, stages, scratch);
    equal_costs.input_grad = mean_of(costs->input_grad, stages, scratch);
    equal_costs.weight_grad = mean_of(costs->weight_grad, stages, scratch);
    if (free_costs.p2p == NULL || equal_costs.forward == NULL || equal_costs.input_grad == NULL ||
        equal_costs.weight_grad == NULL) {
        return ms_diag_no_memory(diag);
    }
    ms_schedule_result own;
    ms_schedule_result equal;
    ms_status status = ms_schedule_evaluate(program, &free_costs, scratch, diag, &own);
    status = status == MS_OK ? ms_schedule_evaluate(program, &equal_costs, scratch, diag, &equal)
                             : status;
    if (status != MS_OK) {
        return status;
    }
    gap->has_closed_form = equal.has_formula;
    gap->base = equal.has_formula ? equal.formula_makespan : mean_work(program, &equal);
    gap->order = equal.makespan - gap->base;
    gap->imbalance = own.makespan - equal.makespan;
    gap->latency -= own.makespan;
    return MS_OK;
}

/* Split the makespan of a program into its parts. */
ms_status ms_schedule_explain(const ms_program *program, const ms_schedule_costs *costs,
                              double makespan, ms_diag *diag, ms_schedule_gap *gap_out) {
    ms_arena scratch;
    ms_arena_init(&scratch);
    ms_schedule_gap gap = {.latency = makespan};
    ms_status status = explain(program, costs, &scratch, diag, &gap);
    ms_arena_release(&scratch);
    if (status == MS_OK) {
        *gap_out = gap;
    }
    return status;
}

/* Order of two times for qsort: ascending. */
static int compare_times(const void *a, const void *b) {
    double one = *(const double *)a;
    double other = *(const double *)b;
    return (one > other) - (one < other);
}

/* The times at which microbatches leave the pipeline: the ends of the backward passes (B or I) of
 * the model's first stage, in both directions where there are two. exits: receives them in
 * ascending order. Returns their number. */
static size_t list_exits(const ms_program *program, const ms_schedule_result *result,
                         double *exits) {
    size_t count = 0;
    for (size_t i = 0; i < program->first[program->spec.pipeline_ranks]; i++) {
        const ms_action *action = &program->actions[i];
        bool is_gradient = action->pass == MS_PASS_B || action->pass == MS_PASS_I;
        if (is_gradient && ms_program_model_stage(program, action->stage) == 0) {
            exits[count++] = result->slots[i].end;
        }
    }
    qsort(exits, count, sizeof *exits, compare_times);
    return count;
}

/* Period of a schedule as it is: the mean distance of exit times over the middle half of the
 * microbatches. This half is rounded down to a multiple of P where possible, since in some
 * schedules P microbatches leave one after the other and then none for a while. exits: [count]
 * ascending. Returns 0 for fewer than two exits. */
static double period_of_times(const ms_program *program, const double *exits, size_t count) {
    size_t ranks = (size_t)program->spec.pipeline_ranks;
    size_t width = count / 2;
    width = width >= ranks ? width / ranks * ranks : width;
    if (width == 0) {
        return 0;
    }
    size_t from = (count - width) / 2;
    from = from + width < count ? from : count - 1 - width;
    /* each exit is that of a slice, so a whole microbatch takes `slices` of them */
    return (exits[from + width] - exits[from]) / (double)width * program->spec.slices;
}

/* Find the period from the exit times of an evaluated schedule. */
static ms_status measure_times(const ms_program *program, const ms_schedule_result *result,
                               ms_arena *scratch, ms_diag *diag, double *period_out) {
    size_t most = (size_t)program->mb_count * (size_t)program->parameter_replicas;
    double *exits = MS_NEW(scratch, double, most);
    if (exits == NULL) {
        return ms_diag_no_memory(diag);
    }
    size_t count = list_exits(program, result, exits);
    *period_out = period_of_times(program, exits, count);
    return MS_OK;
}

/* Build the kind of a program again with another number of microbatches and evaluate its makespan.
 * Returns false, and reports nothing, if that fails. */
static bool measure_at(const ms_program *program, const ms_schedule_costs *costs, int microbatches,
                       double *makespan_out) {
    ms_arena scratch;
    ms_arena_init(&scratch);
    ms_diag mute;
    ms_diag_init_mute(&mute);
    ms_schedule_spec spec = program->spec;
    spec.microbatches = microbatches;
    ms_program longer;
    ms_schedule_result result;
    bool is_built = ms_schedule_build(&spec, &scratch, &mute, &longer) == MS_OK &&
                    ms_schedule_evaluate(&longer, costs, &scratch, &mute, &result) == MS_OK;
    if (is_built) {
        *makespan_out = result.makespan;
    }
    ms_arena_release(&scratch);
    return is_built;
}

/* The smallest multiple of `multiple` that is at least `count`. */
static int64_t round_up(int64_t count, int64_t multiple) {
    return (count + multiple - 1) / multiple * multiple;
}

/* Least common multiple of two positive numbers, by Euclid's algorithm for their common divisor. */
static int64_t common_multiple(int64_t a, int64_t b) {
    int64_t x = a;
    for (int64_t y = b; y != 0;) {
        int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* Find the period as the slope of the makespan between two numbers of microbatches, `few` and
 * `many`. Both are large enough that the pipeline is full most of the time. Both are multiples of
 * M, since the kind allows these, and of P, since the makespan may grow in steps of P microbatches.
 * Returns false for programs not built by kind, and for those that would take too long to evaluate.
 */
static bool measure_slope(const ms_program *program, const ms_schedule_costs *costs,
                          double *period_out) {
    const ms_schedule_spec *spec = &program->spec;
    int64_t filled = (int64_t)STEADY_FROM * spec->pipeline_ranks * spec->chunks;
    int64_t group = common_multiple(spec->microbatches, spec->pipeline_ranks);
    if (group < 1) {
        return false;
    }
    int64_t few = round_up(filled, group);
    int64_t many = few + round_up(filled, group);
    double actions = (double)program->first[spec->pipeline_ranks] / spec->microbatches;
    if (program->type == NULL || actions * (double)many > SLOPE_ACTIONS_MAX) {
        return false;
    }
    double shorter = 0;
    double longer = 0;
    if (!measure_at(program, costs, (int)few, &shorter) ||
        !measure_at(program, costs, (int)many, &longer)) {
        return false;
    }
    *period_out = (longer - shorter) / (double)(many - few);
    return true;
}

/* Find the time that one more microbatch takes. By the slope between two evaluations where the kind
 * can be built again, else by the exit times of this one. */
ms_status ms_schedule_period(const ms_program *program, const ms_schedule_costs *costs,
                             const ms_schedule_result *result, ms_diag *diag, double *period_out) {
    ms_arena scratch;
    ms_arena_init(&scratch);
    ms_status status = MS_OK;
    double period = 0;
    if (!measure_slope(program, costs, &period)) {
        status = measure_times(program, result, &scratch, diag, &period);
    }
    ms_arena_release(&scratch);
    if (status == MS_OK) {
        double least = result->busy_max / program->spec.microbatches; /* no rank works faster */
        *period_out = period > 0 && period < least ? least : period;
    }
    return status;
}
