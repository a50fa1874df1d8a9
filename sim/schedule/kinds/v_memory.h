/* V-Half and V-Min: the grid of their building block, and the reordering of the finished lists. */
#ifndef MS_SCHEDULE_V_MEMORY_H
#define MS_SCHEDULE_V_MEMORY_H

#include "schedule/internal.h"

enum { MS_V_PERIOD = 6 };

/** Slot of microbatch 0 of a forward pass or input gradient on the grid; microbatch m comes
 * MS_V_PERIOD * m later. */
int ms_v_memory_offset(const ms_schedule_spec *spec, int rank, ms_pass pass, int chunk);

/** Move passes into earlier free slots without raising the peak in flight, if that makes the whole
 * shorter at equal costs.  For `finish`. */
ms_status ms_v_memory_reorder(ms_program *program, ms_arena *scratch, ms_diag *diag);

#endif
