/* Writes a platform as a SimGrid XML description (ms_platform_write_simgrid_xml), for other tools
 * that run on SimGrid: hosts, links, and the routers and routes of the fabric kind. */
#include <math.h>

#include "cluster/platform/fabric.h"
#include "cluster/platform/simgrid_xml.h"

enum { XML_GPUS_MAX = 1024, NAME_SIZE = MS_XML_NAME_SIZE };

/* Bandwidth in place of an unlimited link: far above any link, and not shared. */
#define UNLIMITED_BPS 1e18

/* Write a link. A link without a limit becomes very fast and not shared (FATPIPE). */
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

/* Write a host for each GPU. */
static void write_hosts(const ms_platform *platform, ms_buffer *out) {
    for (int gpu = 0; gpu < ms_platform_gpus(platform); gpu++) {
        ms_buffer_printf(out, "    <host id=\"gpu-%d\" speed=\"%.17gf\"/>\n", gpu,
                         platform->gpu.peak_flop_per_s);
    }
}

/* Write all links of the platform, and the link `step`, which has no latency and no limit. */
static void write_links(const ms_platform *platform, ms_buffer *out) {
    ms_buffer_printf(out,
                     "    <link id=\"step\" bandwidth=\"%.17gBps\" latency=\"0s\" "
                     "sharing_policy=\"FATPIPE\"/>\n",
                     UNLIMITED_BPS);
    for (int link = 0; link < platform->link_count; link++) {
        write_link(platform, link, out);
    }
}

/* Hosts and links are written here; routers and routes depend on the fabric, so its kind writes
 * them. With routing ECMP a hash of the ends chooses among parallel links, which the shortest paths
 * of a SimGrid zone (Dijkstra) cannot express. */
ms_status ms_platform_write_simgrid_xml(const ms_platform *platform, ms_diag *diag,
                                        ms_buffer *out) {
    const ms_fabric_kind *kind = platform->topology->kind;
    int gpus = ms_platform_gpus(platform);
    if (gpus > XML_GPUS_MAX) {
        return ms_diag_error(
            diag,
            "a SimGrid file is written for at most %d GPUs, platform '%s' has %d; use "
            "fewer nodes (--set platform.nodes=...)",
            (int)XML_GPUS_MAX, platform->name, gpus);
    }
    if (platform->routing != MS_ROUTING_SPREAD) {
        return ms_diag_error(diag, "a SimGrid file is written for routing 'spread' only");
    }
    ms_buffer_puts(out, "<?xml version=\"1.0\"?>\n"
                        "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                        "<platform version=\"4.1\">\n");
    ms_buffer_puts(out, "  <zone id=\"platform\" routing=\"Dijkstra\">\n");
    write_hosts(platform, out);
    kind->write_xml_routers(platform, out);
    write_links(platform, out);
    kind->write_xml_routes(platform, out);
    ms_buffer_puts(out, "  </zone>\n</platform>\n");
    return out->failed ? MS_E_NOMEM : MS_OK;
}
