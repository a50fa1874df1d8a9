/**
 * @file
 * Search for a pipeline schedule under a memory cap, with one stage per rank or two in a V.
 */
#ifndef MESHSIM_SCHEDULE_SEARCH_H
#define MESHSIM_SCHEDULE_SEARCH_H

#include "schedule/schedule.h"

/** Sizes of a search. */
typedef struct ms_search_spec {
    int pipeline_ranks; /**< P >= 1 */
    int chunks;         /**< V: 1, or 2 in a V (rank r has stages r and 2P-1-r); 0: 1 */
    int microbatches;   /**< M >= 1 */
    int memory_cap;     /**< microbatches in flight per rank at most, counted on each of its stages:
                           V of them are one whole microbatch. >= V; 0: no cap */
    long effort;        /**< evaluations that the improvement may take under each cap; 0: by size */
} ms_search_spec;

/** What was found. The goal is the longest span of a rank (first start to last end), which is the
 * time per step when optimizer steps are validated per rank; then the makespan. */
typedef struct ms_search_result {
    ms_program program; /**< kind MS_SCHEDULE_CUSTOM, name "search" */
    double span;
    double makespan;
    double heuristic_span; /**< of the schedule before the local improvement */
    const char *start; /**< where that came from: "heuristic" (the published one), "list" (rules in
                          the order of time), "block" (a periodic building block), or the kind of
                          the fixed pattern whose order it is or follows */
    int variant;       /**< of these; -1: it is a fixed pattern as it stands */
    int peak_inflight;
    double bound;      /**< no schedule under this cap has a shorter span */
    int bound_rank;    /**< the rank that proves it */
    bool is_optimal;   /**< the span is the bound */
    bool is_cut_short; /**< too large for all rules or all caps: others may find more, and a larger
                          cap may give a longer span */
    long evaluations;
} ms_search_result;

/** Find a schedule, then move single passes as long as that helps. Goes through the caps from the
 * given one down to those under which no schedule can be better, so that a larger cap is never
 * worse. Starts under each cap: fixed patterns that fit it (ZB-H1, ZB-H2; in a V ZB-V, V-Half,
 * V-Min) and their order with the weight gradients placed anew; schedules in the order of time by
 * many rules; with one stage per rank also the zero-bubble heuristic in eight variants, and
 * periodic building blocks.  costs: [PV] per stage, [PV-1] per boundary.  *result_out: in `arena`.
 * Returns MS_OK; MS_E_INPUT for sizes out of range (reported); MS_E_RANGE for costs; MS_E_NOMEM.
 * O((effort + P) * P * V * M) for each cap, of which there are few, as bounds are tight; cut short
 * after about ten seconds' worth of passes (not a clock: the same input gives the same result).
 * Source: Qi et al., "Zero Bubble Pipeline Parallelism", ICLR'24, section on automatic scheduling,
 * for the heuristic; "Pipeline Parallelism with Controllable Memory", 2024, for building blocks.
 */
ms_status ms_schedule_search(const ms_search_spec *spec, const ms_schedule_costs *costs,
                             ms_arena *arena, ms_diag *diag, ms_search_result *result_out);

/** Shortest span that any schedule of this shape under this cap can have: the work of a rank, and
 * the part of the ways of its first and last microbatch that what it may run meanwhile does not
 * fill; or the time that memory is held, shared by the places under the cap.
 *  *rank_out: the rank it comes from.  O(P^2).
 *  Source: derived in sim/schedule/search/bound.c, tested against all schedules of small sizes. */
double ms_schedule_span_bound(const ms_search_spec *spec, const ms_schedule_costs *costs,
                              int *rank_out);

#endif
