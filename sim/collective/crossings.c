#include "collective/crossings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

void ms_crossings_init(ms_crossings *crossings, const ms_platform *platform,
                       const ms_coll_request *request) {
    *crossings = (ms_crossings){.platform = platform, .slowness = 1.0, .tier = -1};
    crossings->is_stepped = request != NULL && request->is_stepped;
    crossings->is_coarse = request != NULL && request->is_coarse;
    ms_vector_init(&crossings->links, sizeof(ms_flow_link));
    ms_vector_init(&crossings->messages, sizeof(ms_message));
}

void ms_crossings_release(ms_crossings *crossings) {
    ms_vector_release(&crossings->links);
    ms_vector_release(&crossings->messages);
}

double ms_crossings_add(ms_crossings *crossings, int source, int destination) {
    return ms_crossings_add_weighted(crossings, source, destination, 1);
}

ms_status ms_crossings_remember(ms_crossings *crossings, size_t routes, ms_arena *arena) {
    uint32_t size = 16;
    while (size < 2 * routes) {
        size *= 2;
    }
    crossings->known = MS_NEW(arena, ms_known_route, size);
    crossings->known_size = size;
    return crossings->known == NULL ? MS_E_NOMEM : MS_OK;
}

/* The slot of a route in the table, or the free slot that it would get. */
static ms_known_route *place_of(const ms_crossings *crossings, int source, int destination) {
    uint32_t mask = crossings->known_size - 1;
    uint32_t at = ((uint32_t)source * 0x9E3779B1U + (uint32_t)destination) & mask;
    while (crossings->known[at].source != 0 && (crossings->known[at].source != source + 1 ||
                                                crossings->known[at].destination != destination)) {
        at = (at + 1) & mask;
    }
    return &crossings->known[at];
}

/* Find a route, and add its links. */
static ms_known_route add_links(ms_crossings *crossings, int source, int destination, int weight) {
    const ms_platform *platform = crossings->platform;
    ms_route route;
    ms_platform_route(platform, source, destination, &route);
    ms_known_route found = {.source = source + 1,
                            .destination = destination,
                            .first = (int32_t)crossings->links.count,
                            .count = route.count};
    ms_flow_link *links = ms_vector_add(&crossings->links, NULL, (size_t)route.count);
    for (int i = 0; i < route.count && links != NULL; i++) {
        links[i] = (ms_flow_link){.link = route.links[i], .weight = weight};
    }
    bool is_inside = ms_platform_node(platform, source) == ms_platform_node(platform, destination);
    found.latency_s =
        route.latency_s - (is_inside ? crossings->node_step_s : crossings->net_step_s);
    crossings->tier = route.tier > crossings->tier ? route.tier : crossings->tier;
    return found;
}

/* Add a route's links by the table of known routes: `weight` more crossings for a route that is in
 * the table. */
static ms_known_route add_known(ms_crossings *crossings, int source, int destination, int weight) {
    ms_known_route *known = place_of(crossings, source, destination);
    if (known->source == 0) {
        ms_known_route found = add_links(crossings, source, destination, weight);
        if (2 * crossings->known_count < crossings->known_size) { /* so that a place stays free */
            *known = found;
            crossings->known_count++;
        }
        return found;
    }
    for (int i = 0; i < known->count && !crossings->links.failed; i++) {
        MS_AT(&crossings->links, ms_flow_link, known->first + i).weight += weight;
    }
    return *known;
}

double ms_crossings_add_weighted(ms_crossings *crossings, int source, int destination, int weight) {
    ms_known_route route = crossings->known == NULL
                               ? add_links(crossings, source, destination, weight)
                               : add_known(crossings, source, destination, weight);
    crossings->latency_sum_s += route.latency_s;
    crossings->latency_max_s = fmax(crossings->latency_max_s, route.latency_s);
    crossings->routes++;
    if (crossings->is_stepped) {
        const ms_message message = {.source = source, .destination = destination};
        ms_vector_add(&crossings->messages, &message, 1);
    }
    return route.latency_s;
}

static int by_link(const void *a, const void *b) {
    int32_t x = ((const ms_flow_link *)a)->link;
    int32_t y = ((const ms_flow_link *)b)->link;
    return (x > y) - (x < y);
}

static void sort_short(ms_flow_link *links, size_t count) {
    for (size_t i = 1; i < count; i++) {
        ms_flow_link link = links[i];
        size_t at = i;
        for (; at > 0 && links[at - 1].link > link.link; at--) {
            links[at] = links[at - 1];
        }
        links[at] = link;
    }
}

void ms_flow_links_sort(ms_flow_link *links, size_t count) {
    enum { SHORT = 24 }; /* links of a message or of a small group */
    if (count <= SHORT) {
        sort_short(links, count);
    } else {
        qsort(links, count, sizeof *links, by_link);
    }
}

/* Add up crossings of the same link in place; returns how many links there are. */
static int add_up(ms_flow_link *all, size_t count) {
    int unique = 0;
    ms_flow_links_sort(all, count);
    for (size_t i = 0; i < count; i++) {
        if (unique > 0 && all[unique - 1].link == all[i].link) {
            all[unique - 1].weight += all[i].weight;
        } else {
            all[unique++] = all[i];
        }
    }
    return unique;
}

/* Every link once, sorted, with how often it is crossed. */
static ms_status merge(ms_crossings *crossings, ms_arena *arena, ms_flow *flow) {
    if (crossings->links.failed) {
        return MS_E_NOMEM;
    }
    ms_flow_link *all = crossings->links.data;
    int count = add_up(all, crossings->links.count);
    ms_flow_link *links = MS_NEW(arena, ms_flow_link, count);
    if (links == NULL) {
        return MS_E_NOMEM;
    }
    for (int i = 0; i < count; i++) {
        links[i] = all[i];
        links[i].load = all[i].weight;
    }
    flow->links = links;
    flow->count = count;
    return MS_OK;
}

ms_status ms_crossings_plan(ms_crossings *crossings, double crossing_B, double latency_s,
                            ms_arena *arena, ms_coll_plan *plan) {
    ms_phase *phase = MS_NEW(arena, ms_phase, 1);
    ms_flow *flow = MS_NEW(arena, ms_flow, 1);
    if (phase == NULL || flow == NULL) {
        return MS_E_NOMEM;
    }
    *flow = (ms_flow){.bytes = crossing_B * crossings->slowness, .slowness = crossings->slowness};
    ms_status status = merge(crossings, arena, flow);
    if (status != MS_OK) {
        return status;
    }
    *phase = (ms_phase){.latency_s = latency_s, .flows = flow, .count = 1};
    plan->tier = crossings->tier;
    plan->phases = phase;
    plan->phase_count = 1;
    return MS_OK;
}

uint64_t ms_link_colour(const ms_platform *platform, int link) {
    ms_link_info info = ms_platform_link(platform, link);
    uint64_t bits = 0;
    memcpy(&bits, &info.capacity_Bps, sizeof bits);
    return ms_random_mix(bits ^ ms_random_mix((uint64_t)info.tier + 1));
}
