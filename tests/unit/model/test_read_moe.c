#include "moe_fixture.h"

static ms_status read_model(const char *text, fixture_costs *fixture, ms_model *model_out) {
    fixture_init(fixture);
    ms_node *root = NULL;
    cr_assert_eq(
        ms_yaml_parse(text, strlen(text), "case.yaml", &fixture->arena, &fixture->diag, &root),
        MS_OK, "%s", fixture->log.text);
    return ms_model_read(ms_node_get(root, "model"), "model", &fixture->arena, &fixture->diag,
                         model_out);
}

Test(read_moe, mixtral) {
    fixture_costs fixture;
    ms_model model;
    cr_assert_eq(read_model("model: {type: llama, layers: 32, hidden: 4096, heads: 32, kv_heads: "
                            "8, vocab: 32000, sequence: 4096, moe: {experts: 8, top_k: 2, ffn: "
                            "14336}}",
                            &fixture, &model),
                 MS_OK, "%s", fixture.log.text);
    cr_assert_eq((int64_t)ms_model_parameters(&model), 46702792704);
    cr_assert(model.ffn == 14336 && model.moe.every == 1 && model.moe.capacity_factor == 0);
    cr_assert(model.moe.overlap == MS_MOE_OVERLAP_NONE && model.moe.dispatch_element_B == 0);
    cr_assert(model.mla.kv_rank == 0 && model.mtp_layers == 0);
    fixture_clear(&fixture);
}

Test(read_moe, deepseek_v3) {
    fixture_costs fixture;
    ms_model model;
    cr_assert_eq(
        read_model(
            "model: {type: llama, layers: 61, hidden: 7168, heads: 128, ffn: 18432, vocab: 129280, "
            "sequence: 4096, mtp_layers: 1, mla: {q_rank: 1536, kv_rank: 512, qk_nope: 128, "
            "qk_rope: 64, v_dim: 128}, moe: {experts: 256, top_k: 8, ffn: 2048, shared_experts: "
            "1, first_dense_layers: 3, node_limit: 4, router_bias: true, dispatch: fp8, kept: "
            "fp8, router: eager, overlap: shared, capacity_factor: 1.5, pad: true, seed: 11, "
            "imbalance: "
            "{distribution: zipf, "
            "spread: 0.2}}}",
            &fixture, &model),
        MS_OK, "%s", fixture.log.text);
    cr_assert_eq(model.head_dim, 192);
    cr_assert_eq(model.moe.shared_ffn, 2048);
    cr_assert(model.moe.node_limit == 4 && model.moe.seed == 11 && model.moe.has_padding);
    cr_assert(model.moe.imbalance == MS_IMBALANCE_ZIPF && model.moe.spread == 0.2);
    cr_assert_eq(model.moe.router, MS_MOE_ROUTER_EAGER);
    cr_assert(model.moe.overlap == MS_MOE_OVERLAP_SHARED && model.moe.capacity_factor == 1.5);
    cr_assert(model.moe.dispatch_element_B == 1.03125 && model.moe.combine_element_B == 0);
    cr_assert_eq(model.moe.kept_element_B, 1.03125);
    model.mtp_layers = 0;
    cr_assert_eq((int64_t)ms_model_parameters(&model), 671026419200);
    fixture_clear(&fixture);
}

Test(read_moe, defaults_follow_from_other_sizes) {
    fixture_costs fixture;
    ms_model model;
    cr_assert_eq(read_model("model: {type: gpt, layers: 4, hidden: 64, heads: 4, vocab: 0, "
                            "sequence: 16, bias: false, moe: {experts: 4, top_k: 1, every: 2, "
                            "shared_experts: 2}}",
                            &fixture, &model),
                 MS_OK, "%s", fixture.log.text);
    cr_assert(model.ffn == 256 && model.moe.ffn == 256 && model.moe.shared_ffn == 256);
    cr_assert(model.moe.imbalance == MS_IMBALANCE_NONE || model.moe.spread == 0);
    fixture_clear(&fixture);
}

#define LLAMA "model: {type: llama, layers: 4, hidden: 64, heads: 4, vocab: 0, sequence: 16, "

Test(read_moe, faults_name_key_and_numbers) {
    const struct {
        const char *text, *expected;
    } ROWS[] = {
        {LLAMA "ffn: 64, moe: {experts: 4, top_k: 5}}",
         "'5' experts per token are more than the 4 there are"},
        {LLAMA "ffn: 64, moe: {top_k: 5}}", "experts"},
        {LLAMA "ffn: 64, moe: {experts: 4, top_k: 2, first_dense_layers: 9}}",
         "'9' dense layers are more than the model's 4"},
        {LLAMA "ffn: 64, moe: {experts: 4, top_k: 2, pad: true}}", "capacity_factor"},
        {LLAMA "ffn: 64, bias: true, moe: {experts: 4, top_k: 2}}", "bias: false"},
        {LLAMA "moe: {experts: 4, top_k: 2, ffn: 64, every: 2}}", "model.ffn"},
        {LLAMA "ffn: 64, moe: {experts: 4, top_k: 2, expert: 3}}", "experts"},
        {LLAMA "ffn: 64, moe: {experts: 4, top_k: 2, dispatch: fp4}}", "fp8"},
        {LLAMA "ffn: 64, moe: {experts: 4, top_k: 2, imbalance: {spread: -1}}}", "spread"},
        {LLAMA "ffn: 64, moe: {experts: 65536, top_k: 1000, imbalance: {spread: 0.1}}}",
         "'65536' experts, 1000 per token, in 4 layers are too many to draw"},
        {LLAMA "ffn: 64, mtp_layers: 1}", "'vocab' is 0"},
        {LLAMA "ffn: 64, mla: {kv_rank: 8, qk_nope: 8, qk_rope: 4}}", "v_dim"},
        {LLAMA "ffn: 64, kv_heads: 2, mla: {kv_rank: 8, qk_nope: 8, qk_rope: 4, v_dim: 8}}",
         "keys and values for all 4 heads, 'kv_heads' is 2"},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        fixture_costs fixture;
        ms_model model = {.layers = -7};
        cr_assert_eq(read_model(ROWS[i].text, &fixture, &model), MS_E_INPUT, "row %zu", i);
        cr_assert(strstr(fixture.log.text, ROWS[i].expected), "row %zu: %s", i, fixture.log.text);
        cr_assert(strstr(fixture.log.text, "case.yaml:1:"), "row %zu: %s", i, fixture.log.text);
        cr_assert_eq(model.layers, -7);
        fixture_clear(&fixture);
    }
}
