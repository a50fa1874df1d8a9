/* Merges the operations of compute streams into the boxes of passes, and finds the cause of a
 * rank's idle time between them (passes.h). The events of a trace are visited once, in order. The
 * time between two computations of a rank is a gap; the chain of causes that leads to the gap's end
 * is followed backward to find the communications and the computation for which the rank waited. */
#include "trace/report/passes.h"

#include <math.h>
#include <stdlib.h>

#include "trace/repeat.h"

/* ---- when each rank communicates ---- */

/* A span of time in which a rank communicates [ps]. */
typedef struct comm_span {
    int64_t start_ps, end_ps;
} comm_span;

/* Of each simulated rank and axis the spans in which at least one communication runs that the rank
 * takes part in, as a sender, a receiver or a member. */
typedef struct rank_comms {
    const comm_span *spans; /* by rank, axis, start; the spans of one rank and axis do not touch */
    const size_t *first;    /* [rank_count * MS_AXIS_COUNT] first span of a rank and axis */
    const size_t *end;      /* the same, behind its last one */
} rank_comms;

/* The state of filling rank_comms: spans are counted in a first visit_communications of the events,
 * stored in a second. */
typedef struct filling {
    const ms_trace *trace;
    const bool *is_shown; /* [rank_count] the ranks whose spans are wanted */
    comm_span *spans;     /* NULL: the spans are only counted */
    size_t *end; /* [rank_count * MS_AXIS_COUNT] index behind the spans so far, or their number */
} filling;

/* Index of a rank and axis in the arrays of rank_comms. */
static size_t slot_of(int32_t rank_index, uint8_t axis) {
    return (size_t)rank_index * MS_AXIS_COUNT + axis;
}

/* Store, or count, the span of an event for a rank that takes part in it. */
static void add_span(filling *fill, int32_t rank_index, int32_t event) {
    if (!fill->is_shown[rank_index]) {
        return;
    }
    size_t *end = &fill->end[slot_of(rank_index, fill->trace->events[event].axis)];
    if (fill->spans != NULL) {
        fill->spans[*end] =
            (comm_span){fill->trace->events[event].start_ps, fill->trace->events[event].end_ps};
    }
    (*end)++;
}

/* Store, or count, the spans of all communications for each rank that takes part. */
static void visit_communications(filling *fill) {
    const ms_trace *trace = fill->trace;
    for (int32_t i = 0; i < trace->event_count; i++) {
        const ms_trace_stream *stream = &trace->streams[trace->events[i].stream];
        if (stream->axis != MS_AXIS_NONE) {
            add_span(fill, stream->rank_index, i);
            if (stream->peer_index >= 0 && stream->peer_index != stream->rank_index) {
                add_span(fill, stream->peer_index, i);
            }
        }
    }
    for (int32_t i = 0; i < trace->member_count; i++) {
        const ms_trace_member *member = &trace->members[i];
        add_span(fill, trace->streams[member->stream].rank_index, member->event);
    }
}

/* Comparison for qsort: spans by start. */
static int by_start(const void *left, const void *right) {
    const comm_span *a = left;
    const comm_span *b = right;
    return (a->start_ps > b->start_ps) - (a->start_ps < b->start_ps);
}

/* Sort spans by start and join those that overlap or touch.  spans: [count], replaced by the joined
 * spans.  Returns how many are left. */
static size_t join_spans(comm_span *spans, size_t count) {
    bool is_sorted = true;
    for (size_t i = 1; i < count; i++) {
        is_sorted = is_sorted && spans[i].start_ps >= spans[i - 1].start_ps;
    }
    if (!is_sorted) {
        qsort(spans, count, sizeof spans[0], by_start);
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        comm_span *last = kept == 0 ? NULL : &spans[kept - 1];
        if (last == NULL || spans[i].start_ps > last->end_ps) {
            spans[kept++] = spans[i];
        } else if (spans[i].end_ps > last->end_ps) {
            last->end_ps = spans[i].end_ps;
        }
    }
    return kept;
}

/* Find the spans of all shown ranks and axes of a trace.  *own_out: in `arena`.  O(events log
 * events); O(events) where the events of each rank and axis are in order. */
static ms_status build_rank_comms(const ms_trace *trace, const bool *is_shown, ms_arena *arena,
                                  rank_comms *own_out) {
    size_t slots = slot_of(trace->rank_count, 0);
    size_t *first = MS_NEW(arena, size_t, slots);
    size_t *end = MS_NEW(arena, size_t, slots);
    if (first == NULL || end == NULL) {
        return MS_E_NOMEM;
    }
    filling fill = {.trace = trace, .is_shown = is_shown, .end = end};
    visit_communications(&fill);
    size_t total = 0;
    for (size_t i = 0; i < slots; i++) {
        size_t count = end[i];
        first[i] = end[i] = total;
        total += count;
    }
    fill.spans = MS_NEW(arena, comm_span, total);
    if (fill.spans == NULL) {
        return MS_E_NOMEM;
    }
    visit_communications(&fill);
    for (size_t i = 0; i < slots; i++) {
        end[i] = first[i] + join_spans(fill.spans + first[i], end[i] - first[i]);
    }
    *own_out = (rank_comms){fill.spans, first, end};
    return MS_OK;
}

/* The first span of a rank and axis that ends after `from_ps`; NULL where none starts before
 * `to_ps`.  O(log spans). */
static const comm_span *find_comm(const rank_comms *own, int32_t rank_index, uint8_t axis,
                                  int64_t from_ps, int64_t to_ps) {
    size_t slot = slot_of(rank_index, axis);
    size_t low = own->first[slot];
    size_t high = own->end[slot];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (own->spans[middle].end_ps <= from_ps) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool is_found = low < own->end[slot] && own->spans[low].start_ps < to_ps;
    return is_found ? &own->spans[low] : NULL;
}

/* ---- passes and idle time ---- */

/* Maximum number of communications that are followed along a chain of causes without a computation
 * between them. */
enum { CHAIN_MAX = 1000 };

/* Picoseconds as seconds. */
static double seconds(int64_t ps) {
    return (double)ps / MS_PS_PER_S;
}

/* The waiting right before an open pass. */
typedef struct pass_waits {
    size_t first, end; /* its boxes: first .. end - 1 */
    bool is_paired;    /* the pass is one of an overlapped pair already */
} pass_waits;

/* The state of ms_passes_collect. */
typedef struct collecting {
    const ms_trace *trace;
    rank_comms own;          /* when each rank communicates itself */
    ms_open_stream *rows;    /* [rank_count] */
    pass_waits *waits;       /* [rank_count][2] of the open passes */
    bool *is_shown;          /* [rank_count] */
    const int64_t *slack_ps; /* [events]; NULL: not wanted */
    ms_vector *boxes;
    ms_vector *pairs;
    ms_vector *idle;
} collecting;

/* Whether an event is a communication: its stream is not a compute stream. */
static bool is_communication(const ms_trace *trace, int32_t event) {
    return trace->streams[trace->events[event].stream].axis != MS_AXIS_NONE;
}

/* A time in which a row computes nothing. */
typedef struct gap {
    int64_t from, to; /* [ps] */
    int32_t row;
    int32_t cause; /* event whose end released the computation after the gap; -1: none */
    int16_t step;
    bool is_part; /* inside a pass */
} gap;

/* Append a span of idle time of a gap.  span: its start and end [ps].  why: event, axis and
 * cause. */
static void add_idle(collecting *picture, const gap *idle_gap, const int64_t span[2],
                     const ms_idle_span *why) {
    ms_idle_span idle = *why;
    idle.start_ps = span[0];
    idle.end_ps = span[1];
    idle.row = idle_gap->row;
    idle.step = idle_gap->step;
    idle.is_part = idle_gap->is_part;
    if (span[1] > span[0]) {
        (void)ms_vector_add(picture->idle, &idle, 1);
    }
}

/* Append a box and a span of idle time for waiting for communication `event`.  span: start and
 * end [ps].
 *  is_foreign: the rank itself does not communicate along the event's axis meanwhile. */
static void add_wait_span(collecting *picture, const gap *idle_gap, int32_t event,
                          const int64_t span[2], bool is_foreign) {
    const ms_gantt_box box = {.start = seconds(span[0]),
                              .end = seconds(span[1]),
                              .row = idle_gap->row,
                              .mb = -1,
                              .kind = picture->trace->events[event].kind,
                              .axis = picture->trace->events[event].axis,
                              .is_part = idle_gap->is_part,
                              .is_foreign = is_foreign};
    if (span[1] > span[0]) {
        (void)ms_vector_add(picture->boxes, &box, 1);
    }
    add_idle(picture, idle_gap, span,
             &(ms_idle_span){.event = event,
                             .axis = box.axis,
                             .cause = is_foreign ? MS_IDLE_FOREIGN : MS_IDLE_OWN});
}

/* Add the waiting of a rank in `span` for communication `event`. It counts as own communication
 * while the rank itself communicates along the event's axis, whichever rank's communication holds
 * it up, and as communication of other ranks in between. The first kind sums to exposed_s of the
 * axis, both kinds to the rank's share of exposed time. */
static void add_wait(collecting *picture, const gap *idle_gap, int32_t event,
                     const int64_t span[2]) {
    int64_t from = span[0];
    while (from < span[1]) {
        const comm_span *own = find_comm(&picture->own, idle_gap->row,
                                         picture->trace->events[event].axis, from, span[1]);
        int64_t start = own == NULL ? span[1] : own->start_ps > from ? own->start_ps : from;
        int64_t end = own == NULL || own->end_ps > span[1] ? span[1] : own->end_ps;
        /* up to `start` the rank does not communicate, from there to `end` it does */
        add_wait_span(picture, idle_gap, event, (const int64_t[]){from, start}, true);
        add_wait_span(picture, idle_gap, event, (const int64_t[]){start, end}, false);
        from = end;
    }
}

/* The cause of idle time for which the trace has no event: the host, or unknown if the trace does
 * not hold all operations. */
static uint8_t cause_of_silence(const ms_trace *trace) {
    return trace->level == MS_TRACE_FULL ? MS_IDLE_HOST : MS_IDLE_UNKNOWN;
}

/* Add the head of a gap: the idle time up to `to`, the start of the first communication on the
 * chain of causes. The rank waits for computation `event`, until it ends, then for the host. event:
 * -1: none. */
static void add_head(collecting *picture, const gap *idle_gap, int32_t event, int64_t to) {
    const ms_trace *trace = picture->trace;
    int64_t until = idle_gap->from;
    if (event >= 0) {
        int32_t other = trace->streams[trace->events[event].stream].rank_index;
        bool is_same_stage = trace->ranks[other].pp == trace->ranks[idle_gap->row].pp;
        uint8_t cause = other == idle_gap->row ? MS_IDLE_HOST
                        : is_same_stage        ? MS_IDLE_IMBALANCE
                                               : MS_IDLE_BUBBLE;
        int64_t end = trace->events[event].end_ps < to ? trace->events[event].end_ps : to;
        until = end > until ? end : until;
        add_idle(picture, idle_gap, (const int64_t[]){idle_gap->from, until},
                 &(ms_idle_span){.event = event, .cause = cause});
    }
    add_idle(picture, idle_gap, (const int64_t[]){until, to},
             &(ms_idle_span){.event = -1, .cause = cause_of_silence(trace)});
}

/* The time from which an operation that starts at `to` and was released by `event` waited for its
 * host alone [ps]: the end of `event`, or `to` where the two differ by rounding only. */
static int64_t launched_from(const ms_trace *trace, int32_t event, int64_t to) {
    /* 2 ps for rounding to picoseconds, and 1e-11 of the time for the engine's clock in seconds */
    const int64_t ROUNDING = 2 + to / 100000000000;
    int64_t end = trace->events[event].end_ps;
    return to - end > ROUNDING ? end : to;
}

/* Split a gap by its causes, from its end backward: each communication on the chain of causes, with
 * launches by the host in between, then the head of the gap, for which the picture has no box. */
static void add_waiting(collecting *picture, const gap *idle_gap) {
    const ms_trace *trace = picture->trace;
    int64_t to = idle_gap->to;
    int32_t at = idle_gap->cause;
    for (int step = 0;
         step < CHAIN_MAX && at >= 0 && is_communication(trace, at) && to > idle_gap->from;
         step++, at = trace->events[at].cause) {
        int64_t start = trace->events[at].start_ps > idle_gap->from ? trace->events[at].start_ps
                                                                    : idle_gap->from;
        int64_t end = launched_from(trace, at, to);
        if (end >= start && end < to) {
            add_idle(picture, idle_gap, (const int64_t[]){end, to},
                     &(ms_idle_span){.event = -1, .cause = cause_of_silence(trace)});
            to = end;
        }
        if (end > start) {
            add_wait(picture, idle_gap, at, (const int64_t[]){start, end});
            to = start;
        }
    }
    if (to > idle_gap->from) {
        add_head(picture, idle_gap, at >= 0 && is_communication(trace, at) ? -1 : at, to);
    }
}

/* Append a part for an operation that repeats forward work. */
static void add_recomputation(collecting *picture, int32_t row, int32_t event) {
    const ms_trace *trace = picture->trace;
    const ms_gantt_box part = {.start = seconds(trace->events[event].start_ps),
                               .end = seconds(trace->events[event].end_ps),
                               .row = row,
                               .mb = -1,
                               .kind = MS_OP_RECOMPUTE,
                               .is_part = true};
    (void)ms_vector_add(picture->boxes, &part, 1);
}

/* The slack of an event [s]; 0: not wanted. */
static double slack_of(const collecting *picture, int32_t event) {
    return picture->slack_ps == NULL ? 0.0 : seconds(picture->slack_ps[event]);
}

/* Append the box of a new pass, which begins with computation `event`. It replaces the older one of
 * the row's two open passes.  waits_first: first box of the waiting right before it. */
static void open_box(collecting *picture, int32_t row, int32_t event, size_t waits_first) {
    const ms_trace *trace = picture->trace;
    ms_open_stream *state = &picture->rows[row];
    const ms_gantt_box box = {
        .start = seconds(trace->events[event].start_ps),
        .end = seconds(trace->events[event].end_ps),
        .row = row,
        .mb = trace->events[event].mb,
        .step = trace->events[event].step,
        .chunk = trace->events[event].chunk < 0 ? 0 : trace->events[event].chunk,
        .kind = trace->events[event].kind,
        .waited = seconds(trace->merged.count > 0 ? trace->events[event].waited_ps : 0),
        .slack = slack_of(picture, event)};
    (void)ms_open_stream_add(state, &trace->events[event], (int32_t)picture->boxes->count);
    picture->waits[2 * row + state->last] =
        (pass_waits){.first = waits_first, .end = picture->boxes->count};
    (void)ms_vector_add(picture->boxes, &box, 1);
}

/* Mark the two open passes of a row as an overlapped pair: the earlier one has gone on after the
 * later one began. The picture draws the forward pass in the upper half of the row (`half` 1) and
 * the other one in the lower half (`half` 2). The waiting right before the later pass lies inside
 * the earlier pass, so its boxes become parts of the earlier one. A pass is paired once. */
static void pair_up(collecting *picture, int32_t row) {
    pass_waits *waits = &picture->waits[2 * row];
    const int32_t a = picture->rows[row].passes[0].row;
    const int32_t b = picture->rows[row].passes[1].row;
    if (waits[0].is_paired || waits[1].is_paired || a < 0 || b < 0) {
        return;
    }
    const pass_waits *later = a > b ? &waits[0] : &waits[1];
    for (size_t i = later->first; i < later->end; i++) {
        MS_AT(picture->boxes, ms_gantt_box, i).is_part = true;
    }
    bool is_upper = MS_AT(picture->boxes, ms_gantt_box, a).kind == MS_OP_FORWARD;
    const ms_pass_pair pair = {.upper = (size_t)(is_upper ? a : b),
                               .lower = (size_t)(is_upper ? b : a)};
    MS_AT(picture->boxes, ms_gantt_box, pair.upper).half = 1;
    MS_AT(picture->boxes, ms_gantt_box, pair.lower).half = 2;
    (void)ms_vector_add(picture->pairs, &pair, 1);
    waits[0].is_paired = waits[1].is_paired = true;
}

/* Extend the box of the open pass with which computation `event` goes on to the event's end. A box
 * that began with recomputation gets the kind of its backward pass. If the other pass ran last, the
 * two are a pair. */
static void grow_box(collecting *picture, int32_t row, int32_t event) {
    const ms_trace_event *grown_by = &picture->trace->events[event];
    ms_open_stream *state = &picture->rows[row];
    int last = state->last;
    int32_t box = ms_open_stream_add(state, grown_by, -1);
    ms_gantt_box *open = &MS_AT(picture->boxes, ms_gantt_box, box);
    int64_t waited_ps = grown_by->start_ps - state->end_ps;
    open->waited += waited_ps > 0 ? seconds(waited_ps) : 0.0;
    open->slack = fmin(open->slack, slack_of(picture, event));
    open->end = seconds(grown_by->end_ps);
    open->kind = open->kind == MS_OP_RECOMPUTE ? grown_by->kind : open->kind;
    if (state->last != last) {
        pair_up(picture, row);
    }
}

/* Add a computation of a compute stream: the waiting before it, then the computation to its open
 * pass, or as the first of a new one. */
static void add_computation(collecting *picture, int32_t event) {
    const ms_trace *trace = picture->trace;
    int32_t row = trace->streams[trace->events[event].stream].rank_index;
    ms_open_stream *state = &picture->rows[row];
    bool goes_on = ms_open_stream_find(state, &trace->events[event]) >= 0;
    const gap before = {.from = state->end_ps,
                        .to = trace->events[event].start_ps,
                        .row = row,
                        .cause = trace->events[event].cause,
                        .step = trace->events[event].step,
                        .is_part = goes_on};
    size_t waits_first = picture->boxes->count;
    add_waiting(picture, &before);
    bool is_barrier = trace->events[event].stage < 0 && before.to == trace->events[event].end_ps;
    if (goes_on && !picture->boxes->failed) {
        grow_box(picture, row, event);
    } else if (!is_barrier) { /* a barrier takes no time, so that it needs no box */
        open_box(picture, row, event, waits_first);
        if (before.to < before.from) {
            pair_up(picture, row); /* whole passes that overlap, in a trace of passes */
        }
    }
    if (trace->events[event].kind == MS_OP_RECOMPUTE) {
        add_recomputation(picture, row, event);
    }
    int64_t end_ps = trace->events[event].end_ps;
    state->end_ps = end_ps > state->end_ps ? end_ps : state->end_ps;
}

/* Add the waiting of every row after its last computation, up to the end of the run, for the event
 * that ends last. */
static void add_end(collecting *picture) {
    const ms_trace *trace = picture->trace;
    int32_t last = -1;
    for (int32_t i = 0; i < trace->event_count; i++) {
        if (last < 0 || trace->events[i].end_ps > trace->events[last].end_ps) {
            last = i;
        }
    }
    for (int32_t row = 0; row < trace->rank_count; row++) {
        if (!picture->is_shown[row]) {
            continue;
        }
        const gap rest = {.from = picture->rows[row].end_ps,
                          .to = trace->step_ps,
                          .row = row,
                          .cause = last,
                          .step = last < 0 ? 0 : trace->events[last].step};
        add_waiting(picture, &rest);
    }
}

bool *ms_passes_shown(const ms_trace *trace, ms_arena *arena) {
    bool *is_shown = MS_NEW(arena, bool, trace->rank_count);
    for (int32_t i = 0; is_shown != NULL && i < trace->rank_count; i++) {
        is_shown[i] = trace->level != MS_TRACE_RANKS;
    }
    for (int32_t i = 0; is_shown != NULL && i < trace->event_count; i++) {
        if (!is_communication(trace, i)) {
            is_shown[trace->streams[trace->events[i].stream].rank_index] = true;
        }
    }
    return is_shown;
}

void ms_passes_release(ms_passes *passes) {
    ms_vector_release(&passes->boxes);
    ms_vector_release(&passes->pairs);
    ms_vector_release(&passes->idle);
}

ms_status ms_passes_collect(const ms_trace *trace, const ms_passes_choice *choice,
                            ms_arena *scratch, ms_passes *passes_out) {
    *passes_out = (ms_passes){.boxes.item_B = sizeof(ms_gantt_box),
                              .pairs.item_B = sizeof(ms_pass_pair),
                              .idle.item_B = sizeof(ms_idle_span)};
    collecting picture = {.trace = trace,
                          .rows = ms_open_streams_new(scratch, trace->rank_count),
                          .waits = MS_NEW(scratch, pass_waits, 2 * trace->rank_count),
                          .is_shown = ms_passes_shown(trace, scratch),
                          .slack_ps = choice == NULL ? NULL : choice->slack_ps,
                          .boxes = &passes_out->boxes,
                          .pairs = &passes_out->pairs,
                          .idle = &passes_out->idle};
    const ms_shown_rows *rows = choice == NULL ? NULL : choice->rows;
    for (int32_t row = 0; row < trace->rank_count && picture.is_shown != NULL; row++) {
        picture.is_shown[row] = picture.is_shown[row] && (rows == NULL || rows->row_of[row] >= 0);
    }
    if (picture.rows == NULL || picture.waits == NULL || picture.is_shown == NULL ||
        build_rank_comms(trace, picture.is_shown, scratch, &picture.own) != MS_OK) {
        return MS_E_NOMEM;
    }
    /* events of one stream are in the order in which they run */
    for (int32_t i = 0; i < trace->event_count && !picture.boxes->failed; i++) {
        if (!is_communication(trace, i) &&
            picture.is_shown[trace->streams[trace->events[i].stream].rank_index]) {
            add_computation(&picture, i);
        }
    }
    add_end(&picture);
    return picture.boxes->failed || picture.pairs->failed || picture.idle->failed ? MS_E_NOMEM
                                                                                  : MS_OK;
}

/* Append a copy of box `index` over the whole height of its row from `start` to `end`, if it takes
 * time. */
static void add_part(ms_vector *boxes, size_t index, double start, double end) {
    if (end > start && !boxes->failed) {
        ms_gantt_box part = MS_AT(boxes, ms_gantt_box, index);
        part.start = start;
        part.end = end;
        part.half = 0;
        (void)ms_vector_add(boxes, &part, 1);
    }
}

/* The time in which both boxes are under way keeps the halves; the time before and after it becomes
 * boxes of full height. */
void ms_passes_cut_pairs(ms_vector *boxes, const ms_vector *pairs) {
    for (size_t i = 0; i < pairs->count && !boxes->failed; i++) {
        const ms_pass_pair *pair = &MS_AT(pairs, const ms_pass_pair, i);
        const size_t both[2] = {pair->upper, pair->lower};
        const ms_gantt_box *upper = &MS_AT(boxes, ms_gantt_box, pair->upper);
        const ms_gantt_box *lower = &MS_AT(boxes, ms_gantt_box, pair->lower);
        double start = upper->start > lower->start ? upper->start : lower->start;
        double end = upper->end < lower->end ? upper->end : lower->end;
        /* the boxes are copied before they are cut, as appending may move the array */
        for (int half = 0; half < 2; half++) {
            const ms_gantt_box whole = MS_AT(boxes, ms_gantt_box, both[half]);
            add_part(boxes, both[half], whole.start, start);
            add_part(boxes, both[half], end, whole.end);
        }
        for (int half = 0; half < 2 && !boxes->failed; half++) {
            MS_AT(boxes, ms_gantt_box, both[half]).start = start;
            MS_AT(boxes, ms_gantt_box, both[half]).end = end;
        }
    }
}

/* ---- categories of idle time ---- */

/* The phases are those of the Gantt picture of all ranks. */
ms_status ms_idle_phases_find(const ms_trace *trace, const ms_vector *boxes, ms_arena *arena,
                              ms_idle_phases *phases_out) {
    const ms_gantt gantt = {.rows = trace->rank_count,
                            .boxes = boxes->data,
                            .box_count = boxes->count,
                            .end = (double)trace->step_ps / MS_PS_PER_S};
    return ms_gantt_find_steady(&gantt, arena, &phases_out->steady, &phases_out->steps);
}

ms_time_category ms_idle_category(const ms_idle_phases *phases, const ms_idle_span *idle) {
    if (idle->cause == MS_IDLE_OWN || idle->cause == MS_IDLE_FOREIGN) {
        return ms_time_category_of_axis((ms_axis)idle->axis);
    }
    if (idle->cause != MS_IDLE_BUBBLE) {
        return idle->cause == MS_IDLE_IMBALANCE ? MS_TIME_IMBALANCE : MS_TIME_OTHER;
    }
    int32_t last = phases->steps - 1;
    int32_t step = idle->step < 0 ? 0 : idle->step > last ? last : idle->step;
    const ms_gantt_steady *steady = &phases->steady[idle->row * phases->steps + step];
    double middle = 0.5 * (double)(idle->start_ps + idle->end_ps) / MS_PS_PER_S;
    return middle < steady->start ? MS_TIME_BUBBLE_WARMUP
           : middle < steady->end ? MS_TIME_BUBBLE_STEADY
                                  : MS_TIME_BUBBLE_COOLDOWN;
}
