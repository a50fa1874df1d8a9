/* Makes the events of a run from those of its trace (repeat.h): adds the copies of repeated
 * periods, of which the file holds one, and merges the operations of passes. Copy 0 of an event is
 * the event itself; an event that starts in the repeated period has further copies 1 .. times, each
 * one period later. */
#include "trace/repeat.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/tables.h"

/* Maximum number of events with all copies. */
#define EVENTS_MAX (1 << 30)
/* Maximum difference by rounding between an end and a start at the border of two repetitions. */
enum { SEAM_PS = 2 };

/* The text of a repeated period: separator, times, period, start and microbatches. */
static const char FORMAT[] = "%s%d times %.17g s from %.17g s, %d mb on";

char *ms_trace_repeat_write(const ms_steady *repeat, char *text_out, size_t size) {
    size_t used = 0;
    double later_s = 0.0; /* duration of the repetitions of all earlier periods */
    text_out[0] = '\0';
    for (int32_t i = 0; i < repeat->count && used < size; i++) {
        const ms_repeated_period *repeated = &repeat->of_step[i];
        int written =
            snprintf(text_out + used, size - used, FORMAT, i == 0 ? "" : "; ", repeated->times,
                     repeated->period_s, repeated->from_s + later_s, repeated->mbs);
        later_s += repeated->times * repeated->period_s;
        used += written < 0 ? 0 : (size_t)written;
    }
    return text_out;
}

/* Whether a repeated period that was read has sound numbers and starts after the end of the
 * repeated period before it, which is at `behind_s`. */
static bool is_sound(const ms_repeated_period *s, double behind_s) {
    return s->times > 0 && s->mbs > 0 && s->mbs < EVENTS_MAX && isfinite(s->from_s) &&
           s->from_s >= behind_s && s->period_s > 0.0 &&
           (s->times + 1.0) * s->period_s <= MS_TRACE_RUN_MAX_S;
}

/* The text has the form of FORMAT, one repeated period after the other. */
bool ms_trace_repeat_read(const char *text, ms_steady *repeat_out) {
    *repeat_out = (ms_steady){.count = 0};
    double behind_s = 0.0;
    bool is_fine = true;
    while (*text != '\0' && is_fine) {
        ms_repeated_period s = {.times = 0};
        int length = 0;
        int read = sscanf(text, "%d times %lg s from %lg s, %d mb on%n", &s.times, &s.period_s,
                          &s.from_s, &s.mbs, &length);
        is_fine = read == 4 && length > 0 && repeat_out->count < MS_REPEATED_PERIODS_MAX &&
                  is_sound(&s, behind_s);
        if (is_fine) {
            repeat_out->of_step[repeat_out->count++] = s;
            behind_s = s.from_s + s.period_s;
            text += length;
            text += strncmp(text, "; ", 2) == 0 ? 2 : 0;
        }
    }
    repeat_out->count = is_fine ? repeat_out->count : 0;
    return is_fine;
}

/* The state of making the events of the run from those of the file. Each event and each of its
 * copies has a number: number[event] + copy. */
typedef struct unfolding {
    const ms_repeated_period *repeat;
    ms_arena *arena, *scratch; /* for the trace; for this repeated period only */
    ms_trace *trace;
    ms_trace_event *old; /* [old_count] events before the copies are added */
    int32_t old_count;
    int64_t from_ps, to_ps;  /* of the repeated period */
    int32_t *order;          /* [old_count] indices of `old`, by start */
    int32_t *number;         /* [old_count + 1] number of each event, by index of `old` */
    int32_t *later;          /* [old_count] for an event of the period before the repeated period
                                the event of the repeated period that repeats it; else -1 */
    int32_t *first_member;   /* [old_count] 1 + index of its first member; 0: none */
    int32_t *row_of;         /* [number[old_count]] the new event of each number; -1: none; below:
                                -2 - the number of its cause, of an event inside a pass */
    int32_t *old_of;         /* [number[old_count]] index in `old` of each new event; of a merged
                                pass that of its last computation */
    int32_t *last_row;       /* [streams] 1 + the new event that was last added; 0: none */
    ms_open_stream *streams; /* [streams] while passes are merged; else NULL */
    bool *is_inside; /* [old_count] while passes are merged: it communicates inside a pass */
    const ms_trace_member *old_members;
    int32_t most;      /* maximum number of new events, and of points of memory */
    ms_vector members; /* of ms_trace_member */
} unfolding;

/* Whether a time is in the repeated period. */
static bool is_inside(const unfolding *state, int64_t time_ps) {
    return time_ps >= state->from_ps && time_ps < state->to_ps;
}

int32_t ms_trace_repeat_copies(const ms_repeated_period *repeat, int64_t start_ps) {
    bool has_copies = repeat->times > 0 && start_ps >= ms_to_ps(repeat->from_s) &&
                      start_ps < ms_to_ps(repeat->from_s + repeat->period_s);
    return has_copies ? repeat->times : 0;
}

int64_t ms_trace_repeat_shift_ps(const ms_repeated_period *repeat, int32_t copy) {
    return ms_to_ps(repeat->period_s * copy);
}

/* ---- order ---- */

/* An event with its start, for sorting. */
typedef struct event_start {
    int64_t start_ps;
    int32_t event;
} event_start;

/* Comparison for qsort: events by start, then by index. */
static int by_start(const void *left, const void *right) {
    const event_start *a = left;
    const event_start *b = right;
    if (a->start_ps != b->start_ps) {
        return a->start_ps < b->start_ps ? -1 : 1;
    }
    return (a->event > b->event) - (a->event < b->event);
}

int32_t *ms_trace_events_sort(const ms_trace_event *events, int32_t count, ms_arena *arena) {
    ms_arena scratch;
    ms_arena_init(&scratch);
    int32_t *order = MS_NEW(arena, int32_t, count);
    event_start *starts = MS_NEW(&scratch, event_start, count);
    bool is_full = order == NULL || starts == NULL;
    bool is_sorted = true;
    for (int32_t i = 0; i < count && !is_full; i++) {
        starts[i] = (event_start){events[i].start_ps, i};
        is_sorted = is_sorted && (i == 0 || starts[i].start_ps >= starts[i - 1].start_ps);
    }
    if (!is_full && !is_sorted) {
        qsort(starts, (size_t)count, sizeof *starts, by_start);
    }
    for (int32_t i = 0; i < count && !is_full; i++) {
        order[i] = starts[i].event;
    }
    ms_arena_release(&scratch);
    return is_full ? NULL : order;
}

/* Fill in `number`.  Returns the number of all copies; -1 if there are EVENTS_MAX or more. */
static int32_t count_copies(unfolding *state) {
    int64_t count = 0;
    for (int32_t i = 0; i < state->old_count && count < EVENTS_MAX; i++) {
        state->number[i] = (int32_t)count;
        count += 1 + ms_trace_repeat_copies(state->repeat, state->old[i].start_ps);
    }
    state->number[state->old_count] = count < EVENTS_MAX ? (int32_t)count : -1;
    return state->number[state->old_count];
}

/* Fill in `later`. On every stream the last event before the repeated period is repeated by the
 * last event of the repeated period, and so on backwards.  last: [streams] of -1.  before:
 * [old_count] scratch: for an event of the repeated period the one before it on its stream. */
static void find_later(unfolding *state, int32_t *last, int32_t *before) {
    for (int32_t i = 0; i < state->old_count; i++) {
        if (is_inside(state, state->old[i].start_ps)) {
            before[i] = last[state->old[i].stream];
            last[state->old[i].stream] = i;
        }
    }
    for (int32_t i = state->old_count; i-- > 0;) {
        int32_t *at = &last[state->old[i].stream];
        state->later[i] = state->old[i].start_ps < state->from_ps ? *at : -1;
        *at = state->later[i] >= 0 ? before[*at] : *at;
    }
}

/* Allocate and fill in the lists of the events.  Returns MS_E_NOMEM also for more numbers than have
 * room beside the events; MS_E_INPUT if there are EVENTS_MAX or more. */
static ms_status order_copies(unfolding *state) {
    int32_t streams = state->trace->stream_count;
    state->number = MS_NEW(state->scratch, int32_t, (size_t)state->old_count + 1);
    state->later = MS_NEW(state->scratch, int32_t, state->old_count);
    state->order = ms_trace_events_sort(state->old, state->old_count, state->scratch);
    state->first_member = MS_NEW(state->scratch, int32_t, state->old_count);
    state->last_row = MS_NEW(state->scratch, int32_t, streams);
    int32_t *last = MS_NEW(state->scratch, int32_t, streams);
    int32_t *before = MS_NEW(state->scratch, int32_t, state->old_count);
    if (state->scratch->has_failed || state->order == NULL) {
        return MS_E_NOMEM;
    }
    memset(last, -1, (size_t)streams * sizeof *last);
    find_later(state, last, before);
    for (int32_t m = state->trace->member_count; m-- > 0;) {
        state->first_member[state->old_members[m].event] = m + 1;
    }
    int32_t count = count_copies(state);
    if (count < 0 || count / 8 > state->most) {
        return count < 0 ? MS_E_INPUT : MS_E_NOMEM;
    }
    state->row_of = MS_NEW(state->scratch, int32_t, count);
    state->old_of = MS_NEW(state->scratch, int32_t, count);
    state->trace->events =
        MS_NEW(state->arena, ms_trace_event, count < state->most ? count : state->most);
    state->trace->event_count = 0;
    return state->scratch->has_failed || state->trace->events == NULL ? MS_E_NOMEM : MS_OK;
}

/* ---- passes ---- */

ms_open_stream *ms_open_streams_new(ms_arena *arena, int32_t count) {
    ms_open_stream *streams = MS_NEW(arena, ms_open_stream, count);
    for (int32_t i = 0; streams != NULL && i < count; i++) {
        streams[i].passes[0].row = streams[i].passes[1].row = -1;
    }
    return streams;
}

/* Whether a computation of the kind `kind` goes on with a pass of the kind `open_kind`.
 * Recomputation belongs to the backward pass that follows it. */
static bool is_one_pass(uint8_t open_kind, uint8_t kind) {
    bool is_backward = kind == MS_OP_BACKWARD || kind == MS_OP_INPUT_GRAD;
    bool was_backward = open_kind == MS_OP_BACKWARD || open_kind == MS_OP_INPUT_GRAD;
    return kind == open_kind || (was_backward && kind == MS_OP_RECOMPUTE) ||
           (open_kind == MS_OP_RECOMPUTE && is_backward);
}

int ms_open_stream_find(const ms_open_stream *stream, const ms_trace_event *event) {
    for (int i = 0; i < 2; i++) {
        const ms_open_pass *pass = &stream->passes[i];
        if (pass->row >= 0 && pass->stage == event->stage && pass->mb == event->mb &&
            pass->step == event->step && is_one_pass(pass->kind, event->kind)) {
            return i;
        }
    }
    return -1;
}

int32_t ms_open_stream_add(ms_open_stream *stream, const ms_trace_event *event, int32_t row) {
    int which = ms_open_stream_find(stream, event);
    stream->last = which >= 0 ? which : 1 - stream->last;
    ms_open_pass *pass = &stream->passes[stream->last];
    if (which < 0) {
        *pass = (ms_open_pass){row, event->mb, event->stage, event->step, event->kind};
    }
    pass->kind = pass->kind == MS_OP_RECOMPUTE ? event->kind : pass->kind;
    return pass->row;
}

/* Whether an event is a computation of a pass. */
static bool is_computation(const unfolding *state, const ms_trace_event *event) {
    return state->trace->streams[event->stream].axis == MS_AXIS_NONE && event->mb >= 0;
}

/* Fill in is_inside: communication along an axis of layers that begins and ends inside a pass of
 * its only rank. While the events are visited by start, the communications of a rank wait in a list
 * until its next computation shows whether the pass goes on.  Returns false when memory runs out.
 */
static bool find_inside(unfolding *state) {
    int32_t *waiting = MS_NEW(state->scratch, int32_t, state->trace->rank_count); /* 1 + event */
    int32_t *next = MS_NEW(state->scratch, int32_t, state->old_count);            /* 1 + event */
    state->streams = ms_open_streams_new(state->scratch, state->trace->stream_count);
    state->is_inside = MS_NEW(state->scratch, bool, state->old_count);
    if (state->scratch->has_failed) {
        return false;
    }
    for (int32_t i = 0; i < state->old_count; i++) {
        int32_t at = state->order[i];
        const ms_trace_event *event = &state->old[at];
        const ms_trace_stream *stream = &state->trace->streams[event->stream];
        int32_t *link = &waiting[stream->rank_index];
        if (is_computation(state, event)) {
            bool goes_on = ms_open_stream_add(&state->streams[event->stream], event, at) != at;
            while (*link > 0) {
                int32_t comm = *link - 1;
                state->is_inside[comm] = goes_on && state->old[comm].end_ps <= event->end_ps;
                if (goes_on && !state->is_inside[comm]) {
                    link = &next[comm]; /* it waits on */
                } else {
                    *link = next[comm];
                }
            }
        } else if (event->mb >= 0 && event->stage >= 0 && stream->peer_index < 0 &&
                   (MS_AXIS_BIT(event->axis) & MS_AXES_WITHIN_PASSES) != 0 &&
                   state->first_member[at] == 0) {
            next[at] = *link;
            *link = at + 1;
        }
    }
    /* the passes begin anew with the events of the run */
    state->streams = ms_open_streams_new(state->scratch, state->trace->stream_count);
    return state->streams != NULL;
}

/* ---- events ---- */

/* The number of the cause of a copy of an event; -1: it has none. It is the copy of the event's
 * cause in the same repetition or, where the cause is before the repeated period, the event that
 * repeats the cause, one repetition earlier. Causes of events after the repeated period are in its
 * last repetition. */
static int32_t cause_of(const unfolding *state, int32_t event, int32_t copy) {
    int32_t cause = state->old[event].cause;
    if (cause < 0) {
        return -1;
    }
    int32_t cause_copy = state->old[event].start_ps >= state->to_ps ? state->repeat->times : copy;
    if (!is_inside(state, state->old[cause].start_ps) && copy > 0 && state->later[cause] >= 0) {
        cause = state->later[cause];
        cause_copy = copy - 1;
    }
    return state->number[cause] + (is_inside(state, state->old[cause].start_ps) ? cause_copy : 0);
}

/* Extend the event of a pass by a computation. */
static void extend_pass(ms_trace_event *pass, const ms_trace_event *event, int64_t waited_ps) {
    pass->end_ps = event->end_ps > pass->end_ps ? event->end_ps : pass->end_ps;
    pass->waited_ps += waited_ps > 0 ? waited_ps : 0;
    pass->kind = pass->kind == MS_OP_RECOMPUTE ? event->kind : pass->kind;
    pass->layer = -1;
}

/* Append an event with its members, whose cause is a number so far. */
static void append(unfolding *state, const ms_trace_event *event, int32_t old) {
    ms_trace *trace = state->trace;
    if (trace->event_count == state->most) {
        state->members.failed = true; /* too many events */
        return;
    }
    int32_t row = trace->event_count++;
    trace->events[row] = *event;
    state->old_of[row] = old;
    for (int32_t m = state->first_member[old] - 1;
         m >= 0 && m < trace->member_count && state->old_members[m].event == old; m++) {
        const ms_trace_member member = {row, state->old_members[m].stream};
        ms_vector_add(&state->members, &member, 1);
    }
}

/* Add a copy of an event: as an event, to the event of its pass, or, inside a pass, as none. */
static void add_copy(unfolding *state, int32_t old, int32_t copy) {
    int32_t *row_of = &state->row_of[state->number[old] + copy];
    int32_t cause = cause_of(state, old, copy);
    if (state->streams != NULL && state->is_inside[old]) {
        *row_of = -2 - cause;
        return;
    }
    ms_trace_event event = state->old[old];
    int64_t shift_ps = ms_trace_repeat_shift_ps(state->repeat, copy);
    event.start_ps += shift_ps;
    event.end_ps += shift_ps;
    event.mb += event.mb < 0 ? 0 : copy * state->repeat->mbs;
    event.cause = cause;
    event.waited_ps = state->streams != NULL ? 0 : event.waited_ps;
    *row_of = state->trace->event_count;
    if (state->streams != NULL && is_computation(state, &event)) {
        ms_open_stream *stream = &state->streams[event.stream];
        *row_of = ms_open_stream_add(stream, &event, *row_of);
        if (*row_of < state->trace->event_count) {
            extend_pass(&state->trace->events[*row_of], &event, event.start_ps - stream->end_ps);
            state->old_of[*row_of] = old;
        }
        stream->end_ps = event.end_ps > stream->end_ps ? event.end_ps : stream->end_ps;
    }
    if (*row_of == state->trace->event_count) {
        append(state, &event, old);
    }
}

/* Add all copies by start: events before the repeated period, then one repetition after the other,
 * then the events after it. */
static void add_copies(unfolding *state) {
    int32_t first = 0;
    while (first < state->old_count && state->old[state->order[first]].start_ps < state->from_ps) {
        add_copy(state, state->order[first++], 0);
    }
    int32_t end = first;
    while (end < state->old_count && is_inside(state, state->old[state->order[end]].start_ps)) {
        end++;
    }
    for (int32_t copy = 0; copy <= state->repeat->times && end > first; copy++) {
        for (int32_t i = first; i < end; i++) {
            add_copy(state, state->order[i], copy);
        }
    }
    for (; end < state->old_count; end++) {
        add_copy(state, state->order[end], 0);
    }
}

/* Replace the cause of each event, a number so far, by an event. */
static void find_causes(unfolding *state) {
    ms_trace_event *events = state->trace->events;
    for (int32_t i = 0; i < state->trace->event_count; i++) {
        int32_t row = events[i].cause < 0 ? -1 : state->row_of[events[i].cause];
        while (row < -1) { /* an event inside a pass: its cause, which precedes it */
            row = state->row_of[-2 - row];
        }
        events[i].cause = row;
    }
}

/* Close the gap or overlap between an event that reaches into the next repetition and the next
 * event. The first one ends when the other starts, but both times are rounded to picoseconds, so
 * that they may differ.
 *  before, next: new events. */
static void close_seam(const unfolding *state, int32_t before, int32_t next) {
    ms_trace_event *events = state->trace->events;
    const ms_trace_event *old = &state->old[state->old_of[before]];
    bool reaches = is_inside(state, old->start_ps) && old->end_ps >= state->to_ps - SEAM_PS;
    int64_t seam_ps = events[next].start_ps - events[before].end_ps;
    if (reaches && seam_ps >= -SEAM_PS && seam_ps <= SEAM_PS &&
        events[next].start_ps >= events[before].start_ps) {
        events[before].end_ps = events[next].start_ps;
    }
}

/* Close the seams between each event and its cause, and the event before it on its stream. */
static void close_seams(unfolding *state) {
    const ms_trace_event *events = state->trace->events;
    for (int32_t i = 0; i < state->trace->event_count; i++) {
        int32_t *before = &state->last_row[events[i].stream];
        if (events[i].cause >= 0) {
            close_seam(state, events[i].cause, i);
        }
        if (*before > 0) {
            close_seam(state, *before - 1, i);
        }
        *before = i + 1;
    }
}

/* Keep the events of the file that are inside passes.  Returns false when memory runs out. */
static bool keep_inside(unfolding *state) {
    ms_trace *trace = state->trace;
    trace->merged.inside = MS_NEW(state->arena, ms_trace_event, state->old_count);
    for (int32_t i = 0; i < state->old_count && trace->merged.inside != NULL; i++) {
        if (state->is_inside[i]) {
            trace->merged.inside[trace->merged.inside_count++] = state->old[i];
        }
    }
    trace->merged.repeat = *state->repeat;
    trace->merged.count = state->number[state->old_count];
    return trace->merged.inside != NULL;
}

/* Move the items of a vector to the arena of the trace.  *count_out: how many.  Returns NULL when
 * memory runs out, or if they are too many. */
static void *keep(const unfolding *state, ms_vector *vector, int32_t *count_out) {
    vector->failed = vector->failed || vector->count >= EVENTS_MAX;
    *count_out = (int32_t)vector->count;
    return ms_vector_keep(vector, state->arena);
}

/* Replace the events and members of the trace by those of the run.  passes_above: number of events
 * above which the operations of passes are merged.  Returns as order_copies. */
static ms_status copy_events(unfolding *state, int32_t passes_above) {
    ms_trace *trace = state->trace;
    ms_status status = order_copies(state);
    bool has_passes = status == MS_OK && state->number[state->old_count] > passes_above;
    if (status != MS_OK || (has_passes && !find_inside(state))) {
        return status != MS_OK ? status : MS_E_NOMEM;
    }
    add_copies(state);
    if (state->members.failed) {
        return MS_E_NOMEM;
    }
    find_causes(state);
    close_seams(state);
    trace->members = keep(state, &state->members, &trace->member_count);
    bool is_kept = !has_passes || keep_inside(state);
    return trace->members == NULL || !is_kept ? MS_E_NOMEM : MS_OK;
}

/* Append the points [first, end) of a rank, which are in the repeated period, once for each
 * repetition. */
static void copy_points(const unfolding *state, const ms_trace_memory *first,
                        const ms_trace_memory *end, ms_vector *points) {
    for (int32_t copy = 1; copy <= state->repeat->times && !points->failed; copy++) {
        points->failed = points->count > (size_t)state->most;
        for (const ms_trace_memory *p = first; p < end; p++) {
            ms_trace_memory *point = ms_vector_next(points);
            if (point != NULL) {
                *point = *p;
                point->time_ps += ms_trace_repeat_shift_ps(state->repeat, copy);
            }
        }
    }
}

/* Replace the points of memory of the trace: after a rank's points in the repeated period their
 * copies. */
static ms_status copy_memory(unfolding *state) {
    const ms_trace_memory *old = state->trace->memory;
    ms_vector points = {.item_B = sizeof(ms_trace_memory)};
    int32_t begin = -1; /* first point of the rank's repeated period */
    for (int32_t i = 0; i < state->trace->memory_count; i++) {
        begin = is_inside(state, old[i].time_ps) && begin < 0 ? i : begin;
        ms_vector_add(&points, &old[i], 1);
        bool is_last = i + 1 == state->trace->memory_count ||
                       old[i + 1].rank_index != old[i].rank_index ||
                       old[i + 1].time_ps >= state->to_ps;
        if (begin >= 0 && is_last) {
            copy_points(state, old + begin, old + i + 1, &points);
            begin = -1;
        }
    }
    state->trace->memory = keep(state, &points, &state->trace->memory_count);
    return state->trace->memory == NULL ? MS_E_NOMEM : MS_OK;
}

/* Whether all events and points of memory are within the run; in a damaged file they may not be. */
static bool is_inside_run(const ms_trace *trace) {
    int64_t last_ps = 0; /* no event ends before it starts */
    for (int32_t i = 0; i < trace->event_count; i++) {
        last_ps = trace->events[i].end_ps > last_ps ? trace->events[i].end_ps : last_ps;
    }
    for (int32_t i = 0; i < trace->memory_count; i++) {
        last_ps = trace->memory[i].time_ps > last_ps ? trace->memory[i].time_ps : last_ps;
    }
    return last_ps <= trace->step_ps;
}

/* Add the copies of one repeated period to a trace.  passes_above, most: as in copy_events. */
static ms_status apply_repeated_period(const ms_repeated_period *repeated, int32_t passes_above,
                                       int32_t most, ms_arena *arena, ms_trace *trace) {
    ms_arena scratch;
    ms_arena_init(&scratch);
    unfolding state = {.repeat = repeated,
                       .arena = arena,
                       .scratch = &scratch,
                       .trace = trace,
                       .old = trace->events,
                       .old_count = trace->event_count,
                       .from_ps = ms_to_ps(repeated->from_s),
                       .to_ps = ms_to_ps(repeated->from_s + repeated->period_s),
                       .old_members = trace->members,
                       .most = most,
                       .members = {.item_B = sizeof(ms_trace_member)}};
    ms_status status = copy_events(&state, passes_above);
    ms_vector_release(&state.members);
    ms_arena_release(&scratch);
    status = status == MS_OK ? copy_memory(&state) : status;
    return status == MS_OK && !is_inside_run(trace) ? MS_E_INPUT : status;
}

/* Passes are merged with the last repeated period, as a pass may reach from one into the next. */
ms_status ms_trace_repeat_apply(const ms_steady *repeat, int32_t passes_above, int32_t most,
                                ms_arena *arena, ms_trace *trace) {
    static const ms_repeated_period NONE = {.times = 0};
    ms_status status = MS_OK;
    bool is_asked_for =
        trace->events != NULL && (repeat->count > 0 || trace->event_count > passes_above);
    for (int32_t i = 0; (i == 0 || i < repeat->count) && is_asked_for && status == MS_OK; i++) {
        status = apply_repeated_period(repeat->count > 0 ? &repeat->of_step[i] : &NONE,
                                       i + 1 >= repeat->count ? passes_above : INT32_MAX, most,
                                       arena, trace);
    }
    return status;
}
