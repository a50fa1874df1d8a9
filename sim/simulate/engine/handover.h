/* Hands flows that have to share links over to SimGrid (README.md, choice 6). SimGrid is started
 * when the first such flow appears. It runs while it has flows, and calls back at the date of the
 * next event that is known outside of it. */
#ifndef MESHSIM_ENGINE_HANDOVER_H
#define MESHSIM_ENGINE_HANDOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/diag.h"
#include "base/status.h"
#include "simulate/engine/bridge.h"
#include "simulate/engine/maxmin.h"

/** The state of handing flows over. */
typedef struct ms_handover {
    ms_maxmin *run;        /**< the simulation with the clock, all links and all flows */
    ms_diag *diag;         /**< where failures are reported */
    ms_bridge_setup setup; /**< borrowed by SimGrid */
    ms_vector pending;     /**< flows (int32_t) to start once SimGrid's clock has reached run's */
    ms_vector route;       /**< links (int32_t) of the flow that is being started */
    bool is_started;       /**< SimGrid has been started */
    bool is_inside;        /**< SimGrid is running, and calls come from its callbacks */
    ms_status status;      /**< the first failure within SimGrid's run */
} ms_handover;

/** Prepare, without starting SimGrid.
 *  run: borrowed; has to be initialised before its first step.  diag: for failures to start
 * SimGrid. The caller calls ms_handover_release. */
void ms_handover_init(ms_handover *handover, ms_maxmin *run, ms_diag *diag);

/** Free the vectors. */
void ms_handover_release(ms_handover *handover);

/** The function ms_maxmin_setup.share of a run in which SimGrid shares the links: hands over the
 * flows of all full links on which something changed. Outside of SimGrid it then runs SimGrid until
 * that has no flows left.  handover: ms_handover.  Returns MS_OK; MS_E_NOMEM (not reported); as
 * ms_simgrid_start. */
ms_status ms_handover_share(void *handover);

#endif
