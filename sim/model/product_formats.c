/* Number formats of products: which products multiply in fewer bits (fp8, mxfp8, nvfp4), the bytes
 * of an element in such a format, and how much faster than in 16 bits they are. Also which linear
 * layers have biases. */
#include "model/attention_casts.h"
#include "model/internal.h"

bool ms_has_bias(const ms_model *model, ms_bias bias) {
    bool is_in_all = bias != MS_BIAS_HEAD && model->has_bias;
    return is_in_all || (model->parts.biases & (unsigned)bias) != 0;
}

/* Whether all products of a layer multiply in the working type. The first and the last layers may
 * keep the working type; MTP modules behind the last layer are as the layers between. Source:
 * Megatron-LM, --first-last-layers-bf16. */
bool ms_has_plain_products(const ms_cost_builder *builder, int layer) {
    const ms_products *products = &builder->precision->products;
    int from_end = builder->model->layers - layer; /* 1: the last layer; below 1: MTP modules */
    return products->format == MS_PRODUCT_PLAIN || layer < products->first_plain_layers ||
           (from_end > 0 && from_end <= products->last_plain_layers);
}

/* Whether products of a kind multiply in fewer bits. Without a list of kinds, all products of
 * layers do and the head does not. */
bool ms_is_quantized(const ms_cost_builder *builder, ms_product_kind kind) {
    enum { USUAL = MS_PRODUCT_PROJECTIONS | MS_PRODUCT_MLP | MS_PRODUCT_EXPERTS };
    const ms_products *products = &builder->precision->products;
    unsigned kinds = products->kinds != 0 ? products->kinds : USUAL;
    bool has_format = products->format != MS_PRODUCT_PLAIN && (kinds & kind) != 0;
    return has_format &&
           (kind == MS_PRODUCT_HEAD || !ms_has_plain_products(builder, builder->product.layer));
}

bool ms_is_rotated(const ms_model *model) {
    return !model->has_positions && !model->has_alibi;
}

/* Whether the layer being added multiplies attention in fp8 in this direction. */
bool ms_has_fp8_attention(const ms_cost_builder *builder, bool is_backward) {
    ms_attention_format format = builder->precision->products.attention;
    bool is_asked = format != MS_ATTENTION_IN_PARAMETERS &&
                    (format != MS_ATTENTION_FP8_FORWARD || !is_backward);
    return is_asked && !ms_has_plain_products(builder, builder->product.layer);
}

bool ms_attention_gives_fp8(const ms_cost_builder *builder) {
    return builder->precision->products.attention == MS_ATTENTION_FP8_MULTI_HEAD &&
           ms_is_quantized(builder, MS_PRODUCT_PROJECTIONS);
}

/* Whether the attention takes fp8 from the qkv product. No operator that takes the working type may
 * come between the two: no rotation, norms or copies. Source: Transformer Engine,
 * MultiheadAttention (fp8_mha: the product of q, k and v gives fp8 where no rotary embedding
 * follows). */
bool ms_attention_takes_fp8(const ms_cost_builder *builder) {
    const ms_model *model = builder->model;
    bool is_copied = model->projections == MS_PROJECTIONS_INTERLEAVED || model->repeats_key_values;
    bool is_next = !ms_is_rotated(model) && !model->parts.has_qk_norms && model->mla.kv_rank <= 0;
    return is_next && !is_copied && ms_attention_gives_fp8(builder);
}

static bool is_blockwise(const ms_products *products) {
    return products->format == MS_PRODUCT_FP8 && products->scaling == MS_SCALING_BLOCKWISE;
}

bool ms_has_row_scales(const ms_products *products) {
    return products->format == MS_PRODUCT_FP8 && products->scaling == MS_SCALING_ROWWISE;
}

/* Share of a format's peak that a large product reaches. With scales for blocks a kernel multiplies
 * the sums of every 128 inner elements by their scales before it adds them up, outside of the
 * matrix units. A weight has one scale for 128 x 128 elements. In a weight gradient both operands
 * are activations, and every row and every column has its own scales, which takes longer. Source:
 * DeepSeek-V3 Technical Report, arXiv:2412.19437, sections 3.3.1 and 3.3.2. */
static double best_share(const ms_product_rate *rate, const ms_products *products,
                         bool is_weight_gradient) {
    double share = rate->gemm_efficiency;
    if (ms_has_row_scales(products) && rate->rowwise_efficiency > 0) {
        share = rate->rowwise_efficiency;
    }
    if (is_blockwise(products) && rate->blockwise_efficiency > 0) {
        share = rate->blockwise_efficiency;
    }
    if (is_blockwise(products) && is_weight_gradient && rate->blockwise_weight_efficiency > 0) {
        share = rate->blockwise_weight_efficiency;
    }
    return share;
}

/* Speed of a large product in a format over the speed of the same product in 16 bits, both at the
 * clocks that the power limit leaves. share: of the format's peak. */
static double speed_of(const ms_gpu_type *gpu, const ms_product_rate *rate, double share) {
    return rate->peak_flop_per_s * rate->sustained_clock * share /
           (gpu->peak_flop_per_s * gpu->clock.sustained * gpu->gemm_efficiency);
}

/* Operands in the working type. In fp32 libraries round them to TF32 for the matrix units.
 * Source: Transformer Engine, cublas_gemm (CUBLAS_COMPUTE_32F_FAST_TF32 for operands in fp32);
 * PyTorch, torch.backends.cuda.matmul.allow_tf32, without which it does not. */
static ms_operands working_operands(const ms_cost_builder *builder) {
    const ms_product_rate *single = &builder->gpu->products.single;
    bool is_single = ms_has_fp32_activations(&builder->shard) && single->peak_flop_per_s > 0;
    return (ms_operands){
        .element_B = builder->shard.element_B,
        .speed = is_single ? speed_of(builder->gpu, single, single->gemm_efficiency) : 1};
}

/* Bytes of an element in the format, without scales [B]. */
static double element_B(const ms_products *products) {
    return products->format == MS_PRODUCT_NVFP4 ? 0.5 : 1;
}

/* An element's share of the scales [B]: 32 bits for a block of 128 elements (fp8), 8 bits for 32
 * (mxfp8) or 16 (nvfp4); next to none where a tensor or a row shares one. */
static double scale_B(const ms_products *products) {
    static const double SCALE_B[] = {
        [MS_PRODUCT_FP8] = 0, [MS_PRODUCT_MXFP8] = 1.0 / 32, [MS_PRODUCT_NVFP4] = 1.0 / 16};
    return is_blockwise(products) ? 4.0 / 128 : SCALE_B[products->format];
}

double ms_quantized_B(const ms_cost_builder *builder) {
    const ms_products *products = &builder->precision->products;
    return element_B(products) + scale_B(products);
}

/* Operands of a product of a kind: bytes, scales and speed. The user may leave weight gradients in
 * the working type. */
ms_operands ms_operands_of(const ms_cost_builder *builder, ms_product_kind kind,
                           bool is_weight_gradient) {
    const ms_products *products = &builder->precision->products;
    bool is_plain = is_weight_gradient && products->weight_gradients == MS_TYPE_OF_PARAMETERS;
    if (is_plain || !ms_is_quantized(builder, kind)) {
        return working_operands(builder);
    }
    const ms_product_rate *rate = &builder->gpu->products.of[products->format];
    return (ms_operands){
        .element_B = element_B(products),
        .scale_B = scale_B(products),
        .speed = speed_of(builder->gpu, rate, best_share(rate, products, is_weight_gradient))};
}
