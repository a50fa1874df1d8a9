#include "job/outlook.h"

#include <math.h>

#include "meshsim/rank_memory.h"

/* Costs of what an action works on. */
static const ms_stage_cost *cost_of(const ms_job *job, int stage, int unit) {
    return ms_stage_cost_of(&job->costs, ms_program_model_stage(&job->program, stage), unit);
}

/* Computation of one pass; collectives count nothing here. */
static double pass_time_s(const ms_stage_costs *costs, const ms_stage_cost *stage, ms_pass pass) {
    const ms_pass_plan *plan = &stage->passes[pass];
    double time_s = 0.0;
    for (int i = 0; i < plan->count; i++) {
        const ms_segment *segment = &costs->segments[plan->first + i];
        time_s += segment->is_collective ? 0.0 : segment->time_s;
    }
    return time_s;
}

/* Work and memory of one pipeline rank. Memory depends on the order of its passes only, so that of
 * its list is exact. */
static void look_at_rank(const ms_job *job, ms_memory_model *memory, int p, ms_rank_outlook *rank) {
    const ms_program *program = &job->program;
    for (int s = 0; s < program->stages; s++) {
        rank->layers += program->stage_rank[s] == p ? cost_of(job, s, 0)->layers : 0;
    }
    for (size_t i = program->first[p]; i < program->first[p + 1]; i++) {
        const ms_action *action = &program->actions[i];
        const ms_stage_cost *stage = cost_of(job, action->stage, action->mb);
        rank->compute_s += pass_time_s(&job->costs, stage, (ms_pass)action->pass);
    }
    rank->compute_s += job->costs.optimizer_s[p];
    ms_held_memory peak = ms_memory_model_peak(memory, p);
    rank->static_B = peak.parameter_B + peak.gradient_B + peak.optimizer_B;
    rank->activation_B = peak.activation_B;
    rank->buffer_B = peak.buffer_B;
    rank->peak_B = peak.total_B;
}

ms_status ms_outlook_peak_B(const ms_job *job, ms_arena *scratch, double *peak_B_out) {
    ms_memory_model memory;
    if (ms_memory_model_init(&job->program, &job->costs, scratch, &memory) != MS_OK) {
        return MS_E_NOMEM;
    }
    double peak_B = 0.0;
    for (int p = 0; p < job->layout.pp; p++) {
        peak_B = fmax(peak_B, ms_memory_model_peak(&memory, p).total_B);
    }
    *peak_B_out = peak_B;
    return MS_OK;
}

/* Time of a pass over a stage, the mean over the parts of a sequence. */
static double mean_time_s(const ms_job *job, int stage, ms_pass pass) {
    int parts = job->costs.parts > 1 ? job->costs.parts : 1;
    double sum_s = 0.0;
    for (int part = 0; part < parts; part++) {
        sum_s += pass_time_s(&job->costs, ms_stage_cost_of(&job->costs, stage, part), pass);
    }
    return sum_s / parts;
}

ms_status ms_outlook_times(const ms_job *job, ms_arena *arena, ms_schedule_costs *costs_out) {
    int stages = job->program.model_stages;
    double *times_s = MS_NEW(arena, double, 4 * stages);
    if (times_s == NULL) {
        return MS_E_NOMEM;
    }
    for (int s = 0; s < stages; s++) {
        times_s[s] = mean_time_s(job, s, MS_PASS_F);
        times_s[stages + s] = mean_time_s(job, s, MS_PASS_I);
        times_s[2 * stages + s] = mean_time_s(job, s, MS_PASS_B) - times_s[stages + s];
    }
    *costs_out = (ms_schedule_costs){.forward = times_s,
                                     .input_grad = times_s + stages,
                                     .weight_grad = times_s + 2 * stages,
                                     .p2p = times_s + 3 * stages};
    return MS_OK;
}

/* The schedule on paper with the computations of the model and free communication. */
static ms_status run_on_paper(const ms_job *job, ms_arena *arena, ms_diag *diag,
                              ms_schedule_result *result_out) {
    ms_schedule_costs costs;
    ms_status status = ms_outlook_times(job, arena, &costs);
    return status == MS_OK ? ms_schedule_evaluate(&job->program, &costs, arena, diag, result_out)
                           : status;
}

/* What the update adds to the passes: the only step ends with the longest; of several each goes on
 * with the next step once a rank has updated. */
static double update_s(const ms_job *job) {
    double shortest_s = job->costs.optimizer_s[0];
    double longest_s = shortest_s;
    for (int p = 1; p < job->layout.pp; p++) {
        shortest_s = fmin(shortest_s, job->costs.optimizer_s[p]);
        longest_s = fmax(longest_s, job->costs.optimizer_s[p]);
    }
    return job->steps > 1 ? shortest_s : longest_s;
}

/* Ranks that do not wait for each other at a step's end: a step lasts as long as the busiest one
 * works, or as one with a first stage, which starts at once, is under way. The others may make up
 * for what they waited for in the step before. */
static void let_steps_overlap(const ms_job *job, const ms_schedule_result *paper,
                              ms_outlook *look) {
    const ms_program *program = &job->program;
    double period_s = paper->busy_max;
    look->ideal_step_s = look->busiest_s;
    for (int stage = 0; stage < program->stages; stage++) {
        if (!ms_program_has_previous(program, stage)) {
            int rank = program->stage_rank[stage];
            double span_s = paper->ranks[rank].span;
            period_s = fmax(period_s, span_s);
            look->ideal_step_s = fmax(look->ideal_step_s, span_s + job->costs.optimizer_s[rank]);
        }
    }
    double busy_s = (1.0 - paper->bubble_fraction) * paper->makespan;
    look->bubble_fraction = period_s > 0.0 ? 1.0 - busy_s / period_s : 0.0;
}

ms_status ms_outlook_compute(const ms_job *job, ms_arena *arena, ms_diag *diag,
                             ms_outlook *outlook_out) {
    int ranks = job->layout.pp;
    ms_outlook look = {.ranks = MS_NEW(arena, ms_rank_outlook, ranks)};
    ms_memory_model memory;
    ms_schedule_result paper;
    if (look.ranks == NULL ||
        ms_memory_model_init(&job->program, &job->costs, arena, &memory) != MS_OK) {
        ms_diag_error(diag, "out of memory");
        return MS_E_NOMEM;
    }
    ms_status status = run_on_paper(job, arena, diag, &paper);
    if (status != MS_OK) {
        return status;
    }
    for (int p = 0; p < ranks; p++) {
        look_at_rank(job, &memory, p, &look.ranks[p]);
        look.busiest_s = fmax(look.busiest_s, look.ranks[p].compute_s);
        if (look.ranks[p].peak_B > look.ranks[look.peak_rank].peak_B) {
            look.peak_rank = p;
        }
    }
    look.capacity_B = job->platform.gpu.hbm_B - job->platform.gpu.reserve_B;
    look.fits = look.ranks[look.peak_rank].peak_B <= look.capacity_B;
    look.ideal_step_s = fmax(look.busiest_s, paper.makespan + update_s(job));
    look.bubble_fraction = paper.bubble_fraction;
    if (job->is_validated_late) {
        let_steps_overlap(job, &paper, &look);
    }
    *outlook_out = look;
    return MS_OK;
}
