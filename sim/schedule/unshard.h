/* Unsharding (all-gather) and resharding (freeing) of the parameters of whole stages, with ZeRO-3:
 * where the moves of a rank's list are placed, and the check of a program's moves. Shared by
 * programs and schedule files. */
#ifndef MS_SCHEDULE_UNSHARD_H
#define MS_SCHEDULE_UNSHARD_H

#include "schedule/internal.h"

/** Append the moves of one rank's list by PyTorch's rule (ms_program_place_unshards).
 *  actions: [count] the list.  stages: of the program.  active: maximum number of stages that are
 * unsharded ahead, >= 1.  moves: of ms_shard_move; `before` is an index into the list, `count`
 * behind the last action.  Returns false if memory ran out (not reported).  O(count * stages of the
 * list). */
bool ms_unshard_list(const ms_action *actions, size_t count, int stages, int active,
                     ms_vector *moves);

/** Check the moves of a program: each pass finds the parameters of its stage unsharded, no stage is
 * unsharded twice, none is resharded unused, and all are resharded at the end.  place: maps actions
 * to cells of the file that the program is from; NULL: not from a file.  Returns MS_OK, also for a
 * program without moves; MS_E_INPUT (the first fault reported); MS_E_NOMEM (reported). */
ms_status ms_unshard_check(const ms_program *program, const ms_fault_location *location,
                           ms_arena *scratch, ms_diag *diag);

#endif
