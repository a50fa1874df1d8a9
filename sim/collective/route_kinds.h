/* Folds messages that run at the same time, such as those of an all-to-all, into few flows: one per
 * kind of route. See decision note route_kinds.md. */
#ifndef MS_COLLECTIVE_ROUTE_KINDS_H
#define MS_COLLECTIVE_ROUTE_KINDS_H

#include "collective/all_to_all.h"

/* Maximum number of flows of a phase; where messages have more kinds, similar kinds share a flow.
 */
enum { MS_ROUTE_KINDS_MAX = 256 };

/* Fold the messages of `set` into a phase: its flows, in `arena`, and its latency, that of the
 * slowest message, of a crossing and a forwarded one after the other. is_coarse: kinds differ by
 * the outermost tier only.  *tier_out: outermost tier crossed.  Returns MS_OK; MS_E_NOMEM.
 * O(messages * links of a route * rounds of refinement); where every GPU of the set sends to every
 * other one and routes have halves, O(GPUs * rails * tiers * links * rounds). */
ms_status ms_route_kinds_fold(const ms_message_set *set, bool is_coarse, ms_arena *arena,
                              ms_phase *phase_out, int *tier_out);

#endif
