/* Links of switched fabrics (switches.h): how many each tier has, the links that a route crosses,
 * and their names. A route goes up from the source to the lowest switch layer that connects both
 * ends, and then down to the destination. */
#include <stdio.h>

#include "base/random.h"
#include "cluster/platform/switches/switches.h"

/* A tier has a pair for each GPU (or two GPUs that are wired) in the node tier, for each port, and
 * for each numbered uplink of a leaf or of a pod: one of each without ECMP. */
int ms_switches_link_pairs(const ms_platform *platform, int tier) {
    const ms_platform_layout *layout = &ms_switches_of(platform)->layout;
    if (tier == layout->node_tier) {
        return platform->tiers[0].is_paired ? platform->nodes * ms_switches_node_pairs(platform)
                                            : ms_platform_gpus(platform);
    }
    if (tier == layout->port_tier) {
        return platform->nodes * layout->ports_per_node;
    }
    return tier == layout->spine_tier
               ? layout->units * layout->leaves_per_unit * layout->links_per_leaf
               : layout->pods * layout->links_per_pod;
}

/* Without ECMP a link above the leaves stands for all uplinks of a leaf or of a pod; with ECMP for
 * one, or for slightly less where oversubscription makes their number a fraction. */
double ms_switches_cables(const ms_platform *platform, int tier) {
    const ms_switches *switches = ms_switches_of(platform);
    if (tier == switches->layout.spine_tier) {
        return switches->uplinks_per_leaf / switches->layout.links_per_leaf;
    }
    return tier == switches->layout.core_tier
               ? switches->uplinks_per_pod / switches->layout.links_per_pod
               : 1;
}

/* The outermost tier of a fabric connects all GPUs, whatever its sizes. */
int64_t ms_switches_domain(const ms_platform *platform, int tier) {
    const ms_platform_layout *layout = &ms_switches_of(platform)->layout;
    int64_t unit = (int64_t)layout->nodes_per_unit * platform->gpus_per_node;
    if (tier == layout->node_tier) {
        return platform->gpus_per_node;
    }
    if (tier == layout->port_tier && layout->spine_tier >= 0) {
        return unit;
    }
    if (tier == layout->spine_tier && layout->core_tier >= 0) {
        return unit * layout->units_per_pod;
    }
    return ms_platform_gpus(platform);
}

/* Index in its node of the port (NIC, or GPU in a flat fabric) that a GPU uses; with rails also its
 * rail. */
static int port_in_node(const ms_platform *platform, int gpu) {
    return gpu % platform->gpus_per_node % ms_switches_of(platform)->layout.ports_per_node;
}

int ms_switches_port(const ms_platform *platform, int gpu) {
    return ms_platform_node(platform, gpu) * ms_switches_of(platform)->layout.ports_per_node +
           port_in_node(platform, gpu);
}

int ms_switches_leaf(const ms_platform *platform, int gpu) {
    const ms_platform_layout *layout = &ms_switches_of(platform)->layout;
    int unit = ms_platform_node(platform, gpu) / layout->nodes_per_unit;
    return unit * layout->leaves_per_unit + port_in_node(platform, gpu) % layout->leaves_per_unit;
}

/* The GPU in the node of `source` whose NIC is on the rail of `destination`, to which traffic is
 * handed over NVLink (NCCL's PXN); `source` itself where its NIC is on that rail or PXN is off. */
static int find_proxy(const ms_platform *platform, int source, int destination) {
    int rail = port_in_node(platform, destination);
    if (!platform->has_pxn || rail == port_in_node(platform, source)) {
        return source;
    }
    return ms_platform_node(platform, source) * platform->gpus_per_node + rail;
}

/* Append a link to a route. */
static void cross(const ms_platform *platform, int tier, int index, int direction,
                  ms_route *route) {
    ms_fabric_cross(platform, (ms_link_address){tier, index, direction}, route);
}

/* Append the links between two GPUs of a node, up to the switch and down; one link where nodes are
 * wired in pairs. */
static void cross_node(const ms_platform *platform, int from, int to, ms_route *route) {
    int tier = ms_switches_of(platform)->layout.node_tier;
    if (platform->tiers[0].is_paired) {
        ms_fabric_cross(platform, ms_switches_pair(platform, from, to), route);
        route->turn = route->count;
        return;
    }
    cross(platform, tier, from, MS_LINK_UP, route);
    route->turn = route->count;
    cross(platform, tier, to, MS_LINK_DOWN, route);
}

/* The links that a route takes among parallel ones, by index. A link leads to one switch of the
 * layer above, so the way down from this switch has the same index as the way up. */
typedef struct choice {
    int leaf, pod; /* among the links of a leaf, and of a pod */
} choice;

/* Choose among parallel links by a hash of the route's ends, as switches hash a connection's
 * addresses (ECMP). from, to: the GPUs at whose NICs the route begins and ends. Without ECMP every
 * leaf and every pod has one link, with index 0. */
static choice choose_links(const ms_switches *switches, int from, int to) {
    ms_random random = {.state = switches->seed};
    random.state = ms_random_next(&random) ^ ((uint64_t)from << 32 | (uint64_t)to);
    uint64_t leaf = ms_random_next(&random) % (uint64_t)switches->layout.links_per_leaf;
    uint64_t pod = ms_random_next(&random) % (uint64_t)switches->layout.links_per_pod;
    return (choice){.leaf = (int)leaf, .pod = (int)pod};
}

/* Append the links from the port of one GPU to the port of another, through as few levels as
 * connect them. */
static void cross_fabric(const ms_platform *platform, int from, int to, ms_route *route) {
    const ms_platform_layout *layout = &ms_switches_of(platform)->layout;
    choice taken = choose_links(ms_switches_of(platform), from, to);
    int per_leaf = layout->links_per_leaf;
    int per_pod = layout->links_per_pod;
    int leaf_from = ms_switches_leaf(platform, from);
    int leaf_to = ms_switches_leaf(platform, to);
    int leaves_per_pod = layout->leaves_per_unit * layout->units_per_pod;
    bool has_spine = leaf_from != leaf_to;
    bool has_core = leaf_from / leaves_per_pod != leaf_to / leaves_per_pod;
    cross(platform, layout->port_tier, ms_switches_port(platform, from), MS_LINK_UP, route);
    if (has_spine) {
        cross(platform, layout->spine_tier, leaf_from * per_leaf + taken.leaf, MS_LINK_UP, route);
    }
    if (has_core) {
        int pod_from = leaf_from / leaves_per_pod;
        cross(platform, layout->core_tier, pod_from * per_pod + taken.pod, MS_LINK_UP, route);
    }
    route->turn = route->count; /* number of links on the way up */
    if (has_core) {
        int pod_to = leaf_to / leaves_per_pod;
        cross(platform, layout->core_tier, pod_to * per_pod + taken.pod, MS_LINK_DOWN, route);
    }
    if (has_spine) {
        cross(platform, layout->spine_tier, leaf_to * per_leaf + taken.leaf, MS_LINK_DOWN, route);
    }
    cross(platform, layout->port_tier, ms_switches_port(platform, to), MS_LINK_DOWN, route);
}

/* A route inside a node stays in it, unless the fabric is flat and so has no node tier. Any other
 * begins at the source's port, or at that of its proxy after a step through the node. */
void ms_switches_route(const ms_platform *platform, int source, int destination, ms_route *out) {
    bool same_node = ms_platform_node(platform, source) == ms_platform_node(platform, destination);
    if (same_node && ms_switches_of(platform)->layout.node_tier >= 0) {
        cross_node(platform, source, destination, out);
        return;
    }
    int proxy = find_proxy(platform, source, destination);
    if (proxy != source) {
        cross_node(platform, source, proxy, out);
    }
    cross_fabric(platform, proxy, destination, out);
}

/* The number of rails is that of NICs where PXN changes rail inside the sending node, and of a
 * unit's leaves otherwise: a route goes up only as far as it needs to reach the destination's leaf.
 * Routes that are chosen among parallel links depend on both ends, and have no such halves. */
int ms_switches_rails(const ms_platform *platform) {
    const ms_platform_layout *layout = &ms_switches_of(platform)->layout;
    if (layout->links_per_leaf > 1 || layout->links_per_pod > 1) {
        return 0;
    }
    if (platform->tiers[0].is_paired) { /* the first half may be the link to any GPU of the node */
        return platform->gpus_per_node;
    }
    return platform->has_pxn ? layout->ports_per_node : layout->leaves_per_unit;
}

/* A move by whole units or pods shifts the links of the levels above; a level whose switches the
 * nodes do not fill is not shifted. With rails a group that moves by a slot also moves by a leaf.
 * The factor 2 is for the two links of a pair. */
void ms_switches_shift(const ms_platform *platform, int nodes, int slots, int *shifts_out) {
    const ms_platform_layout *layout = &ms_switches_of(platform)->layout;
    int units = nodes % layout->nodes_per_unit == 0 ? nodes / layout->nodes_per_unit : 0;
    int pods = units % layout->units_per_pod == 0 ? units / layout->units_per_pod : 0;
    int leaves = units * layout->leaves_per_unit + (layout->has_rails ? slots : 0);
    const int tiers[] = {layout->node_tier, layout->port_tier, layout->spine_tier,
                         layout->core_tier};
    int node_pairs =
        platform->tiers[0].is_paired ? ms_switches_node_pairs(platform) : platform->gpus_per_node;
    const int pairs[] = {nodes * node_pairs + slots, nodes * layout->ports_per_node + slots,
                         leaves * layout->links_per_leaf, pods * layout->links_per_pod};
    for (int i = 0; i < 4; i++) {
        if (tiers[i] >= 0) {
            shifts_out[tiers[i]] = 2 * pairs[i];
        }
    }
}

/* Check that the first link leaves the source and the last one enters the destination; where nodes
 * are wired in pairs, that a route inside a node is the link between its ends. */
const char *ms_switches_route_fault(const ms_platform *platform, int source, int destination,
                                    const ms_route *route) {
    const ms_platform_layout *layout = &ms_switches_of(platform)->layout;
    bool is_pair = platform->tiers[0].is_paired && route->tier == layout->node_tier;
    if (is_pair) {
        ms_link_address address = ms_switches_pair(platform, source, destination);
        int link = ms_fabric_link(platform, address.tier, address.index, address.direction);
        return route->count == 1 && route->links[0] == link
                   ? NULL
                   : "a route inside a node is not the link between its ends";
    }
    if (route->count < 2) {
        return "a route has fewer than two links";
    }
    ms_link_address first = ms_fabric_address(platform, route->links[0]);
    ms_link_address last = ms_fabric_address(platform, route->links[route->count - 1]);
    int first_at = first.tier == layout->node_tier ? source : ms_switches_port(platform, source);
    int last_at =
        last.tier == layout->node_tier ? destination : ms_switches_port(platform, destination);
    int ends[2] = {source, source};
    if (platform->tiers[0].is_paired && first.tier == layout->node_tier) { /* to the proxy */
        ms_switches_pair_ends(platform, first, ends);
    } else if (first.direction != MS_LINK_UP || first.index != first_at) {
        ends[0] = -1;
    }
    if (ends[0] != source) {
        return "a route does not start at its source";
    }
    return last.direction != MS_LINK_DOWN || last.index != last_at
               ? "a route does not end at its destination"
               : NULL;
}

/* Name of a link above the leaves; where parallel links are numbered (ECMP), with its number. */
static void name_uplink(const ms_platform *platform, ms_link_address address, char *text_out,
                        size_t size) {
    const ms_platform_layout *layout = &ms_switches_of(platform)->layout;
    bool is_core = address.tier == layout->core_tier;
    int links = is_core ? layout->links_per_pod : layout->links_per_leaf;
    int owner = address.index / links; /* number of the pod, or of the leaf */
    char number[32] = "";
    if (platform->routing == MS_ROUTING_ECMP) {
        snprintf(number, sizeof number, ":link%d", address.index % links);
    }
    const char *way = address.direction == MS_LINK_UP ? "up" : "down";
    if (is_core) {
        snprintf(text_out, size, "pod%d%s:%s", owner, number, way);
    } else if (layout->has_rails) {
        snprintf(text_out, size, "unit%d:rail%d%s:%s", owner / layout->leaves_per_unit,
                 owner % layout->leaves_per_unit, number, way);
    } else {
        snprintf(text_out, size, "unit%d%s:%s", owner, number, way);
    }
}

/* In a flat fabric the ports are those of GPUs, so links are named by the GPU. */
void ms_switches_name_link(const ms_platform *platform, ms_link_address address, char *text_out,
                           size_t size) {
    const ms_platform_layout *layout = &ms_switches_of(platform)->layout;
    const char *way = address.direction == MS_LINK_UP ? "up" : "down";
    if (address.tier == layout->node_tier && platform->tiers[0].is_paired) {
        int ends[2];
        ms_switches_pair_ends(platform, address, ends);
        snprintf(text_out, size, "gpu%d-gpu%d", ends[0], ends[1]);
    } else if (address.tier == layout->node_tier || layout->node_tier < 0) {
        snprintf(text_out, size, "gpu%d:%s", address.index, way);
    } else if (address.tier == layout->port_tier) {
        snprintf(text_out, size, "node%d:nic%d:%s", address.index / layout->ports_per_node,
                 address.index % layout->ports_per_node, way);
    } else {
        name_uplink(platform, address, text_out, size);
    }
}
