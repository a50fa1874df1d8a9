/* What frameworks and libraries hold for themselves, by hand. */
#include "moe_fixture.h"

#define MIB (1024.0 * 1024)

static double workspace_B(ms_libraries libraries, ms_gpu_generation generation, double cublas_B,
                          unsigned buffers) {
    ms_model model = fixture_small_moe(1);
    ms_gpu_type gpu = fixture_a100();
    gpu.generation = generation;
    fixture_costs fixture;
    fixture_init(&fixture);
    fixture.layout.framework_memory =
        (ms_framework_memory){.libraries = libraries, .cublas_B = cublas_B, .buffers = buffers};
    fixture_run(&fixture, &model, &gpu);
    cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
    double found_B = fixture.costs.workspace_B;
    fixture_clear(&fixture);
    return found_B;
}

/* Source of the sizes: as in framework_memory.c. */
Test(framework_memory, workspaces_go_by_library_and_generation) {
    static const struct {
        ms_libraries libraries;
        ms_gpu_generation generation;
        double cublas_MiB;
        unsigned buffers;
        double expected_MiB;
    } ROWS[] = {
        {MS_LIBRARIES_NONE, MS_GENERATION_HOPPER, 32, MS_BUFFER_GROUPED_PRODUCTS, 0},
        {MS_LIBRARIES_TORCH, MS_GENERATION_AMPERE, 0, MS_BUFFER_GROUPED_PRODUCTS, 2 * 8.125},
        {MS_LIBRARIES_TORCH, MS_GENERATION_HOPPER, 0, 0, 2 * 32},
        {MS_LIBRARIES_TORCH, MS_GENERATION_AMPERE, 32, 0, 2 * 32},
        {MS_LIBRARIES_TRANSFORMER_ENGINE, MS_GENERATION_AMPERE, 0, 0, 2 * 8.125 + 4},
        {MS_LIBRARIES_TRANSFORMER_ENGINE, MS_GENERATION_HOPPER, 0, 0, 2 * 32 + 32},
        {MS_LIBRARIES_TRANSFORMER_ENGINE, MS_GENERATION_BLACKWELL, 0, MS_BUFFER_GROUPED_PRODUCTS,
         2 * 32 + 5 * 32},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        double found_B = workspace_B(ROWS[i].libraries, ROWS[i].generation,
                                     ROWS[i].cublas_MiB * MIB, ROWS[i].buffers);
        cr_assert_eq(found_B, ROWS[i].expected_MiB * MIB, "row %zu: %g", i, found_B / MIB);
    }
}

/* Two stages of two layers; tp 2 with sequence parallelism. */
static double buffer_B(const ms_model *model, int stage, unsigned buffers) {
    ms_gpu_type gpu = fixture_a100();
    fixture_costs fixture;
    fixture_init(&fixture);
    fixture.layout.pp = 2;
    fixture.layout.tp = 2;
    fixture.layout.has_sequence_parallel = true;
    fixture.layout.framework_memory.buffers = buffers;
    fixture_run(&fixture, model, &gpu);
    cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
    double found_B = fixture.costs.stage[stage].memory.framework_B;
    fixture_clear(&fixture);
    return found_B;
}

Test(framework_memory, the_output_layer_gathers_into_its_own_buffer) {
    ms_model model = fixture_llama(4, 1024, 16, 4, 4096);
    cr_assert_eq(buffer_B(&model, 0, MS_BUFFER_GATHER), 0);
    cr_assert_eq(buffer_B(&model, 1, MS_BUFFER_GATHER), 2.0 * 8192 * 1024);
}

/* q, k, v of 16 + 2 * 4 heads of 64 on two ranks, their output, gate, up and down; the head. */
Test(framework_memory, a_shape_of_weights_has_one_placeholder) {
    ms_model model = fixture_llama(4, 1024, 16, 4, 4096);
    double layer = 1024.0 * (24 * 64 + 16 * 64) / 2 + 1024.0 * 3 * 4096 / 2;
    double head = 1024.0 * 128256 / 2;
    cr_assert_eq(buffer_B(&model, 0, MS_BUFFER_WEIGHT_GRADIENTS), 2 * layer);
    cr_assert_eq(buffer_B(&model, 1, MS_BUFFER_WEIGHT_GRADIENTS), 2 * (layer + head));
    model.has_fused_accumulation = false;
    cr_assert_eq(buffer_B(&model, 1, MS_BUFFER_WEIGHT_GRADIENTS), 0);
}

/* A dense layer and one with experts on the first stage, experts alone on the second: of them one
 * counts, of the router nothing. */
Test(framework_memory, experts_share_a_placeholder) {
    ms_model model = fixture_small_moe(4);
    model.moe.first_dense_layers = 1;
    double attention = 1024.0 * (24 * 64 + 16 * 64) / 2, dense = 1024.0 * 3 * 4096 / 2;
    double experts = 1024.0 * 3 * (512 + 768) / 2;
    cr_assert_eq(buffer_B(&model, 0, MS_BUFFER_WEIGHT_GRADIENTS),
                 2 * (attention + dense + experts));
    cr_assert_eq(buffer_B(&model, 1, MS_BUFFER_WEIGHT_GRADIENTS), 2 * (attention + experts));
}

/* 8 heads on a rank. */
Test(framework_memory, unfused_attention_has_a_score_matrix) {
    ms_model model = fixture_llama(4, 1024, 16, 4, 4096);
    cr_assert_eq(buffer_B(&model, 0, MS_BUFFER_SCORES), 0);
    model.attention = MS_ATTENTION_UNFUSED;
    cr_assert_eq(buffer_B(&model, 0, MS_BUFFER_SCORES), 2.0 * 8 * 8192 * 8192);
}

/* ---- gradients of frameworks, shards, offloading ---- */

typedef struct choices {
    unsigned buffers, offloaded, recompute_parts;
    int zero, copies;
} choices;

/* A dense model on 4 replicas. */
static ms_stage_memory memory_with(const ms_model *model, choices chosen) {
    ms_gpu_type gpu = fixture_a100();
    fixture_costs fixture;
    fixture_init(&fixture);
    fixture.layout.dp = 4;
    fixture.layout.zero = chosen.zero;
    fixture.layout.state_copies = chosen.copies;
    fixture.layout.offloaded = chosen.offloaded;
    fixture.layout.recompute_parts = chosen.recompute_parts;
    fixture.layout.framework_memory.buffers = chosen.buffers;
    fixture_run(&fixture, model, &gpu);
    cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
    ms_stage_memory memory = fixture.costs.stage[0].memory;
    fixture_clear(&fixture);
    return memory;
}

/* Megatron-FSDP gathers half a billion parameters ahead: all of a small model beside its shard,
 * that many of a large one. What a layer at work needs is among them. */
Test(framework_memory, parameters_are_gathered_far_ahead) {
    static const int LAYERS[] = {2, 24};
    for (size_t i = 0; i < sizeof LAYERS / sizeof LAYERS[0]; i++) {
        ms_model model = fixture_llama(LAYERS[i], i == 1 ? 2048 : 1024, 16, 4, 8192);
        double parameters = memory_with(&model, (choices){.zero = 0}).parameter_B / 2;
        ms_stage_memory plain = memory_with(&model, (choices){.zero = 3});
        ms_stage_memory ahead =
            memory_with(&model, (choices){.zero = 3, .buffers = MS_BUFFER_PREFETCHED});
        cr_assert_eq(i == 1, parameters > 1e9, "%g", parameters);
        cr_assert_float_eq(ahead.parameter_B - plain.parameter_B, 2 * (i == 1 ? 0.5e9 : parameters),
                           1);
        cr_assert_lt(ahead.working_B, plain.working_B);
    }
    ms_model model = fixture_llama(2, 1024, 16, 4, 4096);
    cr_assert_eq(
        memory_with(&model, (choices){.zero = 1}).parameter_B,
        memory_with(&model, (choices){.zero = 1, .buffers = MS_BUFFER_PREFETCHED}).parameter_B);
}

Test(framework_memory, gradients_stand_in_several_types) {
    ms_model model = fixture_llama(2, 1024, 16, 4, 4096);
    double parameters = memory_with(&model, (choices){.zero = 0}).parameter_B / 2;
    ms_stage_memory both = memory_with(
        &model,
        (choices){.zero = 1, .buffers = MS_BUFFER_LAST_GRADIENTS | MS_BUFFER_MAIN_GRADIENTS});
    cr_assert_eq(both.gradient_B, (4 + 2) * parameters);
    cr_assert_eq(both.update_B, 4 * parameters / 4); /* of the rank's share */
    cr_assert_eq(memory_with(&model, (choices){.zero = 1}).update_B, 0);
}

Test(framework_memory, each_set_of_shards_is_whole) {
    ms_model model = fixture_llama(2, 1024, 16, 4, 4096);
    double whole_B = memory_with(&model, (choices){.zero = 0}).optimizer_B;
    cr_assert_eq(memory_with(&model, (choices){.zero = 1}).optimizer_B, whole_B / 4);
    cr_assert_eq(memory_with(&model, (choices){.zero = 1, .copies = 2}).optimizer_B, whole_B / 2);
    cr_assert_eq(memory_with(&model, (choices){.zero = 1, .copies = 4}).optimizer_B, whole_B);
}

Test(framework_memory, shards_are_refused_that_are_not_equal) {
    ms_model model = fixture_llama(2, 1024, 16, 4, 4096);
    ms_gpu_type gpu = fixture_a100();
    fixture_costs fixture;
    fixture_init(&fixture);
    fixture.layout.dp = 4;
    fixture.layout.zero = 1;
    fixture.layout.state_copies = 3;
    fixture_run(&fixture, &model, &gpu);
    cr_assert_eq(fixture.status, MS_E_INPUT);
    cr_assert(strstr(fixture.log.text, "4 replicas are no multiple of data_parallel.copies '3'"));
    fixture_clear(&fixture);
}

/* A token's share of a layer: two planes of each half; q, k, v, the output and a log-sum-exp of
 * each head; of 4 experts its copy, gate and up, and the result. The layer at work has them back,
 * and those of the layer before it are on their way. */
Test(framework_memory, what_is_offloaded_is_on_the_gpu_while_its_layer_and_the_next_one_work) {
    ms_model model = fixture_small_moe(3);
    const double norms = 4 * 2 * 1024.0;
    const double attention = 2 * (24 * 64 + 16 * 64.0) + 4 * 16;
    const double experts = 4 * 2 * (1024 + 3 * 512.0);
    const struct {
        unsigned parts;
        double token_B;
    } ROWS[] = {{MS_OFFLOAD_NORMS, norms},
                {MS_OFFLOAD_ATTENTION, attention},
                {MS_OFFLOAD_EXPERTS, experts},
                {MS_OFFLOAD_NORMS | MS_OFFLOAD_ATTENTION | MS_OFFLOAD_EXPERTS,
                 norms + attention + experts}};
    ms_stage_memory all = memory_with(&model, (choices){.zero = 0});
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        ms_stage_memory some =
            memory_with(&model, (choices){.zero = 0, .offloaded = ROWS[i].parts});
        double layer_B = 2048 * ROWS[i].token_B;
        cr_assert_float_eq(all.activation_B - some.activation_B, 3 * layer_B, 1, "row %zu", i);
        cr_assert_float_eq(some.working_B - all.working_B, 2 * layer_B, 1, "row %zu", i);
    }
}

Test(framework_memory, nothing_comes_back_ahead_where_a_stage_has_one_layer) {
    ms_model model = fixture_small_moe(1);
    ms_stage_memory all = memory_with(&model, (choices){.zero = 0});
    ms_stage_memory some = memory_with(&model, (choices){.zero = 0, .offloaded = MS_OFFLOAD_NORMS});
    cr_assert_float_eq(some.working_B - all.working_B, 2048 * 4 * 2 * 1024.0, 1);
    cr_assert_float_eq(all.activation_B, some.activation_B + some.working_B - all.working_B, 1);
}
