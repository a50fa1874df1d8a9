/* The estimate of a step (step.h): runs the passes on the clocks, then visits the events at the end
 * of the step (job/step_end.h) in their order and advances the clocks by each. With place->sharing,
 * collectives at the end of a step are first collected as one chain per pipeline rank, and then run
 * beside each other, sharing links (sharing.h). */
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
    const ms_step_place *place;
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
static double *stream_of(stepping *s, int p, const ms_segment *segment) {
    int k = ms_carried_find(&s->carried, segment);
    return k < 0 ? &s->clocks.rank_s[p] : &s->clocks.stream_s[p * MS_CARRIED_MAX + k];
}

/* Advance a pipeline rank to the end of all collectives that it has started.  Returns that time
 * [s]. */
static double wait_for_rank(stepping *s, int p) {
    s->clocks.rank_s[p] = ms_clocks_rank_end_s(&s->clocks, p, s->carried.count);
    return s->clocks.rank_s[p];
}

/* Advance a pipeline rank's host by `launches` launches.  Returns when they are done [s]; 0 where
 * launches take no time. */
static double launched_s(stepping *s, int p, int launches) {
    s->clocks.host_s[p] += launches * s->job->host.launch_s;
    return s->job->host.launch_s > 0.0 ? s->clocks.host_s[p] : 0.0;
}

/* Run an all-reduce of `bytes` between pipeline ranks p and q, after both have ended all that they
 * started. */
static ms_status reduce_pair(stepping *s, int p, int q, double bytes) {
    ms_class_key key = {.kind = MS_COLL_ALL_REDUCE, .from = p, .to = q, .bytes = bytes};
    const ms_class_times *times = NULL;
    ms_status status = ms_comm_classes_find(s->timing->comm, s->timing->space, &key, &times);
    if (status == MS_OK) {
        double time_s = ms_timing_of(s->timing, times, bytes);
        double start_s = fmax(wait_for_rank(s, p), wait_for_rank(s, q));
        start_s = fmax(start_s, fmax(launched_s(s, p, 1), launched_s(s, q, 1)));
        s->clocks.rank_s[p] = s->clocks.rank_s[q] = start_s + time_s;
    }
    return status;
}

/* Visitor of a collective in the groups of pipeline rank `p`: append it to the rank's chain for
 * run_chains or, without contention, run it now. The rank waits for it.  context: stepping. */
static ms_status visit_group(void *context, int p, const ms_segment *segment) {
    stepping *s = context;
    double time_s = 0.0;
    ms_status status = ms_segment_times(s->timing, segment, 1, p, &time_s);
    if (status != MS_OK || time_s < 0.0) {
        return status;
    }
    double *rank_s = &s->clocks.rank_s[p];
    ms_chained op = {.key = ms_class_of_segment(segment, p),
                     .bytes = segment->coll_B,
                     .time_s = time_s,
                     .launched_s = launched_s(s, p, 1),
                     .stream_s = stream_of(s, p, segment)};
    if (s->chains != NULL) {
        s->ops[p * s->op_room + s->chains[p].count++] = op;
    } else {
        *rank_s = fmax(fmax(*rank_s, *op.stream_s), op.launched_s) + time_s;
        *op.stream_s = *rank_s;
    }
    return MS_OK;
}

/* Run the collectives that all ranks have collected, beside each other, and empty the chains.
 * Called before any event for which collectives have to be over.  Returns the first failure of any
 * call, as the visitor of updates cannot return one. */
static ms_status run_chains(stepping *s) {
    int pp = s->timing->comm->pp;
    bool has_met = false;
    if (s->chains == NULL || s->chain_status != MS_OK) {
        return s->chain_status;
    }
    s->chain_status = ms_sharing_run(s->place->sharing, s->chains, pp, &has_met);
    for (int p = 0; p < pp; p++) {
        s->chains[p].count = 0;
    }
    /* With contention, the step is no sum of times that are known alone: the bound needs a run of
     * its own. */
    s->timing->excess = has_met ? INFINITY : s->timing->excess;
    return s->chain_status;
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
    stepping *s = context;
    double latest_s = 0.0;
    ms_status status = run_chains(s);
    for (int p = 0; p < s->timing->comm->pp; p++) {
        latest_s = fmax(latest_s, fmax(wait_for_rank(s, p), launched_s(s, p, 1)));
    }
    for (int p = 0; p < s->timing->comm->pp; p++) {
        s->clocks.rank_s[p] = latest_s + s->norm_s;
    }
    return status;
}

/* Time of the optimizer's update on pipeline rank `p` [s]. */
static double update_s(const stepping *s, int p) {
    return s->job->costs.optimizer_s[p] * ms_timing_factor(s->timing, p);
}

/* Visitor of the update of pipeline rank `p`. The host first waits for the norm, where it needs its
 * value, and then launches the update's kernels. */
static void visit_update(void *context, int p) {
    stepping *s = context;
    run_chains(s);
    double ready_s = wait_for_rank(s, p);
    double time_s = update_s(s, p);
    bool is_waited = (s->job->host.syncs & MS_SYNC_NORM) && !ms_job_is_validated_late(s->job);
    if (time_s > 0.0 && is_waited) {
        s->clocks.host_s[p] = fmax(s->clocks.host_s[p], ready_s);
    }
    double end_s = time_s > 0.0 ? launched_s(s, p, s->job->costs.optimizer_launches) : 0.0;
    s->clocks.rank_s[p] = fmax(ready_s + time_s, end_s);
}

/* Run the end of a step.  *end_out: when the last rank has ended all that it started [s]. */
static ms_status end_step(stepping *s, double *end_out) {
    static const ms_step_end_visitor VISITOR = {visit_group, visit_pair, visit_meeting,
                                                visit_update};
    ms_status status = ms_step_end_visit(s->job, &VISITOR, s, s->timing->space->diag);
    status = status == MS_OK ? run_chains(s) : status;
    *end_out = 0.0;
    for (int p = 0; p < s->timing->comm->pp; p++) {
        *end_out = fmax(*end_out, ms_clocks_rank_end_s(&s->clocks, p, s->carried.count));
    }
    return status;
}

/* Maximum number of steps that are run. Where all ranks and their hosts meet at the end of each
 * step, two are enough, as the second step is then like all later ones. */
enum { STEPS_RUN_MAX = 4 };

/* Run the steps of the job, or the first ones and extrapolate.  *step_s_out: the end of a single
 * step; of several steps the mean time of all but the first, where steps that are not run take as
 * long as the last one that is [s]. */
static ms_status run_steps(stepping *s, double *step_s_out) {
    int steps = s->job->spec.simulation.steps > 1 ? s->job->spec.simulation.steps : 1;
    /* hosts that do not wait for the norm may launch passes of the next step early */
    bool is_ahead = s->job->host.launch_s > 0.0 && !(s->job->host.syncs & MS_SYNC_NORM);
    int most = s->norm_s >= 0.0 && !is_ahead ? 2 : STEPS_RUN_MAX;
    int count = steps < most ? steps : most;
    double end_s[STEPS_RUN_MAX] = {0};
    for (int i = 0; i < count; i++) {
        ms_clocks_run(&s->clocks, s->place->order, &s->times);
        ms_status status = end_step(s, &end_s[i]);
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
 * ranks: its passes one after the other, and the update [s].  s: clocks at 0, which change. */
static double least_busy_s(stepping *s) {
    const ms_order *order = s->place->order;
    double least_s = INFINITY;
    for (int i = 0; i < order->op_count; i++) {
        const ms_order_op *op = &order->ops[i];
        s->clocks.rank_s[op->rank] +=
            op->slot < 0 ? 0.0 : s->times.maps[op->slot]->end_s[MS_FROM_RANK];
    }
    for (int p = 0; p < s->timing->comm->pp; p++) {
        least_s = fmin(least_s, s->clocks.rank_s[p] + update_s(s, p));
    }
    return least_s;
}

/* Allocate empty chains for the collectives at the end of a step. op_room is enough for the longest
 * list before or after the update, as run_chains empties the chains in between. */
static ms_status make_chains(stepping *s, ms_arena *arena) {
    const ms_stage_costs *costs = &s->job->costs;
    int pp = s->timing->comm->pp;
    for (int p = 0; p < pp; p++) {
        int before = costs->before_update == NULL ? 0 : costs->before_update[p].count;
        int after = costs->after_update == NULL ? 0 : costs->after_update[p].count;
        int most = before > after ? before : after;
        s->op_room = most > s->op_room ? most : s->op_room;
    }
    s->ops = MS_NEW(arena, ms_chained, pp * s->op_room);
    s->chains = MS_NEW(arena, ms_chain, pp);
    for (int p = 0; p < pp && s->ops != NULL && s->chains != NULL; p++) {
        s->chains[p] = (ms_chain){.ops = s->ops + p * s->op_room, .rank_s = &s->clocks.rank_s[p]};
    }
    return s->ops == NULL || s->chains == NULL ? MS_E_NOMEM : MS_OK;
}

/* Run the steps of a job for timing->kind. Contention counts in the estimate only.  timing: its
 * excess is raised to INFINITY where contention makes times depend on each other.  *step_s_out: as
 * in run_steps. */
static ms_status run_step(const ms_job *job, ms_timing *timing, const ms_step_place *place,
                          double *step_s_out) {
    ms_arena *arena = place->scratch;
    stepping s = {.job = job, .place = place, .timing = timing, .norm_s = -1.0};
    ms_status status = MS_OK;
    if (ms_step_end_meets(job)) {
        s.norm_s = 0.0;
        status =
            job->costs.parameters_total > 0.0 ? ms_comm_norm_find(timing->comm, &s.norm_s) : MS_OK;
    }
    status = status == MS_OK ? ms_order_times_find(place->order, &job->costs, timing, arena,
                                                   &s.carried, &s.times)
                             : status;
    s.times.is_blocking = ms_job_is_blocking(job);
    status = status == MS_OK
                 ? ms_clocks_new(place->order, arena, &timing->space->arrivals, &s.clocks)
                 : status;
    if (status == MS_OK && timing->kind == MS_TIME_BOUND && ms_job_is_validated_late(job)) {
        /* Ranks do not meet. A step lasts from the end of the rank that ends it last to
         * the same of the next step; this may be another rank, so that only the work of the least
         * busy rank is a bound. */
        *step_s_out = least_busy_s(&s);
        return MS_OK;
    }
    if (status == MS_OK && place->sharing != NULL && timing->kind == MS_TIME_EXPECTED) {
        status = make_chains(&s, arena);
        status = status == MS_OK
                     ? ms_queue_sharing_find(place->sharing, place->order, arena, &s.times.sharing)
                     : status;
        timing->excess = s.times.sharing != NULL ? INFINITY : timing->excess;
    }
    return status == MS_OK ? run_steps(&s, step_s_out) : status;
}

ms_status ms_step_estimate(const ms_job *job, const ms_step_place *place, double *step_s_out,
                           double *bound_s_out) {
    ms_timing timing = {
        .job = job, .comm = place->comm, .space = place->space, .kind = MS_TIME_EXPECTED};
    double step_s = 0.0;
    ms_status status = run_step(job, &timing, place, &step_s);
    if (bound_s_out == NULL) {
        *step_s_out = step_s;
        return status;
    }
    double bound_s = step_s;
    /* Excluded where the bound leaves out a wait of the estimate, for unshards or for other ranks.
     */
    bool is_near = timing.excess <= place->bound_slack && !place->order->has_unshards;
    if (status == MS_OK && is_near && !ms_job_is_validated_late(job)) {
        bound_s = (1.0 - timing.excess) * step_s;
    } else if (status == MS_OK) {
        timing.kind = MS_TIME_BOUND;
        status = run_step(job, &timing, place, &bound_s);
    }
    if (status == MS_OK) {
        *step_s_out = step_s;
        *bound_s_out = BOUND_SHARE * bound_s;
    }
    return status;
}
