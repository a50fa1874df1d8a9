/* Rows of collectives, by hand: which are one row, how often a rank runs them, and what they take
 * with other groups on their link, alone, and without any bytes. */
#include "dag_fixture.h"
#include "estimate/advice.h"
#include "simulate/metrics/metrics.h"

static ms_metrics compute(dag_fixture *f) {
    ms_metrics metrics;
    cr_assert_eq(ms_metrics_compute(&f->dag, &f->timeline, &f->arena, &f->diag, &metrics), MS_OK);
    return metrics;
}

static const double LATENCY_S = 0.5;

/* An all-reduce of `bytes` on rank 0 whose link is shared by `groups` of its kind. */
static int32_t add_shared(dag_fixture *f, ms_axis axis, double bytes, int groups, int32_t after) {
    int32_t op = fixture_add_comm(f, &(fixture_comm){.axis = axis,
                                                     .kind = MS_COLL_ALL_REDUCE,
                                                     .latency_s = LATENCY_S,
                                                     .bytes = bytes,
                                                     .size_B = bytes,
                                                     .group_size = 8});
    ms_dag_add_flow(&f->dag, bytes);
    ms_dag_add_crossing(&f->dag, 0, groups, 1);
    fixture_join(f, 0, axis, after);
    return op;
}

/* Two all-reduces of 2 B on a link of 1 B/s that four groups share, one of 3 B by itself, and one
 * of another axis: rows by axis, kind and size, in order of first use. */
Test(collective_rows, have_what_one_takes_with_others_and_alone) {
    dag_fixture f;
    fixture_init(&f);
    fixture_rank(&f, 0, 1);
    int32_t a = add_shared(&f, MS_AXIS_TP, 2.0, 4, -1);
    int32_t b = add_shared(&f, MS_AXIS_TP, 3.0, 1, a);
    int32_t c = add_shared(&f, MS_AXIS_TP, 2.0, 4, b);
    add_shared(&f, MS_AXIS_DP, 2.0, 4, c);
    fixture_run(&f);
    ms_metrics m = compute(&f);
    cr_assert_eq(m.collective_count, 3);
    const ms_coll_row *first = &m.collectives[0];
    cr_assert_eq(first->axis, MS_AXIS_TP);
    cr_assert_eq(first->kind, MS_COLL_ALL_REDUCE);
    cr_assert_eq(first->group_size, 8);
    cr_assert_eq(first->size_B, 2.0);
    cr_assert_float_eq(first->count_per_rank, 2.0, 1e-12);
    cr_assert_float_eq(first->ranks, 1.0, 1e-12);
    cr_assert_float_eq(first->alone_s, 2.5, 1e-12, "%g", first->alone_s);
    cr_assert_float_eq(first->latency_s, 0.5, 1e-12, "%g", first->latency_s);
    cr_assert_float_eq(first->time_s, 2.5, 1e-12, "in closed form each group is alone: %g",
                       first->time_s);
    cr_assert_float_eq(m.collectives[1].size_B, 3.0, 1e-12);
    cr_assert_float_eq(m.collectives[1].count_per_rank, 1.0, 1e-12);
    cr_assert_float_eq(m.collectives[1].alone_s, 3.5, 1e-12);
    cr_assert_float_eq(m.collectives[1].latency_s, 0.5, 1e-12);
    cr_assert_eq(m.collectives[2].axis, MS_AXIS_DP);
    cr_assert_float_eq(m.axes[MS_AXIS_TP].bytes, 7.0, 1e-12);
    cr_assert_float_eq(m.axes[MS_AXIS_DP].bytes, 2.0, 1e-12);
    fixture_release(&f);
}

/* Other algorithms, protocols, tiers and sizes of groups are other rows. */
Test(collective_rows, of_one_sort_are_one_row) {
    dag_fixture f;
    fixture_init(&f);
    fixture_rank(&f, 0, 1);
    int32_t ops[6], last = -1;
    for (int i = 0; i < 6; i++) {
        ops[i] = last = add_shared(&f, MS_AXIS_TP, 2.0, 1, last);
    }
    fixture_run(&f);
    for (int i = 0; i < 6; i++) {
        ms_dag_work *work = &f.dag.works[f.dag.ops[ops[i]].work];
        work->algorithm = i == 1 ? MS_ALGORITHM_TREE : MS_ALGORITHM_RING;
        work->protocol = i == 2 ? MS_PROTOCOL_LL : MS_PROTOCOL_AUTO;
        work->tier = i == 3 ? 1 : 0;
        work->group_size = i == 4 ? 4 : 8;
    }
    ms_metrics m = compute(&f);
    cr_assert_eq(m.collective_count, 5, "%d rows", m.collective_count);
    cr_assert_float_eq(m.collectives[0].count_per_rank, 2.0, 1e-12, "the first and the last");
    cr_assert_eq(m.collectives[1].algorithm, MS_ALGORITHM_TREE);
    cr_assert_eq(m.collectives[2].protocol, MS_PROTOCOL_LL);
    cr_assert_eq(m.collectives[3].tier, 1);
    cr_assert_eq(m.collectives[4].group_size, 4);
    fixture_release(&f);
}

static void keep(void *context, const char *text) {
    ms_buffer_puts(context, text);
}

/* Rings of 0.8 s of which 0.6 s are latency, exposed for 2 s of 10: three quarters of that is
 * latency. What an axis hides does not count, nor do trees and pairs. */
Test(collective_rows, latency_of_rings_is_advised_of_what_is_exposed) {
    ms_coll_row rows[] = {{.axis = MS_AXIS_TP,
                           .kind = MS_COLL_ALL_REDUCE,
                           .algorithm = MS_ALGORITHM_RING,
                           .group_size = 8,
                           .size_B = 1024,
                           .count_per_rank = 5,
                           .time_s = 0.8,
                           .alone_s = 0.8,
                           .latency_s = 0.6}};
    ms_metrics metrics = {.step_time_s = 10.0, .collectives = rows, .collective_count = 1};
    ms_buffer said;
    ms_diag diag;
    ms_buffer_init(&said);
    ms_diag_init(&diag, keep, &said);
    metrics.axes[MS_AXIS_TP].exposed_s = 2.0;
    ms_advise_latency(&metrics, &diag);
    cr_assert_not_null(strstr(ms_buffer_text(&said),
                              "15.0 % of the step waits for rings whose time is mostly latency: "
                              "tp all_reduce of 1 KiB among 8 (75 %)"),
                       "%s", ms_buffer_text(&said));
    static const struct {
        int algorithm, protocol, members;
        double exposed_s, latency_s;
    } SILENT[] = {{MS_ALGORITHM_TREE, MS_PROTOCOL_AUTO, 8, 2.0, 0.6},
                  {MS_ALGORITHM_RING, MS_PROTOCOL_LL, 8, 2.0, 0.6},
                  {MS_ALGORITHM_RING, MS_PROTOCOL_AUTO, 2, 2.0, 0.6},
                  {MS_ALGORITHM_RING, MS_PROTOCOL_AUTO, 8, 0.0, 0.6},
                  {MS_ALGORITHM_RING, MS_PROTOCOL_AUTO, 8, 2.0, 0.4}};
    for (size_t i = 0; i < sizeof SILENT / sizeof SILENT[0]; i++) {
        ms_buffer_release(&said);
        rows[0].algorithm = SILENT[i].algorithm;
        rows[0].protocol = SILENT[i].protocol;
        rows[0].group_size = SILENT[i].members;
        rows[0].latency_s = SILENT[i].latency_s;
        metrics.axes[MS_AXIS_TP].exposed_s = SILENT[i].exposed_s;
        ms_advise_latency(&metrics, &diag);
        cr_assert_str_empty(ms_buffer_text(&said), "%zu: %s", i, ms_buffer_text(&said));
    }
    ms_buffer_release(&said);
}
