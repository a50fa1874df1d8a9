/* Jobs of specs that no file holds. */
#include "job_fixture.h"
#include "meshsim/value.h"

static void print(const ms_value *summary, ms_buffer *out) {
    ms_buffer_init(out);
    ms_value_write_json(summary, 1, out);
    char *engine = strstr(out->data, "\"engine\"");
    cr_assert_not_null(engine);
    *engine = '\0'; /* times of this machine */
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
    ms_buffer one, two;
    print(set.result.summary, &one);
    print(derived.result.summary, &two);
    cr_assert_str_eq(one.data, two.data);
    ms_buffer_release(&one);
    ms_buffer_release(&two);
    cr_assert_not_null(strstr(derived.job.spec.source.text, "zbh1"));
    job_fixture_release(&derived);
    job_fixture_release(&base);
    job_fixture_release(&set);
}
