/* Jobs for tests: a shipped workload or a text, with overrides. */
#ifndef MS_JOB_FIXTURE_H
#define MS_JOB_FIXTURE_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "simulate/run/job.h"

typedef struct job_fixture {
    ms_arena arena;
    ms_diag diag;
    ms_buffer messages;
    ms_job job;
    ms_result result;
} job_fixture;

static inline void job_fixture_keep(void *context, const char *text) {
    ms_buffer_puts(context, text);
}

static inline void job_fixture_init(job_fixture *f) {
    memset(f, 0, sizeof *f);
    ms_arena_init(&f->arena);
    ms_buffer_init(&f->messages);
    ms_diag_init(&f->diag, job_fixture_keep, &f->messages);
}

static inline void job_fixture_release(job_fixture *f) {
    ms_result_release(&f->result);
    ms_buffer_release(&f->messages);
    ms_arena_release(&f->arena);
}

/* Load workloads/NAME.yaml with `sets`, NULL-terminated, and a fidelity. */
static inline ms_status job_fixture_load(job_fixture *f, const char *name, const char *const *sets,
                                         const char *fidelity, bool no_fold) {
    job_fixture_init(f);
    ms_dag_init(&f->result.dag);
    size_t count = 0;
    while (sets != NULL && sets[count] != NULL) {
        count++;
    }
    ms_job_request request = {
        .workload = ms_arena_printf(&f->arena, "%s/workloads/%s.yaml", MS_SOURCE_DIR, name),
        .sets = sets,
        .set_count = count,
        .fidelity = fidelity,
        .run.no_fold = no_fold};
    return ms_job_load(&request, &f->arena, &f->diag, &f->job);
}

/* The same, then run it; both must succeed. */
static inline const ms_result *job_fixture_run(job_fixture *f, const char *name,
                                               const char *const *sets, const char *fidelity,
                                               bool no_fold) {
    ms_status status = job_fixture_load(f, name, sets, fidelity, no_fold);
    cr_assert_eq(status, MS_OK, "%s: %s", name, ms_buffer_text(&f->messages));
    status = ms_job_run(&f->job, &f->arena, &f->diag, &f->result);
    cr_assert_eq(status, MS_OK, "%s: %s", name, ms_buffer_text(&f->messages));
    return &f->result;
}

/* Sum of a time by category, or of its shares. */
static inline double job_fixture_sum(const double of_category[MS_TIME_COUNT]) {
    double sum = 0.0;
    for (int c = 0; c < MS_TIME_COUNT; c++) {
        sum += of_category[c];
    }
    return sum;
}

/* What the links of a tier did, which must be there. */
static inline const ms_tier_use *job_fixture_tier(const ms_result *result, const char *name) {
    const ms_platform *platform = result->job->platform;
    int tier = 0;
    while (tier < platform->tier_count && strcmp(platform->tiers[tier].name, name) != 0) {
        tier++;
    }
    cr_assert_lt(tier, platform->tier_count, "no tier '%s'", name);
    return &result->tiers[tier];
}

/* Load a workload text through a file of its own; the file is gone afterwards. */
static inline ms_status job_fixture_load_text(job_fixture *f, const char *text) {
    job_fixture_init(f);
    ms_dag_init(&f->result.dag);
    char path[] = "/tmp/meshsim-job-XXXXXX";
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    cr_assert_eq(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
    ms_job_request request = {.workload = ms_arena_strdup(&f->arena, path),
                              .data_folder = MS_SOURCE_DIR};
    ms_status status = ms_job_load(&request, &f->arena, &f->diag, &f->job);
    unlink(path);
    return status;
}

#endif
