/* Traces by hand: passes whose operations alternate, and waiting for other ranks. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/value.h"
#include "trace/report/gantt_sorted.h"
#include "trace/report/report.h"

enum { EVENTS_MAX = MS_TRACE_OPERATIONS_MAX + 100, STREAMS = 4 };

typedef struct hand_made {
    ms_arena arena;
    ms_trace trace;
} hand_made;

/* Two ranks with a compute stream (0, 1) and a dp stream (2, 3) each. */
static void hand_made_init(hand_made *h) {
    memset(h, 0, sizeof *h);
    ms_arena_init(&h->arena);
    ms_trace *t = &h->trace;
    t->summary = ms_value_new_object(&h->arena);
    t->program_version = "";
    t->rank_count = 2;
    t->stream_count = STREAMS;
    t->ranks = MS_NEW(&h->arena, ms_trace_rank, 2);
    t->streams = MS_NEW(&h->arena, ms_trace_stream, STREAMS);
    for (int32_t i = 0; i < 2; i++) {
        t->ranks[i] = (ms_trace_rank){i, 1, i};
        t->streams[i] = (ms_trace_stream){i, -1, MS_AXIS_NONE};
    }
    t->streams[2] = (ms_trace_stream){0, -1, MS_AXIS_DP};
    t->streams[3] = (ms_trace_stream){1, -1, MS_AXIS_DP};
    t->events = MS_NEW(&h->arena, ms_trace_event, EVENTS_MAX);
}

typedef struct operation {
    int32_t stream;
    uint8_t kind;
    int16_t stage;
    int32_t mb;
    int64_t start, end; /* us */
    int32_t cause;
} operation;

static void add(hand_made *h, const operation *op) {
    ms_trace *t = &h->trace;
    int32_t i = t->event_count++;
    t->events[i].stream = op->stream;
    t->events[i].kind = op->kind;
    t->events[i].axis = t->streams[op->stream].axis;
    t->events[i].stage = op->stage;
    t->events[i].chunk = op->stage;
    t->events[i].mb = op->mb;
    t->events[i].start_ps = op->start * 1000000;
    t->events[i].end_ps = op->end * 1000000;
    t->events[i].cause = op->cause;
    t->step_ps = t->events[i].end_ps > t->step_ps ? t->events[i].end_ps : t->step_ps;
}

static void add_all(hand_made *h, const operation *ops, size_t count) {
    for (size_t i = 0; i < count; i++) {
        add(h, &ops[i]);
    }
}

typedef struct piece {
    double start, end; /* us */
    uint8_t kind, half;
    bool is_part;
} piece;

static void assert_boxes(const ms_gantt *gantt, int32_t row, const piece *pieces, size_t count) {
    size_t found = 0;
    for (size_t i = 0; i < gantt->box_count; i++) {
        const ms_gantt_box *box = &gantt->boxes[i];
        bool is_known = box->row != row;
        for (size_t j = 0; !is_known && j < count; j++) {
            is_known =
                box->kind == pieces[j].kind && box->half == pieces[j].half &&
                box->is_part == pieces[j].is_part && box->start * 1e6 > pieces[j].start - 1e-6 &&
                box->start * 1e6 < pieces[j].start + 1e-6 &&
                box->end * 1e6 > pieces[j].end - 1e-6 && box->end * 1e6 < pieces[j].end + 1e-6;
            found += is_known ? 1 : 0;
        }
        cr_assert(is_known, "row %d: kind %d half %d from %g to %g", row, box->kind, box->half,
                  box->start * 1e6, box->end * 1e6);
    }
    cr_assert_eq(found, count, "row %d: %zu of %zu", row, found, count);
}

enum { F = MS_OP_FORWARD, B = MS_OP_BACKWARD, I = MS_OP_INPUT_GRAD, W = MS_OP_WEIGHT_GRAD };

/* F of microbatch 4 and B of 1 take turns: F F B F B B, one after the other without gaps. */
static const operation PAIR[] = {
    {0, F, 0, 4, 0, 1, -1}, {0, F, 0, 4, 1, 2, 0}, {0, B, 1, 1, 2, 4, 1},
    {0, F, 0, 4, 4, 5, 2},  {0, B, 1, 1, 5, 7, 3}, {0, B, 1, 1, 7, 8, 4},
};

Test(passes, two_that_alternate_share_the_row_while_both_are_under_way) {
    hand_made h;
    ms_gantt gantt;
    hand_made_init(&h);
    add_all(&h, PAIR, sizeof PAIR / sizeof PAIR[0]);
    cr_assert_eq(ms_gantt_from_trace(&h.trace, MS_GANTT_PIPELINE_RANKS, &h.arena, &gantt), MS_OK);
    static const piece PIECES[] = {
        {0, 2, F, 0, false}, {2, 5, F, 1, false}, {2, 5, B, 2, false}, {5, 8, B, 0, false}};
    assert_boxes(&gantt, 0, PIECES, 4);
    ms_arena_release(&h.arena);
}

Test(passes, pairs_in_a_row_stay_apart) {
    hand_made h;
    ms_gantt gantt;
    hand_made_init(&h);
    static const operation OPS[] = {
        {0, F, 0, 4, 0, 1, -1}, {0, B, 1, 1, 1, 2, 0}, {0, F, 0, 4, 2, 3, 1}, {0, B, 1, 1, 3, 4, 2},
        {0, F, 0, 5, 4, 5, 3},  {0, B, 1, 2, 5, 6, 4}, {0, F, 0, 5, 6, 7, 5}, {0, B, 1, 2, 7, 8, 6},
    };
    add_all(&h, OPS, sizeof OPS / sizeof OPS[0]);
    cr_assert_eq(ms_gantt_from_trace(&h.trace, MS_GANTT_PIPELINE_RANKS, &h.arena, &gantt), MS_OK);
    static const piece PIECES[] = {{0, 1, F, 0, false}, {1, 3, F, 1, false}, {1, 3, B, 2, false},
                                   {3, 4, B, 0, false}, {4, 5, F, 0, false}, {5, 7, F, 1, false},
                                   {5, 7, B, 2, false}, {7, 8, B, 0, false}};
    assert_boxes(&gantt, 0, PIECES, 8);
    ms_arena_release(&h.arena);
}

/* F and B of one microbatch, and the same in the next step: passes of their own, with phases of
 * their own. */
Test(passes, steps_have_their_own) {
    hand_made h;
    ms_gantt gantt;
    hand_made_init(&h);
    static const operation OPS[] = {{0, F, 0, 0, 0, 1, -1},
                                    {0, B, 0, 0, 1, 2, 0},
                                    {0, F, 0, 0, 4, 5, 1},
                                    {0, B, 0, 0, 7, 8, 2}};
    add_all(&h, OPS, sizeof OPS / sizeof OPS[0]);
    h.trace.events[2].step = h.trace.events[3].step = 1;
    cr_assert_eq(ms_gantt_from_trace(&h.trace, MS_GANTT_PIPELINE_RANKS, &h.arena, &gantt), MS_OK);
    static const piece PIECES[] = {
        {0, 1, F, 0, false}, {1, 2, B, 0, false}, {4, 5, F, 0, false}, {7, 8, B, 0, false}};
    assert_boxes(&gantt, 0, PIECES, 4);
    ms_gantt_sorted sorted;
    cr_assert_eq(ms_gantt_sort(&gantt, gantt.end, &h.arena, &sorted), MS_OK);
    static const ms_gantt_steady STEPS[] = {{0, 1e-6, 1e-6, 2e-6}, {2e-6, 7e-6, 7e-6, 8e-6}};
    cr_assert_eq(sorted.steps, 2);
    for (int step = 0; step < 2; step++) {
        const ms_gantt_steady *steady = &sorted.steady[step];
        cr_assert_float_eq(steady->from, STEPS[step].from, 1e-12);
        cr_assert_float_eq(steady->start, STEPS[step].start, 1e-12);
        cr_assert_float_eq(steady->end, STEPS[step].end, 1e-12);
        cr_assert_float_eq(steady->to, STEPS[step].to, 1e-12);
    }
    ms_arena_release(&h.arena);
}

/* A rank that is held until its messages have arrived waits outside of its passes. */
Test(passes, a_barrier_only_waits) {
    hand_made h;
    ms_gantt gantt;
    hand_made_init(&h);
    static const operation OPS[] = {{0, B, 1, 0, 0, 2, -1},
                                    {2, MS_OP_P2P, 1, 0, 2, 6, 0},
                                    {0, B, -1, -1, 6, 6, 1},
                                    {0, F, 0, 1, 6, 7, 2}};
    add_all(&h, OPS, sizeof OPS / sizeof OPS[0]);
    cr_assert_eq(ms_gantt_from_trace(&h.trace, MS_GANTT_PIPELINE_RANKS, &h.arena, &gantt), MS_OK);
    static const piece PIECES[] = {
        {0, 2, B, 0, false}, {2, 6, MS_OP_P2P, 0, false}, {6, 7, F, 0, false}};
    assert_boxes(&gantt, 0, PIECES, 3);
    ms_arena_release(&h.arena);
}

/* 1F1B and zero bubble: nothing alternates, W belongs to no other pass. */
Test(passes, those_that_follow_each_other_keep_the_whole_row) {
    hand_made h;
    ms_gantt gantt;
    hand_made_init(&h);
    static const operation OPS[] = {
        {0, F, 0, 0, 0, 1, -1}, {0, F, 0, 1, 1, 2, 0}, {0, I, 0, 0, 2, 3, 1}, {0, F, 0, 2, 3, 4, 2},
        {0, W, 0, 0, 4, 5, 3},  {0, I, 0, 1, 5, 6, 4}, {0, I, 0, 1, 6, 7, 5},
    };
    add_all(&h, OPS, sizeof OPS / sizeof OPS[0]);
    cr_assert_eq(ms_gantt_from_trace(&h.trace, MS_GANTT_PIPELINE_RANKS, &h.arena, &gantt), MS_OK);
    static const piece PIECES[] = {{0, 1, F, 0, false}, {1, 2, F, 0, false}, {2, 3, I, 0, false},
                                   {3, 4, F, 0, false}, {4, 5, W, 0, false}, {5, 7, I, 0, false}};
    assert_boxes(&gantt, 0, PIECES, 6);
    ms_arena_release(&h.arena);
}

/* Between the first segments of a pair the rank waits: known to lie inside F only afterwards. */
Test(passes, waiting_inside_a_pair_is_part_of_it) {
    hand_made h;
    ms_gantt gantt;
    hand_made_init(&h);
    static const operation OPS[] = {
        {0, F, 0, 4, 0, 1, -1}, {2, MS_OP_ALL_REDUCE, 0, 4, 1, 3, 0},
        {0, B, 1, 1, 3, 4, 1},  {0, F, 0, 4, 4, 5, 2},
        {0, B, 1, 1, 5, 6, 3},
    };
    add_all(&h, OPS, sizeof OPS / sizeof OPS[0]);
    cr_assert_eq(ms_gantt_from_trace(&h.trace, MS_GANTT_PIPELINE_RANKS, &h.arena, &gantt), MS_OK);
    static const piece PIECES[] = {{0, 3, F, 0, false},
                                   {1, 3, MS_OP_ALL_REDUCE, 0, true},
                                   {3, 5, F, 1, false},
                                   {3, 5, B, 2, false},
                                   {5, 6, B, 0, false}};
    assert_boxes(&gantt, 0, PIECES, 5);
    ms_arena_release(&h.arena);
}

/* The second rank is done at 2; the step ends with the first rank's reduction, at 6. */
Test(passes, waiting_for_other_ranks_communication_is_marked) {
    hand_made h;
    ms_gantt gantt;
    hand_made_init(&h);
    static const operation OPS[] = {
        {0, B, 0, 0, 0, 4, -1}, {1, B, 1, 0, 0, 2, -1}, {2, MS_OP_ALL_REDUCE, -1, -1, 4, 6, 0}};
    add_all(&h, OPS, 3);
    for (int has_member = 0; has_member < 2; has_member++) {
        ms_trace_member member = {2, 1}; /* the second rank takes part after all */
        h.trace.members = &member;
        h.trace.member_count = has_member;
        cr_assert_eq(ms_gantt_from_trace(&h.trace, MS_GANTT_PIPELINE_RANKS, &h.arena, &gantt),
                     MS_OK);
        int waits = 0;
        for (size_t i = 0; i < gantt.box_count; i++) {
            const ms_gantt_box *box = &gantt.boxes[i];
            if (box->axis == MS_AXIS_DP) {
                cr_assert_eq(box->is_foreign, box->row == 1 && has_member == 0);
                waits++;
            }
        }
        cr_assert_eq(waits, 2);
    }
    ms_buffer svg;
    ms_buffer_init(&svg);
    h.trace.member_count = 0;
    cr_assert_eq(ms_gantt_from_trace(&h.trace, MS_GANTT_PIPELINE_RANKS, &h.arena, &gantt), MS_OK);
    cr_assert_eq(ms_gantt_write_svg(&gantt, 1, &svg), MS_OK);
    cr_assert_not_null(strstr(ms_buffer_text(&svg), ">exposed: communication of other ranks<"));
    cr_assert_not_null(strstr(ms_buffer_text(&svg), ">exposed: own communication<"));
    cr_assert_not_null(strstr(ms_buffer_text(&svg), "waiting for other ranks' all_reduce over dp"));
    ms_buffer_release(&svg);
    ms_arena_release(&h.arena);
}

/* The second rank's own reduction (2-5) still runs when that of the first one (4-7), which ends the
 * step, begins; until 4 the second rank waits for the first one's pass. */
Test(passes, own_communication_is_not_that_of_other_ranks) {
    hand_made h;
    ms_gantt gantt;
    hand_made_init(&h);
    static const operation OPS[] = {{0, B, 0, 0, 0, 4, -1},
                                    {1, B, 1, 0, 0, 2, -1},
                                    {3, MS_OP_ALL_REDUCE, -1, -1, 2, 5, 1},
                                    {2, MS_OP_ALL_REDUCE, -1, -1, 4, 7, 0}};
    add_all(&h, OPS, 4);
    cr_assert_eq(ms_gantt_from_trace(&h.trace, MS_GANTT_PIPELINE_RANKS, &h.arena, &gantt), MS_OK);
    static const piece PIECES[2][3] = {{{0, 4, B, 0, false}, {4, 7, MS_OP_ALL_REDUCE, 0, false}},
                                       {{0, 2, B, 0, false},
                                        {4, 5, MS_OP_ALL_REDUCE, 0, false},
                                        {5, 7, MS_OP_ALL_REDUCE, 0, false}}};
    for (int row = 0; row < 2; row++) {
        assert_boxes(&gantt, row, PIECES[row], 2 + (size_t)row);
    }
    for (size_t i = 0; i < gantt.box_count; i++) {
        cr_assert_eq(gantt.boxes[i].is_foreign, gantt.boxes[i].start > 4.5e-6);
    }
    ms_arena_release(&h.arena);
}

/* Of a pipeline rank that several ranks were simulated of, the one that stands for most is drawn,
 * of equals the lowest; or each. */
Test(passes, a_pipeline_rank_has_one_row) {
    static const struct {
        ms_trace_rank ranks[2];
        int32_t shown; /* index of the one that is drawn; -1: both */
    } CASES[] = {{{{0, 2, 0}, {2, 6, 0}}, 1},
                 {{{0, 6, 0}, {6, 2, 0}}, 0},
                 {{{4, 4, 0}, {0, 4, 0}}, 1},
                 {{{0, 4, 3}, {4, 4, 3}}, 0},
                 {{{0, 4, 1}, {4, 4, 0}}, -1}};
    static const operation OPS[] = {{0, B, 0, 0, 0, 4, -1}, {1, B, 1, 0, 0, 2, -1}};
    static const piece PIECES[] = {{0, 4, B, 0, false}, {0, 2, B, 0, false}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        hand_made h;
        ms_gantt gantt;
        hand_made_init(&h);
        add_all(&h, OPS, 2);
        memcpy(h.trace.ranks, CASES[i].ranks, sizeof CASES[i].ranks);
        ms_trace_memory points[] = {{0, 0, 10}, {1, 0, 20}};
        h.trace.memory = points;
        h.trace.memory_count = 2;
        cr_assert_eq(ms_gantt_from_trace(&h.trace, MS_GANTT_EVERY_RANK, &h.arena, &gantt), MS_OK);
        cr_assert_eq(gantt.rows, 2);
        cr_assert_null(strstr(gantt.title, "(rank"));
        cr_assert_eq(ms_gantt_from_trace(&h.trace, MS_GANTT_PIPELINE_RANKS, &h.arena, &gantt),
                     MS_OK);
        int32_t shown = CASES[i].shown;
        cr_assert_eq(gantt.rows, shown < 0 ? 2 : 1, "case %zu", i);
        if (shown >= 0) {
            char text[32];
            snprintf(text, sizeof text, "(rank %d)", CASES[i].ranks[shown].rank);
            cr_assert_not_null(strstr(gantt.title, text), "case %zu: %s", i, gantt.title);
            snprintf(text, sizeof text, "pp %d", CASES[i].ranks[shown].pp);
            cr_assert_str_eq(gantt.row_labels[0], text);
            assert_boxes(&gantt, 0, &PIECES[shown], 1);
            cr_assert_eq(gantt.memory->row_first[1], 1U);
            cr_assert_eq(gantt.memory->levels[0].level, points[shown].bytes);
        }
        ms_arena_release(&h.arena);
    }
}

Test(passes, memory_points_become_levels_of_their_rank) {
    hand_made h;
    ms_gantt gantt;
    hand_made_init(&h);
    add_all(&h, PAIR, sizeof PAIR / sizeof PAIR[0]);
    ms_trace_memory points[] = {{0, 0, 10}, {0, 2000000, 30}, {1, 0, 20}};
    h.trace.memory = points;
    h.trace.memory_count = 3;
    ms_value *summary = ms_value_new_object(&h.arena);
    ms_value *memory = ms_value_add(summary, "memory", MS_VALUE_OBJECT);
    ms_value_add_double(memory, "capacity_B", 40);
    h.trace.summary = summary;
    cr_assert_eq(ms_gantt_from_trace(&h.trace, MS_GANTT_PIPELINE_RANKS, &h.arena, &gantt), MS_OK);
    cr_assert_eq(gantt.memory->limit, 40.0);
    cr_assert_eq(gantt.memory->row_first[1], 2U);
    cr_assert_eq(gantt.memory->row_first[2], 3U);
    cr_assert_eq(gantt.memory->levels[1].level, 30.0);
    cr_assert_float_eq(gantt.memory->levels[1].start, 2e-6, 1e-15);
    ms_arena_release(&h.arena);
}

static ms_status keep(void *context, const char *text, size_t length) {
    ms_buffer_add(context, text, length);
    return MS_OK;
}

/* Above MS_TRACE_OPERATIONS_MAX a viewer gets passes; its threads cannot hold two at once. */
Test(passes, a_viewer_gets_pairs_on_two_threads) {
    hand_made h;
    ms_buffer json;
    hand_made_init(&h);
    ms_buffer_init(&json);
    int32_t pairs = MS_TRACE_OPERATIONS_MAX / 4 + 1;
    for (int32_t i = 0; i < pairs; i++) {
        for (int k = 0; k < 4; k++) {
            const operation op = {
                0, k % 2 == 0 ? F : B, (int16_t)(k % 2), i, 4 * i + k, 4 * i + k + 1, -1};
            add(&h, &op);
        }
    }
    cr_assert_eq(ms_chrome_write(&h.trace, keep, &json), MS_OK);
    const char *text = ms_buffer_text(&json);
    cr_assert_not_null(strstr(text, "\"compute, overlapped\""));
    cr_assert_not_null(strstr(text, "{\"ph\":\"X\",\"pid\":0,\"tid\":0,\"ts\":0.000000,"
                                    "\"dur\":3.000000,\"name\":\"F\""));
    cr_assert_not_null(strstr(text, "{\"ph\":\"X\",\"pid\":0,\"tid\":2,\"ts\":1.000000,"
                                    "\"dur\":3.000000,\"name\":\"B\""));
    ms_buffer_release(&json);
    ms_arena_release(&h.arena);
}
