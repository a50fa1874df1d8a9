/* The edges of double binary trees of nodes (see tree.c). */
#ifndef MS_COLLECTIVE_TREE_H
#define MS_COLLECTIVE_TREE_H

#include "collective/crossings.h"
#include "collective/group_nodes.h"

/* Trees of a channel. */
enum { MS_TREES = 2 };

/* Add the routes of the edges of all channels' trees, in both directions.  has_chains: with the
 * chain through the members of each node.
 *  *depth_s_out: maximum over the trees of the latency up from the farthest member to the root and
 * down again, beyond the library's step latencies, at least 0 [s].  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_tree_add(const ms_node_order *order, bool has_chains, ms_crossings *crossings,
                      ms_arena *arena, double *depth_s_out);

#endif
