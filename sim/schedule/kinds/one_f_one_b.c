/* 1F1B (PipeDream-flush): P-1-r forwards, then one forward and one backward in turn, then the rest
 * backwards. Source: Narayanan et al., SC'21, default schedule; the order of Megatron-LM's
 * forward_backward_pipelining_without_interleaving and of DeepSpeed's TrainSchedule. */
#include "schedule/internal.h"

static void generate(const ms_schedule_spec *spec, int rank, ms_action_list *list) {
    ms_1f1b_order order = ms_1f1b_order_of(spec, rank, spec->pipeline_ranks - 1 - rank);
    ms_generate_1f1b(&order, list);
}

/* Latency is paid by every trip up and down the pipeline: P microbatches are in flight at once, so
 * the first P - 1 boundaries count once per round of P, and what is left of the last round pays two
 * per microbatch but the first. Any M and any l.  Source: derived by exhaustive evaluation;
 * tests/unit/schedule sweeps it. */
double ms_formula_1f1b(int ranks, int microbatches, const ms_even_costs *even) {
    int rounds = (microbatches - 1) / ranks + 1;
    int rest = (microbatches - 1) % ranks - 1;
    double trips = (double)(ranks - 1) * rounds + (rest > 0 ? rest : 0);
    return ((double)microbatches + ranks - 1) * (even->forward + even->backward) +
           2 * even->p2p * trips;
}

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
    .place = ms_place_loop,
    .generate = generate,
    .formula = formula,
};
