/* All-to-alls as few flows: messages whose links carry differently many are told apart. */
#include <math.h>

#include "plan_fixture.h"

/* Nodes of two GPUs with one NIC of 10 GB/s; nothing has a latency. */
#define SMALL_NODES                                                                                \
    "{library: none, nodes: 4, node: {gpus: 2, nics: 1}, tiers: {"                                 \
    "nvlink: {bandwidth: 100 GB/s, efficiency: 1, latency: 0 s}, "                                 \
    "rail: {bandwidth: 10 GB/s, efficiency: 1, latency: 0 s}, "                                    \
    "spine: {bandwidth: 10 GB/s, efficiency: 1, latency: 0 s}}}"

static ms_coll_plan exchange(platform_fixture *f, const int *gpus, int members, double size_B) {
    const ms_coll_request request = {
        .kind = MS_COLL_ALL_TO_ALL, .gpus = gpus, .members = members, .size_B = size_B};
    ms_coll_plan plan;
    cr_assert_eq(ms_coll_plan_build(&f->platform, &request, &f->arena, &plan), MS_OK);
    cr_assert_eq(plan.phase_count, 1);
    return plan;
}

/* Members 0 and 1 on the first node, one each on two others. NICs of the first carry four messages
 * each way, those of the others three: messages with the first cross a link of four and one of
 * three, those between the others two of three, and two stay in the node. */
Test(route_kinds, messages_differ_by_what_their_links_carry) {
    static const int GPUS[] = {0, 1, 2, 4};
    platform_fixture f;
    fixture_platform(&f, "dgx-a100", SMALL_NODES);
    ms_coll_plan plan = exchange(&f, GPUS, 4, 40e6);
    cr_assert_geq(plan.phases[0].count, 3, "%d kinds", plan.phases[0].count);
    /* 10 MB for each peer: four of them cross the NIC */
    double time_s = fixture_plan_time_s(&f, &plan);
    cr_assert_float_eq(time_s, 4 * 10e6 / 10e9, 1e-12, "%g", time_s);
    fixture_release(&f);
}

/* Two members each: all messages between nodes are alike, and those inside them. */
Test(route_kinds, messages_that_are_alike_are_one_flow) {
    static const int GPUS[] = {0, 1, 2, 3, 4, 5};
    platform_fixture f;
    fixture_platform(&f, "dgx-a100", SMALL_NODES);
    ms_coll_plan plan = exchange(&f, GPUS, 6, 60e6);
    cr_assert_eq(plan.phases[0].count, 2, "%d kinds", plan.phases[0].count);
    /* each of two GPUs sends to four others: eight messages across the NIC */
    double time_s = fixture_plan_time_s(&f, &plan);
    cr_assert_float_eq(time_s, 8 * 10e6 / 10e9, 1e-12, "%g", time_s);
    fixture_release(&f);
}

/* Whatever the kinds, every link carries the messages that cross it: of n members on a node and m
 * elsewhere, n m messages leave it. */
Test(route_kinds, links_carry_all_of_their_messages) {
    static const int GPUS[] = {0, 1, 2, 4, 5, 6};
    static const int OWN[] = {2, 1, 2, 1}; /* members on each node */
    platform_fixture f;
    fixture_platform(&f, "dgx-a100", SMALL_NODES);
    ms_coll_plan plan = exchange(&f, GPUS, 6, 60e6);
    double crossed_B = 0.0, expected_B = 0.0;
    for (int i = 0; i < plan.phases[0].count; i++) {
        const ms_flow *flow = &plan.phases[0].flows[i];
        for (int k = 0; k < flow->count; k++) {
            int tier = ms_platform_link_tier(&f.platform, flow->links[k].link);
            crossed_B += tier == 1 ? flow->bytes * flow->links[k].weight : 0.0;
        }
    }
    for (int node = 0; node < 4; node++) {
        expected_B += 2 * 10e6 * OWN[node] * (6 - OWN[node]); /* out and in */
    }
    cr_assert_float_eq(crossed_B, expected_B, 1.0, "%g, not %g", crossed_B, expected_B);
    fixture_release(&f);
}
