/* The bridge to SimGrid: links, transfers and one dated wake-up. SimGrid's C interface can neither
 * build platforms nor report completions, so the bridge uses its C++ interface (bridge.cpp). A
 * process has one simulation, as SimGrid's clock never goes back; each runs in a child process
 * (simgrid_process.h).
 *
 * No function throws. After any status but MS_OK, ms_bridge_error() returns SimGrid's message. */
#ifndef MESHSIM_ENGINE_BRIDGE_H
#define MESHSIM_ENGINE_BRIDGE_H

#include <stdint.h>

#include "base/status.h"

/** The links of a simulation, and its callbacks. */
typedef struct ms_bridge_setup {
    const double *link_bandwidths; /**< [link_count] payload units per second, > 0 */
    int32_t link_count;
    double precision_s;             /**< events closer than that may count as simultaneous [s] */
    void *context;                  /**< first argument of the functions, which must not throw */
    void (*on_tick)(void *context); /**< the date of the wake-up has come */
    void (*on_flow)(void *context, int32_t token); /**< a transfer has ended */
} ms_bridge_setup;

/** Load SimGrid; ms_bridge_start does so, too.  Returns MS_OK; MS_E_IO where it cannot be loaded.
 * O(1) after the first time. */
ms_status ms_bridge_load(void);

/** Begin the only simulation of the process, at time 0. From now on a lack of memory in SimGrid
 * ends the process by abort().  setup: copied, the bandwidths borrowed.  Returns MS_OK; MS_E_IO as
 * ms_bridge_load; MS_E_BUG if SimGrid throws.  O(links). */
ms_status ms_bridge_start(const ms_bridge_setup *setup);

/** Move the wake-up: on_tick is called once the clock reaches `date_s` [s]; INFINITY: never. Before
 * the first ms_bridge_run only dates > 0 are allowed.  Returns as ms_bridge_start. */
ms_status ms_bridge_tick(double date_s);

/** Start a transfer now and call on_flow(token) at its end.
 *  payload: > 0, in the unit of the bandwidths.  route: [count] links, count >= 1; a link that
 *  is listed k times is loaded k times.  Returns as ms_bridge_start.  O(count^2) (SimGrid looks for
 *  repeated links). */
ms_status ms_bridge_flow(uint64_t payload, const int32_t *route, int32_t count, int32_t token);

/** Run until there are no transfers and no wake-up. May be called again after new ones have been
 * started.  Returns as ms_bridge_start. */
ms_status ms_bridge_run(void);

/** SimGrid's clock [s]; 0 before the start. */
double ms_bridge_clock_s(void);

/** The message of the last call that failed; static storage, never NULL. */
const char *ms_bridge_error(void);

#endif
