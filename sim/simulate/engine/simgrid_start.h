/*
 * What every run on SimGrid begins with.
 */
#ifndef MESHSIM_ENGINE_SIMGRID_START_H
#define MESHSIM_ENGINE_SIMGRID_START_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/status.h"
#include "simulate/engine/bridge.h"
#include "simulate/engine/replay.h"

/** How close events may be to count as simultaneous [s], for a clock that ends with the replay.
 *  Returns MS_OK; MS_E_NOMEM (not reported).  O(members). */
ms_status ms_simgrid_choose_precision(const ms_replay *replay, ms_arena *scratch,
                                      double *precision_s_out);

/** Start SimGrid.
 *  setup: kept until the end of the run.  Returns MS_OK; MS_E_IO (reported); MS_E_BUG if SimGrid
 * refuses (not reported). */
ms_status ms_simgrid_start(const ms_bridge_setup *setup, ms_diag *diag);

#endif
