#include "collective/nodes.h"

#include <string.h>

/* Sort members by node, keeping their order inside a node. */
static void sort_by_node(const ms_platform *platform, int *gpus, int members) {
    /* insertion by node is stable; groups come almost sorted, so this is close to linear */
    for (int i = 1; i < members; i++) {
        int gpu = gpus[i];
        int node = ms_platform_node(platform, gpu);
        int j = i;
        while (j > 0 && ms_platform_node(platform, gpus[j - 1]) > node) {
            gpus[j] = gpus[j - 1];
            j--;
        }
        gpus[j] = gpu;
    }
}

static int count_channels(const ms_platform *platform, const ms_node_order *order) {
    if (order->count == 1) {
        return 1;
    }
    int channels = platform->nics_per_node > 0 ? platform->nics_per_node : 1;
    for (int node = 0; node < order->count; node++) {
        channels = order->runs[node].count < channels ? order->runs[node].count : channels;
    }
    return channels;
}

ms_status ms_node_order_find(const ms_platform *platform, const int *gpus, int members,
                             ms_arena *arena, ms_node_order *order_out) {
    ms_node_order order = {.gpus = MS_NEW(arena, int, members),
                           .runs = MS_NEW(arena, ms_node_run, members)};
    if (order.gpus == NULL || order.runs == NULL) {
        return MS_E_NOMEM;
    }
    memcpy(order.gpus, gpus, (size_t)members * sizeof *gpus);
    sort_by_node(platform, order.gpus, members);
    for (int i = 0; i < members; i++) {
        if (i == 0 || ms_platform_node(platform, order.gpus[i]) !=
                          ms_platform_node(platform, order.gpus[i - 1])) {
            order.runs[order.count++] = (ms_node_run){.first = i};
        }
        order.runs[order.count - 1].count++;
    }
    order.channels = count_channels(platform, &order);
    *order_out = order;
    return MS_OK;
}
