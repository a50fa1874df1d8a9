/* The messages of all-to-alls, of which there are two kinds. Usually every member sends to every
 * other member, all at the same time, as NCCL posts all sends and receives as one group. Where a
 * token crosses to each node only once (request->intra_node_B > 0), every member sends to one
 * member on each other node, on its own rail if there is one (family PAIRS); that member forwards
 * the tokens to the members of its node for which they are (family FORWARDS), while more arrive.
 * Source of the second kind: DeepSeek-AI, DeepEP (2025), normal kernels. */
#include "collective/all_to_all.h"

/* Factor, at least 1, by which an all-to-all takes longer than its bytes would at a tier's
 * `efficiency`: efficiency / exchange_efficiency of the tier with the lowest bandwidth on the route
 * between the first and the last member in the order of nodes, which are assumed to be the farthest
 * apart. 1 where this tier has no exchange_efficiency. */
static double slowness(const ms_exchange *e, int members) {
    ms_route route;
    int tier = 0;
    ms_platform_route(e->platform, e->nodes.gpus[0], e->nodes.gpus[members - 1], &route);
    ms_route_bottleneck_Bps(e->platform, &route, &tier);
    const ms_tier *limiting = &e->platform->tiers[tier];
    double reached = limiting->exchange_efficiency;
    return reached > 0.0 && reached < limiting->efficiency ? limiting->efficiency / reached : 1.0;
}

/* Find the sizes of the messages of an all-to-all. The buffer of size_B is divided into equal
 * parts, one per member, or per node where copies are forwarded; intra_node_B into one part per
 * member of the largest node. A member keeps its own part, so it sends (ends - 1) / ends of the
 * buffer. */
ms_status ms_exchange_init(const ms_platform *platform, const ms_coll_request *request,
                           ms_arena *arena, ms_exchange *exchange_out) {
    ms_exchange e = {.platform = platform, .members = request->members};
    ms_status status =
        ms_node_order_find(platform, request->gpus, request->members, arena, &e.nodes);
    if (status != MS_OK) {
        return status;
    }
    for (int r = 0; r < e.nodes.count; r++) {
        int count = e.nodes.runs[r].count;
        e.node_members = count > e.node_members ? count : e.node_members;
    }
    double load_imbalance = request->load_imbalance > 0.0 ? request->load_imbalance : 1.0;
    e.slowness = load_imbalance * slowness(&e, request->members);
    e.is_by_node = request->intra_node_B > 0.0;
    double ends = e.is_by_node ? e.nodes.count : request->members; /* parts that the buffer has */
    e.message_B[MS_FAMILY_PAIRS] = request->size_B / ends;
    e.message_B[MS_FAMILY_FORWARDS] = request->intra_node_B / e.node_members;
    e.sent_B = (ends - 1.0) / ends * request->size_B +
               (e.node_members - 1.0) / e.node_members * request->intra_node_B;
    *exchange_out = e;
    return MS_OK;
}

/* Rail of a GPU: the number, inside its node, of the NIC that the GPU uses; without NICs, the GPU's
 * own number in its node. */
static int rail_of(const ms_platform *platform, int gpu) {
    int nics = platform->nics_per_node > 0 ? platform->nics_per_node : platform->gpus_per_node;
    return gpu % platform->gpus_per_node % nics;
}

/* The member of another node to which `source`, the `index`-th member of its own node, sends a
 * copy: the `index`-th member there if it is on the source's rail, else the first member on this
 * rail, else the `index`-th member (modulo the number of members). */
static int landing(const ms_exchange *e, int source, int index, const ms_node_run *node) {
    const int *gpus = &e->nodes.gpus[node->first];
    int rail = rail_of(e->platform, source);
    int same_index = gpus[index % node->count];
    if (rail_of(e->platform, same_index) == rail) {
        return same_index;
    }
    for (int i = 0; i < node->count; i++) {
        if (rail_of(e->platform, gpus[i]) == rail) {
            return gpus[i];
        }
    }
    return same_index;
}

/* Visit the messages from the members of one node to those of another node, or among the members of
 * one node (from == to). */
static void visit_nodes(const ms_exchange *e, const ms_node_run *from, const ms_node_run *to,
                        ms_message_visit *each, void *context) {
    bool is_across = e->is_by_node && from != to;
    ms_message m = {.family = e->is_by_node && from == to ? MS_FAMILY_FORWARDS : MS_FAMILY_PAIRS};
    for (int i = 0; i < from->count; i++) {
        m.source = e->nodes.gpus[from->first + i];
        for (int j = 0; j < (is_across ? 1 : to->count); j++) {
            m.destination = is_across ? landing(e, m.source, i, to) : e->nodes.gpus[to->first + j];
            if (m.destination != m.source) {
                each(context, &m);
            }
        }
    }
}

/* Visit all messages of an all-to-all (ms_message_set.visit). source: an ms_exchange. */
static void visit(const void *source, ms_message_visit *each, void *context) {
    const ms_exchange *exchange = source;
    for (int from = 0; from < exchange->nodes.count; from++) {
        for (int to = 0; to < exchange->nodes.count; to++) {
            visit_nodes(exchange, &exchange->nodes.runs[from], &exchange->nodes.runs[to], each,
                        context);
        }
    }
}

/* The messages of an all-to-all as a set that can be visited. */
ms_message_set ms_exchange_messages(const ms_exchange *exchange) {
    return (ms_message_set){.platform = exchange->platform,
                            .message_B = {exchange->message_B[MS_FAMILY_PAIRS],
                                          exchange->message_B[MS_FAMILY_FORWARDS]},
                            .slowness = {exchange->slowness, exchange->slowness},
                            .visit = visit,
                            .source = exchange,
                            .gpus = exchange->is_by_node ? NULL : exchange->nodes.gpus,
                            .members = exchange->members};
}
