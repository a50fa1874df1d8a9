/* Fused attention in fp8: the casts around its kernel, and the bytes that it keeps for the backward
 * pass.
 *
 * Forward: queries, keys and values share one scale, so they are copied into one tensor, which is
 * cast. The kernel multiplies in fp8. Under delayed scaling it writes its result in fp8, which is
 * cast back to the working type. Backward: the result's gradient is cast before the kernel. Under
 * delayed scaling the kernel writes the gradients of q, k and v in fp8; they are copied into one
 * tensor and cast back. Under current scaling the kernel writes the working type both ways, and
 * maxima are found before the casts. The attention keeps q, k, v and its result in fp8 for the
 * backward pass; under current scaling it keeps the result in the working type.
 *
 * With fp8_mha (MS_ATTENTION_FP8_MULTI_HEAD) the products beside the attention need no casts: the
 * output projection takes the result in fp8 and returns its gradient in fp8. Where nothing stands
 * between the qkv product and the attention, the qkv product also writes fp8 and takes fp8
 * gradients.
 *
 * Source: Transformer Engine, transformer_engine.pytorch.attention.dot_product_attention
 * (FusedAttnFunc; combine_and_quantize, combine_and_dequantize); MultiheadAttention (fp8_mha). */
#include "model/attention_casts.h"

static const ms_products *products_of(const ms_cost_builder *builder) {
    return &builder->precision->products;
}

/* Whether the attention kernel writes fp8 itself. FlashAttention 3's writes the working type. */
static bool writes_fp8(const ms_cost_builder *builder) {
    return products_of(builder)->scaling == MS_SCALING_DELAYED &&
           builder->model->attention == MS_ATTENTION_CUDNN;
}

double ms_attention_result_B(const ms_cost_builder *builder) {
    return writes_fp8(builder) ? ms_quantized_B(builder) : builder->shard.element_B;
}

/* Whether q, k and v, or their gradients, are copied into one tensor before they are cast. cuDNN's
 * kernels need that; for FlashAttention 3 they are cast one by one. */
static bool joins_operands(const ms_cost_builder *builder) {
    return builder->model->attention == MS_ATTENTION_CUDNN;
}

/* Elements of q, k and v together per token on this rank. */
static double operand_width(const ms_core *core) {
    return core->heads * core->query_dim + core->kv_heads * (core->query_dim + core->value_dim);
}

/* Elements of the attention's result per token on this rank. */
static double result_width(const ms_core *core) {
    return core->heads * core->value_dim;
}

/* Add a memory-bound kernel over `width` elements of each of the rank's tokens. each_B: bytes read
 * and written per element. */
static void add_kernel(ms_cost_builder *builder, const char *name, double width, double each_B) {
    ms_cost_memory(builder, name, builder->shard.tokens * width * each_B);
}

/* Add the cast of `width` elements per token to fp8; under current scaling, first the kernel that
 * finds their maximum. */
static void add_cast(ms_cost_builder *builder, double width) {
    double e = builder->shard.element_B;
    if (products_of(builder)->scaling == MS_SCALING_CURRENT) {
        add_kernel(builder, "attention_amax", width, e);
    }
    add_kernel(builder, "attention_cast", width, e + ms_quantized_B(builder));
}

/* Add the cast of `width` elements per token from fp8 to the working type. */
static void add_cast_back(ms_cost_builder *builder, double width) {
    add_kernel(builder, "attention_cast_back", width,
               builder->shard.element_B + ms_quantized_B(builder));
}

/* Add the casts to fp8 before an attention kernel. Backward: the result's gradient is cast, unless
 * the output projection returns it in fp8. Forward: q, k and v are joined and cast, unless the qkv
 * product has written fp8. */
void ms_cost_attention_casts(ms_cost_builder *builder, const ms_core *core, bool is_backward) {
    if (!ms_has_fp8_attention(builder, is_backward)) {
        return;
    }
    if (is_backward) {
        if (!ms_attention_gives_fp8(builder)) {
            add_cast(builder, result_width(core));
        }
    } else if (!ms_attention_takes_fp8(builder)) {
        if (joins_operands(builder)) {
            add_kernel(builder, "attention_join", operand_width(core),
                       2 * builder->shard.element_B);
        }
        add_cast(builder, operand_width(core));
    }
}

/* Add the casts back to the working type behind an attention kernel; none where the kernel has
 * written that type. Forward: the result, unless the output projection takes fp8. Backward: the
 * joined gradients of q, k and v, unless the qkv product takes fp8. */
void ms_cost_attention_casts_back(ms_cost_builder *builder, const ms_core *core, bool is_backward) {
    if (!ms_has_fp8_attention(builder, is_backward) || !writes_fp8(builder)) {
        return;
    }
    if (!is_backward) {
        if (!ms_attention_gives_fp8(builder)) {
            add_cast_back(builder, result_width(core));
        }
    } else if (!ms_attention_takes_fp8(builder)) {
        if (joins_operands(builder)) {
            add_kernel(builder, "attention_join", operand_width(core), 2 * ms_quantized_B(builder));
        }
        add_cast_back(builder, operand_width(core));
    }
}

/* Whether the attention keeps its operands in fp8: where its backward kernel multiplies in fp8.
 * Selective recomputation is an exception, as its backward pass repeats the attention from operands
 * in the working type. */
static bool keeps_fp8(const ms_cost_builder *builder) {
    return ms_has_fp8_attention(builder, true) &&
           builder->layout->recompute != MS_RECOMPUTE_SELECTIVE;
}

double ms_kept_operand_B(const ms_cost_builder *builder) {
    return keeps_fp8(builder) ? ms_quantized_B(builder) : builder->shard.element_B;
}

/* Bytes per element of the attention's result that attention and output projection keep together
 * [B]. The output projection's input is the attention's result. The two keep separate copies where
 * the projection multiplies, or keeps, in fewer bits than the attention's result has. Where the
 * attention hands fp8 to the projection and the projection needs no second form, both keep one fp8
 * tensor. Source: Transformer Engine (the attention and the linear layer save their tensors
 * apart). */
double ms_kept_context_B(const ms_cost_builder *builder) {
    double e = builder->shard.element_B;
    double own_B = ms_kept_input_B(builder, MS_PRODUCT_PROJECTIONS);
    if (keeps_fp8(builder) && writes_fp8(builder)) {
        bool is_shared = ms_attention_gives_fp8(builder) && !ms_has_second_forms(builder);
        return ms_quantized_B(builder) + (is_shared && own_B < e ? 0 : own_B);
    }
    return own_B < e ? e + own_B : e;
}
