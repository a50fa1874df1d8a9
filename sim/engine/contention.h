/**
 * @file
 * Which transfers can meet on a link, and the shortest route that shares the same way.
 *
 * A link is private when all operations that use it hold one common stream and no phase uses it
 * twice: streams run one operation at a time, so it never carries two flows. A flow over private
 * links only has a known time. In the route of any other flow at most one private link can matter,
 * the narrowest, and none if a shared link is as narrow: the rest never binds and is left out.
 */
#ifndef MESHSIM_ENGINE_CONTENTION_H
#define MESHSIM_ENGINE_CONTENTION_H

#include "engine/core.h"

typedef struct ms_contention {
    bool *is_contended_work; /**< [work_count] some flow of it is contended */
    bool *is_contended_flow; /**< [flow_count] */
    int64_t *payload;        /**< [flow_count] contended: bytes times `scale`, >= 1 */
    double scale;            /**< payload units per byte, a power of two */
    int32_t *route_first;    /**< [flow_count + 1] */
    int32_t *route;          /**< index into bandwidths; a link of weight k stands k times */
    double *bandwidths;      /**< [link_count] payload units per second */
    int32_t link_count;      /**< links that stand in routes */
} ms_contention;

/** Analyse a graph. Arrays in `scratch`.  Returns MS_OK; MS_E_NOMEM; MS_E_RANGE (both reported)
 * when a flow crosses a link more than 65,536 times, common factors taken out.  O(members +
 * crossings of each work for each of its streams). */
ms_status ms_contention_find(const ms_dag *dag, ms_arena *scratch, ms_diag *diag,
                             ms_contention *out);

/** The stream that stands for an operation: the lowest of its members.  O(members). */
static inline int32_t ms_contention_stream(const ms_dag *dag, int32_t op) {
    int32_t lowest = INT32_MAX;
    for (int32_t j = dag->member_first[op]; j < dag->member_first[op + 1]; j++) {
        lowest = dag->member_stream[j] < lowest ? dag->member_stream[j] : lowest;
    }
    return lowest;
}

#endif
