/* Bisection bandwidth: the smallest cut between the first half of the nodes and the rest.
 *
 * Above the nodes the fabric is a tree of levels (rails taken together, they are alike), so the
 * smallest cut follows bottom up: each switch level is put on the side where it costs less. */
#include <math.h>

#include "platform/torus.h"

/* Cost of a subtree when its top stands on the first half's side, or on the other. */
typedef struct cut {
    double near_Bps;
    double far_Bps;
} cut;

static double times(double count, double bandwidth_Bps) {
    return count == 0 ? 0 : count * bandwidth_Bps;
}

/* Add a subtree below a link of `capacity_Bps` to its parent's cost. */
static void join(cut *parent, cut child, double capacity_Bps) {
    parent->near_Bps += fmin(child.near_Bps, child.far_Bps + capacity_Bps);
    parent->far_Bps += fmin(child.far_Bps, child.near_Bps + capacity_Bps);
}

static double capacity(const ms_platform *platform, int tier) {
    return tier < 0 ? INFINITY
                    : ms_platform_link(platform, platform->tiers[tier].first_link).capacity_Bps;
}

/* The leaves of a unit: its nodes before `half` are near, the others far. */
static cut cut_unit(const ms_platform *platform, int unit, int half) {
    const ms_topology *topology = ms_topology_of(platform);
    int first = unit * topology->nodes_per_unit;
    int end = first + topology->nodes_per_unit;
    end = end < platform->nodes ? end : platform->nodes;
    int near = half <= first ? 0 : (half < end ? half : end) - first;
    double node_Bps = topology->ports_per_node * capacity(platform, topology->port_tier);
    return (cut){.near_Bps = times(end - first - near, node_Bps), .far_Bps = times(near, node_Bps)};
}

static double cut_nodes(const ms_platform *platform) {
    const ms_topology *topology = ms_topology_of(platform);
    double unit_Bps = topology->leaves_per_unit * topology->links_per_leaf *
                      capacity(platform, topology->spine_tier);
    double pod_Bps = topology->links_per_pod * capacity(platform, topology->core_tier);
    cut core = {0};
    for (int pod = 0; pod < topology->pods; pod++) {
        cut spine = {0};
        int end = (pod + 1) * topology->units_per_pod;
        for (int u = pod * topology->units_per_pod; u < end && u < topology->units; u++) {
            join(&spine, cut_unit(platform, u, platform->nodes / 2), unit_Bps);
        }
        join(&core, spine, pod_Bps);
    }
    return fmin(core.near_Bps, core.far_Bps);
}

/* Links of the torus from chips before `half` to the others, and the ports of the side with fewer
 * nodes where there are several pods. */
static double cut_torus(const ms_platform *platform, int half) {
    const ms_topology *topology = ms_topology_of(platform);
    double count = 0;
    /* pods before the divided one lie on one side whole */
    for (int chip = half / topology->torus.chips * topology->torus.chips; chip < half; chip++) {
        for (int way = 0; way < 2 * topology->torus.dimensions; way++) {
            count += ms_torus_neighbour(topology, chip, way / 2, way % 2) >= half;
        }
    }
    int nodes = half / platform->gpus_per_node;
    double ports = topology->torus.pods == 1 ? 0 : (double)nodes * topology->ports_per_node;
    return times(count, capacity(platform, 0)) +
           times(ports, capacity(platform, topology->port_tier));
}

double ms_platform_bisection_Bps(const ms_platform *platform) {
    const ms_topology *topology = ms_topology_of(platform);
    if (topology->kind == MS_FABRIC_TORUS) {
        bool is_single = platform->nodes == 1;
        return cut_torus(platform, is_single ? platform->gpus_per_node / 2
                                             : platform->nodes / 2 * platform->gpus_per_node);
    }
    if (platform->nodes == 1) {
        int tier = topology->node_tier >= 0 ? topology->node_tier : topology->port_tier;
        int half = platform->gpus_per_node / 2;
        return times(half, capacity(platform, tier));
    }
    return cut_nodes(platform);
}
