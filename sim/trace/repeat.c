#include "trace/repeat.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/tables.h"

#define EVENTS_MAX (1 << 30)
enum { SEAM_PS = 2 };

static const char FORMAT[] = "%s%d times %.17g s from %.17g s, %d mb on";

char *ms_trace_repeat_write(const ms_steady *repeat, char *text_out, size_t size) {
    size_t used = 0;
    double later_s = 0.0; /* for all times of those before it */
    text_out[0] = '\0';
    for (int32_t i = 0; i < repeat->count && used < size; i++) {
        const ms_steady_stretch *stretch = &repeat->of_step[i];
        int written =
            snprintf(text_out + used, size - used, FORMAT, i == 0 ? "" : "; ", stretch->times,
                     stretch->period_s, stretch->from_s + later_s, stretch->mbs);
        later_s += stretch->times * stretch->period_s;
        used += written < 0 ? 0 : (size_t)written;
    }
    return text_out;
}

/* Whether a stretch can be one, behind all before it. */
static bool is_sound(const ms_steady_stretch *s, double behind_s) {
    return s->times > 0 && s->mbs > 0 && s->mbs < EVENTS_MAX && isfinite(s->from_s) &&
           s->from_s >= behind_s && s->period_s > 0.0 &&
           (s->times + 1.0) * s->period_s <= MS_TRACE_RUN_MAX_S;
}

bool ms_trace_repeat_read(const char *text, ms_steady *repeat_out) {
    *repeat_out = (ms_steady){.count = 0};
    double behind_s = 0.0;
    bool is_fine = true;
    while (*text != '\0' && is_fine) {
        ms_steady_stretch s = {.times = 0};
        int length = 0;
        int read = sscanf(text, "%d times %lg s from %lg s, %d mb on%n", &s.times, &s.period_s,
                          &s.from_s, &s.mbs, &length);
        is_fine = read == 4 && length > 0 && repeat_out->count < MS_STRETCHES_MOST &&
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
    int32_t copy;  /* 0: as it stands there */
} event_copy;

typedef struct unfolding {
    const ms_steady_stretch *repeat;
    ms_arena *arena, *scratch;
    ms_trace *trace;
    const ms_trace_event *old; /* [old_count] */
    int32_t old_count;
    int64_t from_ps, to_ps; /* of the stretch */
    int32_t *inside;        /* [old events] its number among those in the stretch, -1: in none */
    int32_t inside_count;
    event_copy *places; /* [count] in their order */
    int32_t *where;     /* [count] number of an event, or behind these of a copy, in that order */
    int32_t count;
    int32_t *later; /* [old events] of one in the period before the stretch that in it; else -1 */
} unfolding;

static int64_t shift_ps(const unfolding *u, int32_t copy) {
    return ms_to_ps(u->repeat->period_s * copy);
}

static int by_start(const void *left, const void *right) {
    const event_copy *a = left;
    const event_copy *b = right;
    if (a->start_ps != b->start_ps) {
        return a->start_ps < b->start_ps ? -1 : 1;
    }
    return (a->event > b->event) - (a->event < b->event);
}

/* Number of a copy before they are in order. */
static int32_t number_of(const unfolding *u, int32_t event, int32_t copy) {
    return copy == 0 ? event : u->old_count + u->inside[event] * u->repeat->times + copy - 1;
}

static ms_status find_inside(unfolding *u) {
    u->inside = MS_NEW(u->scratch, int32_t, u->old_count);
    u->later = MS_NEW(u->scratch, int32_t, u->old_count);
    if (u->inside == NULL || u->later == NULL) {
        return MS_E_NOMEM;
    }
    for (int32_t i = 0; i < u->old_count; i++) {
        bool is_inside = u->old[i].start_ps >= u->from_ps && u->old[i].start_ps < u->to_ps;
        u->inside[i] = is_inside ? u->inside_count++ : -1;
    }
    double count = u->old_count + (double)u->inside_count * u->repeat->times;
    u->count = count < EVENTS_MAX ? (int32_t)count : 0;
    return count < EVENTS_MAX ? MS_OK : MS_E_INPUT;
}

/* On every stream the last event before the stretch is the last one in it a period earlier, and so
 * on backwards. */
static ms_status find_later(unfolding *u) {
    int32_t streams = u->trace->stream_count;
    int32_t *next = MS_NEW(u->scratch, int32_t, u->inside_count); /* before it on its stream */
    int32_t *last = MS_NEW(u->scratch, int32_t, streams);
    int32_t *event = MS_NEW(u->scratch, int32_t, u->inside_count);
    if (next == NULL || last == NULL || event == NULL) {
        return MS_E_NOMEM;
    }
    for (int32_t s = 0; s < streams; s++) {
        last[s] = -1;
    }
    for (int32_t i = 0; i < u->old_count; i++) {
        if (u->inside[i] >= 0) {
            next[u->inside[i]] = last[u->old[i].stream];
            event[u->inside[i]] = i;
            last[u->old[i].stream] = u->inside[i];
        }
    }
    for (int32_t i = u->old_count; i-- > 0;) {
        u->later[i] = -1;
        if (u->old[i].start_ps < u->from_ps && last[u->old[i].stream] >= 0) {
            u->later[i] = event[last[u->old[i].stream]];
            last[u->old[i].stream] = next[last[u->old[i].stream]];
        }
    }
    return MS_OK;
}

static ms_status put_in_order(unfolding *u) {
    u->places = MS_NEW(u->scratch, event_copy, u->count);
    u->where = MS_NEW(u->scratch, int32_t, u->count);
    if (u->places == NULL || u->where == NULL) {
        return MS_E_NOMEM;
    }
    int32_t count = 0;
    for (int32_t i = 0; i < u->old_count; i++) {
        int32_t copies = u->inside[i] >= 0 ? u->repeat->times : 0;
        for (int32_t copy = 0; copy <= copies; copy++) {
            u->places[count++] = (event_copy){u->old[i].start_ps + shift_ps(u, copy), i, copy};
        }
    }
    qsort(u->places, (size_t)count, sizeof *u->places, by_start);
    for (int32_t i = 0; i < count; i++) {
        u->where[number_of(u, u->places[i].event, u->places[i].copy)] = i;
    }
    return MS_OK;
}

/* The cause of a copy: the copy of the same time, or what was one period before it. */
static int32_t cause_of(const unfolding *u, const event_copy *p) {
    int32_t cause = u->old[p->event].cause;
    if (cause < 0) {
        return -1;
    }
    bool is_behind = u->inside[p->event] < 0 && u->old[p->event].start_ps >= u->to_ps;
    int32_t copy = is_behind ? u->repeat->times : p->copy;
    if (u->inside[cause] < 0 && p->copy > 0 && u->later[cause] >= 0) {
        cause = u->later[cause];
        copy = p->copy - 1;
    }
    return u->where[number_of(u, cause, u->inside[cause] < 0 ? 0 : copy)];
}

static ms_status copy_events(unfolding *u) {
    ms_trace_event *events = MS_NEW(u->arena, ms_trace_event, u->count);
    if (events == NULL) {
        return MS_E_NOMEM;
    }
    for (int32_t i = 0; i < u->count; i++) {
        const event_copy *p = &u->places[i];
        events[i] = u->old[p->event];
        events[i].start_ps = p->start_ps;
        events[i].end_ps += shift_ps(u, p->copy);
        events[i].mb += events[i].mb < 0 ? 0 : p->copy * u->repeat->mbs;
        events[i].cause = cause_of(u, p);
    }
    u->trace->events = events;
    u->trace->event_count = u->count;
    return MS_OK;
}

/* What reaches into the next time of the stretch ends when something there begins, but for the
 * rounding of both to picoseconds: let it end exactly then, so that nothing overlaps. */
static void close_seam(const unfolding *u, int32_t before, int32_t next) {
    ms_trace_event *events = u->trace->events;
    int32_t event = u->places[before].event;
    bool reaches = u->inside[event] >= 0 && u->old[event].end_ps >= u->to_ps - SEAM_PS;
    int64_t seam_ps = events[next].start_ps - events[before].end_ps;
    if (reaches && seam_ps >= -SEAM_PS && seam_ps <= SEAM_PS &&
        events[next].start_ps >= events[before].start_ps) {
        events[before].end_ps = events[next].start_ps;
    }
}

static ms_status close_seams(unfolding *u) {
    const ms_trace_event *events = u->trace->events;
    int32_t *last = MS_NEW(u->scratch, int32_t, u->trace->stream_count); /* 1 + of each stream */
    if (last == NULL) {
        return MS_E_NOMEM;
    }
    for (int32_t i = 0; i < u->count; i++) {
        int32_t *before = &last[events[i].stream];
        if (events[i].cause >= 0) {
            close_seam(u, events[i].cause, i);
        }
        if (*before > 0) {
            close_seam(u, *before - 1, i);
        }
        *before = i + 1;
    }
    return MS_OK;
}

/* The members of an event's copies are its own. */
static ms_status copy_members(unfolding *u) {
    const ms_trace_member *old = u->trace->members;
    int32_t *first = MS_NEW(u->scratch, int32_t, (size_t)u->old_count + 1);
    if (first == NULL) {
        return MS_E_NOMEM;
    }
    int64_t count = 0;
    for (int32_t i = 0; i < u->trace->member_count; i++) {
        first[old[i].event + 1]++;
        count += u->inside[old[i].event] >= 0 ? 1 + u->repeat->times : 1;
    }
    for (int32_t i = 0; i < u->old_count; i++) {
        first[i + 1] += first[i];
    }
    ms_trace_member *members = count < EVENTS_MAX ? MS_NEW(u->arena, ms_trace_member, count) : NULL;
    if (members == NULL) {
        return count < EVENTS_MAX ? MS_E_NOMEM : MS_E_INPUT;
    }
    int32_t next = 0;
    for (int32_t i = 0; i < u->count; i++) {
        int32_t event = u->places[i].event;
        for (int32_t m = first[event]; m < first[event + 1]; m++) {
            members[next++] = (ms_trace_member){i, old[m].stream};
        }
    }
    u->trace->members = members;
    u->trace->member_count = next;
    return MS_OK;
}

/* Copy the points [first, end) of one rank's stretch, so many periods on. */
static void copy_points(const unfolding *u, const ms_trace_memory *first,
                        const ms_trace_memory *end, ms_vector *points) {
    for (int32_t copy = 1; copy <= u->repeat->times; copy++) {
        for (const ms_trace_memory *p = first; p < end; p++) {
            ms_trace_memory *point = ms_vector_next(points);
            if (point != NULL) {
                *point = *p;
                point->time_ps += shift_ps(u, copy);
            }
        }
    }
}

static ms_status copy_memory(unfolding *u) {
    const ms_trace_memory *old = u->trace->memory;
    ms_vector points;
    ms_vector_init(&points, sizeof(ms_trace_memory));
    int32_t begin = -1; /* first point of the rank's stretch */
    for (int32_t i = 0; i < u->trace->memory_count; i++) {
        bool is_inside = old[i].time_ps >= u->from_ps && old[i].time_ps < u->to_ps;
        begin = is_inside && begin < 0 ? i : begin;
        ms_vector_add(&points, &old[i], 1);
        bool is_last = i + 1 == u->trace->memory_count ||
                       old[i + 1].rank_index != old[i].rank_index || old[i + 1].time_ps >= u->to_ps;
        if (begin >= 0 && is_last) {
            copy_points(u, old + begin, old + i + 1, &points);
            begin = -1;
        }
    }
    bool has_room = !points.failed && points.count < EVENTS_MAX;
    ms_trace_memory *memory = has_room ? MS_NEW(u->arena, ms_trace_memory, points.count) : NULL;
    if (memory != NULL && points.count > 0) {
        memcpy(memory, points.data, points.count * sizeof *memory);
        u->trace->memory = memory;
        u->trace->memory_count = (int32_t)points.count;
    }
    ms_vector_release(&points);
    return memory == NULL ? MS_E_NOMEM : MS_OK;
}

/* Whether all of it lies in the run, as it does unless the file is damaged. */
static bool is_inside_run(const ms_trace *trace) {
    bool is_inside = true;
    for (int32_t i = 0; i < trace->event_count && is_inside; i++) {
        is_inside = trace->events[i].start_ps <= trace->step_ps &&
                    trace->events[i].end_ps <= trace->step_ps;
    }
    for (int32_t i = 0; i < trace->memory_count && is_inside; i++) {
        is_inside = trace->memory[i].time_ps <= trace->step_ps;
    }
    return is_inside;
}

static ms_status unfold(unfolding *u) {
    ms_status status = find_inside(u);
    status = status == MS_OK ? find_later(u) : status;
    status = status == MS_OK ? put_in_order(u) : status;
    status = status == MS_OK ? copy_members(u) : status;
    status = status == MS_OK ? copy_events(u) : status;
    status = status == MS_OK ? close_seams(u) : status;
    status = status == MS_OK ? copy_memory(u) : status;
    return status == MS_OK && !is_inside_run(u->trace) ? MS_E_INPUT : status;
}

/* Give a trace all times of one stretch. */
static ms_status apply_stretch(const ms_steady_stretch *stretch, ms_arena *arena, ms_trace *trace) {
    ms_arena scratch;
    ms_arena_init(&scratch);
    unfolding u = {.repeat = stretch,
                   .arena = arena,
                   .scratch = &scratch,
                   .trace = trace,
                   .old = trace->events,
                   .old_count = trace->event_count,
                   .from_ps = ms_to_ps(stretch->from_s),
                   .to_ps = ms_to_ps(stretch->from_s + stretch->period_s)};
    ms_status status = unfold(&u);
    ms_arena_release(&scratch);
    return status;
}

ms_status ms_trace_repeat_apply(const ms_steady *repeat, ms_arena *arena, ms_trace *trace) {
    ms_status status = MS_OK;
    bool is_asked_for = trace->events != NULL;
    for (int32_t i = 0; i < repeat->count && is_asked_for && status == MS_OK; i++) {
        status = apply_stretch(&repeat->of_step[i], arena, trace);
    }
    return status;
}
