/* Collectives laid out in tests. */
#ifndef MS_PLAN_FIXTURE_H
#define MS_PLAN_FIXTURE_H

#include "collective/collective.h"
#include "platform_fixture.h"

static inline double fixture_plan_time_s(const platform_fixture *fixture,
                                         const ms_coll_plan *plan) {
    double time_s = -1.0;
    cr_assert_eq(ms_coll_plan_time(&fixture->platform, plan, &time_s), MS_OK);
    return time_s;
}

#endif
