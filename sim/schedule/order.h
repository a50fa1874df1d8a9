/* Queries of a walk over a program in order of readiness (ms_ready_order), for files of this room
 * only: which passes have been visited, and which pass a rank waits for. */
#ifndef MS_SCHEDULE_ORDER_H
#define MS_SCHEDULE_ORDER_H

#include "schedule/internal.h"

/** Index + 1, among the program's actions, of the action that is a producer; 0 if the walk has not
 * visited it. */
uint32_t ms_ready_order_visited_at(const ms_ready_order *order, const ms_producer *producer);

/** Find an input that is missing for the next action, or overlapped pair, of a rank. Returns the
 * action that waits, with *missing_out: a producer of it that has not been visited; NULL, and
 * nothing written, if all inputs are there or the rank's list has ended. */
const ms_action *ms_ready_order_blocked_action(const ms_ready_order *order, int rank,
                                               ms_producer *missing_out);

/** Check that the lists of all ranks run to their end without deadlock, by walking over them.
 *  place: maps actions to cells of the file that the program is from; NULL: not from a file.
 * Returns MS_OK; MS_E_INPUT on a deadlock (reported); MS_E_NOMEM (reported). O(actions). */
ms_status ms_program_check_ends(const ms_program *program, const ms_fault_location *location,
                                ms_arena *scratch, ms_diag *diag);

#endif
