/* The attention half of a transformer layer: norm, q/k/v product, attention, output product,
 * residual. */
#include "model/internal.h"

static const ms_linear_names QKV = {"qkv", "qkv_input_grad", "qkv_weight_grad", "qkv_bias_grad"};
static const ms_linear_names OUTPUT = {"attention_output", "attention_output_input_grad",
                                       "attention_output_weight_grad",
                                       "attention_output_bias_grad"};

/* Norms of queries and of keys, head by head. */
static void add_qk_norms(ms_cost_builder *builder, unsigned parts) {
    const ms_shard *shard = &builder->shard;
    ms_work work = builder->model->is_rms_norm ? MS_WORK_RMS_NORM : MS_WORK_LAYER_NORM;
    double elements = shard->tokens * (shard->q_width + shard->kv_width);
    if (!builder->model->parts.has_qk_norms) {
        return;
    }
    if ((parts & MS_PART_FORWARD) || ms_repeats(builder, parts, MS_RECOMPUTE_NORMS)) {
        ms_cost_passes(builder, "qk_norm", work, false, elements);
    }
    if (parts & MS_PART_INPUT) {
        ms_cost_passes(builder, "qk_norm_backward", work, true, elements);
    }
}

/* Rotary embedding of queries and keys: both in and out, and its inverse backward. Where operations
 * are chosen one by one, it is repeated with the products that are not kept, as attention wants its
 * operands again. */
static void add_rotary(ms_cost_builder *builder, unsigned parts) {
    const ms_shard *shard = &builder->shard;
    double elements = shard->tokens * (shard->q_width + shard->kv_width);
    if (!ms_is_rotated(builder->model)) {
        return;
    }
    if ((parts & MS_PART_FORWARD) || ms_repeats(builder, parts, MS_RECOMPUTE_PRODUCTS)) {
        ms_cost_passes(builder, "rotary", MS_WORK_ROTARY, false, elements);
    }
    if (parts & MS_PART_INPUT) {
        ms_cost_passes(builder, "rotary", MS_WORK_ROTARY, true, elements);
    }
}

static void add_qkv(ms_cost_builder *builder, unsigned parts) {
    const ms_shard *shard = &builder->shard;
    ms_cost_opening(builder, parts, &QKV, (ms_side_products){.more = 2, .out = shard->kv_width},
                    shard->qkv_width);
    if (ms_repeats(builder, parts, MS_RECOMPUTE_PRODUCTS)) { /* the keys' part */
        ms_cost_product(builder, QKV.forward,
                        (ms_gemm_shape){shard->tokens, shard->kv_width, shard->hidden, 1});
    }
}

static void add_output(ms_cost_builder *builder, unsigned parts) {
    const ms_shard *shard = &builder->shard;
    if (ms_repeats(builder, parts, MS_RECOMPUTE_PRODUCTS)) {
        ms_cost_product(builder, OUTPUT.forward,
                        (ms_gemm_shape){shard->tokens, shard->hidden, shard->q_width, 1});
    }
    ms_cost_row(builder, parts, &OUTPUT, shard->q_width, shard->hidden);
}

/* Whether keys and values are copied to as many heads as queries have. */
static bool repeats_heads(const ms_cost_builder *builder) {
    return builder->model->repeats_key_values && builder->shard.kv_heads < builder->shard.heads;
}

ms_core ms_head_core(const ms_cost_builder *builder) {
    const ms_shard *shard = &builder->shard;
    bool is_repeated = repeats_heads(builder);
    return (ms_core){.heads = shard->heads,
                     .kv_heads = is_repeated ? shard->heads : shard->kv_heads,
                     .query_dim = shard->head_dim,
                     .value_dim = shard->head_dim,
                     .shared_width = 2 * (is_repeated ? shard->q_width : shard->kv_width)};
}

/* Copies of keys and of values for every head of queries, backward the sums of their gradients: a
 * kernel each that reads the fewer and writes all, or the other way round. Compiled, the rotary
 * embedding writes the keys' copies itself, and sums their gradients.
 * Source: torchtitan, models.llama.model (repeat_kv of both before
 * scaled_dot_product_attention). */
static void add_repeats(ms_cost_builder *builder, unsigned parts) {
    const ms_shard *shard = &builder->shard;
    bool is_compiled = builder->model->kernels == MS_KERNELS_COMPILED;
    double widths = 2 * (shard->q_width + (is_compiled ? 0 : shard->kv_width));
    if (!repeats_heads(builder)) {
        return;
    }
    if ((parts & MS_PART_FORWARD) || ms_repeats(builder, parts, MS_RECOMPUTE_ACTIVATIONS)) {
        ms_cost_memory(builder, "repeat_kv", widths * shard->tokens * shard->element_B);
    }
    if (parts & MS_PART_INPUT) {
        ms_cost_memory(builder, "repeat_kv_backward", widths * shard->tokens * shard->element_B);
    }
}

/* Whether the kernel wants sequences one after the other, where Megatron Core has the tokens of all
 * sequences at one position side by side: cuDNN's reads both. */
static bool wants_sequences(const ms_cost_builder *builder) {
    ms_attention_kernel attention = builder->model->attention;
    return attention == MS_ATTENTION_FLASH1 || attention == MS_ATTENTION_FLASH2 ||
           attention == MS_ATTENTION_FLASH3;
}

/* Columns that are copied before the attention. Queries of several groups are copied into one
 * tensor (reshape). The rotary kernel writes queries and keys apart, and values, still strided, are
 * copied to be like the keys. FlashAttention is given copies of whole sequences; a single one in
 * order is that already. */
static double copied_width(const ms_cost_builder *builder) {
    const ms_shard *shard = &builder->shard;
    bool is_regrouped = shard->heads > shard->kv_heads && shard->kv_heads > 1;
    bool has_rotary = ms_is_rotated(builder->model);
    double width = (is_regrouped ? shard->q_width : 0) + (has_rotary ? shard->kv_width : 0);
    if (wants_sequences(builder) && shard->batch > 1) {
        width += shard->qkv_width;
    } else if (wants_sequences(builder) && !has_rotary) {
        width += shard->qkv_width - (is_regrouped ? shard->q_width : 0);
    }
    return width;
}

/* Whether the attention's backward kernel writes the gradients where the product's result had the
 * values: only cuDNN's, and only where it has read them there. */
static bool has_gradient_in_place(const ms_cost_builder *builder) {
    return !wants_sequences(builder) && !ms_is_rotated(builder->model) &&
           builder->shard.heads <= builder->shard.kv_heads;
}

/* What Megatron Core with Transformer Engine copies between the product of q, k and v and a fused
 * attention, and behind it, where FlashAttention leaves whole sequences.
 * Source: Megatron-LM, megatron.core.transformer.attention (SelfAttention:
 * get_query_key_value_tensors); Transformer Engine, transformer_engine.pytorch.attention
 * (_get_qkv_layout, FlashAttention.forward, _PrepareQKVForFA, _SplitAlongDim.backward). */
static void add_layout_copies(ms_cost_builder *builder, unsigned parts) {
    const ms_shard *shard = &builder->shard;
    bool is_interleaved = builder->model->projections == MS_PROJECTIONS_INTERLEAVED &&
                          builder->model->attention != MS_ATTENTION_UNFUSED;
    double row_B = 2 * shard->tokens * shard->element_B; /* in and out */
    double result = wants_sequences(builder) && shard->batch > 1 ? shard->q_width : 0;
    double before = (parts & MS_PART_FORWARD)        ? copied_width(builder)
                    : has_gradient_in_place(builder) ? 0
                                                     : shard->qkv_width;
    if (is_interleaved && (parts & (MS_PART_FORWARD | MS_PART_INPUT)) && before + result > 0) {
        bool is_forward = parts & MS_PART_FORWARD;
        ms_cost_memory(builder, is_forward ? "qkv_layout" : "qkv_layout_backward",
                       (before + result) * row_B);
    }
}

static void add_core(ms_cost_builder *builder, unsigned parts) {
    ms_core core = ms_head_core(builder);
    ms_cost_core(builder, parts, &core);
}

void ms_cost_attention_half(ms_cost_builder *builder, unsigned parts) {
    static const ms_operator OPERATORS[] = {
        ms_cost_opening_norm, add_qkv,  add_qk_norms, add_rotary,      add_repeats,
        add_layout_copies,    add_core, add_output,   ms_cost_residual};
    ms_cost_operators(builder, parts, OPERATORS, sizeof OPERATORS / sizeof OPERATORS[0]);
}

/* The output projection of a parallel block, without a collective of its own: the MLP branch
 * reduces the partial sums of both. */
static void add_unreduced_output(ms_cost_builder *builder, unsigned parts) {
    ms_cost_unsplit(builder, parts, add_output);
}

void ms_cost_attention_branch(ms_cost_builder *builder, unsigned parts) {
    static const ms_operator OPERATORS[] = {
        add_qkv,           add_qk_norms, add_rotary,          add_repeats,
        add_layout_copies, add_core,     add_unreduced_output};
    ms_cost_operators(builder, parts, OPERATORS, sizeof OPERATORS / sizeof OPERATORS[0]);
}
