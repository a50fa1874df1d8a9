/* Several optimizer steps in one timeline. */
#include "dag_fixture.h"
#include "simulate/metrics/metrics.h"

static ms_metrics compute(dag_fixture *f) {
    ms_metrics metrics;
    cr_assert_eq(ms_metrics_compute(&f->dag, &f->timeline, &f->arena, &f->diag, &metrics), MS_OK);
    return metrics;
}

static void expect_time(const ms_metrics *metrics, int rank, const double *expected_s) {
    for (int c = 0; c < MS_TIME_COUNT; c++) {
        cr_assert_float_eq(metrics->ranks[rank].time_s[c], expected_s[c], 1e-12, "rank %d, %s: %g",
                           rank, ms_time_category_name((ms_time_category)c),
                           metrics->ranks[rank].time_s[c]);
    }
}

#define EXPECT_TIME(metrics, rank, ...)                                                            \
    expect_time(metrics, rank, (const double[MS_TIME_COUNT]){__VA_ARGS__})

static int32_t add_pass(dag_fixture *f, int rank, ms_op_kind kind, double time_s, int32_t dep) {
    return fixture_add_compute(
        f,
        &(fixture_compute){
            .rank = rank, .kind = kind, .stage = rank, .time_s = time_s, .flop = 10.0 * time_s},
        dep);
}

/* One microbatch per step on two pipeline ranks; messages of half a second. `meet`: the ranks wait
 * for each other for a second at each step's end, then update. */
static void add_steps(dag_fixture *f, int steps, bool meet) {
    int32_t ends[2] = {-1, -1};
    fixture_init(f);
    fixture_rank(f, 0, 1);
    fixture_rank(f, 1, 3);
    for (int step = 0; step < steps; step++) {
        ms_dag_begin_step(&f->dag);
        int32_t forward = add_pass(f, 0, MS_OP_FORWARD, 1.0, ends[0]);
        int32_t there = fixture_p2p(f, &(fixture_message){0, 1, 0.25, 0.25}, forward);
        int32_t next = add_pass(f, 1, MS_OP_FORWARD, 2.0, there);
        ms_dag_add_dep(&f->dag, ends[1]);
        ends[1] = add_pass(f, 1, MS_OP_BACKWARD, 2.0, next);
        int32_t back = fixture_p2p(f, &(fixture_message){1, 0, 0.25, 0.25}, ends[1]);
        ends[0] = add_pass(f, 0, MS_OP_BACKWARD, 1.0, back);
        if (meet) {
            fixture_comm norm = {.axis = MS_AXIS_OTHER,
                                 .kind = MS_COLL_ALL_REDUCE,
                                 .latency_s = 1.0,
                                 .bytes = 4.0,
                                 .size_B = 4.0,
                                 .group_size = 2};
            int32_t all = fixture_add_comm(f, &norm);
            fixture_join(f, 0, MS_AXIS_OTHER, ends[0]);
            fixture_join(f, 1, MS_AXIS_OTHER, ends[1]);
            for (int r = 0; r < 2; r++) {
                ends[r] = add_pass(f, r, MS_OP_OPTIMIZER, 1.0, all);
            }
        }
    }
    fixture_run(f);
}

/*  rank 0  F.|            |B.|F.|            |B.|     F 0-1, B 6-7; F 7-8, B 13-14; ...
 *  rank 1     |F..|B..|         |F..|B..|             F 1.5-3.5, B 3.5-5.5; F 8.5-10.5, ... */
Test(steps, ranks_that_do_not_meet_are_measured_up_to_their_own_end) {
    dag_fixture f;
    add_steps(&f, 3, false);
    ms_metrics m = compute(&f);
    cr_assert_eq(m.step_count, 3);
    for (int step = 0; step < 3; step++) {
        cr_assert_float_eq(m.steps[step].start_s, 7.0 * step, 1e-12);
        cr_assert_float_eq(m.steps[step].end_s, 7.0 * (step + 1), 1e-12);
    }
    cr_assert_float_eq(m.step_time_s, 7.0, 1e-12);
    EXPECT_TIME(
        &m, 0, [MS_TIME_COMPUTE] = 2.0, [MS_TIME_BUBBLE_WARMUP] = 4.5, [MS_TIME_EXPOSED_PP] = 0.5);
    /* what lies between its steps belongs to the warm-up of the second */
    EXPECT_TIME(
        &m, 1, [MS_TIME_COMPUTE] = 4.0, [MS_TIME_BUBBLE_WARMUP] = 2.5, [MS_TIME_EXPOSED_PP] = 0.5);
    cr_assert_float_eq(m.critical_s[MS_TIME_COMPUTE], 6.0, 1e-12);
    cr_assert_float_eq(m.critical_s[MS_TIME_EXPOSED_PP], 1.0, 1e-12);
    cr_assert_float_eq(m.ranks[0].axes[MS_AXIS_PP].bytes, 0.25, 1e-12);
    cr_assert_float_eq(m.ranks[0].axes[MS_AXIS_PP].busy_s, 1.0, 1e-12);
    cr_assert_eq(m.collective_count, 1);
    cr_assert_float_eq(m.collectives[0].count_per_rank, 1.0, 1e-12);
    fixture_release(&f);
}

/* Of several steps each has all that one alone has, its waits for the other rank's passes and for
 * the norm. */
Test(steps, ranks_that_meet_repeat_the_only_step) {
    dag_fixture one;
    dag_fixture many;
    add_steps(&one, 1, true);
    add_steps(&many, 4, true);
    ms_metrics a = compute(&one);
    ms_metrics b = compute(&many);
    cr_assert_float_eq(a.step_time_s, 9.0, 1e-12);
    cr_assert_float_eq(b.step_time_s, 9.0, 1e-12);
    cr_assert_float_eq(b.steps[3].start_s, 27.0, 1e-12);
    for (int c = 0; c < MS_TIME_COUNT; c++) {
        cr_assert_float_eq(a.share[c], b.share[c], 1e-12, "%s: %g, %g",
                           ms_time_category_name((ms_time_category)c), a.share[c], b.share[c]);
        cr_assert_float_eq(a.critical_s[c], b.critical_s[c], 1e-12);
    }
    for (int axis = 0; axis < MS_AXIS_COUNT; axis++) {
        const ms_axis_use *x = &a.axes[axis];
        const ms_axis_use *y = &b.axes[axis];
        cr_assert_float_eq(x->bytes, y->bytes, 1e-12);
        cr_assert_float_eq(x->busy_s, y->busy_s, 1e-12);
        cr_assert_float_eq(x->wait_s, y->wait_s, 1e-12);
    }
    for (int i = 0; i < a.collective_count; i++) {
        cr_assert_float_eq(a.collectives[i].count_per_rank, b.collectives[i].count_per_rank, 1e-12);
    }
    fixture_release(&one);
    fixture_release(&many);
}

/* Two stages of one microbatch in a few steps. Each step begins with the gather of the stage's
 * parameters, which takes 2 s with the one link to itself, as with `overlap_gather`; a forward pass
 * of 1 s and a norm of 1 s follow, then the updates of the two stages.  Returns the step time. */
static double gathered_step_s(int steps, ms_fidelity fidelity, const double update_s[2]) {
    dag_fixture f;
    int32_t ends[2] = {-1, -1};
    const fixture_comm gather = {.axis = MS_AXIS_DP,
                                 .kind = MS_COLL_ALL_GATHER,
                                 .transfer_s = 2.0,
                                 .bytes = 2.0,
                                 .size_B = 4.0,
                                 .group_size = 2};
    const fixture_comm norm = {.axis = MS_AXIS_OTHER,
                               .kind = MS_COLL_ALL_REDUCE,
                               .latency_s = 1.0,
                               .bytes = 4.0,
                               .size_B = 4.0,
                               .group_size = 2};
    fixture_init(&f);
    fixture_rank(&f, 0, 1);
    fixture_rank(&f, 1, 1);
    for (int step = 0; step < steps; step++) {
        ms_dag_begin_step(&f.dag);
        for (int r = 0; r < 2; r++) {
            int32_t gathered = fixture_add_comm(&f, &gather);
            fixture_join(&f, r, MS_AXIS_DP, ends[r]);
            ends[r] = add_pass(&f, r, MS_OP_FORWARD, 1.0, gathered);
        }
        int32_t all = fixture_add_comm(&f, &norm);
        for (int r = 0; r < 2; r++) {
            fixture_join(&f, r, MS_AXIS_OTHER, ends[r]);
        }
        for (int r = 0; r < 2; r++) {
            ends[r] = add_pass(&f, r, MS_OP_OPTIMIZER, update_s[r], all);
        }
    }
    cr_assert_eq(ms_dag_finish(&f.dag, &f.diag), MS_OK);
    cr_assert_eq(ms_engine_run(&f.dag, fidelity, MS_SOLVER_MAXMIN, &f.arena, &f.diag, &f.timeline),
                 MS_OK);
    double step_s = compute(&f).step_time_s;
    fixture_release(&f);
    return step_s;
}

/* The example of sim/simulate/metrics/steps.md. A first step: both gathers share the link until 4,
 * forward until 5, norm until 6, updates until 7 and 9. Each later step, from the norm's end on:
 * stage 0 updates until 1, gathers until 3; stage 1 updates until 3, gathers until 5; forward until
 * 6, norm until 7. With equal updates the gathers share the link in each step; where nothing
 * shares, they take 2 s in each. */
Test(steps, gathers_of_a_first_step_begin_together) {
    static const double UNEQUAL_S[2] = {1.0, 3.0};
    static const double EQUAL_S[2] = {2.0, 2.0};
    cr_assert_float_eq(gathered_step_s(1, MS_FIDELITY_FLOW, UNEQUAL_S), 9.0, 1e-9);
    cr_assert_float_eq(gathered_step_s(2, MS_FIDELITY_FLOW, UNEQUAL_S), 7.0, 1e-9);
    cr_assert_float_eq(gathered_step_s(5, MS_FIDELITY_FLOW, UNEQUAL_S), 7.0, 1e-9);
    for (int steps = 1; steps <= 3; steps++) {
        cr_assert_float_eq(gathered_step_s(steps, MS_FIDELITY_FLOW, EQUAL_S), 8.0, 1e-9);
        cr_assert_float_eq(gathered_step_s(steps, MS_FIDELITY_ANALYTIC, UNEQUAL_S), 7.0, 1e-9);
    }
}
