/* What the steps of the search share. */
#ifndef MS_SCHEDULE_SEARCH_INTERNAL_H
#define MS_SCHEDULE_SEARCH_INTERNAL_H

#include "meshsim/schedule_search.h"
#include "schedule/internal.h"

/** How good a schedule is; less is better, the first difference counts. */
typedef struct ms_score {
    double span;
    double makespan;
    double flow; /**< ends of all input gradients together: what others wait for, early */
} ms_score;

/** A search under way. */
typedef struct ms_search {
    ms_search_spec spec; /**< with the defaults filled in */
    const ms_schedule_costs *costs;
    ms_arena *arena; /**< of the result */
    ms_diag *diag;
    long evaluations;
} ms_search;

enum { MS_SEARCH_VARIANTS = 8 };

/** Lists of one variant of the heuristic into program->actions.  Returns MS_OK; MS_E_NO if the
 * variant gets stuck (not reported); MS_E_NOMEM (reported). */
ms_status ms_search_heuristic(ms_search *search, int variant, ms_program *program);

/** Evaluate; false if the program cannot run or exceeds the cap.  slots_out: [3PM] or NULL. */
bool ms_search_score(ms_search *search, const ms_program *program, ms_schedule_slot *slots_out,
                     ms_score *score_out);
bool ms_score_is_better(const ms_score *a, const ms_score *b);

/** Move single passes into idle time as long as that helps.  MS_OK or MS_E_NOMEM (reported). */
ms_status ms_search_improve(ms_search *search, ms_program *program, ms_score *score);

#endif
