/* Times the pieces of passes. A piece is a run of computations and collectives of one pass that the
 * graph holds as one operation of the compute stream (granularity `pass`,
 * sim/simulate/lower/pieces.md); its parts are those computations and collectives. All members of a
 * piece do the same at the same time. So one member is simulated here: its computations one after
 * the other on the compute stream, its collectives each on its communicator. The results are the
 * time of the piece and how much of that time is computation, exposed communication and overlapped
 * communication. */
#include "simulate/graph/pieces.h"

#include <math.h>

#include "base/arena.h"
#include "collective/slowdown.h"

/* A stretch: a part of a member's time in a piece in which the member either computes or waits for
 * communication of one axis. A stretch starts where the stretch before it ends, the first one at 0.
 * All times in this file are in seconds from the start of the piece. */
typedef struct stretch {
    double end_s;
    ms_axis axis; /* the axis that the member waits for; MS_AXIS_NONE: the member computes */
} stretch;

/* The state of the simulation of one piece. Arrays have room for the longest piece of the graph. */
typedef struct player {
    ms_dag *dag;
    ms_dag_piece *piece;
    ms_dag_part *parts; /* [piece->part_count] of the piece */
    double *host_end_s; /* [parts] end of each part if the hosts start late; see play_hosts */
    int32_t *cause;     /* [parts] the part whose end released each part; -1: the piece's start */
    int32_t *last;      /* [communicators] the newest part on each communicator, -1: none. A piece
                           has at most as many communicators as parts */
    int32_t *order;     /* [parts] communications of one axis, sorted by start */
    stretch *stretches; /* [2 parts + 1] at most one between two starts or ends of parts */
    int32_t stretch_count;
    int32_t at;          /* stretch that split_by_stretches has reached for the current axis */
    ms_slow_span *spans; /* [parts] when each communication so far runs, and its slow-down */
    int32_t span_count;
    int32_t live; /* spans before this index have ended by the start of the current computation */
    int32_t next; /* newest blocking part: every later part starts after its end; -1: none */
    double now_s; /* end of `next` [s] */
} player;

static const ms_dag_work *work_of(const player *state, int32_t part) {
    return &state->dag->works[state->parts[part].work];
}

/* The i-th asynchronous part that `part` explicitly waits for, as an index into the piece's parts.
 */
static int32_t wait_of(const player *state, int32_t part, int32_t i) {
    return state->dag->network.pieces.waits[state->parts[part].wait_first + i];
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
 * so `live` passes over spans for good. */
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
    bool is_alone = state->dag->network.pieces.is_alone;
    double start_s = state->parts[part].start_s;
    double end_s = start_s + ms_dag_work_time_s(state->dag, work, is_alone, NULL);
    state->spans[state->span_count++] =
        (ms_slow_span){start_s, end_s, state->dag->network.compute_slowdown[work->coll]};
    return end_s;
}

/* Set start, end and cause of every part of the piece, in the order in which they are launched. */
static void play_parts(player *state) {
    bool is_slowed = ms_slowdown_is_needed(state->dag->network.compute_slowdown);
    state->next = -1;
    state->live = state->span_count = 0;
    state->now_s = 0.0;
    for (int32_t i = 0; i < state->piece->part_count; i++) {
        state->last[i] = -1;
    }
    for (int32_t i = 0; i < state->piece->part_count; i++) {
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

/* Simulate the piece once more for hosts that are the bottleneck: they begin to launch the piece at
 * time 0, and the parts wait for nothing outside the piece. Parts keep the durations of play_parts.
 * A computation starts no earlier than its duration before its launch is done, as it cannot end
 * before its last kernel is launched (sim/simulate/engine/host.md). *launched_out: when the last
 * part is launched [s]. Returns the end of the last blocking part [s]. */
static double play_hosts(player *state, double *launched_out) {
    double clock_s = 0.0;
    double next_s = -INFINITY;
    for (int32_t i = 0; i < state->piece->part_count; i++) {
        state->last[i] = -1;
    }
    for (int32_t i = 0; i < state->piece->part_count; i++) {
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

/* Append a stretch up to `end_s`, unless it is empty. axis: as in `stretch`. */
static void add_stretch(player *state, double end_s, ms_axis axis) {
    double begin_s =
        state->stretch_count > 0 ? state->stretches[state->stretch_count - 1].end_s : 0.0;
    if (end_s > begin_s) {
        state->stretches[state->stretch_count++] = (stretch){end_s, axis};
    }
}

/* Append the stretches of a gap of the compute stream: from the end of the last stretch to `to_s`,
 * when the end of part `cause` closes the gap. That part covers the gap from its start on. The time
 * before its start goes to the communication that released it, and so on backwards, as in the
 * metrics of a whole timeline (sim/simulate/metrics/idle.c). */
static void list_gap(player *state, double to_s, int32_t cause) {
    double from_s =
        state->stretch_count > 0 ? state->stretches[state->stretch_count - 1].end_s : 0.0;
    if (to_s <= from_s || cause < 0) {
        return;
    }
    int32_t before = state->cause[cause];
    double start_s = state->parts[cause].start_s;
    if (start_s > from_s && before >= 0 && work_of(state, before)->is_communication) {
        list_gap(state, start_s, before);
    }
    add_stretch(state, to_s, (ms_axis)state->parts[cause].axis);
}

/* Divide a member's time into stretches of computing and of waiting for an axis, and add their
 * lengths to the piece. slowed_s: the excess of each computation over its time without
 * communication beside it. */
static void list_stretches(player *state) {
    ms_dag_piece *piece = state->piece;
    state->stretch_count = 0;
    for (int32_t i = 0; i < piece->part_count; i++) {
        if (!work_of(state, i)->is_communication) {
            list_gap(state, state->parts[i].start_s, state->cause[i]);
            add_stretch(state, state->parts[i].end_s, MS_AXIS_NONE);
            piece->slowed_s += fmax(0.0, state->parts[i].end_s - state->parts[i].start_s -
                                             work_of(state, i)->time_s);
        }
    }
    list_gap(state, state->now_s, state->next);
    double begin_s = 0.0;
    for (int32_t i = 0; i < state->stretch_count; i++) {
        double length_s = state->stretches[i].end_s - begin_s;
        begin_s = state->stretches[i].end_s;
        if (state->stretches[i].axis == MS_AXIS_NONE) {
            piece->compute_s += length_s;
        } else {
            piece->axes[state->stretches[i].axis].waited_s += length_s;
        }
    }
}

/* Add the communications on the critical path through the piece to critical_s of their axes: the
 * path leads from the last blocking part back from cause to cause. */
static void follow_chain(player *state) {
    double to_s = state->now_s;
    for (int32_t i = state->next; i >= 0; i = state->cause[i]) {
        double from_s = fmin(state->parts[i].start_s, to_s);
        if (work_of(state, i)->is_communication) {
            state->piece->axes[state->parts[i].axis].critical_s += to_s - from_s;
        }
        to_s = from_s;
    }
}

/* Add an interval in which communication of `axis` runs, from `from_s` to `to_s`, to the figures of
 * the axis: overlapped_s while the member computes, exposed_s while it waits for this axis,
 * in_idle_s while it waits for another. Intervals of an axis have to come in the order of time,
 * because `at` never goes back. */
static void split_by_stretches(player *state, ms_axis axis, double from_s, double to_s) {
    ms_dag_piece_axis *use = &state->piece->axes[axis];
    use->busy_s += to_s - from_s;
    while (from_s < to_s && state->at < state->stretch_count) {
        const stretch *s = &state->stretches[state->at];
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
    for (int32_t i = 0; i < state->piece->part_count; i++) {
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

/* Set the figures of one axis of the piece. Communications of the axis that overlap each other are
 * merged into one busy interval first, so that no time counts twice. */
static void measure_axis(player *state, ms_axis axis) {
    int32_t count = order_axis(state, axis);
    state->piece->comm_axes |= count > 0 ? MS_AXIS_BIT(axis) : 0;
    state->at = 0;
    for (int32_t i = 0; i < count;) {
        double from_s = state->parts[state->order[i]].start_s;
        double to_s = state->parts[state->order[i]].end_s;
        for (i++; i < count && state->parts[state->order[i]].start_s <= to_s; i++) {
            to_s = fmax(to_s, state->parts[state->order[i]].end_s);
        }
        split_by_stretches(state, axis, from_s, to_s);
    }
    for (int32_t i = 0; i < count; i++) {
        state->piece->axes[axis].bytes += work_of(state, state->order[i])->bytes;
    }
}

/* Set time, launch time, FLOP and HBM bytes of the work that the piece is to the sums over its
 * parts. host_s of the piece is the least time from its last launch to its end. */
static void set_work(player *state, ms_dag_work *work) {
    double launched_s = 0.0;
    double end_s = play_hosts(state, &launched_s);
    work->time_s = state->now_s;
    work->host_s = launched_s;
    state->piece->host_s = fmax(0.0, end_s - launched_s);
    work->flop = 0.0;
    work->bytes = 0.0;
    for (int32_t i = 0; i < state->piece->part_count; i++) {
        const ms_dag_work *part = work_of(state, i);
        if (!part->is_communication) {
            work->flop += part->flop;
            work->bytes += part->bytes;
        }
    }
}

/* Simulate the piece of one work and set all results of the work and of the piece. */
static void play_work(player *state, ms_dag_work *work) {
    state->piece = &state->dag->network.pieces.pieces[work->piece - 1];
    state->parts = state->dag->network.pieces.parts + state->piece->part_first;
    play_parts(state); /* first: all other results follow from starts, ends and causes */
    set_work(state, work);
    state->piece->compute_s = 0.0;
    state->piece->slowed_s = 0.0;
    for (int axis = 0; axis < MS_AXIS_COUNT; axis++) {
        state->piece->axes[axis] = (ms_dag_piece_axis){.bytes = 0.0};
    }
    list_stretches(state);
    follow_chain(state);
    state->piece->comm_axes = 0;
    state->piece->waited_s = 0.0;
    for (int axis = MS_AXIS_NONE + 1; axis < MS_AXIS_COUNT; axis++) {
        measure_axis(state, (ms_axis)axis);
        state->piece->waited_s += state->piece->axes[axis].waited_s;
    }
}

/* The largest number of parts in a piece. */
static int32_t longest_piece(const ms_dag *dag) {
    int32_t longest = 0;
    for (int32_t i = 0; i < dag->network.pieces.count; i++) {
        int32_t count = dag->network.pieces.pieces[i].part_count;
        longest = count > longest ? count : longest;
    }
    return longest;
}

const char *ms_dag_find_bad_piece(const ms_dag *dag) {
    const ms_dag_pieces *all = &dag->network.pieces;
    for (int32_t i = 0; i < all->count; i++) {
        for (int32_t k = 0; k < all->pieces[i].part_count; k++) { /* k: part of the piece */
            const ms_dag_part *part = &all->parts[all->pieces[i].part_first + k];
            if (part->work < 0 || part->work >= dag->work_count || part->axis >= MS_AXIS_COUNT ||
                dag->works[part->work].piece != 0 ||
                dag->works[part->work].is_communication != (part->communicator >= 0) ||
                part->communicator >= all->pieces[i].part_count) {
                return "a part of a piece that is no work";
            }
            for (int32_t w = 0; w < part->wait_count; w++) {
                if (all->waits[part->wait_first + w] < 0 || all->waits[part->wait_first + w] >= k) {
                    return "a part of a piece that waits for one behind it";
                }
            }
        }
    }
    return NULL;
}

ms_status ms_dag_time_pieces(ms_dag *dag) {
    if (dag->network.pieces.count == 0) {
        return MS_OK;
    }
    ms_arena scratch;
    ms_arena_init(&scratch);
    size_t longest = (size_t)longest_piece(dag);
    player state = {.dag = dag,
                    .host_end_s = MS_NEW(&scratch, double, longest),
                    .cause = MS_NEW(&scratch, int32_t, longest),
                    .last = MS_NEW(&scratch, int32_t, longest),
                    .order = MS_NEW(&scratch, int32_t, longest),
                    .spans = MS_NEW(&scratch, ms_slow_span, longest),
                    .stretches = MS_NEW(&scratch, stretch, 2 * longest + 1)};
    ms_status status = scratch.has_failed ? MS_E_NOMEM : MS_OK;
    for (int32_t w = 0; w < dag->work_count && status == MS_OK; w++) {
        if (dag->works[w].piece > 0) {
            play_work(&state, &dag->works[w]);
        }
    }
    ms_arena_release(&scratch);
    return status;
}
