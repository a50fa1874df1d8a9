/* A torus for SimGrid's Dijkstra zone, whose shortest paths are to be the routes used here:
 * dimension after dimension, and up where both ways round are equally long.
 *
 * Each chip has a router for each dimension that is still to be travelled (turn-D, the last one for
 * none), and two more on which that dimension is travelled up or down. From a turn one can skip its
 * dimension for 1 step, go on the way up for 1 or on the way down for 2, and from either to the
 * next turn for 1. A hop counts 2, so the shorter way wins, and of equal ones the way up. Between
 * pods a way longer than any inside one leads over the network's two routers. */
#include <stdio.h>

#include "cluster/platform/simgrid_xml.h"
#include "cluster/platform/torus/torus.h"

enum { NAME_SIZE = MS_XML_NAME_SIZE, NETWORK_STEPS = 4 * MS_ROUTE_LINKS_MAX };

static void name_turn(int dimension, int chip, char out[NAME_SIZE]) {
    snprintf(out, NAME_SIZE, "turn-%d-%d", dimension, chip);
}

static void name_way(int direction, int dimension, int chip, char out[NAME_SIZE]) {
    snprintf(out, NAME_SIZE, "%s-%d-%d", direction == MS_LINK_UP ? "up" : "down", dimension, chip);
}

void ms_torus_write_xml_routers(const ms_platform *platform, ms_buffer *out) {
    const ms_torus *torus = ms_torus_of(platform);
    for (int chip = 0; chip < ms_platform_gpus(platform); chip++) {
        for (int d = 0; d <= torus->dimensions; d++) {
            ms_buffer_printf(out, "    <router id=\"turn-%d-%d\"/>\n", d, chip);
            if (d < torus->dimensions) {
                ms_buffer_printf(out, "    <router id=\"up-%d-%d\"/>\n", d, chip);
                ms_buffer_printf(out, "    <router id=\"down-%d-%d\"/>\n", d, chip);
            }
        }
    }
    if (torus->pods > 1) {
        ms_buffer_puts(out, "    <router id=\"network-in\"/>\n    <router id=\"network-out\"/>\n");
    }
}

/* One dimension at one chip: skip it, or travel it up or down. */
static void write_dimension(const ms_platform *platform, int chip, int d, ms_buffer *out) {
    const ms_torus *torus = ms_torus_of(platform);
    ms_xml_edge e = {.link = -1, .steps = 1};
    name_turn(d, chip, e.from);
    name_turn(d + 1, chip, e.to);
    ms_xml_write_edge(platform, &e, out);
    if (torus->shape[d] == 1) {
        return;
    }
    for (int way = MS_LINK_UP; way <= MS_LINK_DOWN; way++) {
        name_turn(d, chip, e.from);
        name_way(way, d, chip, e.to);
        e.link = -1;
        e.steps = way == MS_LINK_UP ? 1 : 2;
        ms_xml_write_edge(platform, &e, out);
        name_way(way, d, chip, e.from);
        name_turn(d + 1, chip, e.to);
        e.steps = 1;
        ms_xml_write_edge(platform, &e, out);
        name_way(way, d, ms_torus_neighbour(torus, chip, d, way), e.to);
        e.link = ms_fabric_link(platform, 0, chip * torus->dimensions + d, way);
        ms_xml_write_edge(platform, &e, out);
    }
}

static void write_chip(const ms_platform *platform, int chip, ms_buffer *out) {
    int dimensions = ms_torus_of(platform)->dimensions;
    ms_xml_edge e = {.link = -1, .steps = 1};
    snprintf(e.from, NAME_SIZE, "gpu-%d", chip);
    name_turn(0, chip, e.to);
    ms_xml_write_edge(platform, &e, out);
    for (int d = 0; d < dimensions; d++) {
        write_dimension(platform, chip, d, out);
    }
    name_turn(dimensions, chip, e.from);
    snprintf(e.to, NAME_SIZE, "gpu-%d", chip);
    ms_xml_write_edge(platform, &e, out);
}

static void write_port(const ms_platform *platform, int chip, ms_buffer *out) {
    int port = ms_torus_port(platform, chip);
    int tier = ms_torus_of(platform)->port_tier;
    ms_xml_edge up = {.to = "network-in", .link = ms_fabric_link(platform, tier, port, MS_LINK_UP)};
    ms_xml_edge down = {.from = "network-out",
                        .link = ms_fabric_link(platform, tier, port, MS_LINK_DOWN)};
    snprintf(up.from, NAME_SIZE, "gpu-%d", chip);
    snprintf(down.to, NAME_SIZE, "gpu-%d", chip);
    ms_xml_write_edge(platform, &up, out);
    ms_xml_write_edge(platform, &down, out);
}

void ms_torus_write_xml_routes(const ms_platform *platform, ms_buffer *out) {
    bool has_network = ms_torus_of(platform)->pods > 1;
    for (int chip = 0; chip < ms_platform_gpus(platform); chip++) {
        write_chip(platform, chip, out);
        if (has_network) {
            write_port(platform, chip, out);
        }
    }
    if (has_network) {
        const ms_xml_edge e = {
            .from = "network-in", .to = "network-out", .link = -1, .steps = NETWORK_STEPS};
        ms_xml_write_edge(platform, &e, out);
    }
}
