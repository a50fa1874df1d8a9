/* The two orders in which a program's actions are visited. ms_rank_cursor walks one rank's list
 * from its start. ms_ready_order walks all ranks' lists in order of readiness: an action is visited
 * only after its producers, the passes whose results it needs. Both yield stops: the parameters
 * that a rank unshards and reshards, then one action or both actions of an overlapped pair.
 *
 * The order of readiness goes round after round over the ranks 0 to P-1; in its turn,
 * a rank goes on in its list as far as it can. It is then blocked until a producer of its next
 * action is visited. Two bit sets hold the ranks that are not blocked: those with a turn in this
 * round, and those with one in the next. */
#include "schedule/order.h"

#include <string.h>

/* A cursor at the first action and the first move of a rank's list. */
ms_rank_cursor ms_rank_begin(const ms_program *program, int rank) {
    return (ms_rank_cursor){
        .program = program,
        .rank = rank,
        .action = program->first[rank],
        .move = program->shard_moves == NULL ? 0 : program->shard_first[rank],
    };
}

/* Number of actions of the next stop: 1, or 2 for an overlapped pair; 0 at the end of the list. */
static int width_at(const ms_rank_cursor *cursor) {
    const ms_program *program = cursor->program;
    if (cursor->action == program->first[cursor->rank + 1]) {
        return 0;
    }
    return program->actions[cursor->action].is_overlapped != 0 && !cursor->is_serial ? 2 : 1;
}

/* Number of moves (unshards and reshards) of the next stop: those before the cursor's action that
 * have not been visited. At the end of the list, these are the moves behind the last action. */
static size_t moves_at(const ms_rank_cursor *cursor) {
    const ms_program *program = cursor->program;
    size_t end = program->shard_moves == NULL ? 0 : program->shard_first[cursor->rank + 1];
    size_t next = cursor->move;
    while (next < end && program->shard_moves[next].before <= cursor->action) {
        next++;
    }
    return next - cursor->move;
}

/* Go on to the next stop of a rank's list. A stop has the moves up to its action's index, then the
 * action, or the pair. */
bool ms_rank_next(ms_rank_cursor *cursor, ms_program_stop *stop_out) {
    int width = width_at(cursor);
    size_t moves = moves_at(cursor);
    if (width == 0 && moves == 0) {
        return false;
    }
    const ms_program *program = cursor->program;
    *stop_out = (ms_program_stop){
        .rank = cursor->rank,
        .index = cursor->action,
        .width = width,
        .actions = &program->actions[cursor->action],
        .moves = moves == 0 ? NULL : &program->shard_moves[cursor->move],
        .move_count = moves,
    };
    cursor->action += (size_t)width;
    cursor->move += moves;
    return true;
}

uint32_t ms_ready_order_visited_at(const ms_ready_order *order, const ms_producer *producer) {
    size_t key = ms_program_key(order->program, producer->stage, producer->mb);
    return producer->is_forward ? order->forward_at[key] : order->gradient_at[key];
}

/* Find a producer that has not been visited, for the next stop of a rank. Returns the action that
 * needs it; NULL: none is missing. Looks at all producers of the rank's next action; of a pair, at
 * those of both actions. */
const ms_action *ms_ready_order_blocked_action(const ms_ready_order *order, int rank,
                                               ms_producer *missing_out) {
    const ms_rank_cursor *cursor = &order->cursors[rank];
    int width = width_at(cursor);
    for (int member = 0; member < width; member++) {
        const ms_action *action = &order->program->actions[cursor->action + (size_t)member];
        ms_producer producers[2];
        int count = ms_action_producers(order->program, action, producers);
        for (int i = 0; i < count; i++) {
            if (ms_ready_order_visited_at(order, &producers[i]) == 0) {
                *missing_out = producers[i];
                return action;
            }
        }
    }
    return NULL;
}

enum { WORD_BITS = 64 };

/* Number of words of a bit set of ranks. */
static size_t words_of(const ms_program *program) {
    return ((size_t)program->spec.pipeline_ranks + WORD_BITS - 1) / WORD_BITS;
}

/* Add a rank to a bit set of ranks. */
static void put_rank(uint64_t *ranks, int rank) {
    ranks[rank / WORD_BITS] |= UINT64_C(1) << (rank % WORD_BITS);
}

/* Unblock a rank after the visit of a producer that it may wait for. It goes on in this round if
 * its turn is still ahead, else in the next round. */
static void wake(ms_ready_order *order, int rank) {
    if (order->is_blocked[rank]) {
        order->is_blocked[rank] = false;
        put_rank(rank > order->rank ? order->this_round : order->next_round, rank);
    }
}

/* Record an action as visited and unblock the rank that needs its result. */
static void finish_action(ms_ready_order *order, const ms_action *action) {
    const ms_program *program = order->program;
    if (action->pass == MS_PASS_W) {
        return; /* no action needs a weight gradient */
    }
    uint32_t *done = action->pass == MS_PASS_F ? order->forward_at : order->gradient_at;
    done[ms_program_key(program, action->stage, action->mb)] =
        (uint32_t)(action - program->actions) + 1;
    int consumer = ms_action_consumer(program, action);
    if (consumer >= 0) {
        wake(order, program->stage_rank[consumer]);
    }
}

/* Remove the lowest rank from a bit set of ranks and return it; -1: the set is empty. from: no rank
 * below it is in the set, so that the search can start there. */
static int take_rank(const ms_ready_order *order, uint64_t *ranks, int from) {
    size_t words = words_of(order->program);
    for (size_t word = (size_t)from / WORD_BITS; word < words; word++) {
        if (ranks[word] != 0) {
            int bit = __builtin_ctzll(ranks[word]);
            ranks[word] &= ranks[word] - 1; /* clears the lowest bit */
            return (int)word * WORD_BITS + bit;
        }
    }
    return -1;
}

/* Make the next rank that is not blocked the current one, in this round or else in the next round.
 * Returns false when all ranks are blocked or at their end; order->rank is then -1. */
static bool turn_to_next_rank(ms_ready_order *order) {
    /* ranks before the current one are only ever added to the next round (wake) */
    int rank = take_rank(order, order->this_round, order->rank < 0 ? 0 : order->rank);
    if (rank < 0) {
        uint64_t *done = order->this_round; /* empty: reused for the round after */
        order->this_round = order->next_round;
        order->next_round = done;
        rank = take_rank(order, order->this_round, 0);
    }
    order->rank = rank;
    return rank >= 0;
}

/* Go on to the next stop in order of readiness. Stays at the current rank while its next stop is
 * ready; then blocks the rank and turns to the next one. */
bool ms_ready_order_next(ms_ready_order *order, ms_program_stop *stop_out) {
    ms_producer missing;
    while (order->rank >= 0 || turn_to_next_rank(order)) {
        int rank = order->rank;
        if (ms_ready_order_blocked_action(order, rank, &missing) == NULL &&
            ms_rank_next(&order->cursors[rank], stop_out)) {
            for (int member = 0; member < stop_out->width; member++) {
                finish_action(order, &stop_out->actions[member]);
            }
            return true;
        }
        order->is_blocked[rank] = true;
        if (!turn_to_next_rank(order)) {
            return false;
        }
    }
    return false;
}

/* Set a walk back to its beginning. Nothing is visited, and every rank has a turn in the first
 * round. Keeps is_serial of the cursors. */
void ms_ready_order_restart(ms_ready_order *order) {
    const ms_program *program = order->program;
    int ranks = program->spec.pipeline_ranks;
    size_t keys = ms_program_keys(program);
    memset(order->forward_at, 0, keys * sizeof *order->forward_at);
    memset(order->gradient_at, 0, keys * sizeof *order->gradient_at);
    memset(order->next_round, 0, words_of(program) * sizeof *order->next_round);
    memset(order->is_blocked, 0, (size_t)ranks * sizeof *order->is_blocked);
    for (int rank = 0; rank < ranks; rank++) {
        bool is_serial = order->cursors[rank].is_serial;
        order->cursors[rank] = ms_rank_begin(program, rank);
        order->cursors[rank].is_serial = is_serial;
        put_rank(order->this_round, rank);
    }
    order->rank = -1;
}

/* Begin a walk over all lists in order of readiness. Allocates the arrays; the state itself is set
 * by ms_ready_order_restart. */
ms_status ms_ready_order_init(const ms_program *program, bool is_serial, ms_arena *arena,
                              ms_ready_order *order_out) {
    size_t ranks = (size_t)program->spec.pipeline_ranks;
    size_t keys = ms_program_keys(program);
    ms_ready_order order = {
        .program = program,
        .cursors = MS_NEW(arena, ms_rank_cursor, ranks),
        .forward_at = MS_NEW(arena, uint32_t, keys),
        .gradient_at = MS_NEW(arena, uint32_t, keys),
        .this_round = MS_NEW(arena, uint64_t, words_of(program)),
        .next_round = MS_NEW(arena, uint64_t, words_of(program)),
        .is_blocked = MS_NEW(arena, bool, ranks),
    };
    if (order.cursors == NULL || order.forward_at == NULL || order.gradient_at == NULL ||
        order.this_round == NULL || order.next_round == NULL || order.is_blocked == NULL) {
        return MS_E_NOMEM;
    }
    for (size_t rank = 0; rank < ranks; rank++) {
        order.cursors[rank].is_serial = is_serial;
    }
    ms_ready_order_restart(&order);
    *order_out = order;
    return MS_OK;
}
