/* Searches that are interrupted before anything is simulated, and what the bound of the
 * computations leaves out. */
#include <signal.h>

#include "base/interrupt.h"
#include "job_fixture.h"
#include "search/search.h"

typedef struct searching {
    job_fixture f;
    ms_job_request job;
    ms_space_request request;
    ms_search_goal goal;
    ms_search_study study;
    ms_search_findings found;
    ms_search_phase phase; /* an interrupt comes in it */
    int64_t after;         /* once so many candidates are behind it */
    bool is_interrupted;
    int64_t estimated; /* candidates whose steps were, which fit */
} searching;

/* As a user would, at a point that no speed moves. */
static void interrupt(void *context, const ms_search_progress *now) {
    searching *s = context;
    if (!s->is_interrupted && now->phase == s->phase && now->done >= s->after) {
        s->is_interrupted = true;
        raise(SIGINT);
    }
}

static void count_estimated(void *context, const ms_search_progress *now) {
    searching *s = context;
    s->estimated = now->phase == MS_SEARCH_SIMULATING ? now->count : s->estimated;
}

static ms_status search(searching *s, const char **varied) {
    static const char *const SETS[] = {"model.hidden=4096", "batch.global=64"};
    job_fixture_init(&s->f);
    s->job = (ms_job_request){.workload = MS_SOURCE_DIR "/workloads/tiny.yaml",
                              .data_folder = MS_SOURCE_DIR,
                              .sets = SETS,
                              .set_count = 2};
    s->request = (ms_space_request){.job = &s->job, .has_defaults = varied == NULL};
    s->request.varied.items = varied;
    while (varied != NULL && varied[s->request.varied.count] != NULL) {
        s->request.varied.count++;
    }
    ms_search_goal_init(&s->goal);
    s->study.goal = &s->goal;
    s->study.jobs = 1;
    s->study.program = "test";
    s->study.context = s;
    cr_assert_eq(ms_space_open(&s->request, &s->f.arena, &s->f.diag, &s->study.space), MS_OK);
    return ms_search_run(&s->study, &s->f.arena, &s->f.diag, &s->found);
}

Test(search_run, an_interrupt_is_heard_while_candidates_are_bounded) {
    searching s = {.study = {.top = 3, .progress = interrupt}, .phase = MS_SEARCH_BOUNDING};
    ms_interrupt_install();
    cr_assert_eq(search(&s, NULL), MS_E_INTERRUPTED);
    cr_assert(s.is_interrupted && s.found.is_partial);
    cr_assert_eq(s.found.counts.enumerated, 0);
    cr_assert_eq(s.found.row_count, 0);
    cr_assert_null(s.found.expected);
    job_fixture_release(&s.f);
}

/* What was estimated by then is told, by the best of it. */
Test(search_run, an_interrupt_while_candidates_are_estimated_leaves_the_best_estimate) {
    searching s = {.study = {.top = 3, .is_exhaustive = true, .progress = interrupt},
                   .phase = MS_SEARCH_ESTIMATING,
                   .after = 256};
    ms_interrupt_install();
    cr_assert_eq(search(&s, NULL), MS_E_INTERRUPTED);
    cr_assert(s.is_interrupted && s.found.is_partial);
    cr_assert_gt(s.found.counts.enumerated, 0);
    cr_assert_eq(s.found.counts.simulated, 0);
    cr_assert_not_null(s.found.expected);
    cr_assert_gt(s.found.expected->settings.count, 0);
    cr_assert_gt(s.found.expected->bound_s, 0);
    cr_assert_leq(s.found.expected->bound_s, s.found.expected->estimate_s);
    job_fixture_release(&s.f);
}

/* One microbatch leaves half of two pipeline ranks' time idle, so that steps of these candidates
 * need not even be estimated. That interleaving cannot be with it, as the stages do not divide it,
 * counts all the same. */
Test(search_run, what_computes_too_long_is_not_estimated) {
    const char *varied[] = {"batch.micro=1,2,4,8,16,32", "recompute=none,full",
                            "schedule={kind: 1f1b},{kind: interleaved, v: 2}", NULL};
    searching all = {.study = {.top = 1, .is_exhaustive = true, .progress = count_estimated}};
    searching few = {.study = {.top = 1, .progress = count_estimated}};
    cr_assert_eq(search(&all, varied), MS_OK);
    cr_assert_eq(search(&few, varied), MS_OK);
    cr_assert_eq(all.found.counts.pruned, 0);
    cr_assert_gt(few.found.counts.pruned, 0);
    cr_assert_gt(few.found.counts.illegal, 0);
    cr_assert_eq(few.found.counts.illegal, all.found.counts.illegal);
    cr_assert_eq(few.found.counts.does_not_fit, all.found.counts.does_not_fit);
    cr_assert_lt(few.estimated, all.estimated);
    cr_assert_lt(few.found.counts.simulated, all.found.counts.simulated);
    cr_assert_eq(few.found.rows[0].index, all.found.rows[0].index);
    cr_assert_eq(few.found.rows[0].figures.step_time_s, all.found.rows[0].figures.step_time_s);
    job_fixture_release(&all.f);
    job_fixture_release(&few.f);
}
