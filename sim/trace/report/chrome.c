/* Writes a trace in Chrome's trace event format (ms_chrome_write), piece by piece to a sink. A
 * process is a simulated rank and a thread a stream. In this format an event is a JSON object with
 * a phase: X is a slice (an interval on a thread), M a name, C a counter, s and f the ends of an
 * arrow. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "trace/report/passes.h"
#include "trace/report/report.h"

/* Maximum size of a piece for the sink, and of one JSON event. */
enum { PIECE_B = 64 * 1024, ROOM_B = 4 * 1024 };

/* ---- which pass uses a message ---- */

/* The passes of a trace, to find the one that uses a point-to-point message. */
typedef struct pass_index {
    const ms_gantt_box *passes; /* by rank, then start */
    size_t *rank_first; /* [rank_count + 1] rank r has rank_first[r] .. rank_first[r + 1] - 1 */
} pass_index;

/* Half a picosecond, to which times are rounded: a message that ends when a pass starts precedes
 * it. */
static const double ROUNDING_S = 0.5e-12;

/* Index the passes among `boxes`, as ms_passes_collect gives them.  *index_out: in `arena`. O(boxes
 * + ranks). */
static ms_status index_passes(const ms_vector *boxes, int32_t rank_count, ms_arena *arena,
                              pass_index *index_out) {
    ms_gantt_box *passes = MS_NEW(arena, ms_gantt_box, boxes->count);
    size_t *first = MS_NEW(arena, size_t, (size_t)rank_count + 1);
    size_t *next = MS_NEW(arena, size_t, rank_count);
    if (passes == NULL || first == NULL || next == NULL) {
        return MS_E_NOMEM;
    }
    for (size_t i = 0; i < boxes->count; i++) {
        const ms_gantt_box *box = &MS_AT(boxes, const ms_gantt_box, i);
        first[box->row + 1] += ms_gantt_is_pass(box) ? 1 : 0;
    }
    for (int32_t rank = 0; rank < rank_count; rank++) {
        first[rank + 1] += first[rank];
        next[rank] = first[rank];
    }
    for (size_t i = 0; i < boxes->count; i++) {
        const ms_gantt_box *box = &MS_AT(boxes, const ms_gantt_box, i);
        if (ms_gantt_is_pass(box)) {
            passes[next[box->row]++] = *box;
        }
    }
    *index_out = (pass_index){passes, first};
    return MS_OK;
}

/* First pass of a rank over microbatch `mb` that starts at `time_s` or later and needs an input
 * (not a weight gradient); NULL if there is none. If `time_s` is the arrival of a message, this
 * pass uses it: before it the rank runs no other such pass of the microbatch, as its stages follow
 * each other. */
static const ms_gantt_box *find_pass(const pass_index *index, int32_t rank_index, int32_t mb,
                                     double time_s) {
    size_t low = index->rank_first[rank_index];
    size_t end = index->rank_first[rank_index + 1];
    size_t high = end;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index->passes[middle].start < time_s - ROUNDING_S) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (size_t i = low; i < end; i++) {
        const ms_gantt_box *pass = &index->passes[i];
        if (pass->mb == mb && pass->kind != MS_OP_WEIGHT_GRAD) {
            return pass;
        }
    }
    return NULL;
}

/* ---- writing ---- */

/* The state of ms_chrome_write. */
typedef struct chrome {
    const ms_trace *trace;
    ms_report_sink sink;
    void *context;
    ms_buffer piece;   /* text that the sink has not got yet */
    ms_status status;  /* first failure; nothing is written after it */
    bool has_events;   /* an event was written, so that a comma precedes the next one */
    bool has_passes;   /* passes are written instead of operations */
    int32_t *thread;   /* [stream_count] number of the stream on its rank */
    int64_t *limit_ps; /* [event_count] start of the next event on its stream */
    int32_t *compute;  /* [rank_count] thread of the compute stream */
    int32_t *second;   /* [rank_count] thread of the lower passes of overlapped pairs */
    bool *is_shown;    /* [rank_count] whether the trace has an event of the rank */
    ms_vector boxes;   /* ms_gantt_box of ms_passes_collect */
    ms_vector pairs;   /* ms_pass_pair */
    ms_vector idle;    /* ms_idle_piece */
    ms_idle_phases phases;
    pass_index index;
} chrome;

/* Hand the text so far to the sink, unless a failure came before. */
static void flush(chrome *c) {
    if (c->piece.failed && c->status == MS_OK) {
        c->status = MS_E_NOMEM;
    }
    if (c->status == MS_OK && c->piece.length > 0) {
        c->status = c->sink(c->context, c->piece.data, c->piece.length);
    }
    c->piece.length = 0;
}

/* Begin an event: {"ph":"X","pid":3,"tid":0. The piece has room for the rest of it. */
static void begin(chrome *c, char phase, int32_t process, int32_t thread) {
    if (c->piece.length > PIECE_B - ROOM_B) {
        flush(c);
    }
    ms_buffer_printf(&c->piece, "%s\n{\"ph\":\"%c\",\"pid\":%d,\"tid\":%d",
                     c->has_events ? "," : "", phase, process, thread);
    c->has_events = true;
}

/* Write a member of the event with a time in microseconds, with all digits to the picosecond. */
static void put_time(chrome *c, const char *key, int64_t ps) {
    ms_buffer_printf(&c->piece, ",\"%s\":%lld.%06lld", key, (long long)(ps / 1000000),
                     (long long)(ps % 1000000));
}

/* Write a member of the event with a text. */
static void put_text(chrome *c, const char *key, const char *text) {
    ms_buffer_printf(&c->piece, ",\"%s\":", key);
    ms_json_write_string(&c->piece, text);
}

/* ---- names ---- */

/* Write an event that names a process or thread.  kind: "process_name" or "thread_name". */
static void put_metadata(chrome *c, int32_t process, int32_t thread, const char *kind,
                         const char *name) {
    begin(c, 'M', process, thread);
    put_text(c, "name", kind);
    ms_buffer_puts(&c->piece, ",\"args\":{\"name\":");
    ms_json_write_string(&c->piece, name);
    ms_buffer_puts(&c->piece, "}}");
}

/* Write an event that gives a process or thread its position in the viewer.  kind:
 * "process_sort_index" or "thread_sort_index". */
static void put_order(chrome *c, int32_t process, int32_t thread, const char *kind, int32_t order) {
    begin(c, 'M', process, thread);
    put_text(c, "name", kind);
    ms_buffer_printf(&c->piece, ",\"args\":{\"sort_index\":%d}}", order);
}

/* Write the names of the processes: all ranks with events. */
static void put_processes(chrome *c) {
    for (int32_t i = 0; i < c->trace->rank_count; i++) {
        if (!c->is_shown[i]) {
            continue;
        }
        const ms_trace_rank *rank = &c->trace->ranks[i];
        char name[96];
        int used = snprintf(name, sizeof name, "pp %d, rank %d", rank->pp, rank->rank);
        if (rank->multiplicity > 1) {
            snprintf(name + used, sizeof name - (size_t)used, " (stands for %d)",
                     rank->multiplicity);
        }
        put_metadata(c, i, 0, "process_name", name);
        put_order(c, i, 0, "process_sort_index", i);
    }
}

/* Whether communication along an axis is written: with passes, that inside a pass is not. */
static bool is_shown(const chrome *c, uint8_t axis) {
    bool is_inside = axis == MS_AXIS_TP || axis == MS_AXIS_CP || axis == MS_AXIS_EP;
    return !c->has_passes || !is_inside;
}

/* Whether ranks have a second thread for passes. Slices of a thread must not overlap, so that the
 * lower passes of overlapped pairs need one. */
static bool has_second(const chrome *c) {
    return c->has_passes && c->pairs.count > 0;
}

/* The thread of a pass. */
static int32_t thread_of(const chrome *c, const ms_gantt_box *pass) {
    return has_second(c) && pass->half == 2 ? c->second[pass->row] : c->compute[pass->row];
}

/* Write the names of the threads: compute streams, axes, receivers of messages. */
static void put_threads(chrome *c) {
    for (int32_t i = 0; i < c->trace->stream_count; i++) {
        const ms_trace_stream *stream = &c->trace->streams[i];
        char name[64] = "compute";
        if (stream->axis != MS_AXIS_NONE) {
            int used = snprintf(name, sizeof name, "%s", ms_axis_name((ms_axis)stream->axis));
            if (stream->peer_index >= 0) {
                snprintf(name + used, sizeof name - (size_t)used, " to rank %d",
                         c->trace->ranks[stream->peer_index].rank);
            }
        }
        if (is_shown(c, stream->axis) && c->is_shown[stream->rank_index]) {
            put_metadata(c, stream->rank_index, c->thread[i], "thread_name", name);
            put_order(c, stream->rank_index, c->thread[i], "thread_sort_index", c->thread[i]);
        }
    }
    for (int32_t rank = 0; rank < c->trace->rank_count && has_second(c); rank++) {
        put_metadata(c, rank, c->second[rank], "thread_name", "compute, overlapped");
        put_order(c, rank, c->second[rank], "thread_sort_index", c->compute[rank]);
    }
}

/* ---- operations ---- */

/* The letter of a pass (F, I, W, B), or the name of any other operation. */
static const char *letter_of(uint8_t kind) {
    return kind <= MS_OP_BACKWARD ? ms_pass_name((ms_pass)kind) : ms_op_kind_name((ms_op_kind)kind);
}

/* The colour of an operation for Chrome's viewer, which has colours by name: the one nearest to the
 * colour in pictures (svg.c). Perfetto takes no colours from a trace, but chooses one by the name
 * of a slice; so names hold no numbers, and all passes of a kind look alike. Source: catapult,
 * tracing/tracing/base/color_scheme.html; google/perfetto issues 208 and 624. */
static const char *colour_of(uint8_t kind) {
    switch (kind) {
    case MS_OP_FORWARD:
        return "rail_response"; /* 67, 135, 253 */
    case MS_OP_INPUT_GRAD:
        return "thread_state_uninterruptible"; /* 182, 125, 143 */
    case MS_OP_WEIGHT_GRAD:
        return "startup"; /* 230, 230, 0 */
    case MS_OP_BACKWARD:
        return "rail_load"; /* 13, 168, 97 */
    case MS_OP_RECOMPUTE:
        return "rail_idle"; /* 238, 142, 0 */
    case MS_OP_OPTIMIZER:
        return "black";
    default:
        return "rail_animation"; /* 244, 74, 63 */
    }
}

/* Write an argument of the event unless it is negative (none).  *has_some: whether an argument
 * precedes it; set to true. */
static void put_argument(chrome *c, const char *key, int64_t value, bool *has_some) {
    if (value >= 0) {
        ms_buffer_printf(&c->piece, "%s\"%s\":%lld", *has_some ? "," : "", key, (long long)value);
        *has_some = true;
    }
}

/* Begin a slice on the thread of a stream.  span_ps: start and end.  category: for the viewer's
 * filter. */
static void put_slice(chrome *c, int32_t stream, const int64_t span_ps[2], const char *name,
                      const char *category) {
    begin(c, 'X', c->trace->streams[stream].rank_index, c->thread[stream]);
    put_time(c, "ts", span_ps[0]);
    put_time(c, "dur", span_ps[1] - span_ps[0]);
    put_text(c, "name", name);
    put_text(c, "cat", category);
}

/* Write an event of the trace as a slice on one of its streams, with its columns as arguments. */
static void put_operation(chrome *c, int32_t event, int32_t stream, int64_t end_ps) {
    const ms_trace *trace = c->trace;
    bool is_computation = trace->streams[stream].axis == MS_AXIS_NONE;
    bool has_some = false;
    const int64_t span[2] = {trace->events[event].start_ps, end_ps};
    put_slice(c, stream, span, letter_of(trace->events[event].kind),
              is_computation ? ms_op_kind_name((ms_op_kind)trace->events[event].kind)
                             : ms_axis_name((ms_axis)trace->events[event].axis));
    put_text(c, "cname", colour_of(trace->events[event].kind));
    ms_buffer_puts(&c->piece, ",\"args\":{");
    put_argument(c, "event", event, &has_some);
    put_argument(c, "stage", trace->events[event].stage, &has_some);
    put_argument(c, "chunk", trace->events[event].chunk, &has_some);
    put_argument(c, "mb", trace->events[event].mb, &has_some);
    put_argument(c, "layer", trace->events[event].layer, &has_some);
    put_argument(c, "bytes", llrint(trace->events[event].bytes), &has_some);
    if (is_computation) {
        ms_buffer_printf(&c->piece, ",\"flop\":%.0f", trace->events[event].flop);
    }
    ms_buffer_puts(&c->piece, "}}");
}

/* The end of the slice of an event [ps]: cut at the start of the next event of its stream, since
 * slices of a thread must not overlap. A pipelined message frees its stream before it has arrived.
 */
static int64_t shown_end(const chrome *c, int32_t event) {
    int64_t start = c->trace->events[event].start_ps;
    int64_t end = c->trace->events[event].end_ps;
    int64_t limit = c->limit_ps[event] > start ? c->limit_ps[event] : start;
    return end < limit ? end : limit;
}

/* Write an arrow from the slice of a point-to-point message to the pass that uses it; other events
 * have none. */
static void put_arrow(chrome *c, int32_t event) {
    const ms_trace *trace = c->trace;
    const ms_trace_stream *stream = &trace->streams[trace->events[event].stream];
    if (trace->events[event].kind != MS_OP_P2P || stream->peer_index < 0 ||
        trace->events[event].mb < 0) {
        return;
    }
    const ms_gantt_box *pass = find_pass(&c->index, stream->peer_index, trace->events[event].mb,
                                         (double)trace->events[event].end_ps / MS_PS_PER_S);
    if (pass == NULL) {
        return;
    }
    begin(c, 's', stream->rank_index, c->thread[trace->events[event].stream]);
    put_time(c, "ts", trace->events[event].start_ps);
    ms_buffer_printf(&c->piece, ",\"id\":%d,\"name\":\"p2p\",\"cat\":\"p2p\"}", event);
    begin(c, 'f', stream->peer_index, thread_of(c, pass));
    put_time(c, "ts", llrint(pass->start * MS_PS_PER_S));
    ms_buffer_printf(&c->piece, ",\"id\":%d,\"bp\":\"e\",\"name\":\"p2p\",\"cat\":\"p2p\"}", event);
}

/* Write all events that are shown, on the streams of all their members; with passes no
 * computations. */
static void put_operations(chrome *c) {
    const ms_trace *trace = c->trace;
    for (int32_t i = 0; i < trace->event_count && c->status == MS_OK; i++) {
        uint8_t axis = trace->streams[trace->events[i].stream].axis;
        if (is_shown(c, axis) && !(c->has_passes && axis == MS_AXIS_NONE)) {
            put_operation(c, i, trace->events[i].stream, shown_end(c, i));
            put_arrow(c, i);
        }
    }
    for (int32_t i = 0; i < trace->member_count && c->status == MS_OK; i++) {
        const ms_trace_member *member = &trace->members[i];
        if (is_shown(c, trace->streams[member->stream].axis)) {
            put_operation(c, member->event, member->stream, trace->events[member->event].end_ps);
        }
    }
}

/* Write the boxes of passes and of the update as slices. */
static void put_passes(chrome *c) {
    for (size_t i = 0; i < c->boxes.count && c->status == MS_OK; i++) {
        const ms_gantt_box *box = &MS_AT(&c->boxes, const ms_gantt_box, i);
        if (box->is_part || box->axis != MS_AXIS_NONE) {
            continue;
        }
        int64_t start = llrint(box->start * MS_PS_PER_S);
        begin(c, 'X', box->row, thread_of(c, box));
        put_time(c, "ts", start);
        put_time(c, "dur", llrint(box->end * MS_PS_PER_S) - start);
        put_text(c, "name", letter_of(box->kind));
        put_text(c, "cat", ms_op_kind_name((ms_op_kind)box->kind));
        put_text(c, "cname", colour_of(box->kind));
        bool has_some = false;
        ms_buffer_puts(&c->piece, ",\"args\":{");
        put_argument(c, "mb", box->mb, &has_some);
        put_argument(c, "chunk", box->chunk, &has_some);
        ms_buffer_puts(&c->piece, "}}");
    }
}

/* ---- idle time ---- */

/* Write a piece of idle time as a slice of the compute stream, with its category as name. */
static void put_idle(chrome *c, const ms_idle_piece *idle) {
    static const struct {
        const char *text, *colour;
    } CAUSES[] = {
        [MS_IDLE_BUBBLE] = {"computation of another pipeline rank", "grey"},
        [MS_IDLE_IMBALANCE] = {"computation of another rank of the stage", "grey"},
        [MS_IDLE_OWN] = {"own communication", "rail_animation"},
        [MS_IDLE_FOREIGN] = {"communication of other ranks", "thread_state_unknown"},
        [MS_IDLE_HOST] = {"host", "generic_work"},
        [MS_IDLE_UNKNOWN] = {"operations that the trace does not hold", "grey"},
    };
    bool has_some = true;
    begin(c, 'X', idle->row, c->compute[idle->row]);
    put_time(c, "ts", idle->start_ps);
    put_time(c, "dur", idle->end_ps - idle->start_ps);
    put_text(c, "name",
             idle->cause == MS_IDLE_UNKNOWN
                 ? "idle"
                 : ms_time_category_name(ms_idle_category(&c->phases, idle)));
    put_text(c, "cat", "idle");
    put_text(c, "cname", CAUSES[idle->cause].colour);
    ms_buffer_puts(&c->piece, ",\"args\":{\"waits_for\":");
    ms_json_write_string(&c->piece, CAUSES[idle->cause].text);
    put_argument(c, "event", idle->event, &has_some);
    ms_buffer_puts(&c->piece, "}}");
}

/* Write all idle time; where passes are written, none inside a pass. */
static void put_all_idle(chrome *c) {
    for (size_t i = 0; i < c->idle.count && c->status == MS_OK; i++) {
        const ms_idle_piece *idle = &MS_AT(&c->idle, const ms_idle_piece, i);
        if (!c->has_passes || !idle->is_part) {
            put_idle(c, idle);
        }
    }
}

/* Write the memory of the ranks as counters. */
static void put_memory(chrome *c) {
    for (int32_t i = 0; i < c->trace->memory_count && c->status == MS_OK; i++) {
        const ms_trace_memory *point = &c->trace->memory[i];
        begin(c, 'C', point->rank_index, 0);
        put_time(c, "ts", point->time_ps);
        ms_buffer_printf(&c->piece, ",\"name\":\"memory\",\"args\":{\"bytes\":%.0f}}",
                         point->bytes);
    }
}

/* ---- the whole ---- */

/* Write the beginning of the file, up to the list of events. */
static void put_head(chrome *c) {
    const ms_value *workload = ms_value_get(c->trace->summary, "workload");
    ms_buffer_puts(&c->piece, "{\"displayTimeUnit\":\"ms\",\n\"otherData\":{\"detail\":");
    ms_json_write_string(&c->piece, c->has_passes ? "passes" : "operations");
    put_text(c, "program", "meshsim");
    put_text(c, "version", c->trace->program_version);
    put_text(c, "workload",
             workload != NULL && workload->type == MS_VALUE_STRING ? workload->as.string : "");
    ms_buffer_puts(&c->piece, "},\n\"traceEvents\":[");
}

/* Number the threads, find the limits of slices, and collect passes and idle time. Events are
 * visited backward, so that next_ps of a stream is the start of the event after. */
static ms_status prepare(chrome *c, ms_arena *arena) {
    const ms_trace *trace = c->trace;
    c->thread = MS_NEW(arena, int32_t, trace->stream_count);
    c->limit_ps = MS_NEW(arena, int64_t, trace->event_count);
    c->compute = MS_NEW(arena, int32_t, trace->rank_count);
    c->second = MS_NEW(arena, int32_t, trace->rank_count);
    c->is_shown = ms_passes_shown(trace, arena);
    int32_t *used = MS_NEW(arena, int32_t, trace->rank_count);
    int64_t *next_ps = MS_NEW(arena, int64_t, trace->stream_count);
    if (c->thread == NULL || c->limit_ps == NULL || c->compute == NULL || c->second == NULL ||
        c->is_shown == NULL || used == NULL || next_ps == NULL) {
        return MS_E_NOMEM;
    }
    for (int32_t i = 0; i < trace->stream_count; i++) {
        const ms_trace_stream *stream = &trace->streams[i];
        c->thread[i] = used[stream->rank_index]++;
        next_ps[i] = INT64_MAX;
        if (stream->axis == MS_AXIS_NONE) {
            c->compute[stream->rank_index] = c->thread[i];
        }
    }
    for (int32_t rank = 0; rank < trace->rank_count; rank++) {
        c->second[rank] = used[rank];
    }
    for (int32_t i = trace->event_count - 1; i >= 0; i--) {
        c->is_shown[trace->streams[trace->events[i].stream].rank_index] = true;
        c->limit_ps[i] = next_ps[trace->events[i].stream];
        next_ps[trace->events[i].stream] = trace->events[i].start_ps;
    }
    ms_passes_collect(trace, arena, &c->boxes, &c->pairs, &c->idle);
    if (c->boxes.failed || c->pairs.failed || c->idle.failed) {
        return MS_E_NOMEM;
    }
    ms_status status =
        c->idle.count == 0 ? MS_OK : ms_idle_phases_find(trace, &c->boxes, arena, &c->phases);
    return status == MS_OK ? index_passes(&c->boxes, trace->rank_count, arena, &c->index) : status;
}

ms_status ms_chrome_write(const ms_trace *trace, ms_report_sink sink, void *context) {
    ms_arena arena;
    chrome c = {.trace = trace,
                .sink = sink,
                .context = context,
                .has_passes =
                    trace->level == MS_TRACE_PASSES || trace->event_count > MS_CHROME_EVENTS_MAX};
    ms_arena_init(&arena);
    ms_vector_init(&c.boxes, sizeof(ms_gantt_box));
    ms_vector_init(&c.pairs, sizeof(ms_pass_pair));
    ms_vector_init(&c.idle, sizeof(ms_idle_piece));
    c.status = prepare(&c, &arena);
    if (c.status == MS_OK) {
        put_head(&c);
        put_processes(&c);
        put_threads(&c);
        put_operations(&c);
        if (c.has_passes) {
            put_passes(&c);
        }
        put_all_idle(&c);
        put_memory(&c);
        ms_buffer_puts(&c.piece, "\n]}\n");
        flush(&c);
    }
    ms_vector_release(&c.boxes);
    ms_vector_release(&c.pairs);
    ms_vector_release(&c.idle);
    ms_buffer_release(&c.piece);
    ms_arena_release(&arena);
    return c.status;
}
