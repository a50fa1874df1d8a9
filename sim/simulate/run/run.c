/* One job from graph to result. */
#include <stddef.h>

#include "base/progress.h"
#include "base/usage.h"
#include "simulate/lower/lower.h"
#include "simulate/run/fast_forward.h"
#include "simulate/run/figures.h"
#include "simulate/run/job.h"

ms_status ms_job_lower(const ms_job *job, ms_diag *diag, ms_dag *dag_out, ms_lower_fold *fold_out) {
    ms_job again = *job;
    ms_status status = ms_lower(job, diag, dag_out, fold_out);
    if (status != MS_OK || dag_out->network.pieces.count == 0 || ms_job_is_alone(job)) {
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
    return ms_lower(&again, diag, dag_out, fold_out);
}

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

/* Sum up where time and memory went. */
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

/* Lower a part of a job, where what fails is no loss, but for lack of memory: the whole needs more,
 * and would differ in last digits.  *is_lowered_out: whether it is worth running.  Returns MS_OK;
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

static ms_status run_graph(const ms_job *job, ms_arena *arena, ms_diag *diag, ms_result *result) {
    ms_progress_begin("simulating", result->dag.op_count);
    return ms_engine_run(&result->dag, job->spec.simulation.fidelity, job->run.solver, arena, diag,
                         &result->timeline);
}

/* Run the graph of a part of a job.  *is_done_out: whether that tells all of it. */
static ms_status run_part(const ms_job *job, ms_part *part, ms_arena *arena, ms_diag *diag,
                          ms_result *result, bool *is_done_out) {
    ms_status status = run_graph(&part->job, arena, diag, result);
    if (status != MS_OK) {
        return status;
    }
    status = ms_part_compare(part, job, result, arena, is_done_out);
    return status == MS_E_NOMEM ? ms_diag_no_memory(diag) : status;
}

/* Simulate a part of a job, and look whether that tells all of it.  *is_done_out: whether it does;
 * if not, the result is as before.  Returns MS_OK; what running or measuring fails with (reported).
 */
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

/* Simulate parts of a job, until one tells all of it or there is none left to try. */
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

/* Find bounds of a job's step that hold however its dates are rounded. */
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

/* Lower and run the whole job. */
static ms_status simulate_whole(ms_job *job, ms_arena *arena, ms_diag *diag, ms_result *result) {
    ms_progress_begin("laying out operations", 0);
    ms_status status = ms_job_lower(job, diag, &result->dag, &result->fold);
    return status == MS_OK ? run_graph(job, arena, diag, result) : status;
}

/* Whether a folded job is small enough to simulate every rank of it. */
static bool can_unfold(const ms_job *job, const ms_dag *folded) {
    return (double)folded->op_count * job->mesh.ranks / folded->rank_count < MS_FOLD_SLOW_OPS;
}

/* Replace a folded run whose rounding errors grow, as ranks that are alike may then drift apart: by
 * a run of every rank or, where that costs too much, by bounds of the step. */
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

/* Test whether a run in which ranks stand for others is stable, and replace it if it is not. */
static ms_status test_folding(ms_job *job, ms_arena *arena, ms_diag *diag, ms_result *result) {
    bool has_folded = result->fold.is_exact && result->dag.rank_count < job->mesh.ranks;
    if (job->run.trusts_folding || !has_folded || !result->timeline.has_shared) {
        return MS_OK;
    }
    bool is_stable = false;
    ms_status status = ms_engine_test(&result->dag, &result->timeline, diag, &is_stable);
    return status != MS_OK || is_stable ? status : settle_chaos(job, arena, diag, result);
}

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
