/* Writes a trace in Chrome's trace event format (ms_chrome_write), and hands it to a sink in
 * chunks. A process is a simulated rank and a thread a stream. In this format an event is a JSON
 * object with a phase: X is a slice (an interval on a thread), M a name, C a counter, s and f the
 * ends of an arrow. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "trace/report/passes.h"
#include "trace/report/report.h"

/* Maximum size of a chunk for the sink, and of one JSON event in it. */
enum { PENDING_B = 64 * 1024, ROOM_B = 4 * 1024 };

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
    ms_buffer pending; /* text that the sink has not got yet */
    ms_status status;  /* first failure; nothing is written after it */
    bool has_events;   /* an event was written, so that a comma precedes the next one */
    bool has_passes;   /* passes are written instead of operations */
    int32_t *thread;   /* [stream_count] number of the stream on its rank */
    int64_t *limit_ps; /* [event_count] start of the next event on its stream */
    int32_t *compute;  /* [rank_count] thread of the compute stream */
    int32_t *second;   /* [rank_count] thread of the lower passes of overlapped pairs */
    bool *is_shown;    /* [rank_count] whether the trace has an event of the rank */
    ms_passes passes;
    ms_idle_phases phases;
    pass_index index;
} chrome;

/* Hand the text so far to the sink, unless a failure came before. */
static void flush(chrome *writer) {
    if (writer->pending.failed && writer->status == MS_OK) {
        writer->status = MS_E_NOMEM;
    }
    if (writer->status == MS_OK && writer->pending.length > 0) {
        writer->status =
            writer->sink(writer->context, writer->pending.data, writer->pending.length);
    }
    writer->pending.length = 0;
}

/* Append a whole number with at least `width` digits. A file has some 20 million numbers, for which
 * printf is too slow. */
static void put_digits(chrome *writer, int64_t number, int width) {
    char digits[24];
    size_t at = sizeof digits;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    for (; rest > 0 || width > 0; rest /= 10, width--) {
        digits[--at] = (char)('0' + rest % 10);
    }
    if (number < 0) {
        digits[--at] = '-';
    }
    ms_buffer_add(&writer->pending, digits + at, sizeof digits - at);
}

/* The beginning of a member of an event: a comma and its key, as one text to append. */
#define KEY(name) ",\"" name "\":"

/* Write a member of the event with a whole number.  key: KEY. */
static void put_number(chrome *writer, const char *key, int64_t number) {
    ms_buffer_puts(&writer->pending, key);
    put_digits(writer, number, 1);
}

/* Begin an event: {"ph":"X","pid":3,"tid":0. The pending text is handed over first if it has no
 * room for a whole event. */
static void begin(chrome *writer, char phase, int32_t process, int32_t thread) {
    if (writer->pending.length > PENDING_B - ROOM_B) {
        flush(writer);
    }
    const char head[] = {',', '\n', '{', '"', 'p', 'h', '"', ':', '"', phase, '"'};
    int before = writer->has_events ? 0 : 1;
    ms_buffer_add(&writer->pending, head + before, sizeof head - (size_t)before);
    put_number(writer, KEY("pid"), process);
    put_number(writer, KEY("tid"), thread);
    writer->has_events = true;
}

/* Write a member of the event with a time in microseconds, with all digits to the picosecond. */
static void put_time(chrome *writer, const char *key, int64_t ps) {
    put_number(writer, key, ps / 1000000);
    ms_buffer_add(&writer->pending, ".", 1);
    put_digits(writer, ps % 1000000, 6);
}

/* Write a member of the event with a text. */
static void put_text(chrome *writer, const char *key, const char *text) {
    ms_buffer_puts(&writer->pending, key);
    ms_json_write_string(&writer->pending, text);
}

/* Write a member of the event with a name of this program, which needs no escapes. */
static void put_name(chrome *writer, const char *key, const char *name) {
    ms_buffer_puts(&writer->pending, key);
    ms_buffer_add(&writer->pending, "\"", 1);
    ms_buffer_puts(&writer->pending, name);
    ms_buffer_add(&writer->pending, "\"", 1);
}

/* ---- names ---- */

/* Write the events that give a process or thread its name and its position in the viewer.  thread:
 * -1: of the process. */
static void put_metadata(chrome *writer, int32_t process, int32_t thread, const char *name,
                         int32_t order) {
    const char *kind = thread < 0 ? "process" : "thread";
    begin(writer, 'M', process, thread < 0 ? 0 : thread);
    ms_buffer_printf(&writer->pending, ",\"name\":\"%s_name\",\"args\":{\"name\":", kind);
    ms_json_write_string(&writer->pending, name);
    ms_buffer_puts(&writer->pending, "}}");
    begin(writer, 'M', process, thread < 0 ? 0 : thread);
    ms_buffer_printf(&writer->pending, ",\"name\":\"%s_sort_index\",\"args\":{\"sort_index\":%d}}",
                     kind, order);
}

/* Write the names of the processes: all ranks with events. */
static void put_processes(chrome *writer) {
    for (int32_t i = 0; i < writer->trace->rank_count; i++) {
        if (!writer->is_shown[i]) {
            continue;
        }
        const ms_trace_rank *rank = &writer->trace->ranks[i];
        char name[96];
        int used = snprintf(name, sizeof name, "pp %d, rank %d", rank->pp, rank->rank);
        if (rank->multiplicity > 1) {
            snprintf(name + used, sizeof name - (size_t)used, " (stands for %d)",
                     rank->multiplicity);
        }
        put_metadata(writer, i, -1, name, i);
    }
}

/* Whether communication along an axis is written: with passes, that inside a pass is not. */
static bool is_shown(const chrome *writer, uint8_t axis) {
    bool is_inside = axis == MS_AXIS_TP || axis == MS_AXIS_CP || axis == MS_AXIS_EP;
    return !writer->has_passes || !is_inside;
}

/* Whether ranks have a second thread for passes. Slices of a thread must not overlap, so that the
 * lower passes of overlapped pairs need one. */
static bool has_second(const chrome *writer) {
    return writer->has_passes && writer->passes.pairs.count > 0;
}

/* The thread of a pass. */
static int32_t thread_of(const chrome *writer, const ms_gantt_box *pass) {
    return has_second(writer) && pass->half == 2 ? writer->second[pass->row]
                                                 : writer->compute[pass->row];
}

/* Write the names of the threads: compute streams, axes, receivers of messages. */
static void put_threads(chrome *writer) {
    for (int32_t i = 0; i < writer->trace->stream_count; i++) {
        const ms_trace_stream *stream = &writer->trace->streams[i];
        char name[64] = "compute";
        if (stream->axis != MS_AXIS_NONE) {
            int used = snprintf(name, sizeof name, "%s", ms_axis_name((ms_axis)stream->axis));
            if (stream->peer_index >= 0) {
                snprintf(name + used, sizeof name - (size_t)used, " to rank %d",
                         writer->trace->ranks[stream->peer_index].rank);
            }
        }
        if (is_shown(writer, stream->axis) && writer->is_shown[stream->rank_index]) {
            put_metadata(writer, stream->rank_index, writer->thread[i], name, writer->thread[i]);
        }
    }
    for (int32_t rank = 0; rank < writer->trace->rank_count && has_second(writer); rank++) {
        put_metadata(writer, rank, writer->second[rank], "compute, overlapped",
                     writer->compute[rank]);
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

/* Write an argument of the event unless it is negative (none). */
static void put_argument(chrome *writer, const char *key, int64_t value) {
    if (value >= 0) {
        put_number(writer, key, value);
    }
}

/* Begin a slice on the thread of a stream.  span_ps: start and end.  category: for the viewer's
 * filter. */
static void put_slice(chrome *writer, int32_t stream, const int64_t span_ps[2], const char *name,
                      const char *category) {
    begin(writer, 'X', writer->trace->streams[stream].rank_index, writer->thread[stream]);
    put_time(writer, KEY("ts"), span_ps[0]);
    put_time(writer, KEY("dur"), span_ps[1] - span_ps[0]);
    put_name(writer, KEY("name"), name);
    put_name(writer, KEY("cat"), category);
}

/* Write an event of the trace as a slice on one of its streams, with its columns as arguments. */
static void put_operation(chrome *writer, int32_t event, int32_t stream, int64_t end_ps) {
    const ms_trace *trace = writer->trace;
    bool is_computation = trace->streams[stream].axis == MS_AXIS_NONE;
    const int64_t span[2] = {trace->events[event].start_ps, end_ps};
    put_slice(writer, stream, span, letter_of(trace->events[event].kind),
              is_computation ? ms_op_kind_name((ms_op_kind)trace->events[event].kind)
                             : ms_axis_name((ms_axis)trace->events[event].axis));
    put_name(writer, KEY("cname"), colour_of(trace->events[event].kind));
    put_number(writer, KEY("args\":{\"event"), event);
    put_argument(writer, KEY("stage"), trace->events[event].stage);
    put_argument(writer, KEY("chunk"), trace->events[event].chunk);
    put_argument(writer, KEY("mb"), trace->events[event].mb);
    put_argument(writer, KEY("layer"), trace->events[event].layer);
    put_argument(writer, KEY("bytes"), llrint(trace->events[event].bytes));
    if (is_computation) {
        ms_buffer_printf(&writer->pending, ",\"flop\":%.0f", trace->events[event].flop);
    }
    ms_buffer_puts(&writer->pending, "}}");
}

/* The end of the slice of an event [ps]: cut at the start of the next event of its stream, since
 * slices of a thread must not overlap. A pipelined message frees its stream before it has arrived.
 */
static int64_t shown_end(const chrome *writer, int32_t event) {
    int64_t start = writer->trace->events[event].start_ps;
    int64_t end = writer->trace->events[event].end_ps;
    int64_t limit = writer->limit_ps[event] > start ? writer->limit_ps[event] : start;
    return end < limit ? end : limit;
}

/* Write an arrow from the slice of a point-to-point message to the pass that uses it; other events
 * have none. */
static void put_arrow(chrome *writer, int32_t event) {
    const ms_trace *trace = writer->trace;
    const ms_trace_stream *stream = &trace->streams[trace->events[event].stream];
    if (trace->events[event].kind != MS_OP_P2P || stream->peer_index < 0 ||
        trace->events[event].mb < 0) {
        return;
    }
    const ms_gantt_box *pass =
        find_pass(&writer->index, stream->peer_index, trace->events[event].mb,
                  (double)trace->events[event].end_ps / MS_PS_PER_S);
    if (pass == NULL) {
        return;
    }
    begin(writer, 's', stream->rank_index, writer->thread[trace->events[event].stream]);
    put_time(writer, KEY("ts"), trace->events[event].start_ps);
    put_number(writer, KEY("id"), event);
    ms_buffer_puts(&writer->pending, ",\"name\":\"p2p\",\"cat\":\"p2p\"}");
    begin(writer, 'f', stream->peer_index, thread_of(writer, pass));
    put_time(writer, KEY("ts"), llrint(pass->start * MS_PS_PER_S));
    put_number(writer, KEY("id"), event);
    ms_buffer_puts(&writer->pending, ",\"bp\":\"e\",\"name\":\"p2p\",\"cat\":\"p2p\"}");
}

/* Write all events that are shown, each on the streams of all its members. If passes are written
 * instead of operations, computations are left out. */
static void put_operations(chrome *writer) {
    const ms_trace *trace = writer->trace;
    for (int32_t i = 0; i < trace->event_count && writer->status == MS_OK; i++) {
        uint8_t axis = trace->streams[trace->events[i].stream].axis;
        if (is_shown(writer, axis) && !(writer->has_passes && axis == MS_AXIS_NONE)) {
            put_operation(writer, i, trace->events[i].stream, shown_end(writer, i));
            put_arrow(writer, i);
        }
    }
    for (int32_t i = 0; i < trace->member_count && writer->status == MS_OK; i++) {
        const ms_trace_member *member = &trace->members[i];
        if (is_shown(writer, trace->streams[member->stream].axis)) {
            put_operation(writer, member->event, member->stream,
                          trace->events[member->event].end_ps);
        }
    }
}

/* Write the boxes of passes and of the update as slices. */
static void put_passes(chrome *writer) {
    for (size_t i = 0; i < writer->passes.boxes.count && writer->status == MS_OK; i++) {
        const ms_gantt_box *box = &MS_AT(&writer->passes.boxes, const ms_gantt_box, i);
        if (box->is_part || box->axis != MS_AXIS_NONE) {
            continue;
        }
        int64_t start = llrint(box->start * MS_PS_PER_S);
        begin(writer, 'X', box->row, thread_of(writer, box));
        put_time(writer, KEY("ts"), start);
        put_time(writer, KEY("dur"), llrint(box->end * MS_PS_PER_S) - start);
        put_name(writer, KEY("name"), letter_of(box->kind));
        put_name(writer, KEY("cat"), ms_op_kind_name((ms_op_kind)box->kind));
        put_name(writer, KEY("cname"), colour_of(box->kind));
        put_number(writer, KEY("args\":{\"chunk"), box->chunk);
        put_argument(writer, KEY("mb"), box->mb);
        ms_buffer_puts(&writer->pending, "}}");
    }
}

/* ---- idle time ---- */

/* Write a span of idle time as a slice of the compute stream, with its category as name. */
static void put_idle(chrome *writer, const ms_idle_span *idle) {
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
    begin(writer, 'X', idle->row, writer->compute[idle->row]);
    put_time(writer, KEY("ts"), idle->start_ps);
    put_time(writer, KEY("dur"), idle->end_ps - idle->start_ps);
    put_name(writer, KEY("name"),
             idle->cause == MS_IDLE_UNKNOWN
                 ? "idle"
                 : ms_time_category_name(ms_idle_category(&writer->phases, idle)));
    put_name(writer, KEY("cat"), "idle");
    put_name(writer, KEY("cname"), CAUSES[idle->cause].colour);
    put_name(writer, KEY("args\":{\"waits_for"), CAUSES[idle->cause].text);
    put_argument(writer, KEY("event"), idle->event);
    ms_buffer_puts(&writer->pending, "}}");
}

/* Write all idle time; where passes are written, none inside a pass. */
static void put_all_idle(chrome *writer) {
    for (size_t i = 0; i < writer->passes.idle.count && writer->status == MS_OK; i++) {
        const ms_idle_span *idle = &MS_AT(&writer->passes.idle, const ms_idle_span, i);
        if (!writer->has_passes || !idle->is_part) {
            put_idle(writer, idle);
        }
    }
}

/* Write the memory of the ranks as counters. */
static void put_memory(chrome *writer) {
    for (int32_t i = 0; i < writer->trace->memory_count && writer->status == MS_OK; i++) {
        const ms_trace_memory *point = &writer->trace->memory[i];
        begin(writer, 'C', point->rank_index, 0);
        put_time(writer, KEY("ts"), point->time_ps);
        put_number(writer, KEY("name\":\"memory\",\"args\":{\"bytes"), llrint(point->bytes));
        ms_buffer_puts(&writer->pending, "}}");
    }
}

/* ---- the whole ---- */

/* Write the beginning of the file, up to the list of events. */
static void put_head(chrome *writer) {
    const ms_value *workload = ms_value_get(writer->trace->summary, "workload");
    ms_buffer_puts(&writer->pending, "{\"displayTimeUnit\":\"ms\",\n\"otherData\":{\"detail\":");
    ms_json_write_string(&writer->pending, writer->has_passes ? "passes" : "operations");
    put_text(writer, KEY("program"), "meshsim");
    put_text(writer, KEY("version"), writer->trace->program_version);
    put_text(writer, KEY("workload"),
             workload != NULL && workload->type == MS_VALUE_STRING ? workload->as.string : "");
    ms_buffer_puts(&writer->pending, "},\n\"traceEvents\":[");
}

/* Number the threads, find the limits of slices, and collect passes and idle time. Events are
 * visited backward, so that next_ps of a stream is the start of the event after. */
static ms_status prepare(chrome *writer, ms_arena *arena) {
    const ms_trace *trace = writer->trace;
    writer->thread = MS_NEW(arena, int32_t, trace->stream_count);
    writer->limit_ps = MS_NEW(arena, int64_t, trace->event_count);
    writer->compute = MS_NEW(arena, int32_t, trace->rank_count);
    writer->second = MS_NEW(arena, int32_t, trace->rank_count);
    writer->is_shown = ms_passes_shown(trace, arena);
    int32_t *used = MS_NEW(arena, int32_t, trace->rank_count);
    int64_t *next_ps = MS_NEW(arena, int64_t, trace->stream_count);
    if (writer->thread == NULL || writer->limit_ps == NULL || writer->compute == NULL ||
        writer->second == NULL || writer->is_shown == NULL || used == NULL || next_ps == NULL) {
        return MS_E_NOMEM;
    }
    for (int32_t i = 0; i < trace->stream_count; i++) {
        const ms_trace_stream *stream = &trace->streams[i];
        writer->thread[i] = used[stream->rank_index]++;
        next_ps[i] = INT64_MAX;
        if (stream->axis == MS_AXIS_NONE) {
            writer->compute[stream->rank_index] = writer->thread[i];
        }
    }
    for (int32_t rank = 0; rank < trace->rank_count; rank++) {
        writer->second[rank] = used[rank];
    }
    for (int32_t i = trace->event_count - 1; i >= 0; i--) {
        writer->is_shown[trace->streams[trace->events[i].stream].rank_index] = true;
        writer->limit_ps[i] = next_ps[trace->events[i].stream];
        next_ps[trace->events[i].stream] = trace->events[i].start_ps;
    }
    ms_status status = ms_passes_collect(trace, NULL, arena, &writer->passes);
    status = status != MS_OK || writer->passes.idle.count == 0
                 ? status
                 : ms_idle_phases_find(trace, &writer->passes.boxes, arena, &writer->phases);
    return status == MS_OK
               ? index_passes(&writer->passes.boxes, trace->rank_count, arena, &writer->index)
               : status;
}

/* After a failure the functions called here write nothing more, so the status is looked at once. */
ms_status ms_chrome_write(const ms_trace *trace, ms_report_sink sink, void *context) {
    ms_arena arena;
    chrome writer = {.trace = trace,
                     .sink = sink,
                     .context = context,
                     .has_passes = trace->level == MS_TRACE_PASSES ||
                                   trace->event_count > MS_TRACE_OPERATIONS_MAX ||
                                   trace->merged.count > 0};
    ms_arena_init(&arena);
    writer.status = prepare(&writer, &arena);
    if (writer.status == MS_OK) {
        put_head(&writer);
        put_processes(&writer);
        put_threads(&writer);
        put_operations(&writer);
        if (writer.has_passes) {
            put_passes(&writer);
        }
        put_all_idle(&writer);
        put_memory(&writer);
        ms_buffer_puts(&writer.pending, "\n]}\n");
        flush(&writer);
    }
    ms_passes_release(&writer.passes);
    ms_buffer_release(&writer.pending);
    ms_arena_release(&arena);
    return writer.status;
}
