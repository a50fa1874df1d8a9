/* A fabric kind of a test's own: every two GPUs are joined by cables of their own. It is one row
 * and what the row names; nothing else in the program knows of it. */
#ifndef MS_TOY_FABRIC_H
#define MS_TOY_FABRIC_H

#include <stddef.h>
#include <stdio.h>

#include "cluster/platform/fabric.h"
#include "cluster/platform/simgrid_xml.h"

typedef struct toy_keys {
    int cables;
} toy_keys;

typedef struct toy_fabric {
    ms_topology head;
    int cables;
} toy_fabric;

static const ms_field TOY_FIELDS[] = {
    {.key = "cables",
     .type = MS_FIELD_INT,
     .offset = offsetof(toy_keys, cables),
     .fallback = "1",
     .minimum = 1,
     .maximum = 16,
     .help = "between two GPUs [count]"},
    {.key = NULL},
};

static ms_status toy_read(ms_fabric_file *file, ms_arena *arena, ms_platform *platform) {
    toy_keys keys = {0};
    ms_status status = ms_fabric_read_keys(file, TOY_FIELDS, &keys, arena);
    if (status != MS_OK) {
        return status;
    }
    if (platform->tier_count != 1) {
        ms_fabric_fault(file, "tiers", "a full mesh has 1 tier, got %d", platform->tier_count);
        return MS_E_INPUT;
    }
    toy_fabric *toy = MS_NEW(arena, toy_fabric, 1);
    if (toy == NULL) {
        return MS_E_NOMEM;
    }
    *toy = (toy_fabric){.head = {file->kind}, .cables = keys.cables};
    platform->topology = &toy->head;
    return MS_OK;
}

static int toy_link_pairs(const ms_platform *platform, int tier) {
    int gpus = ms_platform_gpus(platform);
    (void)tier;
    return gpus * (gpus - 1) / 2;
}

static double toy_cables(const ms_platform *platform, int tier) {
    (void)tier;
    return ((const toy_fabric *)platform->topology)->cables;
}

static int64_t toy_domain(const ms_platform *platform, int tier) {
    (void)tier;
    return ms_platform_gpus(platform);
}

/* Pair `high * (high - 1) / 2 + low` joins two GPUs; up is the way to the higher one. */
static ms_link_address toy_place(int source, int destination) {
    int low = source < destination ? source : destination;
    int high = source < destination ? destination : source;
    return (ms_link_address){.tier = 0,
                             .index = high * (high - 1) / 2 + low,
                             .direction = source == low ? MS_LINK_UP : MS_LINK_DOWN};
}

static void toy_route(const ms_platform *platform, int source, int destination, ms_route *out) {
    ms_fabric_cross(platform, toy_place(source, destination), out);
}

static const char *toy_route_fault(const ms_platform *platform, int source, int destination,
                                   const ms_route *route) {
    ms_link_address address = toy_place(source, destination);
    int link = ms_fabric_link(platform, address.tier, address.index, address.direction);
    return route->count == 1 && route->links[0] == link ? NULL : "a route is not the direct one";
}

static void toy_name_link(const ms_platform *platform, ms_link_address address, char *text_out,
                          size_t size) {
    (void)platform;
    snprintf(text_out, size, "pair%d:%s", address.index,
             address.direction == MS_LINK_UP ? "up" : "down");
}

static double toy_bisection_Bps(const ms_platform *platform) {
    int gpus = ms_platform_gpus(platform);
    return (double)(gpus / 2) * (gpus - gpus / 2) * ms_fabric_capacity_Bps(platform, 0);
}

static void toy_layout(const ms_platform *platform, ms_platform_layout *out) {
    out->port_tier = 0;
    out->units = 1;
    out->nodes_per_unit = platform->nodes;
    out->leaves_per_unit = 1;
    out->ports_per_node = platform->gpus_per_node;
    out->units_per_pod = 1;
    out->pods = 1;
}

static void toy_write_xml_routers(const ms_platform *platform, ms_buffer *out) {
    (void)platform;
    (void)out;
}

static void toy_write_xml_routes(const ms_platform *platform, ms_buffer *out) {
    int gpus = ms_platform_gpus(platform);
    for (int pair = 0; pair < gpus * gpus; pair++) {
        int from = pair / gpus;
        int to = pair % gpus;
        if (from != to) {
            ms_link_address address = toy_place(from, to);
            ms_xml_edge edge = {.link =
                                    ms_fabric_link(platform, 0, address.index, address.direction)};
            snprintf(edge.from, sizeof edge.from, "gpu-%d", from);
            snprintf(edge.to, sizeof edge.to, "gpu-%d", to);
            ms_xml_write_edge(platform, &edge, out);
        }
    }
}

static const ms_fabric_kind TOY_FABRIC = {
    .name = "full-mesh",
    .fields = TOY_FIELDS,
    .read = toy_read,
    .link_pairs = toy_link_pairs,
    .cables = toy_cables,
    .domain = toy_domain,
    .route = toy_route,
    .route_fault = toy_route_fault,
    .name_link = toy_name_link,
    .bisection_Bps = toy_bisection_Bps,
    .layout = toy_layout,
    .write_xml_routers = toy_write_xml_routers,
    .write_xml_routes = toy_write_xml_routes,
};

#endif
