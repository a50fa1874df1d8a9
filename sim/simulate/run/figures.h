/* The totals of a simulation. */
#ifndef MS_RUN_FIGURES_H
#define MS_RUN_FIGURES_H

#include "simulate/run/job.h"

/* Fill a result's tiers, kernel_calls and stages, from its graph, timeline, metrics and memory; all
 * in `arena`.  Returns MS_OK; MS_E_NOMEM (not reported).  O(operations + works * links * tiers). */
ms_status ms_result_sum_up(ms_result *result, ms_arena *arena);

/* Find between which times the step of a job lies: its communication in the group that takes least,
 * on links of its own, and in the one that takes most, with the least share of each link that it
 * can get.  dag: lowered with bounds.  bounds_s_out: least and most [s].  Returns MS_OK; MS_E_NOMEM
 * (reported).  O(operations). */
ms_status ms_fold_find_bounds(const ms_dag *dag, ms_diag *diag, double bounds_s_out[2]);

/* Axes whose collectives inside pieces may have to share links with collectives of passes that come
 * at other times, such as another pipeline rank's: they cannot be timed without each other.
 * dag: at fidelity flow or step.  *axes_out: MS_AXIS_BIT each; 0: none.  Returns MS_OK; MS_E_NOMEM
 * (not reported).  O(crossings log crossings), and pairs of users of a link. */
ms_status ms_granularity_find_clashes(const ms_dag *dag, unsigned *axes_out);

/* Fill a result's risks: where collectives inside pieces shared links with other traffic.  Returns
 * MS_OK; MS_E_NOMEM (not reported).  O(operations log operations + users of links in common). */
ms_status ms_granularity_find_risks(ms_result *result, ms_arena *arena);

#endif
