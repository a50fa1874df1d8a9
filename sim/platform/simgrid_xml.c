/* SimGrid platform description: the same graph for other tools that run on SimGrid.
 *
 * SimGrid's Dijkstra zone takes the path with the fewest links and may lead it through hosts. So
 * that its path is ours, the ways out of a GPU are made longer by a link `step` without latency
 * or limit: one on the way to the node's switch, two on the way to the fabric. Then no path
 * gains by passing through another GPU, and GPUs of a node never meet through a NIC they share.
 * Traffic that changes rail (PXN) leaves through a router of its own, and each rail then has
 * spine and core routers of its own that share the capacity of one spine and core. */
#include <math.h>
#include <stdio.h>

#include "platform/pictures.h"

enum { XML_GPUS_MAX = 1024, NAME_SIZE = MS_XML_NAME_SIZE };

/* What stands in for an unlimited link: far above any link, and not shared. */
#define UNLIMITED_BPS 1e18

static void write_link(const ms_platform *platform, int link, ms_buffer *out) {
    char name[NAME_SIZE];
    ms_link_info info = ms_platform_link(platform, link);
    bool is_unlimited = isinf(info.capacity_Bps);
    ms_platform_link_name(platform, link, name, sizeof name);
    ms_buffer_printf(out, "    <link id=\"%s\" bandwidth=\"%.17gBps\" latency=\"%.17gs\"%s/>\n",
                     name, is_unlimited ? UNLIMITED_BPS : info.capacity_Bps, info.latency_s,
                     is_unlimited ? " sharing_policy=\"FATPIPE\"" : "");
}

void ms_xml_write_edge(const ms_platform *platform, const ms_xml_edge *e, ms_buffer *out) {
    char name[NAME_SIZE];
    ms_buffer_printf(out, "    <route src=\"%s\" dst=\"%s\" symmetrical=\"NO\">", e->from, e->to);
    for (int i = 0; i < e->steps; i++) {
        ms_buffer_puts(out, "<link_ctn id=\"step\"/>");
    }
    if (e->link >= 0) {
        ms_platform_link_name(platform, e->link, name, sizeof name);
        ms_buffer_printf(out, "<link_ctn id=\"%s\"/>", name);
    }
    ms_buffer_puts(out, "</route>\n");
}

static void host_name(int gpu, char out[NAME_SIZE]) {
    snprintf(out, NAME_SIZE, "gpu-%d", gpu);
}

static void vertex_name(const char *kind, int index, char out[NAME_SIZE]) {
    snprintf(out, NAME_SIZE, "%s-%d", kind, index);
}

/* Spine and core are split by rail when nothing but PXN may change it. */
static int planes(const ms_platform *platform) {
    return platform->has_pxn ? ms_topology_of(platform)->leaves_per_unit : 1;
}

static void write_vertices(const char *kind, int count, ms_buffer *out) {
    for (int i = 0; i < count; i++) {
        ms_buffer_printf(out, "    <router id=\"%s-%d\"/>\n", kind, i);
    }
}

static void write_gpu_edges(const ms_platform *platform, int gpu, ms_buffer *out) {
    const ms_topology *topology = ms_topology_of(platform);
    int node = ms_platform_node(platform, gpu);
    int port = ms_topology_port(platform, gpu);
    ms_xml_edge e = {.steps = 0};
    if (topology->node_tier >= 0) {
        host_name(gpu, e.from);
        vertex_name("node", node, e.to);
        e.link = ms_topology_link(platform, topology->node_tier, gpu, MS_LINK_UP);
        e.steps = 1;
        ms_xml_write_edge(platform, &e, out);
        if (platform->has_pxn) {
            vertex_name("pxn", node, e.to);
            ms_xml_write_edge(platform, &e, out);
        }
        vertex_name("node", node, e.from);
        host_name(gpu, e.to);
        e.link = ms_topology_link(platform, topology->node_tier, gpu, MS_LINK_DOWN);
        e.steps = 0;
        ms_xml_write_edge(platform, &e, out);
    }
    host_name(gpu, e.from);
    vertex_name("leaf", ms_topology_leaf(platform, gpu), e.to);
    e.link = ms_topology_link(platform, topology->port_tier, port, MS_LINK_UP);
    e.steps = 2;
    ms_xml_write_edge(platform, &e, out);
    vertex_name("leaf", ms_topology_leaf(platform, gpu), e.from);
    host_name(gpu, e.to);
    e.link = ms_topology_link(platform, topology->port_tier, port, MS_LINK_DOWN);
    e.steps = 0;
    ms_xml_write_edge(platform, &e, out);
}

/* From a node's PXN router down to the GPU that stands on a rail, and out through its NIC. Two
 * routes: SimGrid would turn round the links inside one. */
static void write_pxn_edges(const ms_platform *platform, int node, ms_buffer *out) {
    const ms_topology *topology = ms_topology_of(platform);
    for (int rail = 0; rail < topology->ports_per_node; rail++) {
        int proxy = node * platform->gpus_per_node + rail;
        int port = ms_topology_port(platform, proxy);
        ms_xml_edge e = {.steps = 0};
        vertex_name("pxn", node, e.from);
        vertex_name("nic", port, e.to);
        e.link = ms_topology_link(platform, topology->node_tier, proxy, MS_LINK_DOWN);
        ms_xml_write_edge(platform, &e, out);
        vertex_name("nic", port, e.from);
        vertex_name("leaf", ms_topology_leaf(platform, proxy), e.to);
        e.link = ms_topology_link(platform, topology->port_tier, port, MS_LINK_UP);
        ms_xml_write_edge(platform, &e, out);
    }
}

/* Both directions between a lower and an upper vertex. */
static void write_uplink(const ms_platform *platform, ms_xml_edge *e, int tier, int index,
                         ms_buffer *out) {
    ms_xml_edge down = *e;
    snprintf(down.from, NAME_SIZE, "%s", e->to);
    snprintf(down.to, NAME_SIZE, "%s", e->from);
    e->link = ms_topology_link(platform, tier, index, MS_LINK_UP);
    down.link = ms_topology_link(platform, tier, index, MS_LINK_DOWN);
    ms_xml_write_edge(platform, e, out);
    ms_xml_write_edge(platform, &down, out);
}

static void write_fabric_edges(const ms_platform *platform, ms_buffer *out) {
    const ms_topology *topology = ms_topology_of(platform);
    int plane_count = planes(platform);
    int leaves = topology->units * topology->leaves_per_unit;
    for (int leaf = 0; leaf < leaves && topology->spine_tier >= 0; leaf++) {
        int pod = leaf / (topology->leaves_per_unit * topology->units_per_pod);
        ms_xml_edge e = {.steps = 0};
        vertex_name("leaf", leaf, e.from);
        vertex_name("spine", pod * plane_count + leaf % plane_count, e.to);
        write_uplink(platform, &e, topology->spine_tier, leaf, out);
    }
    for (int spine = 0; spine < topology->pods * plane_count && topology->core_tier >= 0; spine++) {
        ms_xml_edge e = {.steps = 0};
        vertex_name("spine", spine, e.from);
        vertex_name("core", spine % plane_count, e.to);
        write_uplink(platform, &e, topology->core_tier, spine / plane_count, out);
    }
}

static void write_hosts(const ms_platform *platform, ms_buffer *out) {
    for (int gpu = 0; gpu < ms_platform_gpus(platform); gpu++) {
        ms_buffer_printf(out, "    <host id=\"gpu-%d\" speed=\"%.17gf\"/>\n", gpu,
                         platform->gpu.peak_flop_per_s);
    }
}

static void write_links(const ms_platform *platform, ms_buffer *out) {
    ms_buffer_printf(out,
                     "    <link id=\"step\" bandwidth=\"%.17gBps\" latency=\"0s\" "
                     "sharing_policy=\"FATPIPE\"/>\n",
                     UNLIMITED_BPS);
    for (int link = 0; link < platform->link_count; link++) {
        write_link(platform, link, out);
    }
}

static void write_graph(const ms_platform *platform, ms_buffer *out) {
    const ms_topology *topology = ms_topology_of(platform);
    int gpus = ms_platform_gpus(platform);
    write_vertices("node", topology->node_tier >= 0 ? platform->nodes : 0, out);
    write_vertices("pxn", platform->has_pxn ? platform->nodes : 0, out);
    write_vertices("nic", platform->has_pxn ? platform->nodes * topology->ports_per_node : 0, out);
    write_vertices("leaf", topology->units * topology->leaves_per_unit, out);
    write_vertices("spine", topology->spine_tier >= 0 ? topology->pods * planes(platform) : 0, out);
    write_vertices("core", topology->core_tier >= 0 ? planes(platform) : 0, out);
    write_links(platform, out);
    for (int gpu = 0; gpu < gpus; gpu++) {
        write_gpu_edges(platform, gpu, out);
    }
    for (int node = 0; node < platform->nodes && platform->has_pxn; node++) {
        write_pxn_edges(platform, node, out);
    }
    write_fabric_edges(platform, out);
}

ms_status ms_platform_write_simgrid_xml(const ms_platform *platform, ms_diag *diag,
                                        ms_buffer *out) {
    int gpus = ms_platform_gpus(platform);
    if (gpus > XML_GPUS_MAX) {
        ms_diag_error(diag,
                      "a SimGrid file is written for at most %d GPUs, platform '%s' has %d; use "
                      "fewer nodes (--set platform.nodes=...)",
                      (int)XML_GPUS_MAX, platform->name, gpus);
        return MS_E_INPUT;
    }
    if (platform->routing != MS_ROUTING_SPREAD) {
        ms_diag_error(diag, "a SimGrid file is written for routing 'spread' only");
        return MS_E_INPUT;
    }
    ms_buffer_puts(out, "<?xml version=\"1.0\"?>\n"
                        "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                        "<platform version=\"4.1\">\n");
    ms_buffer_puts(out, "  <zone id=\"platform\" routing=\"Dijkstra\">\n");
    write_hosts(platform, out);
    if (ms_topology_of(platform)->kind == MS_FABRIC_TORUS) {
        ms_torus_write_xml_routers(platform, out);
        write_links(platform, out);
        ms_torus_write_xml_routes(platform, out);
    } else {
        write_graph(platform, out);
    }
    ms_buffer_puts(out, "  </zone>\n</platform>\n");
    return out->failed ? MS_E_NOMEM : MS_OK;
}
