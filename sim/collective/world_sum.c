#include <math.h>

#include "meshsim/coll_class.h"

/* The route of the longest latency from a rank; returns the rank at its other end. */
static int find_farthest(const ms_platform *platform, const ms_mesh *mesh, int from,
                         ms_route *route_out) {
    int farthest = from;
    int gpu = ms_mesh_device(mesh, from);
    ms_platform_route(platform, gpu, gpu, route_out);
    for (int rank = 0; rank < mesh->ranks; rank++) {
        ms_route route;
        ms_platform_route(platform, gpu, ms_mesh_device(mesh, rank), &route);
        if (route.latency_s > route_out->latency_s) {
            *route_out = route;
            farthest = rank;
        }
    }
    return farthest;
}

double ms_coll_world_sum_s(const ms_platform *platform, const ms_mesh *mesh, int *tier_out) {
    ms_route route;
    /* from the end that is farthest from any rank: the longest way through a tree of switches and
     * through a torus */
    find_farthest(platform, mesh, find_farthest(platform, mesh, 0, &route), &route);
    *tier_out = route.tier;
    return 2.0 * ceil(log2(mesh->ranks)) * route.latency_s;
}
