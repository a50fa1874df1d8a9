/* All-reduce over double binary trees, as NCCL lays them. In each channel the members of a node
 * form a chain, and the heads of all chains are the nodes of two binary trees. The second tree is
 * the mirror image of the first (or, for an odd number of nodes, shifted by one node), so that a
 * node which forwards in one tree is a leaf in the other. Each tree reduces half of a channel's
 * bytes up to its root and sends the result down again. Chunks are pipelined, so both directions
 * run at the same time, at the rate of the slowest edge, and all edges are one flow. Source:
 * Sanders, Speck, Traeff, Parallel Computing 35 (2009), two-tree algorithms; NCCL
 * src/graph/trees.cc, and src/graph/connect.cc with NCCL_TOPO_PATTERN_TREE: one GPU of a node holds
 * the edges to its parent and its children. */
#include "collective/tree.h"

#include <math.h>

#include "collective/algorithms.h"
#include "collective/library_tuning.h"
#include "collective/step_fidelity.h"

/* A node in one tree: its parent, and the one-way latencies of its edge to the parent and of its
 * whole chain [s]. */
typedef struct tree_node {
    int parent; /* -1: the root */
    double up_s, down_s;
    double chain_up_s, chain_down_s;
} tree_node;

/* The parent of a node in a binary tree of `count` nodes with root 0, whose odd nodes are leaves;
 * -1 for the root. The parent's lowest set bit is one higher than the node's, unless no such node
 * exists: then the node's lowest bit is just cleared. */
static int parent_in_first(int count, int node) {
    if (node == 0) {
        return -1;
    }
    int lowest_bit = node & -node;
    int parent = (node ^ lowest_bit) | (lowest_bit << 1);
    return parent < count ? parent : node ^ lowest_bit;
}

/* The parent of a node in tree 0 or 1 of `count` nodes; -1 for the root. Tree 1 renumbers the
 * nodes, takes the parent in tree 0, and numbers it back. */
static int parent_of(int count, int node, int tree) {
    if (tree == 0) {
        return parent_in_first(count, node);
    }
    bool is_shifted = count % 2 == 1;
    int parent = parent_in_first(count, is_shifted ? (node + count - 1) % count : count - 1 - node);
    if (parent < 0) {
        return -1;
    }
    return is_shifted ? (parent + 1) % count : count - 1 - parent;
}

/* One tree of one channel. */
typedef struct tree_channel {
    int channel, tree; /* tree: 0 or 1 */
    bool has_chains;   /* with the chains inside nodes */
} tree_channel;

/* Add the routes of a node's chain and of its edge to the parent, in both directions. Returns the
 * node's parent and latencies. */
static tree_node add_node(const ms_node_order *order, int node, tree_channel of,
                          ms_crossings *crossings) {
    int channel = of.channel;
    tree_node added = {.parent = parent_of(order->count, node, of.tree)};
    int head = ms_node_order_gpu(order, node, channel, 0);
    int before = head;
    for (int i = 1; i < order->runs[node].count && of.has_chains; i++) {
        int gpu = ms_node_order_gpu(order, node, channel, i);
        added.chain_up_s += ms_crossings_add(crossings, gpu, before);
        added.chain_down_s += ms_crossings_add(crossings, before, gpu);
        before = gpu;
    }
    if (added.parent >= 0) {
        int above = ms_node_order_gpu(order, added.parent, channel, 0);
        added.up_s = ms_crossings_add(crossings, head, above);
        added.down_s = ms_crossings_add(crossings, above, head);
    }
    return added;
}

/* Latency of one chunk through a tree: up from the member that is farthest from the root, plus down
 * from the root to the farthest member [s]. nodes: [count]. */
static double depth_s(const tree_node *nodes, int count) {
    double up_s = 0.0;
    double down_s = 0.0;
    for (int i = 0; i < count; i++) {
        double above_s = nodes[i].chain_up_s;
        double below_s = nodes[i].chain_down_s;
        for (int n = i; nodes[n].parent >= 0; n = nodes[n].parent) {
            above_s += nodes[n].up_s;
            below_s += nodes[n].down_s;
        }
        up_s = fmax(up_s, above_s);
        down_s = fmax(down_s, below_s);
    }
    return up_s + down_s;
}

/* Add the edges of the trees of all channels, and find the latency through the deepest tree. Every
 * channel has both trees, with the members that the channel enters the nodes at as heads. */
ms_status ms_tree_add(const ms_node_order *order, bool has_chains, ms_crossings *crossings,
                      ms_arena *arena, double *depth_s_out) {
    tree_node *nodes = MS_NEW(arena, tree_node, order->count);
    double deepest_s = 0.0;
    if (nodes == NULL) {
        return MS_E_NOMEM;
    }
    for (int channel = 0; channel < order->channels; channel++) {
        for (int tree = 0; tree < MS_TREES; tree++) {
            for (int node = 0; node < order->count; node++) {
                nodes[node] =
                    add_node(order, node, (tree_channel){channel, tree, has_chains}, crossings);
            }
            deepest_s = fmax(deepest_s, depth_s(nodes, order->count));
        }
    }
    *depth_s_out = deepest_s;
    return MS_OK;
}

/* Lay out an all-reduce over double binary trees. All edges of all channels' trees are one flow. */
ms_status ms_tree_plan(const ms_platform *platform, const ms_coll_request *request, ms_arena *arena,
                       ms_coll_plan *plan) {
    ms_node_order order;
    ms_crossings crossings;
    ms_tuned tuned;
    double links_s = 0.0;
    ms_status status = ms_tuned_find(platform, request, &crossings, &tuned);
    status = status == MS_OK
                 ? ms_node_order_find(platform, request->gpus, request->members, arena, &order)
                 : status;
    if (status == MS_OK) {
        int channels_max = ms_channels_at_most(request->size_B);
        /* where nodes are wired in pairs, channels come as mirror images, so all of them stay */
        bool is_limited = !order.is_paired && channels_max < order.channels;
        order.channels = is_limited ? channels_max : order.channels;
        status = ms_tree_add(&order, true, &crossings, arena, &links_s);
    }
    if (status == MS_OK) {
        /* every edge carries its tree's share once up and once down */
        double edge_B = request->size_B / (MS_TREES * order.channels);
        plan->sent_B = 2.0 * (request->members - 1.0) / request->members * request->size_B;
        status = ms_steps_plan(&crossings, edge_B, ms_tuned_latency_s(&tuned, links_s),
                               ms_steps_of_chunks(platform, request->size_B), arena, plan);
    }
    ms_crossings_release(&crossings);
    return status;
}
