/* Collectives along the links of a torus. */
#include <criterion/criterion.h>
#include <math.h>

#include "collective/collective.h"
#include "plan_fixture.h"
#include "platform_fixture.h"

typedef struct ring_case {
    int first, stride, members;
    double links; /* of a member that send at the same time */
} ring_case;

/* Two pods of 12 x 16 x 16: model groups of 12 along x, data groups of 256 over y and z. */
static const ring_case CASES[] = {
    {0, 1, 12, 2}, {12 * 77, 1, 12, 2}, {5, 12, 256, 4}, {3072 + 11, 12, 256, 4}, {0, 1, 192, 2},
};

/* 2(n-1) hops of 1 us, and the links share what each member sends. */
Test(coll_torus, rings_use_links_both_ways) {
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const ring_case *c = &CASES[i];
        const double size_B = 1e9;
        platform_fixture f;
        fixture_platform(&f, "tpu-v4-palm", NULL);
        int *gpus = MS_NEW(&f.arena, int, c->members);
        for (int m = 0; m < c->members; m++) {
            gpus[m] = c->first + m * c->stride;
        }
        ms_coll_plan plan;
        const ms_coll_request request = {
            .kind = MS_COLL_ALL_REDUCE, .gpus = gpus, .members = c->members, .size_B = size_B};
        cr_assert_eq(ms_coll_plan_build(&f.platform, &request, &f.arena, &plan), MS_OK);
        double passes = 2.0 * (c->members - 1);
        double expected_s = passes * 1e-6 + passes / c->members * size_B / (c->links * 45e9);
        double time_s = fixture_plan_time_s(&f, &plan);
        cr_assert_lt(fabs(time_s - expected_s), 1e-9 * expected_s, "case %zu: %g, not %g", i,
                     time_s, expected_s);
        fixture_release(&f);
    }
}

/* A shift goes round one ring: every member sends all it has over one link. */
Test(coll_torus, a_shift_takes_one_link_each) {
    platform_fixture f;
    fixture_platform(&f, "tpu-v4-palm", NULL);
    int gpus[12];
    for (int m = 0; m < 12; m++) {
        gpus[m] = (m * 5 + 3) % 12; /* the group's order does not matter */
    }
    ms_coll_plan plan;
    const ms_coll_request request = {
        .kind = MS_COLL_RING_SHIFT, .gpus = gpus, .members = 12, .size_B = 45e6};
    cr_assert_eq(ms_coll_plan_build(&f.platform, &request, &f.arena, &plan), MS_OK);
    cr_assert_lt(fabs(fixture_plan_time_s(&f, &plan) - 1.001e-3), 1e-12);
    fixture_release(&f);
}
