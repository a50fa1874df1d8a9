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
