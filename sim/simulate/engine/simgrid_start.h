/* Starts SimGrid for a run. */
#ifndef MESHSIM_ENGINE_SIMGRID_START_H
#define MESHSIM_ENGINE_SIMGRID_START_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/status.h"
#include "simulate/engine/bridge.h"
#include "simulate/engine/replay.h"

/** Choose how close events may be to count as simultaneous [s], so that SimGrid's clock can
 * represent it until the end of the replay.  Returns MS_OK; MS_E_NOMEM (not reported).  O(members).
 */
ms_status ms_simgrid_choose_precision(const ms_replay *replay, ms_arena *scratch,
                                      double *precision_s_out);

/** Start SimGrid.
 *  setup: copied; its bandwidths must live until the end of the run.  Returns MS_OK; MS_E_IO
 * (reported) if SimGrid cannot be loaded; MS_E_BUG (not reported) if SimGrid throws. */
ms_status ms_simgrid_start(const ms_bridge_setup *setup, ms_diag *diag);

#endif
