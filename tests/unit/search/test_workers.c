/* Jobs in processes of their own: the same results as here, faults and crashes told. */
#include <signal.h>

#include "job_fixture.h"
#include "search/workers.h"
#include "trace/summary.h"

/* DualPipe feeds both ends of the pipeline, and the workload's number of microbatches is odd. */
static const ms_schedule_kind KINDS[] = {MS_SCHEDULE_GPIPE, MS_SCHEDULE_DUALPIPE, MS_SCHEDULE_ZBV,
                                         MS_SCHEDULE_1F1B};
enum { COUNT = sizeof KINDS / sizeof KINDS[0] };

/* The tiny workload, with each of the kinds in the place of its own. */
static void derive(job_fixture *f, ms_job_spec specs[COUNT]) {
    const char *sets[] = {"batch.global=18", NULL};
    cr_assert_eq(job_fixture_load(f, "tiny", sets, NULL, false), MS_OK);
    for (int i = 0; i < COUNT; i++) {
        specs[i] = ms_job_spec_derive(&f->job.spec);
        specs[i].schedule.kind = KINDS[i];
    }
}

typedef struct counts {
    size_t done, last;
} counts;

static void count_one(void *context, size_t done, size_t count) {
    counts *seen = context;
    seen->done++;
    seen->last = done;
    cr_assert_eq(count, (size_t)COUNT);
}

Test(workers, results_are_those_of_a_run_here) {
    job_fixture f;
    ms_job_spec specs[COUNT];
    ms_worker_outcome outcomes[COUNT];
    derive(&f, specs);
    counts seen = {0, 0};
    ms_workers_options options = {.jobs = 2, .progress = count_one, .progress_context = &seen};
    cr_assert_eq(ms_workers_run(specs, COUNT, &options, &f.arena, &f.diag, outcomes), MS_OK);
    cr_assert_eq(seen.done, (size_t)COUNT);
    cr_assert_eq(seen.last, (size_t)COUNT);
    cr_assert_eq(outcomes[1].status, MS_E_INPUT);
    const char *reason = outcomes[1].reason;
    cr_assert_eq(strstr(reason, "schedule: dualpipe feeds half"), reason, "%s", reason);
    cr_assert_not_null(strstr(outcomes[1].talk, reason), "%s", outcomes[1].talk);
    cr_assert_eq(outcomes[2].status, MS_OK, "%s", outcomes[2].talk);
    cr_assert_eq(outcomes[2].figures.chunks, 2);
    cr_assert_eq(outcomes[2].figures.parameter_replicas, 1);
    const char *sets[] = {"batch.global=18", "schedule.kind=gpipe", NULL};
    job_fixture g;
    const ms_result *here = job_fixture_run(&g, "tiny", sets, NULL, false);
    ms_run_figures expected;
    ms_result_figures(here, &expected);
    cr_assert_eq(memcmp(&outcomes[0].figures, &expected, offsetof(ms_run_figures, fits)), 0);
    static const char *const KEYS[] = {"step_time_s", "mfu", "memory.peak_B",
                                       "time_share.exposed_dp", "idle_fraction"};
    const double figures[] = {expected.step_time_s, expected.mfu, expected.peak_B,
                              expected.share[MS_TIME_EXPOSED_DP], expected.idle_fraction};
    ms_value *tree = NULL;
    cr_assert_eq(ms_summary_build(here, &g.arena, &tree), MS_OK);
    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++) {
        cr_assert_gt(figures[i], 0, "%s", KEYS[i]);
        cr_assert_eq(ms_value_number(tree, KEYS[i], -2), figures[i], "%s", KEYS[i]);
    }
    cr_assert(expected.fits);
    job_fixture_release(&g);
    job_fixture_release(&f);
}

/* The second one crashes, the third is killed, the fourth says no. */
static ms_status end_badly(void *context, size_t index, const ms_result *result, ms_diag *diag) {
    (void)context;
    cr_assert_gt(result->metrics.step_time_s, 0);
    static const int SIGNALS[] = {0, SIGSEGV, SIGKILL, 0};
    if (SIGNALS[index] != 0) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGNALS[index]);
    }
    if (index == 3) {
        ms_diag_error(diag, "disk full");
        return MS_E_IO;
    }
    return MS_OK;
}

Test(workers, bad_ends_are_told_and_hurt_nobody_else) {
    job_fixture f;
    ms_job_spec specs[COUNT];
    ms_worker_outcome outcomes[COUNT];
    derive(&f, specs);
    specs[1].schedule.kind = MS_SCHEDULE_1F1B;
    ms_workers_options options = {.jobs = COUNT, .keep = end_badly};
    cr_assert_eq(ms_workers_run(specs, COUNT, &options, &f.arena, &f.diag, outcomes), MS_OK);
    cr_assert_eq(outcomes[0].status, MS_OK);
    cr_assert_str_eq(outcomes[0].talk, "");
    cr_assert_eq(outcomes[1].status, MS_E_BUG);
    cr_assert_not_null(strstr(outcomes[1].talk, "crashed with signal 11"));
    cr_assert_eq(outcomes[2].status, MS_E_NOMEM);
    cr_assert_not_null(strstr(outcomes[2].talk, "was killed"));
    cr_assert_eq(outcomes[3].status, MS_E_IO);
    cr_assert_str_eq(outcomes[3].reason, "disk full");
    cr_assert_str_eq(outcomes[2].reason, "the simulation was killed, as when memory runs out");
    cr_assert_null(outcomes[0].reason);
    job_fixture_release(&f);
}

static ms_status count_ops(const ms_result *result, ms_arena *arena, ms_buffer *text) {
    (void)arena;
    ms_buffer_printf(text, "%d operations", (int)result->dag.op_count);
    return MS_OK;
}

Test(workers, texts_come_back_with_their_run) {
    job_fixture f;
    ms_job_spec specs[COUNT];
    ms_worker_outcome outcomes[COUNT];
    derive(&f, specs);
    ms_workers_options options = {.jobs = 2, .describe = count_ops};
    cr_assert_eq(ms_workers_run(specs, COUNT, &options, &f.arena, &f.diag, outcomes), MS_OK);
    cr_assert_null(outcomes[1].text, "a refused job has none");
    for (size_t i = 0; i < COUNT; i++) {
        if (i != 1) {
            char text[64];
            ms_job job;
            ms_dag dag;
            ms_lower_fold fold;
            ms_dag_init(&dag);
            cr_assert_eq(ms_job_build(&specs[i], &f.arena, &f.diag, &job), MS_OK);
            cr_assert_eq(ms_job_lower(&job, &f.diag, &dag, &fold), MS_OK);
            snprintf(text, sizeof text, "%d operations", (int)dag.op_count);
            cr_assert_str_eq(outcomes[i].text, text);
            ms_dag_release(&dag);
        }
    }
    job_fixture_release(&f);
}
