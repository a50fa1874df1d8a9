#include "collective/ring.h"

#include <stdlib.h>

#include "meshsim/buffer.h"

/* The members that sit on one node, in group order. */
typedef struct node_run {
    int first;
    int count;
} node_run;

/* Sort members by node, keeping their order inside a node, and find the runs. */
static int find_runs(const ms_platform *platform, int *gpus, int members, node_run *runs) {
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
    int count = 0;
    for (int i = 0; i < members; i++) {
        if (i == 0 ||
            ms_platform_node(platform, gpus[i]) != ms_platform_node(platform, gpus[i - 1])) {
            runs[count++] = (node_run){.first = i};
        }
        runs[count - 1].count++;
    }
    return count;
}

/* Member at place `index` of ring `ring`: inside each node the order is rotated by the ring's
 * number. */
static void lay_ring(const int *gpus, const node_run *runs, int run_count, int ring, int *order) {
    int place = 0;
    for (int r = 0; r < run_count; r++) {
        for (int i = 0; i < runs[r].count; i++) {
            order[place++] = gpus[runs[r].first + (ring + i) % runs[r].count];
        }
    }
}

static int by_link(const void *a, const void *b) {
    int32_t x = ((const ms_flow_link *)a)->link;
    int32_t y = ((const ms_flow_link *)b)->link;
    return (x > y) - (x < y);
}

/* Sort crossings and add up those of the same link. */
static ms_status merge_links(ms_vector *crossings, ms_arena *arena, ms_ring_layout *layout) {
    if (crossings->failed) {
        return MS_E_NOMEM;
    }
    ms_flow_link *all = crossings->data;
    if (crossings->count > 1) {
        qsort(all, crossings->count, sizeof *all, by_link);
    }
    int unique = 0;
    for (size_t i = 0; i < crossings->count; i++) {
        if (unique > 0 && all[unique - 1].link == all[i].link) {
            all[unique - 1].weight += all[i].weight;
        } else {
            all[unique++] = all[i];
        }
    }
    layout->links = MS_NEW(arena, ms_flow_link, unique);
    if (layout->links == NULL) {
        return MS_E_NOMEM;
    }
    for (int i = 0; i < unique; i++) {
        layout->links[i] = all[i];
    }
    layout->link_count = unique;
    return MS_OK;
}

/* Collect the links of one ring's edges; returns the sum of its edges' latencies. */
static double collect_edges(const ms_platform *platform, const int *order, int members,
                            ms_vector *crossings, int *tier) {
    double latency_s = 0.0;
    for (int i = 0; i < members; i++) {
        ms_route route;
        ms_platform_route(platform, order[i], order[(i + 1) % members], &route);
        for (int l = 0; l < route.count; l++) {
            ms_vector_add(crossings, &(ms_flow_link){.link = route.links[l], .weight = 1}, 1);
        }
        latency_s += route.latency_s;
        *tier = route.tier > *tier ? route.tier : *tier;
    }
    return latency_s;
}

static int count_rings(const ms_platform *platform, const node_run *runs, int run_count) {
    if (run_count == 1) {
        return 1;
    }
    int rings = platform->nics_per_node > 0 ? platform->nics_per_node : 1;
    for (int r = 0; r < run_count; r++) {
        rings = runs[r].count < rings ? runs[r].count : rings;
    }
    return rings;
}

ms_status ms_ring_layout_build(const ms_platform *platform, const int *gpus, int members,
                               ms_arena *arena, ms_ring_layout *layout_out) {
    int *sorted = MS_NEW(arena, int, members);
    int *order = MS_NEW(arena, int, members);
    node_run *runs = MS_NEW(arena, node_run, members);
    if (sorted == NULL || order == NULL || runs == NULL) {
        return MS_E_NOMEM;
    }
    for (int i = 0; i < members; i++) {
        sorted[i] = gpus[i];
    }
    int run_count = find_runs(platform, sorted, members, runs);
    ms_ring_layout layout = {.tier = -1};
    layout.rings = count_rings(platform, runs, run_count);
    ms_vector crossings;
    ms_vector_init(&crossings, sizeof(ms_flow_link));
    double latency_s = 0.0;
    for (int ring = 0; ring < layout.rings; ring++) {
        lay_ring(sorted, runs, run_count, ring, order);
        latency_s += collect_edges(platform, order, members, &crossings, &layout.tier);
    }
    layout.edge_latency_s = latency_s / (double)members / layout.rings;
    ms_status status = merge_links(&crossings, arena, &layout);
    ms_vector_release(&crossings);
    if (status == MS_OK) {
        *layout_out = layout;
    }
    return status;
}
