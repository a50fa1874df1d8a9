/* What configs of single types of models say of how they are made. */
#include "model/hf/adapt.h"

static bool flag_of(ms_hf_reader *r, const char *key, const char *goal) {
    bool is_true = false;
    (void)ms_hf_flag(r, MS_HF_NAME(key), goal, &is_true);
    return is_true;
}

static void add(ms_hf_reader *r, bool is_there, ms_hf_trait trait) {
    r->traits |= is_there ? (unsigned)trait : 0U;
}

void ms_hf_adapt_falcon(ms_hf_reader *r) {
    bool is_new = flag_of(r, "new_decoder_architecture", "model.parallel_block, model.kv_heads");
    bool is_parallel = flag_of(r, "parallel_attn", "model.parallel_block");
    bool has_one_head = flag_of(r, "multi_query", "model.kv_heads");
    int norms = 2;
    (void)ms_hf_int(r, MS_HF_NAME("num_ln_in_parallel_attn"), "model.branch_norms", &norms);
    add(r, is_new || is_parallel, MS_HF_PARALLEL);
    add(r, is_new && norms == 2, MS_HF_BRANCH_NORMS);
    add(r, !is_new && has_one_head, MS_HF_MULTI_QUERY);
    add(r, flag_of(r, "alibi", "model.positions"), MS_HF_ALIBI);
    add(r, flag_of(r, "bias", "model.bias"), MS_HF_ALL_BIASES);
}

/* A flag that all models have alike which are built. */
static void expect(ms_hf_reader *r, const char *key, const char *goal, const char *why) {
    if (!flag_of(r, key, goal)) {
        const ms_node *node = ms_hf_take(r, MS_HF_NAME(key), goal);
        ms_hf_fault(r, node == NULL ? r->config : node, key, "expected true: %s", why);
    }
}

void ms_hf_adapt_chatglm(ms_hf_reader *r) {
    expect(r, "multi_query_attention", "model.kv_heads",
           "the first ChatGLM, whose layers differ, is not built");
    expect(r, "rmsnorm", "model.norm", "other norms are not built for this type");
    add(r, flag_of(r, "add_bias_linear", "model.bias"), MS_HF_ALL_BIASES);
}

void ms_hf_adapt_baichuan(ms_hf_reader *r) {
    add(r, ms_hf_look(r, "max_position_embeddings") == NULL, MS_HF_ALIBI);
}

void ms_hf_adapt_mpt(ms_hf_reader *r) {
    bool has_no_bias = flag_of(r, "no_bias", "model.bias, model.norm");
    bool is_alibi = flag_of(r, "attn_config.alibi", "model.positions");
    bool is_rotary = flag_of(r, "attn_config.rope", "model.positions");
    int ratio = 4;
    if (flag_of(r, "attn_config.qk_ln", "model.qk_norm")) {
        ms_hf_fault(r, ms_hf_take(r, MS_HF_NAME("attn_config.qk_ln"), ""), "attn_config.qk_ln",
                    "norms of queries and keys are not built for this type");
    }
    const char *const *expansion = MS_HF_NAME("expansion_ratio");
    if (ms_hf_int(r, expansion, "model.ffn", &ratio) && ratio != 4) {
        ms_hf_fault(r, ms_hf_take(r, expansion, "model.ffn"), expansion[0],
                    "expected 4, got '%d': an MLP of another width is not built", ratio);
    }
    add(r, is_alibi, MS_HF_ALIBI);
    add(r, !is_alibi && !is_rotary, MS_HF_LEARNED);
    add(r, !has_no_bias, MS_HF_ALL_BIASES);
    if (has_no_bias) {
        r->traits = (r->traits & ~(unsigned)MS_HF_LAYER_NORM) | MS_HF_GAIN_NORMS;
    }
}

void ms_hf_adapt_opt(ms_hf_reader *r) {
    int hidden = 0, embedding = 0;
    const char *const *narrow = MS_HF_NAME("word_embed_proj_dim");
    (void)ms_hf_int(r, MS_HF_NAME("hidden_size"), "model.hidden", &hidden);
    if (ms_hf_int(r, narrow, "model.hidden", &embedding) && embedding != hidden) {
        ms_hf_fault(r, ms_hf_take(r, narrow, "model.hidden"), narrow[0],
                    "expected the hidden size, '%d', got '%d': an embedding of another width is "
                    "not built",
                    hidden, embedding);
    }
    expect(r, "do_layer_norm_before", "model.norm", "norms behind the residual are not built");
    add(r, flag_of(r, "enable_bias", "model.bias"), MS_HF_ALL_BIASES);
}

void ms_hf_adapt_biases(ms_hf_reader *r) {
    add(r, flag_of(r, "use_bias", "model.bias"), MS_HF_ALL_BIASES);
}

void ms_hf_adapt_internlm(ms_hf_reader *r) {
    add(r, flag_of(r, "bias", "model.biases"), MS_HF_ATTENTION_BIASES);
}

void ms_hf_adapt_qwen(ms_hf_reader *r) {
    expect(r, "no_bias", "model.biases",
           "other biases than those of queries, keys and values are "
           "not built for this type");
}

void ms_hf_adapt_internlm3(ms_hf_reader *r) {
    static const char KEY[] = "bias";
    if (flag_of(r, KEY, "model.biases")) {
        ms_hf_fault(r, ms_hf_take(r, MS_HF_NAME(KEY), ""), KEY,
                    "expected false: biases of the output product and the MLP are not built for "
                    "this type");
    }
}

void ms_hf_adapt_multi_query(ms_hf_reader *r) {
    add(r, flag_of(r, "multi_query", "model.kv_heads"), MS_HF_MULTI_QUERY);
}

void ms_hf_adapt_own_gains(ms_hf_reader *r) {
    add(r, true, MS_HF_OWN_QK_GAINS);
}

void ms_hf_adapt_hunyuan(ms_hf_reader *r) {
    static const char SHARES[] = "use_cla";
    if (flag_of(r, SHARES, "model.kv_heads")) {
        ms_hf_fault(r, ms_hf_take(r, MS_HF_NAME(SHARES), ""), SHARES,
                    "keys and values that layers share (cross-layer attention) are not built");
    }
    expect(r, "use_mixed_mlp_moe", "model.moe.shared_experts",
           "a mixture without shared experts is not built for this type");
}

void ms_hf_adapt_minimax(ms_hf_reader *r) {
    add(r, true, MS_HF_OWN_QK_GAINS);
    add(r, flag_of(r, "use_routing_bias", "model.moe.router_bias"), MS_HF_CORRECTION_BIAS);
}
