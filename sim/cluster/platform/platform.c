/* Questions about a platform that the rest of the program asks (platform.h): numbers and names of
 * links, routes, domains, rings, bisection. What only a fabric kind knows is passed on to the
 * functions of the platform's kind (fabric.h). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cluster/platform/fabric.h"

/* The fabric kind of a platform. */
static const ms_fabric_kind *kind_of(const ms_platform *platform) {
    return platform->topology->kind;
}

int ms_fabric_link(const ms_platform *platform, int tier, int index, int direction) {
    return platform->tiers[tier].first_link + 2 * index + direction;
}

ms_link_address ms_fabric_address(const ms_platform *platform, int link) {
    int tier = ms_platform_link_tier(platform, link);
    int offset = link - platform->tiers[tier].first_link;
    return (ms_link_address){.tier = tier, .index = offset / 2, .direction = offset % 2};
}

void ms_fabric_number_links(ms_platform *platform) {
    const ms_fabric_kind *kind = kind_of(platform);
    int next = 0;
    for (int t = 0; t < platform->tier_count; t++) {
        int links = 2 * kind->link_pairs(platform, t);
        platform->tiers[t].first_link = next;
        platform->tiers[t].links = links;
        platform->tiers[t].cables = kind->cables == NULL ? 1 : kind->cables(platform, t);
        next += links;
    }
    platform->link_count = next;
}

void ms_fabric_cross(const ms_platform *platform, ms_link_address address, ms_route *route) {
    route->links[route->count++] =
        ms_fabric_link(platform, address.tier, address.index, address.direction);
    route->latency_s += platform->tiers[address.tier].latency_s;
    route->tier = address.tier > route->tier ? address.tier : route->tier;
}

void ms_fabric_route(const ms_platform *platform, int source, int destination, ms_route *out) {
    out->count = 0;
    out->turn = 0;
    out->latency_s = 0;
    out->tier = -1;
    if (source != destination) {
        kind_of(platform)->route(platform, source, destination, out);
    }
}

double ms_fabric_capacity_Bps(const ms_platform *platform, int tier) {
    return tier < 0 ? INFINITY : ms_tier_capacity_Bps(&platform->tiers[tier]);
}

int ms_platform_gpus(const ms_platform *platform) {
    return platform->nodes * platform->gpus_per_node;
}

int ms_platform_node(const ms_platform *platform, int gpu) {
    return gpu / platform->gpus_per_node;
}

int ms_platform_domain(const ms_platform *platform, int tier) {
    int gpus = ms_platform_gpus(platform);
    int64_t domain = kind_of(platform)->domain(platform, tier);
    return domain < gpus ? (int)domain : gpus;
}

int ms_platform_scale_up_domain(const ms_platform *platform) {
    return ms_platform_domain(platform, 0);
}

/* Links without a limit are dropped, since they never hold a flow back; their latency stays in the
 * sum. The turn, a number of links, is counted anew. */
void ms_platform_route(const ms_platform *platform, int source, int destination,
                       ms_route *route_out) {
    ms_fabric_route(platform, source, destination, route_out);
    int kept = 0; /* links with a limit so far, moved to the front */
    int turn = 0; /* how many of these come before the turn */
    for (int i = 0; i < route_out->count; i++) {
        turn = i == route_out->turn ? kept : turn;
        int link = route_out->links[i];
        int tier = ms_platform_link_tier(platform, link);
        if (!isinf(platform->tiers[tier].bandwidth_Bps)) {
            route_out->links[kept++] = link;
        }
    }
    route_out->turn = route_out->turn == route_out->count ? kept : turn;
    route_out->count = kept;
}

int ms_platform_rails(const ms_platform *platform) {
    const ms_fabric_kind *kind = kind_of(platform);
    return kind->rails == NULL ? 0 : kind->rails(platform);
}

/* Whether every GPU of a group stays in its node, and moves to the NIC that is as many NICs
 * further, when it moves by move->slots_on slots. GPU i of a node uses NIC i mod nics; so all
 * slots, before and after the move, have to be in one run of `nics` slots. */
static bool stays_inside_nodes(const ms_platform *platform, const ms_group_move *move) {
    int nics = platform->nics_per_node > 0 ? platform->nics_per_node : platform->gpus_per_node;
    int moved_slots[2] = {move->slots[0] + move->slots_on, move->slots[1] + move->slots_on};
    int run = move->slots[0] / nics;
    bool is_inside = moved_slots[0] >= 0 && moved_slots[1] < platform->gpus_per_node;
    return move->slots_on == 0 || (is_inside && move->slots[1] / nics == run &&
                                   moved_slots[0] / nics == run && moved_slots[1] / nics == run);
}

/* The routes stay alike if the group moves by whole domains of the tier inside the outermost tier
 * that it crosses, and if it stays in one domain of the outermost tier. This is not known of
 * fabrics without halves of routes, such as tori. */
bool ms_platform_moves_alike(const ms_platform *platform, const ms_group_move *move,
                             int *shifts_out) {
    const ms_fabric_kind *kind = kind_of(platform);
    int inner_domain = move->tier > 0 ? ms_platform_domain(platform, move->tier - 1) : 1;
    int outer_domain = move->tier >= 0 ? ms_platform_domain(platform, move->tier) : 1;
    int gpus_on = move->nodes * platform->gpus_per_node;
    bool is_whole = gpus_on % inner_domain == 0 && stays_inside_nodes(platform, move);
    bool is_in_one_domain =
        (move->gpus[0] + gpus_on) / outer_domain == (move->gpus[1] + gpus_on) / outer_domain;
    if (kind->shift == NULL || ms_platform_rails(platform) == 0 || !is_whole || !is_in_one_domain) {
        return false;
    }
    memset(shifts_out, 0, MS_TIER_MAX * sizeof *shifts_out);
    kind->shift(platform, move->nodes, move->slots_on, shifts_out);
    return true;
}

double ms_route_bottleneck_Bps(const ms_platform *platform, const ms_route *route, int *tier_out) {
    double least_Bps = INFINITY;
    *tier_out = 0;
    for (int i = 0; i < route->count; i++) {
        ms_link_info link = ms_platform_link(platform, route->links[i]);
        if (link.capacity_Bps < least_Bps) {
            least_Bps = link.capacity_Bps;
            *tier_out = link.tier;
        }
    }
    return least_Bps;
}

ms_status ms_platform_rings(const ms_platform *platform, const int *gpus, int members,
                            ms_arena *arena, ms_ring_orders *orders_out) {
    const ms_fabric_kind *kind = kind_of(platform);
    if (kind->rings == NULL || members < 3) { /* two members have one order only */
        *orders_out = (ms_ring_orders){.rings = 0};
        return MS_OK;
    }
    return kind->rings(platform, gpus, members, arena, orders_out);
}

char *ms_platform_link_name(const ms_platform *platform, int link, char *text_out, size_t size) {
    ms_link_address address = ms_fabric_address(platform, link);
    int length = snprintf(text_out, size, "%s:", platform->tiers[address.tier].name);
    if (length > 0 && (size_t)length < size) {
        kind_of(platform)->name_link(platform, address, text_out + length, size - (size_t)length);
    }
    return text_out;
}

double ms_platform_bisection_Bps(const ms_platform *platform) {
    return kind_of(platform)->bisection_Bps(platform);
}

void ms_platform_layout_of(const ms_platform *platform, ms_platform_layout *out) {
    *out =
        (ms_platform_layout){.node_tier = -1, .port_tier = -1, .spine_tier = -1, .core_tier = -1};
    kind_of(platform)->layout(platform, out);
}
