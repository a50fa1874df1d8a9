/**
 * @file
 * Search for a pipeline schedule under a memory cap, with one stage per rank or two in a V.
 */
#ifndef MESHSIM_SCHEDULE_SEARCH_H
#define MESHSIM_SCHEDULE_SEARCH_H

#include "meshsim/schedule.h"

/** What is searched. */
typedef struct ms_search_spec {
    int pipeline_ranks; /**< P >= 1 */
    int chunks;         /**< V: 1, or 2 in a V (rank r has stages r and 2P-1-r); 0: 1 */
    int microbatches;   /**< M >= 1 */
    int memory_cap;     /**< microbatches in flight per rank at most, counted on each of its stages:
                           V of them are one whole microbatch. >= V; 0: no cap */
    long effort;        /**< evaluations that the improvement may take (two chunks: a 2P-th of them
                           under each cap); 0: for about a second */
} ms_search_spec;

/** What was found. The goal is the longest span of a rank (first start to last end), which is the
 * time per step when optimizer steps are validated per rank; then the makespan. */
typedef struct ms_search_result {
    ms_program program; /**< kind MS_SCHEDULE_CUSTOM, name "search" */
    double span;
    double makespan;
    double heuristic_span; /**< the shortest before the local improvement */
    int variant;           /**< of the heuristic; -1: it is a fixed pattern as it stands */
    const char *start;     /**< V = 2: "list", or the kind of the fixed pattern whose order it is or
                              follows; else NULL */
    int peak_inflight;
    double bound;    /**< no schedule under this cap has a shorter span */
    int bound_rank;  /**< the rank that proves it */
    bool is_optimal; /**< the span is the bound */
    long evaluations;
} ms_search_result;

/** Find a schedule, then move single passes as long as that helps. With one stage per rank it
 * starts from the best of eight variants of the zero-bubble heuristic. With two in a V it goes
 * through the caps from the smallest to the given one, so that a larger cap is never worse, and
 * starts from schedules in the order of time by many rules, from ZB-V, V-Half and V-Min where they
 * fit, and from their order with the weight gradients placed anew. costs: [PV] per stage, [PV-1]
 * per boundary.  *result_out: in `arena`.  Returns MS_OK; MS_E_INPUT for sizes out of range
 * (reported); MS_E_RANGE for costs; MS_E_NOMEM.  O(effort * P * V * M), with two chunks besides
 * O(P^2 * M) for each start, of which there are up to 90 under each cap. Source: Qi et al., "Zero
 * Bubble Pipeline Parallelism", ICLR'24, section on automatic scheduling.
 */
ms_status ms_schedule_search(const ms_search_spec *spec, const ms_schedule_costs *costs,
                             ms_arena *arena, ms_diag *diag, ms_search_result *result_out);

/** Shortest span that any schedule of this shape under this cap can have: the work of a rank, and
 * the part of the ways of its first and last microbatch that what it may run meanwhile does not
 * fill; with two chunks also the time that memory is held, dealt to the places under the cap.
 *  *rank_out: the rank it comes from.  O(P), with two chunks O(P^2).
 *  Source: derived in sim/schedule/search_bound.c, tested against all schedules of small sizes. */
double ms_schedule_span_bound(const ms_search_spec *spec, const ms_schedule_costs *costs,
                              int *rank_out);

#endif
