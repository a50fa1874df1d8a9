/* Sorts the members of a group by node (ms_node_order_find), for the algorithms that treat the
 * members of a node together, and finds the number of channels: NCCL's parallel rings or trees,
 * which carry a share of the bytes each. */
#include "collective/group_nodes.h"

#include <stdbool.h>
#include <stdlib.h>

/* A member of a group: its node, its index in the group, and its GPU. */
typedef struct member {
    int node, index, gpu;
} member;

/* Order of two members for qsort: by node, and by index in the group inside a node. */
static int by_node(const void *a, const void *b) {
    const member *x = a, *y = b;
    return x->node != y->node ? (x->node > y->node) - (x->node < y->node)
                              : (x->index > y->index) - (x->index < y->index);
}

/* Number of channels of a group (ms_node_order.channels). */
static int count_channels(const ms_platform *platform, const ms_node_order *order) {
    if (order->count == 1) {
        return platform->tiers[0].is_paired ? 2 * order->runs[0].count : 1;
    }
    int channels = platform->nics_per_node > 0 ? platform->nics_per_node : 1;
    for (int node = 0; node < order->count; node++) {
        channels = order->runs[node].count < channels ? order->runs[node].count : channels;
    }
    return platform->tiers[0].is_paired ? 2 * channels : channels;
}

/* Sort the members of a group by node, into runs of one node each, and find the number of channels.
 */
ms_status ms_node_order_find(const ms_platform *platform, const int *gpus, int members,
                             ms_arena *arena, ms_node_order *order_out) {
    ms_node_order order = {.gpus = MS_NEW(arena, int, members),
                           .runs = MS_NEW(arena, ms_node_run, members)};
    member *sorted = MS_NEW(arena, member, members);
    if (order.gpus == NULL || order.runs == NULL || sorted == NULL) {
        return MS_E_NOMEM;
    }
    bool is_sorted = true; /* most groups come in the order of nodes */
    for (int i = 0; i < members; i++) {
        sorted[i] = (member){ms_platform_node(platform, gpus[i]), i, gpus[i]};
        is_sorted = is_sorted && (i == 0 || sorted[i - 1].node <= sorted[i].node);
    }
    if (!is_sorted) {
        qsort(sorted, (size_t)members, sizeof *sorted, by_node);
    }
    for (int i = 0; i < members; i++) {
        order.gpus[i] = sorted[i].gpu;
        if (i == 0 || sorted[i].node != sorted[i - 1].node) {
            order.runs[order.count++] = (ms_node_run){.first = i};
        }
        order.runs[order.count - 1].count++;
    }
    order.is_paired = platform->tiers[0].is_paired;
    order.channels = count_channels(platform, &order);
    *order_out = order;
    return MS_OK;
}
