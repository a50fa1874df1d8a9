/* Rings over the members of a group: how many run side by side, and which links their edges cross.
 */
#ifndef MS_COLLECTIVE_RING_H
#define MS_COLLECTIVE_RING_H

#include "collective/crossings.h"

/* Lay rings through the `members` >= 2 GPUs of a request, node after node, and add the routes of
 * all their edges to `crossings`. Across nodes there are as many rings as the node with the fewest
 * members has members, but not more than NICs or `rings_max`: NCCL runs one per NIC. Ring j enters
 * each node at its j-th member, on a rail fabric over that member's rail. On a torus rings run
 * along its links where the group lies along whole dimensions (see ms_platform_rings). *rings_out:
 * rings laid,
 * >= 1. Returns MS_OK; MS_E_NOMEM. O(members * rings * links of a route). */
ms_status ms_rings_lay(const ms_coll_request *request, int rings_max, ms_arena *arena,
                       ms_crossings *crossings, int *rings_out);

#endif
