/* The attention half of a transformer layer: norm, q/k/v product (qkv), norms and rotation of
 * queries and keys, copies, attention core, output product, residual. Each static function adds one
 * operator to the builder, for the MS_PART_ bits in `parts`: forward, input gradient (backward) and
 * weight gradient; ms_cost_attention_half runs them in order. Widths are columns on this rank. */
#include "model/internal.h"

static const ms_linear_names QKV = {"qkv", "qkv_input_grad", "qkv_weight_grad", "qkv_bias_grad"};
static const ms_linear_names OUTPUT = {"attention_output", "attention_output_input_grad",
                                       "attention_output_weight_grad",
                                       "attention_output_bias_grad"};

/* Add the norms of queries and of keys, head by head, if the model has them; forward again in a
 * backward pass that recomputes norms (MS_RECOMPUTE_NORMS). */
static void add_qk_norms(ms_cost_builder *builder, unsigned parts) {
    const ms_shard *shard = &builder->shard;
    ms_work work = builder->model->is_rms_norm ? MS_WORK_RMS_NORM : MS_WORK_LAYER_NORM;
    double elements = shard->tokens * (shard->q_width + shard->kv_width);
    if (!builder->model->parts.has_qk_norms) {
        return;
    }
    if ((parts & MS_PART_FORWARD) || ms_repeats(builder, parts, MS_RECOMPUTE_NORMS)) {
        ms_cost_memory_work(builder, "qk_norm", work, false, elements);
    }
    if (parts & MS_PART_INPUT) {
        ms_cost_memory_work(builder, "qk_norm_backward", work, true, elements);
    }
}

/* Add the rotary embedding of queries and keys: one read and one write of both, and the inverse
 * rotation in the backward pass. It runs again in a backward pass that recomputes products
 * (MS_RECOMPUTE_PRODUCTS), as attention needs its rotated operands again. */
static void add_rotary(ms_cost_builder *builder, unsigned parts) {
    const ms_shard *shard = &builder->shard;
    double elements = shard->tokens * (shard->q_width + shard->kv_width);
    if (!ms_is_rotated(builder->model)) {
        return;
    }
    if ((parts & MS_PART_FORWARD) || ms_repeats(builder, parts, MS_RECOMPUTE_PRODUCTS)) {
        ms_cost_memory_work(builder, "rotary", MS_WORK_ROTARY, false, elements);
    }
    if (parts & MS_PART_INPUT) {
        ms_cost_memory_work(builder, "rotary", MS_WORK_ROTARY, true, elements);
    }
}

/* Add the product that makes q, k and v, or a product for each in models that do not merge them
 * (`more`: keys and values). With MS_RECOMPUTE_PRODUCTS the backward pass repeats only the part
 * that makes the keys. */
static void add_qkv(ms_cost_builder *builder, unsigned parts) {
    const ms_shard *shard = &builder->shard;
    ms_cost_opening(builder, parts, &QKV, (ms_side_products){.more = 2, .out = shard->kv_width},
                    shard->qkv_width);
    if (ms_repeats(builder, parts, MS_RECOMPUTE_PRODUCTS)) {
        ms_cost_product(builder, QKV.forward,
                        (ms_gemm_shape){shard->tokens, shard->kv_width, shard->hidden, 1});
    }
}

/* Add the product that makes the half's output, whose partial sums tp ranks reduce. With
 * MS_RECOMPUTE_PRODUCTS the backward pass first repeats the product. */
static void add_output(ms_cost_builder *builder, unsigned parts) {
    const ms_shard *shard = &builder->shard;
    if (ms_repeats(builder, parts, MS_RECOMPUTE_PRODUCTS)) {
        ms_cost_product(builder, OUTPUT.forward,
                        (ms_gemm_shape){shard->tokens, shard->hidden, shard->q_width, 1});
    }
    ms_cost_row(builder, parts, &OUTPUT, shard->q_width, shard->hidden);
}

/* Whether key and value heads are copied until there are as many as query heads (repeat_kv). */
static bool copies_heads(const ms_cost_builder *builder) {
    return builder->model->repeats_key_values && builder->shard.kv_heads < builder->shard.heads;
}

/* Sizes of the attention core with plain or grouped heads. With copied heads (repeat_kv) the core
 * sees as many key and value heads as query heads. */
ms_core ms_head_core(const ms_cost_builder *builder) {
    const ms_shard *shard = &builder->shard;
    bool is_repeated = copies_heads(builder);
    return (ms_core){.heads = shard->heads,
                     .kv_heads = is_repeated ? shard->heads : shard->kv_heads,
                     .query_dim = shard->head_dim,
                     .value_dim = shard->head_dim,
                     .shared_width = 2 * (is_repeated ? shard->q_width : shard->kv_width)};
}

/* Add the kernels that copy keys and values for every query head (repeat_kv), and backward sum the
 * gradients of the copies. There is one kernel for keys and one for values; each reads the original
 * heads and writes the copies, or backward the other way round. A compiled rotary embedding writes
 * the keys' copies itself and sums their gradients. It then moves q_width - kv_width columns more
 * than without copies, which are counted here, with the q_width + kv_width of the values' kernel.
 * Source: torchtitan, models.llama.model (repeat_kv of both before
 * scaled_dot_product_attention). */
static void add_head_copies(ms_cost_builder *builder, unsigned parts) {
    const ms_shard *shard = &builder->shard;
    bool is_compiled = builder->model->kernels == MS_KERNELS_COMPILED;
    double widths = 2 * (shard->q_width + (is_compiled ? 0 : shard->kv_width));
    if (!copies_heads(builder)) {
        return;
    }
    if ((parts & MS_PART_FORWARD) || ms_repeats(builder, parts, MS_RECOMPUTE_ACTIVATIONS)) {
        ms_cost_memory(builder, "repeat_kv", widths * shard->tokens * shard->element_B);
    }
    if (parts & MS_PART_INPUT) {
        ms_cost_memory(builder, "repeat_kv_backward", widths * shard->tokens * shard->element_B);
    }
}

/* Whether the attention kernel reads a sequence's tokens one behind the other (FlashAttention).
 * Megatron Core stores the tokens of all sequences at one position side by side; cuDNN's kernel
 * reads either order. */
static bool needs_sequence_order(const ms_cost_builder *builder) {
    ms_attention_kernel attention = builder->model->attention;
    return attention == MS_ATTENTION_FLASH1 || attention == MS_ATTENTION_FLASH2 ||
           attention == MS_ATTENTION_FLASH3;
}

/* Columns per token that are copied before a fused attention [elements]. Queries of several groups
 * are copied into one tensor (reshape). The rotary kernel writes queries and keys apart from the
 * qkv result; the values, still strided in it, are copied so that they lie like the keys.
 * FlashAttention gets copies of whole sequences in order. With one sequence in the microbatch
 * tensors are in order already; without a rotary kernel they still lie strided in the qkv result,
 * and those that no other copy has moved are copied. */
static double copied_width(const ms_cost_builder *builder) {
    const ms_shard *shard = &builder->shard;
    bool is_regrouped = shard->heads > shard->kv_heads && shard->kv_heads > 1;
    bool has_rotary = ms_is_rotated(builder->model);
    double width = (is_regrouped ? shard->q_width : 0) + (has_rotary ? shard->kv_width : 0);
    if (needs_sequence_order(builder) && shard->batch > 1) {
        width += shard->qkv_width;
    } else if (needs_sequence_order(builder) && !has_rotary) {
        width += shard->qkv_width - (is_regrouped ? shard->q_width : 0);
    }
    return width;
}

/* Whether the attention's backward kernel writes the gradients of q, k and v straight into the
 * gradient of the qkv result. Only cuDNN's does, and only where it read q, k and v from that result
 * without a copy: without rotation, and with as many key and value heads as query heads. */
static bool has_gradient_in_place(const ms_cost_builder *builder) {
    return !needs_sequence_order(builder) && !ms_is_rotated(builder->model) &&
           builder->shard.heads <= builder->shard.kv_heads;
}

/* Add the copies that Megatron Core with Transformer Engine makes between the qkv product and a
 * fused attention, and behind FlashAttention, whose result of several sequences has them one after
 * the other. Backward the result's gradient is copied in the same way, and the gradients of q, k
 * and v are put together, unless the kernel writes them in place. Source: Megatron-LM,
 * megatron.core.transformer.attention (SelfAttention: get_query_key_value_tensors); Transformer
 * Engine, transformer_engine.pytorch.attention (_get_qkv_layout, FlashAttention.forward,
 * _PrepareQKVForFA, _SplitAlongDim.backward). */
static void add_layout_copies(ms_cost_builder *builder, unsigned parts) {
    const ms_shard *shard = &builder->shard;
    bool is_interleaved = builder->model->projections == MS_PROJECTIONS_INTERLEAVED &&
                          builder->model->attention != MS_ATTENTION_UNFUSED;
    double column_B = 2 * shard->tokens * shard->element_B; /* one column, read and written */
    double result = needs_sequence_order(builder) && shard->batch > 1 ? shard->q_width : 0;
    double before = (parts & MS_PART_FORWARD)        ? copied_width(builder)
                    : has_gradient_in_place(builder) ? 0
                                                     : shard->qkv_width;
    if (is_interleaved && (parts & (MS_PART_FORWARD | MS_PART_INPUT)) && before + result > 0) {
        bool is_forward = parts & MS_PART_FORWARD;
        ms_cost_memory(builder, is_forward ? "qkv_layout" : "qkv_layout_backward",
                       (before + result) * column_B);
    }
}

/* Add the attention core with plain or grouped heads. */
static void add_core(ms_cost_builder *builder, unsigned parts) {
    ms_core core = ms_head_core(builder);
    ms_cost_core(builder, parts, &core);
}

/* Add the attention half of a layer, from its norm to its residual. */
void ms_cost_attention_half(ms_cost_builder *builder, unsigned parts) {
    static const ms_operator OPERATORS[] = {
        ms_cost_opening_norm, add_qkv,  add_qk_norms, add_rotary,      add_head_copies,
        add_layout_copies,    add_core, add_output,   ms_cost_residual};
    ms_cost_operators(builder, parts, OPERATORS, sizeof OPERATORS / sizeof OPERATORS[0]);
}

/* Add the output projection in a parallel block, without a collective of its own: the MLP branch
 * reduces the partial sums of both branches. */
static void add_unreduced_output(ms_cost_builder *builder, unsigned parts) {
    ms_cost_without_collectives(builder, parts, add_output);
}

/* Add the attention of a parallel block, between the block's norm and residual. */
void ms_cost_attention_branch(ms_cost_builder *builder, unsigned parts) {
    static const ms_operator OPERATORS[] = {
        add_qkv,           add_qk_norms, add_rotary,          add_head_copies,
        add_layout_copies, add_core,     add_unreduced_output};
    ms_cost_operators(builder, parts, OPERATORS, sizeof OPERATORS / sizeof OPERATORS[0]);
}
