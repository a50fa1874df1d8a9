/* Times of all passes, messages and unshards of an order on a platform: the input of ms_clocks_run.
 */
#ifndef MS_ESTIMATE_ORDER_TIMES_H
#define MS_ESTIMATE_ORDER_TIMES_H

#include "estimate/clocks.h"
#include "estimate/segment_times.h"

/* Find the times of all operations of an order.
 *  costs: of the order's program.  timing: for which job and whether for the estimate or the bound;
 * its excess is raised.  *carried_out: the carried communicators of the job.  *times_out: in
 * `arena`, without its sharing and is_blocking.  Returns MS_OK; MS_E_NOMEM (not reported);
 * MS_E_INPUT (reported). O(segments of different passes). */
ms_status ms_order_times_find(const ms_order *order, const ms_stage_costs *costs, ms_timing *timing,
                              ms_arena *arena, ms_carried *carried_out, ms_order_times *times_out);

#endif
