/* Repeated periods of a trace (repeat.h): the text that describes them, and the copies of their
 * events. A repeated period is a period that the file holds once. Copy 0 of an event is the event
 * itself; an event that starts in the repeated period has further copies 1 .. times, each one
 * period later. */
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

/* An event of the whole trace: one of the file, or a copy of it. */
typedef struct event_copy {
    int64_t start_ps;
    int32_t event; /* of the file */
    int32_t copy;  /* 0: the event itself */
} event_copy;

/* The state of adding the copies of one repeated period. */
typedef struct unfolding {
    const ms_repeated_period *repeat;
    ms_arena *arena, *scratch; /* for the trace; for this repeated period only */
    ms_trace *trace;
    const ms_trace_event *old; /* [old_count] events before the copies are added */
    int32_t old_count;
    int64_t from_ps, to_ps; /* of the repeated period */
    int32_t *number; /* [old_count + 1] number of copies of all events before event e in the file's
                        order */
    event_copy *copies; /* [number[old_count]] all copies, by start */
    int32_t *where;     /* at number[e] + c: index in `copies` of copy c of event e */
    int32_t *later; /* [old_count] for an event of the period before the repeated period the event
                       of the repeated period that repeats it; else -1 */
} unfolding;

/* By how much a copy is later than its event [ps]. */
static int64_t shift_ps(const unfolding *state, int32_t copy) {
    return ms_to_ps(state->repeat->period_s * copy);
}

/* Whether a time is in the repeated period. */
static bool is_inside(const unfolding *state, int64_t time_ps) {
    return time_ps >= state->from_ps && time_ps < state->to_ps;
}

/* Comparison for qsort: copies by start, then in the order of their events. */
static int by_start(const void *left, const void *right) {
    const event_copy *a = left;
    const event_copy *b = right;
    if (a->start_ps != b->start_ps) {
        return a->start_ps < b->start_ps ? -1 : 1;
    }
    return (a->event > b->event) - (a->event < b->event);
}

/* Fill in `number`.  Returns the number of all copies; 0 if there are EVENTS_MAX or more. */
static int32_t count_copies(unfolding *state) {
    double count = 0;
    for (int32_t i = 0; i < state->old_count && count < EVENTS_MAX; i++) {
        state->number[i] = (int32_t)count;
        count += is_inside(state, state->old[i].start_ps) ? 1.0 + state->repeat->times : 1.0;
    }
    state->number[state->old_count] = count < EVENTS_MAX ? (int32_t)count : 0;
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

/* Fill in `copies`, sorted by start, and `where`.  count: number of all copies. */
static void put_in_order(unfolding *state, int32_t count) {
    for (int32_t i = 0; i < state->old_count; i++) {
        for (int32_t at = state->number[i]; at < state->number[i + 1]; at++) {
            int32_t copy = at - state->number[i];
            state->copies[at] =
                (event_copy){state->old[i].start_ps + shift_ps(state, copy), i, copy};
        }
    }
    qsort(state->copies, (size_t)count, sizeof *state->copies, by_start);
    for (int32_t i = 0; i < count; i++) {
        state->where[state->number[state->copies[i].event] + state->copies[i].copy] = i;
    }
}

/* Allocate and fill in all lists of the copies.  Returns MS_E_INPUT if there are too many. */
static ms_status order_copies(unfolding *state) {
    int32_t streams = state->trace->stream_count;
    state->number = MS_NEW(state->scratch, int32_t, (size_t)state->old_count + 1);
    state->later = MS_NEW(state->scratch, int32_t, state->old_count);
    int32_t *last = MS_NEW(state->scratch, int32_t, streams);
    int32_t *before = MS_NEW(state->scratch, int32_t, state->old_count);
    if (state->number == NULL || state->later == NULL || last == NULL || before == NULL) {
        return MS_E_NOMEM;
    }
    memset(last, -1, (size_t)streams * sizeof *last);
    find_later(state, last, before);
    int32_t count = count_copies(state);
    if (count == 0 && state->old_count > 0) {
        return MS_E_INPUT;
    }
    state->copies = MS_NEW(state->scratch, event_copy, count);
    state->where = MS_NEW(state->scratch, int32_t, count);
    if (state->copies == NULL || state->where == NULL) {
        return MS_E_NOMEM;
    }
    put_in_order(state, count);
    return MS_OK;
}

/* The cause of a copy, as an index in `copies`; -1: its event has no cause. It is the copy of its
 * event's cause in the same repetition or, where the cause is before the repeated period, the event
 * that repeats the cause, one repetition earlier. Causes of events after the repeated period are in
 * its last repetition. */
static int32_t cause_of(const unfolding *state, const event_copy *p) {
    const ms_trace_event *event = &state->old[p->event];
    int32_t cause = event->cause;
    if (cause < 0) {
        return -1;
    }
    int32_t copy = event->start_ps >= state->to_ps ? state->repeat->times : p->copy;
    if (!is_inside(state, state->old[cause].start_ps) && p->copy > 0 && state->later[cause] >= 0) {
        cause = state->later[cause];
        copy = p->copy - 1;
    }
    return state
        ->where[state->number[cause] + (is_inside(state, state->old[cause].start_ps) ? copy : 0)];
}

/* Replace the events of the trace by all copies.  Returns MS_OK; MS_E_NOMEM. */
static ms_status copy_events(unfolding *state) {
    int32_t count = state->number[state->old_count];
    ms_trace_event *events = MS_NEW(state->arena, ms_trace_event, count);
    if (events == NULL) {
        return MS_E_NOMEM;
    }
    for (int32_t i = 0; i < count; i++) {
        const event_copy *p = &state->copies[i];
        events[i] = state->old[p->event];
        events[i].start_ps = p->start_ps;
        events[i].end_ps += shift_ps(state, p->copy);
        events[i].mb += events[i].mb < 0 ? 0 : p->copy * state->repeat->mbs;
        events[i].cause = cause_of(state, p);
    }
    state->trace->events = events;
    state->trace->event_count = count;
    return MS_OK;
}

/* Close the gap or overlap between an event that reaches into the next repetition and the next
 * event. The first one ends when the other starts, but both times are rounded to picoseconds, so
 * that they may differ.
 *  before, next: new events. */
static void close_seam(const unfolding *state, int32_t before, int32_t next) {
    ms_trace_event *events = state->trace->events;
    int32_t event = state->copies[before].event;
    bool reaches = is_inside(state, state->old[event].start_ps) &&
                   state->old[event].end_ps >= state->to_ps - SEAM_PS;
    int64_t seam_ps = events[next].start_ps - events[before].end_ps;
    if (reaches && seam_ps >= -SEAM_PS && seam_ps <= SEAM_PS &&
        events[next].start_ps >= events[before].start_ps) {
        events[before].end_ps = events[next].start_ps;
    }
}

/* Close the seams between each event and its cause, and the event before it on its stream. */
static ms_status close_seams(unfolding *state) {
    const ms_trace_event *events = state->trace->events;
    int32_t *last =
        MS_NEW(state->scratch, int32_t, state->trace->stream_count); /* 1 + of each stream */
    if (last == NULL) {
        return MS_E_NOMEM;
    }
    for (int32_t i = 0; i < state->trace->event_count; i++) {
        int32_t *before = &last[events[i].stream];
        if (events[i].cause >= 0) {
            close_seam(state, events[i].cause, i);
        }
        if (*before > 0) {
            close_seam(state, *before - 1, i);
        }
        *before = i + 1;
    }
    return MS_OK;
}

/* Move the items of a vector to the arena of the trace.  *count_out: how many.  Returns NULL when
 * memory runs out, or if they are too many. */
static void *keep(const unfolding *state, ms_vector *vector, int32_t *count_out) {
    vector->failed = vector->failed || vector->count >= EVENTS_MAX;
    *count_out = (int32_t)vector->count;
    return ms_vector_keep(vector, state->arena);
}

/* Replace the members of the trace: each copy of an event gets the members of the event. */
static ms_status copy_members(unfolding *state) {
    ms_trace *trace = state->trace;
    const ms_trace_member *old = trace->members;
    int32_t *first = MS_NEW(state->scratch, int32_t, state->old_count); /* 1 + of each event */
    if (first == NULL) {
        return MS_E_NOMEM;
    }
    for (int32_t m = trace->member_count; m-- > 0;) {
        first[old[m].event] = m + 1;
    }
    ms_vector members = {.item_B = sizeof(ms_trace_member)};
    for (int32_t i = 0; i < state->number[state->old_count]; i++) {
        int32_t event = state->copies[i].event;
        for (int32_t m = first[event] - 1;
             m >= 0 && m < trace->member_count && old[m].event == event; m++) {
            const ms_trace_member member = {i, old[m].stream};
            ms_vector_add(&members, &member, 1);
        }
    }
    trace->members = keep(state, &members, &trace->member_count);
    return trace->members == NULL ? MS_E_NOMEM : MS_OK;
}

/* Append the points [first, end) of a rank, which are in the repeated period, once for each
 * repetition. */
static void copy_points(const unfolding *state, const ms_trace_memory *first,
                        const ms_trace_memory *end, ms_vector *points) {
    for (int32_t copy = 1; copy <= state->repeat->times; copy++) {
        for (const ms_trace_memory *p = first; p < end; p++) {
            ms_trace_memory *point = ms_vector_next(points);
            if (point != NULL) {
                *point = *p;
                point->time_ps += shift_ps(state, copy);
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

/* Add all copies of a repeated period. Members come first, as they are copied by the old events. */
static ms_status unfold(unfolding *state) {
    ms_status status = order_copies(state);
    status = status == MS_OK ? copy_members(state) : status;
    status = status == MS_OK ? copy_events(state) : status;
    status = status == MS_OK ? close_seams(state) : status;
    status = status == MS_OK ? copy_memory(state) : status;
    return status == MS_OK && !is_inside_run(state->trace) ? MS_E_INPUT : status;
}

/* Add the copies of one repeated period to a trace. */
static ms_status apply_repeated_period(const ms_repeated_period *repeated, ms_arena *arena,
                                       ms_trace *trace) {
    ms_arena scratch;
    ms_arena_init(&scratch);
    unfolding state = {.repeat = repeated,
                       .arena = arena,
                       .scratch = &scratch,
                       .trace = trace,
                       .old = trace->events,
                       .old_count = trace->event_count,
                       .from_ps = ms_to_ps(repeated->from_s),
                       .to_ps = ms_to_ps(repeated->from_s + repeated->period_s)};
    ms_status status = unfold(&state);
    ms_arena_release(&scratch);
    return status;
}

ms_status ms_trace_repeat_apply(const ms_steady *repeat, ms_arena *arena, ms_trace *trace) {
    ms_status status = MS_OK;
    bool is_asked_for = trace->events != NULL;
    for (int32_t i = 0; i < repeat->count && is_asked_for && status == MS_OK; i++) {
        status = apply_repeated_period(&repeat->of_step[i], arena, trace);
    }
    return status;
}
