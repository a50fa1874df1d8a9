#include <criterion/criterion.h>
#include <math.h>

#include "base/random.h"
#include "cases.h"

#define NEAR(actual, expected) cr_assert_float_eq((actual), (expected), 1e-9 * fabs(expected))

/* A flow of `bytes` alone on a stream of its own. */
static int32_t add_flow(ms_dag *dag, double bytes, const int32_t *links, int32_t count,
                        int32_t weight) {
    return case_op(dag, case_flow_work(dag, bytes, links, count, weight), case_stream(dag), -1);
}

Test(flows, two_share_a_link_by_halves) {
    ms_dag dag;
    case_init(&dag, 1);
    int32_t link = ms_dag_add_link(&dag, 1e9, 0, 0);
    int32_t a = add_flow(&dag, 1e9, &link, 1, 1);
    int32_t b = add_flow(&dag, 3e9, &link, 1, 1);
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_OK, "%s", run->message);
    NEAR(run->timeline.end_s[a], 2.0); /* half a GB/s each until 1 GB is through */
    NEAR(run->timeline.end_s[b], 4.0); /* then the other alone */
    NEAR(run->timeline.link_bytes[0], 4e9);
    NEAR(run->timeline.link_busy_s[0], 4.0);
    cr_assert_eq(run->timeline.flows, 2);
    cr_assert_eq(run->timeline.flows_peak, 2);
    case_run *alone = case_fork(&dag, MS_FIDELITY_ANALYTIC);
    NEAR(alone->timeline.end_s[a], 1.0);
    NEAR(alone->timeline.end_s[b], 3.0);
    cr_assert_eq(alone->timeline.flows, 0);
    ms_dag_release(&dag);
}

/* Whether a run of two flows that share a link is stable, its last end so much later. */
static bool is_firm_with(double later_s) {
    ms_dag dag;
    case_init(&dag, 1);
    int32_t link = ms_dag_add_link(&dag, 1e9, 0, 0);
    add_flow(&dag, 1e9, &link, 1, 1);
    int32_t last = add_flow(&dag, 3e9, &link, 1, 1);
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_OK, "%s", run->message);
    cr_assert(run->timeline.has_shared);
    run->timeline.end_s[last] += later_s;
    bool is_stable = false;
    ms_diag diag;
    ms_diag_init_mute(&diag);
    cr_assert_eq(ms_engine_test(&dag, &run->timeline, &diag, &is_stable), MS_OK);
    ms_dag_release(&dag);
    return is_stable;
}

Test(flows, a_run_stands_firm_that_small_delays_hardly_move) {
    cr_assert(is_firm_with(0.0));
    cr_assert(is_firm_with(1e-12));
    cr_assert_not(is_firm_with(1e-8)); /* of 4 s */
}

Test(flows, a_run_of_which_nothing_is_shared_is_told) {
    ms_dag dag;
    case_init(&dag, 1);
    int32_t link = ms_dag_add_link(&dag, 1e9, 0, 0);
    add_flow(&dag, 1e9, &link, 1, 1);
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_OK, "%s", run->message);
    cr_assert_not(run->timeline.has_shared);
    ms_dag_release(&dag);
}

Test(flows, three_on_two_links_are_max_min_fair) {
    ms_dag dag;
    case_init(&dag, 1);
    int32_t links[2];
    links[0] = ms_dag_add_link(&dag, 1e9, 0, 0);
    links[1] = ms_dag_add_link(&dag, 2e9, 1, 0);
    /* both links: 0.5; the narrow one: 0.5; the wide one: the 1.5 GB/s that are left */
    int32_t both = add_flow(&dag, 1e9, links, 2, 1);
    int32_t narrow = add_flow(&dag, 1e9, &links[0], 1, 1);
    int32_t wide = add_flow(&dag, 3e9, &links[1], 1, 1);
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_OK, "%s", run->message);
    NEAR(run->timeline.end_s[both], 2.0);
    NEAR(run->timeline.end_s[narrow], 2.0);
    NEAR(run->timeline.end_s[wide], 2.0);
    NEAR(run->timeline.link_peak[0], 1.0);
    NEAR(run->timeline.link_peak[1], 1.0);
    ms_dag_release(&dag);
}

Test(flows, weights_count_as_often_as_they_say) {
    ms_dag dag;
    case_init(&dag, 1);
    int32_t link = ms_dag_add_link(&dag, 1e9, 0, 0);
    int32_t three = add_flow(&dag, 1e9, &link, 1, 3);
    int32_t one = add_flow(&dag, 1e9, &link, 1, 1);
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_OK, "%s", run->message);
    NEAR(run->timeline.end_s[three], 4.0); /* both run at 250 MB/s: 3 r + 1 r = 1 GB/s */
    NEAR(run->timeline.end_s[one], 4.0);
    NEAR(run->timeline.link_bytes[0], 4e9);
    ms_dag_release(&dag);
}

Test(flows, a_late_flow_shares_only_what_is_left) {
    ms_dag dag;
    case_init(&dag, 1);
    int32_t link = ms_dag_add_link(&dag, 1e9, 0, 0);
    int32_t delay = case_compute(&dag, 1.0, 0, -1);
    int32_t first = add_flow(&dag, 2e9, &link, 1, 1);
    int32_t late = case_op(&dag, case_flow_work(&dag, 2e9, &link, 1, 1), case_stream(&dag), delay);
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_OK, "%s", run->message);
    NEAR(run->timeline.end_s[first], 3.0); /* 1 s alone, 1 GB more at half the rate */
    NEAR(run->timeline.start_s[late], 1.0);
    NEAR(run->timeline.end_s[late], 4.0);
    NEAR(run->timeline.link_busy_s[0], 4.0);
    cr_assert_eq(run->timeline.cause[late], delay);
    ms_dag_release(&dag);
}

/* SimGrid gets a flow that another one joins with what is left of it, and catches up with the clock
 * when the link is full again. */
Test(flows, a_link_fills_and_empties_again) {
    ms_dag dag;
    case_init(&dag, 2);
    int32_t link = ms_dag_add_link(&dag, 1e9, 0, 0);
    int32_t joined = add_flow(&dag, 2e9, &link, 1, 1);
    int32_t wait = case_compute(&dag, 1.0, 0, -1);
    int32_t work = case_flow_work(&dag, 1e9, &link, 1, 1);
    int32_t joins = case_op(&dag, work, case_stream(&dag), wait);
    wait = case_compute(&dag, 3.0, 0, -1);
    int32_t alone = case_op(&dag, work, case_stream(&dag), wait);
    wait = case_compute(&dag, 2.0, 0, -1);
    int32_t first = case_op(&dag, work, case_stream(&dag), wait);
    int32_t second = case_op(&dag, work, case_stream(&dag), wait);
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_OK, "%s", run->message);
    NEAR(run->timeline.end_s[joined], 3.0); /* 1 GB alone, the rest at half the rate */
    NEAR(run->timeline.end_s[joins], 3.0);
    NEAR(run->timeline.start_s[alone], 4.0);
    NEAR(run->timeline.end_s[alone], 5.0);
    NEAR(run->timeline.end_s[first], 8.0);
    NEAR(run->timeline.end_s[second], 8.0);
    NEAR(run->timeline.link_busy_s[0], 6.0);
    cr_assert_eq(run->timeline.flows, 5);
    ms_dag_release(&dag);
}

Test(flows, weights_with_a_common_factor_are_exact) {
    ms_dag dag;
    case_init(&dag, 1);
    int32_t link = ms_dag_add_link(&dag, 1.024e12, 0, 0);
    int32_t a = add_flow(&dag, 1e9, &link, 1, 3 * 1024);
    int32_t b = add_flow(&dag, 1e9, &link, 1, 1024);
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_OK, "%s", run->message);
    NEAR(run->timeline.end_s[a], 4.0);
    NEAR(run->timeline.end_s[b], 4.0);
    ms_dag_release(&dag);
}

Test(flows, weights_without_a_common_factor_are_exact) {
    ms_dag dag;
    case_init(&dag, 1);
    int32_t link = ms_dag_add_link(&dag, 1e9, 0, 0);
    int32_t a = add_flow(&dag, 1e6, &link, 1, 997);
    int32_t b = add_flow(&dag, 1e6, &link, 1, 3);
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_OK, "%s", run->message);
    NEAR(run->timeline.end_s[a], 1.0);
    NEAR(run->timeline.end_s[b], 1.0);
    ms_dag_release(&dag);
}

Test(flows, private_transfers_are_no_flows) {
    ms_dag dag;
    case_init(&dag, 1);
    int32_t mine = ms_dag_add_link(&dag, 1e9, 0, 0);
    int32_t yours = ms_dag_add_link(&dag, 1e9, 1, 0);
    int32_t work = case_flow_work(&dag, 1e9, &mine, 1, 1);
    int32_t stream = case_stream(&dag);
    for (int i = 0; i < 5; i++) {
        case_op(&dag, work, stream, -1);
    }
    add_flow(&dag, 3e9, &yours, 1, 1);
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_OK, "%s", run->message);
    cr_assert_eq(run->timeline.flows, 0);
    cr_assert_eq(run->timeline.timers, 6);
    cr_assert_eq(run->timeline.makespan_s, 5.0);
    cr_assert_eq(run->timeline.link_bytes[mine], 5e9);
    cr_assert_eq(run->timeline.link_busy_s[mine], 5.0);
    cr_assert_eq(run->timeline.link_bytes[yours], 3e9);
    ms_dag_release(&dag);
}

Test(flows, a_link_with_room_for_all_simulates_nothing) {
    ms_dag dag;
    case_init(&dag, 1);
    int32_t up = ms_dag_add_link(&dag, 4e9, 0, 0);
    for (int32_t i = 0; i < 4; i++) {
        int32_t route[2] = {ms_dag_add_link(&dag, 1e9, 1 + i, 0), up};
        add_flow(&dag, 1e9, route, 2, 1);
    }
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_OK, "%s", run->message);
    cr_assert_eq(run->timeline.flows, 0);
    cr_assert_eq(run->timeline.makespan_s, 1.0);
    NEAR(run->timeline.link_bytes[up], 4e9);
    NEAR(run->timeline.link_peak[up], 1.0);
    ms_dag_release(&dag);
}

Test(flows, one_more_than_a_link_has_room_for_is_simulated) {
    ms_dag dag;
    case_init(&dag, 1);
    int32_t up = ms_dag_add_link(&dag, 4e9, 0, 0);
    int32_t down = ms_dag_add_link(&dag, 4e9, 1, 0); /* the same flows: never binds before `up` */
    for (int32_t i = 0; i < 5; i++) {
        int32_t route[3] = {ms_dag_add_link(&dag, 1e9, 2 + i, 0), up, down};
        add_flow(&dag, 1e9, route, 3, 1);
    }
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_OK, "%s", run->message);
    cr_assert_eq(run->timeline.flows, 5);
    NEAR(run->timeline.makespan_s, 1.25);
    NEAR(run->timeline.link_bytes[down], 5e9);
    NEAR(run->timeline.link_busy_s[down], 1.25);
    ms_dag_release(&dag);
}

Test(flows, a_narrow_private_link_still_holds_its_flow) {
    ms_dag dag;
    case_init(&dag, 1);
    int32_t route[2] = {ms_dag_add_link(&dag, 1e9, 0, 0), ms_dag_add_link(&dag, 4e8, 1, 0)};
    int32_t held = add_flow(&dag, 4e8, route, 2, 1);
    int32_t fast = add_flow(&dag, 6e8, &route[0], 1, 1);
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_OK, "%s", run->message);
    NEAR(run->timeline.end_s[held], 1.0);
    NEAR(run->timeline.end_s[fast], 1.0); /* the 0.6 GB/s that the other leaves */
    ms_dag_release(&dag);
}

Test(flows, flows_of_one_phase_share_as_well) {
    ms_dag dag;
    case_init(&dag, 1);
    int32_t link = ms_dag_add_link(&dag, 1e9, 0, 0);
    int32_t work = case_p2p_work(&dag, 1e9, link, 0.25, false);
    ms_dag_add_flow(&dag, 2e9);
    ms_dag_add_crossing(&dag, link, 1, 1);
    ms_dag_add_flow(&dag, 7e9); /* takes no time: nothing limits it */
    ms_dag_add_phase(&dag, 0.5);
    ms_dag_add_flow(&dag, 1e9);
    ms_dag_add_crossing(&dag, link, 1, 1);
    int32_t op = case_op(&dag, work, case_stream(&dag), -1);
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_OK, "%s", run->message);
    NEAR(run->timeline.end_s[op], 3.0 + 0.25 + 1.0 + 0.5);
    ms_dag_release(&dag);
}

Test(flows, payloads_that_round_to_nothing_end) {
    ms_dag dag;
    case_init(&dag, 1);
    int32_t link = ms_dag_add_link(&dag, 1e9, 0, 0);
    int32_t tiny = add_flow(&dag, 1e-12, &link, 1, 1);
    int32_t huge = add_flow(&dag, 1e12, &link, 1, 1);
    int32_t after = case_compute(&dag, 1.0, 0, tiny);
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_OK, "%s", run->message);
    cr_assert_lt(run->timeline.end_s[tiny], 1e-20);
    cr_assert_float_eq(run->timeline.end_s[after], 1.0, 1e-12);
    NEAR(run->timeline.end_s[huge], 1000.0);
    ms_dag_release(&dag);
}

/* A whole number of bytes stays one beside terabytes. */
Test(flows, hundreds_of_bytes_beside_terabytes_are_exact) {
    ms_dag dag;
    case_init(&dag, 1);
    int32_t link = ms_dag_add_link(&dag, 1e9, 0, 0);
    int32_t small = add_flow(&dag, 301.0, &link, 1, 1);
    int32_t large = add_flow(&dag, 4e12 + 1.0, &link, 1, 1);
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_OK, "%s", run->message);
    cr_assert_eq(run->timeline.flows, 2);
    NEAR(run->timeline.end_s[small], 602e-9);
    NEAR(run->timeline.end_s[large], 4000.0 + 302e-9);
    ms_dag_release(&dag);
}

/* Half a byte and 0.9 of the smallest unit of payloads, 2^-30 bytes: rounded up, not down. */
Test(flows, parts_of_a_byte_are_rounded_to_the_nearest_unit) {
    double bytes = 0.5 + ldexp(0.9, -30);
    ms_dag dag;
    case_init(&dag, 1);
    int32_t link = ms_dag_add_link(&dag, 1e3, 0, 0);
    int32_t small = add_flow(&dag, bytes, &link, 1, 1);
    int32_t large = add_flow(&dag, 2000.0, &link, 1, 1);
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_OK, "%s", run->message);
    cr_assert_eq(run->timeline.flows, 2);
    NEAR(run->timeline.end_s[small], 2e-3 * bytes);
    NEAR(run->timeline.end_s[large], 2.0 + 1e-3 * bytes);
    ms_dag_release(&dag);
}

Test(flows, long_clocks_lose_no_event) {
    ms_dag dag;
    case_init(&dag, 2);
    int32_t link = ms_dag_add_link(&dag, 1e9, 0, 0);
    int32_t work = case_p2p_work(&dag, 1e3, link, 1e-6, true);
    int32_t last[2];
    for (int32_t i = 0; i < 2; i++) { /* a month of simulated time, then microsecond transfers */
        last[i] = case_compute(&dag, 2.6e6 / 3.0, i, -1);
        int32_t stream = case_stream(&dag);
        for (int j = 0; j < 1000; j++) {
            last[i] = case_op(&dag, work, stream, last[i]);
        }
    }
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_OK, "%s", run->message);
    /* each of the 1,000 rounds: 2 kB through the link, then the latency */
    cr_assert_float_eq(run->timeline.makespan_s, 2.6e6 / 3.0 + 1000 * 3e-6, 1e-4);
    ms_dag_release(&dag);
}

Test(flows, transfers_a_nanosecond_apart_end_a_nanosecond_apart) {
    ms_dag dag;
    case_init(&dag, 1);
    int32_t link = ms_dag_add_link(&dag, 1e9, 0, 0);
    int32_t a = add_flow(&dag, 1000.0, &link, 1, 1);
    int32_t b = add_flow(&dag, 1000.25, &link, 1, 1);
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_OK, "%s", run->message);
    NEAR(run->timeline.end_s[a], 2.0e-6);
    NEAR(run->timeline.end_s[b], 2.00025e-6);
    ms_dag_release(&dag);
}

Test(flows, a_light_flow_gets_what_heavy_ones_leave) {
    enum { HEAVY = 4, WEIGHT = 60000 };
    ms_dag dag;
    case_init(&dag, 1);
    int32_t up = ms_dag_add_link(&dag, 1e9, 0, 0);
    double left_Bps = 5000.0; /* more than the light one's share of all, 1e9 / 240,001 */
    double rate_Bps = (1e9 - left_Bps) / (HEAVY * WEIGHT);
    for (int32_t i = 0; i < HEAVY; i++) {
        int32_t work = case_flow_work(&dag, rate_Bps, &up, 1, WEIGHT);
        ms_dag_add_crossing(&dag, ms_dag_add_link(&dag, rate_Bps, 1 + i, 0), 1, 1);
        case_op(&dag, work, case_stream(&dag), -1);
    }
    int32_t light = add_flow(&dag, 0.5 * left_Bps, &up, 1, 1);
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_OK, "%s", run->message);
    NEAR(run->timeline.end_s[light], 0.5);
    NEAR(run->timeline.makespan_s, 1.0);
    ms_dag_release(&dag);
}

/* The clock stands at 3e5 s, its last bit worth 6e-11 s, and jumps to an event at 1e6 s that was
 * dated before, where the last bit is worth twice that: adding the difference may miss the date. */
Test(flows, events_far_apart_are_not_lost) {
    ms_random random = {case_seed(1)};
    for (int i = 0; i < 40; i++) {
        ms_dag dag;
        case_init(&dag, 1);
        int32_t links[2] = {ms_dag_add_link(&dag, 1e9, 0, 0), ms_dag_add_link(&dag, 1e9, 1, 0)};
        double bytes = 9.9e14 + 9e12 * ms_random_unit(&random);
        int32_t delay = case_compute(&dag, 2.7e5 + 1e5 * ms_random_unit(&random), 0, -1);
        int32_t last[2]; /* two after each other on each link, since one alone is no flow */
        for (int j = 0; j < 2; j++) {
            int32_t work = case_flow_work(&dag, j == 0 ? bytes : 1e9, &links[j], 1, 1);
            last[j] = case_op(&dag, work, case_stream(&dag), j == 0 ? -1 : delay);
            last[j] = case_op(&dag, work, case_stream(&dag), last[j]);
        }
        case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
        cr_assert_eq(run->status, MS_OK, "round %d: %s", i, run->message);
        cr_assert_eq(run->timeline.flows, 4);
        NEAR(run->timeline.end_s[last[0]], 2.0 * bytes / 1e9);
        ms_dag_release(&dag);
    }
}
