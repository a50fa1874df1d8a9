/* Fused attention in fp8: what it multiplies, the casts around it, and what is kept of it.
 *
 * Queries, keys and values share one scale: they are copied into one tensor, which is cast; their
 * gradients, which the kernel writes in fp8 under delayed scaling, are copied into one and cast
 * back. The result is written in fp8 under delayed scaling and cast back, the gradient of it cast
 * before the backward kernel. Under current scaling the kernel writes the working type both ways,
 * and maxima are found before the casts. What the backward pass needs of q, k, v and the result is
 * kept in fp8, under current scaling the result in the working type.
 *
 * Where the products beside the attention hand fp8 on, the projection behind it takes the result
 * and makes its gradient as they are, and where nothing stands between the product of q, k and v
 * and the attention, that makes fp8 and takes fp8 gradients.
 * Source: Transformer Engine, transformer_engine.pytorch.attention.dot_product_attention
 * (FusedAttnFunc; combine_and_quantize, combine_and_dequantize); MultiheadAttention (fp8_mha). */
#include "model/attention_casts.h"

static const ms_products *products_of(const ms_cost_builder *builder) {
    return &builder->precision->products;
}

/* Whether the kernel itself casts what it writes. FlashAttention 3's writes the working type. */
static bool writes_fp8(const ms_cost_builder *builder) {
    return products_of(builder)->scaling == MS_SCALING_DELAYED &&
           builder->model->attention == MS_ATTENTION_CUDNN;
}

double ms_attention_result_B(const ms_cost_builder *builder) {
    return writes_fp8(builder) ? ms_quantized_B(builder) : builder->shard.element_B;
}

/* Whether q, k and v, or their gradients, are made one tensor before they are cast: with cuDNN's
 * kernels, while those of FlashAttention 3 are cast one by one. */
static bool joins_operands(const ms_cost_builder *builder) {
    return builder->model->attention == MS_ATTENTION_CUDNN;
}

/* Elements of a token on the rank. */
static double operand_width(const ms_core *core) {
    return core->heads * core->query_dim + core->kv_heads * (core->query_dim + core->value_dim);
}

static double result_width(const ms_core *core) {
    return core->heads * core->value_dim;
}

static void add_kernel(ms_cost_builder *builder, const char *name, double width, double each_B) {
    ms_cost_memory(builder, name, builder->shard.tokens * width * each_B);
}

static void add_cast(ms_cost_builder *builder, double width) {
    double e = builder->shard.element_B;
    if (products_of(builder)->scaling == MS_SCALING_CURRENT) {
        add_kernel(builder, "attention_amax", width, e);
    }
    add_kernel(builder, "attention_cast", width, e + ms_quantized_B(builder));
}

static void add_cast_back(ms_cost_builder *builder, double width) {
    add_kernel(builder, "attention_cast_back", width,
               builder->shard.element_B + ms_quantized_B(builder));
}

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

/* A pass that repeats the attention keeps what goes into it, in the working type. */
static bool keeps_fp8(const ms_cost_builder *builder) {
    return ms_has_fp8_attention(builder, true) &&
           builder->layout->recompute != MS_RECOMPUTE_SELECTIVE;
}

double ms_kept_operand_B(const ms_cost_builder *builder) {
    return keeps_fp8(builder) ? ms_quantized_B(builder) : builder->shard.element_B;
}

/* The input of the output projection is the attention's result, of which the projection keeps its
 * own copy where it multiplies, or keeps, in fewer bits than the attention. Source: Transformer
 * Engine (the attention and the linear layer save their tensors apart). */
double ms_kept_context_B(const ms_cost_builder *builder) {
    double e = builder->shard.element_B;
    double own_B = ms_kept_input_B(builder, MS_PRODUCT_PROJECTIONS);
    if (keeps_fp8(builder) && writes_fp8(builder)) {
        bool is_shared = ms_attention_gives_fp8(builder) && !ms_has_second_forms(builder);
        return ms_quantized_B(builder) + (is_shared && own_B < e ? 0 : own_B);
    }
    return own_B < e ? e + own_B : e;
}
