/* Bounds of the step time of an inexactly folded job, in which a rank stands for ranks that differ
 * from it (folding.md): the graph is run twice in closed form, with every communication at its
 * lower bound, and at its upper bound (ms_dag_work.bounds). */
#include <math.h>
#include <string.h>

#include "simulate/run/figures.h"

/* Ends of a run [s]: first_s: of the first step; last_s: of all later steps, 0 if there are none.
 */
typedef struct run_ends {
    double first_s;
    double last_s;
} run_ends;

/* Let a communication take as long as one of its bounds: the first flow of its last phase takes
 * transfer_s, all other flows and phases nothing. A last phase without flows has the whole bound as
 * its latency. */
static void set_bound(ms_dag *dag, const ms_dag_work *work, const ms_dag_bounds *bound) {
    for (int32_t p = work->phase_first; p < work->phase_first + work->phase_count; p++) {
        const ms_dag_phase *phase = &dag->network.phases[p];
        for (int32_t f = phase->flow_first; f < phase->flow_first + phase->flow_count; f++) {
            dag->network.flows[f].alone_s = 0.0;
        }
        dag->network.phases[p].latency_s = 0.0;
    }
    ms_dag_phase *last = &dag->network.phases[work->phase_first + work->phase_count - 1];
    bool has_flow = last->flow_count > 0;
    last->latency_s = bound->latency_s + (has_flow ? 0.0 : bound->transfer_s);
    if (has_flow) {
        dag->network.flows[last->flow_first].alone_s = bound->transfer_s;
    }
}

/* Copy a graph: works, phases and flows, which bounds change, are copies in `scratch`; all other
 * arrays are those of `dag`.  Returns MS_OK; MS_E_NOMEM. */
static ms_status copy_graph(const ms_dag *dag, ms_arena *scratch, ms_dag *copy_out) {
    ms_dag copy = *dag;
    copy.works = MS_NEW(scratch, ms_dag_work, dag->work_count);
    copy.network.phases = MS_NEW(scratch, ms_dag_phase, dag->network.phase_count);
    copy.network.flows = MS_NEW(scratch, ms_dag_flow, dag->network.flow_count);
    if (copy.works == NULL || copy.network.phases == NULL || copy.network.flows == NULL) {
        return MS_E_NOMEM;
    }
    memcpy(copy.works, dag->works, (size_t)dag->work_count * sizeof *copy.works);
    memcpy(copy.network.phases, dag->network.phases,
           (size_t)dag->network.phase_count * sizeof *copy.network.phases);
    if (dag->network.flow_count > 0) {
        memcpy(copy.network.flows, dag->network.flows,
               (size_t)dag->network.flow_count * sizeof *copy.network.flows);
    }
    *copy_out = copy;
    return MS_OK;
}

/* Replace the slow-down of computations by a bound. Upper bound (is_most): every computation is
 * slowed down by the largest factor all the time. Lower bound: no computation is slowed down. */
static void set_slowdown(ms_dag *dag, bool is_most) {
    double most = 1.0;
    for (int i = 0; i < MS_COLL_COUNT; i++) {
        most = fmax(most, dag->network.compute_slowdown[i]);
        dag->network.compute_slowdown[i] = 1.0;
    }
    for (int32_t w = 0; w < dag->work_count && is_most; w++) {
        dag->works[w].time_s *= dag->works[w].is_communication ? 1.0 : most;
    }
}

/* Run the graph in closed form with everything at its lower bound, or at its upper bound (is_most),
 * and find the ends of the first step and of all later steps. A communication without bounds stands
 * only for equal ones, and takes its own time. Returns MS_OK; MS_E_NOMEM; as ms_engine_run. */
static ms_status run_bound(const ms_dag *dag, bool is_most, ms_diag *diag, run_ends *ends_out) {
    ms_arena scratch;
    ms_dag copy;
    ms_timeline timeline;
    ms_arena_init(&scratch);
    ms_status status = copy_graph(dag, &scratch, &copy);
    for (int32_t w = 0; status == MS_OK && w < dag->work_count; w++) {
        const ms_dag_work *work = &dag->works[w];
        if (work->is_communication && work->bounds[1].transfer_s + work->bounds[1].latency_s > 0) {
            set_bound(&copy, work, &work->bounds[is_most]);
        }
    }
    if (status == MS_OK) {
        set_slowdown(&copy, is_most);
        status = ms_engine_run(&copy, MS_FIDELITY_ANALYTIC, MS_SOLVER_SIMGRID, &scratch, diag,
                               &timeline);
    }
    *ends_out = (run_ends){0};
    for (int32_t op = 0; status == MS_OK && op < dag->op_count; op++) {
        double *end_s = op < dag->step_first[1] ? &ends_out->first_s : &ends_out->last_s;
        *end_s = fmax(*end_s, timeline.end_s[op]);
    }
    ms_arena_release(&scratch);
    return status;
}

ms_status ms_fold_find_bounds(const ms_dag *dag, ms_diag *diag, double bounds_s_out[2]) {
    run_ends least;
    run_ends most;
    int32_t steps = dag->step_count;
    ms_status status = run_bound(dag, false, diag, &least);
    status = status == MS_OK ? run_bound(dag, true, diag, &most) : status;
    if (status != MS_OK) {
        return status;
    }
    bounds_s_out[0] = least.first_s;
    bounds_s_out[1] = most.first_s;
    if (steps > 1) { /* the mean of the steps after the first: last end - first end, bounded */
        bounds_s_out[0] = fmax(0.0, least.last_s - most.first_s) / (steps - 1);
        bounds_s_out[1] = (most.last_s - least.first_s) / (steps - 1);
    }
    return MS_OK;
}
