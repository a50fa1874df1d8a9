/* Candidates by the estimator: what a single estimate says, and no memory for what is known. */
#include <malloc.h>
#include <math.h>

#include "meshsim/estimate.h"
#include "platform_fixture.h"

static const ms_precision MIXED = {.parameter_B = 2, .gradient_B = 4, .optimizer_B = 12};
static const ms_model SMALL = {.name = "small",
                               .layers = 8,
                               .hidden = 1024,
                               .heads = 16,
                               .kv_heads = 16,
                               .head_dim = 64,
                               .ffn = 4096,
                               .vocab = 51200,
                               .sequence = 1024,
                               .has_flash_attention = true,
                               .has_fused_accumulation = true};

enum { CANDIDATES = 24 };

typedef struct candidate_set {
    platform_fixture f;
    ms_mesh meshes[CANDIDATES];
    ms_model_layout layouts[CANDIDATES];
    ms_candidate list[CANDIDATES];
} candidate_set;

/* Sixteen GPUs shared in several ways. */
static void list_candidates(candidate_set *set) {
    static const char *const NAMES[][3] = {{"pp", "dp", "tp"}, {"dp", "pp", "tp"}};
    fixture_platform(&set->f, "dgx-a100", "{nodes: 2}");
    for (int i = 0; i < CANDIDATES; i++) {
        int pp = 1 << i % 3, tp = 1 << i / 3 % 2, dp = 16 / (pp * tp), order = i / 6 % 2;
        const int sizes[] = {order == 0 ? pp : dp, order == 0 ? dp : pp, tp};
        cr_assert_eq(ms_mesh_init(&set->meshes[i], NAMES[order], sizes, 3, &set->f.diag), MS_OK);
        set->layouts[i] = (ms_model_layout){.tp = tp,
                                            .pp = pp,
                                            .dp = dp,
                                            .micro_batch = 1,
                                            .zero = i / 12,
                                            .allocator_overhead = 0.1};
        set->list[i] = (ms_candidate){
            .mesh = &set->meshes[i],
            .layout = &set->layouts[i],
            .schedule = {.kind = pp == 4 ? MS_SCHEDULE_INTERLEAVED : MS_SCHEDULE_1F1B,
                         .pipeline_ranks = pp,
                         .chunks = pp == 4 ? 2 : 1,
                         .microbatches = 8}};
    }
}

/* The same by a single estimate. */
static ms_estimate estimate_alone(candidate_set *set, const ms_candidate *c) {
    ms_program program;
    ms_stage_costs costs;
    ms_estimate estimate;
    int layers[8];
    ms_model_layout layout = *c->layout;
    layout.chunks = c->schedule.chunks;
    layout.stage_layers = layers;
    for (int s = 0; s < layout.pp * layout.chunks; s++) {
        layers[s] = 8 / (layout.pp * layout.chunks);
    }
    cr_assert_eq(ms_schedule_build(&c->schedule, &set->f.arena, &set->f.diag, &program), MS_OK);
    cr_assert_eq(ms_model_costs(&SMALL, &layout, &MIXED, &set->f.platform.gpu, &set->f.arena,
                                &set->f.diag, &costs),
                 MS_OK);
    ms_estimate_input input = {.platform = &set->f.platform,
                               .mesh = c->mesh,
                               .program = &program,
                               .costs = &costs,
                               .fidelity = MS_FIDELITY_FLOW};
    cr_assert_eq(ms_estimate_compute(&input, &set->f.arena, &set->f.diag, &estimate), MS_OK);
    return estimate;
}

Test(estimator, says_what_a_single_estimate_says) {
    candidate_set set;
    list_candidates(&set);
    ms_estimator *estimator = ms_estimator_new(&set.f.platform, &SMALL, &MIXED, &set.f.arena);
    for (int i = 0; i < CANDIDATES; i++) {
        ms_candidate_estimate found;
        ms_estimate alone = estimate_alone(&set, &set.list[i]);
        cr_assert_eq(ms_estimator_run(estimator, &set.list[i], &set.f.diag, &found), MS_OK);
        cr_assert_lt(fabs(found.step_s / alone.step_s - 1.0), 1e-12, "candidate %d", i);
        cr_assert_lt(fabs(found.lower_bound_s / alone.lower_bound_s - 1.0), 1e-12);
        cr_assert_eq(found.peak_B, alone.ranks[alone.peak_rank].peak_B, "candidate %d", i);
        cr_assert_eq(found.fits, alone.fits);
    }
    ms_estimator_free(estimator);
    fixture_release(&set.f);
}

Test(estimator, allocates_nothing_for_what_is_known) {
    candidate_set set;
    list_candidates(&set);
    ms_estimator *estimator = ms_estimator_new(&set.f.platform, &SMALL, &MIXED, &set.f.arena);
    size_t arena_B = 0, heap_B = 0;
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < CANDIDATES; i++) {
            ms_candidate_estimate found;
            cr_assert_eq(ms_estimator_run(estimator, &set.list[i], &set.f.diag, &found), MS_OK);
            cr_assert(round < 2 || mallinfo2().uordblks == heap_B, "round %d, candidate %d", round,
                      i);
            heap_B = mallinfo2().uordblks;
        }
        cr_assert(round == 0 || set.f.arena.used_B == arena_B, "round %d", round);
        arena_B = set.f.arena.used_B;
    }
    ms_estimator_free(estimator);
    fixture_release(&set.f);
}

/* A schedule that cannot be built, and layers that do not divide, are refused each time. */
Test(estimator, refuses_again_what_it_refused) {
    candidate_set set;
    list_candidates(&set);
    ms_estimator *estimator = ms_estimator_new(&set.f.platform, &SMALL, &MIXED, &set.f.arena);
    ms_candidate odd = set.list[2];
    odd.schedule.microbatches = 7; /* interleaved: a multiple of the pipeline ranks */
    for (int i = 0; i < 2; i++) {
        ms_candidate_estimate found;
        cr_assert_eq(ms_estimator_run(estimator, &odd, &set.f.diag, &found), MS_E_INPUT);
    }
    ms_estimator_free(estimator);
    fixture_release(&set.f);
}
