/* An outline, written out, is what is laid out in full. */
#include "fixture.h"
#include "model/internal.h"

/* Whether a segment costs and waits for the same as one of the full list. Written out, what it
 * waits for stands `moved` segments further on, as it does where it runs for the first time. */
static void compare(const ms_segment *of, const ms_segment *full, int moved) {
    cr_assert_eq(of->is_collective, full->is_collective);
    cr_assert_eq(of->time_s, full->time_s);
    cr_assert_eq(of->flop, full->flop);
    cr_assert_eq(of->when, full->when);
    cr_assert_eq(of->coll_B, full->coll_B);
    cr_assert_eq(of->group_axes, full->group_axes);
    cr_assert_eq(of->is_async, full->is_async);
    cr_assert_eq(of->wait_count, full->wait_count);
    for (int i = 0; i < of->wait_count; i++) {
        cr_assert_eq(of->waits[i] + moved, full->waits[i]);
    }
}

/* Returns segments that were left out. */
static int compare_passes(const fixture_costs *full, const ms_stage_costs *outline, int stage,
                          int pass) {
    const ms_pass_plan *all = &full->costs.stage[stage].passes[pass];
    const ms_pass_plan *plan = &outline->stage[stage].passes[pass];
    const ms_repeat *repeat = &plan->repeat;
    int left_out = repeat->count * repeat->times;
    cr_assert_eq(plan->count + left_out, all->count, "stage %d pass %d: %d + %d, not %d", stage,
                 pass, plan->count, left_out, all->count);
    int end = repeat->first + repeat->count;
    for (int i = 0; i < all->count; i++) {
        int moved = i < end ? 0 : i < end + left_out ? (i - repeat->first) / repeat->count : -1;
        moved = moved < 0 ? left_out : moved * repeat->count;
        compare(&outline->segments[plan->first + i - moved], &full->costs.segments[all->first + i],
                moved);
    }
    return left_out;
}

static int compare_all(fixture_costs *full, const ms_model *model) {
    ms_gpu_type gpu = fixture_a100();
    ms_precision precision = fixture_precision();
    ms_stage_costs outline;
    int left_out = 0;
    fixture_run(full, model, &gpu);
    if (full->status != MS_OK) {
        return -1;
    }
    cr_assert_eq(ms_model_outline(model, &full->layout, &precision, &gpu, (1U << MS_PASS_COUNT) - 1,
                                  &full->arena, &full->diag, &outline),
                 MS_OK);
    for (int stage = 0; stage < outline.stages; stage++) {
        const ms_stage_cost *a = &full->costs.stage[stage], *b = &outline.stage[stage];
        cr_assert_eq(memcmp(&a->memory, &b->memory, sizeof a->memory), 0);
        cr_assert_eq(a->layer_first, b->layer_first);
        cr_assert_eq(a->parameters, b->parameters);
        cr_assert_eq(a->send_forward_B, b->send_forward_B);
        for (int pass = 0; pass < MS_PASS_COUNT; pass++) {
            left_out += compare_passes(full, &outline, stage, pass);
        }
    }
    for (int p = 0; p < full->layout.pp; p++) {
        cr_assert_eq(full->costs.optimizer_s[p], outline.optimizer_s[p]);
        cr_assert_eq(full->costs.before_update[p].count, outline.before_update[p].count);
    }
    return left_out;
}

/* Choices that put collectives between layers, in both kinds of models. */
Test(outline, written_out_is_the_full_list) {
    int shortened = 0, legal = 0;
    for (int i = 0; i < 4 * 2 * 2 * 3 * 2 * 3; i++) {
        fixture_costs full;
        ms_model model =
            i % 2 == 0 ? fixture_gpt(24, 1024, 16, 51200) : fixture_llama(25, 1024, 16, 8, 2816);
        model.moe = i / 2 % 2 == 0 ? (ms_moe){0}
                                   : (ms_moe){.experts = 8,
                                              .top_k = 2,
                                              .ffn = 512,
                                              .first_dense_layers = 3,
                                              .every = i / 96 % 3 == 2 ? 2 : 1};
        fixture_init(&full);
        full.layout.zero = i / 4 % 4;
        full.layout.has_reduce_overlap = i / 16 % 2 == 1;
        full.layout.has_gather_overlap = full.layout.zero > 0 && i / 32 % 2 == 1;
        full.layout.recompute = (ms_recompute)(i / 64 % 3);
        full.layout.recompute_layers = full.layout.recompute == MS_RECOMPUTE_FULL ? 3 : 0;
        full.layout.bucketing = (ms_bucketing)(i % 7 % 5);
        full.layout.bucket_B = i % 5 == 0 ? 1e8 : 0;
        if (full.layout.bucketing == MS_BUCKETS_MEGATRON && full.layout.zero >= 2) {
            full.layout.bucketing = MS_BUCKETS_CAPPED;
        }
        full.layout.tp = 2;
        full.layout.dp = 4;
        full.layout.pp = 1 + i % 3;
        int left_out = compare_all(&full, &model);
        legal += left_out >= 0;
        shortened += left_out > 0;
        fixture_clear(&full);
    }
    cr_assert_gt(legal, 200, "%d", legal);
    cr_assert_gt(shortened, legal / 2, "%d of %d", shortened, legal);
}

/* Layers whose experts are chosen unevenly, each in a way of its own, all stand there. */
Test(outline, leaves_out_no_layer_that_is_unlike) {
    fixture_costs full;
    ms_model model = fixture_llama(24, 1024, 16, 8, 2816);
    model.moe = (ms_moe){.experts = 8,
                         .top_k = 2,
                         .ffn = 512,
                         .every = 1,
                         .imbalance = MS_IMBALANCE_LOGNORMAL,
                         .spread = 0.3};
    fixture_init(&full);
    full.layout.ep = 4;
    cr_assert_eq(compare_all(&full, &model), 0);
    fixture_clear(&full);
}
