/* What communication adds to computations, of computations that begin late. */
#include "dag_fixture.h"
#include "simulate/metrics/metrics.h"

static ms_metrics compute(dag_fixture *f) {
    ms_metrics metrics;
    cr_assert_eq(ms_metrics_compute(&f->dag, &f->timeline, &f->arena, &f->diag, &metrics), MS_OK);
    return metrics;
}

static void reduce_beside(dag_fixture *f, double transfer_s, int32_t after) {
    fixture_add_comm(f, &(fixture_comm){.axis = MS_AXIS_DP,
                                        .kind = MS_COLL_ALL_REDUCE,
                                        .transfer_s = transfer_s,
                                        .group_size = 2});
    fixture_join(f, 0, MS_AXIS_DP, after);
}

/* Forward passes of 2, 3 and 1 s one after the other, nothing beside them: none is slowed down,
 * however late it begins. */
Test(slowed, nothing_where_nothing_runs_beside) {
    dag_fixture f;
    fixture_init(&f);
    f.dag.network.compute_slowdown[MS_COLL_ALL_REDUCE] = 2.0;
    fixture_rank(&f, 0, 1);
    int32_t first = fixture_work(&f, 0, MS_OP_FORWARD, 2.0, -1);
    int32_t second = fixture_work(&f, 0, MS_OP_FORWARD, 3.0, first);
    fixture_work(&f, 0, MS_OP_BACKWARD, 1.0, second);
    fixture_run(&f);
    ms_metrics m = compute(&f);
    cr_assert_float_eq(m.step_time_s, 6.0, 1e-12);
    cr_assert_eq(m.ranks[0].slowed_s, 0.0, "%g", m.ranks[0].slowed_s);
    cr_assert_eq(m.slowed_share, 0.0, "%g", m.slowed_share);
    cr_assert_float_eq(m.ranks[0].time_s[MS_TIME_COMPUTE], 6.0, 1e-12);
    fixture_release(&f);
}

/* 2 s alone; then work of 4 s, the first 2 s of which an all-reduce at factor 2 runs beside: 1 s of
 * it is done until 4 s, the rest until 7 s. */
Test(slowed, what_runs_beside_the_second_pass) {
    dag_fixture f;
    fixture_init(&f);
    f.dag.network.compute_slowdown[MS_COLL_ALL_REDUCE] = 2.0;
    fixture_rank(&f, 0, 1);
    int32_t first = fixture_work(&f, 0, MS_OP_FORWARD, 2.0, -1);
    reduce_beside(&f, 2.0, first);
    fixture_work(&f, 0, MS_OP_BACKWARD, 4.0, first);
    fixture_run(&f);
    ms_metrics m = compute(&f);
    cr_assert_float_eq(m.step_time_s, 7.0, 1e-12);
    cr_assert_float_eq(m.ranks[0].slowed_s, 1.0, 1e-12, "%g", m.ranks[0].slowed_s);
    cr_assert_float_eq(m.slowed_share, 1.0 / 7.0, 1e-12, "%g", m.slowed_share);
    cr_assert_float_eq(m.ranks[0].axes[MS_AXIS_DP].overlapped_s, 2.0, 1e-12);
    cr_assert_float_eq(m.ranks[0].axes[MS_AXIS_DP].exposed_s, 0.0, 1e-12);
    fixture_release(&f);
}

/* An all-reduce beside the update: overlapped with it as with passes. */
Test(slowed, the_update_hides_communication_as_passes_do) {
    dag_fixture f;
    fixture_init(&f);
    fixture_rank(&f, 0, 1);
    int32_t first = fixture_work(&f, 0, MS_OP_BACKWARD, 2.0, -1);
    reduce_beside(&f, 3.0, first);
    fixture_work(&f, 0, MS_OP_OPTIMIZER, 1.0, first);
    fixture_run(&f);
    ms_metrics m = compute(&f);
    cr_assert_float_eq(m.step_time_s, 5.0, 1e-12);
    const ms_axis_use *use = &m.ranks[0].axes[MS_AXIS_DP];
    cr_assert_float_eq(use->busy_s, 3.0, 1e-12);
    cr_assert_float_eq(use->overlapped_s, 1.0, 1e-12, "%g", use->overlapped_s);
    cr_assert_float_eq(use->busy_s, use->exposed_s + use->overlapped_s + use->in_idle_s, 1e-12);
    cr_assert_float_eq(m.ranks[0].time_s[MS_TIME_OPTIMIZER], 1.0, 1e-12);
    fixture_release(&f);
}
