/* Plans of many groups, of which most are others in another place. */
#ifndef MS_COLLECTIVE_MOVED_H
#define MS_COLLECTIVE_MOVED_H

#include "meshsim/collective.h"

/* Lay out the same collective in several groups, as ms_coll_plan_build does each. A group that is
 * another one moved to where routes are alike (ms_platform_moves_alike) gets that one's plan with
 * its own links.
 *  first: the request of the first group; its GPUs are followed by those of the others.  plans_out:
 * [groups], in `arena`.  Returns as ms_coll_plan_build. */
ms_status ms_plans_build(const ms_platform *platform, const ms_coll_request *first, int groups,
                         ms_arena *arena, ms_coll_plan *plans_out);

#endif
