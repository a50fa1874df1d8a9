/* The fabrics of switches as fabric kinds: flat, rails and leaf-spine. They differ in how their
 * keys are read; all other functions are shared (fabric.h). */
#include "cluster/platform/switches/switches.h"

static const ms_field NO_FIELDS[] = {{.key = NULL}};

/* How the fabric is built, for pictures (see ms_platform_layout). */
static void fill_layout(const ms_platform *platform, ms_platform_layout *out) {
    *out = ms_switches_of(platform)->layout;
}

/* Members that the rows of all switched fabrics have in common. */
#define SWITCHES                                                                                   \
    .link_pairs = ms_switches_link_pairs, .cables = ms_switches_cables,                            \
    .domain = ms_switches_domain, .route = ms_switches_route, .rails = ms_switches_rails,          \
    .shift = ms_switches_shift, .route_fault = ms_switches_route_fault,                            \
    .name_link = ms_switches_name_link, .bisection_Bps = ms_switches_bisection_Bps,                \
    .rings = ms_switches_rings, .layout = fill_layout,                                             \
    .write_xml_routers = ms_switches_write_xml_routers,                                            \
    .write_xml_routes = ms_switches_write_xml_routes

const ms_fabric_kind ms_fabric_flat = {
    .name = "flat",
    .fields = NO_FIELDS,
    .read = ms_switches_read_flat,
    SWITCHES,
};

const ms_fabric_kind ms_fabric_rails = {
    .name = "rails",
    .fields = MS_SWITCHES_FIELDS,
    .has_parallel_links = true,
    .read = ms_switches_read_rails,
    SWITCHES,
};

const ms_fabric_kind ms_fabric_leaf_spine = {
    .name = "leaf-spine",
    .fields = MS_SWITCHES_FIELDS,
    .has_parallel_links = true,
    .read = ms_switches_read_leaf_spine,
    SWITCHES,
};
