/*
 * When the hosts of the ranks have launched an operation; see host.md.
 *
 * A host's clock is a sum over the rank's operations in the order in which they were added, from
 * the start of the run or from the last time that the host waited for its GPU. These sums are known
 * before the run, but for when such a wait ends: that is when the synchronising operation behind it
 * could start, which is known when the last of what it waits for has ended.
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
    double after_s; /**< it is done so long after the host began, or last waited */
    int32_t wait;   /**< that wait, index into ms_host.waits; -1: the start of the run */
} ms_host_launch;

/** The wait of a host before it launches a synchronising operation. */
typedef struct ms_host_wait {
    double after_s;  /**< the host comes to it so long after its wait before */
    double end_s;    /**< < 0: not known yet */
    int32_t earlier; /**< its wait before, -1: none */
} ms_host_wait;

/** Arrays in the scratch arena. */
typedef struct ms_host {
    const ms_dag *dag;
    ms_host_launch *launches; /**< [member_count]; NULL: launching takes no time */
    ms_host_wait *waits;
    bool has_passed_wait; /**< an operation was launched before a wait that its host comes to first
                           */
} ms_host;

/** Prepare.  Returns MS_OK; MS_E_NOMEM.  O(members). */
ms_status ms_host_init(ms_host *host, const ms_dag *dag, ms_arena *scratch);

/** When operation `op` starts that could do so at `ready_s` if it were launched: everything that it
 * waits for has ended.  Where launching takes time only.  O(members of the operation). */
double ms_host_start_s(ms_host *host, int32_t op, double ready_s);

/** When the host of a member's rank has launched it: of a run that is over, where launching takes
 * time. */
double ms_host_launched_s(const ms_host *host, int32_t member);

/** When an operation starts at the earliest that is launched at `launched_s`: so that it does not
 * end before its last kernel is launched.  O(1). */
double ms_host_earliest_s(const ms_host *host, int32_t op, double launched_s);

#endif
