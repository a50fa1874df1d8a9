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

/* ---- parts that some families have ---- */

static ms_model with_parts(ms_layer_parts parts) {
    ms_model model = fixture_llama(4, 1024, 16, 4, 2816);
    model.parts = parts;
    model.has_parallel_block = parts.has_branch_norms;
    return model;
}

/* What a part adds to a model of four layers, sixteen heads of 64 and four of keys and values. */
Test(parameters, parts_of_families_count) {
    static const struct {
        ms_layer_parts parts;
        double layer, model;
    } CASES[] = {
        {{.has_qk_norms = true}, 2 * 64, 0},
        {{.has_qk_norms = true, .has_own_qk_gains = true}, 1024 + 256, 0},
        {{.has_post_norms = true}, 2 * 1024, 0},
        {{.has_branch_norms = true}, 0, 0},
        {{.biases = MS_BIAS_QKV}, 1024 + 2 * 256, 0},
        {{.biases = MS_BIAS_ATTENTION_OUTPUT}, 1024, 0},
        {{.biases = MS_BIAS_MLP}, 2 * 2816 + 1024, 0},
        {{.biases = MS_BIAS_HEAD}, 0, 128256},
    };
    ms_model plain = with_parts((ms_layer_parts){.biases = 0});
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        ms_model model = with_parts(CASES[i].parts);
        cr_assert_eq(ms_model_parameters(&model) - ms_model_parameters(&plain),
                     4 * CASES[i].layer + CASES[i].model, "case %zu", i);
    }
    ms_model side_by_side = plain, all = plain;
    side_by_side.has_parallel_block = true; /* one norm a layer */
    cr_assert_eq(ms_model_parameters(&plain) - ms_model_parameters(&side_by_side), 4 * 1024);
    all.has_bias = true;
    ms_model same = plain;
    same.parts.biases = MS_BIAS_QKV | MS_BIAS_ATTENTION_OUTPUT | MS_BIAS_MLP;
    cr_assert_eq(ms_model_parameters(&all), ms_model_parameters(&same));
}

/* Norms and biases of row-parallel products are on every rank, the rest is split. */
Test(parameters, parts_of_families_are_split_over_tp) {
    ms_model model =
        with_parts((ms_layer_parts){.biases = MS_BIAS_QKV | MS_BIAS_ATTENTION_OUTPUT | MS_BIAS_HEAD,
                                    .has_qk_norms = true,
                                    .has_post_norms = true});
    model.vocab = 128 * 4;
    fixture_costs fixture;
    fixture_init(&fixture);
    ms_gpu_type gpu = fixture_a100();
    fixture.layout.tp = 4;
    fixture_run(&fixture, &model, &gpu);
    cr_assert_eq(fixture.status, MS_OK);
    double copied = 4 * ((4 + 1) * 1024.0 + 2 * 64) + 1024;
    cr_assert_eq(4 * (fixture.costs.stage[0].parameters - copied) + copied,
                 ms_model_parameters(&model));
    fixture_clear(&fixture);
}

Test(parameters, layers_without_experts_and_gates_count) {
    ms_model model = fixture_llama(4, 1024, 16, 4, 2816);
    model.moe = (ms_moe){.experts = 8, .top_k = 2, .ffn = 512, .every = 1, .shared_experts = 1};
    model.moe.shared_ffn = 640;
    double all = ms_model_parameters(&model);
    cr_assert_eq(ms_model_expert_layers(&model), 4);
    model.moe.parts.has_shared_gate = true;
    cr_assert_eq(ms_model_parameters(&model) - all, 4 * 1024);
    cr_assert_eq(ms_model_active_parameters(&model),
                 ms_model_parameters(&model) - 4.0 * 6 * 3 * 1024 * 512);
    int dense[] = {1, 3};
    model.moe.parts.has_shared_gate = false;
    model.moe.parts.dense_layers = (ms_ints){dense, 2};
    cr_assert_eq(ms_model_expert_layers(&model), 2);
    double experts = 1024.0 * (8 * 3 * 512 + 8 + 3 * 640), mlp = 3.0 * 1024 * 2816;
    cr_assert_eq(all - ms_model_parameters(&model), 2 * (experts - mlp));
}

/* OLMo 2's gains of queries and keys go with the heads, which ranks share out. */
Test(parameters, gains_of_each_head_are_split_over_tp) {
    ms_model model = with_parts((ms_layer_parts){.has_qk_norms = true, .has_own_qk_gains = true});
    model.vocab = 128 * 4;
    fixture_costs fixture;
    fixture_init(&fixture);
    ms_gpu_type gpu = fixture_a100();
    fixture.layout.tp = 4;
    fixture_run(&fixture, &model, &gpu);
    cr_assert_eq(fixture.status, MS_OK);
    double copied = 4 * 2 * 1024.0 + 1024;
    cr_assert_eq(4 * (fixture.costs.stage[0].parameters - copied) + copied,
                 ms_model_parameters(&model));
    fixture_clear(&fixture);
}

/* A layer norm with a gain alone has as many parameters as one of root mean squares, and takes as
 * long as one with a bias. */
Test(parameters, layer_norms_without_bias) {
    ms_model rms = with_parts((ms_layer_parts){.biases = 0}), gain = rms, both = rms;
    gain.is_rms_norm = both.is_rms_norm = false;
    gain.parts.has_gain_norms = true;
    cr_assert_eq(ms_model_parameters(&gain), ms_model_parameters(&rms));
    cr_assert_eq(ms_model_parameters(&both) - ms_model_parameters(&gain), (4 * 2 + 1) * 1024);
}

/* Biases of experts: of both columns of the first product and of the hidden state behind the
 * second; a token meets those of its own experts. */
Test(parameters, biases_of_experts_count) {
    ms_model model = fixture_llama(4, 1024, 16, 4, 2816);
    model.moe = (ms_moe){.experts = 8, .top_k = 2, .ffn = 512, .every = 1};
    double plain = ms_model_parameters(&model), active = ms_model_active_parameters(&model);
    double kernels_s[2];
    for (int i = 0; i < 2; i++) {
        fixture_costs fixture;
        fixture_init(&fixture);
        ms_gpu_type gpu = fixture_a100();
        model.parts.biases = i == 0 ? 0 : MS_BIAS_EXPERTS;
        fixture_run(&fixture, &model, &gpu);
        cr_assert_eq(fixture.status, MS_OK);
        kernels_s[i] = fixture_pass_s(&fixture.costs, 0, MS_PASS_B);
        fixture_clear(&fixture);
    }
    cr_assert_eq(ms_model_parameters(&model) - plain, 4 * 8 * (2 * 512 + 1024.0));
    cr_assert_eq(ms_model_active_parameters(&model) - active, 4 * 2 * (2 * 512 + 1024.0));
    cr_assert_gt(kernels_s[1], kernels_s[0]);
}

/* Kernels and kept inputs of the norms that a layer has besides. */
Test(parameters, norms_of_families_take_time_and_memory) {
    static const struct {
        ms_layer_parts parts;
        double kept; /* elements of a token and layer */
    } CASES[] = {{{.has_qk_norms = true}, 1024 + 256}, {{.has_post_norms = true}, 2 * 1024}};
    ms_gpu_type gpu = fixture_a100();
    fixture_costs plain;
    fixture_init(&plain);
    ms_model base = with_parts((ms_layer_parts){.biases = 0});
    fixture_run(&plain, &base, &gpu);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        fixture_costs more;
        fixture_init(&more);
        ms_model model = with_parts(CASES[i].parts);
        fixture_run(&more, &model, &gpu);
        double extra =
            more.costs.stage[0].memory.activation_B - plain.costs.stage[0].memory.activation_B;
        cr_assert_eq(extra, 4 * 2.0 * base.sequence * CASES[i].kept, "case %zu: %g", i, extra);
        cr_assert_gt(fixture_pass_s(&more.costs, 0, MS_PASS_F),
                     fixture_pass_s(&plain.costs, 0, MS_PASS_F));
        cr_assert_gt(fixture_pass_s(&more.costs, 0, MS_PASS_B),
                     fixture_pass_s(&plain.costs, 0, MS_PASS_B));
        fixture_clear(&more);
    }
    fixture_clear(&plain);
}
