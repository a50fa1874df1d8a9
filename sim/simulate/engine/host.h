/*
 * When the hosts of the ranks have launched an operation; see host.md.
 *
 * The clock of a host is the sum of launch times over the rank's operations in the order in which
 * they were added. It begins anew whenever the host has waited for its GPU, which it does before
 * each synchronising operation. The sums are known before the run. A wait ends when everything that
 * the synchronising operation waits for has ended, which becomes known during the run.
 */
#ifndef MESHSIM_ENGINE_HOST_H
#define MESHSIM_ENGINE_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "simulate/graph/dag.h"

/** The launch of an operation by the host of one member's rank. */
typedef struct ms_host_launch {
    double after_s; /**< time from the end of the host's last wait before it to its end [s] */
    int32_t wait;   /**< that last wait, index into ms_host.waits; -1: the start of the run */
} ms_host_launch;

/** The wait of a host before it launches a synchronising operation. */
typedef struct ms_host_wait {
    double after_s;  /**< launch time from the end of the host's wait before to this one [s] */
    double end_s;    /**< [s]; < 0: not known yet */
    int32_t earlier; /**< the host's wait before, index into ms_host.waits; -1: none */
} ms_host_wait;

/** The launches and waits of all hosts. Arrays in the scratch arena. */
typedef struct ms_host {
    const ms_dag *dag;
    ms_host_launch *launches; /**< [member_count]; NULL: launching takes no time */
    ms_host_wait *waits;      /**< one for each member of a synchronising operation */
    bool has_passed_wait;     /**< some operation started before the end of its host's last wait was
                                 known; the launch was then computed as if that wait took no time */
} ms_host;

/** Prepare: lay out the launches of all hosts.  Returns MS_OK; MS_E_NOMEM (not reported).
 * O(members). */
ms_status ms_host_init(ms_host *host, const ms_dag *dag, ms_arena *scratch);

/** When operation `op` starts [s].  ready_s: when everything that it waits for has ended [s]. May
 * only be called where launching takes time (launches is not NULL), once for each operation.
 * O(members of the operation). */
double ms_host_start_s(ms_host *host, int32_t op, double ready_s);

/** When the host of a member's rank has launched the member's operation [s]. May only be called
 * after a run, and where launching takes time. */
double ms_host_launched_s(const ms_host *host, int32_t member);

/** Earliest start of operation `op` [s] whose launch ends at `launched_s` [s]. It may lie before
 * `launched_s`: a computation only must not end before its last kernel is launched.  O(1). */
double ms_host_earliest_s(const ms_host *host, int32_t op, double launched_s);

#endif
