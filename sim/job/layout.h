/* The degrees and choices that lay a model out, from mesh, platform and workload. */
#ifndef MS_JOB_LAYOUT_H
#define MS_JOB_LAYOUT_H

#include "job/workload.h"

/* The workload's choices with the mesh's degrees; what the schedule decides and ep_node_ranks are
 * left unset.
 * Returns MS_OK; MS_E_INPUT for axes that cannot be used, reported. */
ms_status ms_layout_find(const ms_workload *w, const ms_mesh *mesh, ms_arena *arena, ms_diag *diag,
                         ms_model_layout *layout_out);

/* Ranks that each take other sequences of the batch: dp, ep and the user's own axis. */
int ms_layout_replicas(const ms_model_layout *layout);

/* Members of rank 0's ep group on its node.  members: scratch of the ep degree. */
int ms_layout_node_ranks(const ms_mesh *mesh, const ms_platform *platform, int *members);

#endif
