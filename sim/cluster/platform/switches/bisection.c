/* Bisection bandwidth: the smallest cut between the first half of the nodes and the rest.
 *
 * Above the nodes the fabric is a tree of levels (rails taken together, they are alike), so the
 * smallest cut follows bottom up: each switch level is put on the side where it costs less. */
#include <math.h>

#include "cluster/platform/switches/switches.h"

/* Bandwidth that is cut in a subtree when its top switch stands on the side of the first half, or
 * on the other side. */
typedef struct tier_cut {
    double near_Bps;
    double far_Bps;
} tier_cut;

static double times(double count, double bandwidth_Bps) {
    return count == 0 ? 0 : count * bandwidth_Bps;
}

/* Add a subtree below a link of `capacity_Bps` to its parent's cost. */
static void join(tier_cut *parent, tier_cut child, double capacity_Bps) {
    parent->near_Bps += fmin(child.near_Bps, child.far_Bps + capacity_Bps);
    parent->far_Bps += fmin(child.far_Bps, child.near_Bps + capacity_Bps);
}

/* The cut of a unit's leaves: the unit's nodes before `half` are on the near side, its other nodes
 * on the far side. */
static tier_cut cut_unit(const ms_platform *platform, int unit, int half) {
    const ms_switches *switches = ms_switches_of(platform);
    int first = unit * switches->nodes_per_unit;
    int end = first + switches->nodes_per_unit;
    end = end < platform->nodes ? end : platform->nodes;
    int near = half <= first ? 0 : (half < end ? half : end) - first;
    double node_Bps =
        switches->ports_per_node * ms_fabric_capacity_Bps(platform, switches->port_tier);
    return (tier_cut){.near_Bps = times(end - first - near, node_Bps),
                      .far_Bps = times(near, node_Bps)};
}

static double cut_nodes(const ms_platform *platform) {
    const ms_switches *switches = ms_switches_of(platform);
    double unit_Bps = switches->leaves_per_unit * switches->links_per_leaf *
                      ms_fabric_capacity_Bps(platform, switches->spine_tier);
    double pod_Bps =
        switches->links_per_pod * ms_fabric_capacity_Bps(platform, switches->core_tier);
    tier_cut core = {0};
    for (int pod = 0; pod < switches->pods; pod++) {
        tier_cut spine = {0};
        int end = (pod + 1) * switches->units_per_pod;
        for (int u = pod * switches->units_per_pod; u < end && u < switches->units; u++) {
            join(&spine, cut_unit(platform, u, platform->nodes / 2), unit_Bps);
        }
        join(&core, spine, pod_Bps);
    }
    return fmin(core.near_Bps, core.far_Bps);
}

double ms_switches_bisection_Bps(const ms_platform *platform) {
    const ms_switches *switches = ms_switches_of(platform);
    if (platform->nodes == 1) {
        int tier = switches->node_tier >= 0 ? switches->node_tier : switches->port_tier;
        int half = platform->gpus_per_node / 2;
        int others = platform->tiers[0].is_paired ? platform->gpus_per_node - half : 1;
        return times((double)half * others, ms_fabric_capacity_Bps(platform, tier));
    }
    return cut_nodes(platform);
}
