/**
 * @file
 * Search for a pipeline schedule with one stage per rank under a memory cap.
 */
#ifndef MESHSIM_SCHEDULE_SEARCH_H
#define MESHSIM_SCHEDULE_SEARCH_H

#include "meshsim/schedule.h"

/** What is searched. */
typedef struct ms_search_spec {
    int pipeline_ranks; /**< P >= 1 */
    int microbatches;   /**< M >= 1 */
    int memory_cap;     /**< microbatches in flight per rank at most, >= 1; 0: no cap */
    long effort;        /**< evaluations that the improvement may take; 0: for about a second */
} ms_search_spec;

/** What was found. The goal is the longest span of a rank (first start to last end), which is the
 * time per step when optimizer steps are validated per rank; then the makespan. */
typedef struct ms_search_result {
    ms_program program; /**< kind MS_SCHEDULE_CUSTOM, name "search" */
    double span;
    double makespan;
    double heuristic_span; /**< before the local improvement */
    int variant;           /**< of the heuristic, 0..7 */
    int peak_inflight;
    double bound;    /**< no schedule under this cap has a shorter span */
    int bound_rank;  /**< the rank that proves it */
    bool is_optimal; /**< the span is the bound */
    long evaluations;
} ms_search_result;

/** Find a schedule: the best of eight variants of the zero-bubble heuristic, then moves of single
 * passes as long as they help.
 *  costs: [P] per stage, [P-1] per boundary.  *result_out: in `arena`.  Returns MS_OK; MS_E_INPUT
 *  for sizes out of range (reported); MS_E_RANGE for costs; MS_E_NOMEM.  O(effort * P * M).
 *  Source: Qi et al., "Zero Bubble Pipeline Parallelism", ICLR'24, section on automatic scheduling.
 */
ms_status ms_schedule_search(const ms_search_spec *spec, const ms_schedule_costs *costs,
                             ms_arena *arena, ms_diag *diag, ms_search_result *result_out);

/** Shortest span that any schedule of one stage per rank can have: the work of a rank, and the part
 * of the way of its first microbatch to the last rank and back that the forwards under the cap do
 * not fill.  *rank_out: the rank it comes from.  O(P). */
double ms_schedule_span_bound(const ms_search_spec *spec, const ms_schedule_costs *costs,
                              int *rank_out);

#endif
