/* The end of a step as estimates have it, against sums by hand: reductions that are under way while
 * passes run, ranks that end at different times, tied embeddings, the update, gathers after it. */
#include "hand_job.h"

/* 1F1B on two stages with two microbatches, forward 1 ms and backward 2 ms, messages of t = 41 us:
 *   rank 1: F0 1+t .. 2+t, B0 .. 4+t, F1 .. 5+t, B1 .. 7+t
 *   rank 0: B0 waits for 4+2t and ends at 6+2t, B1 waits for 7+2t and ends at 9+2t [ms]. */
enum { MESSAGE_B = 1000000 };
static const double LAST_PASS_S[] = {9e-3 + 2 * 41e-6, 7e-3 + 41e-6};

static void init_two_stages(hand_job *x) {
    hand_job_init(x, MS_SCHEDULE_1F1B, 2, 2);
    hand_job_plain(x, 1e-3, MESSAGE_B);
}

/* Stage s's last backward pass starts an all-reduce of its gradients that nothing in it waits for.
 * A stage whose passes differ from those of others has segments of its own for all of them. */
static void reduce_beside(hand_job *x, int stage, double bytes) {
    int first = 4 + 2 * stage;
    x->segments[first] = hand_compute(2e-3);
    x->segments[first + 1] = hand_collective(MS_COLL_ALL_REDUCE, bytes);
    x->segments[first + 1].is_async = true;
    x->segments[first + 1].when = MS_WHEN_LAST;
    x->segments[20 + stage] = hand_compute(1e-3);
    x->stage[stage].passes[MS_PASS_F] = (ms_pass_plan){.first = 20 + stage, .count = 1};
    x->stage[stage].passes[MS_PASS_B] =
        (ms_pass_plan){.first = first, .count = 2, .when = 1U << MS_WHEN_LAST};
}

static void end_with(hand_job *x, ms_pass_plan *plans, int rank, ms_coll_kind kind, double bytes) {
    int at = plans == x->before ? 10 + rank : 14 + rank;
    x->segments[at] = hand_collective(kind, bytes);
    plans[rank] = (ms_pass_plan){.first = at, .count = 1};
}

Test(end_of_step, is_the_last_pass_where_nothing_follows) {
    hand_job x;
    init_two_stages(&x);
    hand_job_expect(&x, LAST_PASS_S[0], "passes alone");
    hand_job_release(&x);
}

/* Whoever ends last counts: the update of rank 1 is as much longer as its passes end earlier, and
 * 1 ms. Ranks meet before it, so that both begin when rank 0 has ended. */
Test(end_of_step, ranks_meet_before_they_update) {
    hand_job x;
    init_two_stages(&x);
    x.optimizer_s[0] = 1e-3;
    x.optimizer_s[1] = 4e-3;
    hand_job_expect(&x, LAST_PASS_S[0] + 4e-3, "both update");
    x.optimizer_s[1] = 0.5e-3;
    hand_job_expect(&x, LAST_PASS_S[0] + 1e-3, "rank 0 is slower");
    hand_job_release(&x);
}

/* Ranks that do not wait for each other: one step still ends with the later of the two. */
Test(end_of_step, late_validation_lets_each_rank_update_alone) {
    hand_job x;
    init_two_stages(&x);
    x.job.spec.schedule.step_end = MS_STEP_END_POST_VALIDATION;
    x.optimizer_s[0] = 1e-3;
    x.optimizer_s[1] = 4e-3;
    ms_estimate estimate = hand_job_estimate(&x);
    cr_assert_float_eq(estimate.step_s, LAST_PASS_S[1] + 4e-3, 1e-14, "%.12g", estimate.step_s);
    /* of a bound nothing waits: rank 0 has 2 x 3 ms of passes and an update of 1 ms */
    cr_assert_float_eq(estimate.lower_bound_s, 7e-3, 1e-11, "%.12g", estimate.lower_bound_s);
    hand_job_release(&x);
}

/* 100 MB take 4.002 ms on a port of 25 GB/s. */
Test(end_of_step, waits_for_a_reduction_under_way) {
    hand_job x;
    init_two_stages(&x);
    reduce_beside(&x, 0, 100e6);
    hand_job_expect(&x, LAST_PASS_S[0] + hand_reduce_s(100e6), "of the rank that ends last");
    reduce_beside(&x, 0, 0);
    reduce_beside(&x, 1, 50e6);
    hand_job_expect(&x, LAST_PASS_S[0], "50 MB of rank 1 end before rank 0's last pass");
    reduce_beside(&x, 1, 100e6);
    hand_job_expect(&x, LAST_PASS_S[1] + hand_reduce_s(100e6), "100 MB of rank 1 end after it");
    x.optimizer_s[0] = 1e-3;
    hand_job_expect(&x, LAST_PASS_S[1] + hand_reduce_s(100e6) + 1e-3,
                    "the update of rank 0 waits for the gradients of rank 1");
    hand_job_release(&x);
}

/* A reduction between the passes and the update uses the communicator of the one under way. */
Test(end_of_step, a_reduction_waits_for_its_communicator) {
    hand_job x;
    init_two_stages(&x);
    reduce_beside(&x, 0, 100e6);
    end_with(&x, x.before, 0, MS_COLL_ALL_REDUCE, 25e6);
    double end_s = LAST_PASS_S[0] + hand_reduce_s(100e6) + hand_reduce_s(25e6);
    hand_job_expect(&x, end_s, "one after the other");
    end_with(&x, x.before, 1, MS_COLL_ALL_REDUCE, 10e6);
    hand_job_expect(&x, end_s, "rank 1 has ended long before");
    end_with(&x, x.before, 1, MS_COLL_ALL_REDUCE, 250e6);
    hand_job_expect(&x, LAST_PASS_S[1] + hand_reduce_s(250e6), "rank 1 has more to reduce");
    hand_job_release(&x);
}

/* The word embedding's gradient is reduced between first and last stage, once both have ended all
 * that they started; then both go on together. */
Test(end_of_step, tied_embeddings_wait_for_both_ends) {
    hand_job x;
    init_two_stages(&x);
    x.stage[0].tied_B = 50e6;
    hand_job_expect(&x, LAST_PASS_S[0] + hand_reduce_s(50e6), "rank 0 ends last");
    reduce_beside(&x, 1, 100e6);
    double ready_s = LAST_PASS_S[1] + hand_reduce_s(100e6);
    hand_job_expect(&x, ready_s + hand_reduce_s(50e6), "gradients of rank 1 are under way");
    x.optimizer_s[1] = 2e-3;
    hand_job_expect(&x, ready_s + hand_reduce_s(50e6) + 2e-3, "and the update after it");
    end_with(&x, x.before, 0, MS_COLL_ALL_REDUCE, 250e6);
    ready_s = LAST_PASS_S[0] + hand_reduce_s(250e6);
    hand_job_expect(&x, ready_s + hand_reduce_s(50e6) + 2e-3, "after all other reductions");
    hand_job_release(&x);
}

/* Of three stages the one between takes no part in it. */
Test(end_of_step, tied_embeddings_are_of_first_and_last_stage) {
    hand_job x;
    hand_job_init(&x, MS_SCHEDULE_1F1B, 3, 1);
    hand_job_plain(&x, 1e-3, 0);
    /* forwards 3 ms, backwards 2 ms each: rank 2 ends at 5 ms, rank 1 at 7 ms, rank 0 at 9 ms, and
     * messages without bytes arrive 1 us later */
    double last_s = 9e-3 + 4e-6;
    hand_job_expect(&x, last_s, "passes alone");
    x.stage[0].tied_B = 50e6;
    hand_job_expect(&x, last_s + hand_reduce_s(50e6), "from the first to the last");
    end_with(&x, x.before, 1, MS_COLL_ALL_REDUCE, 150e6);
    double middle_s = 7e-3 + 3e-6 + hand_reduce_s(150e6);
    cr_assert_gt(middle_s, last_s + hand_reduce_s(50e6));
    hand_job_expect(&x, middle_s, "the rank between is still reducing");
    hand_job_release(&x);
}

/* Each rank gathers its parameters once it has updated. */
Test(end_of_step, parameters_are_gathered_after_the_update) {
    hand_job x;
    init_two_stages(&x);
    x.optimizer_s[0] = 0.5e-3;
    x.optimizer_s[1] = 3e-3;
    end_with(&x, x.after, 0, MS_COLL_ALL_GATHER, 200e6);
    end_with(&x, x.after, 1, MS_COLL_ALL_GATHER, 25e6);
    hand_job_expect(&x, LAST_PASS_S[0] + 0.5e-3 + hand_gather_s(200e6), "rank 0 gathers more");
    end_with(&x, x.after, 0, MS_COLL_ALL_GATHER, 50e6);
    hand_job_expect(&x, LAST_PASS_S[0] + 3e-3 + hand_gather_s(25e6), "rank 1 updates longer");
    hand_job_release(&x);
}

/* All together. */
Test(end_of_step, everything_in_order) {
    hand_job x;
    init_two_stages(&x);
    reduce_beside(&x, 0, 100e6);
    reduce_beside(&x, 1, 300e6);
    end_with(&x, x.before, 0, MS_COLL_REDUCE_SCATTER, 25e6);
    x.stage[0].tied_B = 50e6;
    x.optimizer_s[0] = 0.5e-3;
    x.optimizer_s[1] = 3e-3;
    end_with(&x, x.after, 0, MS_COLL_ALL_GATHER, 200e6);
    end_with(&x, x.after, 1, MS_COLL_ALL_GATHER, 25e6);
    /* rank 0: 9.082 + 4.002 + 0.501 = 13.585 ms; rank 1: 7.041 + 12.002 = 19.043 ms; tied 2.002 ms;
     * then 0.5 + 4.001 ms on rank 0 and 3 + 0.501 ms on rank 1 */
    hand_job_expect(&x, 19.043e-3 + 2.002e-3 + 4.501e-3, "all of it");
    hand_job_release(&x);
}

/* Of several steps what one adds: the second begins where all ranks have updated; with parameters
 * gathered after it, each rank's own begin when its own are there. */
Test(end_of_step, steps_follow_each_other) {
    hand_job x;
    init_two_stages(&x);
    x.optimizer_s[0] = x.optimizer_s[1] = 1e-3;
    x.job.spec.simulation.steps = 3;
    hand_job_expect(&x, LAST_PASS_S[0] + 1e-3, "all alike");
    end_with(&x, x.after, 1, MS_COLL_ALL_GATHER, 200e6);
    /* rank 1 begins 4.001 ms later than rank 0, its first input is there 1.041 ms after rank 0
     * began: each later step is longer by 4.001 - 1.041 ms, and ends when rank 0 updated or rank 1
     * gathered, which is 4.001 ms later */
    ms_estimate estimate = hand_job_estimate(&x);
    double step_s = LAST_PASS_S[0] + 1e-3 + 4.001e-3 - 1.041e-3;
    cr_assert_float_eq(estimate.step_s, step_s, 1e-14, "%.12g, expected %.12g", estimate.step_s,
                       step_s);
    hand_job_release(&x);
}
