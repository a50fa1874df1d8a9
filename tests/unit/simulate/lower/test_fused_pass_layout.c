/* What of a pass is one operation at `granularity: pass`, of hand-made passes: the graph, and the
 * times of the fused passes. Computations take 1 ms; an all-reduce of 1 MB among two ranks on the
 * flat network 2 us and 40 us. */
#include <math.h>

#include "lower_fixture.h"

#define REDUCE_S (2e-6 + 40e-6)

static void init(lower_fixture *x, lower_degrees of, const char *list, int mbs) {
    lower_init(x, of, mbs, &list);
    lower_set_plain_passes(x);
    x->job.spec.simulation.granularity = MS_GRANULARITY_PASS;
}

static void expect_time(const lower_fixture *x, int32_t op, double time_s) {
    const ms_dag_work *work = &x->dag.works[x->dag.ops[op].work];
    cr_assert_gt(work->fused, 0, "operation %d is no fused pass", op);
    double found_s = ms_dag_work_time_s(&x->dag, work, false, NULL);
    cr_assert_float_eq(found_s, time_s, 1e-12, "operation %d: %.9g, not %.9g", op, found_s, time_s);
}

/* A pass whose ranks go through all of it together; the last microbatch has a reduction more. */
Test(lower_pieces, a_pass_is_one_operation) {
    lower_fixture x;
    init(&x, (lower_degrees){1, 1, 2}, "0F0 0B0 0F1 0B1", 2);
    x.segments[1] = x.segments[3] = lower_compute();
    x.segments[2] = x.segments[4] = lower_collective(MS_COLL_ALL_REDUCE, MS_AXIS_TP);
    x.segments[4].when = MS_WHEN_LAST;
    lower_set_pass(&x, MS_PASS_F, 1, 3);
    lower_set_pass(&x, MS_PASS_B, 2, 3);
    x.stage[0].passes[MS_PASS_B].when = 1U << MS_WHEN_LAST;
    lower_expect(&x, "0 forward s0 m0: 0\n"
                     "1 backward s0 m0: 0\n"
                     "2 forward s0 m1: 0\n"
                     "3 backward s0 m1: 0\n");
    expect_time(&x, 0, 2e-3 + REDUCE_S);
    expect_time(&x, 1, 1e-3 + REDUCE_S);
    expect_time(&x, 2, 2e-3 + REDUCE_S);
    expect_time(&x, 3, 1e-3 + 2 * REDUCE_S);
    lower_release(&x);
}

/* The same of the first microbatch. */
Test(lower_pieces, microbatches_have_their_own) {
    lower_fixture x;
    init(&x, (lower_degrees){1, 1, 2}, "0F0 0F1 0F2 0B0 0B1 0B2", 3);
    x.segments[1] = lower_collective(MS_COLL_ALL_REDUCE, MS_AXIS_TP);
    x.segments[1].when = MS_WHEN_FIRST;
    x.segments[2] = x.segments[3] = lower_compute();
    lower_set_pass(&x, MS_PASS_F, 2, 2);
    lower_set_pass(&x, MS_PASS_B, 0, 3);
    x.stage[0].passes[MS_PASS_B].when = 1U << MS_WHEN_FIRST;
    lower_expect(&x, "0 forward s0 m0: 0\n"
                     "1 forward s0 m1: 0\n"
                     "2 forward s0 m2: 0\n"
                     "3 backward s0 m0: 0\n"
                     "4 backward s0 m1: 0\n"
                     "5 backward s0 m2: 0\n");
    expect_time(&x, 3, 2e-3 + REDUCE_S);
    expect_time(&x, 4, 2e-3);
    cr_assert_eq(x.dag.ops[4].work, x.dag.ops[5].work);
    cr_assert_eq(x.dag.ops[0].work, x.dag.ops[2].work);
    lower_release(&x);
}

/* Replicas come to a pass at times of their own: their collectives stay operations and cut. */
Test(lower_pieces, collectives_among_replicas_cut) {
    lower_fixture x;
    init(&x, (lower_degrees){1, 2, 1}, "0F0 0B0", 1);
    x.segments[1] = x.segments[2] = lower_compute();
    x.segments[3] = lower_collective(MS_COLL_ALL_REDUCE, MS_AXIS_DP);
    x.segments[4] = x.segments[5] = lower_compute();
    lower_set_pass(&x, MS_PASS_F, 1, 5);
    lower_expect(&x, "0 forward s0 m0: 0\n"
                     "1 all_reduce s0 m0: 0.dp after 0\n"
                     "2 forward s0 m0: 0 after 1\n"
                     "3 backward s0 m0: 0\n");
    expect_time(&x, 0, 2e-3);
    expect_time(&x, 2, 2e-3);
    lower_release(&x);
}

/* An asynchronous collective that the pass itself waits for is hidden in the fused pass. */
Test(lower_pieces, what_the_pass_waits_for_is_inside) {
    lower_fixture x;
    init(&x, (lower_degrees){1, 1, 2}, "0F0 0B0", 1);
    x.segments[1] = lower_compute();
    x.segments[2] = lower_async(MS_COLL_ALL_REDUCE, MS_AXIS_TP);
    x.segments[2].coll_B = 50e6; /* 2.002 ms */
    x.segments[3] = lower_compute();
    x.segments[4] = AFTER(lower_compute(), 1);
    lower_set_pass(&x, MS_PASS_F, 1, 4);
    lower_expect(&x, "0 forward s0 m0: 0\n"
                     "1 backward s0 m0: 0\n");
    /* 1 ms, then the collective for 2.002 ms beside 1 ms, then 1 ms */
    expect_time(&x, 0, 2e-3 + 2.002e-3);
    lower_release(&x);
}

/* One that nothing in the pass waits for is an operation that the update waits for. */
Test(lower_pieces, what_outlives_the_pass_is_not) {
    lower_fixture x;
    init(&x, (lower_degrees){1, 1, 2}, "0F0 0B0", 1);
    x.segments[1] = x.segments[2] = lower_compute();
    x.segments[3] = lower_async(MS_COLL_ALL_REDUCE, MS_AXIS_TP);
    x.segments[4] = x.segments[5] = lower_compute();
    lower_set_pass(&x, MS_PASS_F, 1, 5);
    x.optimizer_s[0] = 1e-3;
    lower_expect(&x, "0 forward s0 m0: 0\n"
                     "1 all_reduce s0 m0: 0.tp after 0\n"
                     "2 forward s0 m0: 0\n"
                     "3 backward s0 m0: 0\n"
                     "4 optimizer: 0 after 1\n");
    expect_time(&x, 0, 2e-3);
    expect_time(&x, 2, 2e-3);
    lower_release(&x);
}

/* A collective that opens a pass does not wait for the pass's input; the segment that waits for it
 * begins a fused pass. */
Test(lower_pieces, what_opens_a_pass_is_not) {
    lower_fixture x;
    init(&x, (lower_degrees){1, 1, 2}, "0F0 0B0", 1);
    x.segments[1] = lower_async(MS_COLL_ALL_REDUCE, MS_AXIS_TP);
    x.segments[2] = lower_compute();
    x.segments[3] = AFTER(lower_compute(), 0);
    x.segments[4] = lower_compute();
    lower_set_pass(&x, MS_PASS_F, 1, 4);
    lower_expect(&x, "0 all_reduce s0 m0: 0.tp\n"
                     "1 forward s0 m0: 0\n"
                     "2 forward s0 m0: 0 after 0\n"
                     "3 backward s0 m0: 0\n");
    expect_time(&x, 2, 2e-3);
    lower_release(&x);
}

/* Passes of a pair take turns at their segments, which stay operations; so do collectives of an
 * axis that shall, and a single computation is none either. */
Test(lower_pieces, some_passes_are_lowered_by_layers) {
    lower_fixture x;
    init(&x, (lower_degrees){1, 1, 2}, "0F0 0F1+0B0 0B1", 2);
    x.segments[1] = lower_collective(MS_COLL_ALL_REDUCE, MS_AXIS_TP);
    x.segments[2] = lower_compute();
    lower_set_pass(&x, MS_PASS_F, 0, 3);
    lower_expect(&x, "0 forward s0 m0: 0\n"
                     "1 forward s0 m1: 0\n"
                     "2 all_reduce s0 m1: 0.tp after 1\n"
                     "3 backward s0 m0: 0\n"
                     "4 forward s0 m1: 0 after 2\n"
                     "5 backward s0 m1: 0\n");
    expect_time(&x, 0, 2e-3 + REDUCE_S);
    cr_assert_eq(x.dag.works[x.dag.ops[5].work].fused, 0);
    ms_dag_release(&x.dag);
    x.job.run.operation_axes = MS_AXIS_BIT(MS_AXIS_TP);
    lower_expect(&x, "0 forward s0 m0: 0\n"
                     "1 all_reduce s0 m0: 0.tp after 0\n"
                     "2 forward s0 m0: 0 after 1\n"
                     "3 forward s0 m1: 0\n"
                     "4 all_reduce s0 m1: 0.tp after 3\n"
                     "5 backward s0 m0: 0\n"
                     "6 forward s0 m1: 0 after 4\n"
                     "7 backward s0 m1: 0\n");
    lower_release(&x);
}

/* Every rank simulated: the ranks that the collectives of a fused pass join are its members; other
 * ranks have a fused pass of their own. */
Test(lower_pieces, ranks_of_a_group_go_through_it_together) {
    lower_fixture x;
    init(&x, (lower_degrees){1, 2, 2}, "0F0 0B0", 1);
    x.job.run.no_fold = true;
    x.segments[1] = lower_collective(MS_COLL_ALL_REDUCE, MS_AXIS_TP);
    x.segments[2] = x.segments[3] = lower_compute();
    lower_set_pass(&x, MS_PASS_F, 0, 3);
    lower_set_pass(&x, MS_PASS_B, 2, 2);
    lower_expect(&x, "0 forward s0 m0: 0, 1\n"
                     "1 forward s0 m0: 2, 3\n"
                     "2 backward s0 m0: 0\n"
                     "3 backward s0 m0: 1\n"
                     "4 backward s0 m0: 2\n"
                     "5 backward s0 m0: 3\n");
    expect_time(&x, 1, 2e-3 + REDUCE_S);
    expect_time(&x, 5, 2e-3);
    lower_release(&x);
}

/* A fused pass waits for the pass's input and for the collectives outside it that its segments wait
 * for. */
Test(lower_pieces, inputs_and_gathers_are_waited_for) {
    lower_fixture x;
    const char *const lists[] = {"0F0 0B0", "1F0 1B0"};
    lower_init(&x, (lower_degrees){2, 2, 1}, 1, lists);
    lower_set_plain_passes(&x);
    x.job.spec.simulation.granularity = MS_GRANULARITY_PASS;
    x.segments[1] = x.segments[2] = lower_compute();
    x.segments[3] = lower_async(MS_COLL_ALL_GATHER, MS_AXIS_DP);
    x.segments[4] = x.segments[5] = lower_compute();
    x.segments[6] = AFTER(lower_compute(), 2);
    x.segments[7] = lower_compute();
    lower_set_pass(&x, MS_PASS_F, 1, 7);
    lower_expect(&x, "0 forward s0 m0: 0\n"
                     "1 all_gather s0 m0: 0.dp after 0\n"
                     "2 forward s0 m0: 0\n"
                     "3 forward s0 m0: 0 after 1\n"
                     "4 p2p s0 m0: 0>2 after 3\n"
                     "5 forward s1 m0: 2 after 4\n"
                     "6 all_gather s1 m0: 2.dp after 5\n"
                     "7 forward s1 m0: 2\n"
                     "8 forward s1 m0: 2 after 6\n"
                     "9 backward s1 m0: 2\n"
                     "10 p2p s1 m0: 2>0 after 9\n"
                     "11 backward s0 m0: 0 after 10\n");
    lower_release(&x);
}
