/* Jobs of specs that no file holds. */
#include "job_fixture.h"

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
    ms_spec_set_axis(&spec, "tp", 4);
    ms_spec_set_axis(&spec, "dp", 1);
    spec.data.zero = 3;
    spec.schedule.kind = MS_SCHEDULE_ZBH1;
    spec.recompute.kind = MS_RECOMPUTE_FULL;
    cr_assert_eq(ms_job_build(&spec, &derived.arena, &derived.diag, &derived.job), MS_OK, "%s",
                 ms_buffer_text(&derived.messages));
    cr_assert_eq(ms_job_run(&derived.job, &derived.arena, &derived.diag, &derived.result), MS_OK);
    expect_equal(&set.result, &derived.result);
    cr_assert_not_null(strstr(derived.job.spec.source.text, "zbh1"));
    job_fixture_release(&derived);
    job_fixture_release(&base);
    job_fixture_release(&set);
}
