#include "job/outlook.h"

#include <math.h>

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

/* A walk through one rank's list. */
typedef struct walk {
    const ms_job *job;
    ms_rank_outlook *rank;
    double own_B;      /* states it holds all the time */
    double gathered_B; /* whole parameters of the stages that are gathered */
    double rounds_B;   /* whole gradients of the stages that are amid a round */
    double kept_B;     /* activations */
    size_t next_move;
} walk;

/* What the rank gathers and gives up before action `index`. */
static void walk_moves(walk *w, int p, size_t index) {
    const ms_program *program = &w->job->program;
    size_t end = program->shard_moves == NULL ? 0 : program->shard_first[p + 1];
    for (; w->next_move < end && program->shard_moves[w->next_move].before == index;
         w->next_move++) {
        const ms_shard_move *move = &program->shard_moves[w->next_move];
        double stage_B = cost_of(w->job, move->stage, 0)->memory.gathered_B;
        w->gathered_B += move->is_unshard ? stage_B : -stage_B;
    }
}

/* One action, or both of an overlapped pair. */
static void walk_actions(walk *w, const ms_action *actions, int count) {
    ms_rank_outlook *rank = w->rank;
    double freed_B = 0.0, working_B = 0.0, reduced_B = 0.0;
    for (int i = 0; i < count; i++) {
        const ms_stage_cost *stage = cost_of(w->job, actions[i].stage, actions[i].mb);
        ms_pass pass = (ms_pass)actions[i].pass;
        rank->compute_s += pass_time_s(&w->job->costs, stage, pass);
        working_B += stage->memory.working_B;
        w->kept_B += pass == MS_PASS_F ? stage->memory.activation_B : 0.0;
        if (ms_action_opens_round(&w->job->program, &actions[i])) {
            w->rounds_B += stage->memory.round_B;
        }
        if (ms_action_closes_round(&w->job->program, &actions[i])) {
            reduced_B += stage->memory.round_B;
        }
        freed_B += pass == MS_PASS_B || pass == MS_PASS_W ? stage->memory.activation_B : 0.0;
    }
    double lost = w->job->costs.allocator_overhead;
    double static_B = w->own_B + w->gathered_B + w->rounds_B;
    double peak_B = static_B + (1.0 + lost) * (w->kept_B + working_B);
    if (peak_B > rank->peak_B) {
        rank->peak_B = peak_B;
        rank->static_B = static_B;
        rank->activation_B = w->kept_B;
        rank->buffer_B = working_B;
    }
    w->kept_B -= freed_B;
    w->rounds_B -= reduced_B;
}

/* Memory depends on the order of a rank's passes only, so walking its list is exact. */
static void walk_rank(const ms_job *job, int p, ms_rank_outlook *rank) {
    const ms_program *program = &job->program;
    walk w = {.job = job,
              .rank = rank,
              .next_move = program->shard_moves == NULL ? 0 : program->shard_first[p]};
    for (int s = 0; s < program->stages; s++) {
        const ms_stage_cost *stage = cost_of(job, s, 0);
        if (program->stage_rank[s] == p) {
            rank->layers += stage->layers;
            w.own_B +=
                stage->memory.parameter_B + stage->memory.gradient_B + stage->memory.optimizer_B;
        }
    }
    rank->static_B = w.own_B;
    size_t width = 1;
    for (size_t i = program->first[p]; i < program->first[p + 1]; i += width) {
        width = program->actions[i].is_overlapped != 0 ? 2 : 1;
        walk_moves(&w, p, i);
        walk_actions(&w, &program->actions[i], (int)width);
    }
    rank->compute_s += job->costs.optimizer_s[p];
}

double ms_outlook_peak_B(const ms_job *job) {
    double peak_B = 0.0;
    for (int p = 0; p < job->layout.pp; p++) {
        ms_rank_outlook rank = {0};
        walk_rank(job, p, &rank);
        peak_B = fmax(peak_B, rank.peak_B);
    }
    return peak_B;
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
    ms_schedule_result paper;
    if (look.ranks == NULL) {
        ms_diag_error(diag, "out of memory");
        return MS_E_NOMEM;
    }
    ms_status status = run_on_paper(job, arena, diag, &paper);
    if (status != MS_OK) {
        return status;
    }
    for (int p = 0; p < ranks; p++) {
        walk_rank(job, p, &look.ranks[p]);
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
