/* Collects the routes of one flow: counts how often each link is crossed, and makes the flow from
 * the counts. */
#ifndef MS_COLLECTIVE_CROSSINGS_H
#define MS_COLLECTIVE_CROSSINGS_H

#include "base/buffer.h"
#include "collective/all_to_all.h"
#include "collective/collective.h"

/* Routes added so far. Begin with ms_crossings_init. */
typedef struct ms_crossings {
    const ms_platform *platform;
    ms_vector links;      /* of ms_flow_link, one per crossing until merged */
    double node_step_s;   /* subtracted from the latency of every route inside a node [s] */
    double net_step_s;    /* subtracted from the latency of every route between nodes [s] */
    double slowness;      /* of the flow, as in ms_flow */
    double latency_sum_s; /* sum over all routes added, after the subtraction [s] */
    double latency_max_s; /* maximum over all routes added, at least 0 [s] */
    int routes;           /* routes added so far */
    int tier;             /* outermost tier crossed; -1: none */
    bool is_stepped;      /* keep a message per route, for plans of fidelity `step` */
    bool is_coarse;       /* plans need not tell these messages apart (ms_coll_request.is_coarse) */
    ms_vector messages;   /* of ms_message, one per route added; empty unless is_stepped */
} ms_crossings;

/* Begin with no routes.  request: its is_stepped and is_coarse are used; NULL: both false.
 * ms_crossings_release frees the storage. */
void ms_crossings_init(ms_crossings *crossings, const ms_platform *platform,
                       const ms_coll_request *request);
void ms_crossings_release(ms_crossings *crossings);
/* Add the route from one GPU to another.  Returns its latency after the subtraction of the step
 * [s], which may be negative. If memory runs out, ms_crossings_plan reports it. */
double ms_crossings_add(ms_crossings *crossings, int source, int destination);
/* ms_crossings_add for a route that `weight` >= 1 messages take. */
double ms_crossings_add_weighted(ms_crossings *crossings, int source, int destination, int weight);
/* Make a plan of one phase: one flow over the routes added, whose messages put `crossing_B` [B] on
 * each crossing, and a latency [s] after it.  *plan: gets its tier and phases, in `arena`. Returns
 * MS_OK; MS_E_NOMEM. O(crossings log crossings). */
ms_status ms_crossings_plan(ms_crossings *crossings, double crossing_B, double latency_s,
                            ms_arena *arena, ms_coll_plan *plan);
/* Sort links of a flow by number; those of equal numbers come in any order. */
void ms_flow_links_sort(ms_flow_link *links, size_t count);

#endif
