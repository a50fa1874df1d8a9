/* ZB-H1 and ZB-H2: 1F1B with the weight gradients apart, which fill the cool-down. H1 keeps the
 * memory of 1F1B's first rank on every rank, H2 takes about twice that and has no bubble in a
 * rank's span. Source: Qi et al., "Zero Bubble Pipeline Parallelism", ICLR'24; order of H1 as in
 * PyTorch's ZB1P artifacts. */
#include "schedule/internal.h"

/* depth: 1 for H1, 2 for H2; warm-up and lag of the weight gradients are that many times longer. */
static void generate(const ms_schedule_spec *spec, int rank, int depth, ms_action_list *list) {
    int64_t warmup = (int64_t)depth * (spec->pipeline_ranks - 1 - rank);
    ms_1f1b_order order = ms_1f1b_order_of(spec, rank, warmup);
    ms_generate_split(&order, depth * rank, list);
}

static void generate_h1(const ms_schedule_spec *spec, int rank, ms_action_list *list) {
    generate(spec, rank, 1, list);
}

static void generate_h2(const ms_schedule_spec *spec, int rank, ms_action_list *list) {
    generate(spec, rank, 2, list);
}

/* Span bubble (P-1)(F+I-dW), d the depth: with M >= d(P-1)+1 and W <= min(F, I), without latency.
 * Source: Qi et al., table 1; range by exhaustive evaluation, swept in tests/unit/schedule. */
static bool span_bubble(const ms_program *program, const ms_schedule_costs *costs, int depth,
                        double *bubble_out) {
    int distance = program->spec.pipeline_ranks - 1;
    ms_even_costs even;
    if (program->spec.microbatches < depth * distance + 1 ||
        !ms_schedule_costs_are_free(program, costs, &even) || even.weight_grad > even.forward ||
        even.weight_grad > even.input_grad) {
        return false;
    }
    double bubble = distance * (even.forward + even.input_grad - depth * even.weight_grad);
    *bubble_out = bubble;
    return true;
}

static bool span_formula_h1(const ms_program *program, const ms_schedule_costs *costs,
                            double *bubble_out) {
    return span_bubble(program, costs, 1, bubble_out);
}

static bool span_formula_h2(const ms_program *program, const ms_schedule_costs *costs,
                            double *bubble_out) {
    return span_bubble(program, costs, 2, bubble_out);
}

/* M(F+I+W) + (P-1)(F+I-W), in the same range. */
static bool formula_h1(const ms_program *program, const ms_schedule_costs *costs,
                       double *makespan_out) {
    double bubble = 0;
    if (!span_bubble(program, costs, 1, &bubble)) {
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
    .place = ms_place_loop,
    .generate = generate_h1,
    .formula = formula_h1,
    .span_formula = span_formula_h1,
};

const ms_schedule_type ms_schedule_zbh2 = {
    .name = "zbh2",
    .passes = 3,
    .directions = 1,
    .chunks = 1,
    .place = ms_place_loop,
    .generate = generate_h2,
    .span_formula = span_formula_h2,
};
