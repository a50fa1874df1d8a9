/* The double binary tree against figures by hand. */
#include <math.h>

#include "plan_fixture.h"

static ms_coll_plan tree_of(platform_fixture *f, int members, double size_B) {
    int *gpus = MS_NEW(&f->arena, int, members);
    for (int i = 0; i < members; i++) {
        gpus[i] = i;
    }
    const ms_coll_request request = {.kind = MS_COLL_ALL_REDUCE,
                                     .algorithm = MS_ALGORITHM_TREE,
                                     .gpus = gpus,
                                     .members = members,
                                     .size_B = size_B};
    ms_coll_plan plan;
    cr_assert_eq(ms_coll_plan_build(&f->platform, &request, &f->arena, &plan), MS_OK);
    cr_assert_eq(plan.algorithm, MS_ALGORITHM_TREE);
    cr_assert_eq(plan.phase_count, 1, "up and down at once");
    cr_assert_eq(plan.phases[0].count, 1, "at one pace");
    return plan;
}

static void expect(double got, double wanted, const char *what, int members) {
    cr_assert_lt(fabs(got - wanted), 1e-12 * wanted, "%s of %d: %.15g, not %.15g", what, members,
                 got, wanted);
}

/* Of one GPU per node at 25 GB/s and 1 us from port to port: edges from the root to the deepest
 * leaf and what the busiest port sends of the buffer. A node that has a parent and two children in
 * one tree sends three halves there and one as a leaf of the other. */
static const struct {
    int members;
    double busiest;
    int depth;
} FLAT[] = {{2, 1.0, 1}, {3, 1.5, 2}, {4, 2.0, 2},  {5, 2.0, 3},
            {7, 2.0, 3}, {8, 2.0, 3}, {64, 2.0, 6}, {1024, 2.0, 10}};

Test(coll_tree, closed_form_on_one_switch) {
    platform_fixture f;
    fixture_platform(&f, "flat", NULL);
    for (size_t i = 0; i < sizeof FLAT / sizeof FLAT[0]; i++) {
        int n = FLAT[i].members;
        ms_coll_plan plan = tree_of(&f, n, 1e6);
        expect(plan.phases[0].latency_s, 2 * FLAT[i].depth * 1e-6, "latency", n);
        expect(fixture_plan_time_s(&f, &plan),
               2 * FLAT[i].depth * 1e-6 + FLAT[i].busiest * 1e6 / 25e9, "time", n);
    }
    fixture_release(&f);
}

/* Eight chains of eight GPUs, the head of each on the rail of its own NIC: up seven NVLink hops of
 * 3.4 us and three rail hops of 14 us, and down again; each NIC sends twice an eighth of the
 * buffer, each GPU seven eighths of it over NVLink up and as much down. */
Test(coll_tree, closed_form_on_rails) {
    platform_fixture f;
    fixture_platform(&f, "dgx-h100", "{library: none}");
    ms_coll_plan plan = tree_of(&f, 64, 1e9);
    expect(plan.phases[0].latency_s, 2 * (7 * 3.4e-6 + 3 * 14e-6), "latency", 64);
    expect(fixture_plan_time_s(&f, &plan),
           2 * (7 * 3.4e-6 + 3 * 14e-6) + 2 * 1e9 / 8 / (50e9 * 0.92), "time", 64);
    /* inside a node it is a chain, whose inner members send the buffer both ways */
    plan = tree_of(&f, 8, 1e9);
    expect(fixture_plan_time_s(&f, &plan), 2 * 7 * 3.4e-6 + 2 * 1e9 / (450e9 * 0.815), "time", 8);
    fixture_release(&f);
}

/* Bytes that a plan's flow carries over links of a tier. */
static double carried_B(const platform_fixture *f, const ms_coll_plan *plan, int tier) {
    const ms_flow *flow = &plan->phases[0].flows[0];
    double bytes = 0.0;
    for (int i = 0; i < flow->count; i++) {
        bool is_here = ms_platform_link(&f->platform, flow->links[i].link).tier == tier;
        bytes += is_here ? flow->bytes * flow->links[i].weight : 0.0;
    }
    return bytes;
}

/* Every edge of a tree carries its share up and down, over two links each way; together the edges
 * carry what all members send. */
Test(coll_tree, links_carry_what_members_send) {
    platform_fixture f;
    fixture_platform(&f, "dgx-h100", "{library: none}");
    for (int nodes = 1; nodes <= 6; nodes++) {
        int n = 8 * nodes;
        ms_coll_plan plan = tree_of(&f, n, 1e9);
        expect(plan.sent_B, 2e9 * (n - 1) / n, "bytes sent", n);
        expect(carried_B(&f, &plan, 0), 2 * 2 * 7.0 * nodes * 1e9, "bytes over NVLink", n);
        if (nodes > 1) {
            expect(carried_B(&f, &plan, 1), 2 * 2 * (nodes - 1.0) * 1e9, "bytes over rails", n);
        }
        expect(carried_B(&f, &plan, 0) + carried_B(&f, &plan, 1), 2 * n * plan.sent_B, "bytes", n);
    }
    fixture_release(&f);
}

/* A root, and every other node once below a node nearer to it: any number of nodes is a tree, whose
 * depth grows as the logarithm. */
Test(coll_tree, depth_of_any_number_of_nodes) {
    platform_fixture f;
    fixture_platform(&f, "flat", NULL);
    for (int n = 2; n <= 1024; n = n < 70 ? n + 1 : 2 * n - 1) {
        ms_coll_plan plan = tree_of(&f, n, 1e6);
        expect(plan.phases[0].latency_s, 2e-6 * ceil(log2(n)), "latency", n);
        expect(carried_B(&f, &plan, 0), 2 * 2 * (n - 1.0) * 1e6, "bytes", n);
    }
    fixture_release(&f);
}
