/* Finds the slack of every event and the critical path of a run (ms_slack_find). Events are visited
 * by start, the latest first, so that each one's followers have their slack already: the slack of
 * an event is the minimum over its followers of their slack and the time between them. */
#include "trace/report/html/page.h"

#include <string.h>

#include "trace/repeat.h"

/* Maximum number of pairs of a rank and a microbatch, for which memory is needed; where there are
 * more, messages are not followed. */
enum { PAIRS_MAX = 1 << 26, NONE = -1 };

/* Maximum error of the difference of a start and an end, both rounded to whole picoseconds. */
enum { ROUNDING_PS = 2 };

/* The state of visiting events from the last to the first. */
typedef struct sweep {
    const ms_trace *trace;
    int64_t *slack_ps; /* [events] */
    int32_t *order;    /* [events] by start */
    int32_t *next;     /* [stream_count] the event that was last visited on each stream; NONE */
    int32_t *pass;     /* [ranks][mbs] the last visited computation that may use a message; NONE */
    int32_t *message;  /* [ranks][mbs] the last visited message that leaves the rank; NONE */
    int32_t *member_first; /* [events + 1] index in ms_trace.members of each event's first member */
    int32_t mbs;           /* number of microbatches; 0: messages are not followed */
} sweep;

/* Find the first member of each event; members are sorted by event.  Returns false when memory runs
 * out. */
static bool index_members(sweep *state, ms_arena *scratch) {
    int32_t count = state->trace->event_count;
    state->member_first = MS_NEW(scratch, int32_t, (size_t)count + 1);
    if (state->member_first == NULL) {
        return false;
    }
    for (int32_t i = 0; i < state->trace->member_count; i++) {
        state->member_first[state->trace->members[i].event + 1]++;
    }
    for (int32_t i = 0; i < count; i++) {
        state->member_first[i + 1] += state->member_first[i];
    }
    return true;
}

/* An array of `count` times NONE; NULL when memory runs out. */
static int32_t *new_indices(ms_arena *scratch, size_t count) {
    int32_t *indices = MS_NEW(scratch, int32_t, count);
    if (indices != NULL) {
        memset(indices, 0xFF, count * sizeof *indices);
    }
    return indices;
}

/* Find the number of microbatches, allocate all arrays, sort the events and index the members. With
 * more than PAIRS_MAX pairs mbs becomes 0, and messages are not followed.  Returns false when
 * memory runs out. */
static bool prepare_sweep(sweep *state, ms_arena *scratch) {
    const ms_trace *trace = state->trace;
    for (int32_t i = 0; i < trace->event_count; i++) {
        state->mbs = trace->events[i].mb >= state->mbs ? trace->events[i].mb + 1 : state->mbs;
    }
    if ((int64_t)state->mbs * trace->rank_count > PAIRS_MAX) {
        state->mbs = 0;
    }
    size_t pairs = (size_t)state->mbs * (size_t)trace->rank_count;
    state->order = ms_trace_events_sort(trace->events, trace->event_count, scratch);
    state->next = new_indices(scratch, (size_t)trace->stream_count);
    state->pass = new_indices(scratch, pairs);
    state->message = new_indices(scratch, pairs);
    return state->next != NULL && state->pass != NULL && state->message != NULL &&
           state->order != NULL && index_members(state, scratch);
}

/* Limit the slack of `event` to that of `follower` and the time between them.  follower: may be
 * NONE. */
static void limit_slack(sweep *state, int32_t event, int32_t follower) {
    if (follower == NONE) {
        return;
    }
    const ms_trace_event *events = state->trace->events;
    int64_t gap_ps = events[follower].start_ps - events[event].end_ps;
    int64_t slack_ps = state->slack_ps[follower] + (gap_ps > 0 ? gap_ps : 0);
    state->slack_ps[event] = slack_ps < state->slack_ps[event] ? slack_ps : state->slack_ps[event];
}

/* Limit the slack of an event by the next event of a stream. */
static void limit_on_stream(sweep *state, int32_t event, int32_t stream) {
    limit_slack(state, event, state->next[stream]);
    state->next[stream] = event;
}

/* Limit the slack of a computation by the message that carries its result, and that of a message by
 * the pass that uses it on the receiving rank, and note the event for earlier ones. */
static void limit_across(sweep *state, int32_t event) {
    const ms_trace_event *events = state->trace->events;
    const ms_trace_stream *stream = &state->trace->streams[events[event].stream];
    if (events[event].mb < 0 || events[event].mb >= state->mbs) {
        return;
    }
    size_t own = (size_t)stream->rank_index * (size_t)state->mbs + (size_t)events[event].mb;
    if (stream->axis == MS_AXIS_NONE) {
        limit_slack(state, event, state->message[own]);
        if (events[event].kind != MS_OP_WEIGHT_GRAD) {
            state->pass[own] = event;
        }
    } else if (events[event].kind == MS_OP_P2P && stream->peer_index >= 0) {
        size_t peer = (size_t)stream->peer_index * (size_t)state->mbs + (size_t)events[event].mb;
        int32_t user = state->pass[peer];
        bool is_after = user != NONE && events[user].start_ps >= events[event].end_ps - ROUNDING_PS;
        limit_slack(state, event, is_after ? user : NONE);
        state->message[own] = event;
    }
}

/* Find the slack of all events: at most the time to the end of the run. */
static void find_slack(sweep *state) {
    const ms_trace_event *events = state->trace->events;
    for (int32_t i = 0; i < state->trace->event_count; i++) {
        state->slack_ps[i] = state->trace->step_ps - events[i].end_ps;
    }
    for (int32_t i = state->trace->event_count; i-- > 0;) {
        int32_t event = state->order[i];
        limit_on_stream(state, event, events[event].stream);
        for (int32_t m = state->member_first[event]; m < state->member_first[event + 1]; m++) {
            limit_on_stream(state, event, state->trace->members[m].stream);
        }
        limit_across(state, event);
        int32_t cause = events[event].cause;
        if (cause >= 0 && state->slack_ps[event] < state->slack_ps[cause]) {
            /* time between the two is launch by the host, which is no slack */
            state->slack_ps[cause] = state->slack_ps[event];
        }
    }
}

/* The first of the events that end last; NONE: the trace has none. */
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

/* Find the critical path: back along causes from the event that ends last. Successive events of one
 * rank are one part. Events on the path have no slack. */
static void find_path(sweep *state, ms_vector *spans) {
    const ms_trace_event *events = state->trace->events;
    int64_t to_ps = state->trace->step_ps;
    int32_t at = last_event(state->trace);
    /* `left` ends the loop if causes form a circle */
    for (int32_t left = state->trace->event_count; at >= 0 && left > 0;
         left--, at = events[at].cause) {
        int64_t from_ps = events[at].start_ps < to_ps ? events[at].start_ps : to_ps;
        int32_t rank = state->trace->streams[events[at].stream].rank_index;
        ms_path_span *span =
            spans->count > 0 ? &MS_AT(spans, ms_path_span, spans->count - 1) : NULL;
        if (span == NULL || span->rank_index != rank) {
            span = ms_vector_next(spans);
            if (span == NULL) {
                return;
            }
            *span = (ms_path_span){to_ps, to_ps, rank};
        }
        span->start_ps = from_ps;
        state->slack_ps[at] = 0;
        to_ps = from_ps;
    }
}

ms_status ms_slack_find(const ms_trace *trace, ms_arena *arena, ms_slack *slack_out) {
    ms_arena scratch;
    ms_vector spans = {.item_B = sizeof(ms_path_span)};
    ms_arena_init(&scratch);
    sweep state = {.trace = trace, .slack_ps = MS_NEW(arena, int64_t, trace->event_count)};
    ms_status status = MS_E_NOMEM;
    if (state.slack_ps != NULL && prepare_sweep(&state, &scratch)) {
        find_slack(&state);
        find_path(&state, &spans);
        slack_out->slack_ps = state.slack_ps;
        slack_out->span_count = spans.count;
        slack_out->spans = ms_vector_keep(&spans, arena);
        status = slack_out->spans == NULL ? MS_E_NOMEM : MS_OK;
    }
    ms_vector_release(&spans);
    ms_arena_release(&scratch);
    return status;
}
