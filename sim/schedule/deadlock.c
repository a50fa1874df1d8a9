/* Explains a deadlock of a program: when the walk over the lists in order of readiness (order.c)
 * has stopped before the end of some list, finds the cycle of ranks that wait for each other and
 * reports it. A stuck rank is one with actions left; its head is the first action (or overlapped
 * pair) left. Every stuck rank waits for a missing producer: a pass that has not run, mostly of
 * another rank, whose result its head needs. */
#include "schedule/order.h"

/* Whether all actions of a rank's list have been visited. */
static bool is_at_end(const ms_ready_order *order, int rank) {
    return order->cursors[rank].action == order->program->first[rank + 1];
}

/* The rank that owns the missing producer for which the head of a stuck rank waits. */
static int waits_for(const ms_ready_order *order, int rank) {
    ms_producer missing = {0};
    ms_ready_order_blocked_action(order, rank, &missing);
    return order->program->stage_rank[missing.stage];
}

/* Append one link of the cycle to a text: the head of `rank`, its cell in the file where the
 * program has one, and the missing producer with its rank. */
static void describe_wait(const ms_ready_order *order, int rank, const ms_fault_location *location,
                          ms_buffer *text) {
    ms_producer missing = {0};
    const ms_action *head = ms_ready_order_blocked_action(order, rank, &missing);
    ms_buffer_printf(text, "%srank %d at '%d%s%d'", text->length == 0 ? "" : "; ", rank,
                     head->stage, ms_pass_name((ms_pass)head->pass), head->mb);
    if (location != NULL) {
        long cell = location->cell(location->context, rank, order->cursors[rank].action);
        ms_buffer_printf(text, " (line %d, cell %ld)", rank + 1, cell);
    }
    ms_buffer_printf(text, " waits for %d%s%d of rank %d", missing.stage,
                     missing.is_forward ? "F" : "B", missing.mb,
                     order->program->stage_rank[missing.stage]);
}

/* Follow the waiting ranks from a stuck rank. After P steps the walk is on the cycle, as there are
 * only P ranks; or it has stopped early at a rank that waits for a rank whose list ended without
 * the missing producer. Returns the rank reached, from which describe_cycle starts. */
static int find_cycle(const ms_ready_order *order, int stuck) {
    int rank = stuck;
    for (int i = 0; i < order->program->spec.pipeline_ranks; i++) {
        int next = waits_for(order, rank);
        if (is_at_end(order, next)) {
            break;
        }
        rank = next;
    }
    return rank;
}

/* Append the links of the cycle once round from rank `first`, at most SHOWN_MAX of them, to a text.
 * Where `first` waits for a rank whose list has no action left, there is no cycle, and only the
 * link of `first` is appended. */
static void describe_cycle(const ms_ready_order *order, int first,
                           const ms_fault_location *location, ms_buffer *text) {
    enum { SHOWN_MAX = 8 };
    int rank = first;
    int shown = 0;
    do {
        if (shown == SHOWN_MAX) {
            ms_buffer_puts(text, "; ...");
        } else if (shown < SHOWN_MAX) {
            describe_wait(order, rank, location, text);
        }
        shown++;
        rank = waits_for(order, rank);
    } while (rank != first && !is_at_end(order, rank));
    ms_buffer_puts(text, is_at_end(order, rank) ? ", whose list ends without it" : "");
}

/* Report the deadlock that keeps rank `stuck` from going on, at its place in the file where there
 * is one. */
static void report_deadlock(const ms_ready_order *order, int stuck,
                            const ms_fault_location *location, ms_diag *diag) {
    int first = find_cycle(order, stuck);
    ms_buffer cycle;
    ms_buffer_init(&cycle);
    describe_cycle(order, first, location, &cycle);
    ms_buffer what;
    ms_buffer_init(&what);
    ms_buffer_printf(&what, "the schedule deadlocks: %s", ms_buffer_text(&cycle));
    if (location == NULL) {
        ms_diag_error(diag, "%s", ms_buffer_text(&what));
    } else {
        int64_t index = (int64_t)order->cursors[first].action;
        location->report(location->context, first, index, ms_buffer_text(&what));
    }
    ms_buffer_release(&what);
    ms_buffer_release(&cycle);
}

/* Check that a walk that has stopped visited all actions of all ranks. Otherwise reports the
 * deadlock and returns MS_E_INPUT. location: as in report_deadlock; NULL: the program is not from a
 * file. */
static ms_status check_ends(const ms_ready_order *order, const ms_fault_location *location,
                            ms_diag *diag) {
    for (int rank = 0; rank < order->program->spec.pipeline_ranks; rank++) {
        if (!is_at_end(order, rank)) {
            report_deadlock(order, rank, location, diag);
            return MS_E_INPUT;
        }
    }
    return MS_OK;
}

ms_status ms_ready_order_check(const ms_ready_order *order, ms_diag *diag) {
    return check_ends(order, NULL, diag);
}

/* Check that the lists of a program run to their end, by a walk over them in order of readiness. */
ms_status ms_program_check_ends(const ms_program *program, const ms_fault_location *location,
                                ms_arena *scratch, ms_diag *diag) {
    ms_ready_order order;
    if (ms_ready_order_init(program, false, scratch, &order) != MS_OK) {
        return ms_diag_no_memory(diag);
    }
    ms_program_stop stop;
    while (ms_ready_order_next(&order, &stop)) {
    }
    return check_ends(&order, location, diag);
}
