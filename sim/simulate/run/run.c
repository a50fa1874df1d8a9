/* Runs a job: lowers it to a graph, simulates the graph, measures the timeline and sums up the
 * result. Where possible, only a part of the job is simulated and its steady state counted
 * (fast_forward.md); a folded run whose rounding errors would grow is replaced (folding.md). */
#include <stddef.h>

#include "base/progress.h"
#include "base/usage.h"
#include "simulate/lower/lower.h"
#include "simulate/run/fast_forward.h"
#include "simulate/run/figures.h"
#include "simulate/run/job.h"

/* Where fused passes turn out to share links with unrelated traffic, the job is lowered once more
 * without the axes concerned in fused passes. */
ms_status ms_job_lower(const ms_job *job, ms_diag *diag, ms_dag *dag_out, ms_lower_fold *fold_out) {
    ms_job again = *job;
    ms_status status = ms_lower(job, diag, dag_out, fold_out);
    if (status != MS_OK || dag_out->network.fused.count == 0 || ms_job_is_alone(job)) {
        return status;
    }
    if (ms_granularity_find_clashes(dag_out, &again.run.operation_axes) != MS_OK) {
        ms_diag_error(diag, "out of memory while looking for links that passes share");
        return MS_E_NOMEM;
    }
    if (again.run.operation_axes == 0) {
        return MS_OK;
    }
    ms_dag_release(dag_out);
    /* `again` keeps the collectives of these axes out of fused passes */
    return ms_lower(&again, diag, dag_out, fold_out);
}

/* Find the simulated rank with the highest peak memory, and whether the job fits into the GPU's
 * capacity. */
static void find_peak(ms_result *result) {
    result->capacity_B = result->job->platform->gpu.hbm_B - result->job->platform->gpu.reserve_B;
    result->peak_rank = 0;
    for (int r = 1; r < result->dag.rank_count; r++) {
        if (result->memory[r].held.total_B > result->memory[result->peak_rank].held.total_B) {
            result->peak_rank = r;
        }
    }
    result->fits = result->memory[result->peak_rank].held.total_B <= result->capacity_B;
}

/* Compute metrics and memory of a simulated job, and bounds where its fold is not exact; those of a
 * chaotic fold are set already (settle_chaos).  Returns MS_OK; MS_E_RANGE (not reported) as
 * ms_metrics_compute; other failures, reported. */
static ms_status measure(const ms_job *job, ms_arena *arena, ms_diag *diag, ms_result *result) {
    ms_status status = MS_OK;
    if (!result->fold.is_exact && !result->fold.is_chaotic) {
        status = ms_fold_find_bounds(&result->dag, diag, result->bounds_s);
    }
    if (status == MS_OK) {
        status = ms_metrics_compute(&result->dag, &result->timeline, arena, diag, &result->metrics);
    }
    if (status == MS_OK) {
        status = ms_memory_compute(job, &result->dag, &result->timeline, arena, &result->memory);
        if (status == MS_E_NOMEM) {
            ms_diag_error(diag, "out of memory while following memory over the step");
        }
    }
    return status;
}

/* Lower a part of a job. Failures are not reported, as the whole job is simulated then; only a lack
 * of memory ends the run, since the whole needs more memory still. *is_lowered_out: whether the
 * part is worth running: it was lowered, its fold is exact and it is small enough.  Returns MS_OK;
 * MS_E_NOMEM (reported). */
static ms_status lower_part(ms_part *part, ms_diag *diag, ms_dag *dag_out, bool *is_lowered_out) {
    ms_diag mute;
    ms_diag_init_mute(&mute);
    ms_progress_begin("laying out operations", 0);
    ms_status status = ms_job_lower(&part->job, &mute, dag_out, &part->fold);
    dag_out->repeat = part->repeat;
    dag_out->repeat.ops_max = status == MS_OK ? ms_part_ops_max(part, dag_out) : 0;
    *is_lowered_out =
        status == MS_OK && part->fold.is_exact && dag_out->op_count <= dag_out->repeat.ops_max;
    return status == MS_E_NOMEM ? ms_diag_no_memory(diag) : MS_OK;
}

/* Run the graph of a result.  job: for fidelity and solver.  Returns as ms_engine_run. */
static ms_status run_graph(const ms_job *job, ms_arena *arena, ms_diag *diag, ms_result *result) {
    ms_progress_begin("simulating", result->dag.op_count);
    return ms_engine_run(&result->dag, job->spec.simulation.fidelity, job->run.solver, arena, diag,
                         &result->timeline);
}

/* Run the graph of a part of a job.  *is_done_out: whether the part stands for the whole job.
 * Returns as run_graph. */
static ms_status run_part(const ms_job *job, ms_part *part, ms_arena *arena, ms_diag *diag,
                          ms_result *result, bool *is_done_out) {
    ms_status status = run_graph(&part->job, arena, diag, result);
    if (status != MS_OK) {
        return status;
    }
    status = ms_part_compare(part, job, result, arena, is_done_out);
    return status == MS_E_NOMEM ? ms_diag_no_memory(diag) : status;
}

/* Simulate and measure a part of a job.  *is_done_out: the caller sets false; becomes whether the
 * part stands for the whole job; if not, graph and timeline of the result are empty again.
 * MS_E_RANGE from the measurement means that the part does not stand for the job.  Returns MS_OK;
 * the failure of a run or measurement (reported). */
static ms_status simulate_part(ms_job *job, ms_part *part, ms_arena *arena, ms_diag *diag,
                               ms_result *result, bool *is_done_out) {
    bool is_lowered = false;
    ms_status status = lower_part(part, diag, &result->dag, &is_lowered);
    if (status == MS_OK && is_lowered) {
        status = run_part(job, part, arena, diag, result, is_done_out);
        part->ops_run += result->timeline.ops_run;
        result->attempted_ops = part->ops_run;
    }
    if (status != MS_OK) {
        return status;
    }
    result->fold = part->fold;
    status = *is_done_out ? measure(&part->job, arena, diag, result) : MS_OK;
    *is_done_out = *is_done_out && status != MS_E_RANGE;
    if (*is_done_out) {
        result->fast_forwarded = job->microbatches - part->job.microbatches;
        return status;
    }
    part->seen_mbs = result->timeline.steady.count == 0 ? result->timeline.steady.seen_mbs : 0;
    ms_dag_release(&result->dag);
    ms_dag_init(&result->dag);
    result->timeline = (ms_timeline){0};
    return MS_OK;
}

/* Simulate parts of a job until one stands for the whole (*is_done_out) or none is left to attempt.
 * Returns as simulate_part. */
static ms_status simulate_parts(ms_job *job, ms_arena *arena, ms_diag *diag, ms_result *result,
                                bool *is_done_out) {
    ms_part *part = MS_NEW(arena, ms_part, 1);
    ms_status status = part != NULL ? ms_part_choose(job, arena, part) : MS_E_NOMEM;
    while (status == MS_OK && part->repeat.times > 0 && !*is_done_out) {
        status = simulate_part(job, part, arena, diag, result, is_done_out);
        if (status != MS_OK) {
            return status;
        }
        status = *is_done_out ? MS_OK : ms_part_choose(job, arena, part);
    }
    return status == MS_E_NOMEM ? ms_diag_no_memory(diag) : status;
}

/* Find bounds of a job's step time that hold whatever the rounding of its dates: those of a run in
 * which one rank stands for each pipeline rank. */
static ms_status bound_chaos(const ms_job *job, ms_diag *diag, double bounds_s_out[2]) {
    ms_job bounded = *job;
    bounded.run.is_bounded = bounded.run.has_bounds = true;
    ms_dag dag;
    ms_lower_fold fold;
    ms_status status = ms_job_lower(&bounded, diag, &dag, &fold);
    status = status == MS_OK ? ms_fold_find_bounds(&dag, diag, bounds_s_out) : status;
    ms_dag_release(&dag);
    return status;
}

/* Lower and run the whole job.  Returns as ms_lower and ms_engine_run. */
static ms_status simulate_whole(ms_job *job, ms_arena *arena, ms_diag *diag, ms_result *result) {
    ms_progress_begin("laying out operations", 0);
    ms_status status = ms_job_lower(job, diag, &result->dag, &result->fold);
    return status == MS_OK ? run_graph(job, arena, diag, result) : status;
}

/* Whether a folded job is small enough to simulate every rank: fewer than MS_FOLD_SLOW_OPS
 * operations. Their number is estimated: every rank of the job has as many as a simulated rank. */
static bool can_unfold(const ms_job *job, const ms_dag *folded) {
    return (double)folded->op_count * job->mesh.ranks / folded->rank_count < MS_FOLD_SLOW_OPS;
}

/* Replace a folded run whose rounding errors grow, so that ranks of one class might drift apart in
 * a run of all ranks: by a run of every rank or, where that costs too much, by bounds of the step
 * time. */
static ms_status settle_chaos(ms_job *job, ms_arena *arena, ms_diag *diag, ms_result *result) {
    ms_status status = MS_OK;
    if (can_unfold(job, &result->dag)) {
        ms_dag_release(&result->dag);
        ms_dag_init(&result->dag);
        job->run.no_fold = true;
        status = simulate_whole(job, arena, diag, result);
    } else {
        result->fold.is_exact = false;
        status = bound_chaos(job, diag, result->bounds_s);
    }
    result->fold.is_chaotic = true;
    return status;
}

/* Test whether an exactly folded run is stable (ms_engine_test), and replace it if it is not. Only
 * runs in which transfers have shared links can be unstable. */
static ms_status test_folding(ms_job *job, ms_arena *arena, ms_diag *diag, ms_result *result) {
    bool has_folded = result->fold.is_exact && result->dag.rank_count < job->mesh.ranks;
    if (job->run.trusts_folding || !has_folded || !result->timeline.has_shared) {
        return MS_OK;
    }
    bool is_stable = false;
    ms_status status = ms_engine_test(&result->dag, &result->timeline, diag, &is_stable);
    return status != MS_OK || is_stable ? status : settle_chaos(job, arena, diag, result);
}

/* Simulate and measure a job: a part of it if that stands for the whole, else the whole. */
static ms_status simulate(ms_job *job, ms_arena *arena, ms_diag *diag, ms_result *result) {
    bool is_done = false;
    ms_status status = simulate_parts(job, arena, diag, result, &is_done);
    if (status != MS_OK || is_done) {
        return status;
    }
    status = simulate_whole(job, arena, diag, result);
    status = status == MS_OK ? test_folding(job, arena, diag, result) : status;
    return status == MS_OK ? measure(job, arena, diag, result) : status;
}

ms_status ms_job_run(ms_job *job, ms_arena *arena, ms_diag *diag, ms_result *result_out) {
    double start_s = ms_wall_s();
    *result_out = (ms_result){.job = job};
    ms_dag_init(&result_out->dag);
    ms_status status = simulate(job, arena, diag, result_out);
    if (status != MS_OK) {
        return status;
    }
    find_peak(result_out);
    result_out->wall_s = ms_wall_s() - start_s;
    result_out->peak_rss_B = ms_peak_rss_B();
    status = ms_result_sum_up(result_out, arena);
    ms_progress_begin(NULL, 0);
    if (status == MS_E_NOMEM) {
        ms_diag_error(diag, "out of memory while summing up");
    }
    return status;
}

void ms_result_release(ms_result *result) {
    ms_dag_release(&result->dag);
}
