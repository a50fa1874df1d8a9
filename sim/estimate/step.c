/* The estimate of a step (step.h): runs the passes on the clocks, then visits the events at the end
 * of the step (job/step_end.h) in their order and advances the clocks by each. With
 * context->sharing, collectives at the end of a step are first collected as one chain per pipeline
 * rank, and then run beside each other, sharing links (sharing.h). */
#include "estimate/step.h"

#include <math.h>
#include <string.h>

#include "estimate/order_times.h"
#include "job/step_end.h"

/* Factor on the bound: covers that a simulation adds the same times in another order and rounds
 * otherwise. */
static const double BOUND_SHARE = 1.0 - 1e-9;

/* The state of a step that is being estimated. */
typedef struct stepping {
    const ms_job *job;
    const ms_step_context *context;
    ms_timing *timing;
    ms_carried carried;
    ms_order_times times;
    ms_clocks clocks;
    double norm_s;    /* time of the all-reduce of the gradient's norm; < 0: ranks do not meet */
    ms_chained *ops;  /* [pp][op_room] collectives that are collected and have not run */
    ms_chain *chains; /* [pp] the collectives of each pipeline rank; NULL: they run at once */
    int op_room;      /* maximum number of collectives of a chain */
    ms_status chain_status; /* first failure of run_chains */
} stepping;

/* The clock of a segment's communicator on pipeline rank `p`: if it is not carried, the rank's own
 * clock, as its collectives end with the passes. */
static double *stream_of(stepping *step, int p, const ms_segment *segment) {
    int k = ms_carried_find(&step->carried, segment);
    return k < 0 ? &step->clocks.rank_s[p] : &step->clocks.stream_s[p * MS_CARRIED_MAX + k];
}

/* Advance a pipeline rank to the end of all collectives that it has started.  Returns that time
 * [s]. */
static double wait_for_rank(stepping *step, int p) {
    step->clocks.rank_s[p] = ms_clocks_rank_end_s(&step->clocks, p, step->carried.count);
    return step->clocks.rank_s[p];
}

/* Advance a pipeline rank's host by `launches` launches.  Returns when they are done [s]; 0 where
 * launches take no time. */
static double launched_s(stepping *step, int p, int launches) {
    step->clocks.host_s[p] += launches * step->job->host.launch_s;
    return step->job->host.launch_s > 0.0 ? step->clocks.host_s[p] : 0.0;
}

/* Run an all-reduce of `bytes` between pipeline ranks p and q, after both have ended all that they
 * started. */
static ms_status reduce_pair(stepping *step, int p, int q, double bytes) {
    ms_class_key key = {.kind = MS_COLL_ALL_REDUCE, .from = p, .to = q, .bytes = bytes};
    const ms_class_times *times = NULL;
    ms_status status = ms_comm_classes_find(step->timing->comm, step->timing->space, &key, &times);
    if (status == MS_OK) {
        double time_s = ms_timing_of(step->timing, times, bytes);
        double start_s = fmax(wait_for_rank(step, p), wait_for_rank(step, q));
        start_s = fmax(start_s, fmax(launched_s(step, p, 1), launched_s(step, q, 1)));
        step->clocks.rank_s[p] = step->clocks.rank_s[q] = start_s + time_s;
    }
    return status;
}

/* Visitor of a collective in the groups of pipeline rank `p`, for whose end the rank waits. With
 * contention (step->chains) it is appended to the rank's chain, which run_chains runs. Otherwise it
 * runs now, as soon as the rank, its communicator and its launch are ready. A collective that does
 * not run has a negative time.  context: stepping. */
static ms_status visit_group(void *context, int p, const ms_segment *segment) {
    stepping *step = context;
    double time_s = 0.0;
    ms_status status = ms_segment_times(step->timing, segment, 1, p, &time_s);
    if (status != MS_OK || time_s < 0.0) {
        return status;
    }
    double *rank_s = &step->clocks.rank_s[p];
    ms_chained op = {.key = ms_class_of_segment(segment, p),
                     .bytes = segment->coll_B,
                     .time_s = time_s,
                     .launched_s = launched_s(step, p, 1),
                     .stream_s = stream_of(step, p, segment)};
    if (step->chains != NULL) {
        step->ops[p * step->op_room + step->chains[p].count++] = op;
    } else {
        *rank_s = fmax(fmax(*rank_s, *op.stream_s), op.launched_s) + time_s;
        *op.stream_s = *rank_s;
    }
    return MS_OK;
}

/* Run the collectives that all ranks have collected, beside each other, and empty the chains.
 * Called before any event for which collectives have to be over.  Returns the first failure of any
 * call, as the visitor of updates cannot return one. */
static ms_status run_chains(stepping *step) {
    int pp = step->timing->comm->pp;
    bool has_met = false;
    if (step->chains == NULL || step->chain_status != MS_OK) {
        return step->chain_status;
    }
    step->chain_status = ms_sharing_run(step->context->sharing, step->chains, pp, &has_met);
    for (int p = 0; p < pp; p++) {
        step->chains[p].count = 0;
    }
    /* With contention, the step is no sum of times that are known alone: the bound needs a run of
     * its own. */
    step->timing->excess = has_met ? INFINITY : step->timing->excess;
    return step->chain_status;
}

/* Visitor of an all-reduce between two pipeline ranks that hold the same stages, or tied
 * embeddings. */
static ms_status visit_pair(void *context, const int ends[2], ms_axis axis, double size_B) {
    (void)axis; /* pairs are timed by where they lie */
    ms_status status = run_chains(context);
    return status == MS_OK ? reduce_pair(context, ends[0], ends[1], size_B) : status;
}

/* Visitor of the all-reduce of the gradient's norm: all ranks wait for each other and for its end.
 */
static ms_status visit_meeting(void *context) {
    stepping *step = context;
    double latest_s = 0.0;
    ms_status status = run_chains(step);
    for (int p = 0; p < step->timing->comm->pp; p++) {
        latest_s = fmax(latest_s, fmax(wait_for_rank(step, p), launched_s(step, p, 1)));
    }
    for (int p = 0; p < step->timing->comm->pp; p++) {
        step->clocks.rank_s[p] = latest_s + step->norm_s;
    }
    return status;
}

/* Time of the optimizer's update on pipeline rank `p` [s]. */
static double update_s(const stepping *step, int p) {
    return step->job->costs.optimizer_s[p] * ms_timing_factor(step->timing, p);
}

/* Visitor of the update of pipeline rank `p`. The host first waits for the norm, if it needs the
 * norm's value, and then launches the update's kernels. */
static void visit_update(void *context, int p) {
    stepping *step = context;
    run_chains(step);
    double ready_s = wait_for_rank(step, p);
    double time_s = update_s(step, p);
    bool is_waited = (step->job->host.syncs & MS_SYNC_NORM) && !ms_job_is_validated_late(step->job);
    if (time_s > 0.0 && is_waited) {
        step->clocks.host_s[p] = fmax(step->clocks.host_s[p], ready_s);
    }
    double end_s = time_s > 0.0 ? launched_s(step, p, step->job->costs.optimizer_launches) : 0.0;
    step->clocks.rank_s[p] = fmax(ready_s + time_s, end_s);
}

/* Run the end of a step.  *end_out: when the last rank has ended all that it started [s]. */
static ms_status end_step(stepping *step, double *end_out) {
    static const ms_step_end_visitor VISITOR = {visit_group, visit_pair, visit_meeting,
                                                visit_update};
    ms_status status = ms_step_end_visit(step->job, &VISITOR, step, step->timing->space->diag);
    status = status == MS_OK ? run_chains(step) : status;
    *end_out = 0.0;
    for (int p = 0; p < step->timing->comm->pp; p++) {
        *end_out = fmax(*end_out, ms_clocks_rank_end_s(&step->clocks, p, step->carried.count));
    }
    return status;
}

/* Maximum number of steps that are run. Where all ranks and their hosts meet at the end of each
 * step, two are enough, as the second step is then like all later ones. */
enum { STEPS_RUN_MAX = 4 };

/* Run the steps of the job, or the first ones and extrapolate.  *step_s_out: the end of a single
 * step; of several steps the mean time of all but the first, where steps that are not run take as
 * long as the last one that is [s]. */
static ms_status run_steps(stepping *step, double *step_s_out) {
    int steps = step->job->spec.simulation.steps > 1 ? step->job->spec.simulation.steps : 1;
    /* hosts that do not wait for the norm may launch passes of the next step early */
    bool is_ahead = step->job->host.launch_s > 0.0 && !(step->job->host.syncs & MS_SYNC_NORM);
    int most = step->norm_s >= 0.0 && !is_ahead ? 2 : STEPS_RUN_MAX;
    int count = steps < most ? steps : most;
    double end_s[STEPS_RUN_MAX] = {0};
    for (int i = 0; i < count; i++) {
        ms_clocks_run(&step->clocks, step->context->order, &step->times);
        ms_status status = end_step(step, &end_s[i]);
        if (status != MS_OK) {
            return status;
        }
    }
    if (count == 1) {
        *step_s_out = end_s[0];
        return MS_OK;
    }
    double last_s = end_s[count - 1] - end_s[count - 2];
    *step_s_out = (end_s[count - 1] - end_s[0] + (steps - count) * last_s) / (steps - 1);
    return MS_OK;
}

/* Time that the least busy rank needs for its operations of a step, without any wait for other
 * ranks: its passes one after the other, and the update [s].  step: its clocks must be at 0, and
 * are advanced. */
static double least_busy_s(stepping *step) {
    const ms_order *order = step->context->order;
    double least_s = INFINITY;
    for (int i = 0; i < order->op_count; i++) {
        const ms_order_op *op = &order->ops[i];
        step->clocks.rank_s[op->rank] +=
            op->slot < 0 ? 0.0 : step->times.maps[op->slot]->end_s[MS_FROM_RANK];
    }
    for (int p = 0; p < step->timing->comm->pp; p++) {
        least_s = fmin(least_s, step->clocks.rank_s[p] + update_s(step, p));
    }
    return least_s;
}

/* Allocate empty chains for the collectives at the end of a step. op_room is enough for the longest
 * list before or after the update, as run_chains empties the chains in between. */
static ms_status make_chains(stepping *step, ms_arena *arena) {
    const ms_stage_costs *costs = &step->job->costs;
    int pp = step->timing->comm->pp;
    for (int p = 0; p < pp; p++) {
        int before = costs->before_update == NULL ? 0 : costs->before_update[p].count;
        int after = costs->after_update == NULL ? 0 : costs->after_update[p].count;
        int most = before > after ? before : after;
        step->op_room = most > step->op_room ? most : step->op_room;
    }
    step->ops = MS_NEW(arena, ms_chained, pp * step->op_room);
    step->chains = MS_NEW(arena, ms_chain, pp);
    for (int p = 0; p < pp && step->ops != NULL && step->chains != NULL; p++) {
        step->chains[p] =
            (ms_chain){.ops = step->ops + p * step->op_room, .rank_s = &step->clocks.rank_s[p]};
    }
    return step->ops == NULL || step->chains == NULL ? MS_E_NOMEM : MS_OK;
}

/* Run the steps of a job for timing->kind. Contention counts in the estimate only.  timing: its
 * excess is raised to INFINITY where contention makes times depend on each other.  *step_s_out: as
 * in run_steps. */
static ms_status run_step(const ms_job *job, ms_timing *timing, const ms_step_context *context,
                          double *step_s_out) {
    ms_arena *arena = context->scratch;
    stepping step = {.job = job, .context = context, .timing = timing, .norm_s = -1.0};
    ms_status status = MS_OK;
    if (ms_step_end_has_barrier(job)) {
        step.norm_s = 0.0;
        status = job->costs.parameters_total > 0.0 ? ms_comm_norm_time(timing->comm, &step.norm_s)
                                                   : MS_OK;
    }
    status = status == MS_OK ? ms_order_times_find(context->order, &job->costs, timing, arena,
                                                   &step.carried, &step.times)
                             : status;
    step.times.is_blocking = ms_job_is_blocking(job);
    status = status == MS_OK
                 ? ms_clocks_new(context->order, arena, &timing->space->arrivals, &step.clocks)
                 : status;
    if (status == MS_OK && timing->kind == MS_TIME_BOUND && ms_job_is_validated_late(job)) {
        /* No rank waits for the others. A step lasts from its end on the rank that ends it last to
         * the end of the next step on the rank that ends that one last. These may be two ranks, so
         * only the work of the least busy rank is a bound. */
        *step_s_out = least_busy_s(&step);
        return MS_OK;
    }
    if (status == MS_OK && context->sharing != NULL && timing->kind == MS_TIME_EXPECTED) {
        status = make_chains(&step, arena);
        status = status == MS_OK ? ms_queue_sharing_find(context->sharing, context->order, arena,
                                                         &step.times.sharing)
                                 : status;
        timing->excess = step.times.sharing != NULL ? INFINITY : timing->excess;
    }
    return status == MS_OK ? run_steps(&step, step_s_out) : status;
}

/* If no time exceeds its lower bound by much (bound_slack), the bound is the estimate less the
 * largest excess. Otherwise the clocks are run a second time with lower bounds of all times. */
ms_status ms_step_estimate(const ms_job *job, const ms_step_context *context, double *step_s_out,
                           double *bound_s_out) {
    ms_timing timing = {
        .job = job, .comm = context->comm, .space = context->space, .kind = MS_TIME_EXPECTED};
    double step_s = 0.0;
    ms_status status = run_step(job, &timing, context, &step_s);
    if (bound_s_out == NULL) {
        *step_s_out = step_s;
        return status;
    }
    double bound_s = step_s;
    /* Excluded where the bound leaves out a wait of the estimate, for unshards or for other ranks.
     */
    bool is_near = timing.excess <= context->bound_slack && !context->order->has_unshards;
    if (status == MS_OK && is_near && !ms_job_is_validated_late(job)) {
        bound_s = (1.0 - timing.excess) * step_s;
    } else if (status == MS_OK) {
        timing.kind = MS_TIME_BOUND;
        status = run_step(job, &timing, context, &bound_s);
    }
    if (status == MS_OK) {
        *step_s_out = step_s;
        *bound_s_out = BOUND_SHARE * bound_s;
    }
    return status;
}
