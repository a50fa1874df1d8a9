#include "platform/topology.h"

#include <math.h>
#include <stdio.h>

#include "meshsim/random.h"
#include "platform/torus.h"

const ms_topology *ms_topology_of(const ms_platform *platform) {
    return platform->topology;
}

int ms_topology_link(const ms_platform *platform, int tier, int index, int direction) {
    return platform->tiers[tier].first_link + 2 * index + direction;
}

ms_link_place ms_topology_place(const ms_platform *platform, int link) {
    int tier = platform->tier_count - 1;
    while (tier > 0 && link < platform->tiers[tier].first_link) {
        tier--;
    }
    int offset = link - platform->tiers[tier].first_link;
    return (ms_link_place){.tier = tier, .index = offset / 2, .direction = offset % 2};
}

void ms_topology_number_links(ms_platform *platform) {
    const ms_topology *topology = ms_topology_of(platform);
    int next = 0;
    for (int t = 0; t < platform->tier_count; t++) {
        int pairs = 0;
        if (topology->kind == MS_FABRIC_TORUS && t == 0) {
            pairs = ms_platform_gpus(platform) * topology->torus.dimensions;
        } else if (t == topology->node_tier) {
            pairs = ms_platform_gpus(platform);
        } else if (t == topology->port_tier) {
            pairs = platform->nodes * topology->ports_per_node;
        } else if (t == topology->spine_tier) {
            pairs = topology->units * topology->leaves_per_unit * topology->links_per_leaf;
        } else if (t == topology->core_tier) {
            pairs = topology->pods * topology->links_per_pod;
        }
        platform->tiers[t].first_link = next;
        platform->tiers[t].links = 2 * pairs;
        next += 2 * pairs;
    }
    platform->link_count = next;
}

int ms_platform_gpus(const ms_platform *platform) {
    return platform->nodes * platform->gpus_per_node;
}

int ms_platform_fast_domain(const ms_platform *platform) {
    const ms_topology *topology = ms_topology_of(platform);
    if (topology->kind == MS_FABRIC_TORUS) {
        return topology->torus.chips;
    }
    bool is_flat = topology->kind == MS_FABRIC_FLAT;
    return is_flat ? ms_platform_gpus(platform) : platform->gpus_per_node;
}

int ms_platform_domain(const ms_platform *platform, int tier) {
    const ms_topology *topology = ms_topology_of(platform);
    int gpus = ms_platform_gpus(platform);
    if (tier == 0) {
        return ms_platform_fast_domain(platform);
    }
    bool is_torus = topology->kind == MS_FABRIC_TORUS;
    int64_t unit = (int64_t)topology->nodes_per_unit * platform->gpus_per_node;
    int64_t domain = gpus;
    if (!is_torus && tier == topology->port_tier && topology->spine_tier >= 0) {
        domain = unit;
    } else if (!is_torus && tier == topology->spine_tier && topology->core_tier >= 0) {
        domain = unit * topology->units_per_pod;
    }
    return domain < gpus ? (int)domain : gpus;
}

int ms_platform_node(const ms_platform *platform, int gpu) {
    return gpu / platform->gpus_per_node;
}

static int port_in_node(const ms_platform *platform, int gpu) {
    return gpu % platform->gpus_per_node % ms_topology_of(platform)->ports_per_node;
}

int ms_topology_port(const ms_platform *platform, int gpu) {
    return ms_platform_node(platform, gpu) * ms_topology_of(platform)->ports_per_node +
           port_in_node(platform, gpu);
}

int ms_topology_leaf(const ms_platform *platform, int gpu) {
    const ms_topology *topology = ms_topology_of(platform);
    int unit = ms_platform_node(platform, gpu) / topology->nodes_per_unit;
    return unit * topology->leaves_per_unit +
           port_in_node(platform, gpu) % topology->leaves_per_unit;
}

int ms_topology_proxy(const ms_platform *platform, int source, int destination) {
    int rail = port_in_node(platform, destination);
    if (!platform->has_pxn || rail == port_in_node(platform, source)) {
        return source;
    }
    return ms_platform_node(platform, source) * platform->gpus_per_node + rail;
}

static void cross(const ms_platform *platform, int tier, int index, int direction,
                  ms_route *route) {
    route->links[route->count++] = ms_topology_link(platform, tier, index, direction);
    route->latency_s += platform->tiers[tier].latency_s;
    route->tier = tier > route->tier ? tier : route->tier;
}

static void cross_node(const ms_platform *platform, int from, int to, ms_route *route) {
    int tier = ms_topology_of(platform)->node_tier;
    cross(platform, tier, from, MS_LINK_UP, route);
    cross(platform, tier, to, MS_LINK_DOWN, route);
}

/* Links that a flow takes among parallel ones. The switch that a link leads to decides the way down
 * again, so both ends of a route use links of the same place. */
typedef struct choice {
    int leaf, pod;
} choice;

/* Hashed from the ends, as switches hash a connection's addresses. */
static choice choose(const ms_topology *topology, int from, int to) {
    ms_random random = {.state = topology->seed};
    random.state = ms_random_next(&random) ^ ((uint64_t)from << 32 | (uint64_t)to);
    uint64_t leaf = ms_random_next(&random) % (uint64_t)topology->links_per_leaf;
    uint64_t pod = ms_random_next(&random) % (uint64_t)topology->links_per_pod;
    return (choice){.leaf = (int)leaf, .pod = (int)pod};
}

/* From the port of one GPU to the port of another, through as few levels as join them. */
static void cross_fabric(const ms_platform *platform, int from, int to, ms_route *route) {
    const ms_topology *topology = ms_topology_of(platform);
    choice taken = choose(topology, from, to);
    int per_leaf = topology->links_per_leaf;
    int per_pod = topology->links_per_pod;
    int leaf_from = ms_topology_leaf(platform, from);
    int leaf_to = ms_topology_leaf(platform, to);
    int leaves_per_pod = topology->leaves_per_unit * topology->units_per_pod;
    bool has_spine = leaf_from != leaf_to;
    bool has_core = leaf_from / leaves_per_pod != leaf_to / leaves_per_pod;
    cross(platform, topology->port_tier, ms_topology_port(platform, from), MS_LINK_UP, route);
    if (has_spine) {
        cross(platform, topology->spine_tier, leaf_from * per_leaf + taken.leaf, MS_LINK_UP, route);
    }
    if (has_core) {
        int pod_from = leaf_from / leaves_per_pod;
        int pod_to = leaf_to / leaves_per_pod;
        cross(platform, topology->core_tier, pod_from * per_pod + taken.pod, MS_LINK_UP, route);
        cross(platform, topology->core_tier, pod_to * per_pod + taken.pod, MS_LINK_DOWN, route);
    }
    if (has_spine) {
        cross(platform, topology->spine_tier, leaf_to * per_leaf + taken.leaf, MS_LINK_DOWN, route);
    }
    cross(platform, topology->port_tier, ms_topology_port(platform, to), MS_LINK_DOWN, route);
}

void ms_topology_route(const ms_platform *platform, int source, int destination, ms_route *out) {
    const ms_topology *topology = ms_topology_of(platform);
    out->count = 0;
    out->latency_s = 0;
    out->tier = -1;
    if (source == destination) {
        return;
    }
    bool same_node = ms_platform_node(platform, source) == ms_platform_node(platform, destination);
    if (topology->kind == MS_FABRIC_TORUS &&
        ms_torus_pod(topology, source) == ms_torus_pod(topology, destination)) {
        ms_torus_route(platform, source, destination, out);
        return;
    }
    if (same_node && topology->node_tier >= 0) {
        cross_node(platform, source, destination, out);
        return;
    }
    int proxy = ms_topology_proxy(platform, source, destination);
    if (proxy != source) {
        cross_node(platform, source, proxy, out);
    }
    cross_fabric(platform, proxy, destination, out);
}

void ms_platform_route(const ms_platform *platform, int source, int destination,
                       ms_route *route_out) {
    ms_topology_route(platform, source, destination, route_out);
    int kept = 0;
    for (int i = 0; i < route_out->count; i++) {
        int link = route_out->links[i];
        int tier = ms_topology_place(platform, link).tier;
        if (!isinf(platform->tiers[tier].bandwidth_Bps)) {
            route_out->links[kept++] = link;
        }
    }
    route_out->count = kept;
}

ms_link_info ms_platform_link(const ms_platform *platform, int link) {
    const ms_topology *topology = ms_topology_of(platform);
    int tier = ms_topology_place(platform, link).tier;
    double physical = 1;
    if (tier == topology->spine_tier) {
        physical = topology->uplinks_per_leaf / topology->links_per_leaf;
    } else if (tier == topology->core_tier) {
        physical = topology->uplinks_per_pod / topology->links_per_pod;
    }
    const ms_tier *facts = &platform->tiers[tier];
    return (ms_link_info){.tier = tier,
                          .capacity_Bps = facts->bandwidth_Bps * facts->efficiency * physical,
                          .latency_s = facts->latency_s,
                          .parallel = (int)ceil(physical)};
}

/* A link above the leaves; where parallel ones are numbered, with its number. */
static void name_uplink(const ms_platform *platform, ms_link_place place, char *text_out,
                        size_t size) {
    const ms_topology *topology = ms_topology_of(platform);
    const char *tier = platform->tiers[place.tier].name;
    bool is_core = place.tier == topology->core_tier;
    int links = is_core ? topology->links_per_pod : topology->links_per_leaf;
    int at = place.index / links;
    char number[32] = "";
    if (platform->routing == MS_ROUTING_ECMP) {
        snprintf(number, sizeof number, ":link%d", place.index % links);
    }
    const char *way = place.direction == MS_LINK_UP ? "up" : "down";
    if (is_core) {
        snprintf(text_out, size, "%s:pod%d%s:%s", tier, at, number, way);
    } else if (topology->kind == MS_FABRIC_RAILS) {
        snprintf(text_out, size, "%s:unit%d:rail%d%s:%s", tier, at / topology->leaves_per_unit,
                 at % topology->leaves_per_unit, number, way);
    } else {
        snprintf(text_out, size, "%s:unit%d%s:%s", tier, at, number, way);
    }
}

char *ms_platform_link_name(const ms_platform *platform, int link, char *text_out, size_t size) {
    const ms_topology *topology = ms_topology_of(platform);
    ms_link_place place = ms_topology_place(platform, link);
    const char *tier = platform->tiers[place.tier].name;
    const char *way = place.direction == MS_LINK_UP ? "up" : "down";
    if (topology->kind == MS_FABRIC_TORUS && place.tier == 0) {
        snprintf(text_out, size, "%s:chip%d:%c%c", tier, place.index / topology->torus.dimensions,
                 "xyz"[place.index % topology->torus.dimensions],
                 place.direction == MS_LINK_UP ? '+' : '-');
        return text_out;
    }
    bool at_gpu = place.tier == topology->node_tier || topology->kind == MS_FABRIC_FLAT;
    if (at_gpu) {
        snprintf(text_out, size, "%s:gpu%d:%s", tier, place.index, way);
    } else if (place.tier == topology->port_tier) {
        snprintf(text_out, size, "%s:node%d:nic%d:%s", tier, place.index / topology->ports_per_node,
                 place.index % topology->ports_per_node, way);
    } else {
        name_uplink(platform, place, text_out, size);
    }
    return text_out;
}
