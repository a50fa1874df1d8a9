/* The members of a group, node by node. */
#ifndef MS_COLLECTIVE_GROUP_NODES_H
#define MS_COLLECTIVE_GROUP_NODES_H

#include <limits.h>
#include <math.h>

#include "base/arena.h"
#include "cluster/platform/platform.h"

/* The members on one node, in group order. */
typedef struct ms_node_run {
    int first; /* index of the first of them in ms_node_order.gpus */
    int count;
} ms_node_run;

/* A group sorted by node. Between nodes, a collective runs on as many parallel channels as the node
 * with the fewest members has members, but at most as many as a node has NICs: NCCL runs one
 * channel per NIC. */
typedef struct ms_node_order {
    int *gpus;         /* [members] node after node, in group order inside each */
    ms_node_run *runs; /* [count] members of each node */
    int count;         /* nodes */
    int channels;   /* number of channels: between nodes as above; 1 on a single node with a switch.
                       Where the GPUs of nodes are wired in pairs, twice as many between nodes, and
                       twice the number of members on a single node */
    bool is_paired; /* the GPUs of a node are wired in pairs, without a switch */
} ms_node_order;

/* Sort `members` >= 1 GPUs by node.  *order_out: in `arena`.  Returns MS_OK; MS_E_NOMEM.
 * O(members) where the members come node by node, O(members log members) elsewhere. */
ms_status ms_node_order_find(const ms_platform *platform, const int *gpus, int members,
                             ms_arena *arena, ms_node_order *order_out);

/* Maximum number of channels for a collective of size_B bytes: each channel carries whole units of
 * 16 bytes.  Source: NVIDIA/nccl, src/enqueue.cc, whose cells are multiples of 16 bytes. */
static inline int ms_channels_at_most(double size_B) {
    return (int)fmin(INT_MAX, fmax(1.0, ceil(size_B / 16.0)));
}

/* GPU of the `index`-th member of a node along a channel, from 0. Channel c enters the node at its
 * c-th member, and goes on in group order. Where the GPUs of nodes are wired in pairs, a channel
 * goes through the node in a zigzag around its first member, 0, 1, -1, 2, -2, ..., and the second
 * half of the channels in its mirror image, so that with twice as many channels as members each
 * link between two members is crossed equally often.  Source: as for ms_switches_rings
 * (cluster/platform/switches/pairs.c). */
static inline int ms_node_order_gpu(const ms_node_order *order, int node, int channel, int index) {
    const ms_node_run *run = &order->runs[node];
    if (order->is_paired) {
        bool is_mirrored = channel >= order->channels / 2;
        int step = (index + 1) / 2 * ((index % 2 == 1) != is_mirrored ? 1 : -1);
        int enter = channel % (order->channels / 2);
        return order->gpus[run->first + (enter + step + run->count) % run->count];
    }
    return order->gpus[run->first + (channel + index) % run->count];
}

#endif
