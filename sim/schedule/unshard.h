/* Unsharding and resharding of whole stages' parameters, shared by programs and schedule files. */
#ifndef MS_SCHEDULE_UNSHARD_H
#define MS_SCHEDULE_UNSHARD_H

#include "schedule/internal.h"

/* Append the moves of one rank's list, `before` counted from its first action. active: stages
 * unsharded at a time, >= 1. Returns whether memory was enough.  O(count * stages of the list). */
bool ms_unshard_list(const ms_action *actions, size_t count, int stages, int active,
                     ms_vector *moves);

/* Rules of any program's moves; MS_OK at once where it has none. Returns MS_OK; MS_E_INPUT (the
 * first broken one reported); MS_E_NOMEM. */
ms_status ms_unshard_check(const ms_program *program, const ms_fault_place *place,
                           ms_arena *scratch, ms_diag *diag);

#endif
