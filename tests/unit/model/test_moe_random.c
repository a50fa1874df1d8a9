#include "moe_fixture.h"

static int pick(ms_random *random, int low, int high) {
    return (int)ms_random_range(random, low, high);
}

static ms_moe random_experts(ms_random *random) {
    ms_moe moe = {.experts = 8 << pick(random, 0, 2),
                  .top_k = pick(random, 1, 4),
                  .ffn = 256 * pick(random, 1, 4),
                  .shared_experts = pick(random, 0, 2),
                  .shared_ffn = 512,
                  .first_dense_layers = pick(random, 0, 2),
                  .every = pick(random, 1, 2),
                  .node_limit = pick(random, 0, 1) * 4,
                  .overlap = (ms_moe_overlap)pick(random, 0, 2),
                  .imbalance = (ms_imbalance_kind)pick(random, 0, 2),
                  .spread = ms_random_unit(random),
                  .seed = pick(random, 0, 100)};
    moe.capacity_factor = pick(random, 0, 1) * 1.5;
    moe.has_padding = moe.capacity_factor > 0 && pick(random, 0, 1);
    moe.dispatch_element_B = pick(random, 0, 1);
    return moe;
}

static ms_model random_model(ms_random *random) {
    ms_model model = fixture_llama(4, 1024, 16, 16, 2048);
    model.vocab = pick(random, 0, 1) * 3200;
    model.sequence = 256;
    model.has_tied_embeddings = pick(random, 0, 1);
    model.moe = random_experts(random);
    model.mtp_layers = model.vocab > 0 ? pick(random, 0, 2) : 0;
    if (pick(random, 0, 1)) {
        model.mla = (ms_mla){.q_rank = 128 * pick(random, 0, 1),
                             .kv_rank = 64,
                             .qk_nope = 64,
                             .qk_rope = 32,
                             .v_dim = 64};
    }
    return model;
}

static ms_model_layout random_layout(ms_random *random, const ms_model *model) {
    ms_model_layout layout = {.tp = 1 << pick(random, 0, 2),
                              .pp = 1 << pick(random, 0, 1),
                              .chunks = 1,
                              .dp = pick(random, 1, 3),
                              .ep = 1 << pick(random, 0, 3),
                              .cp = 1 << pick(random, 0, 1),
                              .micro_batch = pick(random, 1, 2),
                              .zero = pick(random, 0, 3),
                              .recompute = (ms_recompute)pick(random, 0, 2),
                              .has_sequence_parallel = pick(random, 0, 1)};
    layout.recompute_parts = (unsigned)pick(random, 0, 7);
    if (model->mla.kv_rank == 0) {
        layout.recompute_parts &= ~(unsigned)MS_RECOMPUTE_LATENT_UP;
    }
    layout.ep_node_ranks = layout.ep >= 4 ? 2 : 0;
    layout.has_gather_overlap = layout.zero > 0 && pick(random, 0, 1);
    layout.has_reduce_overlap = pick(random, 0, 1);
    return layout;
}

/* Joins name collectives before them that run beside what follows; computation takes time; what is
 * sent has a size. */
static void check_pass(const ms_stage_costs *costs, ms_pass_plan plan, uint64_t seed) {
    for (int i = 0; i < plan.count; i++) {
        const ms_segment *segment = &costs->segments[plan.first + i];
        if (segment->is_collective) {
            cr_assert(segment->coll_B > 0 && segment->coll_intra_node_B >= 0 &&
                      segment->time_s == 0);
            cr_assert(segment->coll_load_imbalance == 0 ||
                      segment->coll_load_imbalance >= 1 - 1e-12);
        } else {
            cr_assert_gt(segment->time_s, 0, "seed %llu", (unsigned long long)seed);
        }
        for (int j = 0; j < segment->wait_count; j++) {
            cr_assert_lt(segment->waits[j], i, "seed %llu", (unsigned long long)seed);
            cr_assert(costs->segments[plan.first + segment->waits[j]].is_async, "seed %llu",
                      (unsigned long long)seed);
        }
    }
}

static void check_stage(const ms_stage_costs *costs, int stage, uint64_t seed) {
    for (int pass = 0; pass < MS_PASS_COUNT; pass++) {
        check_pass(costs, costs->stage[stage].passes[pass], seed);
    }
    double input_s = fixture_pass_s(costs, stage, MS_PASS_I);
    double weight_s = fixture_pass_s(costs, stage, MS_PASS_W);
    double both_s = fixture_pass_s(costs, stage, MS_PASS_B);
    cr_assert_lt(fixture_gap(input_s + weight_s, both_s), 1e-12, "seed %llu",
                 (unsigned long long)seed);
    const ms_stage_memory *memory = &costs->stage[stage].memory;
    cr_assert(memory->activation_B > 0 && memory->working_B > 0 && memory->optimizer_B > 0);
    cr_assert_leq(costs->stage[stage].expert_parameters, costs->stage[stage].parameters);
}

Test(moe_random, invariants_hold_for_random_models_and_layouts) {
    uint64_t seed = fixture_seed();
    ms_random random = {seed};
    ms_gpu_type gpu = fixture_a100();
    for (int i = 0; i < 200; i++) {
        fixture_costs fixture;
        fixture_init(&fixture);
        ms_model model = random_model(&random);
        fixture.layout = random_layout(&random, &model);
        fixture_run(&fixture, &model, &gpu);
        cr_assert_eq(fixture.status, MS_OK, "seed %llu: %s", (unsigned long long)seed,
                     fixture.log.text);
        const ms_stage_costs *costs = &fixture.costs;
        for (int stage = 0; stage < costs->stages; stage++) {
            check_stage(costs, stage, seed);
        }
        for (int k = 0; k < costs->kernel_count; k++) {
            for (int j = 0; j < k; j++) {
                cr_assert(strcmp(costs->kernels[k].name, costs->kernels[j].name) != 0 ||
                          strcmp(costs->kernels[k].shape, costs->kernels[j].shape) != 0);
            }
        }
        fixture_clear(&fixture);
    }
}

/* Over all ranks the experts are there once for each replica, whatever the layout. */
Test(moe_random, ranks_hold_the_whole_model_together) {
    uint64_t seed = fixture_seed();
    ms_random random = {seed};
    ms_gpu_type gpu = fixture_a100();
    for (int i = 0; i < 100; i++) {
        fixture_costs fixture;
        fixture_init(&fixture);
        ms_model model = random_model(&random);
        fixture.layout = random_layout(&random, &model);
        fixture.layout.ep = fixture.layout.ep > 1 ? fixture.layout.ep : 2;
        fixture_run(&fixture, &model, &gpu);
        cr_assert_eq(fixture.status, MS_OK, "seed %llu: %s", (unsigned long long)seed,
                     fixture.log.text);
        double held = 0, there = 0;
        for (int stage = 0; stage < fixture.costs.stages; stage++) {
            held += fixture.costs.stage[stage].expert_parameters * fixture.layout.tp *
                    fixture.layout.ep;
        }
        int layers = 0;
        for (int layer = 0; layer < 4 + model.mtp_layers; layer++) {
            int index = (layer < 4 ? layer : 3) - model.moe.first_dense_layers;
            layers += index >= 0 && index % model.moe.every == model.moe.every - 1;
        }
        there = layers * 3.0 * 1024 * model.moe.ffn * model.moe.experts;
        cr_assert_eq(held, there, "seed %llu", (unsigned long long)seed);
        fixture_clear(&fixture);
    }
}
