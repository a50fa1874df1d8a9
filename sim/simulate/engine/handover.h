/*
 * Flows that have to share links, handed over to SimGrid (README.md, choice 6). SimGrid is started
 * when the first of them comes, runs while there are any, and is woken at what is known without it.
 */
#ifndef MESHSIM_ENGINE_HANDOVER_H
#define MESHSIM_ENGINE_HANDOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/diag.h"
#include "base/status.h"
#include "simulate/engine/bridge.h"
#include "simulate/engine/maxmin.h"

typedef struct ms_handover {
    ms_maxmin *run; /**< clock, links and all flows */
    ms_diag *diag;
    ms_bridge_setup setup; /**< which SimGrid keeps */
    ms_vector pending;     /**< flows (int32_t) to be started when SimGrid's clock is there */
    ms_vector route;       /**< links (int32_t) of the flow at hand */
    bool is_started;
    bool is_inside;   /**< SimGrid is running */
    ms_status status; /**< the first failure within SimGrid's run */
} ms_handover;

/** Prepare, without SimGrid.
 *  run: initialised before it shares links for the first time.  diag: told what fails.  To be
 *  released. */
void ms_handover_init(ms_handover *handover, ms_maxmin *run, ms_diag *diag);

void ms_handover_release(ms_handover *handover);

/** ms_maxmin_setup.share of a run whose flows SimGrid shares links among.  Returns MS_OK;
 * MS_E_NOMEM (not reported); as ms_simgrid_start. */
ms_status ms_handover_share(void *handover);

#endif
