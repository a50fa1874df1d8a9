/**
 * @file
 * Times of the steps of a redistribution of a tensor (sharding.h) on a platform.
 */
#ifndef MESHSIM_RESHARD_TIME_H
#define MESHSIM_RESHARD_TIME_H

#include "base/diag.h"
#include "base/status.h"
#include "cluster/mesh/mesh.h"
#include "cluster/mesh/sharding.h"
#include "cluster/platform/platform.h"

/** Times of a step. */
typedef struct ms_reshard_time {
    double alone_s;    /**< of the slowest group, with nothing else on the links [s] */
    double together_s; /**< of all groups at the same time, sharing links [s] */
    int tier;          /**< outermost tier crossed; -1: none */
} ms_reshard_time;

/** Find the times of a step in which all groups of its mesh axis take part.  A step without traffic
 * (MS_COLL_NONE) takes no time.
 *  Returns MS_OK; MS_E_RANGE (reported) for what no algorithm lays out, such as an all-to-all of
 * too many members; MS_E_NOMEM, not reported.  O(phases * ranks * rings) routes. */
ms_status ms_reshard_step_time(const ms_platform *platform, const ms_mesh *mesh,
                               const ms_reshard_step *step, ms_diag *diag,
                               ms_reshard_time *time_out);

#endif
