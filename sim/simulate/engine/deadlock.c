/* The error message for a graph whose operations wait for each other: a cycle of operations, and up
 * to ten operations that have not ended. */
#include "simulate/engine/replay.h"

#include "base/buffer.h"

/* Maximum number of operations listed; size of the description of one operation [B]. */
enum { LISTED = 10, TEXT_B = 160 };

static bool is_settled(const ms_replay *replay, int32_t op) {
    return replay->timeline.end_s[op] >= 0.0;
}

/* A dependency or stream predecessor of `op` that is not settled, -1 if all are. */
static int32_t find_awaited(const ms_replay *replay, int32_t op) {
    const ms_dag *dag = replay->dag;
    for (int32_t j = dag->member_first[op]; j < dag->member_first[op + 1]; j++) {
        for (int32_t d = dag->dep_first[j]; d < dag->dep_first[j + 1]; d++) {
            if (!is_settled(replay, dag->deps[d])) {
                return dag->deps[d];
            }
        }
        int32_t previous = ms_dag_find_previous(dag, j);
        if (previous >= 0 && !is_settled(replay, previous)) {
            return previous;
        }
    }
    return -1;
}

/* Find an operation on a cycle: from the first operation that has not ended, follow the operations
 * that each waits for, until an operation is met twice. seen: [op_count] false. Returns that
 * operation; -1: there is no cycle. */
static int32_t find_on_cycle(const ms_replay *replay, bool *seen) {
    int32_t op = 0;
    while (op < replay->dag->op_count && is_settled(replay, op)) {
        op++;
    }
    while (op >= 0 && op < replay->dag->op_count && !seen[op]) {
        seen[op] = true;
        op = find_awaited(replay, op);
    }
    return op < replay->dag->op_count ? op : -1;
}

/* Append the number and description of an operation to the message. */
static void add_operation(const ms_replay *replay, int32_t op, ms_buffer *text) {
    char name[TEXT_B];
    ms_buffer_printf(text, "operation %d (%s)", op,
                     ms_dag_describe(replay->dag, op, name, sizeof name));
}

/* Append the cycle that begins with operation `first`: each operation and the one that it waits
 * for. Of a long cycle only the first LISTED operations are named. */
static void add_cycle(const ms_replay *replay, int32_t first, ms_buffer *text) {
    int32_t op = first;
    ms_buffer_puts(text, "\n  cycle: ");
    for (int listed = 0; listed == 0 || op != first; listed++) {
        if (listed == LISTED) {
            ms_buffer_puts(text, "... and on to ");
            break;
        }
        add_operation(replay, op, text);
        ms_buffer_puts(text, "\n    waits for ");
        op = find_awaited(replay, op);
    }
    add_operation(replay, first, text);
}

/* Append up to LISTED operations that have not ended, each with one that it waits for. */
static void add_waiting(const ms_replay *replay, ms_buffer *text) {
    int listed = 0;
    for (int32_t op = 0; op < replay->dag->op_count && listed < LISTED; op++) {
        if (is_settled(replay, op)) {
            continue;
        }
        listed++;
        ms_buffer_puts(text, listed == 1 ? "\n  waiting: " : "\n           ");
        add_operation(replay, op, text);
        int32_t awaited = find_awaited(replay, op);
        if (awaited < 0) {
            ms_buffer_puts(text, ", started but not ended");
        } else {
            ms_buffer_puts(text, " for ");
            add_operation(replay, awaited, text);
        }
    }
}

/* Operations that have not ended wait for each other. The message names a cycle, if there is one,
 * and some of the operations. */
ms_status ms_replay_check_done(const ms_replay *replay, ms_arena *scratch, ms_diag *diag) {
    int32_t count = replay->dag->op_count;
    if (replay->settled == count) {
        return MS_OK;
    }
    bool *seen = MS_NEW(scratch, bool, count);
    if (seen == NULL) {
        return ms_engine_no_memory(diag);
    }
    ms_buffer text;
    ms_buffer_init(&text);
    int32_t on_cycle = find_on_cycle(replay, seen);
    if (on_cycle >= 0) {
        add_cycle(replay, on_cycle, &text);
    }
    add_waiting(replay, &text);
    ms_diag_error(diag, "bug: %d of %d operations wait for each other and never end%s",
                  count - replay->settled, count, ms_buffer_text(&text));
    ms_buffer_release(&text);
    return MS_E_BUG;
}
