/* 1F1B (PipeDream-flush): rank r runs P-1-r forward passes, then one forward and one backward pass
 * in turn, then the backward passes left. Source: Narayanan et al., SC'21, default schedule; the
 * order of Megatron-LM's forward_backward_pipelining_without_interleaving and of DeepSpeed's
 * TrainSchedule. */
#include "schedule/internal.h"

/* Append a rank's list: its warm-up has one F for every later rank. */
static void generate(const ms_schedule_spec *spec, int rank, ms_action_list *list) {
    ms_1f1b_list order = ms_1f1b_list_of(spec, rank, spec->pipeline_ranks - 1 - rank);
    ms_generate_1f1b(&order, list);
}

/* (M+P-1)(f+b) + 2 l t, for forward time f and backward time b of a stage and latency l. t is the
 * number of boundaries that the critical path crosses in each direction. Microbatches run in rounds
 * of P, as P are in flight at once; the last round has n of them, 1 <= n <= P. Each round pays P-1
 * boundaries, and the last round n-2 more if n > 2. Holds for any M and l. Source: derived by
 * exhaustive evaluation; tests/unit/schedule sweeps it. */
double ms_formula_1f1b(int ranks, int microbatches, const ms_even_costs *even) {
    int rounds = (microbatches - 1) / ranks + 1;
    int rest = (microbatches - 1) % ranks - 1; /* n - 2 */
    double trips = (double)(ranks - 1) * rounds + (rest > 0 ? rest : 0);
    return ((double)microbatches + ranks - 1) * (even->forward + even->backward) +
           2 * even->p2p * trips;
}

/* Closed form of the makespan: ms_formula_1f1b, for even costs. */
static bool formula(const ms_program *program, const ms_schedule_costs *costs,
                    double *makespan_out) {
    ms_even_costs even;
    if (!ms_schedule_costs_are_even(program, costs, &even)) {
        return false;
    }
    *makespan_out =
        ms_formula_1f1b(program->spec.pipeline_ranks, program->spec.microbatches, &even);
    return true;
}

const ms_schedule_type ms_schedule_1f1b = {
    .name = "1f1b",
    .passes = 2,
    .directions = 1,
    .chunks = 1,
    .rank_of_stage = ms_stage_rank_loop,
    .generate = generate,
    .formula = formula,
};
