#include "collective/ring.h"

#include <string.h>

#include "collective/nodes.h"

/* Member at place `index` of ring `ring`: inside each node the order is rotated by the ring's
 * number. */
static void lay_ring(const int *gpus, const ms_node_run *runs, int run_count, int ring,
                     int *order) {
    int place = 0;
    for (int r = 0; r < run_count; r++) {
        for (int i = 0; i < runs[r].count; i++) {
            order[place++] = gpus[runs[r].first + (ring + i) % runs[r].count];
        }
    }
}

static int count_rings(const ms_platform *platform, const ms_node_run *runs, int run_count) {
    if (run_count == 1) {
        return 1;
    }
    int rings = platform->nics_per_node > 0 ? platform->nics_per_node : 1;
    for (int r = 0; r < run_count; r++) {
        rings = runs[r].count < rings ? runs[r].count : rings;
    }
    return rings;
}

static void add_edges(const int *order, int members, ms_crossings *crossings) {
    for (int i = 0; i < members; i++) {
        ms_crossings_add(crossings, order[i], order[(i + 1) % members]);
    }
}

/* Rings in orders that the platform has for the group. *rings_out: 0 where it has none. */
static ms_status lay_along_links(const ms_coll_request *request, int rings_max, ms_arena *arena,
                                 ms_crossings *crossings, int *rings_out) {
    ms_ring_orders orders;
    ms_status status =
        ms_platform_rings(crossings->platform, request->gpus, request->members, arena, &orders);
    if (status != MS_OK) {
        return status;
    }
    int rings = orders.rings < rings_max ? orders.rings : rings_max;
    for (int ring = 0; ring < rings; ring++) {
        add_edges(orders.gpus + (size_t)ring * (size_t)request->members, request->members,
                  crossings);
    }
    *rings_out = rings;
    return MS_OK;
}

ms_status ms_rings_lay(const ms_coll_request *request, int rings_max, ms_arena *arena,
                       ms_crossings *crossings, int *rings_out) {
    int members = request->members;
    int along_links = 0;
    ms_status status = lay_along_links(request, rings_max, arena, crossings, &along_links);
    if (status != MS_OK || along_links > 0) {
        *rings_out = along_links;
        return status;
    }
    int *sorted = MS_NEW(arena, int, members);
    int *order = MS_NEW(arena, int, members);
    ms_node_run *runs = MS_NEW(arena, ms_node_run, members);
    if (sorted == NULL || order == NULL || runs == NULL) {
        return MS_E_NOMEM;
    }
    memcpy(sorted, request->gpus, (size_t)members * sizeof *sorted);
    int run_count = ms_node_runs_find(crossings->platform, sorted, members, runs);
    int rings = count_rings(crossings->platform, runs, run_count);
    rings = rings < rings_max ? rings : rings_max;
    for (int ring = 0; ring < rings; ring++) {
        lay_ring(sorted, runs, run_count, ring, order);
        add_edges(order, members, crossings);
    }
    *rings_out = rings;
    return MS_OK;
}
