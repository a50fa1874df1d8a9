/* What lowering makes of hand-made jobs: order, streams, members and dependencies. */
#include "lower_fixture.h"

static const ms_coll_kind REDUCE = MS_COLL_ALL_REDUCE;

Test(lower, one_stage_is_its_segments_in_order) {
    lower_fixture x;
    lower_init(&x, (lower_degrees){1, 1, 2}, 2, (const char *const[]){"0F0 0B0 0F1 0B1"});
    x.segments[0] = lower_compute();
    x.segments[1] = lower_collective(REDUCE, MS_AXIS_TP);
    x.segments[2] = lower_compute();
    lower_set_pass(&x, MS_PASS_F, 0, 3);
    lower_set_pass(&x, MS_PASS_B, 1, 2);
    x.optimizer_s[0] = 1e-3;
    lower_expect(&x, "0 forward s0 m0: 0\n"
                     "1 all_reduce s0 m0: 0.tp after 0\n"
                     "2 forward s0 m0: 0 after 1\n"
                     "3 all_reduce s0 m0: 0.tp after 2\n"
                     "4 backward s0 m0: 0 after 3\n"
                     "5 forward s0 m1: 0\n"
                     "6 all_reduce s0 m1: 0.tp after 5\n"
                     "7 forward s0 m1: 0 after 6\n"
                     "8 all_reduce s0 m1: 0.tp after 7\n"
                     "9 backward s0 m1: 0 after 8\n"
                     "10 optimizer: 0\n");
    lower_release(&x);
}

Test(lower, two_stages_1f1b) {
    lower_fixture x;
    lower_init(&x, (lower_degrees){2, 1, 1}, 2,
               (const char *const[]){"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"});
    lower_set_plain_passes(&x);
    lower_expect(&x, "0 forward s0 m0: 0\n"
                     "1 p2p s0 m0: 0>1 after 0\n"
                     "2 forward s0 m1: 0\n"
                     "3 p2p s0 m1: 0>1 after 2\n"
                     "4 forward s1 m0: 1 after 1\n"
                     "5 backward s1 m0: 1\n"
                     "6 p2p s1 m0: 1>0 after 5\n"
                     "7 forward s1 m1: 1 after 3\n"
                     "8 backward s1 m1: 1\n"
                     "9 p2p s1 m1: 1>0 after 8\n"
                     "10 backward s0 m0: 0 after 6\n"
                     "11 backward s0 m1: 0 after 9\n");
    lower_release(&x);
}

Test(lower, stages_of_one_rank_hand_over_without_a_message) {
    lower_fixture x;
    lower_init(&x, (lower_degrees){2, 1, 1}, 1,
               (const char *const[]){"0F0 3F0 3B0 0B0", "1F0 2F0 2B0 1B0"});
    lower_set_plain_passes(&x);
    x.job.program.stage_rank = (int[]){0, 1, 1, 0};
    lower_expect(&x, "0 forward s0 m0: 0\n"
                     "1 p2p s0 m0: 0>1 after 0\n"
                     "2 forward s1 m0: 1 after 1\n"
                     "3 forward s2 m0: 1\n"
                     "4 p2p s2 m0: 1>0 after 3\n"
                     "5 forward s3 m0: 0 after 4\n"
                     "6 backward s3 m0: 0\n"
                     "7 p2p s3 m0: 0>1 after 6\n"
                     "8 backward s2 m0: 1 after 7\n"
                     "9 backward s1 m0: 1\n"
                     "10 p2p s1 m0: 1>0 after 9\n"
                     "11 backward s0 m0: 0 after 10\n");
    lower_release(&x);
}

/* What comes between does not hide it: a pass of a stage waits for that of the stage before, and a
 * backward pass for its own stage's forward one. */
Test(lower, passes_of_one_rank_wait_for_their_own_input) {
    lower_fixture x;
    lower_init(&x, (lower_degrees){1, 2, 2}, 2,
               (const char *const[]){"0F0 0F1 1F0 1F1 1B0 1B1 0B0 0B1"});
    lower_set_plain_passes(&x);
    x.segments[1] = lower_compute();
    x.segments[2] = lower_collective(REDUCE, MS_AXIS_TP);
    x.segments[3] = lower_collective(REDUCE, MS_AXIS_DP);
    x.segments[3].when = MS_WHEN_LAST;
    lower_set_pass(&x, MS_PASS_F, 1, 3);
    lower_expect(&x, "0 forward s0 m0: 0\n"
                     "1 all_reduce s0 m0: 0.tp after 0\n"
                     "2 forward s0 m1: 0 after 1\n"
                     "3 all_reduce s0 m1: 0.tp after 2\n"
                     "4 all_reduce s0 m1: 0.dp after 3\n"
                     "5 forward s1 m0: 0 after 4 1\n"
                     "6 all_reduce s1 m0: 0.tp after 5\n"
                     "7 forward s1 m1: 0 after 6 4\n"
                     "8 all_reduce s1 m1: 0.tp after 7\n"
                     "9 all_reduce s1 m1: 0.dp after 8\n"
                     "10 backward s1 m0: 0 after 9 6\n"
                     "11 backward s1 m1: 0 after 9\n"
                     "12 backward s0 m0: 0\n"
                     "13 backward s0 m1: 0\n");
    lower_release(&x);
}

Test(lower, split_backward_hands_on_after_its_input_gradient) {
    lower_fixture x;
    lower_init(&x, (lower_degrees){2, 1, 1}, 1,
               (const char *const[]){"0F0 0I0 0W0", "1F0 1I0 1W0"});
    lower_set_plain_passes(&x);
    lower_expect(&x, "0 forward s0 m0: 0\n"
                     "1 p2p s0 m0: 0>1 after 0\n"
                     "2 forward s1 m0: 1 after 1\n"
                     "3 input_gradient s1 m0: 1\n"
                     "4 p2p s1 m0: 1>0 after 3\n"
                     "5 weight_gradient s1 m0: 1\n"
                     "6 input_gradient s0 m0: 0 after 4\n"
                     "7 weight_gradient s0 m0: 0\n");
    lower_release(&x);
}

/* A pass without work still passes its input on. */
Test(lower, an_empty_pass_takes_no_time) {
    lower_fixture x;
    lower_init(&x, (lower_degrees){2, 1, 1}, 1, (const char *const[]){"0F0 0B0", "1F0 1B0"});
    lower_set_plain_passes(&x);
    x.stage[1].passes[MS_PASS_F].count = 0;
    lower_expect(&x, "0 forward s0 m0: 0\n"
                     "1 p2p s0 m0: 0>1 after 0\n"
                     "2 forward s1 m0: 1 after 1\n"
                     "3 backward s1 m0: 1\n"
                     "4 p2p s1 m0: 1>0 after 3\n"
                     "5 backward s0 m0: 0 after 4\n");
    cr_assert_eq(x.dag.works[x.dag.ops[2].work].time_s, 0.0);
    lower_release(&x);
}

Test(lower, a_pair_takes_turns_at_collectives) {
    lower_fixture x;
    lower_init(&x, (lower_degrees){1, 1, 2}, 2, (const char *const[]){"0F0 0F1+0B0 0B1"});
    x.segments[0] = lower_compute();
    x.segments[1] = lower_collective(REDUCE, MS_AXIS_TP);
    x.segments[2] = lower_compute();
    lower_set_pass(&x, MS_PASS_F, 0, 3);
    lower_set_pass(&x, MS_PASS_B, 0, 3);
    lower_expect(&x, "0 forward s0 m0: 0\n"
                     "1 all_reduce s0 m0: 0.tp after 0\n"
                     "2 forward s0 m0: 0 after 1\n"
                     "3 forward s0 m1: 0\n"
                     "4 all_reduce s0 m1: 0.tp after 3\n"
                     "5 backward s0 m0: 0\n"
                     "6 all_reduce s0 m0: 0.tp after 5\n"
                     "7 forward s0 m1: 0 after 4\n"
                     "8 backward s0 m0: 0 after 6\n"
                     "9 backward s0 m1: 0\n"
                     "10 all_reduce s0 m1: 0.tp after 9\n"
                     "11 backward s0 m1: 0 after 10\n");
    lower_release(&x);
}

/* Both passes end with a collective: a computation without time waits for both. */
Test(lower, a_pair_that_ends_with_collectives_is_joined) {
    lower_fixture x;
    lower_init(&x, (lower_degrees){1, 1, 2}, 2, (const char *const[]){"0F0 0F1+0B0 0B1"});
    x.segments[0] = lower_compute();
    x.segments[1] = lower_collective(REDUCE, MS_AXIS_TP);
    lower_set_pass(&x, MS_PASS_F, 0, 2);
    lower_set_pass(&x, MS_PASS_B, 0, 2);
    lower_expect(&x, "0 forward s0 m0: 0\n"
                     "1 all_reduce s0 m0: 0.tp after 0\n"
                     "2 forward s0 m1: 0 after 1\n"
                     "3 all_reduce s0 m1: 0.tp after 2\n"
                     "4 backward s0 m0: 0 after 1\n"
                     "5 all_reduce s0 m0: 0.tp after 4\n"
                     "6 backward s0 m0: 0 after 5\n"
                     "7 backward s0 m1: 0\n"
                     "8 all_reduce s0 m1: 0.tp after 7\n");
    lower_release(&x);
}

/* Both passes of a pair wait for the inputs of both, and send when both are done. */
Test(lower, a_pair_begins_and_ends_together) {
    lower_fixture x;
    lower_init(&x, (lower_degrees){2, 1, 1}, 2,
               (const char *const[]){"0F0 0F1 0B0 0B1", "1F0 1F1+1B0 1B1"});
    lower_set_plain_passes(&x);
    lower_expect(&x, "0 forward s0 m0: 0\n"
                     "1 p2p s0 m0: 0>1 after 0\n"
                     "2 forward s0 m1: 0\n"
                     "3 p2p s0 m1: 0>1 after 2\n"
                     "4 forward s1 m0: 1 after 1\n"
                     "5 forward s1 m1: 1 after 3\n"
                     "6 backward s1 m0: 1 after 3\n"
                     "7 p2p s1 m0: 1>0 after 6\n"
                     "8 backward s1 m1: 1\n"
                     "9 p2p s1 m1: 1>0 after 8\n"
                     "10 backward s0 m0: 0 after 7\n"
                     "11 backward s0 m1: 0 after 9\n");
    lower_release(&x);
}

/* What an asynchronous segment of a pair is left to waits for it as after a pass alone. */
Test(lower, a_pair_leaves_asynchronous_collectives_to_the_update) {
    lower_fixture x;
    lower_init(&x, (lower_degrees){1, 2, 2}, 2, (const char *const[]){"0F0 0F1+0B0 0B1"});
    x.segments[0] = lower_compute();
    x.segments[1] = lower_async(REDUCE, MS_AXIS_TP);
    x.segments[1].when = MS_WHEN_LAST;
    x.segments[2] = lower_compute();
    x.segments[3] = lower_async(REDUCE, MS_AXIS_DP);
    x.segments[3].when = MS_WHEN_FIRST;
    lower_set_pass(&x, MS_PASS_F, 0, 2);
    lower_set_pass(&x, MS_PASS_B, 2, 2);
    lower_expect(&x, "0 forward s0 m0: 0\n"
                     "1 forward s0 m1: 0\n"
                     "2 all_reduce s0 m1: 0.tp after 1\n"
                     "3 backward s0 m0: 0\n"
                     "4 all_reduce s0 m0: 0.dp after 3\n"
                     "5 backward s0 m1: 0\n"
                     "6 optimizer: 0 after 2 4\n");
    lower_release(&x);
}

Test(lower, an_asynchronous_collective_runs_beside_what_follows) {
    lower_fixture x;
    lower_init(&x, (lower_degrees){1, 2, 2}, 1, (const char *const[]){"0F0 0B0"});
    x.segments[0] = lower_compute();
    x.segments[1] = lower_async(REDUCE, MS_AXIS_TP);
    x.segments[2] = lower_async(REDUCE, MS_AXIS_DP);
    x.segments[3] = lower_compute();
    x.segments[4] = AFTER(lower_compute(), 1);
    x.segments[5] = AFTER(lower_compute(), 1, 2);
    lower_set_pass(&x, MS_PASS_F, 0, 6);
    lower_set_pass(&x, MS_PASS_B, 0, 1);
    x.optimizer_s[0] = 1e-3;
    lower_expect(&x, "0 forward s0 m0: 0\n"
                     "1 all_reduce s0 m0: 0.tp after 0\n"
                     "2 all_reduce s0 m0: 0.dp after 0\n"
                     "3 forward s0 m0: 0\n"
                     "4 forward s0 m0: 0 after 1\n"
                     "5 forward s0 m0: 0 after 1 2\n"
                     "6 backward s0 m0: 0\n"
                     "7 optimizer: 0\n");
    lower_release(&x);
}

/* A collective waits for an asynchronous one, too: hybrid sharding's two reductions. */
Test(lower, collectives_wait_for_asynchronous_ones) {
    lower_fixture x;
    lower_init(&x, (lower_degrees){1, 2, 2}, 1, (const char *const[]){"0F0 0B0"});
    x.segments[0] = lower_compute();
    x.segments[1] = lower_async(MS_COLL_REDUCE_SCATTER, MS_AXIS_DP);
    x.segments[2] = AFTER(lower_async(REDUCE, MS_AXIS_TP), 1);
    x.segments[3] = AFTER(lower_collective(REDUCE, MS_AXIS_TP), 1);
    lower_set_pass(&x, MS_PASS_F, 0, 1);
    lower_set_pass(&x, MS_PASS_B, 0, 4);
    x.optimizer_s[0] = 1e-3;
    lower_expect(&x, "0 forward s0 m0: 0\n"
                     "1 backward s0 m0: 0\n"
                     "2 reduce_scatter s0 m0: 0.dp after 1\n"
                     "3 all_reduce s0 m0: 0.tp after 1 2\n"
                     "4 all_reduce s0 m0: 0.tp after 1 2\n"
                     "5 optimizer: 0 after 4\n");
    lower_release(&x);
}

/* What nothing waited for: the update does, for the last one of each communicator. */
Test(lower, the_update_waits_for_the_last_on_each_communicator) {
    lower_fixture x;
    lower_init(&x, (lower_degrees){1, 2, 2}, 2, (const char *const[]){"0F0 0B0 0F1 0B1"});
    x.segments[0] = lower_compute();
    x.segments[1] = lower_async(REDUCE, MS_AXIS_TP);
    x.segments[2] = lower_async(REDUCE, MS_AXIS_DP);
    x.segments[3] = lower_compute();
    x.segments[4] = lower_async(REDUCE, MS_AXIS_DP);
    x.segments[5] = AFTER(lower_compute(), 1);
    lower_set_pass(&x, MS_PASS_F, 3, 3);
    lower_set_pass(&x, MS_PASS_B, 0, 3);
    lower_expect(&x, "0 forward s0 m0: 0\n"
                     "1 all_reduce s0 m0: 0.dp after 0\n"
                     "2 forward s0 m0: 0 after 1\n"
                     "3 backward s0 m0: 0\n"
                     "4 all_reduce s0 m0: 0.tp after 3\n"
                     "5 all_reduce s0 m0: 0.dp after 3\n"
                     "6 forward s0 m1: 0\n"
                     "7 all_reduce s0 m1: 0.dp after 6\n"
                     "8 forward s0 m1: 0 after 7\n"
                     "9 backward s0 m1: 0\n"
                     "10 all_reduce s0 m1: 0.tp after 9\n"
                     "11 all_reduce s0 m1: 0.dp after 9\n"
                     "12 optimizer: 0 after 10 11\n");
    lower_release(&x);
}

/* ZeRO 3 with placed unshards: stage 2's parameters are gathered beside stage 0's pass. */
Test(lower, an_unshard_runs_beside_passes_of_other_stages) {
    lower_fixture x;
    size_t shard_first[] = {0, 4};
    ms_shard_move moves[] = {{.before = 0, .stage = 0, .is_unshard = true},
                             {.before = 0, .stage = 1, .is_unshard = true},
                             {.before = 2, .stage = 0, .is_unshard = false},
                             {.before = 3, .stage = 0, .is_unshard = true}};
    lower_init(&x, (lower_degrees){1, 2, 1}, 1, (const char *const[]){"0F0 1F0 1B0 0B0"});
    lower_set_plain_passes(&x);
    x.segments[1] = lower_async(MS_COLL_ALL_GATHER, MS_AXIS_DP);
    for (int s = 0; s < 2; s++) {
        x.stage[s].unshard = (ms_pass_plan){.first = 1, .count = 1};
    }
    x.job.program.shard_first = shard_first;
    x.job.program.shard_moves = moves;
    lower_expect(&x, "0 all_gather s0: 0.dp\n"
                     "1 all_gather s1: 0.dp\n"
                     "2 forward s0 m0: 0 after 0\n"
                     "3 forward s1 m0: 0 after 1\n"
                     "4 backward s1 m0: 0\n"
                     "5 all_gather s0: 0.dp after 4\n"
                     "6 backward s0 m0: 0 after 5\n");
    lower_release(&x);
}

/* The first computation waits, not a collective before it. */
Test(lower, a_computation_waits_for_parameters_and_a_collective_does_not) {
    lower_fixture x;
    size_t shard_first[] = {0, 1};
    ms_shard_move move = {.before = 0, .stage = 0, .is_unshard = true};
    lower_init(&x, (lower_degrees){1, 2, 2}, 1, (const char *const[]){"0F0 0B0"});
    x.segments[0] = lower_collective(MS_COLL_ALL_GATHER, MS_AXIS_TP);
    x.segments[1] = lower_compute();
    x.segments[2] = lower_async(MS_COLL_ALL_GATHER, MS_AXIS_DP);
    lower_set_pass(&x, MS_PASS_F, 0, 2);
    lower_set_pass(&x, MS_PASS_B, 1, 1);
    x.stage[0].unshard = (ms_pass_plan){.first = 2, .count = 1};
    x.job.program.shard_first = shard_first;
    x.job.program.shard_moves = &move;
    lower_expect(&x, "0 all_gather s0: 0.dp\n"
                     "1 all_gather s0 m0: 0.tp\n"
                     "2 forward s0 m0: 0 after 1 0\n"
                     "3 backward s0 m0: 0\n");
    lower_release(&x);
}

/* ZeRO: gathers of the first microbatch, reductions of the last one, and the gather after the
 * update where passes do none. */
Test(lower, sharded_state_runs_on_the_first_and_the_last_microbatch) {
    lower_fixture x;
    ms_pass_plan after = {.first = 4, .count = 1};
    lower_init(&x, (lower_degrees){1, 2, 2}, 2, (const char *const[]){"0F0 0B0 0F1 0B1"});
    x.segments[0] = lower_async(MS_COLL_ALL_GATHER, MS_AXIS_DP);
    x.segments[0].group_axes = MS_AXIS_BIT(MS_AXIS_DP) | MS_AXIS_BIT(MS_AXIS_TP);
    x.segments[0].when = MS_WHEN_FIRST;
    x.segments[1] = AFTER(lower_compute(), 0);
    x.segments[2] = lower_compute();
    x.segments[3] = lower_async(MS_COLL_REDUCE_SCATTER, MS_AXIS_DP);
    x.segments[3].when = MS_WHEN_LAST;
    x.segments[4] = lower_collective(MS_COLL_ALL_GATHER, MS_AXIS_DP);
    lower_set_pass(&x, MS_PASS_F, 0, 2);
    lower_set_pass(&x, MS_PASS_B, 2, 2);
    x.job.costs.after_update = &after;
    x.optimizer_s[0] = 1e-3;
    lower_expect(&x, "0 all_gather s0 m0: 0.dp\n"
                     "1 forward s0 m0: 0 after 0\n"
                     "2 backward s0 m0: 0\n"
                     "3 forward s0 m1: 0\n"
                     "4 backward s0 m1: 0\n"
                     "5 reduce_scatter s0 m1: 0.dp after 4\n"
                     "6 optimizer: 0 after 5\n"
                     "7 all_gather: 0.dp after 6\n");
    lower_release(&x);
}

Test(lower, gradients_are_reduced_then_the_norm_then_the_update) {
    lower_fixture x;
    ms_pass_plan before[] = {{.first = 1, .count = 1}, {.first = 1, .count = 1}};
    lower_init(&x, (lower_degrees){2, 2, 1}, 1, (const char *const[]){"0F0 0B0", "1F0 1B0"});
    lower_set_plain_passes(&x);
    x.segments[1] = lower_collective(REDUCE, MS_AXIS_DP);
    x.stage[0].tied_B = 1e6;
    x.job.costs.before_update = before;
    x.job.costs.parameters_total = 1e9;
    x.optimizer_s[0] = x.optimizer_s[1] = 1e-3;
    x.job.spec.schedule.step_end = MS_STEP_END_SYNCHRONOUS;
    lower_expect(&x, "0 forward s0 m0: 0\n"
                     "1 p2p s0 m0: 0>2 after 0\n"
                     "2 forward s1 m0: 2 after 1\n"
                     "3 backward s1 m0: 2\n"
                     "4 p2p s1 m0: 2>0 after 3\n"
                     "5 backward s0 m0: 0 after 4\n"
                     "6 all_reduce: 0.dp after 5\n"
                     "7 all_reduce: 2.dp after 3\n"
                     "8 all_reduce: 0.pp after 6, 2.pp after 7\n"
                     "9 all_reduce: 0.other after 8, 2.other after 8\n"
                     "10 optimizer: 0 after 9\n"
                     "11 optimizer: 2 after 9\n");
    lower_release(&x);
}

/* The norm is of reduced gradients, also of those that are reduced beside the backward pass. */
Test(lower, the_norm_waits_for_what_no_segment_waited_for) {
    lower_fixture x;
    lower_init(&x, (lower_degrees){1, 2, 1}, 1, (const char *const[]){"0F0 0B0"});
    x.segments[0] = lower_compute();
    x.segments[1] = lower_async(REDUCE, MS_AXIS_DP);
    lower_set_pass(&x, MS_PASS_F, 0, 1);
    lower_set_pass(&x, MS_PASS_B, 0, 2);
    x.optimizer_s[0] = 1e-3;
    x.job.spec.schedule.step_end = MS_STEP_END_SYNCHRONOUS;
    lower_expect(&x, "0 forward s0 m0: 0\n"
                     "1 backward s0 m0: 0\n"
                     "2 all_reduce s0 m0: 0.dp after 1\n"
                     "3 all_reduce: 0.other after 1 2\n"
                     "4 optimizer: 0 after 3\n");
    lower_release(&x);
}

Test(lower, a_blocking_sender_waits_for_the_arrival) {
    lower_fixture x;
    lower_init(&x, (lower_degrees){2, 1, 2}, 2,
               (const char *const[]){"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"});
    lower_set_plain_passes(&x);
    x.segments[1] = lower_compute();
    x.segments[2] = lower_collective(REDUCE, MS_AXIS_TP);
    lower_set_pass(&x, MS_PASS_F, 1, 2);
    x.job.spec.schedule.sends = MS_SENDS_BLOCKING;
    lower_expect(&x, "0 forward s0 m0: 0\n"
                     "1 all_reduce s0 m0: 0.tp after 0\n"
                     "2 p2p s0 m0: 0>2 after 1\n"
                     "3 forward s0 m1: 0 after 2\n"
                     "4 all_reduce s0 m1: 0.tp after 3\n"
                     "5 p2p s0 m1: 0>2 after 4\n"
                     "6 forward s1 m0: 2 after 2\n"
                     "7 all_reduce s1 m0: 2.tp after 6\n"
                     "8 backward s1 m0: 2 after 7\n"
                     "9 p2p s1 m0: 2>0 after 8\n"
                     "10 forward s1 m1: 2 after 9 5\n"
                     "11 all_reduce s1 m1: 2.tp after 10\n"
                     "12 backward s1 m1: 2 after 11\n"
                     "13 p2p s1 m1: 2>0 after 12\n"
                     "14 backward s0 m0: 0 after 5 9\n"
                     "15 backward s0 m1: 0 after 13\n");
    lower_release(&x);
}

/* Two messages of a pair: a barrier waits for both. */
Test(lower, a_blocking_pair_waits_for_both_messages) {
    lower_fixture x;
    lower_init(&x, (lower_degrees){3, 1, 1}, 2,
               (const char *const[]){"0F0 0F1 0B0 0B1", "1F0 1F1+1B0 1B1", "2F0 2B0 2F1 2B1"});
    lower_set_plain_passes(&x);
    x.job.spec.schedule.sends = MS_SENDS_BLOCKING;
    lower_expect(&x, "0 forward s0 m0: 0\n"
                     "1 p2p s0 m0: 0>1 after 0\n"
                     "2 forward s0 m1: 0 after 1\n"
                     "3 p2p s0 m1: 0>1 after 2\n"
                     "4 forward s1 m0: 1 after 1\n"
                     "5 p2p s1 m0: 1>2 after 4\n"
                     "6 forward s2 m0: 2 after 5\n"
                     "7 backward s2 m0: 2\n"
                     "8 p2p s2 m0: 2>1 after 7\n"
                     "9 forward s1 m1: 1 after 5 3 8\n"
                     "10 backward s1 m0: 1 after 5 8 3\n"
                     "11 p2p s1 m1: 1>2 after 10\n"
                     "12 p2p s1 m0: 1>0 after 10\n"
                     "13 backward: 1 after 11 12\n"
                     "14 forward s2 m1: 2 after 8 11\n"
                     "15 backward s2 m1: 2\n"
                     "16 p2p s2 m1: 2>1 after 15\n"
                     "17 backward s0 m0: 0 after 3 12\n"
                     "18 backward s1 m1: 1 after 16\n"
                     "19 p2p s1 m1: 1>0 after 18\n"
                     "20 backward s0 m1: 0 after 19\n");
    lower_release(&x);
}

/* The next step begins where the last one ended, with all segments of a first microbatch again. */
Test(lower, steps_follow_each_other) {
    lower_fixture x;
    lower_init(&x, (lower_degrees){2, 1, 1}, 1, (const char *const[]){"0F0 0B0", "1F0 1B0"});
    lower_set_plain_passes(&x);
    x.job.spec.simulation.steps = 2;
    lower_expect(&x, "0 forward s0 m0: 0\n"
                     "1 p2p s0 m0: 0>1 after 0\n"
                     "2 forward s1 m0: 1 after 1\n"
                     "3 backward s1 m0: 1\n"
                     "4 p2p s1 m0: 1>0 after 3\n"
                     "5 backward s0 m0: 0 after 4\n"
                     "6 forward s0 m0: 0\n"
                     "7 p2p s0 m0: 0>1 after 6\n"
                     "8 forward s1 m0: 1 after 7\n"
                     "9 backward s1 m0: 1\n"
                     "10 p2p s1 m0: 1>0 after 9\n"
                     "11 backward s0 m0: 0 after 10\n");
    cr_assert_eq(x.dag.step_count, 2);
    lower_release(&x);
}

/* Two replicas of two ranks: folded the lowest rank stands for all four. */
static void init_folding(lower_fixture *x) {
    lower_init(x, (lower_degrees){2, 2, 2}, 1, (const char *const[]){"0F0 0B0", "1F0 1B0"});
    x->segments[0] = lower_compute();
    x->segments[1] = lower_collective(REDUCE, MS_AXIS_TP);
    x->segments[2] = lower_async(REDUCE, MS_AXIS_DP);
    lower_set_pass(x, MS_PASS_F, 0, 2);
    lower_set_pass(x, MS_PASS_B, 0, 3);
    x->optimizer_s[0] = x->optimizer_s[1] = 1e-3;
}

Test(lower, folded_one_rank_stands_for_its_replicas) {
    lower_fixture x;
    init_folding(&x);
    lower_expect(&x, "0 forward s0 m0: 0\n"
                     "1 all_reduce s0 m0: 0.tp after 0\n"
                     "2 p2p s0 m0: 0>4 after 1\n"
                     "3 forward s1 m0: 4 after 2\n"
                     "4 all_reduce s1 m0: 4.tp after 3\n"
                     "5 backward s1 m0: 4 after 4\n"
                     "6 all_reduce s1 m0: 4.tp after 5\n"
                     "7 all_reduce s1 m0: 4.dp after 6\n"
                     "8 p2p s1 m0: 4>0 after 6\n"
                     "9 backward s0 m0: 0 after 1 8\n"
                     "10 all_reduce s0 m0: 0.tp after 9\n"
                     "11 all_reduce s0 m0: 0.dp after 10\n"
                     "12 optimizer: 0 after 10 11\n"
                     "13 optimizer: 4 after 6 7\n");
    cr_assert_eq(x.dag.rank_count, 2);
    cr_assert_eq(x.dag.ranks[1].multiplicity, 4);
    cr_assert_eq(x.dag.works[x.dag.ops[1].work].stands_for, 2);
    cr_assert(x.fold.is_exact);
    lower_release(&x);
}

Test(lower, without_folding_every_rank_is_a_member) {
    lower_fixture x;
    init_folding(&x);
    x.job.run.no_fold = true;
    lower_expect(&x, "0 forward s0 m0: 0\n"
                     "1 forward s0 m0: 1\n"
                     "2 forward s0 m0: 2\n"
                     "3 forward s0 m0: 3\n"
                     "4 all_reduce s0 m0: 0.tp after 0, 1.tp after 1\n"
                     "5 all_reduce s0 m0: 2.tp after 2, 3.tp after 3\n"
                     "6 p2p s0 m0: 0>4 after 4\n"
                     "7 p2p s0 m0: 1>5 after 4\n"
                     "8 p2p s0 m0: 2>6 after 5\n"
                     "9 p2p s0 m0: 3>7 after 5\n"
                     "10 forward s1 m0: 4 after 6\n"
                     "11 forward s1 m0: 5 after 7\n"
                     "12 forward s1 m0: 6 after 8\n"
                     "13 forward s1 m0: 7 after 9\n"
                     "14 all_reduce s1 m0: 4.tp after 10, 5.tp after 11\n"
                     "15 all_reduce s1 m0: 6.tp after 12, 7.tp after 13\n"
                     "16 backward s1 m0: 4 after 14\n"
                     "17 backward s1 m0: 5 after 14\n"
                     "18 backward s1 m0: 6 after 15\n"
                     "19 backward s1 m0: 7 after 15\n"
                     "20 all_reduce s1 m0: 4.tp after 16, 5.tp after 17\n"
                     "21 all_reduce s1 m0: 6.tp after 18, 7.tp after 19\n"
                     "22 all_reduce s1 m0: 4.dp after 20, 6.dp after 21\n"
                     "23 all_reduce s1 m0: 5.dp after 20, 7.dp after 21\n"
                     "24 p2p s1 m0: 4>0 after 20\n"
                     "25 p2p s1 m0: 5>1 after 20\n"
                     "26 p2p s1 m0: 6>2 after 21\n"
                     "27 p2p s1 m0: 7>3 after 21\n"
                     "28 backward s0 m0: 0 after 4 24\n"
                     "29 backward s0 m0: 1 after 4 25\n"
                     "30 backward s0 m0: 2 after 5 26\n"
                     "31 backward s0 m0: 3 after 5 27\n"
                     "32 all_reduce s0 m0: 0.tp after 28, 1.tp after 29\n"
                     "33 all_reduce s0 m0: 2.tp after 30, 3.tp after 31\n"
                     "34 all_reduce s0 m0: 0.dp after 32, 2.dp after 33\n"
                     "35 all_reduce s0 m0: 1.dp after 32, 3.dp after 33\n"
                     "36 optimizer: 0 after 32 34\n"
                     "37 optimizer: 1 after 32 35\n"
                     "38 optimizer: 2 after 33 34\n"
                     "39 optimizer: 3 after 33 35\n"
                     "40 optimizer: 4 after 20 22\n"
                     "41 optimizer: 5 after 20 23\n"
                     "42 optimizer: 6 after 21 22\n"
                     "43 optimizer: 7 after 21 23\n");
    cr_assert_eq(x.dag.rank_count, 8);
    lower_release(&x);
}

Test(lower, a_schedule_that_waits_for_itself_is_refused) {
    lower_fixture x;
    lower_init(&x, (lower_degrees){2, 1, 1}, 1, (const char *const[]){"0F0 0B0", "1B0 1F0"});
    lower_set_plain_passes(&x);
    cr_assert_eq(ms_lower(&x.job, &x.f.diag, &x.dag, &x.fold), MS_E_INPUT);
    cr_assert_not_null(strstr(ms_buffer_text(&x.f.messages),
                              "the schedule deadlocks: rank 1 at '1B0' waits for 1F0 of rank 1"),
                       "%s", ms_buffer_text(&x.f.messages));
    lower_release(&x);
}
