/* Reads the `fabric` keys of switched fabrics, checks them together with the rest of the platform
 * file, and sets the sizes of the fabric (switches.h). */
#include <math.h>
#include <stddef.h>

#include "cluster/platform/switches/switches.h"

/* The values of the keys. */
typedef struct switch_keys {
    int nodes_per_unit, units_per_pod; /* 0: not given */
    double oversubscription, core_oversubscription;
} switch_keys;

const ms_field MS_SWITCHES_FIELDS[] = {
    MS_KEY("nodes_per_unit", "nodes whose NICs share a leaf switch [count]", INT,
           offsetof(switch_keys, nodes_per_unit), MS_RANGE(1, MS_PLATFORM_GPUS_MAX)),
    MS_KEY("oversubscription", "links below a leaf per link above it", NUMBER,
           offsetof(switch_keys, oversubscription), .fallback = "1", MS_RANGE(1e-3, 1e6)),
    MS_KEY("units_per_pod", "units whose leaves share a spine layer [count]", INT,
           offsetof(switch_keys, units_per_pod), MS_RANGE(1, MS_PLATFORM_GPUS_MAX)),
    MS_KEY("core_oversubscription", "links below a pod's spine layer per link above it", NUMBER,
           offsetof(switch_keys, core_oversubscription), .fallback = "1", MS_RANGE(1e-3, 1e6)),
    {.key = NULL},
};

/* Check that the file has what a flat fabric has: one tier, no NICs, no wiring of nodes. */
static void check_flat(ms_fabric_file *file, const ms_platform *platform) {
    if (platform->tier_count != 1) {
        ms_fabric_fault(file, "tiers", "a flat fabric has 1 tier (GPU to switch), got %d",
                        platform->tier_count);
    }
    if (platform->nics_per_node != 0) {
        ms_fabric_refuse_key(file, "node.nics", "a flat fabric joins GPUs, leave nics out");
    }
    ms_fabric_refuse_key(file, "node.wiring",
                         "a flat fabric also joins the GPUs of a node, leave wiring out");
}

/* Check the levels above the leaf switches: keys of a level need the level's tier, and a tier needs
 * the keys of its level. */
static void check_levels(ms_fabric_file *file, const switch_keys *keys,
                         const ms_platform *platform) {
    int tiers = platform->tier_count;
    if (tiers < 2 || tiers > 4) {
        ms_fabric_fault(file, "tiers",
                        "a '%s' fabric has 2 to 4 tiers (inside a node, NIC to leaf, leaf to "
                        "spine, spine to core), got %d",
                        file->kind->name, tiers);
        return;
    }
    if (tiers >= 3 && keys->nodes_per_unit == 0) {
        ms_fabric_fault(file, "fabric.nodes_per_unit",
                        "required key is missing: nodes that share a leaf switch");
    }
    if (tiers == 4 && keys->units_per_pod == 0) {
        ms_fabric_fault(file, "fabric.units_per_pod",
                        "required key is missing: units below one spine layer");
    }
    if (tiers < 3) {
        ms_fabric_refuse_key(file, "fabric.oversubscription", "needs a third tier (leaf to spine)");
    }
    if (tiers < 4) {
        ms_fabric_refuse_key(file, "fabric.units_per_pod", "needs a fourth tier (spine to core)");
        ms_fabric_refuse_key(file, "fabric.core_oversubscription",
                             "needs a fourth tier (spine to core)");
    }
    if (tiers == 2 && keys->nodes_per_unit != 0 && platform->nodes > keys->nodes_per_unit) {
        ms_fabric_fault(file, "fabric.nodes_per_unit",
                        "%d nodes in units of %d, but no third tier joins the units",
                        platform->nodes, keys->nodes_per_unit);
    }
}

/* Number of physical links from leaves to spines and from pods to the core, one direction; a double
 * cannot overflow. Units and pods that have too few nodes count with all their switches. leaves: of
 * a unit. */
static double count_uplinks(const switch_keys *keys, double leaves, const ms_platform *platform) {
    double unit = keys->nodes_per_unit > 0 ? keys->nodes_per_unit : platform->nodes;
    double units = ceil(platform->nodes / unit);
    double pod = keys->units_per_pod > 0 ? keys->units_per_pod : units;
    double per_leaf = unit * platform->nics_per_node / leaves / keys->oversubscription;
    double per_pod = per_leaf * leaves * pod / keys->core_oversubscription;
    return units * leaves * ceil(per_leaf) + ceil(units / pod) * ceil(per_pod);
}

/* Check that ECMP has parallel links to choose among, and few enough of them to number.  leaves: of
 * a unit. */
static void check_ecmp(ms_fabric_file *file, const switch_keys *keys, double leaves,
                       const ms_platform *platform) {
    if (platform->tier_count < 3) {
        ms_fabric_fault(file, "routing",
                        "'ecmp' chooses among links of a leaf to the spine, a third tier, which "
                        "this fabric does not have");
        return;
    }
    double links = 2 * count_uplinks(keys, leaves, platform);
    if (links > MS_LINKS_MAX) {
        ms_fabric_fault(file, "routing",
                        "'ecmp' numbers every link, and these are %.0f above the leaves; at most "
                        "%d are supported",
                        links, (int)MS_LINKS_MAX);
    }
}

/* Check that the links inside nodes that are wired in pairs are few enough to be numbered. */
static void check_pairs(ms_fabric_file *file, const ms_platform *platform) {
    double links = 2.0 * platform->nodes * ms_switches_node_pairs(platform);
    if (platform->tiers[0].is_paired && links > MS_LINKS_MAX) {
        ms_fabric_fault(file, "node.wiring",
                        "pairs of %d GPUs in %d nodes are %.0f links; at most %d are supported",
                        platform->gpus_per_node, platform->nodes, links, (int)MS_LINKS_MAX);
    }
}

/* a / b, rounded up. */
static int ceil_div(int a, int b) {
    return (a + b - 1) / b;
}

/* Set the sizes that follow from keys that passed the checks.  *switches: its kind, tiers, rails
 * and ports are set before. */
static void size_levels(const switch_keys *keys, const ms_platform *platform,
                        ms_switches *switches) {
    ms_platform_layout *out = &switches->layout;
    out->nodes_per_unit = keys->nodes_per_unit > 0 ? keys->nodes_per_unit : platform->nodes;
    out->leaves_per_unit = out->has_rails ? out->ports_per_node : 1;
    out->units = ceil_div(platform->nodes, out->nodes_per_unit);
    out->units_per_pod = keys->units_per_pod > 0 ? keys->units_per_pod : out->units;
    out->pods = ceil_div(out->units, out->units_per_pod);
    double ports_per_leaf =
        (double)out->nodes_per_unit * out->ports_per_node / out->leaves_per_unit;
    bool is_ecmp = platform->routing == MS_ROUTING_ECMP;
    /* an oversubscription is the number of links below a switch layer per link above it */
    switches->uplinks_per_leaf = ports_per_leaf / keys->oversubscription;
    switches->uplinks_per_pod = switches->uplinks_per_leaf * out->leaves_per_unit *
                                out->units_per_pod / keys->core_oversubscription;
    /* without ECMP the uplinks of a leaf, or of a pod, act as one link */
    out->links_per_leaf = is_ecmp ? (int)ceil(switches->uplinks_per_leaf) : 1;
    out->links_per_pod =
        is_ecmp && platform->tier_count > 3 ? (int)ceil(switches->uplinks_per_pod) : 1;
}

/* Set the platform's topology.  sizes: kind, tiers, rails and ports; size_levels sets the rest.
 * Returns MS_OK; MS_E_NOMEM. */
static ms_status set_topology(const ms_switches *sizes, const switch_keys *keys, ms_arena *arena,
                              ms_platform *platform) {
    ms_switches *kept = MS_NEW(arena, ms_switches, 1);
    if (kept == NULL) {
        return MS_E_NOMEM;
    }
    *kept = *sizes;
    size_levels(keys, platform, kept);
    platform->topology = &kept->head;
    return MS_OK;
}

/* A flat fabric is a switched fabric with one level: the ports are at the GPUs, and one leaf
 * connects all of them. */
ms_status ms_switches_read_flat(ms_fabric_file *file, ms_arena *arena, ms_platform *platform) {
    const switch_keys keys = {.oversubscription = 1, .core_oversubscription = 1};
    if (!file->has_faults) {
        check_flat(file, platform);
    }
    if (file->status != MS_OK || file->has_faults) {
        return MS_E_INPUT;
    }
    const ms_switches sizes = {.head = {file->kind},
                               .layout = {.node_tier = -1,
                                          .port_tier = 0,
                                          .spine_tier = -1,
                                          .core_tier = -1,
                                          .ports_per_node = platform->gpus_per_node}};
    return set_topology(&sizes, &keys, arena, platform);
}

/* Read a fabric that connects the NICs of nodes: rails, or leaf-spine. */
static ms_status read_levels(bool has_rails, ms_fabric_file *file, ms_arena *arena,
                             ms_platform *platform) {
    switch_keys keys = {0};
    int tiers = platform->tier_count;
    ms_status status = ms_fabric_read_keys(file, MS_SWITCHES_FIELDS, &keys, arena);
    if (status != MS_OK) {
        return status;
    }
    ms_fabric_check_nics(file, platform);
    check_levels(file, &keys, platform);
    if (has_rails && platform->nics_per_node > 1 && !file->wants_pxn && tiers == 2) {
        ms_fabric_fault(file, "pxn",
                        "without pxn and without a third tier nothing joins the rails");
    }
    check_pairs(file, platform);
    if (platform->routing == MS_ROUTING_ECMP) {
        check_ecmp(file, &keys, has_rails ? platform->nics_per_node : 1, platform);
    }
    if (file->status != MS_OK) {
        return file->status;
    }
    platform->has_pxn = has_rails && file->wants_pxn;
    const ms_switches sizes = {.head = {file->kind},
                               .layout = {.has_rails = has_rails,
                                          .node_tier = 0,
                                          .port_tier = 1,
                                          .spine_tier = tiers > 2 ? 2 : -1,
                                          .core_tier = tiers > 3 ? 3 : -1,
                                          .ports_per_node = platform->nics_per_node},
                               .seed = (uint64_t)file->routing_seed};
    return set_topology(&sizes, &keys, arena, platform);
}

ms_status ms_switches_read_rails(ms_fabric_file *file, ms_arena *arena, ms_platform *platform) {
    return read_levels(true, file, arena, platform);
}

ms_status ms_switches_read_leaf_spine(ms_fabric_file *file, ms_arena *arena,
                                      ms_platform *platform) {
    return read_levels(false, file, arena, platform);
}
