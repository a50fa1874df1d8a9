/* The torus as a fabric kind: the table of its functions (fabric.h). */
#include <string.h>

#include "cluster/platform/torus/torus.h"

/* How the torus is built, for pictures (see ms_platform_layout). */
static void fill_layout(const ms_platform *platform, ms_platform_layout *out) {
    const ms_torus *torus = ms_torus_of(platform);
    out->port_tier = torus->port_tier;
    out->pods = torus->pods;
    out->dimensions = torus->dimensions;
    memcpy(out->shape, torus->shape, sizeof out->shape);
}

const ms_fabric_kind ms_fabric_torus = {
    .name = "torus",
    .fields = MS_TORUS_FIELDS,
    .read = ms_torus_read,
    .link_pairs = ms_torus_link_pairs,
    .domain = ms_torus_domain,
    .route = ms_torus_route,
    .route_fault = ms_torus_route_fault,
    .name_link = ms_torus_name_link,
    .bisection_Bps = ms_torus_bisection_Bps,
    .rings = ms_torus_rings,
    .layout = fill_layout,
    .write_xml_routers = ms_torus_write_xml_routers,
    .write_xml_routes = ms_torus_write_xml_routes,
};
