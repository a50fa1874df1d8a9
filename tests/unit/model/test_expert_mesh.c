/* Experts on a mesh of their own (parallel folding), against numbers worked out by hand: a pipeline
 * rank of 16 or 32 ranks is tp 2 x dp 8 or 16 to the attention and ep 16 x etp 1, or ep 8 x etp 2,
 * to the experts. */
#include "moe_fixture.h"

enum {
    HIDDEN = 1024,
    SEQUENCE = 2048,
    TP = 2,
    EXPERTS = 32,
    TOP_K = 4,
    FFN = 512,
    LAYERS = 4,
    PP = 4
};

static ms_model folded_model(void) {
    ms_model model = fixture_small_moe(LAYERS);
    model.moe.experts = EXPERTS;
    return model;
}

static ms_model_layout folded_layout(int stage_ranks, int ep, int expert_tp) {
    ms_model_layout layout = {.tp = TP,
                              .pp = PP,
                              .chunks = 1,
                              .dp = stage_ranks / TP,
                              .ep = ep,
                              .cp = 1,
                              .micro_batch = 1,
                              .has_sequence_parallel = true,
                              .zero = 1};
    layout.expert_mesh = (ms_expert_mesh){.tp = expert_tp, .dp = stage_ranks / (ep * expert_tp)};
    return layout;
}

static double sum_of(const ms_stage_costs *costs, ms_pass_plan plan, ms_coll_kind kind,
                     unsigned axes) {
    double sum_B = 0;
    for (int i = plan.first; i < plan.first + plan.count; i++) {
        const ms_segment *segment = &costs->segments[i];
        bool is_wanted = segment->is_collective && segment->coll == kind;
        sum_B += is_wanted && segment->group_axes == axes ? segment->coll_B : 0;
    }
    return sum_B;
}

static void cost(fixture_costs *fixture, ms_model_layout layout) {
    ms_gpu_type gpu = fixture_a100();
    ms_model model = folded_model();
    fixture_init(fixture);
    fixture->layout = layout;
    fixture_run(fixture, &model, &gpu);
    cr_assert_eq(fixture->status, MS_OK, "%s", fixture->log.text);
}

/* One layer on each stage: 16 ranks hold 2 experts each, 3 matrices of 1024 x 512; with etp 2 and
 * ep 8 they hold half of 4. */
enum { EXPERT_PARAMETERS = 3 * HIDDEN * FFN * EXPERTS / 16 };
#define EXPERT_AXIS(axis) (MS_AXIS_BIT(axis) | MS_AXES_OF_EXPERTS)

Test(expert_mesh, tokens_of_every_rank_go_to_the_experts_of_all) {
    fixture_costs fixture;
    cost(&fixture, folded_layout(16, 16, 1));
    const ms_stage_cost *stage = &fixture.costs.stage[1];
    cr_assert_float_eq(stage->expert_parameters, EXPERT_PARAMETERS, 0.5);
    /* 2048 / tp tokens, 4 copies of each, 2 B an element; there and back */
    double copies_B = 2.0 * SEQUENCE / TP * TOP_K * HIDDEN;
    double sent_B = sum_of(&fixture.costs, stage->passes[MS_PASS_F], MS_COLL_ALL_TO_ALL,
                           EXPERT_AXIS(MS_AXIS_EP));
    cr_assert_float_eq(sent_B, 2 * copies_B, 0.5);
    cr_assert_float_eq(sum_of(&fixture.costs, stage->passes[MS_PASS_F], MS_COLL_ALL_GATHER,
                              EXPERT_AXIS(MS_AXIS_TP)),
                       0, 0, "experts are whole: nothing is gathered");
    fixture_clear(&fixture);
}

Test(expert_mesh, ranks_that_share_an_expert_gather_what_they_received) {
    fixture_costs fixture;
    cost(&fixture, folded_layout(16, 8, 2));
    const ms_stage_cost *stage = &fixture.costs.stage[1];
    cr_assert_float_eq(stage->expert_parameters, EXPERT_PARAMETERS, 0.5);
    double copies_B = 2.0 * SEQUENCE / TP * TOP_K * HIDDEN;
    ms_pass_plan forward = stage->passes[MS_PASS_F];
    cr_assert_float_eq(sum_of(&fixture.costs, forward, MS_COLL_ALL_TO_ALL, EXPERT_AXIS(MS_AXIS_EP)),
                       2 * copies_B, 0.5);
    cr_assert_float_eq(sum_of(&fixture.costs, forward, MS_COLL_ALL_GATHER, EXPERT_AXIS(MS_AXIS_TP)),
                       2 * copies_B, 0.5, "the full buffer of two ranks");
    cr_assert_float_eq(
        sum_of(&fixture.costs, forward, MS_COLL_REDUCE_SCATTER, EXPERT_AXIS(MS_AXIS_TP)),
        2 * copies_B, 0.5);
    fixture_clear(&fixture);
}

/* Gradients of experts are reduced among the ranks that hold the same ones, all else over dp. */
Test(expert_mesh, gradients_are_reduced_where_parameters_are_alike) {
    static const struct {
        int stage_ranks;
        double expert_B; /* full buffer of 4-byte gradients */
    } CASES[] = {{16, 0}, {32, 4.0 * EXPERT_PARAMETERS}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        fixture_costs fixture;
        cost(&fixture, folded_layout(CASES[i].stage_ranks, 16, 1));
        const ms_stage_cost *stage = &fixture.costs.stage[1];
        ms_pass_plan end = fixture.costs.before_update[1];
        unsigned replicas =
            MS_AXIS_BIT(MS_AXIS_DP) | MS_AXIS_BIT(MS_AXIS_CP) | MS_AXIS_BIT(MS_AXIS_OTHER);
        cr_assert_float_eq(
            sum_of(&fixture.costs, end, MS_COLL_REDUCE_SCATTER, replicas | MS_AXES_OF_EXPERTS),
            CASES[i].expert_B, 0.5);
        double dense = stage->parameters - stage->expert_parameters;
        cr_assert_float_eq(sum_of(&fixture.costs, end, MS_COLL_REDUCE_SCATTER, replicas), 4 * dense,
                           0.5);
        fixture_clear(&fixture);
    }
}

/* ZeRO 1: state of experts over the ranks that hold the same ones, of the rest over dp. */
Test(expert_mesh, memory_of_states_by_hand) {
    for (int expert_dp = 1; expert_dp <= 2; expert_dp++) {
        fixture_costs fixture;
        cost(&fixture, folded_layout(16 * expert_dp, 16, 1));
        const ms_stage_cost *stage = &fixture.costs.stage[1];
        double dense = stage->parameters - stage->expert_parameters;
        /* attention and shared expert on 1/tp, router and norms whole:
         * q and output 1024 x 1024, k and v 1024 x 256; 3 x 1024 x 768; 1024 x 32; 2 x 1024 */
        cr_assert_float_eq(dense,
                           (2.0 * HIDDEN * HIDDEN + 2.0 * HIDDEN * 256 + 3.0 * HIDDEN * 768) / TP +
                               HIDDEN * EXPERTS + 2.0 * HIDDEN,
                           0.5);
        const ms_stage_memory *memory = &stage->memory;
        cr_assert_float_eq(memory->parameter_B, 2 * (dense + EXPERT_PARAMETERS), 0.5);
        cr_assert_float_eq(memory->gradient_B, 4 * (dense + EXPERT_PARAMETERS), 0.5);
        cr_assert_float_eq(memory->optimizer_B,
                           12 * (dense / (8.0 * expert_dp) + EXPERT_PARAMETERS / (double)expert_dp),
                           0.5);
        fixture_clear(&fixture);
    }
}

Test(expert_mesh, what_does_not_go_together_is_refused) {
    ms_gpu_type gpu = fixture_a100();
    ms_model model = folded_model();
    ms_model dense = fixture_llama(LAYERS, HIDDEN, 16, 4, 4096);
    const struct {
        const ms_model *model;
        bool is_split, has_shard;
        int expert_tp;
        const char *fault;
    } CASES[] = {{&dense, true, false, 1, "needs a model with experts"},
                 {&model, false, false, 1, "needs sequence parallelism"},
                 {&model, true, true, 1, "not built beside a mesh of the experts"},
                 {&model, true, false, 3, "does not divide 512 columns of an expert"}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout = folded_layout(16, 16, 1);
        fixture.layout.has_sequence_parallel = CASES[i].is_split;
        fixture.layout.shard_axes = CASES[i].has_shard ? MS_AXIS_BIT(MS_AXIS_DP) : 0;
        fixture.layout.expert_mesh.tp = CASES[i].expert_tp;
        fixture_run(&fixture, CASES[i].model, &gpu);
        cr_assert_eq(fixture.status, MS_E_INPUT);
        cr_assert(strstr(fixture.log.text, CASES[i].fault) != NULL, "%s", fixture.log.text);
        fixture_clear(&fixture);
    }
}
