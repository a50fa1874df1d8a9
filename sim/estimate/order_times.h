/* What all passes, messages and gathers of an order take on a platform. */
#ifndef MS_ESTIMATE_ORDER_TIMES_H
#define MS_ESTIMATE_ORDER_TIMES_H

#include "estimate/clocks.h"
#include "estimate/segment_times.h"

/* Find these times.
 *  costs: of the order's program.  *carried_out: communicators that outlive passes.  *times_out: in
 * `arena`.  Returns MS_OK; MS_E_NOMEM (not reported); MS_E_INPUT (reported).
 *  O(segments of different passes). */
ms_status ms_order_times_find(const ms_order *order, const ms_stage_costs *costs, ms_timing *timing,
                              ms_arena *arena, ms_carried *carried_out, ms_order_times *times_out);

#endif
