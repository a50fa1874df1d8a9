#include "collective/group_nodes.h"

#include <stdbool.h>
#include <string.h>

/* Merge two sorted runs next to each other, from[first..middle) and from[middle..end), into `to`.
 */
static void merge(const ms_platform *platform, const int *from, const int bounds[3], int *to) {
    int left = bounds[0];
    int right = bounds[1];
    for (int i = bounds[0]; i < bounds[2]; i++) {
        bool is_left =
            right == bounds[2] || (left < bounds[1] && ms_platform_node(platform, from[left]) <=
                                                           ms_platform_node(platform, from[right]));
        to[i] = is_left ? from[left++] : from[right++];
    }
}

static bool is_by_node(const ms_platform *platform, const int *gpus, int members) {
    bool is_sorted = true;
    for (int i = 1; i < members && is_sorted; i++) {
        is_sorted = ms_platform_node(platform, gpus[i - 1]) <= ms_platform_node(platform, gpus[i]);
    }
    return is_sorted;
}

/* Sort members by node, keeping their order inside a node. Groups mostly come sorted.  other:
 * [members].  Returns which of the two holds them then. */
static int *sort_by_node(const ms_platform *platform, int *gpus, int members, int *other) {
    int *from = gpus, *to = other;
    for (int length = 1; length < members && !is_by_node(platform, from, members); length *= 2) {
        for (int first = 0; first < members; first += 2 * length) {
            int middle = members - first < length ? members : first + length;
            int end = members - first < 2 * length ? members : first + 2 * length;
            merge(platform, from, (const int[3]){first, middle, end}, to);
        }
        int *sorted = to;
        to = from;
        from = sorted;
    }
    return from;
}

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

ms_status ms_node_order_find(const ms_platform *platform, const int *gpus, int members,
                             ms_arena *arena, ms_node_order *order_out) {
    ms_node_order order = {.gpus = MS_NEW(arena, int, members),
                           .runs = MS_NEW(arena, ms_node_run, members)};
    int *other = MS_NEW(arena, int, members);
    if (order.gpus == NULL || order.runs == NULL || other == NULL) {
        return MS_E_NOMEM;
    }
    memcpy(order.gpus, gpus, (size_t)members * sizeof *gpus);
    order.gpus = sort_by_node(platform, order.gpus, members, other);
    for (int i = 0; i < members; i++) {
        if (i == 0 || ms_platform_node(platform, order.gpus[i]) !=
                          ms_platform_node(platform, order.gpus[i - 1])) {
            order.runs[order.count++] = (ms_node_run){.first = i};
        }
        order.runs[order.count - 1].count++;
    }
    order.is_paired = platform->tiers[0].is_paired;
    order.channels = count_channels(platform, &order);
    *order_out = order;
    return MS_OK;
}
