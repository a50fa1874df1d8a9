/* Functions that the closed forms of the schedules share. A closed form of a kind (kinds/) gives
 * its makespan, or its bubble, by a formula that holds only for even costs: the same for every
 * stage and every boundary between ranks. */
#include "schedule/internal.h"

double ms_schedule_latency(const ms_program *program, const ms_schedule_costs *costs, int stage) {
    return program->stage_rank[stage] == program->stage_rank[stage + 1]
               ? 0
               : costs->p2p[ms_program_model_stage(program, stage)];
}

/* Whether all stages have equal forward costs and equal backward costs. is_split: compares input
 * and weight gradients one by one; else their sum. */
static bool stages_are_even(const ms_program *program, const ms_schedule_costs *costs,
                            bool is_split) {
    for (int stage = 1; stage < program->model_stages; stage++) {
        bool is_even = is_split ? costs->input_grad[stage] == costs->input_grad[0] &&
                                      costs->weight_grad[stage] == costs->weight_grad[0]
                                : costs->input_grad[stage] + costs->weight_grad[stage] ==
                                      costs->input_grad[0] + costs->weight_grad[0];
        if (!is_even || costs->forward[stage] != costs->forward[0]) {
            return false;
        }
    }
    return true;
}

/* Whether costs are even, and which they are. Compares all stages with the first one, and all
 * boundaries between ranks with the first of them. */
bool ms_schedule_costs_are_even(const ms_program *program, const ms_schedule_costs *costs,
                                ms_even_costs *even_out) {
    if (!stages_are_even(program, costs, false)) {
        return false;
    }
    bool has_boundary = false;
    double p2p = 0;
    for (int stage = 0; stage + 1 < program->model_stages; stage++) {
        if (program->stage_rank[stage] == program->stage_rank[stage + 1]) {
            continue; /* no message is sent, so the cost of the boundary does not count */
        }
        if (has_boundary && costs->p2p[stage] != p2p) {
            return false;
        }
        has_boundary = true;
        p2p = costs->p2p[stage];
    }
    /* the closed forms assume that a rank goes on computing while its messages are under way */
    if (costs->is_blocking && p2p > 0) {
        return false;
    }
    *even_out = (ms_even_costs){
        .forward = costs->forward[0],
        .backward = costs->input_grad[0] + costs->weight_grad[0],
        .p2p = p2p,
        .is_split_even = stages_are_even(program, costs, true),
        .input_grad = costs->input_grad[0],
        .weight_grad = costs->weight_grad[0],
    };
    return true;
}

/* Whether costs are even, messages free, and the split of the backward pass the same for all
 * stages. */
bool ms_schedule_costs_are_even_and_free(const ms_program *program, const ms_schedule_costs *costs,
                                         ms_even_costs *even_out) {
    ms_even_costs even;
    if (!ms_schedule_costs_are_even(program, costs, &even) || even.p2p != 0 ||
        !even.is_split_even) {
        return false;
    }
    *even_out = even;
    return true;
}
