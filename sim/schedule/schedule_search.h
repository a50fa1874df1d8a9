/**
 * @file
 * Search for a pipeline schedule under a memory cap, with one stage per rank or two in a V.
 *
 * The cap limits the activations that a rank holds at once. An activation is that of one microbatch
 * on one of the rank's stages, from the start of its forward pass to the end of its weight
 * gradient.
 */
#ifndef MESHSIM_SCHEDULE_SEARCH_H
#define MESHSIM_SCHEDULE_SEARCH_H

#include "schedule/schedule.h"

/** Sizes of a search. */
typedef struct ms_search_spec {
    int pipeline_ranks; /**< P >= 1 */
    int chunks;         /**< V: 1, or 2 in a V (rank r has stages r and 2P-1-r); 0: 1 */
    int microbatches;   /**< M >= 1 */
    int memory_cap; /**< maximum of activations that a rank holds at once; V of them are those of
                       one whole microbatch. >= V; 0: no cap */
    long effort;    /**< maximum number of evaluations for each improvement of a schedule; 0: the
                       default, by the number of passes */
} ms_search_spec;

/** The best schedule found. The goal is the shortest span: the longest time of any rank from its
 * first start to its last end, which is the time per step when optimizer steps are validated per
 * rank. */
typedef struct ms_search_result {
    ms_program program; /**< kind MS_SCHEDULE_CUSTOM, name "search" */
    double span;
    double makespan;
    double heuristic_span; /**< span of the schedule before the local improvement */
    const char *start;     /**< origin of the schedule before the improvement: "heuristic" (the
                              zero-bubble heuristic), "list" (list scheduling), "block" (a periodic
                              building block), or the kind of the fixed pattern whose order it has
                              or follows; static storage */
    int variant;           /**< number of the rule of this origin; -1: a fixed pattern as it is */
    int peak_inflight;     /**< maximum of activations held on any rank */
    double bound;          /**< lower bound: no schedule under this cap has a shorter span */
    int bound_rank;        /**< the rank from which the bound follows */
    bool is_optimal;       /**< the span equals the bound */
    bool is_cut_short; /**< not all rules or caps were tried, as the sizes are too large: a better
                          schedule may exist, and a larger cap may give a longer span */
    long evaluations;  /**< programs evaluated */
} ms_search_result;

/** Search for a schedule. Goes through the caps from the given one down to those under which no
 * schedule can be better, so that a larger cap is never worse. Under each cap schedules are made in
 * several ways, and the best of each way is improved by moves of single passes as long as that
 * helps: fixed patterns that fit it (ZB-H1, ZB-H2; in a V ZB-V, V-Half, V-Min) and their order with
 * the weight gradients placed anew; periodic building blocks; list scheduling by many rules; with
 * one stage per rank also the zero-bubble heuristic in eight variants.  costs: [PV] per stage,
 * [PV-1] per boundary.  *result_out: in `arena`. Returns MS_OK; MS_E_INPUT for sizes out of range
 * (reported); MS_E_RANGE for costs; MS_E_NO if no schedule was found (reported); MS_E_NOMEM.
 * O((effort + P) * P * V * M) for each cap, of which there are few, as bounds are tight; cut short
 * after about ten seconds' worth of passes (not a clock: the same input gives the same result).
 * Source: Qi et al., "Zero Bubble Pipeline Parallelism", ICLR'24, section on automatic scheduling,
 * for the heuristic; "Pipeline Parallelism with Controllable Memory", 2024, for building blocks in
 * a V. */
ms_status ms_schedule_search(const ms_search_spec *spec, const ms_schedule_costs *costs,
                             ms_arena *arena, ms_diag *diag, ms_search_result *result_out);

/** Lower bound of the span of all schedules with the sizes and cap of `spec`, the largest over the
 * ranks. Of a rank it is the larger of two: its work plus the idle time that no order avoids while
 * its first and last microbatches travel through other ranks; and the time for which its
 * activations are held, divided by the cap.
 *  costs: [PV] per stage, [PV-1] per boundary.  *rank_out: the rank from which the bound follows.
 * O(P^2).
 *  Source: derived in sim/schedule/search/bound.c, tested against all schedules of small sizes. */
double ms_schedule_span_bound(const ms_search_spec *spec, const ms_schedule_costs *costs,
                              int *rank_out);

#endif
