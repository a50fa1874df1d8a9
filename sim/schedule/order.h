/* What files of this room ask of an order of readiness beyond its stops. */
#ifndef MS_SCHEDULE_ORDER_H
#define MS_SCHEDULE_ORDER_H

#include "schedule/internal.h"

/** Index + 1 of the visited action that a producer is, 0 if it has not been visited. */
uint32_t ms_ready_order_done(const ms_ready_order *order, const ms_producer *producer);

/** A producer that has not been visited, of what a rank's list goes on with.  Returns the action
 * that waits, NULL if it can run or the list has ended. */
const ms_action *ms_ready_order_missing(const ms_ready_order *order, int rank,
                                        ms_producer *missing_out);

/** Visit all lists to their end.
 *  place: of the fault in a file; NULL: without a place.  Returns MS_OK; MS_E_INPUT on a deadlock
 * (reported); MS_E_NOMEM (reported).  O(actions). */
ms_status ms_program_check_ends(const ms_program *program, const ms_fault_place *place,
                                ms_arena *scratch, ms_diag *diag);

#endif
