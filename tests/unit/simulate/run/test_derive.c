/* Jobs of specs that no file holds. */
#include "base/random.h"
#include "job_fixture.h"
#include "spec_fixture.h"

/* Figures, and when every operation ran: to the last bit. */
static void expect_equal(const ms_result *a, const ms_result *b) {
    ms_run_figures one, two;
    ms_result_figures(a, &one);
    ms_result_figures(b, &two);
    cr_assert_eq(memcmp(&one, &two, sizeof one), 0);
    size_t times_B = (size_t)a->dag.op_count * sizeof *a->timeline.start_s;
    cr_assert_eq(a->dag.op_count, b->dag.op_count);
    cr_assert_eq(memcmp(a->timeline.start_s, b->timeline.start_s, times_B), 0);
    cr_assert_eq(memcmp(a->timeline.end_s, b->timeline.end_s, times_B), 0);
}

/* "The same with tp 4 and zero 3" gives the result of the same overrides, to the last bit. */
Test(job_derive, a_derived_spec_runs_as_its_overrides_do) {
    const char *sets[] = {"mesh.tp=4",          "mesh.dp=1",      "data_parallel.zero=3",
                          "schedule.kind=zbh1", "recompute=full", NULL};
    job_fixture base, set, derived;
    job_fixture_run(&set, "tiny", sets, "analytic", false);
    cr_assert_eq(job_fixture_load(&base, "tiny", NULL, "analytic", false), MS_OK);
    job_fixture_init(&derived);
    ms_job_spec spec = ms_job_spec_derive(&base.job.spec);
    spec_set_axis(&spec, "tp", 4);
    spec_set_axis(&spec, "dp", 1);
    spec.choices.zero = 3;
    spec.schedule.kind = MS_SCHEDULE_ZBH1;
    spec.choices.recompute = MS_RECOMPUTE_FULL;
    cr_assert_eq(ms_job_build(&spec, &derived.arena, &derived.diag, &derived.job), MS_OK, "%s",
                 ms_buffer_text(&derived.messages));
    cr_assert_eq(ms_job_run(&derived.job, &derived.arena, &derived.diag, &derived.result), MS_OK);
    expect_equal(&set.result, &derived.result);
    cr_assert_not_null(strstr(derived.job.spec.source.text, "zbh1"));
    job_fixture_release(&derived);
    job_fixture_release(&base);
    job_fixture_release(&set);
}

/* Layers, how they are shared among stages, and degrees, any of which may clash. */
static void change_at_random(ms_job_spec *spec, ms_random *random, int *layers) {
    static const ms_schedule_kind KINDS[] = {MS_SCHEDULE_1F1B, MS_SCHEDULE_INTERLEAVED,
                                             MS_SCHEDULE_ZBV, MS_SCHEDULE_DUALPIPE};
    static const int DEGREES[][3] = {{2, 2, 2}, {1, 8, 1}, {4, 2, 1}, {1, 4, 2}, {8, 1, 1}};
    ms_spec_partition *partition = &spec->schedule.partition;
    const int *degrees = DEGREES[ms_random_range(random, 0, 4)];
    spec_set_axis(spec, "tp", degrees[0]);
    spec_set_axis(spec, "pp", degrees[1]);
    spec_set_axis(spec, "dp", degrees[2]);
    spec->schedule.kind = KINDS[ms_random_range(random, 0, 3)];
    spec->schedule.chunks = (int)ms_random_range(random, 0, 3);
    spec->model.layers = (int)ms_random_range(random, 1, 12);
    spec->model.heads = spec->model.kv_heads = (int)ms_random_range(random, 0, 3) > 0 ? 16 : 4;
    spec->choices.has_sequence_parallel = ms_random_range(random, 0, 1) > 0;
    spec->choices.recompute = (ms_recompute)ms_random_range(random, 0, 2);
    partition->kind = (ms_partition_kind)ms_random_range(random, 0, 1);
    partition->first_stage_layers = (int)ms_random_range(random, 0, 1) * 3; /* 0: not given */
    partition->last_stage_layers = (int)ms_random_range(random, 0, 1) * 2;
    if (ms_random_range(random, 0, 5) == 0) {
        *partition = (ms_spec_partition){.stage_layers = {layers, 2}};
        layers[0] = (int)ms_random_range(random, 0, 9);
        layers[1] = (int)ms_random_range(random, 0, 3);
    }
}

/* One check is the whole check: what is laid out is built, and nothing else is. */
Test(job_derive, a_spec_that_is_laid_out_is_built) {
    const char *given = getenv("MS_SEED");
    uint64_t seed = given == NULL ? 18U : strtoull(given, NULL, 0);
    int legal = 0, refused = 0;
    job_fixture base;
    cr_assert_eq(job_fixture_load(&base, "tiny", NULL, "analytic", false), MS_OK);
    for (uint64_t i = 0; i < 400; i++) {
        ms_random random = {seed + i};
        ms_job_spec spec = ms_job_spec_derive(&base.job.spec);
        int layers[2];
        change_at_random(&spec, &random, layers);
        job_fixture f;
        job_fixture_init(&f);
        ms_job laid_out;
        ms_status status = ms_job_lay_out(&spec, &f.arena, &f.diag, &laid_out);
        cr_assert_eq(ms_job_build(&spec, &f.arena, &f.diag, &f.job), status, "MS_SEED=%llu: %s",
                     (unsigned long long)(seed + i), ms_buffer_text(&f.messages));
        *(status == MS_OK ? &legal : &refused) += 1;
        job_fixture_release(&f);
    }
    cr_assert_gt(legal, 40, "%d", legal);
    cr_assert_gt(refused, 40, "%d", refused);
    job_fixture_release(&base);
}
