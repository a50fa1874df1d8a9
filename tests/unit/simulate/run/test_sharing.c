/* Two all-reduces over the same links at once: flow fidelity shares the links, analytic fidelity
 * does not see that. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>

#include "collective/collective.h"
#include "plan_fixture.h"
#include "platform_fixture.h"
#include "simulate/engine/engine.h"

static const double SIZE_B = 1e9;

static void add_work(ms_dag *dag, const ms_platform *platform, const ms_coll_plan *plan) {
    ms_dag_work work = {.bytes = plan->sent_B,
                        .size_B = plan->size_B,
                        .stands_for = 1,
                        .group_size = plan->members,
                        .coll = (uint8_t)plan->kind,
                        .is_communication = true,
                        .tag = -1};
    const ms_flow *flow = &plan->phases[0].flows[0];
    int32_t first = 0;
    for (int i = 0; i < flow->count; i++) {
        int32_t link = ms_dag_add_link(
            dag, ms_platform_link(platform, flow->links[i].link).capacity_Bps, i, 0);
        first = i == 0 ? link : first;
    }
    ms_dag_add_work(dag, &work);
    ms_dag_add_phase(dag, plan->phases[0].latency_s);
    ms_dag_add_flow(dag, flow->bytes);
    for (int i = 0; i < flow->count; i++) {
        ms_dag_add_crossing(dag, first + i, flow->links[i].weight, flow->links[i].weight);
    }
}

/* Both communicators of the same eight GPUs start at once; the second reduces `second_B` more often
 * than the first. */
static ms_timeline run_pair(ms_fidelity fidelity, platform_fixture *f, ms_dag *dag,
                            ms_coll_plan *plan) {
    fixture_platform(f, "dgx-a100", "{library: none}");
    const int gpus[] = {0, 1, 2, 3, 4, 5, 6, 7};
    ms_coll_request request = {
        .kind = MS_COLL_ALL_REDUCE, .gpus = gpus, .members = 8, .size_B = SIZE_B};
    cr_assert_eq(ms_coll_plan_build(&f->platform, &request, &f->arena, plan), MS_OK);
    ms_dag_init(dag);
    int32_t rank = ms_dag_add_rank(dag, 0, 1, 0);
    add_work(dag, &f->platform, plan);
    for (int i = 0; i < 2; i++) {
        int32_t stream = ms_dag_add_stream(dag, rank, -1, i == 0 ? MS_AXIS_TP : MS_AXIS_DP);
        /* the first communicator reduces once, the second twice */
        for (int times = 0; times <= i; times++) {
            ms_dag_op op = {.mb = -1,
                            .stage = -1,
                            .chunk = -1,
                            .layer = -1,
                            .kind = MS_OP_ALL_REDUCE,
                            .axis = (uint8_t)(i == 0 ? MS_AXIS_TP : MS_AXIS_DP)};
            ms_dag_add_op(dag, &op);
            ms_dag_add_member(dag, stream);
        }
    }
    cr_assert_eq(ms_dag_finish(dag, &f->diag), MS_OK);
    ms_timeline timeline;
    cr_assert_eq(ms_engine_run(dag, fidelity, MS_SOLVER_SIMGRID, &f->arena, &f->diag, &timeline),
                 MS_OK);
    return timeline;
}

Test(sharing, two_all_reduces_get_half_each_while_both_run) {
    platform_fixture f;
    ms_dag dag;
    ms_coll_plan plan;
    ms_timeline t = run_pair(MS_FIDELITY_FLOW, &f, &dag, &plan);
    double latency_s = plan.phases[0].latency_s;
    double transfer_s = fixture_plan_time_s(&f, &plan) - latency_s;
    /* the first pair shares until both end together; the third runs alone */
    cr_assert_lt(fabs(t.end_s[0] / (2 * transfer_s + latency_s) - 1), 1e-6, "%g", t.end_s[0]);
    cr_assert_lt(fabs(t.end_s[1] / (2 * transfer_s + latency_s) - 1), 1e-6);
    cr_assert_lt(fabs((t.end_s[2] - t.start_s[2]) / (transfer_s + latency_s) - 1), 1e-6);
    ms_dag_release(&dag);
    fixture_release(&f);
}

Test(sharing, analytic_fidelity_does_not_see_it) {
    platform_fixture f;
    ms_dag dag;
    ms_coll_plan plan;
    ms_timeline t = run_pair(MS_FIDELITY_ANALYTIC, &f, &dag, &plan);
    double alone_s = fixture_plan_time_s(&f, &plan);
    cr_assert_lt(fabs(t.end_s[0] / alone_s - 1), 1e-12);
    cr_assert_lt(fabs(t.end_s[1] / alone_s - 1), 1e-12);
    cr_assert_lt(fabs(t.end_s[2] / (2 * alone_s) - 1), 1e-12);
    ms_dag_release(&dag);
    fixture_release(&f);
}

/* A lone all-reduce takes its closed form, in either fidelity: 2(n-1) latency + 2(n-1)/n S/B. */
static ms_fidelity FIDELITIES[] = {MS_FIDELITY_ANALYTIC, MS_FIDELITY_FLOW};

ParameterizedTestParameters(sharing, lone_all_reduce) {
    return cr_make_param_array(ms_fidelity, FIDELITIES, 2);
}

ParameterizedTest(ms_fidelity *fidelity, sharing, lone_all_reduce) {
    platform_fixture f;
    fixture_platform(&f, "dgx-a100", "{library: none}");
    const int gpus[] = {0, 1, 2, 3, 4, 5, 6, 7};
    ms_coll_request request = {
        .kind = MS_COLL_ALL_REDUCE, .gpus = gpus, .members = 8, .size_B = SIZE_B};
    ms_coll_plan plan;
    cr_assert_eq(ms_coll_plan_build(&f.platform, &request, &f.arena, &plan), MS_OK);
    ms_dag dag;
    ms_dag_init(&dag);
    int32_t stream = ms_dag_add_stream(&dag, ms_dag_add_rank(&dag, 0, 1, 0), -1, MS_AXIS_TP);
    add_work(&dag, &f.platform, &plan);
    ms_dag_op op = {.mb = -1,
                    .stage = -1,
                    .chunk = -1,
                    .layer = -1,
                    .kind = MS_OP_ALL_REDUCE,
                    .axis = MS_AXIS_TP};
    ms_dag_add_op(&dag, &op);
    ms_dag_add_member(&dag, stream);
    cr_assert_eq(ms_dag_finish(&dag, &f.diag), MS_OK);
    ms_timeline t;
    cr_assert_eq(ms_engine_run(&dag, *fidelity, MS_SOLVER_SIMGRID, &f.arena, &f.diag, &t), MS_OK);
    double expected_s = 14 * 3.4e-6 + 1.75 * SIZE_B / (300e9 * 0.803);
    cr_assert_lt(fabs(t.makespan_s / expected_s - 1), 1e-6, "%g against %g", t.makespan_s,
                 expected_s);
    ms_dag_release(&dag);
    fixture_release(&f);
}
