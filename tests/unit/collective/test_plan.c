#include <criterion/criterion.h>
#include <math.h>

#include "collective/collective.h"
#include "plan_fixture.h"
#include "platform_fixture.h"

/* Relative difference. */
static double apart(double a, double b) {
    return fabs(a - b) / fmax(fabs(b), 1e-300);
}

static ms_coll_plan plan_of(platform_fixture *f, ms_coll_kind kind, const int *gpus, int members,
                            double size_B) {
    ms_coll_plan plan;
    ms_status status = ms_coll_plan_build(
        &f->platform,
        &(ms_coll_request){.kind = kind, .gpus = gpus, .members = members, .size_B = size_B},
        &f->arena, &plan);
    cr_assert_eq(status, MS_OK);
    return plan;
}

static int *first_gpus(platform_fixture *f, int count) {
    int *gpus = MS_NEW(&f->arena, int, count);
    for (int i = 0; i < count; i++) {
        gpus[i] = i;
    }
    return gpus;
}

/* Ring times on an idle node follow 2(n-1) (latency + S/n/B) for all-reduce, half of it for the
 * others. */
Test(coll_plan, ring_closed_form_on_one_switch) {
    platform_fixture f;
    fixture_platform(&f, "flat", NULL);
    const double latency_s = 1e-6;
    const double bandwidth_Bps = 25e9;
    for (int n = 2; n <= 1024; n = n * 3 - 1) {
        const double size_B = 1e6 * n;
        int *gpus = first_gpus(&f, n);
        double once_s = (n - 1) * latency_s + (n - 1.0) / n * size_B / bandwidth_Bps;
        ms_coll_plan reduce = plan_of(&f, MS_COLL_ALL_REDUCE, gpus, n, size_B);
        ms_coll_plan scatter = plan_of(&f, MS_COLL_REDUCE_SCATTER, gpus, n, size_B);
        ms_coll_plan gather = plan_of(&f, MS_COLL_ALL_GATHER, gpus, n, size_B);
        cr_assert_lt(apart(fixture_plan_time_s(&f, &reduce), 2 * once_s), 1e-12);
        cr_assert_lt(apart(fixture_plan_time_s(&f, &scatter), once_s), 1e-12);
        cr_assert_lt(apart(fixture_plan_time_s(&f, &gather), once_s), 1e-12);
        cr_assert_lt(apart(reduce.sent_B, 2.0 * (n - 1) / n * size_B), 1e-12);
        cr_assert_lt(apart(scatter.sent_B, (n - 1.0) / n * size_B), 1e-12);
    }
    fixture_release(&f);
}

Test(coll_plan, textbook_gibibyte_over_1024) {
    platform_fixture f;
    fixture_platform(&f, "flat", NULL);
    ms_coll_plan plan = plan_of(&f, MS_COLL_ALL_REDUCE, first_gpus(&f, 1024), 1024, 1073741824.0);
    double time_s = fixture_plan_time_s(&f, &plan);
    cr_assert_lt(apart(time_s, 2.0 * 1023 * 1e-6 + 2.0 * 1023 / 1024 * 1073741824.0 / 25e9), 1e-12);
    cr_assert_lt(fabs(time_s - 0.0879), 1e-4);
    fixture_release(&f);
}

/* Bytes are conserved: what all links of the innermost tier carry is what all members send and
 * receive. */
Test(coll_plan, links_carry_what_members_send) {
    platform_fixture f;
    fixture_platform(&f, "dgx-a100", "{library: none}");
    for (int n = 2; n <= 8; n++) {
        ms_coll_plan plan = plan_of(&f, MS_COLL_ALL_REDUCE, first_gpus(&f, n), n, 1e9);
        const ms_flow *flow = &plan.phases[0].flows[0];
        double carried_B = 0.0;
        for (int i = 0; i < flow->count; i++) {
            carried_B += flow->bytes * flow->links[i].weight;
        }
        /* every byte goes up into the switch and down again */
        cr_assert_lt(apart(carried_B, 2.0 * n * plan.sent_B), 1e-12, "n %d", n);
    }
    fixture_release(&f);
}

/* Across full nodes one ring per NIC runs, so the bus bandwidth is that of all NICs of a node. */
Test(coll_plan, one_ring_per_nic_across_nodes) {
    platform_fixture f;
    fixture_platform(
        &f, "dgx-a100",
        "{library: none, nodes: 2, tiers: {nvlink: {latency: 0 s}, rail: {latency: 0 s}}}");
    ms_coll_plan plan = plan_of(&f, MS_COLL_ALL_REDUCE, first_gpus(&f, 16), 16, 1e9);
    double busbw = ms_coll_busbw_Bps(MS_COLL_ALL_REDUCE, 16, 1e9, fixture_plan_time_s(&f, &plan));
    cr_assert_lt(apart(busbw, 8 * 25e9 * 0.92), 1e-9, "busbw %g", busbw);
    fixture_release(&f);
}

/* One member per node: a single ring through one NIC of each node. */
Test(coll_plan, one_member_per_node_uses_one_nic) {
    platform_fixture f;
    fixture_platform(&f, "dgx-a100", "{library: none, nodes: 4, tiers: {rail: {latency: 0 s}}}");
    const int gpus[] = {3, 11, 19, 27};
    ms_coll_plan plan = plan_of(&f, MS_COLL_ALL_REDUCE, gpus, 4, 1e9);
    double time_s = fixture_plan_time_s(&f, &plan);
    cr_assert_lt(apart(time_s, 1.5e9 / (25e9 * 0.92)), 1e-9);
    cr_assert_eq(plan.phases[0].flows[0].count, 8, "an up and a down link per node");
    fixture_release(&f);
}

/* The order in which members are named does not change a ring: they are laid node after node. */
Test(coll_plan, member_order_across_nodes_does_not_matter) {
    platform_fixture f;
    fixture_platform(&f, "dgx-a100", "{library: none, nodes: 4}");
    const int sorted[] = {0, 1, 8, 9, 16, 17, 24, 25};
    const int mixed[] = {0, 8, 16, 24, 1, 9, 17, 25};
    ms_coll_plan a = plan_of(&f, MS_COLL_ALL_REDUCE, sorted, 8, 1e8);
    ms_coll_plan b = plan_of(&f, MS_COLL_ALL_REDUCE, mixed, 8, 1e8);
    cr_assert_lt(apart(fixture_plan_time_s(&f, &a), fixture_plan_time_s(&f, &b)), 1e-12);
    fixture_release(&f);
}

Test(coll_plan, p2p_takes_the_route) {
    platform_fixture f;
    fixture_platform(&f, "dgx-a100", "{library: none}");
    const int gpus[] = {0, 8};
    ms_coll_plan plan = plan_of(&f, MS_COLL_P2P, gpus, 2, 23e9);
    ms_route route;
    ms_platform_route(&f.platform, 0, 8, &route);
    cr_assert_lt(apart(fixture_plan_time_s(&f, &plan), 1.0 + route.latency_s), 1e-9);
    cr_assert_eq(plan.phases[0].flows[0].count, route.count);
    cr_assert_eq(plan.algorithm, MS_ALGORITHM_DIRECT);
    fixture_release(&f);
}

/* On one switch every member sends (n-1)/n of its buffer through its own port. */
Test(coll_plan, all_to_all_inside_a_node) {
    platform_fixture f;
    fixture_platform(&f, "flat", NULL);
    for (int n = 2; n <= 128; n *= 4) {
        ms_coll_plan plan = plan_of(&f, MS_COLL_ALL_TO_ALL, first_gpus(&f, n), n, 1e9);
        cr_assert_lt(apart(plan.sent_B, (n - 1.0) / n * 1e9), 1e-12);
        cr_assert_lt(apart(fixture_plan_time_s(&f, &plan), 1e-6 + plan.sent_B / 25e9), 1e-12);
        cr_assert_eq(plan.phases[0].count, 1, "all pairs are alike");
        cr_assert_eq(plan.phases[0].flows[0].links[0].weight, n - 1, "a message to each other");
    }
    fixture_release(&f);
}

/* Across two full nodes half of every buffer leaves the node, each GPU through its own NIC. */
Test(coll_plan, all_to_all_across_nodes_is_bound_by_the_nics) {
    platform_fixture f;
    fixture_platform(
        &f, "dgx-a100",
        "{library: none, nodes: 2, tiers: {rail: {latency: 0 s}, nvlink: {latency: 0 s}}}");
    ms_coll_plan plan = plan_of(&f, MS_COLL_ALL_TO_ALL, first_gpus(&f, 16), 16, 1e9);
    double time_s = fixture_plan_time_s(&f, &plan);
    cr_assert_lt(apart(time_s, 0.5e9 / (25e9 * 0.92)), 1e-9, "%g", time_s);
    fixture_release(&f);
}

/* Bytes that all flows of a plan carry over links of a tier. */
static double carried_B(const platform_fixture *f, const ms_coll_plan *plan, int tier) {
    double bytes = 0.0;
    for (int i = 0; i < plan->phases[0].count; i++) {
        const ms_flow *flow = &plan->phases[0].flows[i];
        for (int k = 0; k < flow->count; k++) {
            bool is_here = ms_platform_link(&f->platform, flow->links[k].link).tier == tier;
            bytes += is_here ? flow->bytes * flow->links[k].weight : 0.0;
        }
    }
    return bytes;
}

/* Where a copy crosses to a node once it crosses on its own rail, never over NVLink, and is
 * forwarded among the members of the node, both at once; an uneven load stretches the time, not
 * the bytes.
 */
Test(coll_plan, all_to_all_crosses_once_and_forwards) {
    platform_fixture f;
    fixture_platform(
        &f, "dgx-a100",
        "{library: none, nodes: 2, tiers: {rail: {latency: 0 s}, nvlink: {latency: 0 s}}}");
    ms_coll_request request = {.kind = MS_COLL_ALL_TO_ALL,
                               .gpus = first_gpus(&f, 16),
                               .members = 16,
                               .size_B = 1e9,
                               .intra_node_B = 8e9,
                               .load_imbalance = 1.5};
    ms_coll_plan plan;
    cr_assert_eq(ms_coll_plan_build(&f.platform, &request, &f.arena, &plan), MS_OK);
    cr_assert_eq(plan.phases[0].count, 2);
    cr_assert_lt(apart(plan.sent_B, 0.5e9 + 7e9), 1e-12);
    /* up and down: 16 GPUs send 0.5 GB to the other node and 7 GB inside their own */
    cr_assert_lt(apart(carried_B(&f, &plan, 1), 1.5 * 2 * 16 * 0.5e9), 1e-12);
    cr_assert_lt(apart(carried_B(&f, &plan, 0), 1.5 * 2 * 16 * 7e9), 1e-12);
    /* alone each, the first takes 21.7 ms, the second 29.1 ms, times 1.5 */
    double time_s = fixture_plan_time_s(&f, &plan);
    cr_assert_lt(apart(time_s, 1.5 * 7e9 / (300e9 * 0.803)), 1e-9, "%g", time_s);
    request.size_B = 2e9;
    cr_assert_eq(ms_coll_plan_build(&f.platform, &request, &f.arena, &plan), MS_OK);
    time_s = fixture_plan_time_s(&f, &plan);
    cr_assert_lt(apart(time_s, 1.5 * 1e9 / (25e9 * 0.92)), 1e-9, "%g", time_s);
    fixture_release(&f);
}

/* Messages inside a node, along a rail and by way of another rail's GPU are different flows, and
 * none of them is held to the pace of another. */
Test(coll_plan, kinds_of_route_are_flows_of_their_own) {
    platform_fixture f;
    fixture_platform(
        &f, "dgx-h100",
        "{library: none, nodes: 2, tiers: {rail: {latency: 0 s}, nvlink: {latency: 0 s}}}");
    ms_coll_plan plan = plan_of(&f, MS_COLL_ALL_TO_ALL, first_gpus(&f, 16), 16, 1.6e9);
    cr_assert_eq(plan.phases[0].count, 3);
    for (int i = 0; i < 3; i++) {
        cr_assert_lt(apart(plan.phases[0].flows[i].bytes, 1e8), 1e-12);
    }
    /* half of each buffer crosses its NIC; the 7 other messages are through long before */
    double time_s = fixture_plan_time_s(&f, &plan);
    cr_assert_lt(apart(time_s, 0.8e9 / (50e9 * 0.92)), 1e-9, "%g", time_s);
    fixture_release(&f);
}

/* A shift moves every member's whole buffer one place on, over the slowest edge of the ring. */
Test(coll_plan, ring_shift_runs_at_the_slowest_edge) {
    platform_fixture f;
    fixture_platform(
        &f, "dgx-a100",
        "{library: none, nodes: 2, tiers: {rail: {latency: 0 s}, nvlink: {latency: 0 s}}}");
    ms_coll_plan inside = plan_of(&f, MS_COLL_RING_SHIFT, first_gpus(&f, 8), 8, 1e9);
    ms_coll_plan across = plan_of(&f, MS_COLL_RING_SHIFT, first_gpus(&f, 16), 16, 1e9);
    cr_assert_eq(inside.sent_B, 1e9);
    cr_assert_lt(apart(fixture_plan_time_s(&f, &inside), 1e9 / (300e9 * 0.803)), 1e-9);
    cr_assert_lt(apart(fixture_plan_time_s(&f, &across), 1e9 / (25e9 * 0.92)), 1e-9);
    fixture_release(&f);
}

Test(coll_plan, one_member_does_nothing) {
    platform_fixture f;
    fixture_platform(&f, "flat", NULL);
    const int gpu = 5;
    ms_coll_plan plan = plan_of(&f, MS_COLL_ALL_GATHER, &gpu, 1, 1e9);
    cr_assert_eq(plan.phase_count, 0);
    cr_assert_eq(plan.sent_B, 0.0);
    cr_assert_eq(fixture_plan_time_s(&f, &plan), 0.0);
    fixture_release(&f);
}

/* No latency, unlimited links: any collective is free. */
Test(coll_plan, ideal_platform_is_free) {
    platform_fixture f;
    fixture_platform(&f, "ideal", NULL);
    int n = ms_platform_gpus(&f.platform) < 8 ? ms_platform_gpus(&f.platform) : 8;
    ms_coll_plan plan = plan_of(&f, MS_COLL_ALL_REDUCE, first_gpus(&f, n), n, 1e12);
    cr_assert_eq(fixture_plan_time_s(&f, &plan), 0.0);
    fixture_release(&f);
}

Test(coll_plan, what_is_not_built_is_refused) {
    platform_fixture f;
    fixture_platform(&f, "flat", NULL);
    ms_coll_plan plan;
    int *gpus = first_gpus(&f, 4);
    const ms_coll_kind kinds[] = {MS_COLL_NONE, MS_COLL_BROADCAST};
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(
            ms_coll_plan_build(
                &f.platform,
                &(ms_coll_request){.kind = kinds[i], .gpus = gpus, .members = 4, .size_B = 1.0},
                &f.arena, &plan),
            MS_E_RANGE);
    }
    cr_assert_eq(ms_coll_plan_build(&f.platform,
                                    &(ms_coll_request){.kind = MS_COLL_P2P,
                                                       .algorithm = MS_ALGORITHM_RING,
                                                       .gpus = gpus,
                                                       .members = 2,
                                                       .size_B = 1.0},
                                    &f.arena, &plan),
                 MS_E_RANGE);
    cr_assert_eq(
        ms_coll_plan_build(
            &f.platform,
            &(ms_coll_request){.kind = MS_COLL_P2P, .gpus = gpus, .members = 3, .size_B = 1.0},
            &f.arena, &plan),
        MS_E_RANGE);
    fixture_release(&f);
}

Test(coll_plan, memory_running_out_is_a_status) {
    platform_fixture f;
    fixture_platform(&f, "dgx-a100", "{library: none}");
    int *gpus = first_gpus(&f, 16);
    ms_status status = MS_E_NOMEM;
    for (long n = 0; status == MS_E_NOMEM && n < 100; n++) {
        ms_coll_plan plan;
        ms_arena_fail_after(&f.arena, n);
        status = ms_coll_plan_build(
            &f.platform,
            &(ms_coll_request){
                .kind = MS_COLL_ALL_REDUCE, .gpus = gpus, .members = 16, .size_B = 1e6},
            &f.arena, &plan);
    }
    cr_assert_eq(status, MS_OK);
    fixture_release(&f);
}

/* Bus bandwidth as nccl-tests defines it; an all-reduce on n ranks moves 2(n-1)/n of its size. */
Test(coll_plan, busbw_factors) {
    cr_assert_lt(apart(ms_coll_busbw_Bps(MS_COLL_ALL_REDUCE, 8, 8e9, 2.0), 7e9), 1e-12);
    cr_assert_lt(apart(ms_coll_busbw_Bps(MS_COLL_ALL_GATHER, 8, 8e9, 2.0), 3.5e9), 1e-12);
    cr_assert_lt(apart(ms_coll_busbw_Bps(MS_COLL_P2P, 2, 8e9, 2.0), 4e9), 1e-12);
    cr_assert_lt(apart(ms_coll_busbw_Bps(MS_COLL_REDUCE_SCATTER, 8, 8e9, 2.0), 3.5e9), 1e-12);
    cr_assert_lt(apart(ms_coll_busbw_Bps(MS_COLL_ALL_TO_ALL, 4, 8e9, 2.0), 3e9), 1e-12);
    cr_assert_eq(ms_coll_busbw_Bps(MS_COLL_ALL_REDUCE, 8, 8e9, 0.0), 0.0, "in no time: nothing");
}
