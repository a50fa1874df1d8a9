#include "fixture.h"

/* Narayanan et al., SC'21, equation 2: 12 l h^2 (1 + 13/(12 h) + (V + s)/(12 l h)), which leaves
 * out the final norm's 2h. */
static double narayanan_parameters(const ms_model *model) {
    double l = model->layers, h = model->hidden, v = model->vocab, s = model->sequence;
    return 12 * l * h * h * (1 + 13 / (12 * h) + (v + s) / (12 * l * h));
}

Test(parameters, gpt_matches_the_published_formula) {
    const int SHAPES[][3] = {{24, 2304, 24},  {36, 4096, 32},    {48, 8192, 64},
                             {96, 12288, 96}, {105, 20480, 128}, {128, 25600, 160}};
    for (size_t i = 0; i < sizeof SHAPES / sizeof SHAPES[0]; i++) {
        ms_model model = fixture_gpt(SHAPES[i][0], SHAPES[i][1], SHAPES[i][2], 51200);
        double expected = narayanan_parameters(&model) + 2.0 * model.hidden;
        cr_assert_lt(fixture_gap(ms_model_parameters(&model), expected), 1e-14);
    }
    ms_model largest = fixture_gpt(128, 25600, 160, 51200);
    cr_assert_float_eq(ms_model_parameters(&largest) / 1e9, 1008, 0.05);
}

Test(parameters, llama_models_have_their_published_sizes) {
    ms_model small = fixture_llama(32, 4096, 32, 8, 14336);
    ms_model middle = fixture_llama(80, 8192, 64, 8, 28672);
    ms_model large = fixture_llama(126, 16384, 128, 8, 53248);
    cr_assert_eq((int64_t)ms_model_parameters(&small), 8030261248);
    cr_assert_eq((int64_t)ms_model_parameters(&middle), 70553706496);
    cr_assert_eq((int64_t)ms_model_parameters(&large), 405853388800);
}

Test(parameters, without_vocabulary_only_layers_count) {
    ms_model model = fixture_gpt(48, 6144, 64, 0);
    model.has_bias = false;
    model.is_plain_norm = true;
    cr_assert_eq(ms_model_parameters(&model), 12.0 * 48 * 6144 * 6144);
}

Test(parameters, tensor_parallel_ranks_hold_the_whole_model_together) {
    ms_model model = fixture_gpt(8, 1024, 16, 51200);
    fixture_costs fixture;
    fixture_init(&fixture);
    ms_gpu_type gpu = fixture_a100();
    fixture.layout.tp = 4;
    fixture_run(&fixture, &model, &gpu);
    cr_assert_eq(fixture.status, MS_OK);
    /* norms, row-parallel biases and positions are on every rank */
    double copied = 8 * (4 + 2) * 1024.0 + 2048 * 1024.0 + 2 * 1024.0;
    cr_assert_eq(4 * (fixture.costs.stage[0].parameters - copied) + copied,
                 ms_model_parameters(&model));
    fixture_clear(&fixture);
}

Test(parameters, vocabulary_is_padded_to_128_per_rank) {
    ms_model model = fixture_gpt(2, 512, 8, 50257);
    fixture_costs fixture;
    fixture_init(&fixture);
    ms_gpu_type gpu = fixture_a100();
    fixture.layout.tp = 8;
    fixture.layout.pp = 2;
    fixture_run(&fixture, &model, &gpu);
    cr_assert_eq(fixture.status, MS_OK);
    /* 50257 -> 51200 = 50 * 128 * 8 */
    cr_assert_eq(fixture.costs.stage[1].tied_B, 51200.0 / 8 * 512 * 4);
    cr_assert_eq(fixture.costs.stage[0].tied_B, fixture.costs.stage[1].tied_B);
    cr_assert_eq(fixture.costs.parameters_total, ms_model_parameters(&model));
    fixture_clear(&fixture);
}

Test(flop, full_recomputation_matches_the_published_formula) {
    const int SHAPES[][3] = {{24, 2304, 24}, {96, 12288, 96}, {128, 25600, 160}};
    for (size_t i = 0; i < sizeof SHAPES / sizeof SHAPES[0]; i++) {
        ms_model model = fixture_gpt(SHAPES[i][0], SHAPES[i][1], SHAPES[i][2], 51200);
        fixture_costs fixture;
        fixture_init(&fixture);
        ms_gpu_type gpu = fixture_a100();
        fixture.layout.recompute = MS_RECOMPUTE_FULL;
        fixture_run(&fixture, &model, &gpu);
        cr_assert_eq(fixture.status, MS_OK);
        double l = model.layers, h = model.hidden, v = model.vocab, s = model.sequence;
        /* Narayanan et al., SC'21, equation 3, one sequence */
        double expected = 96 * s * l * h * h * (1 + s / (6 * h) + v / (16 * l * h));
        double ours = 3 * fixture.costs.forward_flop + fixture.costs.recompute_flop;
        cr_assert_lt(fixture_gap(ours, expected), 1e-14);
        cr_assert_lt(fixture_gap(fixture.costs.attention_flop, 4 * l * s * s * h), 1e-14);
        fixture_clear(&fixture);
    }
}

Test(flop, without_recomputation_nothing_is_repeated) {
    ms_model model = fixture_gpt(4, 512, 8, 51200);
    fixture_costs fixture;
    fixture_init(&fixture);
    ms_gpu_type gpu = fixture_a100();
    fixture_run(&fixture, &model, &gpu);
    cr_assert_eq(fixture.costs.recompute_flop, 0);
    fixture_clear(&fixture);
}
