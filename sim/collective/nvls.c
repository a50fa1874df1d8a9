/* Lays out collectives that switches reduce (ms_nvls_plan): NVLS, NVLSTree, CollNetDirect and
 * CollNetChain.
 *
 * Inside a node, NVLink switches reduce and multicast (NVLS): a GPU reads values that the switch
 * has reduced over all GPUs, and what it writes the switch copies to all. So in an all-reduce of n
 * GPUs, every link of a GPU carries the buffer once and an n-th part of it once more, in each
 * direction. Between nodes, the members of a rail reduce their part over two trees of nodes, up and
 * down at the same time (NVLSTree); or the network's switches reduce, to which one member per NIC
 * sends its part once and from which it receives the result (NVLS with SHARP, CollNet). CollNet's
 * parts get to that member over NVLink, directly from all others or along a chain; either way,
 * every member sends and receives as much as in a ring. Source: NVIDIA/nccl, device code of NVLS,
 * NVLSTree, CollNetDirect and CollNetChain. */

#include "collective/algorithms.h"
#include "collective/group_nodes.h"
#include "collective/library_tuning.h"
#include "collective/step_fidelity.h"
#include "collective/tree.h"

/* A collective while it is laid out. */
typedef struct nvls_layout {
    const ms_coll_request *request;
    ms_arena *arena;
    ms_node_order order;
    ms_tuned tuned;
    ms_crossings inside, between; /* routes inside nodes and between nodes */
    double inside_B;              /* bytes across each link of a GPU to its node's switches [B] */
    double between_B;             /* bytes along each edge of a tree, or through each port [B] */
} nvls_layout;

/* Number of steps in fidelity `step`: chunks of the buffer. */
static int steps_of(const nvls_layout *l) {
    return ms_steps_of_chunks(l->inside.platform, l->request->size_B);
}

/* Add every link of every member to its node's switches once, up and down: as the routes of a ring
 * through the node. */
static void add_node_links(const ms_node_order *order, ms_crossings *crossings) {
    for (int node = 0; node < order->count; node++) {
        int count = order->runs[node].count;
        for (int i = 0; i < count; i++) {
            ms_crossings_add(crossings, ms_node_order_gpu(order, node, 0, i),
                             ms_node_order_gpu(order, node, 0, (i + 1) % count));
        }
    }
}

/* Plan the collective step by step: in every step, the links inside nodes and those between nodes
 * carry one chunk each. Their messages differ in bytes, and so are two families: 0 inside nodes, 1
 * between nodes. */
static ms_status plan_steps(const nvls_layout *l, double latency_s, ms_coll_plan *plan) {
    size_t inside = l->inside.messages.count;
    size_t count = inside + l->between.messages.count;
    ms_message *messages = MS_NEW(l->arena, ms_message, count);
    if (messages == NULL || l->inside.messages.failed || l->between.messages.failed) {
        return MS_E_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        messages[i] = i < inside ? MS_AT(&l->inside.messages, ms_message, i)
                                 : MS_AT(&l->between.messages, ms_message, i - inside);
        messages[i].family = i < inside ? 0 : 1;
    }
    const ms_step_messages all = {.messages = messages,
                                  .count = (int)count,
                                  .message_B = {l->inside_B, l->between_B},
                                  .slowness = {l->inside.slowness, l->between.slowness}};
    return ms_steps_repeat(l->inside.platform, &all, steps_of(l), latency_s, l->arena, plan);
}

/* Plan the collective as one phase with two flows, one inside nodes and one between nodes, which
 * run at the same time. kind 1 of the second flow tells the two apart. */
static ms_status plan_flows(nvls_layout *l, double latency_s, ms_coll_plan *plan) {
    ms_coll_plan trees = {.tier = -1};
    ms_flow *flows = MS_NEW(l->arena, ms_flow, 2);
    if (flows == NULL) {
        return MS_E_NOMEM;
    }
    ms_status status = ms_crossings_plan(&l->inside, l->inside_B, latency_s, l->arena, plan);
    status = status == MS_OK ? ms_crossings_plan(&l->between, l->between_B, 0.0, l->arena, &trees)
                             : status;
    if (status != MS_OK) {
        return status;
    }
    flows[0] = plan->phases[0].flows[0];
    flows[1] = trees.phases[0].flows[0];
    flows[1].kind = 1;
    plan->phases[0].flows = flows;
    plan->phases[0].count = 2;
    plan->tier = trees.tier;
    return MS_OK;
}

/* Add the links of the network's switches that reduce (SHARP): those of a ring through one member
 * per channel and node. Switches send one copy up from each leaf switch and one down to it, which
 * is the load of such a ring. */
static void add_switch_links(nvls_layout *l) {
    const ms_node_order *order = &l->order;
    for (int channel = 0; channel < order->channels; channel++) {
        for (int node = 0; node < order->count; node++) {
            int next = (node + 1) % order->count;
            ms_crossings_add(&l->between, ms_node_order_gpu(order, node, channel, 0),
                             ms_node_order_gpu(order, next, channel, 0));
        }
    }
}

/* Add the routes between nodes: trees of NVLSTree, or the network's switches. *links_s_out: latency
 * of these routes beyond the library's step latencies [s]. */
static ms_status add_between(nvls_layout *l, double *links_s_out) {
    l->between_B = l->request->size_B / l->order.channels;
    if (l->request->algorithm == MS_ALGORITHM_NVLS_TREE) {
        l->between_B /= MS_TREES;
        return ms_tree_add(&l->order, false, &l->between, l->arena, links_s_out);
    }
    add_switch_links(l);
    *links_s_out = l->between.latency_max_s;
    return MS_OK;
}

/* Plan a collective of several nodes, whose routes inside nodes have been added; the routes between
 * nodes are added here. At fidelity `step` the steps are laid out one by one or, if the request is
 * coarse, the flows of the whole collective are split into steps. */
static ms_status plan_with_network(nvls_layout *l, ms_coll_plan *plan) {
    double links_s = 0.0;
    ms_status status = add_between(l, &links_s);
    double latency_s = ms_tuned_latency_s(&l->tuned, links_s);
    if (status != MS_OK) {
        return status;
    }
    if (l->request->is_stepped && !l->request->is_coarse) {
        return plan_steps(l, latency_s, plan);
    }
    status = plan_flows(l, latency_s, plan);
    bool is_split = status == MS_OK && l->request->is_stepped;
    return is_split ? ms_steps_split(steps_of(l), l->arena, plan) : status;
}

/* Number of times that the buffer's bytes cross each link of a GPU to its node's switches: in an
 * all-reduce by NVLS once and a share, by CollNet as in a ring; in other collectives once. */
static double copies_inside(const nvls_layout *l) {
    double node = l->order.runs[0].count; /* members of a node; all nodes have equally many */
    if (l->request->kind != MS_COLL_ALL_REDUCE) {
        return 1.0;
    }
    bool is_nvls = l->request->algorithm == MS_ALGORITHM_NVLS ||
                   l->request->algorithm == MS_ALGORITHM_NVLS_TREE;
    return is_nvls ? 1.0 + 1.0 / node : 2.0 * (node - 1.0) / node;
}

/* Plan the collective: inside its one node, or inside and between several nodes. */
static ms_status plan_all(nvls_layout *l, ms_coll_plan *plan) {
    double n = l->request->members;
    double size_B = l->request->size_B;
    bool is_all_reduce = l->request->kind == MS_COLL_ALL_REDUCE;
    l->inside_B = copies_inside(l) * size_B;
    plan->sent_B = is_all_reduce ? size_B : (n - 1.0) / n * size_B;
    if (l->order.count < l->request->members) { /* nodes of one member have nothing to gather */
        add_node_links(&l->order, &l->inside);
    }
    if (l->order.count > 1) {
        return plan_with_network(l, plan);
    }
    return ms_steps_plan(&l->inside, l->inside_B,
                         ms_tuned_latency_s(&l->tuned, l->inside.latency_max_s), steps_of(l),
                         l->arena, plan);
}

/* Lay out a collective that switches reduce. Routes inside nodes and between nodes are collected
 * apart, as their links carry different bytes. Inside nodes bytes have the slowness of the
 * library's share; between nodes they reach the full bandwidth. */
ms_status ms_nvls_plan(const ms_platform *platform, const ms_coll_request *request, ms_arena *arena,
                       ms_coll_plan *plan) {
    nvls_layout l = {.request = request, .arena = arena};
    ms_status status = ms_tuned_find(platform, request, &l.inside, &l.tuned);
    ms_crossings_init(&l.between, platform, request);
    l.between.node_step_s = l.inside.node_step_s;
    l.between.net_step_s = l.inside.net_step_s;
    status = status == MS_OK
                 ? ms_node_order_find(platform, request->gpus, request->members, arena, &l.order)
                 : status;
    status = status == MS_OK ? plan_all(&l, plan) : status;
    ms_crossings_release(&l.inside);
    ms_crossings_release(&l.between);
    return status;
}
