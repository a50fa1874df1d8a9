/*
 * The bridge to SimGrid, whose C interface can neither build platforms nor tell of completions:
 * links, transfers and one dated wake-up, nothing else. A process has one simulation, as SimGrid's
 * clock never goes back; each runs in a child process (simgrid_process.h).
 *
 * No function throws; after anything but MS_OK, ms_bridge_error() says what SimGrid said.
 */
#ifndef MESHSIM_ENGINE_BRIDGE_H
#define MESHSIM_ENGINE_BRIDGE_H

#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a simulation is made of, and who is told what happens in it. */
typedef struct ms_bridge_setup {
    const double *link_bandwidths; /**< [link_count] payload units per second, > 0 */
    int32_t link_count;
    double precision_s;             /**< events closer than that may count as simultaneous [s] */
    void *context;                  /**< first argument of the functions, which must not throw */
    void (*on_tick)(void *context); /**< the date of the wake-up has come */
    void (*on_flow)(void *context, int32_t token); /**< a transfer has ended */
} ms_bridge_setup;

/** Have SimGrid at hand, as any of these functions has before all else.  Returns MS_OK; MS_E_IO
 * where it cannot be loaded.  O(1) after the first time. */
ms_status ms_bridge_load(void);

/** Begin the process's simulation, at time 0. Memory that runs out in SimGrid from now on ends the
 * process by abort().  setup: kept.  Returns MS_OK; MS_E_IO as ms_bridge_load; MS_E_BUG if SimGrid
 * refuses.  O(links). */
ms_status ms_bridge_start(const ms_bridge_setup *setup);

/** Call on_tick once the clock reaches `date_s` [s], and no longer at the date that was set before;
 * INFINITY: not at all.  Before the first ms_bridge_run only dates > 0.  Returns as
 * ms_bridge_start. */
ms_status ms_bridge_tick(double date_s);

/** Start a transfer now and call on_flow(token) at its end.
 *  payload: > 0, in the unit of the bandwidths.  route: [count] links, count >= 1; a link that
 *  stands k times is used k times over.  Returns as ms_bridge_start.  O(count^2) (SimGrid looks for
 *  repeated links). */
ms_status ms_bridge_flow(uint64_t payload, const int32_t *route, int32_t count, int32_t token);

/** Run until nothing happens any more; again, where something has been started since.  Returns as
 * ms_bridge_start. */
ms_status ms_bridge_run(void);

/** The clock [s]. */
double ms_bridge_clock_s(void);

/** What went wrong in the last call that failed; static storage, never NULL. */
const char *ms_bridge_error(void);

#ifdef __cplusplus
}
#endif

#endif
