/* ZB-H1 and ZB-H2, zero-bubble schedules with one stage per rank: 1F1B with backward passes split
 * into input gradients I and weight gradients W, where the W are put off to fill the cool-down. H1
 * holds as many activations on every rank as 1F1B does on its first one. H2 holds about twice as
 * many and has no idle time between a rank's first and last pass (its span) if F = I = W. Source:
 * Qi et al., "Zero Bubble Pipeline Parallelism", ICLR'24; order of H1 as in PyTorch's ZB1P
 * artifacts. */
#include "schedule/internal.h"

/* The depth of a kind: 1 for H1, 2 for H2. */
static int depth_of(const ms_schedule_spec *spec) {
    return spec->kind == MS_SCHEDULE_ZBH1 ? 1 : 2;
}

/* Append a rank's list. The warm-up, and the number of steps by which each W runs after its I, are
 * `depth` times those of H1. */
static void generate(const ms_schedule_spec *spec, int rank, ms_action_list *list) {
    int64_t warmup = (int64_t)depth_of(spec) * (spec->pipeline_ranks - 1 - rank);
    ms_1f1b_list order = ms_1f1b_list_of(spec, rank, warmup);
    ms_generate_split(&order, depth_of(spec) * rank, list);
}

/* Closed form of the span bubble, the most idle time inside a rank's span: (P-1)(F+I-dW) with the
 * depth d, for even costs without latency, M >= d(P-1)+1 and W <= min(F, I). Returns false
 * elsewhere. Source: Qi et al., table 1; range by exhaustive evaluation, swept in
 * tests/unit/schedule. */
static bool span_bubble(const ms_program *program, const ms_schedule_costs *costs,
                        double *bubble_out) {
    int depth = depth_of(&program->spec);
    int distance = program->spec.pipeline_ranks - 1;
    ms_even_costs even;
    if (program->spec.microbatches < depth * distance + 1 ||
        !ms_schedule_costs_are_even_and_free(program, costs, &even) ||
        even.weight_grad > even.forward || even.weight_grad > even.input_grad) {
        return false;
    }
    double bubble = distance * (even.forward + even.input_grad - depth * even.weight_grad);
    *bubble_out = bubble;
    return true;
}

/* Closed form of H1's makespan: M(F+I+W) + (P-1)(F+I-W), for the same costs and sizes as
 * span_bubble. */
static bool formula_h1(const ms_program *program, const ms_schedule_costs *costs,
                       double *makespan_out) {
    double bubble = 0;
    if (!span_bubble(program, costs, &bubble)) {
        return false;
    }
    double work = costs->forward[0] + costs->input_grad[0] + costs->weight_grad[0];
    *makespan_out = program->spec.microbatches * work + bubble;
    return true;
}

const ms_schedule_type ms_schedule_zbh1 = {
    .name = "zbh1",
    .passes = 3,
    .directions = 1,
    .chunks = 1,
    .rank_of_stage = ms_stage_rank_loop,
    .generate = generate,
    .formula = formula_h1,
    .span_formula = span_bubble,
};

const ms_schedule_type ms_schedule_zbh2 = {
    .name = "zbh2",
    .passes = 3,
    .directions = 1,
    .chunks = 1,
    .rank_of_stage = ms_stage_rank_loop,
    .generate = generate,
    .span_formula = span_bubble,
};
