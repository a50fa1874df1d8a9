/* Sums of computation times (compute.h), for estimates of pipeline ranks and for the bound of a
 * step's energy. */
#include "estimate/compute.h"

/* Maximum relative difference by rounding between sums of a step's times in different orders. */
static const double ROUNDING = 1e-9;

double ms_compute_pass_s(const ms_stage_costs *costs, const ms_stage_cost *stage, ms_pass pass) {
    const ms_pass_plan *plan = &stage->passes[pass];
    double time_s = 0.0;
    for (int i = 0; i < plan->count; i++) {
        const ms_segment *segment = &costs->segments[plan->first + i];
        bool is_repeated = i >= plan->repeat.first && i < plan->repeat.first + plan->repeat.count;
        int times = is_repeated ? 1 + plan->repeat.times : 1; /* above 1 in an outline only */
        time_s += segment->is_collective ? 0.0 : times * segment->time_s;
    }
    return time_s;
}

/* The passes of the rank's list and the update are added up, and multiplied by the factor of the
 * slowest rank of the pipeline rank. */
double ms_compute_rank_s(const ms_job *job, int p) {
    const ms_program *program = &job->program;
    const ms_stage_costs *costs = &job->costs;
    double compute_s = 0.0;
    for (size_t i = program->first[p]; i < program->first[p + 1]; i++) {
        const ms_action *action = &program->actions[i];
        int stage = ms_program_model_stage(program, action->stage);
        compute_s += ms_compute_pass_s(costs, ms_stage_cost_of(costs, stage, action->mb),
                                       (ms_pass)action->pass);
    }
    return (compute_s + costs->optimizer_s[p]) * ms_job_compute_factors(job, p).most;
}

ms_status ms_compute_count(const ms_program *program, ms_arena *arena, ms_pass_counts *counts_out) {
    int slices = program->spec.slices > 1 ? program->spec.slices : 1;
    int stages = program->model_stages, ranks = program->spec.pipeline_ranks;
    int *passes = MS_NEW(arena, int, (size_t)slices *(size_t)stages *MS_PASS_COUNT);
    if (passes == NULL) {
        return MS_E_NOMEM;
    }
    for (size_t i = 0; i < program->first[ranks]; i++) {
        const ms_action *action = &program->actions[i];
        int stage = ms_program_model_stage(program, action->stage);
        passes[(action->mb % slices * stages + stage) * MS_PASS_COUNT + action->pass]++;
    }
    *counts_out = (ms_pass_counts){
        .passes = passes, .slices = slices, .stages = stages, .pipeline_ranks = ranks};
    return MS_OK;
}

/* The passes of all ranks are counted by stage and slice, so the sum is over stages and not over
 * actions. */
double ms_compute_bound_s(const ms_job *job, const ms_pass_counts *counts,
                          const ms_stage_costs *costs) {
    double sum_s = 0.0;
    double pass_s[MS_PASS_COUNT] = {0};
    const ms_stage_cost *before = NULL; /* the stage before: if alike, it has the same passes */
    for (int i = 0; i < counts->slices * counts->stages; i++) {
        const ms_stage_cost *stage =
            ms_stage_cost_of(costs, i % counts->stages, i / counts->stages);
        for (int pass = 0; pass < MS_PASS_COUNT; pass++) {
            bool is_known =
                before != NULL && stage->passes[pass].first == before->passes[pass].first;
            pass_s[pass] = is_known ? pass_s[pass] : ms_compute_pass_s(costs, stage, (ms_pass)pass);
            sum_s += counts->passes[i * MS_PASS_COUNT + pass] * pass_s[pass];
        }
        before = stage;
    }
    for (int p = 0; p < counts->pipeline_ranks; p++) {
        sum_s += costs->optimizer_s[p];
    }
    return sum_s / counts->pipeline_ranks * ms_job_least_compute_factor(job) * (1.0 - ROUNDING);
}
