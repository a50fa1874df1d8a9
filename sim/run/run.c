/* One job from graph to result. */
#include <stddef.h>

#include "meshsim/job.h"
#include "meshsim/lower.h"
#include "meshsim/progress.h"
#include "meshsim/usage.h"
#include "run/figures.h"

/* Lower; where collectives inside pieces clash, once more with them as operations. */
static ms_status lower_pieces(ms_lower_input *input, ms_diag *diag, ms_dag *dag_out,
                              ms_lower_fold *fold_out) {
    unsigned axes = 0;
    ms_status status = ms_lower(input, diag, dag_out, fold_out);
    if (status != MS_OK || dag_out->network.pieces.count == 0 || input->is_alone) {
        return status;
    }
    if (ms_granularity_find_clashes(dag_out, &axes) != MS_OK) {
        ms_diag_error(diag, "out of memory while looking for links that passes share");
        return MS_E_NOMEM;
    }
    if (axes == 0) {
        return MS_OK;
    }
    input->operation_axes = axes;
    ms_dag_release(dag_out);
    return ms_lower(input, diag, dag_out, fold_out);
}

ms_status ms_job_lower(ms_job *job, ms_diag *diag, ms_dag *dag_out) {
    ms_lower_input input = {.platform = &job->platform,
                            .mesh = &job->mesh,
                            .expert_mesh = job->expert_mesh,
                            .program = &job->program,
                            .costs = &job->costs,
                            .algorithms = job->spec.algorithms,
                            .host = ms_spec_host_of(&job->spec),
                            .granularity = job->spec.simulation.granularity,
                            .is_alone = job->spec.simulation.fidelity == MS_FIDELITY_ANALYTIC,
                            .is_stepped = job->spec.simulation.fidelity == MS_FIDELITY_STEP,
                            .no_fold = job->run.no_fold,
                            .is_bounded = job->run.is_bounded,
                            .is_blocking = job->is_blocking,
                            .steps = job->spec.simulation.steps,
                            .is_validated_late = job->is_validated_late};
    return lower_pieces(&input, diag, dag_out, &job->fold);
}

static void find_peak(ms_result *result) {
    result->capacity_B = result->job->platform.gpu.hbm_B - result->job->platform.gpu.reserve_B;
    result->peak_rank = 0;
    for (int r = 1; r < result->dag.rank_count; r++) {
        if (result->memory[r].peak_B > result->memory[result->peak_rank].peak_B) {
            result->peak_rank = r;
        }
    }
    result->fits = result->memory[result->peak_rank].peak_B <= result->capacity_B;
}

static ms_status simulate(ms_job *job, ms_arena *arena, ms_diag *diag, ms_result *result) {
    ms_progress_begin("laying out operations", 0);
    ms_status status = ms_job_lower(job, diag, &result->dag);
    if (status == MS_OK) {
        ms_progress_begin("simulating", result->dag.op_count);
        status = ms_engine_run(&result->dag, job->spec.simulation.fidelity, job->run.solver, arena,
                               diag, &result->timeline);
    }
    if (status == MS_OK && !job->fold.is_exact) {
        status = ms_fold_find_bounds(result, diag);
    }
    if (status == MS_OK) {
        status = ms_metrics_compute(&result->dag, &result->timeline, arena, diag, &result->metrics);
    }
    if (status == MS_OK) {
        status = ms_memory_compute(&result->dag, &result->timeline, &job->costs, &job->program,
                                   arena, &result->memory);
        if (status == MS_E_NOMEM) {
            ms_diag_error(diag, "out of memory while following memory over the step");
        }
    }
    return status;
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
