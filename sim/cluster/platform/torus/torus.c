/* Tori of chips (torus.h): coordinates, dimension-ordered routes, checks and names of links, and
 * the bisection bandwidth. */
#include "cluster/platform/torus/torus.h"

#include <stdio.h>
#include <stdlib.h>

const ms_torus *ms_torus_of(const ms_platform *platform) {
    return (const ms_torus *)platform->topology; /* ms_torus begins with its ms_topology */
}

int ms_torus_pod(const ms_torus *torus, int chip) {
    return chip / torus->chips;
}

void ms_torus_coordinates(const ms_torus *torus, int chip, int *coordinates_out) {
    int rest = chip % torus->chips;
    for (int d = 0; d < MS_TORUS_DIMENSIONS_MAX; d++) {
        coordinates_out[d] = rest % torus->shape[d];
        rest /= torus->shape[d];
    }
}

int ms_torus_chip(const ms_torus *torus, int pod, const int *coordinates) {
    int chip = pod;
    for (int d = MS_TORUS_DIMENSIONS_MAX - 1; d >= 0; d--) {
        chip = chip * torus->shape[d] + coordinates[d];
    }
    return chip;
}

int ms_torus_neighbour(const ms_torus *torus, int chip, int dimension, int direction) {
    int coordinates[MS_TORUS_DIMENSIONS_MAX] = {0};
    int size = torus->shape[dimension];
    ms_torus_coordinates(torus, chip, coordinates);
    coordinates[dimension] += direction == MS_LINK_UP ? 1 : size - 1;
    coordinates[dimension] %= size;
    return ms_torus_chip(torus, ms_torus_pod(torus, chip), coordinates);
}

/* Hops from one coordinate to another along a ring of `size` chips, the shorter way: above 0
 * upwards, below 0 downwards. Half way round goes upwards. */
static int hops(int from, int to, int size) {
    int up = (to - from + size) % size;
    return 2 * up <= size ? up : up - size;
}

/* Number of hops of the shortest route between two chips of a pod. */
static int distance_of(const ms_torus *torus, int from, int to) {
    int a[MS_TORUS_DIMENSIONS_MAX] = {0}, b[MS_TORUS_DIMENSIONS_MAX] = {0};
    int distance = 0;
    ms_torus_coordinates(torus, from, a);
    ms_torus_coordinates(torus, to, b);
    for (int d = 0; d < MS_TORUS_DIMENSIONS_MAX; d++) {
        distance += abs(hops(a[d], b[d], torus->shape[d]));
    }
    return distance;
}

/* Append the route between two chips of a pod: dimension after dimension, x first, each the shorter
 * way round. */
static void route_in_pod(const ms_platform *platform, int from, int to, ms_route *out) {
    const ms_torus *torus = ms_torus_of(platform);
    int a[MS_TORUS_DIMENSIONS_MAX] = {0}, b[MS_TORUS_DIMENSIONS_MAX] = {0}; /* of from and to */
    int chip = from;
    int stride = 1; /* difference of the numbers of neighbours along d */
    ms_torus_coordinates(torus, from, a);
    ms_torus_coordinates(torus, to, b);
    for (int d = 0; d < torus->dimensions; d++) {
        int size = torus->shape[d];
        int hops_left = hops(a[d], b[d], size);
        int direction = hops_left > 0 ? MS_LINK_UP : MS_LINK_DOWN;
        int last_position = hops_left > 0 ? size - 1 : 0; /* the next hop wraps to the other end */
        int step = hops_left > 0 ? stride : -stride;
        for (int i = 0, position = a[d]; i < abs(hops_left); i++) {
            int pair = chip * torus->dimensions + d;
            bool wraps = position == last_position;
            out->links[out->count++] = ms_fabric_link(platform, 0, pair, direction);
            chip += wraps ? -step * (size - 1) : step;
            position = wraps ? size - 1 - last_position : position + (hops_left > 0 ? 1 : -1);
        }
        stride *= size;
    }
    out->latency_s = out->count * platform->tiers[0].latency_s;
    out->tier = 0;
}

int ms_torus_port(const ms_platform *platform, int chip) {
    int nics = platform->nics_per_node;
    return ms_platform_node(platform, chip) * nics + chip % platform->gpus_per_node % nics;
}

/* A route to another pod does not use the torus: it leaves by the NIC of the source and enters by
 * that of the destination. */
void ms_torus_route(const ms_platform *platform, int source, int destination, ms_route *out) {
    const ms_torus *torus = ms_torus_of(platform);
    if (ms_torus_pod(torus, source) == ms_torus_pod(torus, destination)) {
        route_in_pod(platform, source, destination, out);
        return;
    }
    ms_link_address port = {torus->port_tier, ms_torus_port(platform, source), MS_LINK_UP};
    ms_fabric_cross(platform, port, out);
    port = (ms_link_address){torus->port_tier, ms_torus_port(platform, destination), MS_LINK_DOWN};
    ms_fabric_cross(platform, port, out);
}

/* Check a route inside a pod: each link leaves the chip that the link before has entered, and the
 * route is as short as possible.  Returns what is wrong; NULL: nothing. */
static const char *fault_in_pod(const ms_platform *platform, int from, int to,
                                const ms_route *route) {
    const ms_torus *torus = ms_torus_of(platform);
    int chip = from;
    for (int i = 0; i < route->count; i++) {
        ms_link_address address = ms_fabric_address(platform, route->links[i]);
        if (address.tier != 0 || address.index / torus->dimensions != chip) {
            return "a route leaves out a hop";
        }
        chip =
            ms_torus_neighbour(torus, chip, address.index % torus->dimensions, address.direction);
    }
    bool is_shortest = chip == to && route->count == distance_of(torus, from, to);
    return is_shortest ? NULL : "a route is not the shortest";
}

const char *ms_torus_route_fault(const ms_platform *platform, int source, int destination,
                                 const ms_route *route) {
    if (route->tier == 0) {
        return fault_in_pod(platform, source, destination, route);
    }
    int tier = ms_torus_of(platform)->port_tier;
    int up = ms_fabric_link(platform, tier, ms_torus_port(platform, source), MS_LINK_UP);
    int down = ms_fabric_link(platform, tier, ms_torus_port(platform, destination), MS_LINK_DOWN);
    bool is_right = route->count == 2 && route->links[0] == up && route->links[1] == down;
    return is_right ? NULL : "a route between pods does not take the nodes' NICs";
}

int ms_torus_link_pairs(const ms_platform *platform, int tier) {
    return tier == 0 ? ms_platform_gpus(platform) * ms_torus_of(platform)->dimensions
                     : platform->nodes * platform->nics_per_node;
}

int64_t ms_torus_domain(const ms_platform *platform, int tier) {
    return tier == 0 ? ms_torus_of(platform)->chips : ms_platform_gpus(platform);
}

void ms_torus_name_link(const ms_platform *platform, ms_link_address address, char *text_out,
                        size_t size) {
    int dimensions = ms_torus_of(platform)->dimensions;
    if (address.tier == 0) {
        snprintf(text_out, size, "chip%d:%c%c", address.index / dimensions,
                 "xyz"[address.index % dimensions], address.direction == MS_LINK_UP ? '+' : '-');
    } else {
        snprintf(text_out, size, "node%d:nic%d:%s", address.index / platform->nics_per_node,
                 address.index % platform->nics_per_node,
                 address.direction == MS_LINK_UP ? "up" : "down");
    }
}

/* `count` times a capacity that may be infinite: 0 times infinity is 0. */
static double times(double count, double bandwidth_Bps) {
    return count == 0 ? 0 : count * bandwidth_Bps;
}

/* Bandwidth of the links from chips below number `half` to the other chips [B/s]: the links of the
 * torus, and with several pods also the NICs of the nodes before `half`. */
static double cut(const ms_platform *platform, int half) {
    const ms_torus *torus = ms_torus_of(platform);
    double links = 0;
    /* only in the pod that is cut in two do links lead to the other side */
    for (int chip = half / torus->chips * torus->chips; chip < half; chip++) {
        for (int way = 0; way < 2 * torus->dimensions; way++) { /* both ways of each dimension */
            links += ms_torus_neighbour(torus, chip, way / 2, way % 2) >= half;
        }
    }
    int nodes = half / platform->gpus_per_node;
    double ports = torus->pods == 1 ? 0 : (double)nodes * platform->nics_per_node;
    return times(links, ms_fabric_capacity_Bps(platform, 0)) +
           times(ports, ms_fabric_capacity_Bps(platform, torus->port_tier));
}

double ms_torus_bisection_Bps(const ms_platform *platform) {
    bool is_single = platform->nodes == 1;
    return cut(platform, is_single ? platform->gpus_per_node / 2
                                   : platform->nodes / 2 * platform->gpus_per_node);
}
