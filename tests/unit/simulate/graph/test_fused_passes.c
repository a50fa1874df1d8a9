/* The times and shares of a fused pass, against sums done by hand. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "simulate/graph/dag.h"

static void append(void *context, const char *text) {
    strncat(context, text, 500);
}

static ms_status finish(ms_dag *dag, char *message_out) {
    ms_diag diag;
    message_out[0] = '\0';
    ms_diag_init(&diag, append, message_out);
    return ms_dag_finish(dag, &diag);
}

static int32_t add_computation(ms_dag *dag, double time_s) {
    return ms_dag_add_work(dag, &(ms_dag_work){.time_s = time_s,
                                               .flop = 10.0 * time_s,
                                               .bytes = time_s,
                                               .host_s = 0.25,
                                               .stands_for = 1,
                                               .tier = -1});
}

/* A collective that takes `alone_s` on idle links, and twice as long with all it stands for. */
static int32_t add_collective(ms_dag *dag, double alone_s, double bytes) {
    int32_t work = ms_dag_add_work(dag, &(ms_dag_work){.bytes = bytes,
                                                       .stands_for = 2,
                                                       .coll = MS_COLL_ALL_REDUCE,
                                                       .is_communication = true});
    int32_t link = ms_dag_add_link(dag, 1.0, 0, 0);
    ms_dag_add_phase(dag, 0.0);
    ms_dag_add_flow(dag, alone_s);
    ms_dag_add_crossing(dag, link, 2, 1);
    return work;
}

/* One rank. */
static void begin(ms_dag *dag, double slowdown) {
    ms_dag_init(dag);
    dag->network.compute_slowdown[MS_COLL_ALL_REDUCE] = slowdown;
    ms_dag_add_rank(dag, 0, 1, 0);
    ms_dag_add_stream(dag, 0, -1, MS_AXIS_NONE);
}

static void add_part(ms_dag *dag, int32_t work, ms_axis axis, bool is_async) {
    bool is_communication = axis != MS_AXIS_NONE;
    ms_dag_add_part(dag, &(ms_dag_part){.work = work,
                                        .communicator = is_communication ? (int16_t)axis : -1,
                                        .axis = (uint8_t)axis,
                                        .is_async = is_async});
}

/* Add a work that is a fused pass, and one operation of it, and finish the graph. fused: index of
 * the fused pass, the newest one. Returns the work, with its times. */
static const ms_dag_work *run(ms_dag *dag, int32_t fused) {
    char message[1000];
    int32_t work =
        ms_dag_add_work(dag, &(ms_dag_work){.stands_for = 1, .tier = -1, .fused = fused + 1});
    ms_dag_add_op(dag, &(ms_dag_op){.work = work, .mb = -1});
    ms_dag_add_member(dag, 0);
    cr_assert_eq(finish(dag, message), MS_OK, "%s", message);
    return &dag->works[work];
}

static void near(double value, double expected) {
    cr_assert(fabs(value - expected) < 1e-12, "%g instead of %g", value, expected);
}

Test(pieces, a_chain_takes_the_sum_of_its_parts) {
    ms_dag dag;
    begin(&dag, 1.0);
    int32_t compute = add_computation(&dag, 3.0);
    int32_t reduce = add_collective(&dag, 1.0, 7.0);
    int32_t fused = ms_dag_add_fused_pass(&dag);
    for (int layer = 0; layer < 4; layer++) {
        add_part(&dag, compute, MS_AXIS_NONE, false);
        add_part(&dag, reduce, MS_AXIS_TP, false);
    }
    const ms_dag_work *work = run(&dag, fused);
    const ms_fused_pass *p = ms_fused_pass_of(&dag, work);
    near(work->time_s, 4.0 * (3.0 + 2.0));
    near(work->flop, 120.0);
    near(work->bytes, 12.0);
    near(work->host_s, 4.0 * 0.25);
    near(p->compute_s, 12.0);
    near(p->axes[MS_AXIS_TP].waited_s, 8.0);
    near(p->axes[MS_AXIS_TP].busy_s, 8.0);
    near(p->axes[MS_AXIS_TP].exposed_s, 8.0);
    near(p->axes[MS_AXIS_TP].critical_s, 8.0);
    near(p->axes[MS_AXIS_TP].bytes, 28.0);
    near(p->axes[MS_AXIS_CP].busy_s, 0.0);
    ms_dag_release(&dag);
}

Test(pieces, alone_collectives_meet_nothing) {
    ms_dag dag;
    begin(&dag, 1.0);
    dag.network.fused.is_alone = true;
    int32_t compute = add_computation(&dag, 3.0);
    int32_t reduce = add_collective(&dag, 1.0, 7.0);
    int32_t fused = ms_dag_add_fused_pass(&dag);
    add_part(&dag, compute, MS_AXIS_NONE, false);
    add_part(&dag, reduce, MS_AXIS_TP, false);
    near(run(&dag, fused)->time_s, 3.0 + 1.0);
    ms_dag_release(&dag);
}

/* A gather of 4 s beside 3 s of computing, which the next computation waits for: 1 s is waited. */
static void build_overlap(ms_dag *dag, double slowdown) {
    begin(dag, slowdown);
    int32_t compute = add_computation(dag, 3.0);
    int32_t gather = add_collective(dag, 2.0, 1.0);
    ms_dag_add_fused_pass(dag);
    add_part(dag, compute, MS_AXIS_NONE, false);
    add_part(dag, gather, MS_AXIS_CP, true);
    add_part(dag, compute, MS_AXIS_NONE, false);
    add_part(dag, compute, MS_AXIS_NONE, false);
    ms_dag_add_part_wait(dag, 1);
}

Test(pieces, what_runs_beside_computing_is_hidden) {
    ms_dag dag;
    build_overlap(&dag, 1.0);
    const ms_dag_work *work = run(&dag, 0);
    const ms_fused_pass_axis *cp = &ms_fused_pass_of(&dag, work)->axes[MS_AXIS_CP];
    near(work->time_s, 3.0 + 4.0 + 3.0);
    near(cp->busy_s, 4.0);
    near(cp->overlapped_s, 3.0);
    near(cp->exposed_s, 1.0);
    near(cp->waited_s, 1.0);
    near(cp->critical_s, 4.0); /* the chain runs through the gather, not the computing beside it */
    near(ms_fused_pass_of(&dag, work)->slowed_s, 0.0);
    ms_dag_release(&dag);
}

Test(pieces, communication_slows_down_what_is_computed_beside_it) {
    ms_dag dag;
    build_overlap(&dag, 2.0);
    const ms_dag_work *work = run(&dag, 0);
    const ms_fused_pass *p = ms_fused_pass_of(&dag, work);
    /* of 3 s two are done while the gather runs for 4 s, and one after it */
    near(work->time_s, 3.0 + 4.0 + 1.0 + 3.0);
    near(p->compute_s, 11.0);
    near(p->slowed_s, 2.0);
    near(p->axes[MS_AXIS_CP].overlapped_s, 4.0);
    near(p->axes[MS_AXIS_CP].waited_s, 0.0);
    ms_dag_release(&dag);
}

Test(pieces, hosts_end_when_they_have_launched_and_what_follows_has_run) {
    ms_dag dag;
    begin(&dag, 1.0);
    int32_t compute = add_computation(&dag, 0.125);
    int32_t reduce = add_collective(&dag, 1.0, 7.0);
    int32_t fused = ms_dag_add_fused_pass(&dag);
    add_part(&dag, compute, MS_AXIS_NONE, false);
    add_part(&dag, compute, MS_AXIS_NONE, false);
    add_part(&dag, reduce, MS_AXIS_TP, false);
    const ms_dag_work *work = run(&dag, fused);
    near(work->host_s, 0.5); /* the collective's launch takes no time here */
    near(ms_fused_pass_of(&dag, work)->host_s, 2.0);
    near(work->time_s, 2.25);
    ms_dag_release(&dag);
}

Test(pieces, broken_ones_are_refused) {
    for (int fault = 0; fault < 3; fault++) {
        ms_dag dag;
        char message[1000];
        begin(&dag, 1.0);
        int32_t compute = add_computation(&dag, 3.0);
        ms_dag_add_fused_pass(&dag);
        add_part(&dag, fault == 0 ? 9 : compute, fault == 1 ? MS_AXIS_TP : MS_AXIS_NONE, false);
        if (fault == 2) {
            ms_dag_add_part_wait(&dag, 0); /* itself */
        }
        ms_dag_add_op(&dag, &(ms_dag_op){.work = compute, .mb = -1});
        ms_dag_add_member(&dag, 0);
        cr_assert_eq(finish(&dag, message), MS_E_BUG);
        cr_assert_not_null(strstr(message, fault == 2 ? "waits for one behind it" : "is no work"));
        ms_dag_release(&dag);
    }
    ms_dag dag;
    char message[1000];
    begin(&dag, 1.0);
    int32_t work = ms_dag_add_work(&dag, &(ms_dag_work){.stands_for = 1, .tier = -1, .fused = 1});
    ms_dag_add_op(&dag, &(ms_dag_op){.work = work, .mb = -1});
    ms_dag_add_member(&dag, 0);
    cr_assert_eq(finish(&dag, message), MS_E_BUG);
    cr_assert_not_null(strstr(message, "a fused pass that does not exist"));
    ms_dag_release(&dag);
}
