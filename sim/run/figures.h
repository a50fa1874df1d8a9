/* The totals of a simulation. */
#ifndef MS_RUN_FIGURES_H
#define MS_RUN_FIGURES_H

#include "meshsim/job.h"

/* Fill a result's tiers, kernel_calls and stages, from its graph, timeline, metrics and memory; all
 * in `arena`.  Returns MS_OK; MS_E_NOMEM (not reported).  O(operations + works * links * tiers). */
ms_status ms_result_sum_up(ms_result *result, ms_arena *arena);

/* Fill a result's risks: where collectives inside pieces shared links with other traffic.  Returns
 * MS_OK; MS_E_NOMEM (not reported).  O(operations log operations + users of links in common). */
ms_status ms_granularity_find_risks(ms_result *result, ms_arena *arena);

#endif
