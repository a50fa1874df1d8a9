/* Types and functions that the files of the search share. */
#ifndef MS_SCHEDULE_SEARCH_INTERNAL_H
#define MS_SCHEDULE_SEARCH_INTERNAL_H

#include "schedule/internal.h"
#include "schedule/schedule_search.h"

/** How good a schedule is; less is better, the first difference counts. */
typedef struct ms_score {
    double span;
    double spans; /**< of all ranks together */
    double makespan;
    double flow; /**< ends of all input gradients together: what others wait for, early */
} ms_score;

/** A search under way. */
typedef struct ms_search_run {
    ms_search_spec spec; /**< with the defaults filled in */
    const ms_schedule_costs *costs;
    ms_arena *arena; /**< of the result */
    ms_diag *diag;
    long evaluations;
    double work; /**< passes placed or evaluated so far: what the time is spent on */
} ms_search_run;

enum { MS_SEARCH_VARIANTS = 8 };

/** Lists of one variant of the heuristic into program->actions.  Returns MS_OK; MS_E_NO if the
 * variant gets stuck (not reported); MS_E_NOMEM (reported). */
ms_status ms_search_heuristic(ms_search_run *search, int variant, ms_program *program);

/** What a schedule in the order of time goes by. */
typedef struct ms_list_rule {
    const double *urgency[2]; /**< [S * M] each, of forward passes and of input gradients: of those
                                 that have arrived, the least goes first */
    const int *limit;         /**< [P] microbatches between F and I of chunk 0 at most, >= 1 */
    bool is_strict;           /**< nothing overtakes a more urgent pass of the rank */
    bool alternates; /**< forward passes and input gradients take turns where both have arrived */
    double overrun;  /**< share of itself by which a weight gradient in a gap may delay others */
} ms_list_rule;

/** Lists of a program by a rule, under a cap of at least one per chunk.
 *  span_out: the longest, if sends do not block.  Returns MS_OK; MS_E_NO if a strict rule gets
 * stuck (not reported); MS_E_NOMEM (reported).  O(P) per pass. */
ms_status ms_search_list(ms_search_run *search, const ms_list_rule *rule, ms_program *program,
                         double *span_out);

/** Cost of making such a list, in passes placed with few ranks. */
double ms_search_list_work(const ms_program *program);

/** Search under the caps from the given one down.
 *  result: its program has the shape; the best one goes there, and what it started from.  score:
 * of it.  Returns MS_OK; MS_E_NOMEM (reported). */
ms_status ms_search_levels(ms_search_run *search, ms_search_result *result, ms_score *score);

/** Most activations held at once on any rank; programs with I and W apart. */
int ms_search_peak(const ms_program *program);

/** The passes of one rank, [chunk], and the ways of a microbatch between them; with one stage per
 * rank all of chunk 1 is 0, and so are `down` and `up`. */
typedef struct ms_rank_way {
    double forward[2], input[2], weight[2];
    double down; /**< from the end of F of chunk 0 to the start of F of chunk 1 */
    double turn; /**< from the end of F of the last chunk to the start of its I */
    double up;   /**< from the end of I of chunk 1 to the start of I of chunk 0 */
} ms_rank_way;

/** O(P). */
ms_rank_way ms_search_rank_way(const ms_search_spec *spec, const ms_schedule_costs *costs,
                               int rank);

/** Lower bound of the span of a rank.  spec: with V filled in. */
double ms_search_rank_bound(const ms_search_spec *spec, const ms_rank_way *way);

/** Evaluate; false if the program cannot run or exceeds the cap.  slots_out: [3PVM] or NULL. */
bool ms_search_score(ms_search_run *search, const ms_program *program, ms_schedule_slot *slots_out,
                     ms_score *score_out);
bool ms_score_is_better(const ms_score *a, const ms_score *b);

/** Move single passes into idle time as long as that helps.
 *  effort: evaluations at most.  MS_OK or MS_E_NOMEM (reported). */
ms_status ms_search_improve(ms_search_run *search, long effort, ms_program *program,
                            ms_score *score);

#endif
