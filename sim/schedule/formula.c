/* What the closed forms of the schedules share. */
#include "schedule/internal.h"

double ms_schedule_latency(const ms_program *program, const ms_schedule_costs *costs, int stage) {
    return program->stage_rank[stage] == program->stage_rank[stage + 1] ? 0 : costs->p2p[stage];
}

static bool stages_are_even(const ms_program *program, const ms_schedule_costs *costs) {
    for (int stage = 1; stage < program->stages; stage++) {
        if (costs->forward[stage] != costs->forward[0] ||
            costs->input_grad[stage] + costs->weight_grad[stage] !=
                costs->input_grad[0] + costs->weight_grad[0]) {
            return false;
        }
    }
    return true;
}

bool ms_schedule_costs_are_even(const ms_program *program, const ms_schedule_costs *costs,
                                ms_even_costs *even_out) {
    if (!stages_are_even(program, costs)) {
        return false;
    }
    bool has_boundary = false;
    double p2p = 0;
    for (int stage = 0; stage + 1 < program->stages; stage++) {
        if (program->stage_rank[stage] == program->stage_rank[stage + 1]) {
            continue;
        }
        if (has_boundary && costs->p2p[stage] != p2p) {
            return false;
        }
        has_boundary = true;
        p2p = costs->p2p[stage];
    }
    *even_out = (ms_even_costs){
        .forward = costs->forward[0],
        .backward = costs->input_grad[0] + costs->weight_grad[0],
        .p2p = p2p,
    };
    return true;
}
