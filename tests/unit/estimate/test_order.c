/* A program brought into order, by hand: what stands behind what, which messages share a stream. */
#include "estimate/order.h"
#include "schedule_fixture.h"

/* An operation as it should be: rank, stage, pass, the operation it needs (-1: none), the message
 * it sends (-1: none). */
typedef struct expected_op {
    int rank, stage;
    ms_pass pass;
    int input, message;
} expected_op;

static ms_order order_of(fixture *f, const ms_program *program) {
    ms_order order;
    cr_assert_eq(ms_order_make(program, &f->arena, &f->arena, &f->diag, &order), MS_OK, "%s",
                 ms_buffer_text(&f->talk));
    return order;
}

static void expect(const ms_order *order, const expected_op *expected, int count) {
    cr_assert_eq(order->op_count, count);
    for (int i = 0; i < count; i++) {
        const ms_order_op *op = &order->ops[i];
        const ms_order_slot *slot = &order->slots[op->slot];
        const expected_op *e = &expected[i];
        cr_assert_eq(op->rank, e->rank, "%d: rank %d", i, op->rank);
        cr_assert_eq(slot->stage, e->stage, "%d: stage %d", i, slot->stage);
        cr_assert_eq(slot->pass, e->pass, "%d: pass %d", i, slot->pass);
        cr_assert_eq(op->inputs[0], e->input < 0 ? -1 : 2 * e->input, "%d: needs %d", i,
                     op->inputs[0]);
        cr_assert_eq(op->inputs[1], -1, "%d", i);
        cr_assert_eq(op->sends[0], e->message, "%d: sends %d", i, op->sends[0]);
        cr_assert_eq(op->sends[1], -1, "%d", i);
    }
}

/* Two stages, two microbatches: by depth, ranks of one depth as they got ready. */
Test(order, of_1f1b_is_by_depth) {
    static const expected_op EXPECTED[] = {
        {0, 0, MS_PASS_F, -1, 1}, /* 0: F0 */
        {0, 0, MS_PASS_F, -1, 1}, /* 1: F1 */
        {1, 1, MS_PASS_F, 0, -1}, /* 2: F0 */
        {1, 1, MS_PASS_B, 2, 2},  /* 3: B0 */
        {1, 1, MS_PASS_F, 1, -1}, /* 4: F1 */
        {0, 0, MS_PASS_B, 3, -1}, /* 5: B0 */
        {1, 1, MS_PASS_B, 4, 2},  /* 6: B1 */
        {0, 0, MS_PASS_B, 6, -1}, /* 7: B1 */
    };
    fixture f;
    fixture_init(&f);
    ms_schedule_spec spec = SPEC(MS_SCHEDULE_1F1B, 2, 1, 2, 0);
    ms_program program = fixture_build(&f, &spec);
    ms_order order = order_of(&f, &program);
    cr_assert_not(order.has_pairs);
    cr_assert_not(order.has_unshards);
    expect(&order, EXPECTED, 8);
    fixture_release(&f);
}

/* Passes of the first microbatch, of the last one, and of both, are told apart; those between are
 * one. */
Test(order, passes_that_are_alike_are_named_once) {
    fixture f;
    fixture_init(&f);
    for (int m = 1; m <= 8; m++) {
        ms_schedule_spec spec = SPEC(MS_SCHEDULE_1F1B, 1, 1, m, 0);
        ms_program program = fixture_build(&f, &spec);
        ms_order order = order_of(&f, &program);
        cr_assert_eq(order.op_count, 2 * m);
        cr_assert_eq(order.slot_count, 2 * (m < 3 ? m : 3), "%d of %d microbatches",
                     order.slot_count, m);
        const ms_order_slot *first = &order.slots[order.ops[0].slot];
        unsigned unit = MS_UNIT_FIRST | (m == 1 ? MS_UNIT_LAST : 0U);
        cr_assert_eq(first->unit, unit, "%d microbatches: %d", m, first->unit);
        const ms_order_slot *last = &order.slots[order.ops[2 * m - 1].slot];
        unit = MS_UNIT_LAST | (m == 1 ? MS_UNIT_FIRST : 0U);
        cr_assert_eq(last->unit, unit, "%d microbatches: %d", m, last->unit);
    }
    fixture_release(&f);
}

/* Messages from a rank to another one share a stream in one direction of the pipeline: of four
 * stages on two ranks stages 0 and 2 send forwards to rank 1, stages 1 and 3 backwards to rank 0,
 * stage 1 forwards and stage 2 backwards on streams of their own. */
Test(order, messages_of_one_way_share_a_stream) {
    fixture f;
    fixture_init(&f);
    ms_schedule_spec spec = SPEC(MS_SCHEDULE_INTERLEAVED, 2, 2, 2, 0);
    ms_program program = fixture_build(&f, &spec);
    ms_order order = order_of(&f, &program);
    const int *backward = order.queues, *forward = order.queues + 1;
    cr_assert_eq(forward[2 * 0], forward[2 * 2]);
    cr_assert_eq(backward[2 * 1], backward[2 * 3]);
    const int apart[] = {forward[0], forward[2], backward[2], backward[4]};
    for (int i = 0; i < 4; i++) {
        cr_assert_lt(apart[i], order.queue_count);
        for (int k = 0; k < i; k++) {
            cr_assert_neq(apart[i], apart[k], "%d and %d", i, k);
        }
    }
    fixture_release(&f);
}

/* Every pass stands once, behind what it needs and behind those before it on its rank, for every
 * kind. */
Test(order, everything_stands_behind_what_it_needs) {
    fixture f;
    fixture_init(&f);
    for (int kind = 0; kind < MS_SCHEDULE_KIND_COUNT; kind++) {
        int chunks = ms_schedule_kind_traits((ms_schedule_kind)kind).chunks;
        ms_schedule_spec spec = SPEC((ms_schedule_kind)kind, 4, chunks == 0 ? 2 : chunks, 16, 0);
        ms_program program = fixture_build(&f, &spec);
        ms_order order = order_of(&f, &program);
        size_t next[4], passes = 0;
        memcpy(next, program.first, sizeof next);
        for (int i = 0; i < order.op_count; i++) {
            const ms_order_op *op = &order.ops[i];
            const ms_order_slot *slot = &order.slots[op->slot];
            const ms_action *action = &program.actions[next[op->rank]];
            cr_assert_eq(slot->stage, action->stage, "%s: %d", program.name, i);
            cr_assert_eq(slot->pass, action->pass, "%s: %d", program.name, i);
            cr_assert_eq(slot->second_stage >= 0, action->is_overlapped != 0, "%s: %d",
                         program.name, i);
            for (int k = 0; k < 2; k++) {
                cr_assert_lt(op->inputs[k], 2 * i, "%s: %d needs what is behind it", program.name,
                             i);
            }
            next[op->rank] += slot->second_stage >= 0 ? 2 : 1;
            passes += slot->second_stage >= 0 ? 2 : 1;
        }
        cr_assert_eq(passes, program.first[4], "%s", program.name);
        cr_assert_eq(order.has_pairs, ms_program_has_pairs(&program));
    }
    fixture_release(&f);
}
