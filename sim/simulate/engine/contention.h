/*
 * Which links can hold transfers back, and the shortest routes that share bandwidth the same way.
 *
 * A flow alone runs at the rate of its narrowest link and never faster. A stream runs one operation
 * at a time, so what a link can be asked for at once is at most the sum over the streams that use
 * it of the most that one of their phases can ask for. A link that has that much never holds anyone
 * back: taking it out of all routes changes no rate. Neither does taking out one of two links that
 * the same flows use with proportional weights, the one with more room. A flow that no link of the
 * rest crosses has its time alone, and needs no simulation; nor do flows of one phase that share
 * links with each other only, as they start together (see collective/fluid.h).
 */
#ifndef MESHSIM_ENGINE_CONTENTION_H
#define MESHSIM_ENGINE_CONTENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/status.h"
#include "simulate/graph/dag.h"

typedef struct ms_contention {
    bool *is_contended_work; /**< [work_count] some flow of it is contended */
    bool *is_contended_flow; /**< [flow_count] */
    int64_t *payload;        /**< [flow_count] bytes times `scale`, rounded */
    double scale;            /**< payload units per byte, a power of two */
    int32_t *route_first;    /**< [flow_count + 1] */
    int32_t *route;          /**< index into bandwidths; a link of weight k stands k times */
    double *bandwidths;      /**< [link_count] payload units per second */
    int32_t link_count;      /**< links that stand in routes */
} ms_contention;

/** Analyse a graph. Arrays in `scratch`.  Returns MS_OK; MS_E_NOMEM; MS_E_RANGE (both reported)
 * when a flow crosses a link more than 65,536 times, common factors taken out.  O(members, plus
 * crossings of each work for each stream it runs on; n log n in the number of those pairs). */
ms_status ms_contention_find(const ms_dag *dag, ms_arena *scratch, ms_diag *diag,
                             ms_contention *out);

#endif
