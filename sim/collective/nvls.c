/* Collectives that NVLink switches work out: a GPU fetches what the switch has reduced of all, and
 * what it sends the switch copies to all. So of an all-reduce of n, every link of a GPU carries the
 * buffer once and its n-th part once more, in each direction. Between nodes the members of a rail
 * reduce their part up and down two trees of nodes, at the same time; or the network's switches do,
 * to which one member on each NIC sends its part once and gets it back (NVLS with SHARP, CollNet).
 * CollNet's parts come to that member over NVLink, straight from all others or along a chain:
 * either way every member sends and gets what a ring would have it send. Source: NVIDIA/nccl,
 * device code of NVLS, NVLSTree, CollNetDirect and CollNetChain. */

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
    ms_crossings inside, between;
    double inside_B, between_B; /* across each link of a GPU; along each edge of a tree */
} nvls_layout;

static int steps_of(const nvls_layout *l) {
    return ms_steps_of_chunks(l->inside.platform, l->request->size_B);
}

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

/* Lay the operation out step by step: in every step the switches inside nodes and the trees between
 * nodes carry the same chunks. */
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

/* Both directions as two flows of one phase. */
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

/* The ports of the members that a channel's parts enter and leave the network by. Switches that
 * reduce pass one copy up from each leaf and one down to it, as a ring through them does. */
static void add_ports(nvls_layout *l) {
    const ms_node_order *order = &l->order;
    for (int channel = 0; channel < order->channels; channel++) {
        for (int node = 0; node < order->count; node++) {
            int next = (node + 1) % order->count;
            ms_crossings_add(&l->between, ms_node_order_gpu(order, node, channel, 0),
                             ms_node_order_gpu(order, next, channel, 0));
        }
    }
}

/* What happens between nodes: trees, or the network's switches. *links_s_out: latency of its links
 * beyond the library's. */
static ms_status add_between(nvls_layout *l, double *links_s_out) {
    l->between_B = l->request->size_B / l->order.channels;
    if (l->request->algorithm == MS_ALGORITHM_NVLS_TREE) {
        l->between_B /= MS_TREES;
        return ms_tree_add(&l->order, false, &l->between, l->arena, links_s_out);
    }
    add_ports(l);
    *links_s_out = l->between.latency_max_s;
    return MS_OK;
}

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

/* How often the buffer crosses each link of a GPU to its node's switches. */
static double copies_inside(const nvls_layout *l) {
    double node = l->order.runs[0].count;
    if (l->request->kind != MS_COLL_ALL_REDUCE) {
        return 1.0;
    }
    bool is_nvls = l->request->algorithm == MS_ALGORITHM_NVLS ||
                   l->request->algorithm == MS_ALGORITHM_NVLS_TREE;
    return is_nvls ? 1.0 + 1.0 / node : 2.0 * (node - 1.0) / node;
}

/* Lay out what nodes do, then what is between several. */
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
