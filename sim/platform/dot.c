/* Graphviz picture of a platform: switches as boxes, nodes as ellipses, one arrow pair drawn as one
 * edge with what it carries. */
#include <math.h>
#include <stdio.h>

#include "meshsim/units.h"
#include "platform/pictures.h"

/* Nodes drawn one by one; beyond that each unit shows how many it has, and beyond so many leaf
 * switches each level is one shape. */
enum { NODES_DRAWN_MAX = 64, LEAVES_DRAWN_MAX = 1024 };

/* A name as part of a quoted label or a comment: quotes and backslashes escaped, on one line. */
void ms_platform_dot_name(const char *name, ms_buffer *out) {
    for (; *name != '\0'; name++) {
        bool is_special = *name == '"' || *name == '\\';
        bool is_control = (unsigned char)*name < 0x20;
        ms_buffer_puts(out, is_special ? "\\" : "");
        ms_buffer_add(out, is_control ? " " : name, 1);
    }
}

char *ms_tier_bandwidth_text(const ms_tier *tier, double value_Bps, char *text_out, size_t size) {
    if (isinf(value_Bps)) {
        snprintf(text_out, size, "unlimited");
        return text_out;
    }
    return tier->is_in_bits ? ms_unit_format_bits(value_Bps, text_out, size)
                            : ms_unit_format(value_Bps, MS_DIM_BANDWIDTH, text_out, size);
}

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
    const ms_topology *topology = ms_topology_of(platform);
    int unit = node / topology->nodes_per_unit;
    int per_leaf = topology->ports_per_node / topology->leaves_per_unit;
    ms_buffer_printf(out, "  node%d [label=\"node %d\\n%d x ", node, node, platform->gpus_per_node);
    ms_platform_dot_name(platform->gpu.name, out);
    ms_buffer_puts(out, "\"];\n");
    for (int i = 0; i < topology->leaves_per_unit; i++) {
        ms_buffer_printf(out, "  node%d -- leaf%d", node, unit * topology->leaves_per_unit + i);
        write_label(platform, topology->port_tier, per_leaf, out);
    }
}

/* A unit's nodes in one shape, when there are too many to draw. */
static void write_unit(const ms_platform *platform, int unit, ms_buffer *out) {
    const ms_topology *topology = ms_topology_of(platform);
    int first = unit * topology->nodes_per_unit;
    int left = platform->nodes - first;
    int nodes = left < topology->nodes_per_unit ? left : topology->nodes_per_unit;
    int per_leaf = topology->ports_per_node / topology->leaves_per_unit * nodes;
    ms_buffer_printf(out, "  unit%d [label=\"nodes %d to %d\\n%d x %d x ", unit, first,
                     first + nodes - 1, nodes, platform->gpus_per_node);
    ms_platform_dot_name(platform->gpu.name, out);
    ms_buffer_puts(out, "\"];\n");
    for (int i = 0; i < topology->leaves_per_unit; i++) {
        ms_buffer_printf(out, "  unit%d -- leaf%d", unit, unit * topology->leaves_per_unit + i);
        write_label(platform, topology->port_tier, per_leaf, out);
    }
}

static void write_switches(const ms_platform *platform, ms_buffer *out) {
    const ms_topology *topology = ms_topology_of(platform);
    int leaves = topology->units * topology->leaves_per_unit;
    for (int leaf = 0; leaf < leaves; leaf++) {
        int unit = leaf / topology->leaves_per_unit;
        ms_buffer_printf(out, "  leaf%d [shape=box, label=\"leaf\\nunit %d", leaf, unit);
        if (topology->kind == MS_FABRIC_RAILS) {
            ms_buffer_printf(out, " rail %d", leaf % topology->leaves_per_unit);
        }
        ms_buffer_puts(out, "\"];\n");
        if (topology->spine_tier >= 0) {
            ms_buffer_printf(out, "  leaf%d -- spine%d", leaf, unit / topology->units_per_pod);
            write_label(platform, topology->spine_tier, topology->links_per_leaf, out);
        }
    }
    for (int pod = 0; pod < topology->pods && topology->spine_tier >= 0; pod++) {
        ms_buffer_printf(out, "  spine%d [shape=box, label=\"spine of pod %d\"];\n", pod, pod);
        if (topology->core_tier >= 0) {
            ms_buffer_printf(out, "  spine%d -- core", pod);
            write_label(platform, topology->core_tier, topology->links_per_pod, out);
        }
    }
    if (topology->core_tier >= 0) {
        ms_buffer_puts(out, "  core [shape=box];\n");
    }
}

/* One shape per level, with how many there are. */
static void write_levels(const ms_platform *platform, ms_buffer *out) {
    const ms_topology *topology = ms_topology_of(platform);
    const char *top = "leaf";
    ms_buffer_printf(out, "  nodes [label=\"%d nodes\\neach %d x ", platform->nodes,
                     platform->gpus_per_node);
    ms_platform_dot_name(platform->gpu.name, out);
    ms_buffer_puts(out, "\"];\n");
    ms_buffer_printf(out, "  leaf [shape=box, label=\"%d leaf switches\"];\n  nodes -- leaf",
                     topology->units * topology->leaves_per_unit);
    write_label(platform, topology->port_tier, platform->tiers[topology->port_tier].links / 2, out);
    static const char *const NAMES[] = {"spine", "core"};
    const int tiers[] = {topology->spine_tier, topology->core_tier};
    const int counts[] = {topology->pods, 1};
    for (int i = 0; i < 2 && tiers[i] >= 0; i++) {
        ms_buffer_printf(out, "  %s [shape=box, label=\"%d %s layer%s\"];\n  %s -- %s", NAMES[i],
                         counts[i], NAMES[i], counts[i] == 1 ? "" : "s", top, NAMES[i]);
        write_label(platform, tiers[i], platform->tiers[tiers[i]].links / 2, out);
        top = NAMES[i];
    }
}

static void write_units(const ms_platform *platform, ms_buffer *out) {
    const ms_topology *topology = ms_topology_of(platform);
    if (platform->nodes <= NODES_DRAWN_MAX) {
        for (int node = 0; node < platform->nodes; node++) {
            write_node(platform, node, out);
        }
    } else {
        for (int unit = 0; unit < topology->units; unit++) {
            write_unit(platform, unit, out);
        }
    }
    write_switches(platform, out);
}

void ms_platform_write_dot(const ms_platform *platform, ms_buffer *out) {
    const ms_topology *topology = ms_topology_of(platform);
    ms_buffer_puts(out, "// ");
    ms_platform_dot_name(platform->name, out);
    ms_buffer_printf(out, ": %d nodes, %d GPUs; bandwidths are achieved ones, per direction\n",
                     platform->nodes, ms_platform_gpus(platform));
    ms_buffer_puts(out, "graph platform {\n  rankdir=BT;\n  node [fontname=\"sans-serif\"];\n"
                        "  edge [fontname=\"sans-serif\", fontsize=9];\n");
    if (topology->kind == MS_FABRIC_TORUS) {
        ms_torus_write_dot(platform, out);
        ms_buffer_puts(out, "}\n");
        return;
    }
    bool is_large = topology->units > LEAVES_DRAWN_MAX / topology->leaves_per_unit;
    if (is_large) {
        write_levels(platform, out);
    } else {
        write_units(platform, out);
    }
    ms_buffer_puts(out, "}\n");
}
