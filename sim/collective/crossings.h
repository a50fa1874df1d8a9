/* The links that the routes of one flow cross, counted while routes are added. */
#ifndef MS_COLLECTIVE_CROSSINGS_H
#define MS_COLLECTIVE_CROSSINGS_H

#include "base/buffer.h"
#include "collective/all_to_all.h"
#include "collective/collective.h"

typedef struct ms_crossings {
    const ms_platform *platform;
    ms_vector links;    /* of ms_flow_link, one per crossing until merged */
    double node_step_s; /* taken off the latency of every route inside a node, and between nodes */
    double net_step_s;
    double slowness;      /* of the flow, as in ms_flow */
    double latency_sum_s; /* over all routes added */
    double latency_max_s; /* of the slowest route, at least 0 */
    int routes;           /* routes added so far */
    int tier;             /* outermost crossed, -1 none */
    bool is_stepped;      /* messages are kept, for plans of fidelity `step` */
    bool is_coarse;       /* they need not be told apart */
    ms_vector messages;   /* of ms_message, those of routes that were added */
} ms_crossings;

/* request: decides whether messages are kept; NULL: they are not. */
void ms_crossings_init(ms_crossings *crossings, const ms_platform *platform,
                       const ms_coll_request *request);
void ms_crossings_release(ms_crossings *crossings);
/* Add the route from one GPU to another.  Returns its latency [s]. Memory failures show up in
 * ms_crossings_plan. */
double ms_crossings_add(ms_crossings *crossings, int source, int destination);
/* Add the links of a route that is crossed `weight` >= 1 times. */
double ms_crossings_add_weighted(ms_crossings *crossings, int source, int destination, int weight);
/* Make a plan of one phase: one flow over the routes added, whose messages put `crossing_B` [B] on
 * each crossing, and a latency [s] after it.  *plan: gets its tier and phases, in `arena`. Returns
 * MS_OK; MS_E_NOMEM. O(crossings log crossings). */
ms_status ms_crossings_plan(ms_crossings *crossings, double crossing_B, double latency_s,
                            ms_arena *arena, ms_coll_plan *plan);
/* Sort links of a flow by number; those of equal numbers come in any order. */
void ms_flow_links_sort(ms_flow_link *links, size_t count);

#endif
