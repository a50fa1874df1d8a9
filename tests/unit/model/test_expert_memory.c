/* Memory of models with experts against hand-made numbers: what ep divides, what it leaves alone,
 * and that nothing is divided twice. */
#include "moe_fixture.h"

enum { LAYERS = 2, REPLICAS = 16 }; /* dp x ep */

/* Weights of fixture_small_moe: hidden 1024, 16 heads of which 4 have keys and values, a shared
 * expert of 768, 16 experts of 512, all of three matrices; a router, two norms a layer and one
 * behind. */
static const double ATTENTION = 2.0 * 1024 * 1024 + 2.0 * 1024 * 256;
static const double SHARED = 3.0 * 1024 * 768;
static const double ROUTER = 1024.0 * 16;
static const double NORMS = 2.0 * 1024;
static const double EXPERTS = 16.0 * 3 * 1024 * 512;

static double weights_of_a_rank(int tp, int ep) {
    double layer = (ATTENTION + SHARED) / tp + ROUTER + NORMS + EXPERTS / (tp * ep);
    return LAYERS * layer;
}

static void cost(fixture_costs *fixture, int tp, int ep, int zero) {
    ms_model model = fixture_small_moe(LAYERS);
    ms_gpu_type gpu = fixture_a100();
    fixture_init(fixture);
    fixture->layout.tp = tp;
    fixture->layout.ep = ep;
    fixture->layout.dp = REPLICAS / ep;
    fixture->layout.zero = zero;
    fixture->layout.reduce = zero < 3 ? MS_REDUCE_LAST : MS_REDUCE_EVERY; /* keeps a share */
    fixture_run(fixture, &model, &gpu);
    cr_assert_eq(fixture->status, MS_OK, "%s", fixture->log.text);
}

/* Twice as many ranks among which experts are shared: half of their weights, gradients and state on
 * each; tokens that a rank's experts work on stay as many, as each gets them from twice as many. */
Test(expert_memory, ep_divides_weights_and_state_of_experts_alone) {
    double activation_B = 0;
    for (int ep = 1; ep <= 16; ep *= 2) {
        fixture_costs fixture;
        cost(&fixture, 1, ep, 0);
        const ms_stage_memory *memory = &fixture.costs.stage[0].memory;
        double weights = weights_of_a_rank(1, ep);
        cr_assert_eq(memory->parameter_B, 2 * weights, "ep %d: %.17g", ep, memory->parameter_B);
        cr_assert_eq(memory->gradient_B, 4 * weights, "ep %d", ep);
        cr_assert_eq(memory->optimizer_B, 12 * weights, "ep %d", ep);
        cr_assert(ep == 1 || memory->activation_B == activation_B, "ep %d", ep);
        activation_B = memory->activation_B;
        fixture_clear(&fixture);
    }
}

/* State of the optimizer over all ranks that hold the same weights: 16 for what every rank has,
 * 16 / ep for experts, so that an expert's state is on every one of its ranks a sixteenth of all
 * experts', whatever ep: divided by ep once and by dp once. */
Test(expert_memory, sharded_state_is_divided_once_by_each_axis) {
    for (int tp = 1; tp <= 4; tp *= 2) {
        for (int ep = 1; ep <= 16; ep *= 2) {
            fixture_costs fixture;
            cost(&fixture, tp, ep, 1);
            const ms_stage_memory *memory = &fixture.costs.stage[0].memory;
            double experts = LAYERS * EXPERTS / tp / REPLICAS;
            double rest = LAYERS * ((ATTENTION + SHARED) / tp + ROUTER + NORMS);
            double expected = 12 * (experts + rest / REPLICAS);
            cr_assert_lt(fixture_gap(memory->optimizer_B, expected), 1e-14, "tp %d ep %d: %.17g",
                         tp, ep, memory->optimizer_B);
            cr_assert_eq(memory->parameter_B, 2 * weights_of_a_rank(tp, ep), "ZeRO 1 keeps them");
            fixture_clear(&fixture);
        }
    }
}

/* Fully sharded, all ranks together hold every weight once, its gradient once and its state once.
 */
Test(expert_memory, fully_sharded_ranks_hold_one_copy_together) {
    for (int ep = 1; ep <= 16; ep *= 4) {
        fixture_costs fixture;
        cost(&fixture, 1, ep, 3);
        const ms_stage_memory *memory = &fixture.costs.stage[0].memory;
        double all = weights_of_a_rank(1, 1);
        cr_assert_lt(fixture_gap(REPLICAS * memory->parameter_B, 2 * all), 1e-14, "ep %d", ep);
        cr_assert_lt(fixture_gap(REPLICAS * memory->gradient_B, 4 * all), 1e-14, "ep %d", ep);
        cr_assert_lt(fixture_gap(REPLICAS * memory->optimizer_B, 12 * all), 1e-14, "ep %d", ep);
        fixture_clear(&fixture);
    }
}

/* DeepSeek-V3 on 16 pipeline ranks and 64 ranks of experts, as it was trained: a layer's 256
 * experts are 4 on each, of 3 x 7168 x 2048 weights. */
Test(expert_memory, published_model_by_hand) {
    ms_model model = fixture_deepseek_v3();
    ms_gpu_type gpu = fixture_a100();
    fixture_costs fixture;
    fixture_init(&fixture);
    fixture.layout.ep = 64;
    fixture.layout.zero = 1;
    fixture_run(&fixture, &model, &gpu);
    cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
    double experts = 58 * 4 * 3.0 * 7168 * 2048; /* the first three layers are dense */
    const ms_stage_cost *stage = &fixture.costs.stage[0];
    double dense = stage->parameters - experts;
    cr_assert_eq(stage->expert_parameters, experts);
    cr_assert_eq(stage->memory.parameter_B, 2 * stage->parameters);
    cr_assert_lt(fixture_gap(stage->memory.optimizer_B, 12 * (experts + dense / 64)), 1e-14,
                 "dp is 1: experts' state has one owner each");
    fixture_clear(&fixture);
}
