/* How long a step of a redistribution takes on a platform. */
#ifndef MS_CLI_MESH_TIMING_H
#define MS_CLI_MESH_TIMING_H

#include "cli/cli.h"
#include "meshsim/sharding.h"

typedef struct ms_step_time {
    double alone_s;    /* of the slowest group, with nothing else on the links */
    double together_s; /* of all groups at once, which share the links they meet on */
    int tier;          /* outermost crossed, -1: none */
} ms_step_time;

/* Time a step with every group of its axis taking part. A step without traffic takes no time, an
 * all-to-all of more members than are laid out is refused. Returns MS_OK; MS_E_RANGE (reported);
 * MS_E_NOMEM. O(N * rings) routes, twice. */
ms_status ms_cli_time_step(const ms_invocation *call, const ms_platform *platform,
                           const ms_mesh *mesh, const ms_reshard_step *step,
                           ms_step_time *time_out);

#endif
