/* libFuzzer target: any bytes as the numbers of a trace in memory, made to keep what ms_trace_read
 * promises. Its picture, its Chrome trace and its page are written; nothing in a trace may break
 * them. */
#include "base/event.h"
#include "fuzz_target.h"
#include "trace/report/report.h"
#include "trace_page.h"

enum { RANKS_MAX = 6, STREAMS_MAX = 16, EVENTS_MAX = 64, EXTRA_MAX = 16 };

typedef struct source {
    const uint8_t *bytes;
    size_t left;
} source;

/* The next number in [low, high]; low when the bytes have ended. */
static int take(source *from, int low, int high) {
    int number = 0;
    for (int i = 0; i < 2 && from->left > 0; i++, from->left--) {
        number = number << 8 | *from->bytes++;
    }
    return low + number % (high - low + 1);
}

/* Often small, now and then as large as 64 bits of picoseconds go. */
static int64_t take_ps(source *from, int64_t limit_ps) {
    int64_t number = (int64_t)take(from, 0, 4095) << take(from, 0, 50);
    return number < limit_ps ? number : limit_ps;
}

static void *room(ms_arena *arena, int32_t count, size_t size) {
    void *memory = ms_arena_alloc(arena, (size_t)count + 1, size);
    require(memory != NULL);
    return memory;
}

static void make_places(source *from, ms_arena *arena, ms_trace *trace) {
    trace->rank_count = take(from, 1, RANKS_MAX);
    trace->ranks = room(arena, trace->rank_count, sizeof *trace->ranks);
    for (int32_t i = 0; i < trace->rank_count; i++) {
        trace->ranks[i] = (ms_trace_rank){i * 3, take(from, 1, 9), take(from, 0, RANKS_MAX)};
    }
    trace->stream_count = take(from, trace->rank_count, STREAMS_MAX);
    trace->streams = room(arena, trace->stream_count, sizeof *trace->streams);
    for (int32_t i = 0; i < trace->stream_count; i++) {
        bool is_compute = i < trace->rank_count; /* every rank has one */
        int rank = is_compute ? i : take(from, 0, trace->rank_count - 1);
        int peer = is_compute ? -1 : take(from, -1, trace->rank_count - 1);
        int axis = is_compute ? MS_AXIS_NONE : take(from, 1, MS_AXIS_COUNT - 1);
        trace->streams[i] = (ms_trace_stream){rank, peer, (uint8_t)axis};
    }
}

static void make_events(source *from, ms_arena *arena, ms_trace *trace) {
    trace->event_count = take(from, 0, EVENTS_MAX);
    trace->events = room(arena, trace->event_count, sizeof *trace->events);
    for (int32_t i = 0; i < trace->event_count; i++) {
        ms_trace_event *event = &trace->events[i];
        event->start_ps = take_ps(from, trace->step_ps);
        event->end_ps = event->start_ps + take_ps(from, trace->step_ps - event->start_ps);
        event->stream = take(from, 0, trace->stream_count - 1);
        event->kind = (uint8_t)take(from, 0, MS_OP_KIND_COUNT - 1);
        event->axis = (uint8_t)take(from, 0, MS_AXIS_COUNT - 1);
        event->stage = (int16_t)take(from, -1, INT16_MAX);
        event->chunk = (int16_t)take(from, -1, 40);
        event->mb = take(from, -1, 70);
        event->layer = (int16_t)take(from, -1, 9);
        event->bytes = (double)take_ps(from, INT64_MAX);
        event->flop = (double)take_ps(from, INT64_MAX);
        event->cause = take(from, -1, trace->event_count - 1);
        event->step = (int16_t)take(from, 0, 3);
    }
}

static void make_extras(source *from, ms_arena *arena, ms_trace *trace) {
    trace->member_count = trace->event_count == 0 ? 0 : take(from, 0, EXTRA_MAX);
    trace->members = room(arena, trace->member_count, sizeof *trace->members);
    for (int32_t i = 0; i < trace->member_count; i++) {
        trace->members[i] = (ms_trace_member){take(from, 0, trace->event_count - 1),
                                              take(from, 0, trace->stream_count - 1)};
    }
    trace->memory_count = take(from, 0, EXTRA_MAX);
    trace->memory = room(arena, trace->memory_count, sizeof *trace->memory);
    for (int32_t i = 0; i < trace->memory_count; i++) {
        trace->memory[i] =
            (ms_trace_memory){take(from, 0, trace->rank_count - 1), take_ps(from, trace->step_ps),
                              (double)take_ps(from, INT64_MAX)};
    }
}

static ms_status keep(void *context, const char *bytes, size_t length) {
    ms_buffer_add(context, bytes, length);
    return MS_OK;
}

static void write_all(const ms_trace *trace, ms_arena *arena) {
    ms_buffer out;
    ms_buffer_init(&out);
    ms_status status = ms_chrome_write(trace, keep, &out);
    /* a trace whose times contradict its causes is refused before anything is written */
    require(status == MS_OK || (status != MS_E_NOMEM && out.length == 0));
    require(status != MS_OK ||
            (out.length > 4 && strcmp(ms_buffer_text(&out) + out.length - 4, "\n]}\n") == 0));
    out.length = 0;
    ms_gantt gantt;
    require(ms_gantt_from_trace(trace, MS_GANTT_PIPELINE_RANKS, arena, &gantt) == MS_OK);
    status = ms_gantt_write_svg(&gantt, 1, &out);
    require(status == MS_OK || (status == MS_E_RANGE && out.length == 0));
    out.length = 0;
    status = write_trace_page(trace, MS_GANTT_EVERY_RANK, &out);
    require(status == MS_OK || (status == MS_E_RANGE && out.length == 0));
    ms_buffer_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    source from = {data, size};
    ms_arena arena;
    ms_arena_init(&arena);
    ms_trace trace = {.path = "fuzz", .program_version = "0"};
    trace.step_ps = 1 + take_ps(&from, (int64_t)(MS_TRACE_RUN_MAX_S * MS_PS_PER_S));
    make_places(&from, &arena, &trace);
    make_events(&from, &arena, &trace);
    make_extras(&from, &arena, &trace);
    write_all(&trace, &arena);
    ms_arena_release(&arena);
    return 0;
}
