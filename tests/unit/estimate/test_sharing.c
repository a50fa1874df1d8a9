/* What pipeline ranks take from each other on shared links, by hand: reductions at a step's end
 * that meet on a NIC, and messages of two streams that do. */
#include "estimate/queue_sharing.h"
#include "hand_job.h"

/* Nodes of four GPUs with one NIC of 25 GB/s; nothing has a latency. */
#define ONE_NIC                                                                                    \
    "{library: none, nodes: 2, node: {gpus: 4, nics: 1}, tiers: {"                                 \
    "nvlink: {bandwidth: 1000 GB/s, efficiency: 1, latency: 0 s}, "                                \
    "rail: {bandwidth: 25 GB/s, efficiency: 1, latency: 0 s}, "                                    \
    "spine: {bandwidth: 25 GB/s, efficiency: 1, latency: 0 s}}}"

/* Four pipeline ranks with one GPU in each node, so that their replicas all meet on the NICs: GPU
 * d * 4 + p. One microbatch of forward passes of 1 ms and backward ones of 2 ms: rank 3 ends at
 * 6 ms, rank 2 at 8 ms, rank 1 at 10 ms, rank 0 at 12 ms. */
static void init(hand_job *x) {
    static const char *const NAMES[] = {"dp", "pp"};
    static const int SIZES[] = {2, 4};
    const ms_schedule_spec spec = {
        .kind = MS_SCHEDULE_1F1B, .pipeline_ranks = 4, .microbatches = 1};
    hand_job_init_on(x, "dgx-a100", ONE_NIC, &spec);
    cr_assert_eq(ms_mesh_init(&x->job.mesh, NAMES, SIZES, 2, &x->f.diag), MS_OK);
    hand_job_plain(x, 1e-3, 0);
    x->job.spec.simulation.fidelity = MS_FIDELITY_FLOW;
}

/* Let rank p reduce what takes `alone_s` by itself: a ring of two sends all bytes over each NIC. */
static void reduce(hand_job *x, int p, double alone_s) {
    x->segments[10 + p] = hand_collective(MS_COLL_ALL_REDUCE, 25e9 * alone_s);
    x->before[p] = (ms_pass_plan){.first = 10 + p, .count = 1};
}

static void expect(hand_job *x, double step_s, double apart_s, const char *what) {
    ms_estimate estimate = hand_job_estimate(x);
    cr_assert_float_eq(estimate.step_s, step_s, 1e-11, "%s: %.12g, expected %g", what,
                       estimate.step_s, step_s);
    cr_assert_float_eq(estimate.lower_bound_s, apart_s, 1e-10, "%s: bound %.12g, expected %g", what,
                       estimate.lower_bound_s, apart_s);
    x->job.run.no_sharing = true;
    estimate = hand_job_estimate(x);
    cr_assert_float_eq(estimate.step_s, apart_s, 1e-11, "%s: apart %.12g, expected %g", what,
                       estimate.step_s, apart_s);
    x->job.run.no_sharing = false;
}

Test(sharing, one_reduction_has_the_nic_by_itself) {
    hand_job x;
    init(&x);
    expect(&x, 12e-3, 12e-3, "none");
    reduce(&x, 0, 3e-3);
    expect(&x, 15e-3, 15e-3, "rank 0");
    hand_job_release(&x);
}

/* Rank 1 begins at 10 ms with 6 ms of work, rank 0 at 12 ms with 2 ms: half the NIC each until rank
 * 0 has ended at 16 ms, then rank 1 has 2 ms left. */
Test(sharing, two_reductions_share_a_nic_by_halves) {
    hand_job x;
    init(&x);
    reduce(&x, 0, 2e-3);
    reduce(&x, 1, 6e-3);
    expect(&x, 18e-3, 16e-3, "rank 1 ends last");
    reduce(&x, 1, 3e-3);
    /* 1 ms of rank 1 is left at 12 ms and gone at 14 ms, rank 0's second ms ends at 15 ms */
    expect(&x, 15e-3, 14e-3, "rank 0 ends last");
    reduce(&x, 1, 2e-3);
    expect(&x, 14e-3, 14e-3, "rank 1 has ended when rank 0 begins");
    hand_job_release(&x);
}

/* Rank 2 from 8 ms with 6, rank 1 from 10 ms with 4, rank 0 from 12 ms with 3: at 10 ms 4, 4 left;
 * at 12 ms 3, 3, 3; a third each until all end at 21 ms. */
Test(sharing, three_reductions_share_a_nic_by_thirds) {
    hand_job x;
    init(&x);
    reduce(&x, 0, 3e-3);
    reduce(&x, 1, 4e-3);
    reduce(&x, 2, 6e-3);
    expect(&x, 21e-3, 15e-3, "all end at once");
    hand_job_release(&x);
}

/* Two reductions of rank 1 wait for each other, not for rank 0's: 4 and 2 ms from 10 ms on beside 1
 * ms from 12 ms on. At 12 ms 2 of the first are left; rank 0 ends at 14 ms; the first at 15 ms, the
 * second at 17 ms. */
Test(sharing, reductions_of_one_rank_follow_each_other) {
    hand_job x;
    init(&x);
    reduce(&x, 0, 1e-3);
    x.segments[20] = hand_collective(MS_COLL_ALL_REDUCE, 25e9 * 4e-3);
    x.segments[21] = hand_collective(MS_COLL_ALL_REDUCE, 25e9 * 2e-3);
    x.before[1] = (ms_pass_plan){.first = 20, .count = 2};
    expect(&x, 17e-3, 16e-3, "rank 1");
    x.optimizer_s[0] = 1e-3;
    expect(&x, 18e-3, 17e-3, "the update waits for all");
    hand_job_release(&x);
}

/* After the update all ranks gather at once: 1 ms of each takes 4 ms. */
Test(sharing, gathers_after_the_update_share_a_nic) {
    hand_job x;
    init(&x);
    for (int p = 0; p < 4; p++) {
        x.segments[10 + p] = hand_collective(MS_COLL_ALL_GATHER, 2 * 25e9 * 1e-3);
        x.after[p] = (ms_pass_plan){.first = 10 + p, .count = 1};
        x.optimizer_s[p] = 0.5e-3;
    }
    expect(&x, 12e-3 + 0.5e-3 + 4e-3, 12e-3 + 0.5e-3 + 1e-3, "all ranks");
    x.job.spec.simulation.fidelity = MS_FIDELITY_ANALYTIC;
    expect(&x, 12e-3 + 0.5e-3 + 1e-3, 12e-3 + 0.5e-3 + 1e-3, "links without contention");
    hand_job_release(&x);
}

/* Without a NIC in common each takes its time. */
Test(sharing, ranks_with_nics_of_their_own_share_nothing) {
    hand_job x;
    hand_job_init(&x, MS_SCHEDULE_1F1B, 4, 1);
    hand_job_plain(&x, 1e-3, 0);
    x.job.spec.simulation.fidelity = MS_FIDELITY_FLOW;
    double last_s = 12e-3 + 6e-6;
    reduce(&x, 0, 2e-3);
    reduce(&x, 1, 6e-3);
    hand_job_expect(&x, 10e-3 + 5e-6 + 6e-3 + 2e-6, "rank 1");
    reduce(&x, 1, 3e-3);
    hand_job_expect(&x, last_s + 2e-3 + 2e-6, "rank 0");
    hand_job_release(&x);
}

/* Queue 0 meets queue 1 on a link that is asked for half again as much as it has, and queue 2 on
 * one that has room for half of both. */
Test(queue_sharing, a_message_takes_longer_by_what_others_hold) {
    int32_t first[] = {0, 2, 3, 4};
    ms_queue_meeting meetings[] = {{1, 0.5}, {2, 1.0}, {0, 0.5}, {0, 1.0}};
    double from_s[] = {-INFINITY, -INFINITY, -INFINITY};
    double until_s[] = {-INFINITY, -INFINITY, -INFINITY};
    ms_queue_sharing sharing = {
        .first = first, .meetings = meetings, .from_s = from_s, .until_s = until_s};
    cr_assert_float_eq(ms_queue_sharing_end_s(&sharing, 1, 0.0, 4.0), 4.0, 1e-12, "alone");
    /* from 2 to 4 the other holds half of what it needs: 1 longer; it holds the links from 3 on */
    cr_assert_float_eq(ms_queue_sharing_end_s(&sharing, 0, 2.0, 3.0), 6.0, 1e-12);
    cr_assert_float_eq(from_s[0], 3.0, 1e-12);
    cr_assert_float_eq(until_s[0], 6.0, 1e-12);
    /* waits for all that queue 0 holds from 3 to 6, of which 5 to 6 is after its start */
    cr_assert_float_eq(ms_queue_sharing_end_s(&sharing, 2, 5.0, 1.0), 7.0, 1e-12);
    /* queue 1 later than all */
    cr_assert_float_eq(ms_queue_sharing_end_s(&sharing, 1, 8.0, 1.0), 9.0, 1e-12);
    /* queue 0 from 6 on: queue 2 holds its links from 6 to 7, so it ends at 10 but for queue 1,
     * which comes first and holds half of them from 8 to 9 */
    cr_assert_float_eq(ms_queue_sharing_end_s(&sharing, 0, 6.0, 3.0), 6 + 3 + 0.5 + 1, 1e-12);
}

/* Ranks 0 to 3 in one node, 4 to 7 in the other: only messages between 3 and 4 cross the NIC, and
 * nothing meets. With neighbours in different nodes they all do. */
Test(queue_sharing, messages_that_cross_the_same_nic_meet) {
    static const char *const NAMES[] = {"pp", "dp"};
    static const int SIZES[] = {4, 2}, ALTERNATING[] = {0, 1, 4, 5, 2, 3, 6, 7};
    const ms_schedule_spec spec = {
        .kind = MS_SCHEDULE_1F1B, .pipeline_ranks = 4, .microbatches = 1};
    for (int is_alternating = 0; is_alternating < 2; is_alternating++) {
        hand_job x;
        hand_job_init_on(&x, "dgx-a100", ONE_NIC, &spec);
        cr_assert_eq(ms_mesh_init(&x.job.mesh, NAMES, SIZES, 2, &x.f.diag), MS_OK);
        if (is_alternating) {
            cr_assert_eq(ms_mesh_set_devices(&x.job.mesh, ALTERNATING, 8, &x.f.arena, &x.f.diag),
                         MS_OK);
        }
        ms_layout_storage space;
        ms_comm_classes comm;
        ms_sharing sharing;
        ms_order order;
        ms_queue_sharing *found = NULL;
        ms_layout_storage_init(&space, &x.f.diag);
        cr_assert_eq(ms_comm_classes_init(&comm, &x.job, &space.kept), MS_OK);
        cr_assert_eq(ms_sharing_init(&sharing, &comm, &space, &x.f.arena), MS_OK);
        cr_assert_eq(ms_order_make(&x.job.program, &x.f.arena, &x.f.arena, &x.f.diag, &order),
                     MS_OK);
        cr_assert_eq(ms_queue_sharing_find(&sharing, &order, &x.f.arena, &found), MS_OK);
        if (!is_alternating) {
            /* forwards and backwards cross it in different directions */
            cr_assert_null(found);
        } else {
            /* ranks 0 and 2 send into the same node, whose NIC has room for one pair of replicas'
             * half: twice as much is asked for as there is, so all of a message is in the way */
            cr_assert_not_null(found);
            int forward = order.queues[1], other = order.queues[2 * 2 + 1];
            int count = found->first[forward + 1] - found->first[forward];
            bool meets = false;
            for (int i = 0; i < count; i++) {
                const ms_queue_meeting *meeting = &found->meetings[found->first[forward] + i];
                meets = meets || meeting->queue == other;
                cr_assert_float_eq(meeting->short_share, 1.0, 1e-9, "%g", meeting->short_share);
            }
            cr_assert(meets, "0 to 1 and 2 to 3");
        }
        ms_sharing_release(&sharing);
        ms_comm_classes_release(&comm);
        ms_layout_storage_release(&space);
        hand_job_release(&x);
    }
}
