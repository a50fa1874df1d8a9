#include "trace/report/html/page.h"

#include <stdlib.h>
#include <string.h>

/* Messages are not followed where the pairs of a rank and a microbatch are more than PAIRS_MAX. */
enum { PAIRS_MAX = 1 << 26, NONE = -1 };

/* Starts and ends are rounded to whole picoseconds. */
enum { ROUNDING_PS = 2 };

typedef struct sweep {
    const ms_trace *trace;
    int64_t *slack_ps;
    int32_t *order;        /* [events] by start, latest first */
    int32_t *next;         /* [stream_count] event behind on the stream */
    int32_t *pass;         /* [ranks][mbs] next computation that takes a message */
    int32_t *message;      /* [ranks][mbs] next message that leaves the rank */
    int32_t *member_first; /* [events + 1] */
    int32_t mbs;
} sweep;

typedef struct event_start {
    int64_t start_ps;
    int32_t event;
} event_start;

static int by_start_backwards(const void *left, const void *right) {
    const event_start *a = left;
    const event_start *b = right;
    if (a->start_ps != b->start_ps) {
        return a->start_ps < b->start_ps ? 1 : -1;
    }
    return (a->event < b->event) - (a->event > b->event);
}

static bool put_in_order(sweep *s, ms_arena *scratch) {
    int32_t count = s->trace->event_count;
    event_start *starts = MS_NEW(scratch, event_start, count);
    s->order = MS_NEW(scratch, int32_t, count);
    if (starts == NULL || s->order == NULL) {
        return false;
    }
    for (int32_t i = 0; i < count; i++) {
        starts[i] = (event_start){s->trace->events[i].start_ps, i};
    }
    qsort(starts, (size_t)count, sizeof *starts, by_start_backwards);
    for (int32_t i = 0; i < count; i++) {
        s->order[i] = starts[i].event;
    }
    return true;
}

/* Find the first member of each event; members are sorted by event. */
static bool index_members(sweep *s, ms_arena *scratch) {
    int32_t count = s->trace->event_count;
    s->member_first = MS_NEW(scratch, int32_t, (size_t)count + 1);
    if (s->member_first == NULL) {
        return false;
    }
    for (int32_t i = 0; i < s->trace->member_count; i++) {
        s->member_first[s->trace->members[i].event + 1]++;
    }
    for (int32_t i = 0; i < count; i++) {
        s->member_first[i + 1] += s->member_first[i];
    }
    return true;
}

static int32_t *new_places(ms_arena *scratch, size_t count) {
    int32_t *places = MS_NEW(scratch, int32_t, count);
    if (places != NULL) {
        memset(places, 0xFF, count * sizeof *places);
    }
    return places;
}

static bool prepare(sweep *s, ms_arena *scratch) {
    const ms_trace *trace = s->trace;
    for (int32_t i = 0; i < trace->event_count; i++) {
        s->mbs = trace->events[i].mb >= s->mbs ? trace->events[i].mb + 1 : s->mbs;
    }
    if ((int64_t)s->mbs * trace->rank_count > PAIRS_MAX) {
        s->mbs = 0;
    }
    size_t pairs = (size_t)s->mbs * (size_t)trace->rank_count;
    s->next = new_places(scratch, (size_t)trace->stream_count);
    s->pass = new_places(scratch, pairs);
    s->message = new_places(scratch, pairs);
    return s->next != NULL && s->pass != NULL && s->message != NULL && put_in_order(s, scratch) &&
           index_members(s, scratch);
}

/* Event `event` may end later by what `follower` may, and by the time between them. */
static void limit(sweep *s, int32_t event, int32_t follower) {
    if (follower == NONE) {
        return;
    }
    const ms_trace_event *events = s->trace->events;
    int64_t gap_ps = events[follower].start_ps - events[event].end_ps;
    int64_t slack_ps = s->slack_ps[follower] + (gap_ps > 0 ? gap_ps : 0);
    s->slack_ps[event] = slack_ps < s->slack_ps[event] ? slack_ps : s->slack_ps[event];
}

static void limit_on_stream(sweep *s, int32_t event, int32_t stream) {
    limit(s, event, s->next[stream]);
    s->next[stream] = event;
}

/* Messages and the passes on both of their ends. */
static void limit_across(sweep *s, int32_t event) {
    const ms_trace_event *events = s->trace->events;
    const ms_trace_stream *stream = &s->trace->streams[events[event].stream];
    if (events[event].mb < 0 || events[event].mb >= s->mbs) {
        return;
    }
    size_t own = (size_t)stream->rank_index * (size_t)s->mbs + (size_t)events[event].mb;
    if (stream->axis == MS_AXIS_NONE) {
        limit(s, event, s->message[own]);
        if (events[event].kind != MS_OP_WEIGHT_GRAD) {
            s->pass[own] = event;
        }
    } else if (events[event].kind == MS_OP_P2P && stream->peer_index >= 0) {
        size_t peer = (size_t)stream->peer_index * (size_t)s->mbs + (size_t)events[event].mb;
        int32_t user = s->pass[peer];
        bool is_after = user != NONE && events[user].start_ps >= events[event].end_ps - ROUNDING_PS;
        limit(s, event, is_after ? user : NONE);
        s->message[own] = event;
    }
}

static void find_slack(sweep *s) {
    const ms_trace_event *events = s->trace->events;
    for (int32_t i = 0; i < s->trace->event_count; i++) {
        s->slack_ps[i] = s->trace->step_ps - events[i].end_ps;
    }
    for (int32_t i = 0; i < s->trace->event_count; i++) {
        int32_t event = s->order[i];
        limit_on_stream(s, event, events[event].stream);
        for (int32_t m = s->member_first[event]; m < s->member_first[event + 1]; m++) {
            limit_on_stream(s, event, s->trace->members[m].stream);
        }
        limit_across(s, event);
        int32_t cause = events[event].cause;
        if (cause >= 0 && s->slack_ps[event] < s->slack_ps[cause]) {
            s->slack_ps[cause] = s->slack_ps[event]; /* what lies between is the host's */
        }
    }
}

static int32_t last_event(const ms_trace *trace) {
    const ms_trace_event *events = trace->events;
    int32_t last = NONE;
    for (int32_t i = 0; i < trace->event_count; i++) {
        if (last == NONE || events[i].end_ps > events[last].end_ps) {
            last = i;
        }
    }
    return last;
}

/* Back along causes from what ends last; stretches of one rank become one. */
static void find_path(sweep *s, ms_vector *pieces) {
    const ms_trace_event *events = s->trace->events;
    int64_t to_ps = s->trace->step_ps;
    int32_t at = last_event(s->trace);
    for (int32_t left = s->trace->event_count; at >= 0 && left > 0; left--, at = events[at].cause) {
        int64_t from_ps = events[at].start_ps < to_ps ? events[at].start_ps : to_ps;
        int32_t rank = s->trace->streams[events[at].stream].rank_index;
        ms_path_piece *piece =
            pieces->count > 0 ? &MS_AT(pieces, ms_path_piece, pieces->count - 1) : NULL;
        if (piece == NULL || piece->rank_index != rank) {
            piece = ms_vector_next(pieces);
            if (piece == NULL) {
                return;
            }
            *piece = (ms_path_piece){to_ps, to_ps, rank};
        }
        piece->start_ps = from_ps;
        s->slack_ps[at] = 0;
        to_ps = from_ps;
    }
}

ms_status ms_slack_find(const ms_trace *trace, ms_arena *arena, ms_slack *slack_out) {
    ms_arena scratch;
    ms_vector pieces = {.item_B = sizeof(ms_path_piece)};
    ms_arena_init(&scratch);
    sweep s = {.trace = trace, .slack_ps = MS_NEW(arena, int64_t, trace->event_count)};
    ms_status status = MS_E_NOMEM;
    if (s.slack_ps != NULL && prepare(&s, &scratch)) {
        find_slack(&s);
        find_path(&s, &pieces);
        slack_out->slack_ps = s.slack_ps;
        slack_out->piece_count = pieces.count;
        slack_out->pieces = ms_vector_keep(&pieces, arena);
        status = slack_out->pieces == NULL ? MS_E_NOMEM : MS_OK;
    }
    ms_vector_release(&pieces);
    ms_arena_release(&scratch);
    return status;
}
