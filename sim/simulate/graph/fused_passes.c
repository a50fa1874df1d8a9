/* Times the fused passes of a graph. A fused pass is a run of computations and collectives of one
 * pass that the graph holds as one operation of the compute stream (granularity `pass`,
 * sim/simulate/lower/fused_passes.md); its parts are those computations and collectives. All
 * members of a fused pass do the same at the same time. So one member is simulated here: its
 * computations one after the other on the compute stream, its collectives each on its communicator.
 * The results are the time of the fused pass and how much of that time is computation, exposed
 * communication and overlapped communication. */
#include "simulate/graph/fused_passes.h"

#include <math.h>

#include "base/arena.h"
#include "collective/slowdown.h"

/* An interval: a part of a member's time in a fused pass in which the member either computes or
 * waits for communication of one axis. An interval starts where the interval before it ends, the
 * first one at 0. All times in this file are in seconds from the start of the fused pass. */
typedef struct interval {
    double end_s;
    ms_axis axis; /* the axis that the member waits for; MS_AXIS_NONE: the member computes */
} interval;

/* The state of the simulation of one fused pass. Arrays have room for the longest fused pass of the
 * graph. */
typedef struct player {
    ms_dag *dag;
    ms_fused_pass *fused;
    ms_dag_part *parts; /* [fused->part_count] of the fused pass */
    double *host_end_s; /* [parts] end of each part if the hosts start late; see play_hosts */
    int32_t *cause; /* [parts] the part whose end released each part; -1: the fused pass's start */
    int32_t *last;  /* [communicators] the newest part on each communicator, -1: none. A fused pass
                       has at most as many communicators as parts */
    int32_t *order; /* [parts] communications of one axis, sorted by start */
    interval *intervals; /* [2 parts + 1] at most one between two starts or ends of parts */
    int32_t interval_count;
    int32_t at;          /* interval that split_by_intervals has reached for the current axis */
    ms_slow_span *spans; /* [parts] when each communication so far runs, and its slow-down */
    int32_t span_count;
    int32_t live; /* spans before this index have ended by the start of the current computation */
    int32_t next; /* newest blocking part: every later part starts after its end; -1: none */
    double now_s; /* end of `next` [s] */
} player;

static const ms_dag_work *work_of(const player *state, int32_t part) {
    return &state->dag->works[state->parts[part].work];
}

/* The i-th asynchronous part that `part` explicitly waits for, as an index into the fused pass's
 * parts.
 */
static int32_t wait_of(const player *state, int32_t part, int32_t i) {
    return state->dag->network.fused.waits[state->parts[part].wait_first + i];
}

/* Delay the start of `part` to the end of part `before`, and make that part the cause of the start
 * if it is the latest so far. Of parts that end together the first one asked for is the cause. */
static void wait_for(player *state, int32_t part, int32_t before) {
    double end_s = state->parts[before].end_s;
    if (state->cause[part] < 0 || end_s > state->parts[part].start_s) {
        state->cause[part] = before;
    }
    state->parts[part].start_s = fmax(state->parts[part].start_s, end_s);
}

/* Set the start and the cause of a part. It starts when all of these have ended: the newest
 * blocking part, the asynchronous parts that it waits for, and the part before it on its
 * communicator. */
static void set_start(player *state, int32_t part) {
    state->parts[part].start_s = 0.0;
    state->cause[part] = -1;
    if (state->next >= 0) {
        wait_for(state, part, state->next);
    }
    for (int32_t i = 0; i < state->parts[part].wait_count; i++) {
        wait_for(state, part, wait_of(state, part, i));
    }
    if (state->parts[part].communicator >= 0) {
        int32_t *last = &state->last[state->parts[part].communicator];
        if (*last >= 0) {
            wait_for(state, part, *last);
        }
        *last = part;
    }
}

/* The end of a computation whose start is set, slowed down by the communications that run beside
 * it. All of these are already in `spans`: a communication that runs beside a computation was
 * launched before it, so it comes earlier among the parts. Computations follow each other in time,
 * so `live` passes over spans for good. is_slowed: some kind of communication slows computations
 * down. */
static double compute_end_s(player *state, int32_t part, bool is_slowed) {
    double start_s = state->parts[part].start_s, time_s = work_of(state, part)->time_s;
    if (!is_slowed || time_s <= 0.0) {
        return start_s + time_s;
    }
    while (state->live < state->span_count && state->spans[state->live].until_s <= start_s) {
        state->live++;
    }
    return ms_slowed_end_s(state->spans + state->live, state->span_count - state->live, start_s,
                           time_s);
}

/* The end of a communication whose start is set. Also records when it runs, as it slows down the
 * computations beside it. */
static double communicate_end_s(player *state, int32_t part) {
    const ms_dag_work *work = work_of(state, part);
    bool is_alone = state->dag->network.fused.is_alone;
    double start_s = state->parts[part].start_s;
    double end_s = start_s + ms_dag_work_time_s(state->dag, work, is_alone, NULL);
    state->spans[state->span_count++] =
        (ms_slow_span){start_s, end_s, state->dag->network.compute_slowdown[work->coll]};
    return end_s;
}

/* Set start, end and cause of every part of the fused pass, in the order in which they are
 * launched. All later parts wait for a blocking part; only parts that list an asynchronous part
 * wait for that. */
static void play_parts(player *state) {
    bool is_slowed = ms_slowdown_is_needed(state->dag->network.compute_slowdown);
    state->next = -1;
    state->live = state->span_count = 0;
    state->now_s = 0.0;
    for (int32_t i = 0; i < state->fused->part_count; i++) {
        state->last[i] = -1;
    }
    for (int32_t i = 0; i < state->fused->part_count; i++) {
        ms_dag_part *part = &state->parts[i];
        set_start(state, i);
        part->end_s = work_of(state, i)->is_communication ? communicate_end_s(state, i)
                                                          : compute_end_s(state, i, is_slowed);
        if (!part->is_async) {
            state->next = i;
            state->now_s = part->end_s;
        }
    }
}

/* Simulate the fused pass once more for hosts that are the bottleneck: they begin to launch the
 * fused pass at time 0, and the parts wait for nothing outside the fused pass. Parts keep the
 * durations of play_parts. A communication starts when its launch is done. A computation may start
 * earlier, by at most its duration, as it only must not end before its last kernel is launched
 * (sim/simulate/engine/host.md); so its start may be negative. *launched_out: when the last part is
 * launched [s]. Returns the end of the last blocking part [s]. */
static double play_hosts(player *state, double *launched_out) {
    double clock_s = 0.0;
    double next_s = -INFINITY;
    for (int32_t i = 0; i < state->fused->part_count; i++) {
        state->last[i] = -1;
    }
    for (int32_t i = 0; i < state->fused->part_count; i++) {
        const ms_dag_work *work = work_of(state, i);
        int16_t communicator = state->parts[i].communicator;
        double time_s = state->parts[i].end_s - state->parts[i].start_s;
        clock_s += work->host_s;
        double start_s = fmax(next_s, work->is_communication ? clock_s : clock_s - time_s);
        for (int32_t w = 0; w < state->parts[i].wait_count; w++) {
            start_s = fmax(start_s, state->host_end_s[wait_of(state, i, w)]);
        }
        if (communicator >= 0) {
            int32_t last = state->last[communicator];
            start_s = last >= 0 ? fmax(start_s, state->host_end_s[last]) : start_s;
            state->last[communicator] = i;
        }
        state->host_end_s[i] = start_s + time_s;
        next_s = state->parts[i].is_async ? next_s : state->host_end_s[i];
    }
    *launched_out = clock_s;
    return next_s;
}

/* Append an interval up to `end_s`, unless it is empty. axis: as in `interval`. */
static void add_interval(player *state, double end_s, ms_axis axis) {
    double begin_s =
        state->interval_count > 0 ? state->intervals[state->interval_count - 1].end_s : 0.0;
    if (end_s > begin_s) {
        state->intervals[state->interval_count++] = (interval){end_s, axis};
    }
}

/* Append the intervals of a gap of the compute stream: from the end of the last interval to `to_s`,
 * when the end of part `cause` closes the gap. That part covers the gap from its start on. The time
 * before its start goes to the communication that released it, and so on backwards, as in the
 * metrics of a whole timeline (sim/simulate/metrics/idle.c). */
static void list_gap(player *state, double to_s, int32_t cause) {
    double from_s =
        state->interval_count > 0 ? state->intervals[state->interval_count - 1].end_s : 0.0;
    if (to_s <= from_s || cause < 0) {
        return;
    }
    int32_t before = state->cause[cause];
    double start_s = state->parts[cause].start_s;
    if (start_s > from_s && before >= 0 && work_of(state, before)->is_communication) {
        list_gap(state, start_s, before);
    }
    add_interval(state, to_s, (ms_axis)state->parts[cause].axis);
}

/* Divide a member's time into intervals of computing and of waiting for an axis, and add their
 * lengths to the fused pass. The last gap ends where the fused pass does, with its last blocking
 * part. slowed_s: the excess of each computation over its time without communication beside it. */
static void list_intervals(player *state) {
    ms_fused_pass *fused = state->fused;
    state->interval_count = 0;
    for (int32_t i = 0; i < fused->part_count; i++) {
        if (!work_of(state, i)->is_communication) {
            list_gap(state, state->parts[i].start_s, state->cause[i]);
            add_interval(state, state->parts[i].end_s, MS_AXIS_NONE);
            fused->slowed_s += fmax(0.0, state->parts[i].end_s - state->parts[i].start_s -
                                             work_of(state, i)->time_s);
        }
    }
    list_gap(state, state->now_s, state->next);
    double begin_s = 0.0;
    for (int32_t i = 0; i < state->interval_count; i++) {
        double length_s = state->intervals[i].end_s - begin_s;
        begin_s = state->intervals[i].end_s;
        if (state->intervals[i].axis == MS_AXIS_NONE) {
            fused->compute_s += length_s;
        } else {
            fused->axes[state->intervals[i].axis].waited_s += length_s;
        }
    }
}

/* Add the communications on the critical path through the fused pass to critical_s of their axes:
 * the path leads from the last blocking part back from cause to cause. */
static void follow_chain(player *state) {
    double to_s = state->now_s;
    for (int32_t i = state->next; i >= 0; i = state->cause[i]) {
        double from_s = fmin(state->parts[i].start_s, to_s);
        if (work_of(state, i)->is_communication) {
            state->fused->axes[state->parts[i].axis].critical_s += to_s - from_s;
        }
        to_s = from_s;
    }
}

/* Add an interval in which communication of `axis` runs, from `from_s` to `to_s`, to the figures of
 * the axis: overlapped_s while the member computes, exposed_s while it waits for this axis,
 * in_idle_s while it waits for another. Intervals of an axis have to come in the order of time,
 * because `at` never goes back. */
static void split_by_intervals(player *state, ms_axis axis, double from_s, double to_s) {
    ms_fused_pass_axis *use = &state->fused->axes[axis];
    use->busy_s += to_s - from_s;
    while (from_s < to_s && state->at < state->interval_count) {
        const interval *s = &state->intervals[state->at];
        if (s->end_s <= from_s) {
            state->at++;
            continue;
        }
        double until_s = fmin(s->end_s, to_s);
        double *sum = s->axis == MS_AXIS_NONE ? &use->overlapped_s
                      : s->axis == axis       ? &use->exposed_s
                                              : &use->in_idle_s;
        *sum += until_s - from_s;
        from_s = until_s;
    }
}

/* List the communications of one axis in `order`, sorted by start (insertion sort: they are nearly
 * sorted). Returns their number. */
static int32_t order_axis(player *state, ms_axis axis) {
    int32_t count = 0;
    for (int32_t i = 0; i < state->fused->part_count; i++) {
        if (!work_of(state, i)->is_communication || state->parts[i].axis != axis) {
            continue;
        }
        int32_t at = count++;
        for (; at > 0 && state->parts[state->order[at - 1]].start_s > state->parts[i].start_s;
             at--) {
            state->order[at] = state->order[at - 1];
        }
        state->order[at] = i;
    }
    return count;
}

/* Set the figures of one axis of the fused pass. Communications of the axis that overlap each other
 * are merged into one busy interval first, so that no time counts twice. */
static void measure_axis(player *state, ms_axis axis) {
    int32_t count = order_axis(state, axis);
    state->fused->comm_axes |= count > 0 ? MS_AXIS_BIT(axis) : 0;
    state->at = 0;
    for (int32_t i = 0; i < count;) {
        double from_s = state->parts[state->order[i]].start_s;
        double to_s = state->parts[state->order[i]].end_s;
        for (i++; i < count && state->parts[state->order[i]].start_s <= to_s; i++) {
            to_s = fmax(to_s, state->parts[state->order[i]].end_s);
        }
        split_by_intervals(state, axis, from_s, to_s);
    }
    for (int32_t i = 0; i < count; i++) {
        state->fused->axes[axis].bytes += work_of(state, state->order[i])->bytes;
    }
}

/* Set the figures of the work that the fused pass is. Its time is the end of the last blocking
 * part. Its launch time is the sum over all parts; its FLOP and HBM bytes are sums over the
 * computations. Also sets host_s of the fused pass, the least time from its last launch to its end
 * (play_hosts). */
static void set_work(player *state, ms_dag_work *work) {
    double launched_s = 0.0;
    double end_s = play_hosts(state, &launched_s);
    work->time_s = state->now_s;
    work->host_s = launched_s;
    state->fused->host_s = fmax(0.0, end_s - launched_s);
    work->flop = 0.0;
    work->bytes = 0.0;
    for (int32_t i = 0; i < state->fused->part_count; i++) {
        const ms_dag_work *part = work_of(state, i);
        if (!part->is_communication) {
            work->flop += part->flop;
            work->bytes += part->bytes;
        }
    }
}

/* Simulate the fused pass of one work and set all results of the work and of the fused pass. */
static void play_work(player *state, ms_dag_work *work) {
    state->fused = &state->dag->network.fused.passes[work->fused - 1];
    state->parts = state->dag->network.fused.parts + state->fused->part_first;
    play_parts(state); /* first: all other results follow from starts, ends and causes */
    set_work(state, work);
    state->fused->compute_s = 0.0;
    state->fused->slowed_s = 0.0;
    for (int axis = 0; axis < MS_AXIS_COUNT; axis++) {
        state->fused->axes[axis] = (ms_fused_pass_axis){.bytes = 0.0};
    }
    list_intervals(state);
    follow_chain(state);
    state->fused->comm_axes = 0;
    state->fused->waited_s = 0.0;
    for (int axis = MS_AXIS_NONE + 1; axis < MS_AXIS_COUNT; axis++) {
        measure_axis(state, (ms_axis)axis);
        state->fused->waited_s += state->fused->axes[axis].waited_s;
    }
}

/* The largest number of parts in a fused pass. */
static int32_t longest_fused_pass(const ms_dag *dag) {
    int32_t longest = 0;
    for (int32_t i = 0; i < dag->network.fused.count; i++) {
        int32_t count = dag->network.fused.passes[i].part_count;
        longest = count > longest ? count : longest;
    }
    return longest;
}

/* The work of a part must not be a fused pass itself. It must be a communication if the part has a
 * communicator, and a computation if the part has none. Communicators are numbered within a fused
 * pass, which has at most as many of them as parts. A part may only wait for earlier parts. */
const char *ms_dag_find_bad_fused_pass(const ms_dag *dag) {
    const ms_fused_passes *all = &dag->network.fused;
    for (int32_t i = 0; i < all->count; i++) {
        for (int32_t k = 0; k < all->passes[i].part_count; k++) { /* k: part of the fused pass */
            const ms_dag_part *part = &all->parts[all->passes[i].part_first + k];
            if (part->work < 0 || part->work >= dag->work_count || part->axis >= MS_AXIS_COUNT ||
                dag->works[part->work].fused != 0 ||
                dag->works[part->work].is_communication != (part->communicator >= 0) ||
                part->communicator >= all->passes[i].part_count) {
                return "a part of a fused pass that is no work";
            }
            for (int32_t w = 0; w < part->wait_count; w++) {
                if (all->waits[part->wait_first + w] < 0 || all->waits[part->wait_first + w] >= k) {
                    return "a part of a fused pass that waits for one behind it";
                }
            }
        }
    }
    return NULL;
}

/* The lists have room for the longest fused pass, and are used again for each. */
ms_status ms_dag_time_fused_passes(ms_dag *dag) {
    if (dag->network.fused.count == 0) {
        return MS_OK;
    }
    ms_arena scratch;
    ms_arena_init(&scratch);
    size_t longest = (size_t)longest_fused_pass(dag);
    player state = {.dag = dag,
                    .host_end_s = MS_NEW(&scratch, double, longest),
                    .cause = MS_NEW(&scratch, int32_t, longest),
                    .last = MS_NEW(&scratch, int32_t, longest),
                    .order = MS_NEW(&scratch, int32_t, longest),
                    .spans = MS_NEW(&scratch, ms_slow_span, longest),
                    .intervals = MS_NEW(&scratch, interval, 2 * longest + 1)};
    ms_status status = scratch.has_failed ? MS_E_NOMEM : MS_OK;
    for (int32_t w = 0; w < dag->work_count && status == MS_OK; w++) {
        if (dag->works[w].fused > 0) {
            play_work(&state, &dag->works[w]);
        }
    }
    ms_arena_release(&scratch);
    return status;
}
