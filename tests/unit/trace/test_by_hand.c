/* A trace and its summary against a timeline on paper: 1F1B on two stages with four microbatches,
 * forward 1 ms, backward 2 ms, update 1 ms, messages of t = 41 us (1 MB at 25 GB/s, and 1 us).
 *   rank 0  F0 0      F1 1   B0 4+2t  F2 6+2t  B1 7+2t  F3 9+2t  B2 10+4t  B3 13+4t  update
 *   rank 1  F0 1+t    B0 2+t F1 4+t   B1 5+t   F2 7+3t  B2 8+3t  F3 10+3t  B3 11+3t  update
 * Rank 0 ends its last pass at 15+4t, rank 1 at 13+3t; both update then, until 16+4t [ms]. */
#include <math.h>

#include "trace/summary.h"
#include "trace_fixture.h"

#define T 0.041
static const double STEP_MS = 16 + 4 * T;

typedef struct pass {
    int pp;
    ms_op_kind kind;
    int mb;
    double start_ms, length_ms;
} pass;

static const pass PASSES[] = {
    {0, MS_OP_FORWARD, 0, 0, 1},
    {0, MS_OP_FORWARD, 1, 1, 1},
    {0, MS_OP_BACKWARD, 0, 4 + 2 * T, 2},
    {0, MS_OP_FORWARD, 2, 6 + 2 * T, 1},
    {0, MS_OP_BACKWARD, 1, 7 + 2 * T, 2},
    {0, MS_OP_FORWARD, 3, 9 + 2 * T, 1},
    {0, MS_OP_BACKWARD, 2, 10 + 4 * T, 2},
    {0, MS_OP_BACKWARD, 3, 13 + 4 * T, 2},
    {1, MS_OP_FORWARD, 0, 1 + T, 1},
    {1, MS_OP_BACKWARD, 0, 2 + T, 2},
    {1, MS_OP_FORWARD, 1, 4 + T, 1},
    {1, MS_OP_BACKWARD, 1, 5 + T, 2},
    {1, MS_OP_FORWARD, 2, 7 + 3 * T, 1},
    {1, MS_OP_BACKWARD, 2, 8 + 3 * T, 2},
    {1, MS_OP_FORWARD, 3, 10 + 3 * T, 1},
    {1, MS_OP_BACKWARD, 3, 11 + 3 * T, 2},
    {0, MS_OP_OPTIMIZER, -1, 15 + 4 * T, 1},
    {1, MS_OP_OPTIMIZER, -1, 15 + 4 * T, 1},
};
enum { PASS_COUNT = sizeof PASSES / sizeof PASSES[0] };

static int64_t ps_of(double ms) {
    return llrint(ms * 1e9);
}

static bool is_near(int64_t a, int64_t b) {
    return a - b <= 1 && b - a <= 1; /* a picosecond of rounding */
}

/* The event of a pass; -1: there is none. */
static int32_t find(const ms_trace *trace, const pass *p) {
    const ms_trace_event *e = trace->events;
    for (int32_t i = 0; i < trace->event_count; i++) {
        const ms_trace_stream *stream = &trace->streams[e[i].stream];
        if (e[i].kind == p->kind && e[i].mb == p->mb &&
            trace->ranks[stream->rank_index].pp == p->pp && stream->axis == MS_AXIS_NONE) {
            return i;
        }
    }
    return -1;
}

static void expect_passes(const ms_trace *trace) {
    for (int i = 0; i < PASS_COUNT; i++) {
        int32_t at = find(trace, &PASSES[i]);
        cr_assert_geq(at, 0, "no pass %d", i);
        int64_t start_ps = ps_of(PASSES[i].start_ms);
        int64_t end_ps = ps_of(PASSES[i].start_ms + PASSES[i].length_ms);
        cr_assert(is_near(trace->events[at].start_ps, start_ps), "pass %d starts at %lld, not %lld",
                  i, (long long)trace->events[at].start_ps, (long long)start_ps);
        cr_assert(is_near(trace->events[at].end_ps, end_ps), "pass %d ends at %lld, not %lld", i,
                  (long long)trace->events[at].end_ps, (long long)end_ps);
        bool is_update = PASSES[i].kind == MS_OP_OPTIMIZER;
        cr_assert_eq(trace->events[at].stage, is_update ? -1 : PASSES[i].pp, "pass %d", i);
        cr_assert_eq(trace->events[at].step, 0);
    }
}

static void read_back(trace_fixture *f, ms_trace_level level, const int *ranks, int rank_count,
                      ms_trace *trace) {
    const ms_trace_detail detail = {.level = level, .ranks = ranks, .rank_count = rank_count};
    cr_assert_eq(ms_trace_write_detail(f->path, &f->result, &detail, "0.0.1", &f->diag), MS_OK);
    cr_assert_eq(
        ms_trace_read(f->path, MS_TRACE_EVENTS | MS_TRACE_TABLES, &f->arena, &f->diag, trace),
        MS_OK, "%s", ms_buffer_text(&f->messages));
}

Test(trace_by_hand, passes_are_where_they_are_on_paper) {
    trace_fixture f;
    ms_trace trace;
    trace_fixture_init(&f);
    trace_fixture_run(&f, TRACE_SMALL, NULL);
    read_back(&f, MS_TRACE_FULL, NULL, 0, &trace);
    expect_passes(&trace);
    cr_assert(is_near(trace.step_ps, ps_of(STEP_MS)), "%lld", (long long)trace.step_ps);
    cr_assert_eq(trace.rank_count, 2);
    cr_assert_eq(trace.ranks[0].rank, 0);
    cr_assert_eq(trace.ranks[1].rank, 2, "the first of the second stage");
    cr_assert_eq(trace.ranks[0].multiplicity, 2);
    cr_assert_eq(trace.ranks[1].multiplicity, 2);
    read_back(&f, MS_TRACE_PASSES, NULL, 0, &trace);
    expect_passes(&trace);
    trace_fixture_release(&f);
}

/* Messages leave when their pass has ended and take t; each belongs to the stream from its sender
 * to its receiver. */
Test(trace_by_hand, messages_follow_their_passes) {
    trace_fixture f;
    ms_trace trace;
    int messages = 0;
    trace_fixture_init(&f);
    trace_fixture_run(&f, TRACE_SMALL, NULL);
    read_back(&f, MS_TRACE_FULL, NULL, 0, &trace);
    const ms_trace_event *e = trace.events;
    for (int32_t i = 0; i < trace.event_count; i++) {
        if (e[i].kind != MS_OP_P2P) {
            continue;
        }
        const ms_trace_stream *stream = &trace.streams[e[i].stream];
        int from = trace.ranks[stream->rank_index].pp;
        pass sender = {
            .pp = from, .kind = from == 0 ? MS_OP_FORWARD : MS_OP_BACKWARD, .mb = e[i].mb};
        int32_t pass_at = find(&trace, &sender);
        cr_assert_geq(pass_at, 0);
        cr_assert_eq(e[i].start_ps, e[pass_at].end_ps, "message %d", messages);
        cr_assert(is_near(e[i].end_ps - e[i].start_ps, ps_of(T)), "message %d", messages);
        cr_assert_eq(e[i].bytes, 1e6);
        cr_assert_eq(trace.ranks[stream->peer_index].pp, 1 - from);
        cr_assert_eq(e[i].axis, MS_AXIS_PP);
        cr_assert_eq(e[i].stage, from);
        cr_assert_eq(e[i].cause, pass_at, "it waits for its pass");
        messages++;
    }
    cr_assert_eq(messages, 8);
    trace_fixture_release(&f);
}

/* A pass's cause is what it waited for last: a message, or the pass before it. */
Test(trace_by_hand, causes_are_what_ended_last) {
    static const struct {
        pass of, after;
    } CAUSES[] = {
        {{0, MS_OP_FORWARD, 1, 0, 0}, {0, MS_OP_FORWARD, 0, 0, 0}},
        {{1, MS_OP_BACKWARD, 0, 0, 0}, {1, MS_OP_FORWARD, 0, 0, 0}},
        {{1, MS_OP_FORWARD, 1, 0, 0}, {1, MS_OP_BACKWARD, 0, 0, 0}},
        {{0, MS_OP_FORWARD, 2, 0, 0}, {0, MS_OP_BACKWARD, 0, 0, 0}},
    };
    trace_fixture f;
    ms_trace trace;
    trace_fixture_init(&f);
    trace_fixture_run(&f, TRACE_SMALL, NULL);
    read_back(&f, MS_TRACE_FULL, NULL, 0, &trace);
    for (size_t i = 0; i < sizeof CAUSES / sizeof CAUSES[0]; i++) {
        int32_t cause = trace.events[find(&trace, &CAUSES[i].of)].cause;
        cr_assert_eq(cause, find(&trace, &CAUSES[i].after), "%zu: %d", i, cause);
    }
    cr_assert_eq(trace.events[find(&trace, &PASSES[0])].cause, -1, "the first one waits for none");
    int32_t waited = trace.events[find(&trace, &PASSES[2])].cause;
    cr_assert_eq(trace.events[waited].kind, MS_OP_P2P, "B0 of rank 0 waits for its message");
    cr_assert_eq(trace.events[waited].mb, 0);
    trace_fixture_release(&f);
}

/* A rank's own operations, and the messages it receives. */
Test(trace_by_hand, one_rank_is_traced_with_what_it_receives) {
    static const int SECOND[] = {2};
    trace_fixture f;
    ms_trace trace;
    trace_fixture_init(&f);
    trace_fixture_run(&f, TRACE_SMALL, NULL);
    read_back(&f, MS_TRACE_RANKS, SECOND, 1, &trace);
    int computations = 0, messages = 0;
    for (int32_t i = 0; i < trace.event_count; i++) {
        bool is_message = trace.events[i].kind == MS_OP_P2P;
        const ms_trace_stream *stream = &trace.streams[trace.events[i].stream];
        messages += is_message;
        computations += stream->axis == MS_AXIS_NONE && !is_message;
        if (stream->axis == MS_AXIS_NONE) {
            cr_assert_eq(trace.ranks[stream->rank_index].rank, 2, "event %d", i);
        }
    }
    cr_assert_eq(computations, 9, "%d", computations);
    cr_assert_eq(messages, 8, "%d", messages);
    trace_fixture_release(&f);
}

/* What the summary says, from the same timeline. */
typedef struct figure {
    const char *path;
    double value;
} figure;

Test(trace_by_hand, the_summary_has_the_figures_of_the_timeline) {
    const figure FIGURES[] = {
        {"gpus", 4},
        {"mesh.pp", 2},
        {"mesh.dp", 2},
        {"steps", 1},
        {"step_time_s", STEP_MS * 1e-3},
        {"global_batch", 8},
        {"num_microbatches", 4},
        {"samples_per_s", 8 / (STEP_MS * 1e-3)},
        {"time_share.compute", 12 / STEP_MS},
        {"time_share.optimizer", 1 / STEP_MS},
        /* rank 0 waits for messages before B0, B2 and B3, rank 1 before F0 and F2 */
        {"time_share.exposed_pp", (3 * T + 2 * T) / 2 / STEP_MS},
        {"time_share.exposed_tp", 0},
        {"time_share.other", 0},
        /* and for what is not sent yet: 2+t, t and 1-t, and 1, t and 2+t at the end */
        {"bubble_fraction", ((3 + T) + (3 + 2 * T)) / 2 / STEP_MS},
        {"bubble_ratio", ((3 + T) + (3 + 2 * T)) / 2 / 12},
        {"idle_fraction", (STEP_MS - 13) / STEP_MS},
        {"compute_slowdown", 0},
        {"other_parts.host", 0},
        {"comm.pp.bytes_per_rank", 4e6},
        {"comm.pp.busy_s", 8 * T * 1e-3}, /* four sent and four received */
        {"comm.pp.exposed_s", 2.5 * T * 1e-3},
        {"comm.tp.busy_s", 0},
        {"comm.dp.bytes_per_rank", 0},
        /* rank 1 waits for the norm from 13+3t to 15+4t */
        {"comm.other.wait_s", (2 + T) / 2 * 1e-3},
        {"memory.capacity_B", 0}, /* set below */
        {"memory.peak_B", 0},
        {"memory.peak_rank", 0},
        {"critical_path.compute", 15e-3},
        {"critical_path.optimizer", 1e-3},
        {"critical_path.pp", 4 * T * 1e-3},
        {"critical_path.tp", 0},
        {"critical_path.dp", 0},
        {"critical_path.other", 0},
        /* 16 passes, 8 messages, 2 updates and the norm */
        {"engine.ops", 27},
        {"engine.simulated_ranks", 2},
        {"engine.flows", 0},
        {"engine.fast_forwarded", 0},
    };
    trace_fixture f;
    ms_trace trace;
    trace_fixture_init(&f);
    trace_fixture_run(&f, TRACE_SMALL, NULL);
    read_back(&f, MS_TRACE_SUMMARY, NULL, 0, &trace);
    for (size_t i = 0; i < sizeof FIGURES / sizeof FIGURES[0]; i++) {
        const ms_gpu_type *gpu = &f.job.platform->gpu;
        bool is_capacity = strcmp(FIGURES[i].path, "memory.capacity_B") == 0;
        double expected = is_capacity ? gpu->hbm_B - gpu->reserve_B : FIGURES[i].value;
        double found = ms_value_number(trace.summary, FIGURES[i].path, NAN);
        cr_assert_float_eq(found, expected, 1e-9 * fabs(expected) + 1e-15, "%s: %.12g, not %.12g",
                           FIGURES[i].path, found, expected);
    }
    cr_assert_str_eq(ms_value_get(trace.summary, "workload")->as.string, "small");
    cr_assert_str_eq(ms_value_get(trace.summary, "platform")->as.string, "flat");
    cr_assert_str_eq(ms_value_get(trace.summary, "schedule")->as.string, "1f1b");
    cr_assert_str_eq(ms_value_get(trace.summary, "fidelity")->as.string, "analytic");
    cr_assert_str_eq(ms_value_get(trace.summary, "granularity")->as.string, "layer");
    const ms_value *tiers = ms_value_get(trace.summary, "mesh_tiers");
    cr_assert_str_eq(ms_value_get(tiers, "pp")->as.string, "fabric");
    cr_assert_eq(ms_value_get(tiers, "tp")->type, MS_VALUE_NULL, "an axis of one");
    trace_fixture_release(&f);
}
