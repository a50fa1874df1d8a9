/* Graphviz picture of switches: these as boxes, nodes as ellipses, one arrow pair drawn as one
 * edge with what it carries. */
#include "platform/picture.h"
#include "platform/switches/switches.h"

/* Nodes drawn one by one; beyond that each unit shows how many it has, and beyond so many leaf
 * switches each level is one shape. */
enum { NODES_DRAWN_MAX = 64, LEAVES_DRAWN_MAX = 1024 };

/* What one link of a tier achieves, as an edge label. */
static void write_label(const ms_platform *platform, int tier, int times, ms_buffer *out) {
    char text[64];
    ms_link_info info = ms_platform_link(platform, platform->tiers[tier].first_link);
    ms_tier_bandwidth_text(&platform->tiers[tier], info.capacity_Bps, text, sizeof text);
    ms_buffer_puts(out, " [label=\"");
    if (times > 1) {
        ms_buffer_printf(out, "%d x ", times);
    }
    ms_buffer_printf(out, "%s\"];\n", text);
}

static void write_node(const ms_platform *platform, int node, ms_buffer *out) {
    const ms_switches *switches = ms_switches_of(platform);
    int unit = node / switches->nodes_per_unit;
    int per_leaf = switches->ports_per_node / switches->leaves_per_unit;
    ms_buffer_printf(out, "  node%d [label=\"node %d\\n%d x ", node, node, platform->gpus_per_node);
    ms_platform_dot_name(platform->gpu.name, out);
    ms_buffer_puts(out, "\"];\n");
    for (int i = 0; i < switches->leaves_per_unit; i++) {
        ms_buffer_printf(out, "  node%d -- leaf%d", node, unit * switches->leaves_per_unit + i);
        write_label(platform, switches->port_tier, per_leaf, out);
    }
}

/* A unit's nodes in one shape, when there are too many to draw. */
static void write_unit(const ms_platform *platform, int unit, ms_buffer *out) {
    const ms_switches *switches = ms_switches_of(platform);
    int first = unit * switches->nodes_per_unit;
    int left = platform->nodes - first;
    int nodes = left < switches->nodes_per_unit ? left : switches->nodes_per_unit;
    int per_leaf = switches->ports_per_node / switches->leaves_per_unit * nodes;
    ms_buffer_printf(out, "  unit%d [label=\"nodes %d to %d\\n%d x %d x ", unit, first,
                     first + nodes - 1, nodes, platform->gpus_per_node);
    ms_platform_dot_name(platform->gpu.name, out);
    ms_buffer_puts(out, "\"];\n");
    for (int i = 0; i < switches->leaves_per_unit; i++) {
        ms_buffer_printf(out, "  unit%d -- leaf%d", unit, unit * switches->leaves_per_unit + i);
        write_label(platform, switches->port_tier, per_leaf, out);
    }
}

static void write_switches(const ms_platform *platform, ms_buffer *out) {
    const ms_switches *switches = ms_switches_of(platform);
    int leaves = switches->units * switches->leaves_per_unit;
    for (int leaf = 0; leaf < leaves; leaf++) {
        int unit = leaf / switches->leaves_per_unit;
        ms_buffer_printf(out, "  leaf%d [shape=box, label=\"leaf\\nunit %d", leaf, unit);
        if (switches->has_rails) {
            ms_buffer_printf(out, " rail %d", leaf % switches->leaves_per_unit);
        }
        ms_buffer_puts(out, "\"];\n");
        if (switches->spine_tier >= 0) {
            ms_buffer_printf(out, "  leaf%d -- spine%d", leaf, unit / switches->units_per_pod);
            write_label(platform, switches->spine_tier, switches->links_per_leaf, out);
        }
    }
    for (int pod = 0; pod < switches->pods && switches->spine_tier >= 0; pod++) {
        ms_buffer_printf(out, "  spine%d [shape=box, label=\"spine of pod %d\"];\n", pod, pod);
        if (switches->core_tier >= 0) {
            ms_buffer_printf(out, "  spine%d -- core", pod);
            write_label(platform, switches->core_tier, switches->links_per_pod, out);
        }
    }
    if (switches->core_tier >= 0) {
        ms_buffer_puts(out, "  core [shape=box];\n");
    }
}

/* One shape per level, with how many there are. */
static void write_levels(const ms_platform *platform, ms_buffer *out) {
    const ms_switches *switches = ms_switches_of(platform);
    const char *top = "leaf";
    ms_buffer_printf(out, "  nodes [label=\"%d nodes\\neach %d x ", platform->nodes,
                     platform->gpus_per_node);
    ms_platform_dot_name(platform->gpu.name, out);
    ms_buffer_puts(out, "\"];\n");
    ms_buffer_printf(out, "  leaf [shape=box, label=\"%d leaf switches\"];\n  nodes -- leaf",
                     switches->units * switches->leaves_per_unit);
    write_label(platform, switches->port_tier, platform->tiers[switches->port_tier].links / 2, out);
    static const char *const NAMES[] = {"spine", "core"};
    const int tiers[] = {switches->spine_tier, switches->core_tier};
    const int counts[] = {switches->pods, 1};
    for (int i = 0; i < 2 && tiers[i] >= 0; i++) {
        ms_buffer_printf(out, "  %s [shape=box, label=\"%d %s layer%s\"];\n  %s -- %s", NAMES[i],
                         counts[i], NAMES[i], counts[i] == 1 ? "" : "s", top, NAMES[i]);
        write_label(platform, tiers[i], platform->tiers[tiers[i]].links / 2, out);
        top = NAMES[i];
    }
}

static void write_units(const ms_platform *platform, ms_buffer *out) {
    const ms_switches *switches = ms_switches_of(platform);
    if (platform->nodes <= NODES_DRAWN_MAX) {
        for (int node = 0; node < platform->nodes; node++) {
            write_node(platform, node, out);
        }
    } else {
        for (int unit = 0; unit < switches->units; unit++) {
            write_unit(platform, unit, out);
        }
    }
    write_switches(platform, out);
}

void ms_switches_write_dot(const ms_platform *platform, ms_buffer *out) {
    const ms_switches *switches = ms_switches_of(platform);
    bool is_large = switches->units > LEAVES_DRAWN_MAX / switches->leaves_per_unit;
    if (is_large) {
        write_levels(platform, out);
    } else {
        write_units(platform, out);
    }
}
