/* Finds the links that can hold transfers back, and the shortest routes that share bandwidth in the
 * same way.
 *
 * A flow alone runs at the rate of its narrowest link and never faster. A stream runs one operation
 * at a time. So the load on a link is at most the sum over the streams that use it of the largest
 * load that one of their phases puts on it. A link with at least that capacity never holds a flow
 * back: it can be left out of all routes without changing a rate. Of two links that the same flows
 * use with proportional weights, the wider one can be left out as well. A flow without any of the
 * remaining links takes its time alone and needs no simulation. Neither do flows of one phase that
 * share links only with each other, as they start together (see collective/fluid.h). */
#ifndef MESHSIM_ENGINE_CONTENTION_H
#define MESHSIM_ENGINE_CONTENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/status.h"
#include "simulate/graph/dag.h"

/** The contended flows of a graph and their routes. */
typedef struct ms_contention {
    bool *is_contended_work; /**< [work_count] some flow of the work is contended */
    bool *is_contended_flow; /**< [flow_count] the flow must be simulated */
    int64_t *payload;        /**< [flow_count] bytes times `scale`, rounded */
    double scale;            /**< payload units per byte, a power of two */
    int32_t *route_first;    /**< [flow_count + 1] route of flow i: route[route_first[i]] to before
                                route[route_first[i + 1]] */
    int32_t *route;          /**< indices into bandwidths; a link of weight k is listed k times */
    double *bandwidths;      /**< [link_count] payload units per second */
    int32_t link_count;      /**< number of different links in routes */
} ms_contention;

/** Analyse a graph. Arrays in `scratch`.  Returns MS_OK; MS_E_NOMEM; MS_E_RANGE (both reported)
 * when a flow crosses a link more than 65,536 times, common factors taken out.  O(members, plus
 * crossings of each work for each stream it runs on; n log n in the number of those pairs). */
ms_status ms_contention_find(const ms_dag *dag, ms_arena *scratch, ms_diag *diag,
                             ms_contention *out);

#endif
