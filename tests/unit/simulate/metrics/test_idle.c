#include "dag_fixture.h"
#include "simulate/metrics/metrics.h"

static ms_metrics compute(dag_fixture *f) {
    ms_metrics metrics;
    cr_assert_eq(ms_metrics_compute(&f->dag, &f->timeline, &f->arena, &f->diag, &metrics), MS_OK);
    return metrics;
}

/* Assert all categories of a rank; those not named are 0. */
static void expect_time(const ms_metrics *metrics, int rank, const double *expected_s) {
    for (int c = 0; c < MS_TIME_COUNT; c++) {
        cr_assert_float_eq(metrics->ranks[rank].time_s[c], expected_s[c], 1e-12,
                           "rank %d, %s: %.17g, expected %.17g", rank,
                           ms_time_category_name((ms_time_category)c),
                           metrics->ranks[rank].time_s[c], expected_s[c]);
    }
}

#define EXPECT_TIME(metrics, rank, ...)                                                            \
    expect_time(metrics, rank, (const double[MS_TIME_COUNT]){__VA_ARGS__})

static void expect_use(const ms_axis_use *use, const ms_axis_use *expected) {
    cr_assert_float_eq(use->bytes, expected->bytes, 1e-12, "bytes %.17g", use->bytes);
    cr_assert_float_eq(use->busy_s, expected->busy_s, 1e-12, "busy %.17g", use->busy_s);
    cr_assert_float_eq(use->exposed_s, expected->exposed_s, 1e-12, "exposed %.17g", use->exposed_s);
    cr_assert_float_eq(use->overlapped_s, expected->overlapped_s, 1e-12, "overlapped %.17g",
                       use->overlapped_s);
    cr_assert_float_eq(use->in_idle_s, expected->in_idle_s, 1e-12, "in idle %.17g", use->in_idle_s);
    cr_assert_float_eq(use->wait_s, expected->wait_s, 1e-12, "wait %.17g", use->wait_s);
}

#define EXPECT_USE(metrics, rank, axis, ...)                                                       \
    expect_use(&(metrics)->ranks[rank].axes[axis], &(const ms_axis_use){__VA_ARGS__})

/* Two ranks of the same work, one for three; the other's computations share their GPU with an
 * all-reduce of 2 s at factor 2: 1 s more of forward pass. The optimizer, slowed as well, counts
 * under its own share. */
Test(idle, slow_down_is_part_of_compute) {
    dag_fixture f;
    fixture_init(&f);
    f.dag.network.compute_slowdown[MS_COLL_ALL_REDUCE] = 2.0;
    fixture_rank(&f, 0, 3);
    fixture_rank(&f, 0, 1);
    fixture_work(&f, 0, MS_OP_FORWARD, 6.0, -1);
    int32_t forward = fixture_work(&f, 1, MS_OP_FORWARD, 4.0, -1);
    fixture_add_comm(&f, &(fixture_comm){.axis = MS_AXIS_DP,
                                         .kind = MS_COLL_ALL_REDUCE,
                                         .transfer_s = 2.0,
                                         .group_size = 2});
    fixture_join(&f, 1, MS_AXIS_DP, -1);
    fixture_work(&f, 1, MS_OP_OPTIMIZER, 0.5, forward);
    fixture_add_comm(&f, &(fixture_comm){.axis = MS_AXIS_DP,
                                         .kind = MS_COLL_ALL_REDUCE,
                                         .transfer_s = 1.0,
                                         .group_size = 2});
    fixture_join(&f, 1, MS_AXIS_DP, forward);
    fixture_run(&f);
    ms_metrics m = compute(&f);
    cr_assert_float_eq(m.step_time_s, 6.0, 1e-12);
    EXPECT_TIME(&m, 0, [MS_TIME_COMPUTE] = 6.0);
    EXPECT_TIME(&m, 1, [MS_TIME_COMPUTE] = 5.0, [MS_TIME_OPTIMIZER] = 1.0);
    cr_assert_eq(m.ranks[0].slowed_s, 0.0);
    cr_assert_float_eq(m.ranks[1].slowed_s, 1.0, 1e-12);
    cr_assert_float_eq(m.slowed_share, 1.0 / 4.0 / 6.0, 1e-12);
    fixture_release(&f);
}

/*  rank 0  F..............|                       F 0-2
 *  p2p                    |--|                    2-3
 *  rank 1                    F........|           3-6
 *  p2p                                |-|         6-6.5
 *  rank 2                               F...|     6.5-7.5 */
Test(idle, chain_of_three_pipeline_ranks) {
    dag_fixture f;
    fixture_init(&f);
    for (int r = 0; r < 3; r++) {
        fixture_rank(&f, r, 1);
    }
    int32_t a = fixture_work(&f, 0, MS_OP_FORWARD, 2.0, -1);
    int32_t ab = fixture_p2p(&f, &(fixture_message){0, 1, 0.75, 0.25}, a);
    int32_t b = fixture_work(&f, 1, MS_OP_FORWARD, 3.0, ab);
    int32_t bc = fixture_p2p(&f, &(fixture_message){1, 2, 0.0, 0.5}, b);
    fixture_work(&f, 2, MS_OP_FORWARD, 1.0, bc);
    fixture_run(&f);
    ms_metrics m = compute(&f);
    cr_assert_float_eq(m.step_time_s, 7.5, 1e-12);
    EXPECT_TIME(&m, 0, [MS_TIME_COMPUTE] = 2.0, [MS_TIME_BUBBLE_COOLDOWN] = 5.5);
    EXPECT_TIME(&m, 1, [MS_TIME_COMPUTE] = 3.0, [MS_TIME_BUBBLE_WARMUP] = 2.0,
                [MS_TIME_EXPOSED_PP] = 1.0, [MS_TIME_BUBBLE_COOLDOWN] = 1.5);
    EXPECT_TIME(
        &m, 2, [MS_TIME_COMPUTE] = 1.0, [MS_TIME_BUBBLE_WARMUP] = 6.0, [MS_TIME_EXPOSED_PP] = 0.5);
    EXPECT_USE(&m, 0, MS_AXIS_PP, .bytes = 0.75, .busy_s = 1.0, .in_idle_s = 1.0);
    EXPECT_USE(&m, 1, MS_AXIS_PP, .busy_s = 1.5, .exposed_s = 1.0, .in_idle_s = 0.5);
    EXPECT_USE(&m, 2, MS_AXIS_PP, .busy_s = 0.5, .exposed_s = 0.5);
    cr_assert_float_eq(m.critical_s[MS_TIME_COMPUTE], 6.0, 1e-12);
    cr_assert_float_eq(m.critical_s[MS_TIME_EXPOSED_PP], 1.5, 1e-12);
    cr_assert_float_eq(m.share[MS_TIME_COMPUTE], 6.0 / 22.5, 1e-12);
    cr_assert_eq(m.collective_count, 2); /* of other sizes; each is sent by one rank */
    cr_assert_float_eq(m.collectives[0].ranks, 1.0, 0.0);
    cr_assert_float_eq(m.collectives[1].ranks, 1.0, 0.0);
    fixture_release(&f);
}

/* Two ranks of one stage: 2 s of work on one, 3 s on the other, an all-reduce of 1 s, 2 s more. */
Test(idle, collective_waits_for_a_straggler) {
    dag_fixture f;
    fixture_init(&f);
    fixture_rank(&f, 0, 1);
    fixture_rank(&f, 0, 1);
    int32_t fast = fixture_work(&f, 0, MS_OP_FORWARD, 2.0, -1);
    int32_t slow = fixture_work(&f, 1, MS_OP_FORWARD, 3.0, -1);
    int32_t reduce = fixture_add_comm(&f, &(fixture_comm){.axis = MS_AXIS_TP,
                                                          .kind = MS_COLL_ALL_REDUCE,
                                                          .transfer_s = 1.0,
                                                          .bytes = 7.0,
                                                          .size_B = 7.0,
                                                          .group_size = 2});
    fixture_join(&f, 0, MS_AXIS_TP, fast);
    fixture_join(&f, 1, MS_AXIS_TP, slow);
    fixture_work(&f, 0, MS_OP_FORWARD, 2.0, reduce);
    fixture_work(&f, 1, MS_OP_FORWARD, 2.0, reduce);
    fixture_run(&f);
    ms_metrics m = compute(&f);
    EXPECT_TIME(&m,
                0, [MS_TIME_COMPUTE] = 4.0, [MS_TIME_IMBALANCE] = 1.0, [MS_TIME_EXPOSED_TP] = 1.0);
    EXPECT_TIME(&m, 1, [MS_TIME_COMPUTE] = 5.0, [MS_TIME_EXPOSED_TP] = 1.0);
    EXPECT_USE(&m, 0, MS_AXIS_TP, .bytes = 7.0, .busy_s = 1.0, .exposed_s = 1.0, .wait_s = 1.0);
    EXPECT_USE(&m, 1, MS_AXIS_TP, .bytes = 7.0, .busy_s = 1.0, .exposed_s = 1.0);
    cr_assert_eq(m.collective_count, 1);
    const ms_coll_row *row = &m.collectives[0];
    cr_assert_eq(row->axis, MS_AXIS_TP);
    cr_assert_eq(row->kind, MS_COLL_ALL_REDUCE);
    cr_assert_eq(row->group_size, 2);
    cr_assert_float_eq(row->size_B, 7.0, 0.0);
    cr_assert_float_eq(row->count_per_rank, 1.0, 1e-12);
    cr_assert_float_eq(row->time_s, 1.0, 1e-12);
    cr_assert_float_eq(row->wait_s, 0.5, 1e-12);
    cr_assert_float_eq(m.critical_s[MS_TIME_COMPUTE], 5.0, 1e-12);
    cr_assert_float_eq(m.critical_s[MS_TIME_EXPOSED_TP], 1.0, 1e-12);
    fixture_release(&f);
}

/* Both ranks are there after a second, but their hosts take three to launch the all-reduce. */
Test(idle, no_rank_waits_for_a_host_of_its_own) {
    dag_fixture f;
    fixture_init(&f);
    fixture_rank(&f, 0, 1);
    fixture_rank(&f, 0, 1);
    int32_t one = fixture_work(&f, 0, MS_OP_FORWARD, 0.5, -1);
    int32_t other = fixture_work(&f, 1, MS_OP_FORWARD, 1.0, -1);
    int32_t reduce = fixture_add_comm(&f, &(fixture_comm){.axis = MS_AXIS_TP,
                                                          .kind = MS_COLL_ALL_REDUCE,
                                                          .transfer_s = 1.0,
                                                          .host_s = 3.0,
                                                          .group_size = 2});
    fixture_join(&f, 0, MS_AXIS_TP, one);
    fixture_join(&f, 1, MS_AXIS_TP, other);
    fixture_run(&f);
    cr_assert_float_eq(f.timeline.start_s[reduce], 3.0, 1e-12);
    ms_metrics m = compute(&f);
    EXPECT_USE(&m, 0, MS_AXIS_TP, .busy_s = 1.0, .exposed_s = 1.0, .wait_s = 0.5);
    EXPECT_USE(&m, 1, MS_AXIS_TP, .busy_s = 1.0, .exposed_s = 1.0);
    cr_assert_float_eq(m.collectives[0].wait_s, 0.25, 1e-12);
    fixture_release(&f);
}

/* Gradients of the first backward (0-2) are reduced (2-5) under the second (2-4); the optimizer
 * waits for them. A tp collective (4-4.5) runs meanwhile: it is busy with both axes. */
Test(idle, gradient_reduction_overlaps_the_backward_pass) {
    dag_fixture f;
    fixture_init(&f);
    fixture_rank(&f, 0, 1);
    int32_t first = fixture_work(&f, 0, MS_OP_BACKWARD, 2.0, -1);
    fixture_comm reduction = {.axis = MS_AXIS_DP,
                              .kind = MS_COLL_ALL_REDUCE,
                              .transfer_s = 2.0,
                              .latency_s = 1.0,
                              .bytes = 3.0,
                              .group_size = 4};
    int32_t reduce = fixture_add_comm(&f, &reduction);
    fixture_join(&f, 0, MS_AXIS_DP, first);
    int32_t second = fixture_work(&f, 0, MS_OP_BACKWARD, 2.0, -1);
    fixture_comm gather = {
        .axis = MS_AXIS_TP, .kind = MS_COLL_ALL_GATHER, .latency_s = 0.5, .group_size = 2};
    fixture_add_comm(&f, &gather);
    fixture_join(&f, 0, MS_AXIS_TP, second);
    fixture_work(&f, 0, MS_OP_OPTIMIZER, 1.0, reduce);
    fixture_run(&f);
    ms_metrics m = compute(&f);
    EXPECT_TIME(&m,
                0, [MS_TIME_COMPUTE] = 4.0, [MS_TIME_EXPOSED_DP] = 1.0, [MS_TIME_OPTIMIZER] = 1.0);
    EXPECT_USE(&m, 0, MS_AXIS_DP, .bytes = 3.0, .busy_s = 3.0, .overlapped_s = 2.0,
               .exposed_s = 1.0);
    EXPECT_USE(&m, 0, MS_AXIS_TP, .busy_s = 0.5, .in_idle_s = 0.5);
    cr_assert_float_eq(m.critical_s[MS_TIME_EXPOSED_DP], 3.0, 1e-12);
    cr_assert_float_eq(m.critical_s[MS_TIME_COMPUTE], 2.0, 1e-12);
    cr_assert_float_eq(m.critical_s[MS_TIME_OPTIMIZER], 1.0, 1e-12);
    cr_assert_eq(m.collective_count, 2);
    cr_assert_eq(m.collectives[0].axis, MS_AXIS_DP);
    cr_assert_eq(m.collectives[1].axis, MS_AXIS_TP);
    fixture_release(&f);
}

/* Messages of 2 s on the link and 1 s of latency leave at 1 and, as the link is taken until 3, at
 * 3; they arrive at 4 and 6. The second one's start hides the first one's end. */
Test(idle, pipelined_messages_are_not_counted_twice) {
    dag_fixture f;
    fixture_init(&f);
    fixture_rank(&f, 0, 1);
    fixture_rank(&f, 1, 1);
    int32_t a = fixture_work(&f, 0, MS_OP_FORWARD, 1.0, -1);
    int32_t first = fixture_p2p(&f, &(fixture_message){0, 1, 2.0, 1.0}, a);
    int32_t b = fixture_work(&f, 0, MS_OP_FORWARD, 1.0, -1);
    int32_t second = fixture_p2p(&f, &(fixture_message){0, 1, 2.0, 1.0}, b);
    fixture_work(&f, 1, MS_OP_FORWARD, 0.5, second);
    ms_dag_add_dep(&f.dag, first);
    fixture_run(&f);
    ms_metrics m = compute(&f);
    EXPECT_TIME(
        &m, 1, [MS_TIME_COMPUTE] = 0.5, [MS_TIME_EXPOSED_PP] = 5.0, [MS_TIME_BUBBLE_WARMUP] = 1.0);
    EXPECT_USE(&m, 0, MS_AXIS_PP, .bytes = 4.0, .busy_s = 5.0, .overlapped_s = 1.0,
               .in_idle_s = 4.0);
    EXPECT_USE(&m, 1, MS_AXIS_PP, .busy_s = 5.0, .exposed_s = 5.0);
    cr_assert_float_eq(m.critical_s[MS_TIME_EXPOSED_PP], 5.0, 1e-12);
    cr_assert_float_eq(m.critical_s[MS_TIME_COMPUTE], 1.5, 1e-12);
    cr_assert_float_eq(m.collectives[0].count_per_rank, 1.0, 1e-12); /* two of one rank in two */
    cr_assert_float_eq(m.collectives[0].time_s, 3.0, 1e-12);
    cr_assert_float_eq(m.collectives[0].wait_s, 0.0, 1e-12);
    fixture_release(&f);
}

/* A member of a collective on a stream of its own that is taken counts the stream's release as its
 * arrival: rank 0 is held up by its own earlier message (0-2), not by rank 1. */
Test(idle, stream_release_counts_as_arrival) {
    dag_fixture f;
    fixture_init(&f);
    fixture_rank(&f, 0, 1);
    fixture_rank(&f, 0, 1);
    fixture_comm slow = {.axis = MS_AXIS_DP,
                         .kind = MS_COLL_BROADCAST,
                         .transfer_s = 2.0,
                         .latency_s = 5.0,
                         .group_size = 2,
                         .is_pipelined = true};
    fixture_add_comm(&f, &slow);
    fixture_join(&f, 0, MS_AXIS_DP, -1);
    fixture_comm both = {
        .axis = MS_AXIS_DP, .kind = MS_COLL_ALL_GATHER, .latency_s = 1.0, .group_size = 2};
    fixture_add_comm(&f, &both);
    fixture_join(&f, 0, MS_AXIS_DP, -1);
    fixture_join(&f, 1, MS_AXIS_DP, -1);
    fixture_run(&f);
    ms_metrics m = compute(&f);
    cr_assert_float_eq(m.ranks[0].axes[MS_AXIS_DP].wait_s, 0.0, 1e-12);
    cr_assert_float_eq(m.ranks[1].axes[MS_AXIS_DP].wait_s, 2.0, 1e-12);
    /* no computation anywhere: all time belongs to the communications */
    EXPECT_TIME(&m, 0, [MS_TIME_EXPOSED_DP] = 7.0);
    EXPECT_TIME(&m, 1, [MS_TIME_EXPOSED_DP] = 7.0);
    EXPECT_USE(&m, 1, MS_AXIS_DP, .busy_s = 1.0, .exposed_s = 1.0, .wait_s = 2.0);
    fixture_release(&f);
}

/* A pipelined operation frees its stream before its end: rank 0 is ready at 2, when the transfer of
 * its broadcast is over, not at 7; it waits for rank 1 until 4. */
Test(idle, pipelined_release_is_earlier_than_the_end) {
    dag_fixture f;
    fixture_init(&f);
    fixture_rank(&f, 0, 1);
    fixture_rank(&f, 0, 1);
    fixture_comm slow = {.axis = MS_AXIS_DP,
                         .kind = MS_COLL_BROADCAST,
                         .transfer_s = 2.0,
                         .latency_s = 5.0,
                         .group_size = 2,
                         .is_pipelined = true};
    fixture_add_comm(&f, &slow);
    fixture_join(&f, 0, MS_AXIS_DP, -1);
    int32_t work = fixture_work(&f, 1, MS_OP_FORWARD, 4.0, -1);
    fixture_comm both = {
        .axis = MS_AXIS_DP, .kind = MS_COLL_ALL_GATHER, .latency_s = 1.0, .group_size = 2};
    fixture_add_comm(&f, &both);
    fixture_join(&f, 0, MS_AXIS_DP, -1);
    fixture_join(&f, 1, MS_AXIS_DP, work);
    fixture_run(&f);
    ms_metrics m = compute(&f);
    EXPECT_USE(&m, 0, MS_AXIS_DP, .busy_s = 7.0, .exposed_s = 7.0, .wait_s = 2.0);
    EXPECT_USE(&m, 1, MS_AXIS_DP, .busy_s = 1.0, .exposed_s = 1.0);
    fixture_release(&f);
}

/* The gap before a recomputation lies where its backward pass lies: before the first one it is
 * warm-up; a gap inside the first backward pass is steady as long as a forward pass is to come. */
Test(idle, recomputation_belongs_to_its_backward_pass) {
    dag_fixture f;
    fixture_init(&f);
    fixture_rank(&f, 0, 1);
    fixture_rank(&f, 1, 1);
    int32_t one = fixture_work(&f, 1, MS_OP_FORWARD, 3.0, -1);
    int32_t two = fixture_work(&f, 1, MS_OP_BACKWARD, 3.0, -1);
    int32_t three = fixture_work(&f, 1, MS_OP_BACKWARD, 3.0, -1);
    fixture_work(&f, 0, MS_OP_FORWARD, 1.0, -1);
    fixture_work(&f, 0, MS_OP_RECOMPUTE, 1.0, one);
    fixture_work(&f, 0, MS_OP_BACKWARD, 1.0, two);
    fixture_work(&f, 0, MS_OP_FORWARD, 1.0, -1);
    fixture_work(&f, 0, MS_OP_BACKWARD, 1.0, three);
    fixture_run(&f);
    ms_metrics m = compute(&f);
    EXPECT_TIME(&m, 0, [MS_TIME_COMPUTE] = 5.0, [MS_TIME_BUBBLE_WARMUP] = 2.0,
                [MS_TIME_BUBBLE_STEADY] = 2.0, [MS_TIME_BUBBLE_COOLDOWN] = 1.0);
    EXPECT_TIME(&m, 1, [MS_TIME_COMPUTE] = 9.0, [MS_TIME_BUBBLE_COOLDOWN] = 1.0);
    fixture_release(&f);
}

/* Three ranks like the first one and a fourth that does nothing. */
Test(idle, means_weigh_multiplicity) {
    dag_fixture f;
    fixture_init(&f);
    fixture_rank(&f, 0, 3);
    fixture_rank(&f, 1, 1);
    int32_t a = fixture_add_compute(
        &f, &(fixture_compute){.kind = MS_OP_FORWARD, .time_s = 2.0, .flop = 10.0}, -1);
    fixture_add_comm(&f, &(fixture_comm){.axis = MS_AXIS_EP,
                                         .kind = MS_COLL_ALL_TO_ALL,
                                         .latency_s = 2.0,
                                         .bytes = 8.0,
                                         .group_size = 2});
    fixture_join(&f, 0, MS_AXIS_EP, a);
    fixture_run(&f);
    ms_metrics m = compute(&f);
    cr_assert_float_eq(m.share[MS_TIME_COMPUTE], 0.375, 1e-12);
    cr_assert_float_eq(m.share[MS_TIME_EXPOSED_EP], 0.5, 1e-12);
    cr_assert_float_eq(m.share[MS_TIME_BUBBLE_WARMUP], 0.125, 1e-12); /* the idle rank until 2 s */
    cr_assert_float_eq(m.axes[MS_AXIS_EP].bytes, 6.0, 1e-12);
    cr_assert_float_eq(m.axes[MS_AXIS_EP].busy_s, 1.5, 1e-12);
    cr_assert_float_eq(m.collectives[0].count_per_rank, 0.75, 1e-12);
    cr_assert_float_eq(m.collectives[0].ranks, 3.0, 0.0); /* each of them does it once */
    fixture_release(&f);
}

/* Rank 0: a pass (0-2), the norm of the gradient (2-3), the update (3-4), and a pass that its host
 * launches half a second late (4.5-5.5). Ranks 1 to 3 are done with the norm. */
Test(idle, other_is_the_norm_and_the_host) {
    dag_fixture f;
    fixture_init(&f);
    fixture_rank(&f, 0, 1);
    fixture_rank(&f, 0, 3);
    int32_t one = fixture_work(&f, 0, MS_OP_FORWARD, 2.0, -1);
    int32_t two = fixture_work(&f, 1, MS_OP_FORWARD, 2.0, -1);
    int32_t norm = fixture_add_comm(&f, &(fixture_comm){.axis = MS_AXIS_OTHER,
                                                        .kind = MS_COLL_ALL_REDUCE,
                                                        .latency_s = 1.0,
                                                        .group_size = 4});
    fixture_join(&f, 0, MS_AXIS_OTHER, one);
    fixture_join(&f, 1, MS_AXIS_OTHER, two);
    fixture_work(&f, 0, MS_OP_OPTIMIZER, 1.0, norm);
    fixture_work(&f, 1, MS_OP_OPTIMIZER, 1.0, norm);
    int32_t late = fixture_work(&f, 0, MS_OP_FORWARD, 1.0, -1);
    fixture_run(&f);
    f.timeline.start_s[late] += 0.5;
    f.timeline.end_s[late] += 0.5;
    f.timeline.makespan_s += 0.5;
    ms_metrics m = compute(&f);
    EXPECT_TIME(&m, 0, [MS_TIME_COMPUTE] = 3.0, [MS_TIME_OPTIMIZER] = 1.0, [MS_TIME_OTHER] = 1.5);
    EXPECT_TIME(&m, 1, [MS_TIME_COMPUTE] = 2.0, [MS_TIME_OPTIMIZER] = 1.0,
                [MS_TIME_IMBALANCE] = 1.5, [MS_TIME_OTHER] = 1.0);
    static const double HOST_S[] = {0.5, 0.0};
    for (int rank = 0; rank < 2; rank++) {
        cr_assert_float_eq(m.ranks[rank].other_s[MS_OTHER_HOST], HOST_S[rank], 1e-12);
        cr_assert_float_eq(m.ranks[rank].other_s[MS_OTHER_NORM], 1.0, 1e-12);
    }
    cr_assert_float_eq(m.other_share[MS_OTHER_HOST], 0.5 / 4.0 / 5.5, 1e-12);
    cr_assert_float_eq(m.other_share[MS_OTHER_NORM], 1.0 / 5.5, 1e-12);
    cr_assert_str_eq(ms_other_part_name(MS_OTHER_HOST), "host");
    cr_assert_str_eq(ms_other_part_name(MS_OTHER_NORM), "norm");
    fixture_release(&f);
}

/* A pass (0-2), a collective that its host launches a second late (3-4), a pass (4-5). */
Test(idle, a_host_holds_up_a_collective) {
    dag_fixture f;
    fixture_init(&f);
    fixture_rank(&f, 0, 1);
    int32_t one = fixture_work(&f, 0, MS_OP_FORWARD, 2.0, -1);
    int32_t comm = fixture_add_comm(
        &f, &(fixture_comm){
                .axis = MS_AXIS_TP, .kind = MS_COLL_ALL_REDUCE, .latency_s = 1.0, .group_size = 2});
    fixture_join(&f, 0, MS_AXIS_TP, one);
    int32_t two = fixture_work(&f, 0, MS_OP_FORWARD, 1.0, comm);
    fixture_run(&f);
    for (int32_t op = comm; op <= two; op++) {
        f.timeline.start_s[op] += 1.0;
        f.timeline.end_s[op] += 1.0;
    }
    f.timeline.makespan_s += 1.0;
    ms_metrics m = compute(&f);
    EXPECT_TIME(&m, 0, [MS_TIME_COMPUTE] = 3.0, [MS_TIME_EXPOSED_TP] = 1.0, [MS_TIME_OTHER] = 1.0);
    cr_assert_float_eq(m.ranks[0].other_s[MS_OTHER_HOST], 1.0, 1e-12);
    cr_assert_float_eq(m.critical_s[MS_TIME_COMPUTE], 3.0, 1e-12);
    cr_assert_float_eq(m.critical_s[MS_TIME_EXPOSED_TP], 1.0, 1e-12);
    cr_assert_float_eq(m.critical_s[MS_TIME_OTHER], 1.0, 1e-12);
    fixture_release(&f);
}

Test(idle, sorts_of_collectives_keep_apart) {
    dag_fixture f;
    fixture_init(&f);
    fixture_rank(&f, 0, 1);
    fixture_comm sort = {
        .axis = MS_AXIS_TP, .kind = MS_COLL_ALL_REDUCE, .latency_s = 1.0, .group_size = 2};
    for (int i = 0; i < 300; i++) {
        sort.size_B = i % 100; /* each size three times */
        sort.axis = i % 2 == 0 ? MS_AXIS_TP : MS_AXIS_DP;
        fixture_add_comm(&f, &sort);
        fixture_join(&f, 0, sort.axis, -1);
    }
    fixture_run(&f);
    ms_metrics m = compute(&f);
    cr_assert_eq(m.collective_count, 100);
    for (int i = 0; i < 100; i++) {
        cr_assert_float_eq(m.collectives[i].size_B, i, 0.0, "rows keep the order of first use");
        cr_assert_float_eq(m.collectives[i].count_per_rank, 3.0, 1e-12);
    }
    fixture_release(&f);
}

Test(idle, categories_have_the_names_of_the_summary) {
    static const char *const NAMES[MS_TIME_COUNT] = {
        "compute",         "optimizer",  "bubble_warmup", "bubble_steady",
        "bubble_cooldown", "imbalance",  "exposed_tp",    "exposed_cp",
        "exposed_ep",      "exposed_pp", "exposed_dp",    "other"};
    for (int c = 0; c < MS_TIME_COUNT; c++) {
        cr_assert_str_eq(ms_time_category_name((ms_time_category)c), NAMES[c]);
    }
    cr_assert_eq(ms_time_category_of_axis(MS_AXIS_CP), MS_TIME_EXPOSED_CP);
    cr_assert_eq(ms_time_category_of_axis(MS_AXIS_OTHER), MS_TIME_OTHER);
}

Test(idle, empty_graph_takes_no_time) {
    dag_fixture f;
    fixture_init(&f);
    fixture_rank(&f, 0, 1);
    fixture_run(&f);
    ms_metrics m = compute(&f);
    cr_assert_float_eq(m.step_time_s, 0.0, 0.0);
    EXPECT_TIME(&m, 0, 0.0);
    cr_assert_eq(m.collective_count, 0);
    fixture_release(&f);
}
