/* Lowering of a job: from program, costs, mesh and platform to the operation graph. First the ranks
 * are folded (which of them have to be simulated, folding.md), then the operations of each step are
 * emitted (order.c, step_end.c). */
#include "simulate/lower/lower.h"
#include "collective/coll_class.h"

#include <string.h>

#include "simulate/lower/lowering.h"
#include "simulate/lower/refine.h"

/* Memory reserved for operations, as a multiple of their estimated number: there are a few more
 * members than operations. */
static const double ESTIMATE_MARGIN = 1.05;

/* Number of optimizer steps to lower; 0 in the job counts as 1. */
static int step_count(const ms_job *job) {
    return job->spec.simulation.steps > 0 ? job->spec.simulation.steps : 1;
}

/* Estimated number of operations of a pass on one rank. At granularity `pass` a pass is one fused
 * pass; each collective among replicas (dp) stays an operation and divides a fused pass in two, and
 * so adds two operations. */
static double count_segments(const ms_lowering *l, const ms_pass_plan *plan) {
    double count = 1.0;
    if (l->job->spec.simulation.granularity != MS_GRANULARITY_PASS) {
        return plan->count;
    }
    for (int i = 0; i < plan->count; i++) {
        const ms_segment *segment = &l->job->costs.segments[plan->first + i];
        count += segment->when == MS_WHEN_ALWAYS && segment->axis == MS_AXIS_DP ? 2.0 : 0.0;
    }
    return count;
}

/* Estimated number of operations in all steps on one rank of each pipeline rank, that is, of one
 * class of ranks. The 1.0 of each action is its message. Each unshard or reshard counts as one
 * operation, too. */
static double estimate_class_ops(const ms_lowering *l) {
    const ms_program *program = &l->job->program;
    double ops = 0.0;
    for (size_t i = 0; i < program->first[l->ranks.pp]; i++) {
        const ms_action *action = &program->actions[i];
        ops += count_segments(l, &ms_lowering_cost(l, action)->passes[action->pass]) + 1.0;
    }
    ops += program->shard_moves == NULL ? 0.0 : (double)program->shard_first[l->ranks.pp];
    return ops * step_count(l->job);
}

/* Estimated number of operations of the graph. */
static double estimate_ops(const ms_lowering *l) {
    return l->class_ops * l->ranks.simulated_per_pp;
}

/* Refuse a graph of more than MS_LOWER_OP_LIMIT operations.  Returns MS_OK; MS_E_INPUT (reported).
 */
static ms_status check_size(const ms_lowering *l, ms_diag *diag) {
    double ops = estimate_ops(l);
    if (ops <= MS_LOWER_OP_LIMIT) {
        return MS_OK;
    }
    ms_diag_error(diag,
                  "simulating %d ranks takes about %.3g operations, more than the limit of "
                  "%.3g; %suse fewer microbatches or steps",
                  l->ranks.simulated, ops, MS_LOWER_OP_LIMIT,
                  l->job->run.no_fold ? "leave out --no-fold or " : "");
    return MS_E_INPUT;
}

/* Maximum number of segments in a pass, at least 1. */
static int longest_pass(const ms_stage_costs *costs) {
    int longest = 1;
    int entries = costs->stages * (costs->slices > 1 ? costs->slices : 1);
    for (int s = 0; s < entries; s++) {
        for (int pass = 0; pass < MS_PASS_COUNT; pass++) {
            int count = costs->stage[s].passes[pass].count;
            longest = count > longest ? count : longest;
        }
    }
    return longest;
}

/* List the different factors on computations of the simulated ranks (1: full speed), and the index
 * of each rank's factor.  Returns MS_OK; MS_E_NOMEM. */
static ms_status find_factors(ms_lowering *l, ms_arena *arena) {
    const ms_ranks *ranks = &l->ranks;
    l->factors = MS_NEW(arena, double, ranks->simulated);
    l->factor_of = MS_NEW(arena, int, ranks->simulated);
    if (l->factors == NULL || l->factor_of == NULL) {
        return MS_E_NOMEM;
    }
    for (int sim = 0; sim < ranks->simulated; sim++) {
        int rank =
            ms_rank_simulated(ranks, sim / ranks->simulated_per_pp, sim % ranks->simulated_per_pp);
        double factor = ms_job_compute_factor(l->job, rank);
        int i = 0;
        while (i < l->factor_count && l->factors[i] != factor) {
            i++;
        }
        l->factors[i] = factor;
        l->factor_count += i == l->factor_count;
        l->factor_of[sim] = i;
    }
    return MS_OK;
}

/* Prepare the state of all parts of the lowering, once it is known which ranks are simulated. No
 * work of a segment is made yet, so all indices are -1. Returns MS_OK; MS_E_NOMEM. */
static ms_status init_state(ms_lowering *l, ms_arena *arena) {
    const ms_stage_costs *costs = &l->job->costs;
    size_t works = MS_TURN_COUNT * (size_t)costs->segment_count;
    l->runs = MS_NEW(arena, int, (size_t)l->job->program.stages *MS_PASS_COUNT);
    l->computations = (ms_computations){.none = -1, .segment = MS_NEW(arena, int32_t, works)};
    if (l->runs == NULL || l->computations.segment == NULL || find_factors(l, arena) != MS_OK) {
        return MS_E_NOMEM;
    }
    memset(l->computations.segment, 0xFF, works * sizeof *l->computations.segment); /* -1 */
    if (ms_pass_layouts_init(l) != MS_OK) {
        return MS_E_NOMEM;
    }
    return ms_waiting_init(&l->waiting, &l->ranks, &l->job->program, longest_pass(costs), arena);
}

/* Add the simulated ranks and their compute streams to the graph. Both are numbered `sim`:
 * ms_compute_lower relies on this. */
static void add_ranks(ms_lowering *l) {
    const ms_ranks *ranks = &l->ranks;
    for (int p = 0; p < ranks->pp; p++) {
        for (int k = 0; k < ranks->simulated_per_pp; k++) {
            int32_t index =
                ms_dag_add_rank(l->dag, ms_rank_simulated(ranks, p, k), ranks->multiplicity[k], p);
            ms_dag_add_stream(l->dag, index, -1, MS_AXIS_NONE);
        }
    }
}

/* Lower one optimizer step: its passes, then its end.  Returns MS_OK; MS_E_INPUT; MS_E_NOMEM. */
static ms_status lower_step(ms_lowering *l, ms_arena *arena, ms_diag *diag) {
    const ms_program *program = &l->job->program;
    ms_dag_begin_step(l->dag);
    memset(l->runs, 0, (size_t)program->stages * MS_PASS_COUNT * sizeof *l->runs);
    ms_status status = ms_order_lower(l, arena, diag);
    return status == MS_OK ? ms_step_end_lower(l) : status;
}

/* Print a note before a simulation that may take SimGrid minutes: its cost grows with the number of
 * concurrent flows, and so of simulated ranks, which the number of operations does not show. */
static void note_if_slow(const ms_lowering *l) {
    double ops = estimate_ops(l);
    if (l->job->run.solver == MS_SOLVER_MAXMIN || ms_job_is_alone(l->job) ||
        l->ranks.simulated < MS_FOLD_SLOW_RANKS || ops < MS_FOLD_SLOW_OPS) {
        return;
    }
    ms_diag_note(l->works.diag, NULL, NULL,
                 "%d ranks play different roles, and each is simulated: about %.3g operations, "
                 "which may take SimGrid minutes; '--solver maxmin' finds the same sooner",
                 l->ranks.simulated, ops);
}

/* Whether one rank is to stand for all of its pipeline rank, with bounds of the step time: on
 * request (run.is_bounded), or because an exact fold would have more than MS_FOLD_OP_LIMIT
 * operations, which is warned of. If all ranks of a pipeline rank are alike, the fold is exact
 * anyway, and bounds are only made on request (run.has_bounds). */
static bool is_to_be_bounded(const ms_lowering *l) {
    if (l->ranks.simulated_per_pp == 1 || l->job->run.is_bounded) {
        return l->ranks.simulated_per_pp > 1 || l->job->run.has_bounds;
    }
    if (estimate_ops(l) <= MS_FOLD_OP_LIMIT) {
        note_if_slow(l);
        return false;
    }
    ms_diag_warning(l->works.diag,
                    "%d ranks play different roles: to simulate each takes about %.3g operations, "
                    "more than %.3g; one rank stands for all of its pipeline rank instead, and the "
                    "step is given with its bounds",
                    l->ranks.simulated, estimate_ops(l), MS_FOLD_OP_LIMIT);
    return true;
}

/* Refuse an inexact fold in which a rank would stand for ranks that compute at another speed: its
 * bounds consider communication only.  Returns MS_OK; MS_E_INPUT (reported). */
static ms_status check_bounds(const ms_lowering *l) {
    for (int p = 0; p < l->ranks.pp; p++) {
        const ms_factor_range factors = ms_job_compute_factors(l->job, p);
        if (factors.least < factors.most) {
            ms_diag_error(l->works.diag,
                          "ranks of pipeline rank %d compute at different speeds, so that none of "
                          "them can stand for the others; simulate every rank, or fold exactly",
                          p);
            return MS_E_INPUT;
        }
    }
    return MS_OK;
}

/* Find the links that can hold flows back.  can_bind, max_concurrent_flows: outputs, as for
 * ms_find_binding_links.  Returns MS_OK; MS_E_NOMEM. */
static ms_status find_binding(const ms_lowering *l, bool *can_bind, double *max_concurrent_flows) {
    ms_arena scratch;
    ms_arena_init(&scratch);
    ms_status status = ms_find_binding_links(&l->traffic, l->job->platform, &scratch, can_bind,
                                             max_concurrent_flows);
    if (status == MS_OK) {
        status = ms_leave_out_wide_links(&l->traffic, l->job->platform, &scratch, can_bind);
    }
    ms_arena_release(&scratch);
    return status;
}

/* Fold the ranks: one rank of each class of ranks that behave alike is simulated; or, where
 * is_to_be_bounded says so, one of each pipeline rank. Sets l->fold and the class of every link. At
 * fidelity `analytic` (ms_job_is_alone) no link holds flows back. Returns MS_OK; MS_E_NOMEM;
 * MS_E_INPUT (reported). */
static ms_status fold_ranks(ms_lowering *l, ms_arena *arena) {
    const ms_platform *platform = l->job->platform;
    int *class_of = MS_NEW(arena, int, l->ranks.per_pp);
    int32_t *link_class = MS_NEW(arena, int32_t, platform->link_count);
    bool *can_bind = MS_NEW(arena, bool, platform->link_count);
    double *max_concurrent_flows = MS_NEW(arena, double, platform->link_count);
    bool has_all =
        class_of != NULL && link_class != NULL && can_bind != NULL && max_concurrent_flows != NULL;
    ms_status status = has_all ? ms_traffic_list(l) : MS_E_NOMEM;
    if (status == MS_OK && !ms_job_is_alone(l->job)) {
        status = find_binding(l, can_bind, max_concurrent_flows);
    }
    if (status == MS_OK) {
        status = ms_refine(&l->traffic, l->job, ms_job_is_alone(l->job) ? NULL : can_bind, class_of,
                           link_class);
    }
    if (status != MS_OK) {
        return status;
    }
    for (int i = 0; i < platform->link_count; i++) {
        max_concurrent_flows[i] = can_bind[i] ? max_concurrent_flows[i] : 0.0;
    }
    ms_ranks_fold(&l->ranks, class_of);
    l->fold.classes = l->ranks.simulated;
    l->works.link_class = link_class;
    if (is_to_be_bounded(l)) {
        status = check_bounds(l);
        memset(class_of, 0, (size_t)l->ranks.per_pp * sizeof *class_of);
        ms_ranks_fold(&l->ranks, class_of);
        l->works.max_concurrent_flows = max_concurrent_flows;
        l->fold.is_exact = false;
    }
    return status;
}

/* Fold the ranks and emit all steps.  l: initialised except for the fold and the parts that depend
 * on it (init_state). Returns as ms_lower, out of memory not reported. */
static ms_status lower_all(ms_lowering *l, ms_arena *arena, ms_diag *diag) {
    l->fold = (ms_lower_fold){.is_exact = true, .classes = l->ranks.simulated};
    l->class_ops = estimate_class_ops(l);
    ms_status status = l->job->run.no_fold ? MS_OK : fold_ranks(l, arena);
    /* the classes of ranks are final from here on */
    status = status == MS_OK ? ms_traffic_fold(&l->traffic) : status;
    status = status == MS_OK ? check_size(l, diag) : status;
    status = status == MS_OK ? init_state(l, arena) : status;
    if (status != MS_OK) {
        return status;
    }
    ms_dag_reserve(l->dag, ESTIMATE_MARGIN * estimate_ops(l));
    add_ranks(l);
    for (int step = 0; step < step_count(l->job) && status == MS_OK; step++) {
        status = lower_step(l, arena, diag);
    }
    if (status == MS_OK && (ms_works_failed(&l->works) || l->waiting.pool.waits.failed)) {
        status = MS_E_NOMEM;
    }
    return status;
}

ms_status ms_lower(const ms_job *job, ms_diag *diag, ms_dag *dag_out, ms_lower_fold *fold_out) {
    ms_arena scratch;
    ms_arena_init(&scratch);
    ms_dag_init(dag_out);
    memcpy(dag_out->network.compute_slowdown, job->platform->gpu.compute_slowdown,
           sizeof dag_out->network.compute_slowdown);
    dag_out->network.fused.is_alone = ms_job_is_alone(job);
    ms_lowering l = {.job = job, .dag = dag_out};
    ms_status status = ms_ranks_init(&l.ranks, job, &scratch);
    ms_traffic_init(&l.traffic, &l.ranks, &scratch);
    if (status == MS_OK) {
        status = ms_works_init(&l.works, job->platform, &scratch, diag, dag_out);
        l.works.algorithms = ms_coll_choices_on(job->platform, &job->mesh, job->spec.algorithms);
        l.works.launch_s = job->host.launch_s;
        l.works.is_stepped = job->spec.simulation.fidelity == MS_FIDELITY_STEP;
    }
    status = status == MS_OK ? lower_all(&l, &scratch, diag) : status;
    if (status == MS_E_NOMEM) {
        ms_diag_error(diag, "out of memory while laying out the step");
    }
    if (status == MS_OK) {
        status = ms_dag_finish(dag_out, diag);
    }
    if (status == MS_OK) {
        *fold_out = l.fold;
    }
    ms_waiting_release(&l.waiting);
    ms_traffic_release(&l.traffic);
    ms_works_release(&l.works);
    ms_arena_release(&scratch);
    return status;
}
