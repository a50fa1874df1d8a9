/* GPipe: a rank runs the forward passes of all microbatches, then all backward passes, in the same
 * order. Source: Huang et al., "GPipe", NeurIPS'19 (which runs the backwards last in first out,
 * with the same makespan); order of PyTorch's torch.distributed.pipelining.ScheduleGPipe. */
#include "schedule/internal.h"

/* Append a rank's list: F of all microbatches, then B of all. */
static void generate(const ms_schedule_spec *spec, int rank, ms_action_list *list) {
    for (int mb = 0; mb < spec->microbatches; mb++) {
        ms_action_list_add(list, MS_PASS_F, rank, mb);
    }
    for (int mb = 0; mb < spec->microbatches; mb++) {
        ms_action_list_add(list, MS_PASS_B, rank, mb);
    }
}

/* The largest forward cost of a stage plus the largest backward cost of a stage. *sum_out: the sum
 * of both costs over all stages. */
static double sum_of_maxima(const ms_schedule_costs *costs, int stages, double *sum_out) {
    double sum = 0;
    double forward_max = 0;
    double backward_max = 0;
    for (int stage = 0; stage < stages; stage++) {
        double forward = costs->forward[stage];
        double backward = costs->input_grad[stage] + costs->weight_grad[stage];
        sum += forward + backward;
        forward_max = forward > forward_max ? forward : forward_max;
        backward_max = backward > backward_max ? backward : backward_max;
    }
    *sum_out = sum;
    return forward_max + backward_max;
}

/* Whether no boundary between two ranks has a latency. */
static bool is_free_of_latency(const ms_program *program, const ms_schedule_costs *costs) {
    for (int stage = 0; stage + 1 < program->stages; stage++) {
        if (ms_schedule_latency(program, costs, stage) != 0) {
            return false;
        }
    }
    return true;
}

/* Closed form of the makespan, with forward time F and backward time B of a stage and latency l.
 * Even costs: (M+P-1)(F+B) + 2(P-1)l. Unequal stages and l = 0: sum F + sum B + (M-1)(max F + max
 * B). Source: the forward passes are a flow shop of M equal jobs, which takes sum F + (M-1) max F,
 * and the backward passes another one in the opposite direction. */
static bool formula(const ms_program *program, const ms_schedule_costs *costs,
                    double *makespan_out) {
    int ranks = program->spec.pipeline_ranks;
    double microbatches = program->spec.microbatches;
    ms_even_costs even;
    if (ms_schedule_costs_are_even(program, costs, &even)) {
        *makespan_out = (microbatches + ranks - 1) * (even.forward + even.backward) +
                        2.0 * (ranks - 1) * even.p2p;
        return true;
    }
    if (!is_free_of_latency(program, costs)) {
        return false;
    }
    double sum = 0;
    double maxima = sum_of_maxima(costs, program->stages, &sum);
    *makespan_out = sum + (microbatches - 1) * maxima;
    return true;
}

const ms_schedule_type ms_schedule_gpipe = {
    .name = "gpipe",
    .passes = 2,
    .directions = 1,
    .chunks = 1,
    .rank_of_stage = ms_stage_rank_loop,
    .generate = generate,
    .formula = formula,
};
