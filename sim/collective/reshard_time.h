/**
 * @file
 * How long the steps of a redistribution (sharding.h) take on a platform.
 */
#ifndef MESHSIM_RESHARD_TIME_H
#define MESHSIM_RESHARD_TIME_H

#include "base/diag.h"
#include "base/status.h"
#include "cluster/mesh/mesh.h"
#include "cluster/mesh/sharding.h"
#include "cluster/platform/platform.h"

/** Time of a step. */
typedef struct ms_reshard_time {
    double alone_s;    /**< of the slowest group, with nothing else on the links */
    double together_s; /**< of all groups at once, which share the links they meet on */
    int tier;          /**< outermost crossed, -1: none */
} ms_reshard_time;

/** Time a step with every group of its axis taking part, rank r on its device.  A step without
 * traffic takes no time.
 *  Returns MS_OK; MS_E_RANGE (reported) for what no algorithm lays out, such as an all-to-all of
 * too many members; MS_E_NOMEM, not reported.  O(phases * N * rings) routes. */
ms_status ms_reshard_step_time(const ms_platform *platform, const ms_mesh *mesh,
                               const ms_reshard_step *step, ms_diag *diag,
                               ms_reshard_time *time_out);

#endif
