/* Groups that have unequal parts of nodes: as many rings as the node with the fewest members has
 * members, one NIC each. Times by hand, without latency. */
#include <math.h>

#include "collective/group_nodes.h"
#include "collective/nccl.h"
#include "collective/reshard_time.h"
#include "plan_fixture.h"
#include "platform_fixture.h"

/* Ports of 100 GB/s inside nodes of eight GPUs, NICs of 10 GB/s between them. */
#define TWO_SPEEDS(nics)                                                                           \
    "{library: none, nodes: 4, node: {nics: " #nics "}, tiers: {"                                  \
    "nvlink: {bandwidth: 100 GB/s, efficiency: 1, latency: 0 s}, "                                 \
    "rail: {bandwidth: 10 GB/s, efficiency: 1, latency: 0 s}, "                                    \
    "spine: {bandwidth: 10 GB/s, efficiency: 1, latency: 0 s}}}"
static const double SIZE_B = 96e6, NIC_Bps = 10e9, PORT_Bps = 100e9;

typedef struct uneven_case {
    int gpus[24];
    int members, nodes, channels;
    bool has_equal_nodes;
} uneven_case;

static const uneven_case CASES[] = {
    {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 12, 2, 4, false},     /* 8 + 4 */
    {{0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15}, 12, 2, 4, false}, /* 4 + 8 */
    {{8, 0, 9, 1, 10, 2, 11, 3, 4, 5, 6, 7}, 12, 2, 4, false},     /* 8 + 4, out of order */
    {{0, 1, 2, 3, 4, 5, 6, 7, 8}, 9, 2, 1, false},                 /* 8 + 1 */
    {{0, 1, 2, 8, 9, 16, 17, 18}, 8, 3, 2, false},                 /* 3 + 2 + 3 */
    {{0, 1, 2, 8, 9, 10}, 6, 2, 3, true},                          /* 3 + 3 */
    {{0, 8, 16}, 3, 3, 1, false},                                  /* 1 + 1 + 1 */
    {{0, 1, 2, 3, 4}, 5, 1, 1, true},                              /* one node */
};
enum { CASE_COUNT = sizeof CASES / sizeof CASES[0] };

Test(uneven_nodes, the_smallest_part_decides_how_many_rings_there_are) {
    platform_fixture f;
    fixture_platform(&f, "dgx-h100", TWO_SPEEDS(8));
    for (int i = 0; i < CASE_COUNT; i++) {
        const uneven_case *c = &CASES[i];
        ms_node_order order;
        cr_assert_eq(ms_node_order_find(&f.platform, c->gpus, c->members, &f.arena, &order), MS_OK);
        cr_assert_eq(order.count, c->nodes, "case %d: %d nodes", i, order.count);
        cr_assert_eq(order.channels, c->channels, "case %d: %d rings", i, order.channels);
    }
    fixture_release(&f);
}

/* NICs that a group uses, as NCCL's model has them: at most those of a node. */
Test(uneven_nodes, nccl_counts_the_nics_of_the_smallest_part) {
    platform_fixture all, two;
    fixture_platform(&all, "dgx-h100", TWO_SPEEDS(8));
    fixture_platform(&two, "dgx-h100", TWO_SPEEDS(2));
    for (int i = 0; i < CASE_COUNT; i++) {
        const uneven_case *c = &CASES[i];
        ms_nccl_comm comm, narrow;
        cr_assert_eq(ms_nccl_comm_find(&all.platform, c->gpus, c->members, &comm), MS_OK);
        cr_assert_eq(ms_nccl_comm_find(&two.platform, c->gpus, c->members, &narrow), MS_OK);
        cr_assert_eq(comm.ranks, c->members);
        cr_assert_eq(comm.nodes, c->nodes, "case %d: %d nodes", i, comm.nodes);
        cr_assert_eq(comm.has_equal_nodes, c->has_equal_nodes, "case %d", i);
        if (c->nodes > 1) {
            cr_assert_eq(comm.nics, c->channels, "case %d: %d NICs", i, comm.nics);
            cr_assert_eq(narrow.nics, c->channels < 2 ? 1 : 2, "case %d: %d NICs", i, narrow.nics);
            cr_assert_float_eq(narrow.inter_Bps, narrow.nics * NIC_Bps, 1.0);
        }
    }
    fixture_release(&all);
    fixture_release(&two);
}

static double ring_s(platform_fixture *f, const int *gpus, int members, ms_coll_kind kind) {
    const ms_coll_request request = {
        .kind = kind, .gpus = gpus, .members = members, .size_B = SIZE_B};
    ms_coll_plan plan;
    cr_assert_eq(ms_coll_plan_build(&f->platform, &request, &f->arena, &plan), MS_OK);
    return fixture_plan_time_s(f, &plan);
}

/* An all-reduce among n sends 2 (n - 1) / n of its bytes over every edge, shared out among the
 * rings: each crosses a NIC of its own, and ports that are faster than all NICs are no matter.
 * Source: Thakur, Rabenseifner, Gropp, IJHPCA 2005. */
Test(uneven_nodes, a_ring_for_each_nic_shares_the_bytes) {
    platform_fixture f;
    fixture_platform(&f, "dgx-h100", TWO_SPEEDS(8));
    for (int i = 0; i < CASE_COUNT; i++) {
        const uneven_case *c = &CASES[i];
        double n = c->members;
        double sent_B = (n - 1) / n * SIZE_B;
        double Bps = c->nodes == 1 ? PORT_Bps : c->channels * NIC_Bps;
        double gather_s = ring_s(&f, c->gpus, c->members, MS_COLL_ALL_GATHER);
        double reduce_s = ring_s(&f, c->gpus, c->members, MS_COLL_ALL_REDUCE);
        cr_assert_float_eq(gather_s, sent_B / Bps, 1e-9 * gather_s, "case %d: %g, not %g", i,
                           gather_s, sent_B / Bps);
        cr_assert_float_eq(reduce_s, 2 * sent_B / Bps, 1e-9 * reduce_s, "case %d", i);
    }
    fixture_release(&f);
}

static ms_reshard_time reshard(platform_fixture *f, int outer, int inner, ms_coll_kind kind,
                               int axis) {
    static const char *const NAMES[] = {"dp", "tp"};
    const int sizes[] = {outer, inner};
    const ms_reshard_step step = {.kind = kind, .axis = axis, .size_B = SIZE_B};
    ms_mesh mesh;
    ms_reshard_time time;
    cr_assert_eq(ms_mesh_init(&mesh, NAMES, sizes, 2, &f->diag), MS_OK);
    cr_assert_eq(ms_reshard_step_time(&f->platform, &mesh, &step, &f->diag, &time), MS_OK);
    return time;
}

/* Groups of three on nodes of eight: 0 1 2, 3 4 5 and 9 10 11 lie in nodes, 6 7 8 crosses with one
 * ring. The slowest group counts, and the outermost tier, though groups inside nodes come before
 * and after it. */
Test(uneven_nodes, groups_on_different_tiers_take_the_time_of_the_outermost) {
    platform_fixture f;
    fixture_platform(&f, "dgx-h100", TWO_SPEEDS(8));
    ms_reshard_time gather = reshard(&f, 4, 3, MS_COLL_ALL_GATHER, 1);
    double crossing_s = 2 / 3.0 * SIZE_B / NIC_Bps;
    cr_assert_float_eq(gather.alone_s, crossing_s, 1e-9 * crossing_s, "%g", gather.alone_s);
    cr_assert_float_eq(gather.together_s, crossing_s, 1e-9 * crossing_s, "%g", gather.together_s);
    cr_assert_eq(gather.tier, 1);
    ms_reshard_time reduce = reshard(&f, 4, 3, MS_COLL_ALL_REDUCE, 1);
    cr_assert_float_eq(reduce.together_s, 2 * crossing_s, 1e-9 * crossing_s);
    ms_reshard_time inside = reshard(&f, 2, 3, MS_COLL_ALL_GATHER, 1);
    double port_s = 2 / 3.0 * SIZE_B / PORT_Bps;
    cr_assert_float_eq(inside.alone_s, port_s, 1e-9 * port_s, "%g", inside.alone_s);
    cr_assert_float_eq(inside.together_s, port_s, 1e-9 * port_s, "%g", inside.together_s);
    cr_assert_eq(inside.tier, 0);
    fixture_release(&f);
}

/* The other axis of the same mesh on nodes with one NIC: 0 3 6 9, 1 4 7 10 and 2 5 8 11 all cross,
 * each with 3/4 of its bytes in one ring, and share the NIC. */
Test(uneven_nodes, groups_of_unlike_parts_share_a_nic) {
    platform_fixture f;
    fixture_platform(&f, "dgx-h100", TWO_SPEEDS(1));
    ms_reshard_time time = reshard(&f, 4, 3, MS_COLL_ALL_GATHER, 0);
    double alone_s = 0.75 * SIZE_B / NIC_Bps;
    cr_assert_float_eq(time.alone_s, alone_s, 1e-9 * alone_s, "%g", time.alone_s);
    cr_assert_float_eq(time.together_s, 3 * alone_s, 1e-9 * alone_s, "%g, not %g", time.together_s,
                       3 * alone_s);
    cr_assert_eq(time.tier, 1);
    fixture_release(&f);
}

/* Latencies of groups on different tiers: the longest of any group, once for each step. */
Test(uneven_nodes, the_longest_latency_counts) {
    platform_fixture f;
    fixture_platform(&f, "dgx-h100",
                     "{library: none, nodes: 4, tiers: {"
                     "nvlink: {bandwidth: 100 GB/s, efficiency: 1, latency: 1 us}, "
                     "rail: {bandwidth: 10 GB/s, efficiency: 1, latency: 4 us}}}");
    const int gpus[][3] = {{6, 7, 8}, {0, 1, 2}};
    double latency_s[2];
    for (int i = 0; i < 2; i++) {
        const ms_coll_request request = {
            .kind = MS_COLL_ALL_GATHER, .gpus = gpus[i], .members = 3, .size_B = SIZE_B};
        ms_coll_plan plan;
        cr_assert_eq(ms_coll_plan_build(&f.platform, &request, &f.arena, &plan), MS_OK);
        latency_s[i] = ms_coll_plan_latency_s(&plan);
    }
    cr_assert_gt(latency_s[0], latency_s[1]);
    ms_reshard_time time = reshard(&f, 4, 3, MS_COLL_ALL_GATHER, 1);
    double bytes_s = 2 / 3.0 * SIZE_B / NIC_Bps;
    cr_assert_float_eq(time.together_s, bytes_s + latency_s[0], 1e-12, "%.12g, not %.12g",
                       time.together_s, bytes_s + latency_s[0]);
    fixture_release(&f);
}
