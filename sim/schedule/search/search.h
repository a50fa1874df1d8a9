/* Types and functions that the files of the search for schedules share. The search makes schedules
 * with I and W apart, with one stage per rank (V = 1) or two in a V (V = 2: chunk 0 is stage r,
 * chunk 1 is stage 2P-1-r), under a cap on the activations that a rank holds from F to W. */
#ifndef MS_SCHEDULE_SEARCH_INTERNAL_H
#define MS_SCHEDULE_SEARCH_INTERNAL_H

#include "schedule/internal.h"
#include "schedule/schedule_search.h"

/** The score of a schedule. Less is better; fields are compared in this order, up to the first
 * difference. */
typedef struct ms_score {
    double span;  /**< longest span of a rank (first start to last end) */
    double spans; /**< sum of the spans of all ranks */
    double makespan;
    double flow; /**< sum of the ends of all input gradients: less is earlier for other ranks */
} ms_score;

/** A search under way. Borrows costs, arena and diag. */
typedef struct ms_search_run {
    ms_search_spec spec; /**< with the defaults filled in */
    const ms_schedule_costs *costs;
    ms_arena *arena; /**< storage of the result */
    ms_diag *diag;
    long evaluations; /**< programs evaluated so far */
    double work;      /**< passes placed or evaluated so far: time, but reproducible */
} ms_search_run;

/** Variants of the zero-bubble heuristic. */
enum { MS_SEARCH_VARIANTS = 8 };

/** Make a schedule by a variant of the zero-bubble heuristic, for V = 1.
 *  variant: 0..MS_SEARCH_VARIANTS-1.  program: of the search's shape; its actions are overwritten.
 * Returns MS_OK; MS_E_NO if the variant gets stuck (not reported); MS_E_NOMEM (reported). */
ms_status ms_search_heuristic(ms_search_run *search, int variant, ms_program *program);

/** A rule of list scheduling (list.c): which of a rank's passes runs next. */
typedef struct ms_list_rule {
    const double *urgency[2]; /**< [S * M] of F, and of I, by stage and microbatch: of the passes
                                 whose inputs have arrived, that with the least runs first */
    const int *limit;         /**< [P] maximum of microbatches between F and I of chunk 0, >= 1 */
    bool is_strict;           /**< the rank waits for the inputs of its most urgent pass, instead of
                                 running a less urgent one */
    bool alternates;          /**< F and I take turns where the inputs of both have arrived */
    double overrun; /**< share of its duration by which a W in a gap may delay the next pass */
} ms_list_rule;

/** Make a schedule by list scheduling with a rule, under the cap of the search, at least one
 * activation per chunk.
 *  program: of the search's shape; its actions are overwritten.  span_out: the longest span of a
 * rank, exact if sends do not block.  Returns MS_OK; MS_E_NO if a strict rule gets stuck (not
 * reported); MS_E_NOMEM (reported).  O(P) per pass. */
ms_status ms_search_list(ms_search_run *search, const ms_list_rule *rule, ms_program *program,
                         double *span_out);

/** Work of one ms_search_list, in the unit of ms_search_run.work: more than one per pass where
 * there are many ranks. */
double ms_search_list_work(const ms_program *program);

/** A periodic building block for two stages per rank in a V: how many slots later F of chunk 0 runs
 * on the next rank. */
typedef struct ms_v_block {
    int fast, slow; /**< slots from one of the first ranks to the next, and from a later one: odd */
    int fast_ranks; /**< ranks from which `fast` counts */
} ms_v_block;

/** Order F and I by a building block, with a warm-up and a cool-down for the cap of the search.
 *  program: of the search's shape, V = 2.  urgency: as in ms_list_rule; overwritten. Returns false,
 * with nothing written, unless the block uses the cap well: holds all activations under it, but for
 * less than 2. */
bool ms_search_v_block(const ms_search_spec *spec, const ms_v_block *block,
                       const ms_program *program, double *const urgency[2]);

/** Search under the caps (levels) from the given one down to those under which no schedule can be
 * better.
 *  result: `program` has the search's shape and receives the best schedule; sets heuristic_span,
 * start, variant and is_cut_short.  score: receives the score of the best schedule.  Returns MS_OK;
 * MS_E_NO if no schedule was found (reported); MS_E_NOMEM (reported). */
ms_status ms_search_levels(ms_search_run *search, ms_search_result *result, ms_score *score);

/** Maximum of activations held at once on any rank of a program with I and W apart, each from F to
 * W. */
int ms_search_peak(const ms_program *program);

/** Durations of the passes of one rank, [chunk], and the shortest times in which a microbatch gets
 * from one of them to the next. With V = 1 all of chunk 1 is 0, and so are `down` and `up`. */
typedef struct ms_rank_durations {
    double forward[2], input[2], weight[2];
    double down; /**< from the end of F of chunk 0 to the start of F of chunk 1 */
    double turn; /**< from the end of F of the last chunk to the start of its I */
    double up;   /**< from the end of I of chunk 1 to the start of I of chunk 0 */
} ms_rank_durations;

/** Durations of a rank's passes and of the ways between them.  costs: [PV], [PV-1].  O(P). */
ms_rank_durations ms_search_rank_way(const ms_search_spec *spec, const ms_schedule_costs *costs,
                                     int rank);

/** Lower bound of the span of a rank, for all schedules under the cap of `spec` (0: no cap).  spec:
 * with V filled in. */
double ms_search_rank_bound(const ms_search_spec *spec, const ms_rank_durations *way);

/** Evaluate a program.  slots_out: [3PVM] start and end of every pass; NULL: not wanted.  Returns
 * false, with nothing written, if the program deadlocks or exceeds the cap of the search. */
bool ms_search_score(ms_search_run *search, const ms_program *program, ms_schedule_slot *slots_out,
                     ms_score *score_out);
/** Whether score `a` is better than `b`, by more than rounding. */
bool ms_score_is_better(const ms_score *a, const ms_score *b);

/** Improve a schedule by moves of single passes, as long as they make its score better.
 *  effort: maximum number of evaluations.  program: improved in place.  score: receives its score.
 * Returns MS_OK; MS_E_NOMEM (reported). */
ms_status ms_search_improve(ms_search_run *search, long effort, ms_program *program,
                            ms_score *score);

#endif
