/* The members of a group, node by node. */
#ifndef MS_COLLECTIVE_NODES_H
#define MS_COLLECTIVE_NODES_H

#include "meshsim/arena.h"
#include "meshsim/platform.h"

/* The members that sit on one node, in group order. */
typedef struct ms_node_run {
    int first;
    int count;
} ms_node_run;

/* A group sorted by node. Across nodes it is laid out in as many channels side by side as the node
 * with the fewest members has members, but not more than a node has NICs: NCCL runs one per NIC. */
typedef struct ms_node_order {
    int *gpus;         /* [members] node after node, in group order inside each */
    ms_node_run *runs; /* [count] members of each node */
    int count;         /* nodes */
    int channels;      /* 1 on a single node */
} ms_node_order;

/* Sort `members` >= 1 GPUs by node.  *order_out: in `arena`.  Returns MS_OK; MS_E_NOMEM.
 * O(members) where the members come node by node, O(members log members) elsewhere. */
ms_status ms_node_order_find(const ms_platform *platform, const int *gpus, int members,
                             ms_arena *arena, ms_node_order *order_out);

/* The `place`-th member of a node in a channel, which enters the node at the member of its own
 * number. */
static inline int ms_node_order_gpu(const ms_node_order *order, int node, int channel, int place) {
    const ms_node_run *run = &order->runs[node];
    return order->gpus[run->first + (channel + place) % run->count];
}

#endif
