/* Rings over the members of a group: how many run side by side, and which links their edges cross.
 */
#ifndef MS_COLLECTIVE_RING_H
#define MS_COLLECTIVE_RING_H

#include "meshsim/collective.h"

typedef struct ms_ring_layout {
    int rings; /* rings side by side, each with 1/rings of the data, >= 1 */
    ms_flow_link
        *links; /* [link_count] links of all edges of all rings with their crossings, sorted */
    int link_count;
    double edge_latency_s; /* mean latency of an edge: a chunk passes every edge once per round */
    int tier;              /* outermost tier crossed */
} ms_ring_layout;

/* Lay rings through `members` >= 2 GPUs in group order, node after node. Across nodes there are as
 * many rings as the node with the fewest members has members: NCCL runs one per NIC. Ring j starts
 * each node at its j-th member, so it leaves by another NIC. Returns MS_OK; MS_E_NOMEM. O(members *
 * rings * links of a route). */
ms_status ms_ring_layout_build(const ms_platform *platform, const int *gpus, int members,
                               ms_arena *arena, ms_ring_layout *layout_out);

#endif
