/* The estimate of one job (ms_job_estimate): memory and computation of each pipeline rank, the step
 * and its bound from the clocks of step.c, and the bubble of the schedule. estimator.c estimates
 * many jobs with the same parts, but without contention between collectives. */
#include "estimate/estimate.h"

#include <math.h>

#include "estimate/compute.h"
#include "estimate/step.h"

/* Fill in layers, computation and memory of pipeline rank `p`.  peak: its memory at the peak.
 * Memory depends only on the order of the rank's passes, so that this peak is exact.  rank: zeros.
 */
static void fill_rank(const ms_job *job, const ms_held_memory *peak, int p,
                      ms_rank_estimate *rank) {
    const ms_program *program = &job->program;
    for (int s = 0; s < program->stages; s++) {
        int stage = ms_program_model_stage(program, s);
        bool is_own = program->stage_rank[s] == p;
        rank->layers += is_own ? ms_stage_cost_of(&job->costs, stage, 0)->layers : 0;
    }
    rank->compute_s = ms_compute_rank_s(job, p);
    rank->held = *peak;
    rank->peak_B = peak->total_B;
}

/* The factor on the computations of a stage of the model: that of the slowest rank that holds a
 * copy of the stage; schedules with two directions have two copies. */
static double stage_factor(const ms_job *job, int stage) {
    double most = 0.0;
    for (int copy = stage; copy < job->program.stages; copy += job->program.model_stages) {
        most = fmax(most, ms_job_compute_factors(job, job->program.stage_rank[copy]).most);
    }
    return most;
}

/* Computation time of a pass over a stage of the model on its slowest rank, the mean over the
 * slices of a sequence [s]. */
static double mean_time_s(const ms_job *job, int stage, ms_pass pass) {
    const ms_stage_costs *costs = &job->costs;
    int slices = costs->slices > 1 ? costs->slices : 1;
    double sum_s = 0.0;
    for (int slice = 0; slice < slices; slice++) {
        sum_s += ms_compute_pass_s(costs, ms_stage_cost_of(costs, stage, slice), pass);
    }
    return sum_s / slices * stage_factor(job, stage);
}

/* The weight gradient takes the time of the whole backward pass less that of the input gradient.
 * Latencies of messages stay 0. */
ms_status ms_estimate_pass_times(const ms_job *job, ms_arena *arena, ms_schedule_costs *times_out) {
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
    *times_out = (ms_schedule_costs){.forward = times_s,
                                     .input_grad = times_s + stages,
                                     .weight_grad = times_s + 2 * stages,
                                     .p2p = times_s + 3 * stages};
    return MS_OK;
}

/* Find the bubble of the schedule: the idle share of its ranks with computations alone. Ranks that
 * do not wait for each other at the end of a step start the next step while others still work. Then
 * the time per step is that of the busiest rank, or the span of a rank with a first stage if that
 * is longer, as such a rank starts the step at once.  Returns MS_OK; other statuses reported. */
static ms_status find_bubble(const ms_job *job, ms_arena *arena, ms_diag *diag,
                             double *bubble_out) {
    const ms_program *program = &job->program;
    ms_schedule_costs times;
    ms_schedule_result paper;
    if (ms_estimate_pass_times(job, arena, &times) != MS_OK) {
        return ms_diag_no_memory(diag);
    }
    ms_status status = ms_schedule_evaluate(program, &times, arena, diag, &paper);
    if (status != MS_OK || !ms_job_is_validated_late(job)) {
        *bubble_out = status == MS_OK ? paper.bubble_fraction : 0.0;
        return status;
    }
    double period_s = paper.busy_max;
    for (int stage = 0; stage < program->stages; stage++) {
        if (!ms_program_has_previous(program, stage)) {
            period_s = fmax(period_s, paper.ranks[program->stage_rank[stage]].span);
        }
    }
    double busy_s = (1.0 - paper.bubble_fraction) * paper.makespan;
    *bubble_out = period_s > 0.0 ? 1.0 - busy_s / period_s : 0.0;
    return MS_OK;
}

/* Estimate the step and its bound from the clocks of the pipeline ranks, with the times of `comm`.
 * Contention between classes of collectives is counted, unless the job has no shared links or
 * excludes contention. */
static ms_status run_clocks(const ms_job *job, ms_comm_classes *comm, ms_layout_storage *space,
                            ms_diag *diag, ms_estimate *estimate) {
    ms_arena *arena = &space->kept;
    ms_order order;
    ms_sharing sharing;
    ms_step_context context = {.order = &order,
                               .comm = comm,
                               .sharing = comm->is_alone || job->run.no_sharing ? NULL : &sharing,
                               .space = space,
                               .scratch = arena};
    ms_status status = ms_sharing_init(&sharing, comm, space, arena);
    status = status == MS_OK ? ms_order_make(&job->program, arena, arena, diag, &order) : status;
    if (status == MS_OK) {
        status = ms_step_estimate(job, &context, &estimate->step_s, &estimate->lower_bound_s);
    }
    ms_sharing_release(&sharing);
    return status;
}

/* Estimate the step and its bound, with all storage for it made and released here. */
static ms_status find_step(const ms_job *job, ms_diag *diag, ms_estimate *estimate) {
    ms_layout_storage space;
    ms_comm_classes comm;
    ms_layout_storage_init(&space, diag);
    ms_status status = ms_comm_classes_init(&comm, job, &space.kept);
    status = status == MS_OK ? run_clocks(job, &comm, &space, diag, estimate) : status;
    ms_comm_classes_release(&comm);
    ms_layout_storage_release(&space);
    return status;
}

/* Fill in memory and computation of all pipeline ranks, whether the job fits, and the bound of its
 * computation.  estimate: with room for the ranks. */
static ms_status fill_ranks(const ms_job *job, ms_arena *arena, ms_estimate *estimate) {
    ms_memory_model memory;
    ms_memory_moments moments;
    ms_pass_counts counts;
    if (ms_memory_model_init(&job->program, &job->costs, arena, &memory) != MS_OK ||
        ms_memory_moments_find(&memory, arena, &moments) != MS_OK ||
        ms_compute_count(&job->program, arena, &counts) != MS_OK) {
        return MS_E_NOMEM;
    }
    for (int p = 0; p < job->program.spec.pipeline_ranks; p++) {
        ms_held_memory peak = ms_memory_model_peak(&memory, &moments, p);
        fill_rank(job, &peak, p, &estimate->ranks[p]);
        if (estimate->ranks[p].peak_B > estimate->ranks[estimate->peak_rank].peak_B) {
            estimate->peak_rank = p;
        }
    }
    estimate->busy_s = ms_compute_bound_s(job, &counts, &job->costs);
    estimate->capacity_B = job->platform->gpu.hbm_B - job->platform->gpu.reserve_B;
    estimate->fits = estimate->ranks[estimate->peak_rank].peak_B <= estimate->capacity_B;
    return MS_OK;
}

ms_status ms_job_estimate(const ms_job *job, ms_arena *arena, ms_diag *diag,
                          ms_estimate *estimate_out) {
    int pp = job->program.spec.pipeline_ranks;
    ms_estimate estimate = {.ranks = MS_NEW(arena, ms_rank_estimate, pp)};
    ms_status status = estimate.ranks == NULL ? MS_E_NOMEM : fill_ranks(job, arena, &estimate);
    status = status == MS_OK ? find_step(job, diag, &estimate) : status;
    if (status == MS_E_NOMEM) {
        ms_diag_error(diag, "out of memory while estimating the step");
    }
    if (status == MS_OK) {
        status = find_bubble(job, arena, diag, &estimate.ideal_bubble_fraction);
    }
    if (status == MS_OK) {
        *estimate_out = estimate;
    }
    return status;
}
