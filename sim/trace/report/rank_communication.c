#include "trace/report/rank_communication.h"

#include <stdlib.h>

typedef struct filling {
    const ms_trace *trace;
    ms_comm_span *spans; /* NULL: stretches are only counted */
    size_t *end;         /* [rank_count * MS_AXIS_COUNT] */
} filling;

static size_t place_of(int32_t rank_index, uint8_t axis) {
    return (size_t)rank_index * MS_AXIS_COUNT + axis;
}

static void enter(filling *f, int32_t rank_index, int32_t event) {
    size_t *end = &f->end[place_of(rank_index, f->trace->events[event].axis)];
    if (f->spans != NULL) {
        f->spans[*end] =
            (ms_comm_span){f->trace->events[event].start_ps, f->trace->events[event].end_ps};
    }
    (*end)++;
}

/* All events with the ranks that take part in them. */
static void visit(filling *f) {
    const ms_trace *trace = f->trace;
    for (int32_t i = 0; i < trace->event_count; i++) {
        const ms_trace_stream *stream = &trace->streams[trace->events[i].stream];
        if (stream->axis != MS_AXIS_NONE) {
            enter(f, stream->rank_index, i);
            if (stream->peer_index >= 0 && stream->peer_index != stream->rank_index) {
                enter(f, stream->peer_index, i);
            }
        }
    }
    for (int32_t i = 0; i < trace->member_count; i++) {
        const ms_trace_member *member = &trace->members[i];
        enter(f, trace->streams[member->stream].rank_index, member->event);
    }
}

static int by_start(const void *left, const void *right) {
    const ms_comm_span *a = left;
    const ms_comm_span *b = right;
    return (a->start_ps > b->start_ps) - (a->start_ps < b->start_ps);
}

/* Sort the stretches [count] and join those that touch; returns how many are left. */
static size_t join(ms_comm_span *spans, size_t count) {
    bool is_sorted = true;
    for (size_t i = 1; i < count; i++) {
        is_sorted = is_sorted && spans[i].start_ps >= spans[i - 1].start_ps;
    }
    if (!is_sorted) {
        qsort(spans, count, sizeof spans[0], by_start);
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        ms_comm_span *last = kept == 0 ? NULL : &spans[kept - 1];
        if (last == NULL || spans[i].start_ps > last->end_ps) {
            spans[kept++] = spans[i];
        } else if (spans[i].end_ps > last->end_ps) {
            last->end_ps = spans[i].end_ps;
        }
    }
    return kept;
}

ms_status ms_rank_comms_build(const ms_trace *trace, ms_arena *arena, ms_rank_comms *own_out) {
    size_t places = place_of(trace->rank_count, 0);
    size_t *first = MS_NEW(arena, size_t, places);
    size_t *end = MS_NEW(arena, size_t, places);
    if (first == NULL || end == NULL) {
        return MS_E_NOMEM;
    }
    filling f = {.trace = trace, .end = end};
    visit(&f);
    size_t total = 0;
    for (size_t i = 0; i < places; i++) {
        size_t count = end[i];
        first[i] = end[i] = total;
        total += count;
    }
    f.spans = MS_NEW(arena, ms_comm_span, total);
    if (f.spans == NULL) {
        return MS_E_NOMEM;
    }
    visit(&f);
    for (size_t i = 0; i < places; i++) {
        end[i] = first[i] + join(f.spans + first[i], end[i] - first[i]);
    }
    *own_out = (ms_rank_comms){f.spans, first, end};
    return MS_OK;
}

const ms_comm_span *ms_rank_comms_find(const ms_rank_comms *own, int32_t rank_index, uint8_t axis,
                                       int64_t from_ps, int64_t to_ps) {
    size_t place = place_of(rank_index, axis);
    size_t low = own->first[place];
    size_t high = own->end[place];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (own->spans[middle].end_ps <= from_ps) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool is_found = low < own->end[place] && own->spans[low].start_ps < to_ps;
    return is_found ? &own->spans[low] : NULL;
}
