/* Collectives that NVLink switches work out: a GPU fetches what the switch has reduced of all, and
 * what it sends the switch copies to all. So of an all-reduce of n, every link of a GPU carries the
 * buffer once and its n-th part once more, in each direction. Between nodes the members of a rail
 * reduce their part up and down two trees of nodes, at the same time.
 * Source: NVIDIA/nccl, device code of NVLS and NVLSTree. */
#include <math.h>

#include "collective/algorithms.h"
#include "collective/nodes.h"
#include "collective/tree.h"
#include "collective/tuned.h"

/* Every link of every member inside its node once, up and down. */
static void add_node_links(const ms_node_order *order, ms_crossings *crossings) {
    for (int node = 0; node < order->count; node++) {
        int count = order->runs[node].count;
        for (int i = 0; i < count; i++) {
            ms_crossings_add(crossings, ms_node_order_gpu(order, node, 0, i),
                             ms_node_order_gpu(order, node, 0, (i + 1) % count));
        }
    }
}

/* The trees between nodes as a second flow of the plan's phase; their latency is added. */
static ms_status add_trees(const ms_node_order *order, const ms_coll_request *request,
                           const ms_tuned *tuned, ms_crossings *crossings, ms_arena *arena,
                           ms_coll_plan *plan) {
    double depth_s = 0.0;
    ms_status status = ms_tree_add(order, false, crossings, arena, &depth_s);
    ms_coll_plan trees = {.tier = -1};
    if (status == MS_OK) {
        status = ms_crossings_plan(crossings, request->size_B / (MS_TREES * order->channels), 0.0,
                                   arena, &trees);
    }
    ms_flow *flows = status == MS_OK ? MS_NEW(arena, ms_flow, 2) : NULL;
    if (flows == NULL) {
        return status == MS_OK ? MS_E_NOMEM : status;
    }
    flows[0] = plan->phases[0].flows[0];
    flows[1] = trees.phases[0].flows[0];
    flows[1].kind = 1;
    plan->phases[0] =
        (ms_phase){.latency_s = ms_tuned_latency_s(tuned, depth_s), .flows = flows, .count = 2};
    plan->tier = trees.tier;
    return MS_OK;
}

ms_status ms_nvls_plan(const ms_platform *platform, const ms_coll_request *request, ms_arena *arena,
                       ms_coll_plan *plan) {
    ms_crossings inside, between;
    ms_tuned tuned;
    ms_node_order order;
    ms_status status = ms_tuned_find(platform, request, &inside, &tuned);
    ms_crossings_init(&between, platform);
    between.node_step_s = inside.node_step_s;
    between.net_step_s = inside.net_step_s;
    if (status == MS_OK) {
        status = ms_node_order_find(platform, request->gpus, request->members, arena, &order);
    }
    if (status == MS_OK) {
        bool is_all_reduce = request->kind == MS_COLL_ALL_REDUCE;
        double n = request->members;
        double copies = is_all_reduce ? 1.0 + 1.0 / order.runs[0].count : 1.0;
        add_node_links(&order, &inside);
        plan->sent_B = is_all_reduce ? request->size_B : (n - 1.0) / n * request->size_B;
        status = ms_crossings_plan(&inside, copies * request->size_B / tuned.share,
                                   ms_tuned_latency_s(&tuned, inside.latency_max_s), arena, plan);
    }
    if (status == MS_OK && request->algorithm == MS_ALGORITHM_NVLS_TREE) {
        status = add_trees(&order, request, &tuned, &between, arena, plan);
    }
    ms_crossings_release(&inside);
    ms_crossings_release(&between);
    return status;
}
