/* One collective at many sizes: which sizes, what the rows hold, what is warned of. */
#include <math.h>

#include "platform_fixture.h"
#include "search/coll_sizes.h"

static void check_sizes(const ms_sizes_study *study, const double *expected, int count) {
    cr_assert_eq(study->count, count);
    for (int i = 0; i < count; i++) {
        cr_assert_float_eq(study->sizes_B[i], expected[i], 0.0, "size %d", i);
    }
}

Test(coll_sizes, whole_bytes_by_a_factor) {
    ms_sizes_study study = {.count = 0};
    cr_assert_eq(ms_sizes_set(&study, 1, 8, 2), MS_OK);
    check_sizes(&study, (const double[]){1, 2, 4, 8}, 4);
    cr_assert_eq(ms_sizes_set(&study, 10, 23, 1.5), MS_OK);
    check_sizes(&study, (const double[]){10, 15, 22}, 3);
    cr_assert_eq(ms_sizes_set(&study, 7, 7, 1e9), MS_OK);
    check_sizes(&study, (const double[]){7}, 1);
}

Test(coll_sizes, no_more_than_fit) {
    ms_sizes_study study = {.count = 0};
    cr_assert_eq(ms_sizes_set(&study, 1, ldexp(1, MS_SIZES_MAX - 1), 2), MS_OK);
    cr_assert_eq(study.count, MS_SIZES_MAX);
    cr_assert_eq(ms_sizes_set(&study, 1, ldexp(1, MS_SIZES_MAX), 2), MS_E_RANGE);
    cr_assert_eq(study.count, 0, "sets none");
}

/* A study of three sizes by the closed form. */
static ms_sizes_result simulate(platform_fixture *f, ms_sizes_study *study) {
    ms_sizes_result result;
    study->platform = &f->platform;
    study->fidelity = MS_FIDELITY_ANALYTIC;
    cr_assert_eq(ms_sizes_set(study, 1e6, 1e8, 10), MS_OK);
    cr_assert_eq(ms_sizes_simulate(study, &f->arena, &f->diag, &result), MS_OK, "%s",
                 ms_buffer_text(&f->messages));
    return result;
}

/* A ring of 16 on one switch: 30 steps of 1 us, and 30/16 of the buffer at 25 GB/s. */
Test(coll_sizes, rows_of_a_ring) {
    platform_fixture f;
    fixture_platform(&f, "flat", NULL);
    ms_sizes_study study = {.kind = MS_COLL_ALL_REDUCE, .ranks = 16};
    ms_sizes_result result = simulate(&f, &study);
    cr_assert_eq(result.algorithm, MS_ALGORITHM_RING);
    cr_assert_eq(result.ops, 3);
    cr_assert_eq(result.simulated_ranks, 1, "one rank stands for all");
    for (int i = 0; i < 3; i++) {
        const ms_size_row *row = &result.rows[i];
        double time_s = 30e-6 + 30.0 / 16 * row->size_B / 25e9;
        cr_assert_float_eq(row->size_B, 1e6 * pow(10, i), 0.0);
        cr_assert_float_eq(row->time_s, time_s, 1e-12);
        cr_assert_float_eq(row->latency_s, 30e-6, 1e-15);
        cr_assert_float_eq(row->algbw_Bps, row->size_B / time_s, 1e-3);
        cr_assert_float_eq(row->busbw_Bps, 30.0 / 16 * row->size_B / time_s, 1e-3);
        cr_assert_str_eq(row->algorithm_name, "ring");
        cr_assert_str_eq(row->protocol, "simple");
    }
    fixture_release(&f);
}

Test(coll_sizes, what_takes_no_time_has_no_bandwidth) {
    platform_fixture f;
    fixture_platform(&f, "ideal", NULL);
    ms_sizes_study study = {.kind = MS_COLL_P2P, .ranks = 2};
    ms_sizes_result result = simulate(&f, &study);
    cr_assert(isinf(result.rows[0].algbw_Bps) && isinf(result.rows[0].busbw_Bps));
    fixture_release(&f);
}

/* The library takes a tree for a small all-reduce among eight nodes, a ring for a large one. */
Test(coll_sizes, rows_name_the_algorithm_that_each_had) {
    platform_fixture f;
    fixture_platform(&f, "dgx-a100", "nodes: 8");
    ms_sizes_study study = {.kind = MS_COLL_ALL_REDUCE, .ranks = 64};
    ms_sizes_result result = simulate(&f, &study);
    cr_assert_str_eq(result.rows[0].algorithm_name, "tree");
    cr_assert_str_eq(result.rows[2].algorithm_name, "ring");
    cr_assert_eq(result.algorithm, MS_ALGORITHM_AUTO, "they differ");
    fixture_release(&f);
}

Test(coll_sizes, refusals_are_reported) {
    platform_fixture f;
    fixture_platform(&f, "dgx-h100", "{nodes: 1024, routing: ecmp}");
    ms_sizes_study study = {.platform = &f.platform, .kind = MS_COLL_ALL_TO_ALL, .ranks = 8192};
    ms_sizes_result result;
    cr_assert_eq(ms_sizes_set(&study, 1, 1, 2), MS_OK);
    cr_assert_eq(ms_sizes_simulate(&study, &f.arena, &f.diag, &result), MS_E_INPUT);
    cr_assert_not_null(strstr(ms_buffer_text(&f.messages), "8192 ranks is not laid out"));
    fixture_release(&f);
}

/* Three rows of 2 us: the whole of the first is latency, all but half of the second. */
static const ms_size_row ROWS[] = {
    {.size_B = 1024,
     .time_s = 2e-6,
     .latency_s = 2e-6,
     .algorithm = MS_ALGORITHM_RING,
     .is_by_links = true},
    {.size_B = 2048,
     .time_s = 2e-6,
     .latency_s = 1.1e-6,
     .algorithm = MS_ALGORITHM_RING,
     .is_by_links = true},
    {.size_B = 4096,
     .time_s = 2e-6,
     .latency_s = 0.9e-6,
     .algorithm = MS_ALGORITHM_RING,
     .is_by_links = true},
};

static const char *advice_of(platform_fixture *f, ms_coll_algorithm algorithm, int ranks) {
    ms_size_row rows[3];
    memcpy(rows, ROWS, sizeof rows);
    rows[0].algorithm = rows[1].algorithm = algorithm;
    const ms_sizes_study study = {.count = 3, .ranks = ranks};
    const ms_sizes_result result = {.rows = rows};
    ms_buffer_release(&f->messages);
    ms_buffer_init(&f->messages);
    ms_sizes_advise(&study, &result, &f->diag);
    return ms_buffer_text(&f->messages);
}

Test(coll_sizes, warns_up_to_where_latency_dominates) {
    platform_fixture f;
    fixture_init(&f);
    const char *text = advice_of(&f, MS_ALGORITHM_RING, 8);
    cr_assert_not_null(strstr(text, "up to 2 KiB (100 % of 2 us for 1 KiB among 8)"), "%s", text);
    cr_assert_str_empty(advice_of(&f, MS_ALGORITHM_RING, 2), "a ring of two");
    cr_assert_str_empty(advice_of(&f, MS_ALGORITHM_TREE, 8), "no ring");
    ms_size_row by_library = ROWS[0];
    by_library.is_by_links = false;
    const ms_sizes_study study = {.count = 1, .ranks = 8};
    const ms_sizes_result result = {.rows = &by_library};
    ms_sizes_advise(&study, &result, &f.diag);
    cr_assert_str_empty(ms_buffer_text(&f.messages), "the library takes it");
    fixture_release(&f);
}
