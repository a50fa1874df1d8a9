#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "simulate/graph/dag.h"

static void append(void *context, const char *text) {
    strncat(context, text, 500);
}

/* Finish `dag`, which must give `expected` and say `word` if it fails. */
static void finish(ms_dag *dag, ms_status expected, const char *word) {
    char message[1000] = "";
    ms_diag diag;
    ms_diag_init(&diag, append, message);
    cr_assert_eq(ms_dag_finish(dag, &diag), expected, "%s", message);
    if (word == NULL) {
        cr_assert_str_empty(message);
    } else {
        cr_assert_not_null(strstr(message, word), "'%s' does not say '%s'", message, word);
        cr_assert_eq(diag.errors, 1);
    }
}

static const ms_dag_work COMPUTE = {.time_s = 2.0, .stands_for = 1, .tier = -1};
static const ms_dag_work MESSAGE = {
    .stands_for = 1, .coll = MS_COLL_P2P, .is_communication = true, .is_pipelined = true};

/* Two ranks, a link, a computation, a message; stream 0 and 1 compute, 2 is the message's. */
static void build(ms_dag *dag) {
    ms_dag_init(dag);
    ms_dag_add_rank(dag, 7, 4, 0);
    ms_dag_add_rank(dag, 9, 4, 1);
    ms_dag_add_stream(dag, 0, -1, MS_AXIS_NONE);
    ms_dag_add_stream(dag, 1, -1, MS_AXIS_NONE);
    ms_dag_add_stream(dag, 0, 1, MS_AXIS_PP);
    ms_dag_add_link(dag, 1e9, 30, 2);
    ms_dag_add_work(dag, &COMPUTE);
    ms_dag_add_work(dag, &MESSAGE);
    ms_dag_add_phase(dag, 0.5);
    ms_dag_add_flow(dag, 1e9);
    ms_dag_add_crossing(dag, 0, 3, 1);
}

static int32_t add_op(ms_dag *dag, int32_t work, int32_t stream) {
    int32_t op = ms_dag_add_op(dag, &(ms_dag_op){.work = work,
                                                 .mb = 5,
                                                 .stage = 3,
                                                 .chunk = -1,
                                                 .layer = 7,
                                                 .kind = work == 0 ? MS_OP_FORWARD : MS_OP_P2P});
    ms_dag_add_member(dag, stream);
    return op;
}

Test(dag, builder_keeps_order_members_and_dependencies) {
    ms_dag dag;
    build(&dag);
    int32_t first = add_op(&dag, 0, 0);
    int32_t second = add_op(&dag, 1, 2);
    ms_dag_add_dep(&dag, first);
    int32_t third = add_op(&dag, 0, 0);
    ms_dag_add_member(&dag, 1);
    ms_dag_add_dep(&dag, second);
    ms_dag_add_dep(&dag, -1); /* none */
    ms_dag_add_dep(&dag, first);
    finish(&dag, MS_OK, NULL);
    cr_assert_eq(dag.op_count, 3);
    cr_assert_eq(dag.member_count, 4);
    cr_assert_eq(dag.dep_count, 3);
    cr_assert_eq(dag.ranks[0].compute, 0);
    cr_assert_eq(dag.ranks[1].compute, 1);
    cr_assert_eq(dag.streams[2].peer, 1);
    int32_t member = dag.member_first[third];
    cr_assert_eq(dag.member_first[third + 1] - member, 2);
    cr_assert_eq(ms_dag_find_previous(&dag, member), first);
    cr_assert_eq(ms_dag_find_previous(&dag, member + 1), -1);
    cr_assert_eq(dag.dep_first[member + 1] - dag.dep_first[member], 0);
    cr_assert_eq(dag.dep_first[member + 2] - dag.dep_first[member + 1], 2);
    cr_assert_eq(dag.deps[dag.dep_first[member + 1]], second);
    cr_assert(ms_dag_is_compute(&dag, first));
    cr_assert_not(ms_dag_is_compute(&dag, second));
    cr_assert_eq(dag.works[1].phase_count, 1);
    cr_assert_eq(dag.network.phases[0].flow_count, 1);
    cr_assert_eq(dag.network.flows[0].crossing_count, 1);
    cr_assert_eq(dag.network.links[0].id, 30);
    ms_dag_release(&dag);
}

Test(dag, large_graphs_grow) {
    enum { OPS = 100000 };
    ms_dag dag;
    build(&dag);
    for (int32_t i = 0; i < OPS; i++) {
        cr_assert_eq(add_op(&dag, 0, i % 2), i);
        ms_dag_add_dep(&dag, i - 1);
    }
    finish(&dag, MS_OK, NULL);
    for (int32_t i = 2; i < OPS; i++) {
        cr_assert_eq(ms_dag_find_previous(&dag, i), i - 2);
        cr_assert_eq(dag.member_next[i - 2], i);
        cr_assert_eq(dag.deps[dag.dep_first[i]], i - 1);
    }
    ms_dag_release(&dag);
}

Test(dag, describe_says_what_and_where) {
    char text[100];
    char small[10];
    ms_dag dag;
    build(&dag);
    int32_t op = add_op(&dag, 0, 1);
    int32_t plain = ms_dag_add_op(
        &dag, &(ms_dag_op){.kind = MS_OP_OPTIMIZER, .mb = -1, .stage = -1, .layer = -1});
    ms_dag_add_member(&dag, 0);
    finish(&dag, MS_OK, NULL);
    cr_assert_str_eq(ms_dag_describe(&dag, op, text, sizeof text),
                     "forward stage 3 mb 5 layer 7 on rank 9");
    cr_assert_str_eq(ms_dag_describe(&dag, plain, text, sizeof text), "optimizer on rank 7");
    cr_assert_str_eq(ms_dag_describe(&dag, op, small, sizeof small), "forward s");
    ms_dag_release(&dag);
}

Test(dag, work_time_adds_last_flows_and_latencies) {
    double transfer_s = 0.0;
    ms_dag dag;
    build(&dag);
    ms_dag_add_flow(&dag, 5e8); /* beside the first, on the same link */
    ms_dag_add_crossing(&dag, 0, 1, 1);
    ms_dag_add_flow(&dag, 1e15); /* no link limits it */
    ms_dag_add_phase(&dag, 0.25);
    ms_dag_add_flow(&dag, 2e9);
    ms_dag_add_crossing(&dag, 0, 1, 1);
    add_op(&dag, 1, 2);
    finish(&dag, MS_OK, NULL);
    cr_assert_eq(ms_dag_work_time_s(&dag, &dag.works[0], false, &transfer_s), 2.0);
    cr_assert_eq(transfer_s, 2.0);
    cr_assert_eq(ms_dag_work_time_s(&dag, &dag.works[1], false, &transfer_s),
                 3.5 + 0.5 + 2.0 + 0.25);
    cr_assert_eq(transfer_s, 3.5 + 0.5 + 2.0);
    cr_assert_eq(ms_dag_work_time_s(&dag, &dag.works[1], false, NULL), 6.25);
    cr_assert_eq(ms_dag_phase_time_s(&dag, &dag.network.phases[0], false, &transfer_s), 4.0);
    cr_assert_eq(transfer_s, 3.5);
    cr_assert_eq(ms_dag_work_latency_s(&dag, &dag.works[0]), 0.0);
    cr_assert_eq(ms_dag_work_latency_s(&dag, &dag.works[1]), 0.75);
    ms_dag_release(&dag);
}

Test(dag, alone_a_flow_has_its_own_crossings_only) {
    ms_dag dag;
    build(&dag);
    ms_dag_add_phase(&dag, 0.0);
    ms_dag_add_flow(&dag, 1e9);
    ms_dag_add_crossing(&dag, 0, 6, 2);
    add_op(&dag, 1, 2);
    finish(&dag, MS_OK, NULL);
    int32_t flow = dag.network.flow_count - 1;
    cr_assert_eq(ms_dag_flow_time_s(&dag, flow, false), 6.0);
    cr_assert_eq(ms_dag_flow_time_s(&dag, flow, true), 2.0);
    ms_dag_release(&dag);
}

/* Ways to break a graph; each is named by what the message says. */
static void add_bad_time(ms_dag *dag) {
    ms_dag_add_work(dag, &(ms_dag_work){.time_s = -1.0, .stands_for = 1});
}
static void add_bad_latency(ms_dag *dag) {
    ms_dag_add_phase(dag, NAN);
}
static void add_bad_bytes(ms_dag *dag) {
    ms_dag_add_flow(dag, INFINITY);
}
static void add_bad_link(ms_dag *dag) {
    ms_dag_add_link(dag, 0.0, 1, 0);
}
static void add_bad_crossing(ms_dag *dag) {
    ms_dag_add_flow(dag, 1.0);
    ms_dag_add_crossing(dag, 1, 1, 1);
}
static void add_weightless(ms_dag *dag) {
    ms_dag_add_flow(dag, 1.0);
    ms_dag_add_crossing(dag, 0, 1, 2);
}
static void add_twice(ms_dag *dag) {
    ms_dag_add_crossing(dag, 0, 1, 1);
}
static void add_empty_communication(ms_dag *dag) {
    ms_dag_add_work(dag, &MESSAGE);
}
static void add_nothing(ms_dag *dag) {
    ms_dag_add_work(dag, &(ms_dag_work){.time_s = 1.0});
}
static void add_without_members(ms_dag *dag) {
    ms_dag_add_op(dag, &(ms_dag_op){.work = 0});
}
static void add_without_work(ms_dag *dag) {
    add_op(dag, 99, 0);
}
static void add_bad_dep(ms_dag *dag) {
    add_op(dag, 0, 0);
    ms_dag_add_dep(dag, 1);
}
static void add_bad_stream(ms_dag *dag) {
    add_op(dag, 0, 3);
}
static void add_bad_rank(ms_dag *dag) {
    ms_dag_add_stream(dag, 2, -1, MS_AXIS_NONE);
}

Test(dag, finish_names_what_is_wrong) {
    static const struct {
        void (*spoil)(ms_dag *);
        const char *word;
    } CASES[] = {
        {add_bad_time, "time"},
        {add_bad_latency, "latency"},
        {add_bad_bytes, "bytes"},
        {add_bad_link, "finite capacity"},
        {add_bad_crossing, "crossing"},
        {add_weightless, "weight"},
        {add_twice, "two crossings of one link"},
        {add_empty_communication, "phases"},
        {add_nothing, "stands for nothing"},
        {add_without_members, "without members"},
        {add_without_work, "without work"},
        {add_bad_dep, "dependency"},
        {add_bad_stream, "does not exist"},
        {add_bad_rank, "does not exist"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        ms_dag dag;
        build(&dag);
        CASES[i].spoil(&dag);
        finish(&dag, MS_E_BUG, CASES[i].word);
        ms_dag_release(&dag);
    }
}

Test(dag, adders_without_a_parent_fail_and_stay_failed) {
    ms_dag dag;
    ms_dag_init(&dag);
    cr_assert_eq(ms_dag_add_phase(&dag, 0.0), -1);
    cr_assert_eq(ms_dag_add_rank(&dag, 0, 1, 0), -1);
    ms_dag_release(&dag);
    cr_assert_null(ms_dag_add_flow(&dag, 1.0));
    ms_dag_release(&dag);
    cr_assert_null(ms_dag_add_crossing(&dag, 0, 1, 1));
    ms_dag_release(&dag);
    ms_dag_add_member(&dag, 0);
    cr_assert(dag.builder.failed);
    ms_dag_release(&dag);
    ms_dag_add_dep(&dag, 0);
    cr_assert(dag.builder.failed);
    ms_dag_release(&dag);
    cr_assert_not(dag.builder.failed, "release leaves an empty graph");
    finish(&dag, MS_OK, NULL);
    ms_dag_release(&dag);
}

Test(dag, steps_divide_the_operations) {
    ms_dag dag;
    build(&dag);
    add_op(&dag, 0, 0);
    finish(&dag, MS_OK, NULL);
    cr_assert_eq(dag.step_count, 1);
    cr_assert_eq(dag.step_first[0], 0);
    cr_assert_eq(dag.step_first[1], 1);
    ms_dag_release(&dag);
    build(&dag);
    ms_dag_begin_step(&dag);
    add_op(&dag, 0, 0);
    ms_dag_begin_step(&dag);
    add_op(&dag, 0, 1);
    add_op(&dag, 0, 1);
    finish(&dag, MS_OK, NULL);
    cr_assert_eq(dag.step_count, 2);
    cr_assert_eq(dag.step_first[1], 1);
    cr_assert_eq(dag.step_first[2], 3);
    ms_dag_release(&dag);
    build(&dag);
    add_op(&dag, 0, 0);
    ms_dag_begin_step(&dag);
    finish(&dag, MS_E_BUG, "before the first step");
    ms_dag_release(&dag);
}
