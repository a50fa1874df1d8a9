/* Writes switches for SimGrid's Dijkstra zone, in such a way that its paths are meshsim's routes.
 *
 * SimGrid takes the path with the fewest links and may lead it through hosts. So the edges out of a
 * GPU are made longer by links `step` without latency or limit: one on the edge to the node's
 * switch, two on the edge to the fabric. Then no path is shorter by passing through another GPU,
 * and GPUs of a node never communicate over a NIC that they share. Traffic that changes rail (PXN)
 * leaves through a router of its own; each rail then has spine and core routers of its own, which
 * share the capacity of one spine and core. */
#include <stdio.h>

#include "cluster/platform/simgrid_xml.h"
#include "cluster/platform/switches/switches.h"

enum { NAME_SIZE = MS_XML_NAME_SIZE };

/* Name of a GPU's host. */
static void host_name(int gpu, char out[NAME_SIZE]) {
    snprintf(out, NAME_SIZE, "gpu-%d", gpu);
}

/* Name of a router.  kind: "node", "pxn", "nic", "leaf", "spine" or "core". */
static void vertex_name(const char *kind, int index, char out[NAME_SIZE]) {
    snprintf(out, NAME_SIZE, "%s-%d", kind, index);
}

/* Number of spine (and core) routers per pod: one for each rail where only PXN may change the rail,
 * else one. */
static int planes(const ms_platform *platform) {
    return platform->has_pxn ? ms_switches_of(platform)->layout.leaves_per_unit : 1;
}

/* Write the routers of a kind, numbered from 0. */
static void write_vertices(const char *kind, int count, ms_buffer *out) {
    for (int i = 0; i < count; i++) {
        ms_buffer_printf(out, "    <router id=\"%s-%d\"/>\n", kind, i);
    }
}

/* Write an edge from a GPU to edge->to, over the GPU's link to `other`, a GPU of its node that is
 * wired in pairs. With two steps the edge is as long as a path over a node's switch. */
static void write_pair_edge(const ms_platform *platform, int gpu, int other, ms_xml_edge *edge,
                            ms_buffer *out) {
    ms_link_address address = ms_switches_pair(platform, gpu, other);
    host_name(gpu, edge->from);
    edge->link = ms_fabric_link(platform, address.tier, address.index, address.direction);
    edge->steps = 2;
    ms_xml_write_edge(platform, edge, out);
}

/* Write edges from a GPU to every other GPU of its node, where nodes are wired in pairs. */
static void write_pair_edges(const ms_platform *platform, int gpu, ms_buffer *out) {
    int first = ms_platform_node(platform, gpu) * platform->gpus_per_node;
    for (int other = first; other < first + platform->gpus_per_node; other++) {
        ms_xml_edge edge = {.steps = 0};
        host_name(other, edge.to);
        if (other != gpu) {
            write_pair_edge(platform, gpu, other, &edge, out);
        }
    }
}

/* Write the edges into the router of a proxy's NIC, over which other GPUs of the node send (PXN):
 * from the node's PXN router, or from each GPU where nodes are wired in pairs.  nic: its router. */
static void write_proxy_edges(const ms_platform *platform, int proxy, const char *nic,
                              ms_buffer *out) {
    int node = ms_platform_node(platform, proxy);
    int first = node * platform->gpus_per_node;
    ms_xml_edge edge = {.steps = 0};
    snprintf(edge.to, NAME_SIZE, "%s", nic);
    for (int gpu = first; gpu < first + platform->gpus_per_node && platform->tiers[0].is_paired;
         gpu++) {
        if (gpu != proxy) {
            write_pair_edge(platform, gpu, proxy, &edge, out);
        }
    }
    if (!platform->tiers[0].is_paired) {
        vertex_name("pxn", node, edge.from);
        edge.link = ms_fabric_link(platform, ms_switches_of(platform)->layout.node_tier, proxy,
                                   MS_LINK_DOWN);
        ms_xml_write_edge(platform, &edge, out);
    }
}

/* Write the edges between a GPU's host and the node's switch, and between the host and the leaf
 * switch of the GPU's NIC. Edges out of a GPU have `step` links (see the top of this file); with
 * PXN a GPU also has an edge to the node's router for it. */
static void write_gpu_edges(const ms_platform *platform, int gpu, ms_buffer *out) {
    const ms_platform_layout *layout = &ms_switches_of(platform)->layout;
    int node = ms_platform_node(platform, gpu);
    int port = ms_switches_port(platform, gpu);
    ms_xml_edge edge = {.steps = 0};
    if (platform->tiers[0].is_paired) {
        write_pair_edges(platform, gpu, out);
    } else if (layout->node_tier >= 0) {
        host_name(gpu, edge.from);
        vertex_name("node", node, edge.to);
        edge.link = ms_fabric_link(platform, layout->node_tier, gpu, MS_LINK_UP);
        edge.steps = 1;
        ms_xml_write_edge(platform, &edge, out);
        if (platform->has_pxn) {
            vertex_name("pxn", node, edge.to);
            ms_xml_write_edge(platform, &edge, out);
        }
        vertex_name("node", node, edge.from);
        host_name(gpu, edge.to);
        edge.link = ms_fabric_link(platform, layout->node_tier, gpu, MS_LINK_DOWN);
        edge.steps = 0;
        ms_xml_write_edge(platform, &edge, out);
    }
    host_name(gpu, edge.from);
    vertex_name("leaf", ms_switches_leaf(platform, gpu), edge.to);
    edge.link = ms_fabric_link(platform, layout->port_tier, port, MS_LINK_UP);
    edge.steps = 2;
    ms_xml_write_edge(platform, &edge, out);
    vertex_name("leaf", ms_switches_leaf(platform, gpu), edge.from);
    host_name(gpu, edge.to);
    edge.link = ms_fabric_link(platform, layout->port_tier, port, MS_LINK_DOWN);
    edge.steps = 0;
    ms_xml_write_edge(platform, &edge, out);
}

/* Write the edges of a node's PXN traffic: to each NIC over the link of the GPU that uses the NIC,
 * and from the NIC to its leaf. An edge has one direction, because SimGrid reverses the order of
 * the links in a route that it uses in both. */
static void write_pxn_edges(const ms_platform *platform, int node, ms_buffer *out) {
    const ms_platform_layout *layout = &ms_switches_of(platform)->layout;
    for (int rail = 0; rail < layout->ports_per_node; rail++) {
        int proxy = node * platform->gpus_per_node + rail;
        int port = ms_switches_port(platform, proxy);
        ms_xml_edge edge = {.steps = 0};
        vertex_name("nic", port, edge.from);
        write_proxy_edges(platform, proxy, edge.from, out);
        vertex_name("leaf", ms_switches_leaf(platform, proxy), edge.to);
        edge.link = ms_fabric_link(platform, layout->port_tier, port, MS_LINK_UP);
        ms_xml_write_edge(platform, &edge, out);
    }
}

/* Write the edges of a link pair in both directions.  edge: from the lower to the upper router; its
 * link is set here. */
static void write_uplink(const ms_platform *platform, ms_xml_edge *edge, int tier, int index,
                         ms_buffer *out) {
    ms_xml_edge down = *edge;
    snprintf(down.from, NAME_SIZE, "%s", edge->to);
    snprintf(down.to, NAME_SIZE, "%s", edge->from);
    edge->link = ms_fabric_link(platform, tier, index, MS_LINK_UP);
    down.link = ms_fabric_link(platform, tier, index, MS_LINK_DOWN);
    ms_xml_write_edge(platform, edge, out);
    ms_xml_write_edge(platform, &down, out);
}

/* Write the edges between leaves and spines, and between spines and cores. */
static void write_fabric_edges(const ms_platform *platform, ms_buffer *out) {
    const ms_platform_layout *layout = &ms_switches_of(platform)->layout;
    int plane_count = planes(platform);
    int leaves = layout->units * layout->leaves_per_unit;
    for (int leaf = 0; leaf < leaves && layout->spine_tier >= 0; leaf++) {
        int pod = leaf / (layout->leaves_per_unit * layout->units_per_pod);
        ms_xml_edge edge = {.steps = 0};
        vertex_name("leaf", leaf, edge.from);
        vertex_name("spine", pod * plane_count + leaf % plane_count, edge.to);
        write_uplink(platform, &edge, layout->spine_tier, leaf, out);
    }
    for (int spine = 0; spine < layout->pods * plane_count && layout->core_tier >= 0; spine++) {
        ms_xml_edge edge = {.steps = 0};
        vertex_name("spine", spine, edge.from);
        vertex_name("core", spine % plane_count, edge.to);
        write_uplink(platform, &edge, layout->core_tier, spine / plane_count, out);
    }
}

void ms_switches_write_xml_routers(const ms_platform *platform, ms_buffer *out) {
    const ms_platform_layout *layout = &ms_switches_of(platform)->layout;
    /* nodes that have a switch */
    int switched_nodes = platform->tiers[0].is_paired ? 0 : platform->nodes;
    write_vertices("node", layout->node_tier >= 0 ? switched_nodes : 0, out);
    write_vertices("pxn", platform->has_pxn ? switched_nodes : 0, out);
    write_vertices("nic", platform->has_pxn ? platform->nodes * layout->ports_per_node : 0, out);
    write_vertices("leaf", layout->units * layout->leaves_per_unit, out);
    write_vertices("spine", layout->spine_tier >= 0 ? layout->pods * planes(platform) : 0, out);
    write_vertices("core", layout->core_tier >= 0 ? planes(platform) : 0, out);
}

void ms_switches_write_xml_routes(const ms_platform *platform, ms_buffer *out) {
    for (int gpu = 0; gpu < ms_platform_gpus(platform); gpu++) {
        write_gpu_edges(platform, gpu, out);
    }
    for (int node = 0; node < platform->nodes && platform->has_pxn; node++) {
        write_pxn_edges(platform, node, out);
    }
    write_fabric_edges(platform, out);
}
