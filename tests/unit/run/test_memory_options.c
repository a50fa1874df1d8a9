/* Memory options: a saving that is promised is one that the changed job has. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "job_fixture.h"
#include "meshsim/memory_options.h"

static const ms_memory_option *find(const ms_memory_option *options, int count,
                                    const char *setting) {
    for (int i = 0; i < count; i++) {
        if (strcmp(options[i].setting, setting) == 0) {
            return &options[i];
        }
    }
    return NULL;
}

static double peak_of(const char *const *sets) {
    job_fixture f;
    ms_estimate estimate;
    cr_assert_eq(job_fixture_load(&f, "gpt3-175b-1024", sets, NULL, false), MS_OK, "%s",
                 ms_buffer_text(&f.messages));
    cr_assert_eq(ms_job_estimate(&f.job, &f.arena, &f.diag, &estimate), MS_OK);
    double peak_B = estimate.ranks[estimate.peak_rank].peak_B;
    job_fixture_release(&f);
    return peak_B;
}

/* Each promise against the workload with that very setting. */
Test(memory_options, promises_are_kept) {
    const char *base[] = {"recompute=none", NULL};
    job_fixture f;
    ms_memory_option options[MS_MEMORY_OPTIONS_MAX];
    int count = 0;
    cr_assert_eq(job_fixture_load(&f, "gpt3-175b-1024", base, NULL, false), MS_OK);
    cr_assert_eq(ms_memory_options_find(&f.job, &f.arena, options, &count), MS_OK);
    const struct {
        const char *setting;
        const char *sets[4];
    } CASES[] = {
        {"recompute=full", {"recompute=full", NULL}},
        {"recompute=selective", {"recompute=none", "recompute=selective", NULL}},
        {"data_parallel.zero=1", {"recompute=none", "data_parallel.zero=1", NULL}},
        {"tensor_parallel.sequence=true",
         {"recompute=none", "tensor_parallel.sequence=true", "pipeline.scatter_gather=false",
          NULL}},
    };
    double today_B = peak_of(base);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const ms_memory_option *option = find(options, count, CASES[i].setting);
        cr_assert_not_null(option, "%s", CASES[i].setting);
        double peak_B = peak_of(CASES[i].sets);
        cr_assert_lt(fabs(option->peak_B / peak_B - 1), 1e-12, "%s: %g, really %g", option->setting,
                     option->peak_B, peak_B);
        cr_assert_lt(fabs(option->saved_B - (today_B - peak_B)), 1.0);
    }
    for (int i = 1; i < count; i++) {
        cr_assert_geq(options[i - 1].saved_B, options[i].saved_B, "largest saving first");
    }
    job_fixture_release(&f);
}

/* What is on already is not offered, and a job with given costs has no options. */
Test(memory_options, nothing_to_offer) {
    job_fixture f;
    ms_memory_option options[MS_MEMORY_OPTIONS_MAX];
    int count = -1;
    cr_assert_eq(job_fixture_load(&f, "gpt3-175b-1024", NULL, NULL, false), MS_OK);
    cr_assert_eq(ms_memory_options_find(&f.job, &f.arena, options, &count), MS_OK);
    cr_assert_null(find(options, count, "recompute=full"));
    job_fixture_release(&f);
    cr_assert_eq(job_fixture_load_text(&f, "platform: {file: ideal, nodes: 2}\n"
                                           "mesh: {pp: 2, order: [pp]}\n"
                                           "costs: {forward: 1 ms, input_gradient: 1 ms}\n"
                                           "batch: {microbatches: 2}\n"),
                 MS_OK);
    cr_assert_eq(ms_memory_options_find(&f.job, &f.arena, options, &count), MS_OK);
    cr_assert_eq(count, 0);
    job_fixture_release(&f);
}
