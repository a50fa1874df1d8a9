/* All-to-alls of experts against DeepEP's own figures: H800, 4,096 tokens a rank of 7,168 elements
 * in bf16, eight experts each on at most four nodes. Source: deepseek-ai/DeepEP, README of version
 * 1, normal kernels (combine); as in workloads/validation/hardware.yaml. */
#include <math.h>

#include "plan_fixture.h"

static const double TOKENS = 4096;
static const double ROW_B = 7168 * 2.0;
static const double TOP_K = 8;

/* How many of `places` a token reaches whose experts are drawn from them one by one. */
static double reached(double places) {
    return places * (1.0 - pow(1.0 - 1.0 / places, TOP_K));
}

/* Time of a combine among so many whole nodes. */
static double time_of(platform_fixture *f, int nodes, double size_B, double intra_node_B) {
    int ranks = 8 * nodes;
    int *gpus = MS_NEW(&f->arena, int, ranks);
    for (int i = 0; i < ranks; i++) {
        gpus[i] = i;
    }
    const ms_coll_request request = {.kind = MS_COLL_ALL_TO_ALL,
                                     .gpus = gpus,
                                     .members = ranks,
                                     .size_B = size_B,
                                     .intra_node_B = intra_node_B};
    ms_coll_plan plan;
    cr_assert_eq(ms_coll_plan_build(&f->platform, &request, &f->arena, &plan), MS_OK);
    return fixture_plan_time_s(f, &plan);
}

/* Inside a node 158 GB/s cross a GPU's NVLink. */
Test(deepep, inside_a_node) {
    platform_fixture f;
    fixture_platform(&f, "h800", "{nodes: 8}");
    double bytes = TOKENS * reached(8) * ROW_B;
    double time_s = time_of(&f, 1, bytes, 0);
    cr_assert_lt(fabs(bytes * 7 / 8 / time_s / 158e9 - 1.0), 0.05, "%g B/s",
                 bytes * 7 / 8 / time_s);
    fixture_release(&f);
}

/* Between nodes DeepEP counts a token once for each node it reaches, its own among them. As it was
 * published first, 47 GB/s of four nodes, 45 of eight (57 and 50 since pull request 130). Of two
 * nodes, 43 GB/s, NVLink is the limit and the SMs that forward. */
Test(deepep, between_nodes) {
    static const struct {
        int nodes;
        double measured_Bps, off;
    } ROWS[] = {{2, 43e9, 0.35}, {4, 47e9, 0.15}, {8, 45e9, 0.05}};
    platform_fixture f;
    fixture_platform(&f, "h800", "{nodes: 8}");
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        double groups = fmin(4, ROWS[i].nodes);
        double nodes_B = TOKENS * reached(groups) * ROW_B;
        double ranks_B = TOKENS * reached(8 * groups) * ROW_B;
        double rate_Bps = nodes_B / time_of(&f, ROWS[i].nodes, nodes_B, ranks_B);
        cr_assert_lt(fabs(rate_Bps / ROWS[i].measured_Bps - 1.0), ROWS[i].off, "%d nodes: %g B/s",
                     ROWS[i].nodes, rate_Bps);
    }
    fixture_release(&f);
}

/* A tier's own share for all-to-alls lengthens these alone, where it is the one that limits them:
 * the plane between nodes, NVLink inside one. */
Test(deepep, a_tier_has_a_share_for_all_to_alls) {
    static const char *const SHARES[] = {"{nodes: 8, tiers: {plane: {exchange_efficiency: 0.92}}}",
                                         "{nodes: 8, tiers: {plane: {exchange_efficiency: 0.46}}}"};
    double inside_s[2], between_s[2];
    for (int i = 0; i < 2; i++) {
        platform_fixture f;
        fixture_platform(&f, "h800", SHARES[i]);
        inside_s[i] = time_of(&f, 1, 1e12, 0);
        between_s[i] = time_of(&f, 8, 1e12, 0);
        fixture_release(&f);
    }
    cr_assert_eq(inside_s[0], inside_s[1]);
    cr_assert_lt(fabs(between_s[1] / between_s[0] - 2), 1e-3, "%g", between_s[1] / between_s[0]);
}

/* What NICs report to NCCL is for its choice of algorithms: messages take what their route takes.
 */
Test(deepep, messages_do_not_wait_for_what_nics_report) {
    platform_fixture f;
    fixture_platform(&f, "p6-b200", NULL);
    const double overhead_s = 2e-6; /* of a call on Blackwell */
    const double latencies_s[] = {2 * 1.7e-6 + overhead_s, 2 * 7e-6 + overhead_s};
    for (int far = 0; far < 2; far++) {
        const int gpus[] = {0, far == 0 ? 1 : 8};
        const ms_coll_request request = {
            .kind = MS_COLL_P2P, .gpus = gpus, .members = 2, .size_B = 0};
        ms_coll_plan plan;
        cr_assert_eq(ms_coll_plan_build(&f.platform, &request, &f.arena, &plan), MS_OK);
        cr_assert_float_eq(fixture_plan_time_s(&f, &plan), latencies_s[far], 1e-12);
    }
    fixture_release(&f);
}
