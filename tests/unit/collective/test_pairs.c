/* Collectives where the GPUs of a node are wired in pairs: a link of 48 GB/s for every two, so that
 * in a group of n each GPU has n - 1 of them. Source: AMD, Understanding RCCL Bandwidth and xGMI
 * Performance on MI300X (64 GB/s a link, 48 of them left by the protocol; seven links in use reach
 * 7 x 48 = 336 GB/s). */
#include <math.h>

#include "collective/coll_class.h"
#include "collective/nccl.h"
#include "plan_fixture.h"
#include "platform_fixture.h"

static const double LINK_BPS = 48e9;

static ms_coll_plan plan_of(platform_fixture *f, const ms_coll_request *request) {
    ms_coll_plan plan;
    cr_assert_eq(ms_coll_plan_build(&f->platform, request, &f->arena, &plan), MS_OK);
    return plan;
}

/* Time of a plan beside its latency. */
static double transfer_s(platform_fixture *f, const ms_coll_plan *plan) {
    return fixture_plan_time_s(f, plan) - ms_coll_plan_latency_s(plan);
}

/* Bus bandwidths of a group of n anywhere in a node: (n - 1) links for whatever all members do, one
 * for messages and for what goes to the next member only. */
Test(pairs, groups_of_a_node_have_their_own_links) {
    static const int GPUS[] = {3, 0, 7, 5, 1, 6, 2, 4};
    static const struct {
        ms_coll_kind kind;
        ms_coll_algorithm algorithm;
        bool has_all;
    } ROWS[] = {{MS_COLL_ALL_REDUCE, MS_ALGORITHM_AUTO, true},
                {MS_COLL_REDUCE_SCATTER, MS_ALGORITHM_AUTO, true},
                {MS_COLL_ALL_GATHER, MS_ALGORITHM_AUTO, true},
                {MS_COLL_ALL_TO_ALL, MS_ALGORITHM_AUTO, true},
                {MS_COLL_RING_SHIFT, MS_ALGORITHM_AUTO, false},
                {MS_COLL_P2P, MS_ALGORITHM_AUTO, false}};
    platform_fixture f;
    fixture_platform(&f, "mi300x", "{nodes: 2}");
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        for (int n = 2; n <= (ROWS[i].kind == MS_COLL_P2P ? 2 : 8); n++) {
            const double size_B = 1e9;
            ms_coll_plan plan = plan_of(&f, &(ms_coll_request){.kind = ROWS[i].kind,
                                                               .algorithm = ROWS[i].algorithm,
                                                               .gpus = GPUS,
                                                               .members = n,
                                                               .size_B = size_B});
            double busbw_Bps = ms_coll_busbw_Bps(ROWS[i].kind, n, size_B, transfer_s(&f, &plan));
            double expected_Bps = LINK_BPS * (ROWS[i].has_all ? n - 1 : 1);
            cr_assert_float_eq(busbw_Bps / expected_Bps, 1, 1e-12, "%s of %d: %g GB/s",
                               ms_coll_kind_name(ROWS[i].kind), n, busbw_Bps / 1e9);
        }
    }
    fixture_release(&f);
}

/* Eight GPUs as before, where the tier stood for all seven links of a GPU. */
Test(pairs, a_whole_node_reaches_seven_links) {
    platform_fixture f;
    fixture_platform(&f, "mi300x", NULL);
    const int gpus[] = {0, 1, 2, 3, 4, 5, 6, 7};
    ms_coll_plan plan = plan_of(
        &f,
        &(ms_coll_request){.kind = MS_COLL_ALL_REDUCE, .gpus = gpus, .members = 8, .size_B = 1e9});
    double time_s = 14 * 3.4e-6 + 1.75e9 / 336e9; /* fourteen steps of 3.4 us */
    cr_assert_float_eq(fixture_plan_time_s(&f, &plan), time_s, 1e-12);
    fixture_release(&f);
}

/* Rings and trees over several nodes of n members, each with a NIC of 46 GB/s: every link inside is
 * crossed equally often in one direction as in the other, so that NICs limit and not some of the
 * links. */
Test(pairs, channels_share_the_links_of_each_node) {
    static const ms_coll_algorithm ALGORITHMS[] = {MS_ALGORITHM_RING, MS_ALGORITHM_TREE};
    platform_fixture f;
    const ms_platform *platform = fixture_platform(&f, "mi300x", "{nodes: 3}");
    for (int n = 2; n <= 8; n++) {
        for (size_t a = 0; a < 2; a++) {
            int gpus[24];
            for (int i = 0; i < 3 * n; i++) {
                gpus[i] = i / n * 8 + i % n;
            }
            ms_coll_plan plan = plan_of(&f, &(ms_coll_request){.kind = MS_COLL_ALL_REDUCE,
                                                               .algorithm = ALGORITHMS[a],
                                                               .gpus = gpus,
                                                               .members = 3 * n,
                                                               .size_B = 1e9});
            const ms_flow *flow = &plan.phases[0].flows[0];
            int inside = 0, least = INT32_MAX, most = 0;
            for (int i = 0; i < flow->count; i++) {
                if (ms_platform_link_tier(platform, flow->links[i].link) == 0) {
                    inside++;
                    least = flow->links[i].weight < least ? flow->links[i].weight : least;
                    most = flow->links[i].weight > most ? flow->links[i].weight : most;
                }
            }
            cr_assert_eq(inside, 3 * n * (n - 1), "%d of a node", n);
            cr_assert_eq(least, most, "%d of a node: %d to %d", n, least, most);
        }
    }
    fixture_release(&f);
}

/* What a library knows of such a group: the links of each member to all others of its node. */
Test(pairs, a_library_knows_the_links_of_a_group) {
    platform_fixture f;
    const ms_platform *platform =
        fixture_platform(&f, "dgx-a100",
                         "{node: {gpus: 4, nics: 4, wiring: pairs}, nvls: false, "
                         "tiers: {nvlink: {bandwidth: 100 GB/s, efficiency: 1}}}");
    const int gpus[] = {0, 1, 2, 3};
    for (int n = 2; n <= 4; n++) {
        ms_nccl_comm comm;
        cr_assert_eq(ms_nccl_comm_find(platform, gpus, n, &comm), MS_OK);
        cr_assert_float_eq(comm.intra_Bps, (n - 1) * 100e9, 1);
    }
    fixture_release(&f);
}
