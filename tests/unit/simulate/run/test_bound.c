/* Bounds against simulations of random jobs: no simulation, in any fidelity, takes less. */
#include <math.h>

#include "base/random.h"
#include "estimate/estimate.h"
#include "job_fixture.h"

enum { JOBS = 80, SETS_MAX = 12, TEXT_MAX = 96 };

typedef struct job_sets {
    char texts[SETS_MAX][TEXT_MAX];
    const char *sets[SETS_MAX + 1];
    int count;
} job_sets;

static char *add(job_sets *s) {
    cr_assert_lt(s->count, SETS_MAX);
    s->sets[s->count] = s->texts[s->count];
    s->sets[s->count + 1] = NULL;
    return s->texts[s->count++];
}

static const struct {
    const char *kind;
    int chunks;
} KINDS[] = {{"1f1b", 1}, {"gpipe", 1}, {"interleaved", 2}, {"zbh1", 1},
             {"zbv", 2},  {"zbh2", 1},  {"looped_bfs", 2},  {"dualpipev", 2}};

/* pp of 1 to 8 on two nodes of four GPUs, any kind and partition, embedding and head of any size,
 * with tp or dp beside where there is room. */
static void draw(ms_random *random, job_sets *s) {
    int row = (int)ms_random_range(random, 0, 7), chunks = KINDS[row].chunks;
    int pp = (int)ms_random_range(random, 1, 8), stages = pp * chunks;
    int beside = pp <= 4 ? (int)ms_random_range(random, 1, 2) : 1;
    bool is_tp = ms_random_range(random, 0, 1) == 1;
    int layers = stages * (int)ms_random_range(random, 1, 2);
    s->count = 0;
    bool is_balanced = ms_random_range(random, 0, 1) == 1;
    layers += is_balanced ? (int)ms_random_range(random, 0, stages - 1) : 0;
    snprintf(add(s), TEXT_MAX, "platform={file: dgx-a100, nodes: %d, node: {gpus: 1, nics: 1}}",
             pp * beside);
    snprintf(add(s), TEXT_MAX, "mesh={pp: %d, %s: %d, order: [pp, %s]}", pp, is_tp ? "tp" : "dp",
             beside, is_tp ? "tp" : "dp");
    snprintf(add(s), TEXT_MAX, "model.layers=%d", layers);
    bool has_ends = ms_random_range(random, 0, 1) == 1; /* else layers are all there is */
    snprintf(add(s), TEXT_MAX, "model.vocab=%d",
             has_ends ? 1024 * (int)ms_random_range(random, 1, 200) : 0);
    snprintf(add(s), TEXT_MAX, "schedule={kind: %s, v: %d, partition: %s}", KINDS[row].kind, chunks,
             is_balanced ? "balanced" : "even");
    bool is_any = row < 2; /* 1F1B and GPipe take any number of microbatches */
    snprintf(add(s), TEXT_MAX, "batch={microbatches: %d}",
             is_any ? (int)ms_random_range(random, 1, 2 * pp)
                    : pp * (int)ms_random_range(random, 1, 3));
    snprintf(add(s), TEXT_MAX, "recompute=%s",
             ms_random_range(random, 0, 1) == 1 ? "full" : "none");
}

Test(job_bound, is_never_above_a_simulated_step) {
    static const char *const FIDELITIES[] = {"analytic", "flow"};
    const char *given = getenv("MS_SEED");
    uint64_t seed = given == NULL ? 1127U : strtoull(given, NULL, 0);
    int legal = 0;
    for (uint64_t i = 0; i < JOBS; i++) {
        ms_random random = {seed + i};
        job_sets s;
        job_fixture f;
        ms_estimate estimate;
        ms_price_use least;
        draw(&random, &s);
        if (job_fixture_load(&f, "tiny", s.sets, FIDELITIES[i % 2], false) == MS_OK &&
            ms_job_run(&f.job, &f.arena, &f.diag, &f.result) == MS_OK) {
            double step_s = f.result.metrics.step_time_s;
            cr_assert_eq(ms_job_estimate(&f.job, &f.arena, &f.diag, &estimate), MS_OK);
            cr_assert_leq(estimate.lower_bound_s, step_s * (1.0 + 1e-9), "seed %llu: %g of %g",
                          (unsigned long long)(seed + i), estimate.lower_bound_s, step_s);
            ms_estimator *estimator = ms_estimator_new(&f.arena);
            cr_assert_eq(ms_estimator_bound(estimator, &f.job.spec, &f.diag, &least), MS_OK);
            cr_assert_leq(least.step_s, step_s * (1.0 + 1e-9), "seed %llu: %g of %g",
                          (unsigned long long)(seed + i), least.step_s, step_s);
            ms_estimator_free(estimator);
            legal++;
        }
        job_fixture_release(&f);
    }
    cr_assert_gt(legal, JOBS / 2, "%d", legal);
}
