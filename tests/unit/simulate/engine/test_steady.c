/* Repeated periods of a timeline: how often their operations count, and when they are believed. */
#include <criterion/criterion.h>
#include <math.h>

#include "cases.h"
#include "simulate/engine/steady.h"

static const ms_steady REPEATED = {.count = 1,
                                   .of_step = {{.from_s = 10.0, .period_s = 2.0, .times = 3}}};

Test(steady, what_begins_in_the_stretch_counts_every_time) {
    const ms_steady none = {.count = 0};
    cr_assert_eq(ms_steady_count(&REPEATED, 9.9), 1.0);
    cr_assert_eq(ms_steady_count(&REPEATED, 10.0), 4.0);
    cr_assert_eq(ms_steady_count(&REPEATED, 11.9), 4.0);
    cr_assert_eq(ms_steady_count(&REPEATED, 12.0), 1.0);
    cr_assert_eq(ms_steady_count(&none, 11.0), 1.0);
}

Test(steady, lengths_have_all_times_of_what_they_cover) {
    cr_assert_eq(ms_steady_length_s(&REPEATED, 0.0, 10.0), 10.0);
    cr_assert_eq(ms_steady_length_s(&REPEATED, 0.0, 11.0), 11.0 + 3.0);
    cr_assert_eq(ms_steady_length_s(&REPEATED, 11.5, 20.0), 8.5 + 1.5);
    cr_assert_eq(ms_steady_length_s(&REPEATED, 0.0, 20.0), 26.0);
    cr_assert_eq(ms_steady_date_s(&REPEATED, 11.0), 11.0);
    cr_assert_eq(ms_steady_date_s(&REPEATED, 12.0), 18.0);
}

enum { MICROBATCHES = 16 };

/* What is special about a pipeline. */
typedef struct pipeline {
    unsigned late_mbs; /* bits of the microbatches whose backward passes take a nanosecond more */
    double host_s[2];  /* time a rank's host takes to launch a pass */
    double first_s;    /* of a computation of the second rank before its first pass */
} pipeline;

static int32_t pass_work(ms_dag *dag, double time_s, double host_s) {
    ms_dag_work work = {.time_s = time_s,
                        .host_s = host_s,
                        .stands_for = 1,
                        .group_size = 1,
                        .tier = -1,
                        .tag = -1};
    return ms_dag_add_work(dag, &work);
}

/* Two ranks, forward passes on the first, each followed by a message and a backward pass on the
 * second. */
static void add_pipeline(ms_dag *dag, const pipeline *p) {
    case_init(dag, 2);
    int32_t link = ms_dag_add_link(dag, 1.0, 0, 0);
    int32_t stream = case_stream(dag);
    int32_t forward = pass_work(dag, 1.0, p->host_s[0]);
    int32_t backward = pass_work(dag, 2.0, p->host_s[1]);
    int32_t late = pass_work(dag, 2.0 + 1e-9, p->host_s[1]);
    int32_t message = case_p2p_work(dag, 0.25, link, 0.0, false);
    case_compute(dag, p->first_s, 1, -1);
    for (int32_t mb = 0; mb < MICROBATCHES; mb++) {
        ms_dag_op first = {.work = forward, .kind = MS_OP_FORWARD, .mb = mb, .layer = -1};
        ms_dag_op send = {
            .work = message, .kind = MS_OP_P2P, .axis = MS_AXIS_PP, .mb = mb, .layer = -1};
        ms_dag_op second = {.work = (p->late_mbs >> mb & 1) != 0 ? late : backward,
                            .kind = MS_OP_BACKWARD,
                            .stage = 1,
                            .mb = mb,
                            .layer = -1};
        int32_t op = ms_dag_add_op(dag, &first);
        ms_dag_add_member(dag, 0);
        ms_dag_add_dep(dag, mb < 2 ? -1 : op - 4); /* no more than two microbatches ahead */
        ms_dag_add_op(dag, &send);
        ms_dag_add_member(dag, stream);
        ms_dag_add_dep(dag, op);
        ms_dag_add_op(dag, &second);
        ms_dag_add_member(dag, 1);
        ms_dag_add_dep(dag, op + 1);
    }
    dag->repeat = (ms_dag_repeat){.mbs = 1, .times = 100, .ops_max = INT64_MAX};
}

Test(steady, a_pipeline_repeats_itself) {
    ms_dag dag;
    add_pipeline(&dag, &(pipeline){0});
    ms_steady found = case_fork(&dag, MS_FIDELITY_ANALYTIC)->timeline.steady;
    cr_assert_eq(found.of_step[0].times, 100);
    cr_assert_eq(found.of_step[0].mbs, 1);
    cr_assert_float_eq(found.of_step[0].period_s, 2.0, 1e-12);
    cr_assert_gt(found.of_step[0].from_s, 2.0);
    ms_dag_release(&dag);
}

Test(steady, passes_that_take_longer_now_and_then_are_no_steady_state) {
    ms_dag dag;
    add_pipeline(&dag, &(pipeline){.late_mbs = 1U << 3 | 1U << 4 | 1U << 8 | 1U << 10 | 1U << 13});
    ms_steady found = case_fork(&dag, MS_FIDELITY_ANALYTIC)->timeline.steady;
    cr_assert_eq(found.count, 0);
    cr_assert_eq(found.seen_mbs, 0);
    ms_dag_release(&dag);
}

Test(steady, periods_of_several_microbatches_are_found) {
    ms_dag dag;
    add_pipeline(&dag,
                 &(pipeline){.late_mbs = 0xAAAA}); /* two microbatches later all is the same */
    ms_steady found = case_fork(&dag, MS_FIDELITY_ANALYTIC)->timeline.steady;
    cr_assert_eq(found.of_step[0].times, 50);
    cr_assert_eq(found.of_step[0].mbs, 2);
    cr_assert_float_eq(found.of_step[0].period_s, 4.0 + 1e-9, 1e-13);
    dag.repeat.times = 101; /* which is no number of pairs */
    found = case_fork(&dag, MS_FIDELITY_ANALYTIC)->timeline.steady;
    cr_assert_eq(found.count, 0);
    cr_assert_eq(found.seen_mbs, 2);
    ms_dag_release(&dag);
}

static ms_steady found_of(const pipeline *p) {
    ms_dag dag;
    add_pipeline(&dag, p);
    ms_steady found = case_fork(&dag, MS_FIDELITY_ANALYTIC)->timeline.steady;
    ms_dag_release(&dag);
    return found;
}

/* Hosts that are ahead of their GPUs get farther and farther ahead, and nothing waits for them. */
Test(steady, hosts_may_run_ahead) {
    ms_steady found = found_of(&(pipeline){.host_s = {0.5, 0.5}});
    cr_assert_eq(found.of_step[0].times, 100);
    cr_assert_float_eq(found.of_step[0].period_s, 2.0, 1e-12);
}

Test(steady, a_gpu_may_wait_for_its_host_every_time) {
    ms_steady found = found_of(&(pipeline){.host_s = {0.5, 3.0}});
    cr_assert_eq(found.of_step[0].times, 100);
    cr_assert_float_eq(found.of_step[0].period_s, 3.0, 1e-12);
}

/* While the second rank computes for 40 s, the first one's host gets ahead. It takes 2.1 s for what
 * then is repeated every 2 s: after 400 microbatches it is late. */
Test(steady, a_host_that_falls_back_is_no_steady_state) {
    ms_steady found = found_of(&(pipeline){.host_s = {2.0, 0.5}, .first_s = 40.0});
    cr_assert_eq(found.of_step[0].times, 100);
    found = found_of(&(pipeline){.host_s = {2.1, 0.5}, .first_s = 40.0});
    cr_assert_eq(found.count, 0);
    cr_assert_eq(found.seen_mbs, 0);
}

Test(steady, each_step_has_a_stretch_of_its_own) {
    const ms_steady two = {.count = 2,
                           .of_step = {{.from_s = 10.0, .period_s = 2.0, .times = 3},
                                       {.from_s = 20.0, .period_s = 1.0, .times = 5}}};
    cr_assert_eq(ms_steady_count(&two, 11.0), 4.0);
    cr_assert_eq(ms_steady_count(&two, 15.0), 1.0);
    cr_assert_eq(ms_steady_count(&two, 20.5), 6.0);
    cr_assert_eq(ms_steady_length_s(&two, 11.0, 20.5), 9.5 + 3.0 + 2.5);
    cr_assert_eq(ms_steady_date_s(&two, 15.0), 21.0);
    cr_assert_eq(ms_steady_date_s(&two, 21.0), 32.0);
}

/* One operation of 1 s and more after the other, of two steps, which take longer each microbatch as
 * `late_s` says: whether that is stable. */
static bool is_stable(double (*late_s)(int mb)) {
    enum { OPS = 16 };
    ms_dag dag;
    case_init(&dag, 1);
    double start_s[OPS], end_s[OPS], late_start_s[OPS], late_end_s[OPS];
    for (int32_t mb = 0; mb < OPS; mb++) {
        case_compute(&dag, 1.0, 0, -1);
        start_s[mb] = mb;
        end_s[mb] = mb + 1.0;
        late_start_s[mb] = start_s[mb] + MS_STEADY_PERTURBATION * late_s(mb);
        late_end_s[mb] = end_s[mb] + MS_STEADY_PERTURBATION * late_s(mb + 1);
    }
    ms_diag diag;
    ms_diag_init_stderr(&diag);
    cr_assert_eq(ms_dag_finish(&dag, &diag), MS_OK);
    const ms_timeline timeline = {
        .op_count = OPS,
        .start_s = start_s,
        .end_s = end_s,
        .steady = {.count = 2,
                   .of_step = {{.from_s = 3.9, .period_s = 1.0, .mbs = 1, .times = 9},
                               {.from_s = 11.9, .period_s = 1.0, .mbs = 1, .times = 9}}}};
    const ms_timeline perturbed = {.op_count = OPS, .start_s = late_start_s, .end_s = late_end_s};
    ms_arena arena;
    ms_arena_init(&arena);
    bool is = false;
    cr_assert_eq(ms_steady_test(&dag, &timeline, &perturbed, &arena, &is), MS_OK);
    ms_arena_release(&arena);
    ms_dag_release(&dag);
    return is;
}

static double late_by_as_much(int mb) {
    return 0.7 * mb;
}
static double late_by_double(int mb) {
    return 0.01 * ldexp(1.0, mb);
}
static double late_by_thousands(int mb) {
    return 4000.0 * mb;
}

/* Where a period grows by what its operations are late, rounding will not lead away from it. */
Test(steady, stands_firm_where_delays_do_not_grow) {
    cr_assert(is_stable(late_by_as_much));
    cr_assert_not(is_stable(late_by_double));
    cr_assert_not(is_stable(late_by_thousands));
}

static double late_between(int mb) {
    return 0.7 * mb + (mb == 8 || mb == 9 ? 4000.0 : 0.0);
}

/* Operations between the repeated periods of two steps run at other dates in the whole job. */
Test(steady, stands_firm_where_delays_do_not_grow_from_step_to_step) {
    cr_assert_not(is_stable(late_between));
}

static double late_in_turns(int mb) {
    return 0.3 * mb + (mb % 2 == 0 ? 0.1 : 0.0);
}
static double late_in_growing_turns(int mb) {
    return 0.3 * mb + (mb % 2 == 0 ? 0.1 : 0.0) * pow(1.1, mb);
}

/* One period late, the next not: two of them together are late by the same. */
Test(steady, stands_firm_where_periods_are_late_in_turns) {
    cr_assert(is_stable(late_in_turns));
    cr_assert_not(is_stable(late_in_growing_turns));
}

Test(steady, works_inside_pieces_count_for_the_share_of_their_ranks) {
    ms_dag dag;
    case_init(&dag, 1);
    ms_dag_add_rank(&dag, 1, 3, 0); /* the operation stands for one of four ranks */
    int32_t compute = case_compute_work(&dag, 3.0);
    int32_t fused = ms_dag_add_fused_pass(&dag);
    for (int i = 0; i < 2; i++) {
        ms_dag_add_part(&dag, &(ms_dag_part){.work = compute, .communicator = -1});
    }
    int32_t whole =
        ms_dag_add_work(&dag, &(ms_dag_work){.stands_for = 1, .tier = -1, .fused = fused + 1});
    case_op(&dag, whole, 0, -1);
    ms_diag diag;
    ms_diag_init_stderr(&diag);
    cr_assert_eq(ms_dag_finish(&dag, &diag), MS_OK);
    double counts[2] = {0.0};
    double start_s = 10.5;
    const ms_timeline timeline = {.op_count = 1, .start_s = &start_s, .steady = REPEATED};
    ms_timeline_count_works(&dag, &timeline, counts);
    cr_assert_float_eq(counts[whole], 4 * 0.25, 1e-12);
    cr_assert_float_eq(counts[compute], 4 * 0.5, 1e-12);
    ms_dag_release(&dag);
}
