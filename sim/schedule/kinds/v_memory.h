/* V-Half and V-Min: the time slots of their building blocks, and the reordering of the finished
 * lists. */
#ifndef MS_SCHEDULE_V_MEMORY_H
#define MS_SCHEDULE_V_MEMORY_H

#include "schedule/internal.h"

/** Time slots from a microbatch to the next: its passes F, I and W on the two stages of a rank take
 * one each. */
enum { MS_V_PERIOD = 6 };

/** Time slot, from 0, in which a rank runs a pass of microbatch 0; that of microbatch m is
 * MS_V_PERIOD * m slots later.
 *  spec: of kind vhalf, else vmin is taken.  pass: MS_PASS_F or MS_PASS_I.  chunk: 0 (stage r) or 1
 * (stage 2P-1-r). */
int ms_v_memory_offset(const ms_schedule_spec *spec, int rank, ms_pass pass, int chunk);

/** Move passes of finished lists into earlier free slots without raising the peak of activations in
 * flight. Keeps the lists as they are where spec.is_reordered is false, or where the makespan with
 * equal costs does not get shorter.
 *  Returns MS_OK; MS_E_NOMEM (reported).  The `finish` of both kinds (ms_schedule_type). */
ms_status ms_v_memory_reorder(ms_program *program, ms_arena *scratch, ms_diag *diag);

#endif
