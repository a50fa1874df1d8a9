#include "fixture.h"

/* Read a `model:` mapping given as YAML. */
static ms_status read_model(const char *text, fixture_costs *fixture, ms_model *model_out) {
    fixture_init(fixture);
    ms_node *root = NULL;
    cr_assert_eq(
        ms_yaml_parse(text, strlen(text), "case.yaml", &fixture->arena, &fixture->diag, &root),
        MS_OK, "%s", fixture->log.text);
    return ms_model_read(ms_node_get(root, "model"), "model", &fixture->arena, &fixture->diag,
                         model_out);
}

Test(read, gpt_defaults) {
    fixture_costs fixture;
    ms_model model;
    cr_assert_eq(read_model("model: {type: gpt, layers: 96, hidden: 12288, heads: 96, "
                            "vocab: 51200, sequence: 2048}",
                            &fixture, &model),
                 MS_OK, "%s", fixture.log.text);
    cr_assert(model.kv_heads == 96 && model.head_dim == 128 && model.ffn == 4 * 12288);
    cr_assert(model.has_bias && model.has_positions && model.has_tied_embeddings);
    cr_assert(!model.is_gated && !model.is_rms_norm && !model.is_plain_norm);
    cr_assert(model.attention == MS_ATTENTION_FUSED && model.has_fused_accumulation);
    cr_assert_eq(model.dropout, 0.1);
    fixture_clear(&fixture);
}

Test(read, llama_defaults) {
    fixture_costs fixture;
    ms_model model;
    cr_assert_eq(read_model("model: {name: big, type: llama, layers: 126, hidden: 16384, heads: "
                            "128, kv_heads: 8, ffn: 53248, vocab: 128256, sequence: 8192}",
                            &fixture, &model),
                 MS_OK, "%s", fixture.log.text);
    cr_assert_str_eq(model.name, "big");
    cr_assert(model.is_gated && model.is_rms_norm && model.attention == MS_ATTENTION_FUSED);
    cr_assert(!model.has_bias && !model.has_positions && !model.has_tied_embeddings);
    cr_assert_eq(model.dropout, 0);
    cr_assert_eq((int64_t)ms_model_parameters(&model), 405853388800);
    fixture_clear(&fixture);
}

Test(read, every_flag_can_be_set) {
    fixture_costs fixture;
    ms_model model;
    cr_assert_eq(read_model("model: {type: gpt, layers: 2, hidden: 64, heads: 4, head_dim: 32, "
                            "ffn: 100, vocab: 0, sequence: 16, gated: true, bias: false, norm: "
                            "plain, positions: rotary, tied_embeddings: false, attention: "
                            "unfused, fused_accumulation: false, dropout: 0}",
                            &fixture, &model),
                 MS_OK, "%s", fixture.log.text);
    cr_assert(model.head_dim == 32 && model.ffn == 100 && model.vocab == 0);
    cr_assert(model.is_gated && model.is_plain_norm && !model.is_rms_norm);
    cr_assert(!model.has_bias && !model.has_positions && !model.has_tied_embeddings);
    cr_assert(model.attention == MS_ATTENTION_UNFUSED && !model.has_fused_accumulation);
    cr_assert_eq(model.dropout, 0);
    fixture_clear(&fixture);
}

Test(read, faults_name_key_and_numbers) {
    const struct {
        const char *text, *expected;
    } ROWS[] = {
        {"model: {type: gpt, layers: 2, hidden: 100, heads: 7, vocab: 0, sequence: 16}",
         "'7' heads do not divide hidden size 100"},
        {"model: {type: gpt, layers: 2, hidden: 64, heads: 8, kv_heads: 3, vocab: 0, sequence: 16}",
         "'3' key/value heads do not divide the 8 heads"},
        {"model: {type: llama, layers: 2, hidden: 64, heads: 8, vocab: 0, sequence: 16}",
         "model.ffn"},
        {"model: {type: gpt, hidden: 64, heads: 8, vocab: 0, sequence: 16}", "layers"},
        {"model: {type: bert, layers: 2, hidden: 64, heads: 8, vocab: 0, sequence: 16}", "bert"},
        {"model: {type: gpt, layers: 0, hidden: 64, heads: 8, vocab: 0, sequence: 16}", "layers"},
        {"model: {type: gpt, layers: 9999999, hidden: 64, heads: 8, vocab: 0, sequence: 16}",
         "100000"},
        {"model: {type: gpt, layer: 2, hidden: 64, heads: 8, vocab: 0, sequence: 16}", "layers"},
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
