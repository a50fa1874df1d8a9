/* Lays out collectives on rings: all-reduce, reduce-scatter, all-gather (ms_ring_plan) and ring
 * shifts (ms_shift_plan). Several rings run in parallel, one per channel, and each carries an equal
 * share of the bytes. All edges run at the rate of the slowest one, so the rings are one flow over
 * the links of all edges. */
#include <limits.h>
#include <math.h>

#include "collective/algorithms.h"
#include "collective/crossings.h"
#include "collective/group_nodes.h"
#include "collective/library_tuning.h"
#include "collective/nccl.h"
#include "collective/step_fidelity.h"

/* Add the routes of a ring's edges. order: [members] GPUs in the order of the ring. */
static void add_edges(const int *order, int members, ms_crossings *crossings) {
    for (int i = 0; i < members; i++) {
        ms_crossings_add(crossings, order[i], order[(i + 1) % members]);
    }
}

/* Add rings in the orders that the platform has for the group, as on a torus, where rings run along
 * its links. *rings_out: number of rings; 0 where the platform has no such orders. */
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

/* Add one ring per channel, at most rings_max: it goes through all members of a node, from the
 * member at which the channel enters, and then to the next node. *rings_out: number of rings. */
static ms_status lay_through_nodes(const ms_coll_request *request, int rings_max, ms_arena *arena,
                                   ms_crossings *crossings, int *rings_out) {
    ms_node_order nodes;
    int *order = MS_NEW(arena, int, request->members);
    ms_status status = order == NULL ? MS_E_NOMEM
                                     : ms_node_order_find(crossings->platform, request->gpus,
                                                          request->members, arena, &nodes);
    if (status != MS_OK) {
        return status;
    }
    int rings = nodes.channels < rings_max ? nodes.channels : rings_max;
    for (int ring = 0; ring < rings && status == MS_OK; ring++) {
        int position = 0;
        for (int node = 0; node < nodes.count; node++) {
            for (int i = 0; i < nodes.runs[node].count; i++) {
                order[position++] = ms_node_order_gpu(&nodes, node, ring, i);
            }
        }
        add_edges(order, request->members, crossings);
    }
    *rings_out = rings;
    return status;
}

/* Add rings through all members of the group to `crossings`. *rings_out: number of rings,
 * 1..rings_max. */
static ms_status lay_rings(const ms_coll_request *request, int rings_max, ms_arena *arena,
                           ms_crossings *crossings, int *rings_out) {
    ms_status status = lay_along_links(request, rings_max, arena, crossings, rings_out);
    if (status != MS_OK || *rings_out > 0) {
        return status;
    }
    return lay_through_nodes(request, rings_max, arena, crossings, rings_out);
}

/* Lay out an all-reduce, reduce-scatter or all-gather on bandwidth-optimal rings: each chunk
 * crosses n-1 edges, twice as many for all-reduce. On its way a chunk has the latency of every
 * edge, so the latency of a step is the mean over the edges. Source: Thakur, Rabenseifner, Gropp,
 * IJHPCA 2005, ring algorithms. */
ms_status ms_ring_plan(const ms_platform *platform, const ms_coll_request *request, ms_arena *arena,
                       ms_coll_plan *plan) {
    ms_crossings crossings;
    ms_tuned tuned;
    int rings = 0;
    ms_status status = ms_tuned_find(platform, request, &crossings, &tuned);
    status = status == MS_OK ? lay_rings(request, ms_channels_at_most(request->size_B), arena,
                                         &crossings, &rings)
                             : status;
    if (status == MS_OK) {
        double n = request->members;
        double passes = (n - 1.0) * (request->kind == MS_COLL_ALL_REDUCE ? 2.0 : 1.0);
        double links_s = passes * crossings.latency_sum_s / crossings.routes;
        plan->sent_B = passes / n * request->size_B;
        int steps = (int)fmin(passes, MS_STEPS_MAX);
        status = ms_steps_plan(&crossings, plan->sent_B / rings,
                               ms_tuned_latency_s(&tuned, links_s), steps, arena, plan);
    }
    ms_crossings_release(&crossings);
    return status;
}

/* Lay out a ring shift: one ring, in which every member sends its buffer to the next member; the
 * slowest message decides the latency. */
ms_status ms_shift_plan(const ms_platform *platform, const ms_coll_request *request,
                        ms_arena *arena, ms_coll_plan *plan) {
    ms_crossings crossings;
    int rings = 0;
    ms_crossings_init(&crossings, platform, request);
    ms_status status = lay_rings(request, 1, arena, &crossings, &rings);
    if (status == MS_OK) {
        plan->sent_B = request->size_B;
        double latency_s = crossings.latency_max_s + ms_nccl_overhead_s(platform);
        status = ms_steps_plan(&crossings, request->size_B, latency_s, 1, arena, plan);
    }
    ms_crossings_release(&crossings);
    return status;
}
