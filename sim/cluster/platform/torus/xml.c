/* Writes a torus for SimGrid's Dijkstra zone, in such a way that its shortest paths are meshsim's
 * routes: dimension after dimension, the shorter way round, and up where both ways are equally
 * long.
 *
 * A path costs the number of its links; `step` is a link without latency that only adds to this
 * number. Each chip has a router turn-D for each dimension D that is still to be travelled (the
 * last one for none), and routers up-D and down-D on which dimension D is being travelled. Edges:
 * from turn-D to turn-(D+1) 1 step (skip the dimension), to up-D 1, to down-D 2; from up-D or
 * down-D to turn-(D+1) 1. A hop costs 2, a step and the link of the torus, so the shorter way is
 * cheaper, and of equal ones the way up. Between pods an edge that is more expensive than any path
 * inside a pod connects the network's two routers. */
#include <stdio.h>

#include "cluster/platform/simgrid_xml.h"
#include "cluster/platform/torus/torus.h"

enum { NAME_SIZE = MS_XML_NAME_SIZE, NETWORK_STEPS = 4 * MS_ROUTE_LINKS_MAX };

/* Name of the router turn-D of a chip. */
static void name_turn(int dimension, int chip, char out[NAME_SIZE]) {
    snprintf(out, NAME_SIZE, "turn-%d-%d", dimension, chip);
}

/* Name of the router up-D or down-D of a chip. */
static void name_way(int direction, int dimension, int chip, char out[NAME_SIZE]) {
    snprintf(out, NAME_SIZE, "%s-%d-%d", direction == MS_LINK_UP ? "up" : "down", dimension, chip);
}

/* The routers of each chip are turn-D for every dimension and one behind the last, and up-D and
 * down-D for every dimension (see the top of this file). */
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

/* Write the edges of one dimension at a chip: skip the dimension, begin to travel up or down, end
 * travelling, and the hop to the next chip. A dimension of one chip can only be skipped. */
static void write_dimension(const ms_platform *platform, int chip, int dimension, ms_buffer *out) {
    const ms_torus *torus = ms_torus_of(platform);
    ms_xml_edge edge = {.link = -1, .steps = 1};
    name_turn(dimension, chip, edge.from);
    name_turn(dimension + 1, chip, edge.to);
    ms_xml_write_edge(platform, &edge, out);
    if (torus->shape[dimension] == 1) {
        return;
    }
    for (int direction = MS_LINK_UP; direction <= MS_LINK_DOWN; direction++) {
        name_turn(dimension, chip, edge.from);
        name_way(direction, dimension, chip, edge.to);
        edge.link = -1;
        edge.steps = direction == MS_LINK_UP ? 1 : 2;
        ms_xml_write_edge(platform, &edge, out);
        name_way(direction, dimension, chip, edge.from);
        name_turn(dimension + 1, chip, edge.to);
        edge.steps = 1;
        ms_xml_write_edge(platform, &edge, out);
        name_way(direction, dimension, ms_torus_neighbour(torus, chip, dimension, direction),
                 edge.to);
        edge.link = ms_fabric_link(platform, 0, chip * torus->dimensions + dimension, direction);
        ms_xml_write_edge(platform, &edge, out);
    }
}

/* Write all edges of a chip, from its host through the dimensions and back to the host. */
static void write_chip(const ms_platform *platform, int chip, ms_buffer *out) {
    int dimensions = ms_torus_of(platform)->dimensions;
    ms_xml_edge edge = {.link = -1, .steps = 1};
    snprintf(edge.from, NAME_SIZE, "gpu-%d", chip);
    name_turn(0, chip, edge.to);
    ms_xml_write_edge(platform, &edge, out);
    for (int d = 0; d < dimensions; d++) {
        write_dimension(platform, chip, d, out);
    }
    name_turn(dimensions, chip, edge.from);
    snprintf(edge.to, NAME_SIZE, "gpu-%d", chip);
    ms_xml_write_edge(platform, &edge, out);
}

/* Write the edges between a chip's host and the network between pods, over the chip's NIC. */
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
        const ms_xml_edge edge = {
            .from = "network-in", .to = "network-out", .link = -1, .steps = NETWORK_STEPS};
        ms_xml_write_edge(platform, &edge, out);
    }
}
