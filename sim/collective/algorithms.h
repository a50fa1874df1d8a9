/* The functions that lay collectives out, each in a file of its own: the `plan` of the rows of the
 * table in algorithms.c (see ms_coll_algorithm_row for what they are given and return). */
#ifndef MS_COLLECTIVE_ALGORITHMS_H
#define MS_COLLECTIVE_ALGORITHMS_H

#include "collective/collective.h"

/* One message from source to destination. */
ms_status ms_p2p_plan(const ms_platform *platform, const ms_coll_request *request, ms_arena *arena,
                      ms_coll_plan *plan);

/* All-to-all: every member sends to every other one, or to one member on each node, which forwards
 * (see all_to_all.c). */
ms_status ms_exchange_plan(const ms_platform *platform, const ms_coll_request *request,
                           ms_arena *arena, ms_coll_plan *plan);
/* Whether an all-to-all has few enough members to be laid out. */
bool ms_exchange_applies(const ms_platform *platform, const ms_coll_request *request);

/* All-reduce, reduce-scatter and all-gather on rings. Between nodes, as many rings run in parallel
 * as there are channels (see group_nodes.h); ring j enters each node at its j-th member, on a rail
 * fabric over the rail of this member. On a torus, rings run along its links where the group spans
 * whole dimensions (see ms_platform_rings).  O(members * rings * links of a route). */
ms_status ms_ring_plan(const ms_platform *platform, const ms_coll_request *request, ms_arena *arena,
                       ms_coll_plan *plan);

/* Ring shift: every member sends its whole buffer to the next member of a single ring, all at the
 * same time. */
ms_status ms_shift_plan(const ms_platform *platform, const ms_coll_request *request,
                        ms_arena *arena, ms_coll_plan *plan);

/* All-reduce over double binary trees of nodes, up and down, with a chain inside each node (see
 * tree.c). O(members * channels * links of a route). */
ms_status ms_tree_plan(const ms_platform *platform, const ms_coll_request *request, ms_arena *arena,
                       ms_coll_plan *plan);

/* Collectives that switches reduce: NVLink's inside a node, with trees between nodes, or the
 * network's (see nvls.c). O(members * links of a route). */
ms_status ms_nvls_plan(const ms_platform *platform, const ms_coll_request *request, ms_arena *arena,
                       ms_coll_plan *plan);

/* All-gather and reduce-scatter in log2(n) rounds among nodes of one member each (see pat.c).
 * O(members * log(members)). */
ms_status ms_pat_plan(const ms_platform *platform, const ms_coll_request *request, ms_arena *arena,
                      ms_coll_plan *plan);

#endif
