/* Points of a study, with and without a store. */
#include "job_fixture.h"
#include "search/points.h"

enum { POINTS = 6 };

/* Settings of the tiny workload; the third is no job, the fifth is the second in other words. */
static const char *const SETS[POINTS][2] = {
    {"batch.global=16", "granularity=pass"},     {"schedule.kind=gpipe", "granularity=pass"},
    {"batch.global=15", "granularity=pass"},     {"schedule.kind=dualpipe", "batch.global=18"},
    {"granularity=pass", "schedule.kind=gpipe"}, {"mesh.tp=4", "mesh.dp=1"},
};

typedef struct probe {
    job_fixture f;
    size_t ended;
    char folder[64];
    char path[96];
} probe;

static ms_status make(void *context, size_t index, ms_arena *arena, ms_diag *diag,
                      ms_point *point_out) {
    (void)context;
    ms_job_request request = {
        .workload = MS_SOURCE_DIR "/workloads/tiny.yaml", .sets = SETS[index], .set_count = 2};
    const char **items = MS_NEW(arena, const char *, 2);
    memcpy(items, SETS[index], 2 * sizeof *items);
    point_out->settings = (ms_words){.items = items, .count = 2};
    return ms_job_spec_read(&request, arena, diag, &point_out->spec);
}

static void count_one(void *context, size_t done, size_t count) {
    probe *p = context;
    cr_assert_eq(done, ++p->ended);
    cr_assert_eq(count, (size_t)POINTS);
}

static void setup(probe *p) {
    job_fixture_init(&p->f);
    p->ended = 0;
    snprintf(p->folder, sizeof p->folder, "/tmp/ms_points_XXXXXX");
    cr_assert_not_null(mkdtemp(p->folder));
    snprintf(p->path, sizeof p->path, "%s/s.db", p->folder);
}

static void teardown(probe *p) {
    unlink(p->path);
    cr_assert_eq(rmdir(p->folder), 0);
    job_fixture_release(&p->f);
}

static void run(probe *p, ms_store *store, int jobs, ms_store_row rows[POINTS],
                ms_points_counts *counts) {
    const ms_points_study study = {.count = POINTS,
                                   .make = make,
                                   .program = "test",
                                   .jobs = jobs,
                                   .store = store,
                                   .progress = count_one,
                                   .progress_context = p};
    p->ended = 0;
    cr_assert_eq(ms_points_run(&study, &p->f.arena, &p->f.diag, rows, counts), MS_OK, "%s",
                 ms_buffer_text(&p->f.messages));
    cr_assert_eq(p->ended, (size_t)POINTS);
    cr_assert_eq(ms_points_verdict(rows, POINTS, counts), MS_OK);
}

static void assert_same(const ms_store_row *a, const ms_store_row *b) {
    for (int i = 0; i < POINTS; i++) {
        cr_assert_str_eq(a[i].status, b[i].status);
        cr_assert_str_eq(a[i].settings, b[i].settings);
        cr_assert_str_eq(a[i].key, b[i].key);
        cr_assert_eq(memcmp(&a[i].figures, &b[i].figures, sizeof a[i].figures), 0, "point %d", i);
        cr_assert_eq(a[i].reason == NULL, b[i].reason == NULL);
        cr_assert(a[i].reason == NULL || strcmp(a[i].reason, b[i].reason) == 0);
    }
}

Test(points, what_comes_out_does_not_depend_on_jobs_or_store) {
    probe p;
    ms_store_row alone[POINTS];
    ms_store_row rows[POINTS];
    ms_points_counts counts;
    setup(&p);
    run(&p, NULL, 1, alone, &counts);
    cr_assert_eq(counts.simulated, (size_t)3);
    cr_assert_eq(counts.stored, (size_t)1, "two points are the same job");
    cr_assert_eq(counts.refused, (size_t)2);
    cr_assert_str_eq(alone[0].settings, "{\"batch.global\":16,\"granularity\":\"pass\"}");
    cr_assert_eq(alone[0].gpus, 8);
    cr_assert_str_eq(alone[0].workload, "tiny");
    cr_assert_str_eq(alone[0].platform, "dgx-a100");
    cr_assert_not_null(strstr(alone[2].reason, "batch.global"), "%s", alone[2].reason);
    cr_assert_not_null(strstr(alone[3].reason, "dualpipe"), "%s", alone[3].reason);
    cr_assert_gt(alone[4].figures.step_time_s, 0);
    cr_assert_eq(alone[4].figures.step_time_s, alone[1].figures.step_time_s);
    run(&p, NULL, 3, rows, &counts);
    assert_same(rows, alone);
    ms_store *store = NULL;
    const ms_store_options options = {.is_fresh = false};
    cr_assert_eq(ms_store_open(p.path, &options, &p.f.arena, &p.f.diag, &store), MS_OK);
    run(&p, store, 2, rows, &counts);
    assert_same(rows, alone);
    cr_assert_eq(counts.simulated, (size_t)3);
    size_t count = 0;
    cr_assert_eq(ms_store_count(store, &count), MS_OK);
    run(&p, store, 2, rows, &counts);
    assert_same(rows, alone);
    cr_assert_eq(counts.simulated, (size_t)0, "all is in the store");
    cr_assert_eq(counts.stored, (size_t)4);
    size_t again = 0;
    cr_assert_eq(ms_store_count(store, &again), MS_OK);
    cr_assert_eq(again, count);
    ms_store_close(store);
    teardown(&p);
}

Test(points, figures_are_those_of_a_run_with_the_settings) {
    probe p;
    ms_store_row rows[POINTS];
    ms_points_counts counts;
    setup(&p);
    run(&p, NULL, 2, rows, &counts);
    job_fixture f;
    const char *sets[] = {SETS[5][0], SETS[5][1], NULL};
    const ms_result *result = job_fixture_run(&f, "tiny", sets, NULL, false);
    ms_run_figures expected;
    ms_result_figures(result, &expected);
    cr_assert_eq(memcmp(&rows[5].figures, &expected, sizeof expected), 0);
    job_fixture_release(&f);
    teardown(&p);
}

/* The store goes away under the study: what `put` says ends it. */
static ms_status refuse_all(void *context, size_t index, ms_arena *arena, ms_diag *diag,
                            ms_point *point_out) {
    (void)context, (void)index, (void)arena, (void)point_out;
    ms_diag_error(diag, "the disk is gone");
    return MS_E_IO;
}

Test(points, a_failure_of_the_system_ends_the_study) {
    probe p;
    ms_store_row rows[POINTS];
    ms_points_counts counts;
    setup(&p);
    const ms_points_study study = {
        .count = POINTS, .make = refuse_all, .program = "test", .jobs = 1};
    cr_assert_eq(ms_points_run(&study, &p.f.arena, &p.f.diag, rows, &counts), MS_E_IO);
    cr_assert_not_null(strstr(ms_buffer_text(&p.f.messages), "the disk is gone"));
    teardown(&p);
}

Test(points, settings_are_json) {
    const char *items[] = {"a=1", "b=01", "c=-0.5e3", "d=true", "e=25 GB/s", "f={x: \"y\"}",
                           "g=",  "h=1.", "i=a=b",    "j=null", "k=.5",      "l=1e"};
    const ms_words settings = {.items = items, .count = sizeof items / sizeof items[0]};
    ms_buffer text;
    ms_buffer_init(&text);
    ms_point_write_settings(&settings, &text);
    cr_assert_str_eq(ms_buffer_text(&text),
                     "{\"a\":1,\"b\":\"01\",\"c\":-500,\"d\":true,\"e\":\"25 GB/s\","
                     "\"f\":\"{x: \\\"y\\\"}\",\"g\":\"\",\"h\":\"1.\",\"i\":\"a=b\","
                     "\"j\":null,\"k\":\".5\",\"l\":\"1e\"}");
    ms_buffer_release(&text);
}
