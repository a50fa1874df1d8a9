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

/* Add up crossings of the same link in place, in a table of all links of the platform. */
static int add_up_in_table(ms_flow_link *all, size_t count, int32_t *weights, int links) {
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

/* Add up crossings of the same link in place, by links in order; returns how many links there are.
 * Crossings that are many for the platform's links are added up in a table, which takes less time
 * than a sort. */
static int add_up(const ms_crossings *crossings, ms_flow_link *all, size_t count) {
    int unique = 0, links = crossings->platform->link_count;
    ms_vector table;
    ms_vector_init(&table, sizeof(int32_t));
    if (count > (size_t)links / 8 && ms_vector_add(&table, NULL, (size_t)links) != NULL) {
        unique = add_up_in_table(all, count, table.data, links);
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

/* Every link once, sorted, with how often it is crossed. */
static ms_status merge(ms_crossings *crossings, ms_arena *arena, ms_flow *flow) {
    if (crossings->links.failed) {
        return MS_E_NOMEM;
    }
    ms_flow_link *all = crossings->links.data;
    int count = add_up(crossings, all, crossings->links.count);
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
