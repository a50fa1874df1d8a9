/* Bisection bandwidth of switched fabrics: the smallest cut between the first half of the nodes
 * and the rest.
 *
 * Above the nodes the fabric is a tree of levels (the rails are alike and taken together). So
 * the smallest cut is found bottom up: each switch is put on the side where this cuts less
 * bandwidth. */
#include <math.h>

#include "cluster/platform/switches/switches.h"

/* The smallest bandwidth that is cut in a subtree if its top switch is on the side of the first
 * half of the nodes (near), and if it is on the other side (far). */
typedef struct tier_cut {
    double near_Bps;
    double far_Bps;
} tier_cut;

/* `count` times a bandwidth that may be infinite: 0 times infinity is 0. */
static double times(double count, double bandwidth_Bps) {
    return count == 0 ? 0 : count * bandwidth_Bps;
}

/* Add to the cut of a parent that of a subtree whose top switch hangs on a link of `capacity_Bps`:
 * the subtree's switch is on the side of the parent's, or the link is cut as well. */
static void add_subtree(tier_cut *parent, tier_cut child, double capacity_Bps) {
    parent->near_Bps += fmin(child.near_Bps, child.far_Bps + capacity_Bps);
    parent->far_Bps += fmin(child.far_Bps, child.near_Bps + capacity_Bps);
}

/* The cut of a unit's leaf switches: the links to its nodes on the other side. Nodes before `half`
 * are near, others far. */
static tier_cut cut_unit(const ms_platform *platform, int unit, int half) {
    const ms_platform_layout *layout = &ms_switches_of(platform)->layout;
    int first = unit * layout->nodes_per_unit;
    int end = first + layout->nodes_per_unit;
    end = end < platform->nodes ? end : platform->nodes;
    int near = half <= first ? 0 : (half < end ? half : end) - first;
    double node_Bps = layout->ports_per_node * ms_fabric_capacity_Bps(platform, layout->port_tier);
    return (tier_cut){.near_Bps = times(end - first - near, node_Bps),
                      .far_Bps = times(near, node_Bps)};
}

/* The smallest cut between the two halves of the nodes [B/s], from units through pods to the
 * core. */
static double cut_nodes(const ms_platform *platform) {
    const ms_platform_layout *layout = &ms_switches_of(platform)->layout;
    double unit_Bps = layout->leaves_per_unit * layout->links_per_leaf *
                      ms_fabric_capacity_Bps(platform, layout->spine_tier);
    double pod_Bps = layout->links_per_pod * ms_fabric_capacity_Bps(platform, layout->core_tier);
    tier_cut core = {0};
    for (int pod = 0; pod < layout->pods; pod++) {
        tier_cut spine = {0};
        int end = (pod + 1) * layout->units_per_pod;
        for (int u = pod * layout->units_per_pod; u < end && u < layout->units; u++) {
            add_subtree(&spine, cut_unit(platform, u, platform->nodes / 2), unit_Bps);
        }
        add_subtree(&core, spine, pod_Bps);
    }
    return fmin(core.near_Bps, core.far_Bps);
}

double ms_switches_bisection_Bps(const ms_platform *platform) {
    const ms_platform_layout *layout = &ms_switches_of(platform)->layout;
    if (platform->nodes == 1) { /* between two halves of its GPUs */
        int tier = layout->node_tier >= 0 ? layout->node_tier : layout->port_tier;
        int half = platform->gpus_per_node / 2;
        int others = platform->tiers[0].is_paired ? platform->gpus_per_node - half : 1;
        return times((double)half * others, ms_fabric_capacity_Bps(platform, tier));
    }
    return cut_nodes(platform);
}
