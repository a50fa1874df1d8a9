/* The ways to lay collectives out, each in a file of its own; the `plan` of rows of the table in
 * algorithms.c. */
#ifndef MS_COLLECTIVE_ALGORITHMS_H
#define MS_COLLECTIVE_ALGORITHMS_H

#include "collective/collective.h"

/* One message from source to destination. */
ms_status ms_p2p_plan(const ms_platform *platform, const ms_coll_request *request, ms_arena *arena,
                      ms_coll_plan *plan);

/* Every member to every other one, or by way of one on each node (see all_to_all.h). */
ms_status ms_exchange_plan(const ms_platform *platform, const ms_coll_request *request,
                           ms_arena *arena, ms_coll_plan *plan);
bool ms_exchange_applies(const ms_platform *platform, const ms_coll_request *request);

/* All-reduce, reduce-scatter and all-gather around rings. Across nodes as many run side by side as
 * there are channels (see group_nodes.h); ring j enters each node at its j-th member, on a rail
 * fabric over that member's rail. On a torus rings run along its links where the group lies along
 * whole dimensions (see ms_platform_rings).  O(members * rings * links of a route). */
ms_status ms_ring_plan(const ms_platform *platform, const ms_coll_request *request, ms_arena *arena,
                       ms_coll_plan *plan);

/* Every member sends its whole buffer to the next one of a single ring, all at once. */
ms_status ms_shift_plan(const ms_platform *platform, const ms_coll_request *request,
                        ms_arena *arena, ms_coll_plan *plan);

/* All-reduce up and down double binary trees of nodes, a chain inside each node (see tree.c).
 * O(members * channels * links of a route). */
ms_status ms_tree_plan(const ms_platform *platform, const ms_coll_request *request, ms_arena *arena,
                       ms_coll_plan *plan);

/* Where switches reduce: NVLink's inside a node with trees between several, or the network's (see
 * nvls.c).
 * O(members * links of a route). */
ms_status ms_nvls_plan(const ms_platform *platform, const ms_coll_request *request, ms_arena *arena,
                       ms_coll_plan *plan);

/* Log2(n) rounds among nodes of one member each (see pat.c).  O(members * log(members)). */
ms_status ms_pat_plan(const ms_platform *platform, const ms_coll_request *request, ms_arena *arena,
                      ms_coll_plan *plan);

#endif
