#include "estimate/step.h"

#include <math.h>
#include <string.h>

#include "estimate/order_times.h"
#include "job/step_end.h"

/* Share of a bound that stays one although its sums are rounded in another order. */
static const double BOUND_SHARE = 1.0 - 1e-9;

/* The state of a step that is being estimated. */
typedef struct stepping {
    const ms_job *job;
    const ms_step_place *place;
    ms_timing *timing;
    ms_carried carried;
    ms_order_times times;
    ms_clocks clocks;
    double norm_s;    /* in which all ranks learn the gradient's norm; < 0: they do not */
    ms_chained *ops;  /* [pp * op_room] collectives that ranks have come to and not run */
    ms_chain *chains; /* [pp] of them */
    int op_room;
    ms_status chain_status; /* first failure of those that have run */
} stepping;

static double *stream_of(stepping *s, int p, const ms_segment *segment) {
    int k = ms_carried_find(&s->carried, segment);
    return k < 0 ? &s->clocks.rank_s[p] : &s->clocks.stream_s[p * MS_CARRIED_MAX + k];
}

/* Let a pipeline rank wait for all that it has started.  Returns when that has ended [s]. */
static double wait_for_rank(stepping *s, int p) {
    s->clocks.rank_s[p] = ms_clocks_rank_end_s(&s->clocks, p, s->carried.count);
    return s->clocks.rank_s[p];
}

/* Advance a pipeline rank's host by some launches.  Returns when they are done; 0 where launches
 * take no time [s]. */
static double launched_s(stepping *s, int p, int launches) {
    s->clocks.host_s[p] += launches * s->job->host.launch_s;
    return s->job->host.launch_s > 0.0 ? s->clocks.host_s[p] : 0.0;
}

/* An all-reduce between two pipeline ranks, once both have ended all they started. */
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

/* A collective in the groups of one pipeline rank: kept for run_chains, or run at once, so that the
 * rank waits for it. */
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

/* Run the collectives that all ranks have come to beside each other. */
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
    /* What has shared links is no sum of times that each collective has by itself. */
    s->timing->excess = has_met ? INFINITY : s->timing->excess;
    return s->chain_status;
}

static ms_status visit_pair(void *context, const int ends[2], ms_axis axis, double size_B) {
    (void)axis; /* pairs are timed by where they lie */
    ms_status status = run_chains(context);
    return status == MS_OK ? reduce_pair(context, ends[0], ends[1], size_B) : status;
}

/* All ranks wait for each other and learn the norm. */
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

/* Time of the update of a pipeline rank. */
static double update_s(const stepping *s, int p) {
    return s->job->costs.optimizer_s[p] * ms_timing_factor(s->timing, p);
}

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

/* Steps that are run: where all ranks meet, and their hosts with them, the second is like all
 * others. */
enum { STEPS_RUN_MAX = 4 };

static ms_status run_steps(stepping *s, double *step_s_out) {
    int steps = s->job->spec.simulation.steps > 1 ? s->job->spec.simulation.steps : 1;
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

/* What the least busy rank does in a step: passes one after the other, and the update. */
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

/* Room for the collectives at the end of a step, for ranks that may take bandwidth from each other.
 */
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

/* From a common start to the last end on any rank; of several steps, what one adds. */
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
        /* Steps are counted from the last end to the last end: the rank that ended last has as
         * many steps behind it, and they may be fewer seconds than those of a busier one. */
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
