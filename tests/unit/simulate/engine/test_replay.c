/* Starts, ends and causes, by arithmetic alone; every case runs on both engines, which must agree
 * to the last bit where no flow is contended. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "cases.h"

/* Run on both engines, assert that they agree, give the closed form's timeline. */
static ms_timeline run_both(ms_dag *dag) {
    case_run *closed = case_fork(dag, MS_FIDELITY_ANALYTIC);
    case_run *flow = case_fork(dag, MS_FIDELITY_FLOW);
    cr_assert_eq(closed->status, MS_OK, "%s", closed->message);
    cr_assert_eq(flow->status, MS_OK, "%s", flow->message);
    for (int32_t i = 0; i < dag->op_count; i++) {
        cr_assert_eq(closed->timeline.start_s[i], flow->timeline.start_s[i], "start of %d", i);
        cr_assert_eq(closed->timeline.end_s[i], flow->timeline.end_s[i], "end of %d", i);
        cr_assert_eq(closed->timeline.cause[i], flow->timeline.cause[i], "cause of %d", i);
    }
    cr_assert_eq(closed->timeline.timers, flow->timeline.timers);
    return closed->timeline;
}

Test(replay, empty_graph_takes_no_time) {
    ms_dag dag;
    case_init(&dag, 1);
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_OK);
    cr_assert_eq(run->timeline.op_count, 0);
    cr_assert_eq(run->timeline.makespan_s, 0.0);
    ms_dag_release(&dag);
}

Test(replay, chain_on_a_stream_adds_up) {
    ms_dag dag;
    case_init(&dag, 1);
    int32_t work = case_compute_work(&dag, 0.25);
    for (int i = 0; i < 100; i++) {
        case_op(&dag, work, 0, -1);
    }
    ms_timeline t = run_both(&dag);
    cr_assert_eq(t.makespan_s, 25.0);
    cr_assert_eq(t.cause[0], -1);
    for (int32_t i = 1; i < 100; i++) {
        cr_assert_eq(t.start_s[i], 0.25 * i);
        cr_assert_eq(t.cause[i], i - 1);
    }
    cr_assert_eq(t.timers, 100);
    ms_dag_release(&dag);
}

/* What has a latency and no bytes waits once. */
Test(replay, messages_of_no_bytes_wait_once) {
    ms_dag dag;
    case_init(&dag, 1);
    int32_t link = ms_dag_add_link(&dag, 1e9, 0, 0);
    case_op(&dag, case_p2p_work(&dag, 0.0, link, 1e-3, false), case_stream(&dag), -1);
    ms_timeline t = run_both(&dag);
    cr_assert_eq(t.makespan_s, 1e-3);
    cr_assert_eq(t.timers, 1);
    ms_dag_release(&dag);
}

Test(replay, diamond_waits_for_the_longer_side) {
    ms_dag dag;
    case_init(&dag, 3);
    int32_t top = case_compute(&dag, 1.0, 0, -1);
    int32_t left = case_compute(&dag, 2.0, 1, top);
    int32_t right = case_compute(&dag, 3.0, 2, top);
    int32_t join = case_compute(&dag, 1.0, 0, left);
    ms_dag_add_dep(&dag, right);
    ms_timeline t = run_both(&dag);
    cr_assert_eq(t.start_s[join], 4.0);
    cr_assert_eq(t.end_s[join], 5.0);
    cr_assert_eq(t.cause[join], right);
    ms_dag_release(&dag);
}

/* Operations of these roles end together, the second after one that ran before it for `late_s`:
 * which of them is the cause of what waits for all of them. */
static int find_cause(const ms_dag_op *roles, double late_s) {
    ms_dag dag;
    int32_t ops[3];
    case_init(&dag, 4);
    int32_t before = case_compute(&dag, late_s, 1, -1);
    for (int i = 0; i < 3; i++) {
        ms_dag_op op = roles[i];
        op.work = case_compute_work(&dag, i == 1 ? 2.0 - late_s : 2.0);
        ops[i] = ms_dag_add_op(&dag, &op);
        ms_dag_add_member(&dag, i);
        ms_dag_add_dep(&dag, i == 1 ? before : -1);
    }
    int32_t join = case_compute(&dag, 1.0, 3, ops[0]);
    ms_dag_add_dep(&dag, ops[2]);
    ms_dag_add_dep(&dag, ops[1]);
    int32_t cause = run_both(&dag).cause[join];
    ms_dag_release(&dag);
    return cause - ops[0];
}

/* Not to the lowest rank or operation, which numbering and folding change. */
Test(replay, ties_go_to_the_lowest_role) {
    const ms_dag_op forward = {.kind = MS_OP_FORWARD, .stage = 2, .mb = 7};
    const ms_dag_op backward = {.kind = MS_OP_BACKWARD, .stage = 0, .mb = 3};
    const ms_dag_op earlier = {.kind = MS_OP_FORWARD, .stage = 2, .mb = 6};
    const ms_dag_op nearer = {.kind = MS_OP_FORWARD, .stage = 1, .mb = 8};
    const ms_dag_op within = {.kind = MS_OP_ALL_GATHER, .stage = 0, .mb = 0, .axis = MS_AXIS_TP};
    const ms_dag_op between = {.kind = MS_OP_P2P, .stage = 3, .mb = 9, .axis = MS_AXIS_PP};
    cr_assert_eq(find_cause((ms_dag_op[]){backward, forward, backward}, 0.0), 1);
    cr_assert_eq(find_cause((ms_dag_op[]){forward, forward, earlier}, 0.0), 2);
    cr_assert_eq(find_cause((ms_dag_op[]){forward, nearer, earlier}, 0.0), 1);
    cr_assert_eq(find_cause((ms_dag_op[]){forward, backward, within}, 0.0), 2);
    cr_assert_eq(find_cause((ms_dag_op[]){within, forward, between}, 0.0), 2);
    /* of one role: the one that began first, then the lowest index */
    cr_assert_eq(find_cause((ms_dag_op[]){forward, forward, forward}, 0.5), 0);
    cr_assert_eq(find_cause((ms_dag_op[]){backward, forward, forward}, 0.5), 2);
}

Test(replay, ties_of_one_role_go_to_the_lowest_index) {
    ms_dag dag;
    case_init(&dag, 4);
    int32_t first = case_compute(&dag, 2.0, 0, -1);
    int32_t second = case_compute(&dag, 2.0, 1, -1);
    int32_t third = case_compute(&dag, 2.0, 2, -1);
    /* on stream 2 after `third`, which is a dependency like the others */
    int32_t all = case_compute(&dag, 1.0, 2, second);
    ms_dag_add_dep(&dag, first);
    int32_t stream = case_compute(&dag, 1.0, 1, third);
    /* all of no length: ends at 0 are ties as well */
    int32_t zero = case_compute(&dag, 0.0, 3, -1);
    int32_t also_zero = case_compute(&dag, 0.0, 3, -1);
    ms_timeline t = run_both(&dag);
    cr_assert_eq(t.cause[all], first);
    cr_assert_eq(t.cause[stream], second);
    cr_assert_eq(t.cause[zero], -1);
    cr_assert_eq(t.cause[also_zero], zero);
    ms_dag_release(&dag);
}

/* What ends together but for rounding is a tie as well: the start is the later end, the cause the
 * lowest. */
Test(replay, rounding_breaks_no_tie) {
    ms_dag dag;
    case_init(&dag, 3);
    int32_t first = case_compute(&dag, 0.3, 0, -1);
    int32_t tenths = case_compute(&dag, 0.1 + 0.2, 1, -1); /* a last bit more than 0.3 */
    int32_t later = case_compute(&dag, 0.3 + 1e-9, 2, -1);
    int32_t together = case_compute(&dag, 1.0, 0, tenths);
    int32_t after = case_compute(&dag, 1.0, 1, later);
    ms_timeline t = run_both(&dag);
    cr_assert_gt(t.end_s[tenths], t.end_s[first]);
    cr_assert_eq(t.start_s[together], t.end_s[tenths]);
    cr_assert_eq(t.cause[together], first);
    cr_assert_eq(t.cause[after], later);
    ms_dag_release(&dag);
}

Test(replay, collective_starts_when_its_last_member_arrives) {
    ms_dag dag;
    case_init(&dag, 3);
    int32_t link = ms_dag_add_link(&dag, 1e9, 0, 0);
    int32_t a = case_compute(&dag, 1.0, 0, -1);
    int32_t b = case_compute(&dag, 4.0, 1, -1);
    int32_t c = case_compute(&dag, 2.0, 2, -1);
    int32_t streams[3];
    for (int32_t i = 0; i < 3; i++) {
        streams[i] = ms_dag_add_stream(&dag, i, -1, MS_AXIS_TP);
    }
    int32_t op = case_op(&dag, case_flow_work(&dag, 5e8, &link, 1, 1), streams[0], a);
    ms_dag_add_member(&dag, streams[1]);
    ms_dag_add_dep(&dag, b);
    ms_dag_add_member(&dag, streams[2]);
    ms_dag_add_dep(&dag, c);
    int32_t after = case_compute(&dag, 1.0, 0, op);
    ms_timeline t = run_both(&dag);
    cr_assert_eq(t.start_s[op], 4.0);
    cr_assert_eq(t.cause[op], b);
    cr_assert_eq(t.end_s[op], 4.5);
    cr_assert_eq(t.start_s[after], 4.5);
    cr_assert_eq(t.link_bytes[0], 5e8);
    cr_assert_eq(t.link_busy_s[0], 0.5);
    cr_assert_float_eq(t.link_peak[0], 1.0, 1e-12);
    ms_dag_release(&dag);
}

Test(replay, pipelined_messages_overlap_their_latency_only) {
    ms_dag dag;
    case_init(&dag, 2);
    int32_t link = ms_dag_add_link(&dag, 1e9, 0, 0);
    int32_t pipelined = case_p2p_work(&dag, 1e9, link, 0.5, true);
    int32_t blocking = case_p2p_work(&dag, 1e9, link, 0.5, false);
    int32_t stream = case_stream(&dag);
    int32_t first = case_op(&dag, pipelined, stream, -1);
    int32_t second = case_op(&dag, pipelined, stream, -1);
    int32_t third = case_op(&dag, blocking, stream, -1);
    int32_t fourth = case_op(&dag, pipelined, stream, -1);
    int32_t received = case_compute(&dag, 1.0, 1, second);
    ms_timeline t = run_both(&dag);
    cr_assert_eq(t.end_s[first], 1.5);
    cr_assert_eq(t.start_s[second], 1.0); /* when the transfer of the first is over */
    cr_assert_eq(t.cause[second], first);
    cr_assert_eq(t.end_s[second], 2.5);
    cr_assert_eq(t.start_s[received], 2.5);
    cr_assert_eq(t.start_s[third], 2.0);
    cr_assert_eq(t.start_s[fourth], 3.5); /* the third holds the stream to its end */
    cr_assert_eq(t.link_busy_s[0], 4.0);
    ms_dag_release(&dag);
}

Test(replay, dependency_on_the_one_before_on_a_pipelined_stream_waits_for_its_end) {
    ms_dag dag;
    case_init(&dag, 1);
    int32_t link = ms_dag_add_link(&dag, 1e9, 0, 0);
    int32_t work = case_p2p_work(&dag, 1e9, link, 0.5, true);
    int32_t stream = case_stream(&dag);
    int32_t first = case_op(&dag, work, stream, -1);
    int32_t second = case_op(&dag, work, stream, first);
    ms_timeline t = run_both(&dag);
    cr_assert_eq(t.start_s[second], 1.5);
    cr_assert_eq(t.cause[second], first);
    ms_dag_release(&dag);
}

Test(replay, phases_follow_each_other_with_their_latencies) {
    ms_dag dag;
    case_init(&dag, 1);
    int32_t fast = ms_dag_add_link(&dag, 2e9, 0, 0);
    int32_t slow = ms_dag_add_link(&dag, 1e9, 1, 0);
    int32_t work = ms_dag_add_work(
        &dag,
        &(ms_dag_work){.stands_for = 1, .coll = MS_COLL_ALL_REDUCE, .is_communication = true});
    ms_dag_add_phase(&dag, 0.25);
    ms_dag_add_flow(&dag, 1e9);
    ms_dag_add_crossing(&dag, fast, 1, 1);
    ms_dag_add_flow(&dag, 1e9);
    ms_dag_add_crossing(&dag, slow, 3, 3); /* the slowest flow of the phase: 3 s */
    ms_dag_add_phase(&dag, 0.5);
    ms_dag_add_flow(&dag, 4e9);
    ms_dag_add_crossing(&dag, fast, 1, 1);
    ms_dag_add_phase(&dag, 0.125); /* a phase without flows is a delay */
    int32_t op = case_op(&dag, work, case_stream(&dag), -1);
    ms_timeline t = run_both(&dag);
    cr_assert_eq(t.end_s[op], 3.0 + 0.25 + 2.0 + 0.5 + 0.125);
    cr_assert_eq(t.link_bytes[fast], 5e9);
    cr_assert_eq(t.link_bytes[slow], 3e9);
    cr_assert_eq(t.link_busy_s[fast], 0.5 + 2.0);
    cr_assert_eq(t.link_busy_s[slow], 3.0);
    ms_dag_release(&dag);
}

Test(replay, dependencies_may_point_forward) {
    ms_dag dag;
    case_init(&dag, 2);
    int32_t early = case_compute(&dag, 1.0, 0, 1); /* waits for the next one */
    int32_t late = case_compute(&dag, 2.0, 1, -1);
    ms_timeline t = run_both(&dag);
    cr_assert_eq(t.start_s[early], 2.0);
    cr_assert_eq(t.cause[early], late);
    ms_dag_release(&dag);
}

Test(replay, flows_without_links_or_bytes_take_no_time) {
    ms_dag dag;
    case_init(&dag, 1);
    int32_t link = ms_dag_add_link(&dag, 1e9, 0, 0);
    int32_t nowhere = case_op(&dag, case_flow_work(&dag, 1e9, NULL, 0, 1), case_stream(&dag), -1);
    int32_t nothing = case_op(&dag, case_flow_work(&dag, 0.0, &link, 1, 1), case_stream(&dag), -1);
    int32_t next = case_compute(&dag, 1.0, 0, nowhere);
    ms_dag_add_dep(&dag, nothing);
    ms_timeline t = run_both(&dag);
    cr_assert_eq(t.end_s[nowhere], 0.0);
    cr_assert_eq(t.end_s[nothing], 0.0);
    cr_assert_eq(t.end_s[next], 1.0);
    cr_assert_eq(t.link_bytes[0], 0.0);
    cr_assert_eq(t.link_busy_s[0], 0.0);
    ms_dag_release(&dag);
}

Test(replay, fan_out_and_in_of_ten_thousand) {
    enum { WIDTH = 10000 };
    ms_dag dag;
    case_init(&dag, 1);
    int32_t root = case_compute(&dag, 1.0, 0, -1);
    int32_t work = case_compute_work(&dag, 0.0);
    for (int32_t i = 0; i < WIDTH; i++) {
        case_op(&dag, work, case_stream(&dag), root);
    }
    int32_t join = case_compute(&dag, 1.0, 0, -1);
    for (int32_t i = 0; i < WIDTH; i++) {
        ms_dag_add_dep(&dag, root + 1 + i);
    }
    ms_timeline t = run_both(&dag);
    cr_assert_eq(t.start_s[join], 1.0);
    cr_assert_eq(t.cause[join], root, "the stream predecessor ties with all and comes first");
    cr_assert_eq(t.makespan_s, 2.0);
    ms_dag_release(&dag);
}

Test(replay, long_chains_of_no_length_need_no_stack) {
    enum { LENGTH = 300000 };
    ms_dag dag;
    case_init(&dag, 1);
    int32_t work = case_compute_work(&dag, 0.0);
    for (int32_t i = 0; i < LENGTH; i++) {
        case_op(&dag, work, 0, i - 1);
    }
    ms_timeline t = run_both(&dag);
    cr_assert_eq(t.makespan_s, 0.0);
    cr_assert_eq(t.cause[LENGTH - 1], LENGTH - 2);
    ms_dag_release(&dag);
}

Test(replay, closed_form_counts_busy_time_of_a_link_once) {
    ms_dag dag;
    case_init(&dag, 1);
    int32_t link = ms_dag_add_link(&dag, 1e9, 0, 0);
    case_op(&dag, case_flow_work(&dag, 2e9, &link, 1, 1), case_stream(&dag), -1);
    int32_t first = case_compute(&dag, 1.0, 0, -1);
    case_op(&dag, case_flow_work(&dag, 2e9, &link, 1, 1), case_stream(&dag), first);
    case_run *run = case_fork(&dag, MS_FIDELITY_ANALYTIC);
    cr_assert_eq(run->status, MS_OK);
    cr_assert_float_eq(run->timeline.link_busy_s[0], 3.0, 1e-12); /* [0, 2] and [1, 3] */
    cr_assert_eq(run->timeline.link_peak[0], 1.0);                /* never above the whole */
    ms_dag_release(&dag);
}

Test(replay, names_of_fidelities) {
    cr_assert_str_eq(ms_fidelity_name(MS_FIDELITY_ANALYTIC), "analytic");
    cr_assert_str_eq(ms_fidelity_name(MS_FIDELITY_FLOW), "flow");
    cr_assert(strncmp(ms_engine_simgrid_version(), "3.", 2) == 0);
}
