/* Collects the routes of a flow and counts how often each link is crossed, for plans whose messages
 * all run at one rate, such as the edges of rings and trees. An algorithm adds its routes one by
 * one (ms_crossings_add) and then makes a plan of one phase with one flow over all links of these
 * routes (ms_crossings_plan). */
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

/* Add the route from one GPU to another, taken by `weight` messages, and return its latency. One
 * entry per link of the route is appended; entries of the same link are merged in
 * ms_crossings_plan. In fidelity `step` the route is also kept as one message, whatever its
 * weight. */
double ms_crossings_add_weighted(ms_crossings *crossings, int source, int destination, int weight) {
    const ms_platform *platform = crossings->platform;
    ms_route route;
    ms_platform_route(platform, source, destination, &route);
    ms_flow_link *links = ms_vector_add(&crossings->links, NULL, (size_t)route.count);
    for (int i = 0; i < route.count && links != NULL; i++) {
        links[i] = (ms_flow_link){.link = route.links[i], .weight = weight};
    }
    bool is_inside = ms_platform_node(platform, source) == ms_platform_node(platform, destination);
    double latency_s =
        route.latency_s - (is_inside ? crossings->node_step_s : crossings->net_step_s);
    crossings->tier = route.tier > crossings->tier ? route.tier : crossings->tier;
    crossings->latency_sum_s += latency_s;
    crossings->latency_max_s = fmax(crossings->latency_max_s, latency_s);
    crossings->routes++;
    if (crossings->is_stepped) {
        const ms_message message = {.source = source, .destination = destination};
        ms_vector_add(&crossings->messages, &message, 1);
    }
    return latency_s;
}

/* Order of two links for qsort: ascending by number. */
static int by_link(const void *a, const void *b) {
    int32_t x = ((const ms_flow_link *)a)->link;
    int32_t y = ((const ms_flow_link *)b)->link;
    return (x > y) - (x < y);
}

/* Insertion sort by link number, faster than qsort for short lists. */
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

/* Sort the links of a flow by number, by insertion or by qsort, whichever is faster. */
void ms_flow_links_sort(ms_flow_link *links, size_t count) {
    enum { SHORT = 24 }; /* as many as a message or a small group has */
    if (count <= SHORT) {
        sort_short(links, count);
    } else {
        qsort(links, count, sizeof *links, by_link);
    }
}

/* Merge the crossings of each link into one entry, in place, with a table of all links of the
 * platform. weights: [links] zeros. links: number of the platform's links. Returns the number of
 * different links. */
static int merge_in_table(ms_flow_link *all, size_t count, int32_t *weights, int links) {
    int unique = 0;
    for (size_t i = 0; i < count; i++) {
        weights[all[i].link] += all[i].weight;
    }
    for (int link = 0; link < links; link++) {
        if (weights[link] > 0) {
            all[unique++] = (ms_flow_link){.link = link, .weight = weights[link]};
        }
    }
    return unique;
}

/* Merge the crossings of each link into one entry, in place, in ascending order of links. Returns
 * the number of different links. More crossings than an eighth of the platform's links are added up
 * in a table, which takes less time than a sort; if there is no memory for the table, they are
 * sorted, too. */
static int merge_crossings(const ms_crossings *crossings, ms_flow_link *all, size_t count) {
    int unique = 0, links = crossings->platform->link_count;
    ms_vector table;
    ms_vector_init(&table, sizeof(int32_t));
    if (count > (size_t)links / 8 && ms_vector_add(&table, NULL, (size_t)links) != NULL) {
        unique = merge_in_table(all, count, table.data, links);
        ms_vector_release(&table);
        return unique;
    }
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

/* Set the links of a flow: every link that was crossed, once, in ascending order, with its number
 * of crossings. */
static ms_status set_flow_links(ms_crossings *crossings, ms_arena *arena, ms_flow *flow) {
    if (crossings->links.failed) {
        return MS_E_NOMEM;
    }
    ms_flow_link *all = crossings->links.data;
    int count = merge_crossings(crossings, all, crossings->links.count);
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

/* Make a plan of one phase with one flow over all routes added. The one flow puts crossing_B on
 * every crossing, times the slowness of the protocol. */
ms_status ms_crossings_plan(ms_crossings *crossings, double crossing_B, double latency_s,
                            ms_arena *arena, ms_coll_plan *plan) {
    ms_phase *phase = MS_NEW(arena, ms_phase, 1);
    ms_flow *flow = MS_NEW(arena, ms_flow, 1);
    if (phase == NULL || flow == NULL) {
        return MS_E_NOMEM;
    }
    *flow = (ms_flow){.bytes = crossing_B * crossings->slowness, .slowness = crossings->slowness};
    ms_status status = set_flow_links(crossings, arena, flow);
    if (status != MS_OK) {
        return status;
    }
    *phase = (ms_phase){.latency_s = latency_s, .flows = flow, .count = 1};
    plan->tier = crossings->tier;
    plan->phases = phase;
    plan->phase_count = 1;
    return MS_OK;
}

/* Colour of a link: a hash of its capacity and tier. */
uint64_t ms_link_colour(const ms_platform *platform, int link) {
    ms_link_info info = ms_platform_link(platform, link);
    uint64_t bits = 0;
    memcpy(&bits, &info.capacity_Bps, sizeof bits);
    return ms_random_mix(bits ^ ms_random_mix((uint64_t)info.tier + 1));
}
