/* The order of a program's passes (order.h), the first step of an estimate. The lists of all ranks
 * are visited as far as each rank can go on, which gives a topological order; then operations are
 * sorted by their depth in the graph of dependencies. A result is the output of a pass, numbered 2
 * * operation + (0 or 1: which pass of an overlapped pair). */
#include "estimate/order.h"

enum { NONE = -1 };

/* An order while it is made. */
typedef struct ordering {
    const ms_program *program;
    ms_order *order;
    ms_ready_order ready; /* the visit of the ranks' lists */
    int32_t *forward_in;  /* [stages][mb_count] result that F waits for; NONE: not yet in order */
    int32_t *backward_in; /* [stages][mb_count] result that I or B waits for, likewise */
    int *runs;            /* [stages][MS_PASS_COUNT] how many such passes are in order */
    int32_t *slot_of;     /* [stages][slices][MS_PASS_COUNT][MS_UNIT_KINDS] slots of single passes;
                             NONE: none yet */
    int slices;           /* K >= 1 */
} ordering;

/* Index of an action's stage and microbatch in forward_in and backward_in. */
static size_t input_at(const ordering *state, const ms_action *action) {
    return (size_t)action->stage * (size_t)state->program->mb_count + (size_t)action->mb;
}

/* The result that an action waits for; NONE: an F of the first stage, or a W, which follows its I
 * on the same rank. */
static int32_t input_of(const ordering *state, const ms_action *action) {
    if (action->pass == MS_PASS_F) {
        return ms_program_has_previous(state->program, action->stage)
                   ? state->forward_in[input_at(state, action)]
                   : NONE;
    }
    return action->pass == MS_PASS_W ? NONE : state->backward_in[input_at(state, action)];
}

/* MS_UNIT_ bits of the microbatch of an action, from the passes of its stage that are in order. */
static unsigned unit_of(const ordering *state, const ms_action *action) {
    int last = state->program->mb_count - 1;
    return (ms_action_count_earlier(action, state->runs, false) == 0 ? MS_UNIT_FIRST : 0U) |
           (ms_action_count_earlier(action, state->runs, true) == last ? MS_UNIT_LAST : 0U) |
           (ms_action_closes_round(state->program, action) ? MS_UNIT_CLOSES_ROUND : 0U);
}

/* Append a slot to the order.  Returns its index. */
static int32_t add_slot(ordering *state, const ms_order_slot *slot) {
    state->order->slots[state->order->slot_count] = *slot;
    return state->order->slot_count++;
}

/* The slot of a single pass, which is added on first use. */
static int32_t single_slot(ordering *state, const ms_action *action) {
    unsigned unit = unit_of(state, action);
    int slice = state->slices > 1 ? action->mb % state->slices : 0;
    int32_t *known =
        &state->slot_of[((size_t)(action->stage * state->slices + slice) * MS_PASS_COUNT +
                         action->pass) *
                            MS_UNIT_KINDS +
                        unit];
    if (*known == NONE) {
        *known = add_slot(state, &(ms_order_slot){.stage = action->stage,
                                                  .second_stage = NONE,
                                                  .slice = (int16_t)slice,
                                                  .pass = action->pass,
                                                  .unit = (uint8_t)unit,
                                                  .next_pair = NONE});
    }
    return *known;
}

/* The slot of an overlapped pair, which is added on first use.  pair: [2]. The slots of all pairs
 * with the same first pass form a list that begins at the single slot of that pass. */
static int32_t pair_slot(ordering *state, const ms_action *pair) {
    int32_t first = single_slot(state, &pair[0]);
    int32_t second = single_slot(state, &pair[1]);
    const ms_order_slot *b = &state->order->slots[second];
    int32_t at = state->order->slots[first].next_pair;
    for (; at != NONE; at = state->order->slots[at].next_pair) {
        const ms_order_slot *slot = &state->order->slots[at];
        if (slot->second_stage == b->stage && slot->second_slice == b->slice &&
            slot->second_pass == b->pass && slot->second_unit == b->unit) {
            return at;
        }
    }
    ms_order_slot slot = state->order->slots[first];
    slot.second_stage = b->stage;
    slot.second_slice = b->slice;
    slot.second_pass = b->pass;
    slot.second_unit = b->unit;
    int32_t index = add_slot(state, &slot);
    state->order->slots[first].next_pair = index;
    return index;
}

/* Enter the result of an action for the pass that waits for it: an F for the F of the next stage,
 * or on the last stage for its own backward pass; I or B for the backward pass of the stage before.
 *  Returns the message that carries the result, as in ms_order_op.sends; NONE: it stays on the
 * rank. */
static int32_t enter_result(ordering *state, const ms_action *action, int32_t result) {
    const ms_program *program = state->program;
    size_t mb_count = (size_t)program->mb_count;
    bool is_forward = action->pass == MS_PASS_F;
    if (action->pass == MS_PASS_W) {
        return NONE;
    }
    if (is_forward && !ms_program_has_next(program, action->stage)) {
        state->backward_in[input_at(state, action)] = result;
        return NONE;
    }
    if (!is_forward && !ms_program_has_previous(program, action->stage)) {
        return NONE;
    }
    size_t to = input_at(state, action) + (is_forward ? mb_count : -mb_count);
    (is_forward ? state->forward_in : state->backward_in)[to] = result;
    return ms_action_receiver(program, action) < 0 ? NONE : 2 * action->stage + is_forward;
}

/* Append an operation for each stage that the rank unshards before the actions of a stop. Reshards
 * free memory and take no time. */
static void add_unshards(ordering *state, const ms_program_stop *stop) {
    for (size_t i = 0; i < stop->move_count; i++) {
        if (stop->moves[i].is_unshard) {
            state->order->ops[state->order->op_count++] =
                (ms_order_op){.rank = stop->rank,
                              .slot = NONE,
                              .inputs = {NONE, NONE},
                              .sends = {NONE, NONE},
                              .stage = stop->moves[i].stage};
        }
    }
}

/* Append the operation of a stop: a pass or an overlapped pair. Inputs of both passes are looked up
 * before any result is entered, as the passes of a pair do not wait for each other. */
static void add_passes(ordering *state, const ms_program_stop *stop) {
    const ms_action *actions = stop->actions;
    ms_order_op op = {.rank = stop->rank, .inputs = {NONE, NONE}, .sends = {NONE, NONE}};
    op.slot = stop->width == 2 ? pair_slot(state, actions) : single_slot(state, actions);
    op.stage = actions->stage;
    for (int i = 0; i < stop->width; i++) {
        op.inputs[i] = input_of(state, &actions[i]);
    }
    for (int i = 0; i < stop->width; i++) {
        op.sends[i] = enter_result(state, &actions[i], 2 * state->order->op_count + i);
        state->runs[actions[i].stage * MS_PASS_COUNT + actions[i].pass]++;
    }
    state->order->has_pairs = state->order->has_pairs || stop->width == 2;
    state->order->ops[state->order->op_count++] = op;
}

/* Append the operations of all ranks in topological order.  Returns MS_OK; MS_E_INPUT on a deadlock
 * (reported). */
static ms_status put_in_order(ordering *state, ms_diag *diag) {
    ms_program_stop stop;
    while (ms_ready_order_next(&state->ready, &stop)) {
        add_unshards(state, &stop);
        if (stop.width > 0) {
            add_passes(state, &stop);
        }
    }
    return ms_ready_order_check(&state->ready, diag);
}

/* Find the depth of each operation: the number of operations on the longest path of dependencies
 * that ends with it, itself included.  rank_depth: [P] zeros; depth of each rank's last operation
 * so far. depth_out: [op_count].  Returns the largest depth. */
static int find_depths(const ms_order *order, int32_t *rank_depth, int32_t *depth_out) {
    int deepest = 0;
    for (int at = 0; at < order->op_count; at++) {
        const ms_order_op *op = &order->ops[at];
        int32_t most = rank_depth[op->rank];
        for (int i = 0; i < 2; i++) {
            if (op->inputs[i] != NONE && depth_out[op->inputs[i] / 2] > most) {
                most = depth_out[op->inputs[i] / 2];
            }
        }
        depth_out[at] = rank_depth[op->rank] = most + 1;
        deepest = most + 1 > deepest ? most + 1 : deepest;
    }
    return deepest;
}

/* Sort operations by depth with a stable counting sort. Operations of one depth do not depend on
 * each other, so that the processor works on several at a time when the clocks run; those of one
 * rank stay in their order. */
static ms_status sort_by_depth(ms_order *order, ms_arena *scratch) {
    int ranks = order->program->spec.pipeline_ranks;
    size_t count = (size_t)order->op_count;
    int32_t *rank_depth = MS_NEW(scratch, int32_t, ranks);
    int32_t *depth = MS_NEW(scratch, int32_t, count), *position = MS_NEW(scratch, int32_t, count);
    ms_order_op *before = MS_NEW(scratch, ms_order_op, count);
    if (rank_depth == NULL || depth == NULL || position == NULL || before == NULL) {
        return MS_E_NOMEM;
    }
    int deepest = find_depths(order, rank_depth, depth);
    int32_t *next = MS_NEW(scratch, int32_t, deepest + 2);
    if (next == NULL) {
        return MS_E_NOMEM;
    }
    for (size_t at = 0; at < count; at++) {
        next[depth[at] + 1]++;
    }
    /* next[d]: first position of depth d */
    for (int i = 0; i <= deepest; i++) {
        next[i + 1] += next[i];
    }
    for (size_t at = 0; at < count; at++) {
        before[at] = order->ops[at];
        position[at] = next[depth[at]]++;
    }
    for (size_t at = 0; at < count; at++) {
        ms_order_op *op = &order->ops[position[at]];
        *op = before[at];
        for (int i = 0; i < 2; i++) {
            op->inputs[i] =
                op->inputs[i] == NONE ? NONE : 2 * position[op->inputs[i] / 2] + op->inputs[i] % 2;
        }
    }
    return MS_OK;
}

int ms_order_receiver(const ms_program *program, int message) {
    int stage = message / 2;
    bool is_forward = message % 2 == 1;
    bool has_one =
        is_forward ? ms_program_has_next(program, stage) : ms_program_has_previous(program, stage);
    return has_one ? program->stage_rank[stage + (is_forward ? 1 : -1)] : NONE;
}

/* Number the queues: messages of one rank to another one in one direction share a queue, in which
 * each message waits for those before it. A message without a receiver has a queue of its own,
 * which stays empty. */
static void share_queues(ms_order *order) {
    const ms_program *program = order->program;
    for (int message = 0; message < 2 * program->stages; message++) {
        int from = program->stage_rank[message / 2];
        int to = ms_order_receiver(program, message);
        int *queue = &order->queues[message];
        *queue = order->queue_count;
        for (int other = message % 2; other < message && to >= 0; other += 2) {
            if (program->stage_rank[other / 2] == from && ms_order_receiver(program, other) == to) {
                *queue = order->queues[other];
                break;
            }
        }
        order->queue_count += *queue == order->queue_count;
    }
}

/* An array of `count` int32_t that all are `value`, in `arena`; NULL when memory runs out. */
static void *filled(ms_arena *arena, size_t count, int value) {
    int32_t *items = MS_NEW(arena, int32_t, count);
    for (size_t i = 0; items != NULL && i < count; i++) {
        items[i] = value;
    }
    return items;
}

/* Maximum number of slots: of single passes one for each combination of fields, but no more than
 * actions; of pairs no more than half the actions. */
static size_t slots_max(const ordering *state, size_t actions) {
    size_t singles =
        (size_t)(state->program->stages * state->slices) * MS_PASS_COUNT * MS_UNIT_KINDS;
    size_t pairs = ms_program_has_pairs(state->program) ? actions / 2 : 0;
    return pairs + (singles < actions ? singles : actions);
}

/* Allocate the order in `arena` and the rest of `state` in `scratch`.  Returns false when memory
 * runs out. */
static bool allocate(ordering *state, ms_arena *arena, ms_arena *scratch) {
    const ms_program *program = state->program;
    size_t stages = (size_t)program->stages, ranks = (size_t)program->spec.pipeline_ranks;
    size_t inputs = stages * (size_t)program->mb_count;
    size_t actions = program->first[ranks];
    size_t moves = program->shard_moves == NULL ? 0 : program->shard_first[ranks];
    state->forward_in = filled(scratch, inputs, NONE);
    state->backward_in = filled(scratch, inputs, NONE);
    state->runs = filled(scratch, stages * MS_PASS_COUNT, 0);
    state->slot_of =
        filled(scratch, stages * (size_t)state->slices * MS_PASS_COUNT * MS_UNIT_KINDS, NONE);
    state->order->ops = MS_NEW(arena, ms_order_op, actions + moves);
    state->order->slots = MS_NEW(arena, ms_order_slot, slots_max(state, actions));
    state->order->queues = MS_NEW(arena, int, 2 * stages);
    return !arena->has_failed && !scratch->has_failed;
}

ms_status ms_order_make(const ms_program *program, ms_arena *arena, ms_arena *scratch,
                        ms_diag *diag, ms_order *order_out) {
    *order_out = (ms_order){.program = program, .has_unshards = program->shard_moves != NULL};
    ordering state = {.program = program, .order = order_out};
    state.slices = program->spec.slices > 1 ? program->spec.slices : 1;
    ms_status status = MS_E_NOMEM;
    if (allocate(&state, arena, scratch) &&
        ms_ready_order_init(program, false, scratch, &state.ready) == MS_OK) {
        status = put_in_order(&state, diag);
        status = status == MS_OK ? sort_by_depth(order_out, scratch) : status;
        share_queues(order_out);
    }
    return status;
}
