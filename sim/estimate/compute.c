#include "estimate/compute.h"

/* Share that sums of as many terms as steps have operations may differ by. */
static const double ROUNDING = 1e-9;

double ms_compute_pass_s(const ms_stage_costs *costs, const ms_stage_cost *stage, ms_pass pass) {
    const ms_pass_plan *plan = &stage->passes[pass];
    double time_s = 0.0;
    for (int i = 0; i < plan->count; i++) {
        const ms_segment *segment = &costs->segments[plan->first + i];
        bool is_repeated = i >= plan->repeat.first && i < plan->repeat.first + plan->repeat.count;
        int times = is_repeated ? 1 + plan->repeat.times : 1; /* more than once in an outline */
        time_s += segment->is_collective ? 0.0 : times * segment->time_s;
    }
    return time_s;
}

double ms_compute_rank_s(const ms_program *program, const ms_stage_costs *costs, int p) {
    double compute_s = 0.0;
    for (size_t i = program->first[p]; i < program->first[p + 1]; i++) {
        const ms_action *action = &program->actions[i];
        int stage = ms_program_model_stage(program, action->stage);
        compute_s += ms_compute_pass_s(costs, ms_stage_cost_of(costs, stage, action->mb),
                                       (ms_pass)action->pass);
    }
    return compute_s + costs->optimizer_s[p];
}

double ms_compute_least_s(const ms_program *program, const ms_stage_costs *costs) {
    int ranks = program->spec.pipeline_ranks;
    double sum_s = 0.0;
    for (int p = 0; p < ranks; p++) {
        sum_s += ms_compute_rank_s(program, costs, p);
    }
    return sum_s / ranks * (1.0 - ROUNDING);
}
