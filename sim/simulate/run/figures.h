/* The totals of a simulation, and the checks of folds and fused passes that a run makes. */
#ifndef MS_RUN_FIGURES_H
#define MS_RUN_FIGURES_H

#include "simulate/run/job.h"

/* Fill a result's tiers, kernel_calls, stages and risks, from its graph, timeline, metrics and
 * memory; all in `arena`.  Returns MS_OK; MS_E_NOMEM (not reported).  O(operations + works * links
 * * tiers), and as ms_granularity_find_risks. */
ms_status ms_result_sum_up(ms_result *result, ms_arena *arena);

/* Find bounds of the step time of an inexactly folded job. Lower bound: every communication takes
 * the time of its fastest group alone. Upper bound: the time of its slowest group with the least
 * share of each link that max-min fairness can leave it, and computations are slowed down all the
 * time.  dag: lowered with bounds.  bounds_s_out: lower and upper bound [s].  Returns MS_OK;
 * MS_E_NOMEM (reported).  O(operations). */
ms_status ms_fold_find_bounds(const ms_dag *dag, ms_diag *diag, double bounds_s_out[2]);

/* Find the axes whose collectives inside fused passes may have to share links with collectives of
 * passes that run at unrelated times, such as those of another pipeline rank: a fused pass cannot
 * be timed without these. dag: not at fidelity `analytic`.  *axes_out: MS_AXIS_BIT each; 0: none.
 * Returns MS_OK; MS_E_NOMEM (not reported).  O(crossings log crossings + pairs of users of a link).
 */
ms_status ms_granularity_find_clashes(const ms_dag *dag, unsigned *axes_out);

/* Fill a result's risks: the collectives inside fused passes on whose links other traffic was at
 * the same time.  Returns MS_OK; MS_E_NOMEM (not reported).  O(operations log operations + pairs of
 * users of a link). */
ms_status ms_granularity_find_risks(ms_result *result, ms_arena *arena);

#endif
