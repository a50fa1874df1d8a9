/* The same collective in several groups at once: what groups put on the links that they share, by
 * hand. */
#include <math.h>

#include "collective/coll_class.h"
#include "plan_fixture.h"

/* Nodes of four GPUs with one NIC of 10 GB/s; ports of 100 GB/s; nothing has a latency. */
#define ONE_NIC                                                                                    \
    "{library: none, nodes: 4, node: {gpus: 4, nics: 1}, tiers: {"                                 \
    "nvlink: {bandwidth: 100 GB/s, efficiency: 1, latency: 0 s}, "                                 \
    "rail: {bandwidth: 10 GB/s, efficiency: 1, latency: 0 s}, "                                    \
    "spine: {bandwidth: 10 GB/s, efficiency: 1, latency: 0 s}}}"
static const double SIZE_B = 10e6;

static ms_coll_class build(platform_fixture *f, const int *gpus, int groups, int members) {
    const ms_coll_request first = {
        .kind = MS_COLL_ALL_REDUCE, .gpus = gpus, .members = members, .size_B = SIZE_B};
    int32_t *load = MS_NEW(&f->arena, int32_t, f->platform.link_count);
    ms_coll_class class;
    cr_assert_eq(
        ms_coll_class_build(&f->platform, &first, groups, load, &f->arena, &f->diag, &class),
        MS_OK);
    cr_assert_eq(class.groups, groups);
    for (int i = 0; i < f->platform.link_count; i++) {
        cr_assert_eq(load[i], 0, "link %d keeps a load", i);
    }
    return class;
}

static void expect_times(platform_fixture *f, const ms_coll_class *class, const double *alone_s,
                         const double *together_s) {
    for (int g = 0; g < class->groups; g++) {
        double time_s = 0.0;
        cr_assert_eq(ms_coll_plan_time_alone(&f->platform, &class->own[g], &time_s), MS_OK);
        cr_assert_float_eq(time_s, alone_s[g], 1e-12, "group %d alone: %g", g, time_s);
        cr_assert_eq(ms_coll_plan_time(&f->platform, &class->plans[g], &time_s), MS_OK);
        cr_assert_float_eq(time_s, together_s[g], 1e-12, "group %d with the others: %g", g, time_s);
    }
}

/* Pairs of one GPU in each node: a ring of two sends all bytes over each NIC, 1 ms; four pairs take
 * 4 ms. They are laid out alike already. */
Test(coll_class, pairs_across_nodes_share_a_nic) {
    static const int GPUS[] = {0, 4, 1, 5, 2, 6, 3, 7};
    platform_fixture f;
    fixture_platform(&f, "dgx-a100", ONE_NIC);
    ms_coll_class class = build(&f, GPUS, 4, 2);
    expect_times(&f, &class, (const double[]){1e-3, 1e-3, 1e-3, 1e-3},
                 (const double[]){4e-3, 4e-3, 4e-3, 4e-3});
    cr_assert(class.is_even);
    cr_assert_eq(class.plans, class.own, "laid out anew though they are alike");
    cr_assert_eq(class.slowest, 0);
    class = build(&f, GPUS, 1, 2);
    expect_times(&f, &class, (const double[]){1e-3}, (const double[]){1e-3});
    cr_assert(class.is_even);
    fixture_release(&f);
}

/* Groups inside their nodes meet on no link. */
Test(coll_class, groups_inside_nodes_share_nothing) {
    static const int GPUS[] = {0, 1, 2, 3, 4, 5, 6, 7};
    platform_fixture f;
    fixture_platform(&f, "dgx-a100", ONE_NIC);
    ms_coll_class class = build(&f, GPUS, 4, 2);
    const double port_s[] = {1e-4, 1e-4, 1e-4, 1e-4};
    expect_times(&f, &class, port_s, port_s);
    cr_assert(class.is_even);
    cr_assert_eq(class.plans, class.own);
    fixture_release(&f);
}

/* One group inside a node, two across: the first has its ports to itself, the others share a NIC,
 * and one of them is the slowest. */
Test(coll_class, groups_that_lie_differently_are_not_even) {
    static const int GPUS[] = {0, 1, 2, 4, 3, 5};
    platform_fixture f;
    fixture_platform(&f, "dgx-a100", ONE_NIC);
    ms_coll_class class = build(&f, GPUS, 3, 2);
    expect_times(&f, &class, (const double[]){1e-4, 1e-3, 1e-3},
                 (const double[]){1e-4, 2e-3, 2e-3});
    cr_assert_not(class.is_even);
    cr_assert_gt(class.slowest, 0, "%d", class.slowest);
    fixture_release(&f);
}
