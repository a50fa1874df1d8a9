/* The bound from computations alone: closed forms, and never above the schedule that its own
 * computations make on paper with free messages, over random jobs. */
#include <math.h>
#include <stdio.h>

#include "base/random.h"
#include "estimate/estimate.h"
#include "estimate/layer_partition.h"
#include "spec_fixture.h"

static double bound_s(spec_fixture *f, ms_estimator *estimator, const ms_job_spec *spec) {
    ms_price_use least;
    cr_assert_eq(ms_estimator_bound(estimator, spec, &f->diag, &least), MS_OK, "%s",
                 ms_buffer_text(&f->messages));
    return least.step_s;
}

/* A job of equal layers without embedding and head, on `pp` GPUs that are equally fast however many
 * they are. */
static ms_job_spec layers_alone(spec_fixture *f, int layers, int pp, int microbatches) {
    char text[512];
    snprintf(text, sizeof text,
             "platform: {file: flat, nodes: %d, gpu: {spread: 0}}\n"
             "model: {type: gpt, layers: %d, hidden: 1024, heads: 16, sequence: 1024, vocab: 0}\n"
             "mesh: {pp: %d, order: [pp]}\n"
             "schedule: {kind: 1f1b}\n"
             "batch: {microbatches: %d, micro: 1}\n",
             pp, layers, pp, microbatches);
    return spec_fixture_read_text(f, text);
}

/* Forwards and backwards through one layer: the bound of a step of one microbatch through it. */
static double layer_s(spec_fixture *f, ms_estimator *estimator) {
    ms_job_spec one = layers_alone(f, 1, 1, 1);
    return bound_s(f, estimator, &one);
}

/* Equal stages: (M + P - 1) L / P layers' worth, the textbook's bubble.  Source: Narayanan et al.,
 * SC'21: (P - 1) / M of the ideal time. */
Test(bound, of_equal_stages_is_the_textbooks_step) {
    static const int CASES[][3] = {/* L, P, M */ {8, 1, 3},
                                   {8, 2, 4},
                                   {8, 4, 4},
                                   {8, 8, 16},
                                   {24, 8, 1},
                                   {6, 3, 5}};
    spec_fixture f;
    spec_fixture_init(&f);
    ms_estimator *estimator = ms_estimator_new(&f.arena);
    double one_s = layer_s(&f, estimator);
    cr_assert_gt(one_s, 0.0);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        int layers = CASES[i][0], pp = CASES[i][1], m = CASES[i][2];
        ms_job_spec spec = layers_alone(&f, layers, pp, m);
        double expected_s = one_s * (m + pp - 1) * layers / pp;
        double found_s = bound_s(&f, estimator, &spec);
        cr_assert_float_eq(found_s, expected_s, 1e-8 * expected_s, "case %zu: %g, expected %g", i,
                           found_s, expected_s);
    }
    ms_estimator_free(estimator);
    spec_fixture_release(&f);
}

/* Stages with listed layers: rank p works for M x_p and waits for x_0 + .. + x_(p-1). */
Test(bound, of_listed_stages_counts_what_a_rank_waits_for) {
    static const struct {
        int layers[4], m, worth;
    } CASES[] = {
        {{4, 2, 1, 1}, 3, 12},  /* rank 0: 3 * 4; rank 1: 4 + 6; rank 3: 7 + 3 */
        {{1, 1, 2, 4}, 3, 16},  /* rank 3: 1 + 1 + 2 + 3 * 4 */
        {{1, 4, 2, 1}, 2, 9},   /* rank 1: 1 + 8; rank 2: 5 + 4 */
        {{2, 2, 3, 1}, 1, 8},   /* all layers, one after the other */
        {{1, 2, 4, 1}, 10, 43}, /* rank 2: 1 + 2 + 40 */
    };
    spec_fixture f;
    spec_fixture_init(&f);
    ms_estimator *estimator = ms_estimator_new(&f.arena);
    double one_s = layer_s(&f, estimator);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        int layers[4];
        memcpy(layers, CASES[i].layers, sizeof layers);
        ms_job_spec spec = layers_alone(&f, 8, 4, CASES[i].m);
        spec.schedule.partition.stage_layers = (ms_ints){layers, 4};
        double expected_s = CASES[i].worth * one_s;
        double found_s = bound_s(&f, estimator, &spec);
        cr_assert_float_eq(found_s, expected_s, 1e-8 * expected_s, "case %zu: %g layers", i,
                           found_s / one_s);
    }
    ms_estimator_free(estimator);
    spec_fixture_release(&f);
}

/* First and last stage with layers of their own: 2, 2, 2 and 2 of 8 among the open ones. */
Test(bound, of_given_ends_shares_the_rest_evenly) {
    spec_fixture f;
    spec_fixture_init(&f);
    ms_estimator *estimator = ms_estimator_new(&f.arena);
    double one_s = layer_s(&f, estimator);
    ms_job_spec spec = layers_alone(&f, 9, 4, 5);
    spec.schedule.partition.first_stage_layers = 4; /* 4, 2, 2 and 1 */
    spec.schedule.partition.last_stage_layers = 1;
    cr_assert_float_eq(bound_s(&f, estimator, &spec) / one_s, 20.0, 1e-6);
    spec.schedule.partition.first_stage_layers = 1; /* 1, 3, 3 and 2: rank 2 waits for 4 */
    spec.schedule.partition.last_stage_layers = 2;
    cr_assert_float_eq(bound_s(&f, estimator, &spec) / one_s, 1 + 3 + 15, 1e-6);
    spec.schedule.partition.first_stage_layers = 0; /* 1, 1, 1 and 6 */
    spec.schedule.partition.last_stage_layers = 6;
    cr_assert_float_eq(bound_s(&f, estimator, &spec) / one_s, 3 + 30, 1e-6);
    ms_estimator_free(estimator);
    spec_fixture_release(&f);
}

/* Shares that nobody knows yet: the best are x_p = (1 - 1/M)^p x_0, for which every rank needs
 * L / (1 - (1 - 1/M)^P). */
Test(bound, of_balanced_stages_is_that_of_the_best_shares) {
    static const struct {
        int layers, pp, m;
        double worth;
    } CASES[] = {
        {3, 2, 2, 4.0},           /* 2 and 1: 2 * 2 = 2 + 2 * 1 */
        {7, 3, 2, 8.0},           /* 4, 2 and 1: 2 * 4 = 4 + 2 * 2 = 4 + 2 + 2 * 1 */
        {19, 3, 3, 27.0},         /* 9, 6 and 4: 3 * 9 = 9 + 3 * 6 = 9 + 6 + 3 * 4 */
        {15, 4, 2, 16.0},         /* 8, 4, 2 and 1 */
        {9, 4, 1, 9.0},           /* one microbatch: all layers, one after the other */
        {5, 2, 3, 5 / (5 / 9.0)}, /* 3 and 2: 9 = 3 + 6 */
    };
    spec_fixture f;
    spec_fixture_init(&f);
    ms_estimator *estimator = ms_estimator_new(&f.arena);
    double one_s = layer_s(&f, estimator);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        ms_job_spec spec = layers_alone(&f, CASES[i].layers, CASES[i].pp, CASES[i].m);
        spec.schedule.partition.kind = MS_PARTITION_BALANCED;
        cr_assert_float_eq(bound_s(&f, estimator, &spec) / one_s, CASES[i].worth, 1e-6, "case %zu",
                           i);
    }
    ms_estimator_free(estimator);
    spec_fixture_release(&f);
}

/* Interleaved stages: the first chunks of the ranks before one hold it up, its own chunks are all
 * its work.  Of P = 2, V = 2 with layers 1, 2, 3, 4: rank 0 has 4, rank 1 has 6 and waits for 1. */
Test(bound, of_chunks_waits_for_first_chunks_only) {
    static int layers[] = {1, 2, 3, 4};
    spec_fixture f;
    spec_fixture_init(&f);
    ms_estimator *estimator = ms_estimator_new(&f.arena);
    double one_s = layer_s(&f, estimator);
    ms_job_spec spec = layers_alone(&f, 10, 2, 4);
    spec.schedule.kind = MS_SCHEDULE_INTERLEAVED;
    spec.schedule.chunks = 2;
    spec.schedule.partition.stage_layers = (ms_ints){layers, 4};
    cr_assert_float_eq(bound_s(&f, estimator, &spec) / one_s, 4 * 6 + 1, 1e-6);
    spec.schedule.partition.stage_layers = (ms_ints){0};
    spec.schedule.partition.kind = MS_PARTITION_BALANCED; /* M L / P: the mean over ranks */
    cr_assert_float_eq(bound_s(&f, estimator, &spec) / one_s, 4 * 10 / 2, 1e-6);
    ms_estimator_free(estimator);
    spec_fixture_release(&f);
}

/* Several steps, and ranks that do not wait for each other, leave nothing that the mean bounds. */
Test(bound, of_several_steps_is_nothing) {
    spec_fixture f;
    spec_fixture_init(&f);
    ms_estimator *estimator = ms_estimator_new(&f.arena);
    ms_job_spec spec = layers_alone(&f, 8, 4, 4);
    cr_assert_gt(bound_s(&f, estimator, &spec), 0.0);
    spec.simulation.steps = 3;
    cr_assert_eq(bound_s(&f, estimator, &spec), 0.0);
    spec.schedule.step_end = MS_STEP_END_POST_VALIDATION;
    cr_assert_eq(bound_s(&f, estimator, &spec), 0.0);
    ms_estimator_free(estimator);
    spec_fixture_release(&f);
}

/* Kinds with whole and with split backward passes, one stage a rank and several. */
static const struct {
    ms_schedule_kind kind;
    int chunks;
} KINDS[] = {{MS_SCHEDULE_1F1B, 1},       {MS_SCHEDULE_GPIPE, 1},     {MS_SCHEDULE_INTERLEAVED, 2},
             {MS_SCHEDULE_ZBH1, 1},       {MS_SCHEDULE_ZBV, 2},       {MS_SCHEDULE_LOOPED_BFS, 2},
             {MS_SCHEDULE_ZB1P, 2},       {MS_SCHEDULE_DUALPIPEV, 2}, {MS_SCHEDULE_ZBH2, 1},
             {MS_SCHEDULE_INTERLEAVED, 3}};

enum { KIND_COUNT = sizeof KINDS / sizeof KINDS[0], PP_MAX = 8, STAGES_MAX = 24 };

/* Shares of layers of which every stage has at least one. */
static void draw_shares(ms_random *random, int layers, int stages, int *shares) {
    for (int s = 0; s < stages; s++) {
        shares[s] = 1;
    }
    for (int i = stages; i < layers; i++) {
        shares[ms_random_range(random, 0, stages - 1)]++;
    }
}

/* A job on one to eight pipeline ranks: any partition, embedding and head of any size, recomputed
 * or not.  bases: [PP_MAX] on as many pipeline ranks.  listed: [STAGES_MAX] room that the spec
 * borrows. */
static ms_job_spec draw_job(const ms_job_spec *bases, ms_random *random, int *listed) {
    int row = (int)ms_random_range(random, 0, KIND_COUNT - 1);
    int pp = (int)ms_random_range(random, 1, PP_MAX), stages = pp * KINDS[row].chunks;
    ms_job_spec spec = ms_job_spec_derive(&bases[pp - 1]);
    spec.schedule.kind = KINDS[row].kind;
    spec.schedule.chunks = KINDS[row].chunks;
    spec.model.layers = stages * (int)ms_random_range(random, 1, 3);
    spec.model.vocab = 1024 * (int)ms_random_range(random, 1, 256);
    spec.batch =
        (ms_spec_batch){.micro = 1, .microbatches = pp * (int)ms_random_range(random, 1, 4)};
    spec.choices.recompute = (ms_recompute)ms_random_range(random, 0, 2);
    spec.choices.recompute_parts = 0;
    int choice = (int)ms_random_range(random, 0, 2);
    if (choice == 1) {
        spec.model.layers += (int)ms_random_range(random, 0, stages - 1);
        spec.schedule.partition.kind = MS_PARTITION_BALANCED;
    } else if (choice == 2) {
        draw_shares(random, spec.model.layers, stages, listed);
        spec.schedule.partition.stage_layers = (ms_ints){listed, (size_t)stages};
    }
    return spec;
}

/* When the job's own passes end on paper, with free messages and no update: no simulation, which
 * has these passes in the same order, ends sooner.  Returns 0 where the job is refused. */
static double paper_s(spec_fixture *f, const ms_job_spec *spec, ms_arena *arena) {
    ms_job job;
    ms_schedule_costs times;
    ms_schedule_result paper;
    ms_diag mute;
    ms_diag_init_mute(&mute);
    if (ms_job_lay_out(spec, arena, &mute, &job) != MS_OK) {
        return 0.0;
    }
    cr_assert_eq(ms_layer_partition_balance(&job, arena, &f->diag), MS_OK);
    cr_assert_eq(ms_model_costs(&spec->model, &job.layout, &job.precision,
                                &spec->platform.cluster->gpu, arena, &f->diag, &job.costs),
                 MS_OK);
    cr_assert_eq(ms_estimate_pass_times(&job, arena, &times), MS_OK);
    cr_assert_eq(ms_schedule_evaluate(&job.program, &times, arena, &f->diag, &paper), MS_OK);
    return paper.makespan;
}

Test(bound, is_never_above_the_step_of_random_jobs) {
    enum { JOBS = 400 };
    const char *given = getenv("MS_SEED");
    uint64_t seed = given == NULL ? 20261127U : strtoull(given, NULL, 0);
    int listed[STAGES_MAX], legal = 0, near = 0;
    spec_fixture f;
    ms_diag mute;
    spec_fixture_init(&f);
    ms_diag_init_mute(&mute);
    ms_job_spec bases[PP_MAX];
    for (int pp = 1; pp <= PP_MAX; pp++) {
        bases[pp - 1] = layers_alone(&f, 24 * pp, pp, 8);
    }
    ms_estimator *estimator = ms_estimator_new(&f.arena);
    for (int i = 0; i < JOBS; i++) {
        ms_random random = {seed + (uint64_t)i};
        ms_arena arena;
        ms_price_use least;
        ms_spec_estimate found;
        ms_arena_init(&arena);
        ms_job_spec spec = draw_job(bases, &random, listed);
        double ends_s = paper_s(&f, &spec, &arena);
        if (ends_s > 0.0) {
            cr_assert_eq(ms_estimator_bound(estimator, &spec, &f.diag, &least), MS_OK);
            cr_assert_eq(ms_estimator_run(estimator, &spec, &f.diag, &found), MS_OK);
            cr_assert_leq(least.step_s, ends_s * (1.0 + 1e-9), "seed %llu: bound %g of %g",
                          (unsigned long long)seed + (unsigned long long)i, least.step_s, ends_s);
            cr_assert_leq(found.lower_bound_s, found.step_s * (1.0 + 1e-9));
            cr_assert_geq(found.step_s, ends_s * (1.0 - 1e-9), "seed %llu: step %g of %g",
                          (unsigned long long)seed + (unsigned long long)i, found.step_s, ends_s);
            near += least.step_s > 0.5 * ends_s;
            legal++;
        }
        ms_arena_release(&arena);
    }
    cr_assert_gt(legal, JOBS / 2, "%d legal", legal);
    cr_assert_gt(near, legal / 3, "%d of %d bounds say something", near, legal);
    ms_estimator_free(estimator);
    spec_fixture_release(&f);
}
