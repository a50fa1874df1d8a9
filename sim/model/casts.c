/* Costs of products in fewer bits (fp8, mxfp8, nvfp4) besides the products: casts of their
 * operands, maxima (amax) from which scales follow, and copies in the other layout.
 *
 * A weight is in three products: forward (input, weight), input gradient (output's gradient,
 * weight) and weight gradient (output's gradient, input). Each operand is cast in up to two forms.
 * "Rows" is the form of inputs and weights for the forward product, and of gradients for the input
 * gradient. "Columns" is the second, transposed form: of inputs and gradients for the weight
 * gradient, whose inner dimension is tokens, and of weights for the input gradient. Columns are
 * needed where the GPU multiplies no other layout (TN), and where scales lie along the inner
 * dimension.
 *
 * Bytes read and written per element of a cast, of e bytes in the working type and q in the format:
 * - delayed: scales come from maxima of earlier steps, and the cast finds the new maximum on the
 *   way: e is read once, q written for each form;
 * - current: the same, and before it e is read once more to find the maximum;
 * - rowwise: e + q for rows, whose maxima are found on the way; for columns a copy (e written, and
 *   read where it is not made beside rows) and e + q;
 * - blocks of 128 or 32 elements: as delayed; the second form may be made from the first one, which
 *   is read, multiplied by its scales, transposed and cast again (q in, q out);
 * - nvfp4: e is read before for the tensor's maximum; columns are rotated at random (Hadamard)
 *   before they are cast, in a kernel of their own: e + q each.
 *
 * Source: Transformer Engine, common/transpose and common/cast (kernels of a recipe); torchao, its
 * roofline of float8 training (kernels of tensorwise and rowwise).
 *
 * Under delayed scaling every pass ends with a kernel that makes scales from the pass's maxima.
 * Before it the ranks that share a layer, or hold replicas of it, share these maxima: of inputs and
 * weights in forward passes, of gradients in backward passes. Source: Transformer Engine,
 * FP8GlobalStateManager (reduce_and_update_fp8_tensors); Megatron-LM, parallel_state (amax
 * reduction group, --tp-only-amax-red).
 *
 * Fusion: with Transformer Engine's kernels a norm writes its result in fp8 under delayed scaling,
 * and a cast sums a bias's gradient on the way. torch.compile finds a maximum in the kernel that
 * makes the tensor, unless a product, the attention or a collective makes it. Source: Transformer
 * Engine, its modules of linear layers (grad_output_preprocess); torchao, the same
 * (fuse_with_prev). */
#include <math.h>

#include "model/attention_casts.h"
#include "model/moe.h"

static const ms_products *products_of(const ms_cost_builder *builder) {
    return &builder->precision->products;
}

/* Whether a whole tensor shares one scale: fp8 under delayed or current scaling. */
static bool is_of_tensors(const ms_products *products) {
    return products->format == MS_PRODUCT_FP8 &&
           (products->scaling == MS_SCALING_DELAYED || products->scaling == MS_SCALING_CURRENT);
}

/* Whether a kernel of its own finds a tensor's maximum before the cast. */
static bool has_maximum_first(const ms_products *products) {
    return products->format == MS_PRODUCT_NVFP4 ||
           (products->format == MS_PRODUCT_FP8 && products->scaling == MS_SCALING_CURRENT);
}

bool ms_has_second_forms(const ms_cost_builder *builder) {
    const ms_products *products = products_of(builder);
    return !is_of_tensors(products) ||
           builder->gpu->products.of[products->format].layouts == MS_LAYOUTS_TN;
}

/* Whether inputs and gradients need columns for the weight gradient: it multiplies in the format,
 * and takes operands in their second form. */
static bool has_token_columns(const ms_cost_builder *builder) {
    return products_of(builder)->weight_gradients == MS_TYPE_OF_PRODUCTS &&
           ms_has_second_forms(builder);
}

bool ms_gathers_quantized(const ms_cost_builder *builder) {
    return ms_is_quantized(builder, builder->product.kind) &&
           products_of(builder)->tensor_gathers == MS_TYPE_OF_PRODUCTS &&
           builder->layout->has_sequence_parallel && builder->layout->tp > 1;
}

/* Which forms of a tensor a cast makes. */
typedef enum cast_forms { ROWS, COLUMNS, BOTH } cast_forms;

/* Elements of a tensor, on the mean rank and on the busiest one. */
typedef struct elements {
    double mean, busiest;
} elements;

/* Add a memory-bound kernel over a tensor. each_B: bytes read and written per element; 0: no kernel
 * is added. slower: as for ms_cost_slow_memory. Mean and busiest differ for experts' tensors
 * alone. */
static void add_slow_kernel(ms_cost_builder *builder, const char *name, elements count,
                            double each_B, double slower) {
    if (each_B <= 0) {
        return;
    }
    if (count.mean == count.busiest) {
        ms_cost_slow_memory(builder, name, count.mean * each_B, slower);
    } else {
        ms_cost_uneven(builder, name, count.mean * each_B, count.busiest * each_B, slower);
    }
}

/* Add a memory-bound kernel over a tensor, as add_slow_kernel does, at the speed of other
 * memory-bound kernels. */
static void add_kernel(ms_cost_builder *builder, const char *name, elements count, double each_B) {
    add_slow_kernel(builder, name, count, each_B, 1);
}

/* How many times as long as other memory-bound kernels of its bytes a cast takes that writes
 * columns (>= 1): it transposes tiles, whose short rows use memory badly. 1 where the GPU type
 * gives no share of the bandwidth for this generation of cast kernels. */
static double transposing_slowness(const ms_cost_builder *builder) {
    const ms_products *products = products_of(builder);
    double share = builder->gpu->products.of[products->format].transposing_casts[products->casts];
    return share > 0 ? fmax(builder->gpu->memory_efficiency / share, 1) : 1;
}

/* Add the kernels that cast a tensor. made: the forms that they write. is_found: the kernel that
 * made the tensor has found its maximum (under rowwise scaling, those of its rows) already. */
static void add_cast(ms_cost_builder *builder, elements count, cast_forms made, bool is_found) {
    const ms_products *products = products_of(builder);
    double e = builder->shard.element_B, q = ms_quantized_B(builder);
    double slower = made == ROWS ? 1 : transposing_slowness(builder);
    if (has_maximum_first(products)) {
        add_kernel(builder, "amax", count, is_found ? 0 : e);
    }
    if (ms_has_row_scales(products)) {
        /* rows in one kernel, which for BOTH also writes a transposed copy; columns from such a
         * copy in a second kernel. For COLUMNS alone the first kernel makes just the copy */
        double rows_B = (is_found ? 0 : e) + q + (made == BOTH ? e : 0);
        add_slow_kernel(builder, "cast", count, made == COLUMNS ? 2 * e : rows_B, slower);
        add_kernel(builder, "cast", count, made == ROWS ? 0 : e + q);
        return;
    }
    /* nvfp4 writes columns in a kernel of their own */
    bool is_apart = products->format == MS_PRODUCT_NVFP4 && made == BOTH;
    add_slow_kernel(builder, "cast", count, made == BOTH && !is_apart ? e + 2 * q : e + q, slower);
    add_kernel(builder, "cast", count, is_apart ? e + q : 0);
}

/* Add the kernel that makes columns from rows that are cast already: q in, q out. */
static void add_transpose(ms_cost_builder *builder, elements count) {
    add_slow_kernel(builder, "transpose", count, 2 * ms_quantized_B(builder),
                    transposing_slowness(builder));
}

/* Whether the norm before a column-parallel product writes its result in fp8: with Transformer
 * Engine's norms under delayed scaling. With sequence parallelism this is so only if tp ranks
 * gather fp8. */
static bool is_cast_by_norm(const ms_cost_builder *builder) {
    const ms_products *products = products_of(builder);
    return builder->product.side == MS_SIDE_COLUMN && builder->model->kernels == MS_KERNELS_FUSED &&
           products->format == MS_PRODUCT_FP8 && products->scaling == MS_SCALING_DELAYED &&
           (builder->layout->tp == 1 || !builder->layout->has_sequence_parallel ||
            products->tensor_gathers == MS_TYPE_OF_PRODUCTS);
}

/* Bytes that the norm being added moves over those of a norm that writes the working type. */
double ms_norm_share(const ms_cost_builder *builder) {
    double e = builder->shard.element_B;
    return ms_is_quantized(builder, builder->product.kind) && is_cast_by_norm(builder)
               ? (e + ms_quantized_B(builder)) / (2 * e)
               : 1;
}

/* Whether torch.compile has found the maximum of the product's input in the norm or activation that
 * made it. It has not where the input is gathered over tp or is the attention's result. */
static bool is_input_found(const ms_cost_builder *builder) {
    bool is_gathered = builder->product.side == MS_SIDE_COLUMN && builder->layout->tp > 1 &&
                       builder->layout->has_sequence_parallel &&
                       products_of(builder)->tensor_gathers == MS_TYPE_OF_PARAMETERS;
    bool is_by_attention =
        builder->product.side == MS_SIDE_ROW && builder->product.kind == MS_PRODUCT_PROJECTIONS;
    return builder->model->kernels == MS_KERNELS_COMPILED &&
           builder->product.side != MS_SIDE_NONE && !is_gathered && !is_by_attention;
}

/* Whether the backward pass keeps an input in the form that its weight gradient takes. */
static bool keeps_columns(const ms_products *products) {
    bool is_later = !is_of_tensors(products) && products->second_form == MS_SECOND_FORM_BACKWARD;
    return products->kept == MS_TYPE_OF_PRODUCTS && !is_later;
}

/* Whether the forward pass makes the input's columns: if columns are kept for the backward pass
 * and, with one scale per tensor, if a single cast kernel makes both forms. A single kernel does
 * not make both where the norm casts, nor where tp ranks cast their own tokens and gather them
 * afterwards. */
static bool has_early_columns(const ms_cost_builder *builder) {
    const ms_products *products = products_of(builder);
    bool is_split = builder->product.side == MS_SIDE_COLUMN && ms_gathers_quantized(builder);
    return has_token_columns(builder) && keeps_columns(products) &&
           (!is_of_tensors(products) || (!is_cast_by_norm(builder) && !is_split));
}

/* Whether every pass casts weights: ZeRO 3 gathers them anew for every pass. Else they are cast
 * once per step (ms_weight_casts_B). */
static bool casts_weights(const ms_cost_builder *builder) {
    return builder->layout->zero >= 3 && !builder->layout->keeps_parameters;
}

/* Add the cast of weights for the forward product, where every pass casts them and they were
 * gathered in the working type. weights: [count]. */
static void add_weight_rows(ms_cost_builder *builder, double weights) {
    if (casts_weights(builder) &&
        products_of(builder)->parameter_gathers == MS_TYPE_OF_PARAMETERS) {
        add_cast(builder, (elements){weights, weights}, ROWS, false);
    }
}

/* Add the kernel that makes the weights' columns for the input gradient, where every pass does:
 * from rows that were gathered in fewer bits, or by a cast from the working type. The forward pass
 * has found the maximum for that cast. weights: [count]. */
static void add_weight_columns(ms_cost_builder *builder, double weights) {
    elements count = {weights, weights};
    if (!casts_weights(builder) || !ms_has_second_forms(builder)) {
        return;
    }
    if (products_of(builder)->parameter_gathers == MS_TYPE_OF_PRODUCTS) {
        add_transpose(builder, count);
    } else {
        add_cast(builder, count, COLUMNS, true);
    }
}

/* Whether the product is the output projection behind an attention that hands its result on in
 * fp8. */
static bool is_cast_by_attention(const ms_cost_builder *builder) {
    return builder->product.side == MS_SIDE_ROW &&
           builder->product.kind == MS_PRODUCT_PROJECTIONS && ms_attention_gives_fp8(builder);
}

/* Whether the product is the qkv product before an attention that hands on the gradients of
 * queries, keys and values in fp8. */
static bool is_gradient_cast(const ms_cost_builder *builder) {
    return builder->product.side == MS_SIDE_COLUMN &&
           builder->product.kind == MS_PRODUCT_PROJECTIONS && ms_attention_takes_fp8(builder);
}

/* Add the casts before a linear layer's forward product, of its input and of gathered weights.
 * Where tp ranks gather what is cast, each casts its own tokens. Behind an attention that hands on
 * fp8, just the transposed form is made. */
void ms_cost_input_cast(ms_cost_builder *builder, ms_linear_size size) {
    if (!ms_is_quantized(builder, builder->product.kind)) {
        return;
    }
    bool is_split = builder->product.side == MS_SIDE_COLUMN && ms_gathers_quantized(builder);
    double own = is_split ? builder->shard.plane : size.tokens * size.in;
    if (is_cast_by_attention(builder)) {
        if (has_early_columns(builder)) {
            add_transpose(builder, (elements){own, own});
        }
    } else if (!is_cast_by_norm(builder)) {
        add_cast(builder, (elements){own, own}, has_early_columns(builder) ? BOTH : ROWS,
                 is_input_found(builder));
    }
    add_weight_rows(builder, size.in * size.out);
}

/* Add the casts of the output's gradient before the product for the input gradient. The cast makes
 * rows and, where it can, columns. A transpose makes the columns afterwards where the attention
 * gave rows in fp8, or where tp ranks cast their own tokens with one scale per tensor and gather
 * them. */
void ms_cost_gradient_cast(ms_cost_builder *builder, ms_linear_size size) {
    if (!ms_is_quantized(builder, builder->product.kind)) {
        return;
    }
    bool is_split = builder->product.side == MS_SIDE_ROW && ms_gathers_quantized(builder);
    bool has_both = has_token_columns(builder);
    /* torch.compile finds the maximum in the activation's backward kernel, which makes the gradient
     * of the MLP's opening product */
    bool is_found = builder->model->kernels == MS_KERNELS_COMPILED &&
                    builder->product.kind == MS_PRODUCT_MLP &&
                    builder->product.side == MS_SIDE_COLUMN;
    double whole = size.tokens * size.out, own = is_split ? builder->shard.plane : whole;
    bool is_given = is_gradient_cast(builder);
    bool is_later = is_given || (is_split && is_of_tensors(products_of(builder)));
    if (!is_given) {
        add_cast(builder, (elements){own, own}, has_both && !is_later ? BOTH : ROWS, is_found);
    }
    if (has_both && is_later) {
        add_transpose(builder, (elements){whole, whole});
    }
    add_weight_columns(builder, size.in * size.out);
}

/* Add the kernel that makes the input's columns for the weight gradient; none where the forward
 * pass has made them. They are made from the rows that were kept, or cast from the input that was
 * kept in the working type, whose maximum the forward pass has found. */
void ms_cost_input_columns(ms_cost_builder *builder, ms_linear_size size) {
    double whole = size.tokens * size.in;
    if (!ms_is_quantized(builder, builder->product.kind) || !has_token_columns(builder) ||
        has_early_columns(builder)) {
        return;
    }
    if (products_of(builder)->kept == MS_TYPE_OF_PRODUCTS) {
        add_transpose(builder, (elements){whole, whole});
    } else {
        add_cast(builder, (elements){whole, whole}, COLUMNS, true);
    }
}

bool ms_sums_bias_in_cast(const ms_cost_builder *builder) {
    return builder->model->kernels == MS_KERNELS_FUSED &&
           ms_is_quantized(builder, builder->product.kind) && !is_gradient_cast(builder);
}

/* Add the casts of a product of routed experts. Copies of tokens may have been cast before they
 * were sent to the rank (is_input_sent, is_gradient_sent); then only the transposed form is made,
 * of inputs in the part for the weight gradient. Mean and busiest loads differ. */
void ms_cost_expert_casts(ms_cost_builder *builder, unsigned parts, const ms_expert_casts *work) {
    if (!ms_is_quantized(builder, MS_PRODUCT_EXPERTS)) {
        return;
    }
    bool has_both = has_token_columns(builder);
    const ms_products *products = products_of(builder);
    bool keeps = keeps_columns(products);
    /* rows of the input are there in the backward pass: columns need a transpose, not a cast */
    bool is_cast_before = work->is_input_sent || products->kept == MS_TYPE_OF_PRODUCTS;
    elements input = {work->mean * work->in, work->busiest * work->in};
    elements gradient = {work->mean * work->out, work->busiest * work->out};
    if (parts & MS_PART_FORWARD) {
        if (!work->is_input_sent) {
            add_cast(builder, input, has_both && keeps ? BOTH : ROWS, false);
        }
        add_weight_rows(builder, work->experts * work->in * work->out);
    }
    if (parts & MS_PART_INPUT) {
        if (!work->is_gradient_sent) {
            add_cast(builder, gradient, has_both ? BOTH : ROWS, false);
        } else if (has_both) {
            add_transpose(builder, gradient);
        }
        add_weight_columns(builder, work->experts * work->in * work->out);
    }
    if ((parts & MS_PART_WEIGHT) && has_both && (work->is_input_sent || !keeps)) {
        if (is_cast_before) {
            add_transpose(builder, input);
        } else {
            add_cast(builder, input, COLUMNS, true);
        }
    }
}

/* The axes over which ranks share maxima: tp, and with MS_AMAX_REPLICAS also the axes over which
 * ranks hold replicas of the layer. */
static unsigned amax_axes(const ms_cost_builder *builder) {
    bool is_all = products_of(builder)->amax == MS_AMAX_REPLICAS;
    return MS_AXIS_BIT(MS_AXIS_TP) | (is_all ? ms_shard_group_of(builder->layout, false).all : 0);
}

/* Maxima that a stage's pass finds [count]. A layer has four linear layers: two around the
 * attention, two in the MLP (or in all experts together). Each that is quantized has one maximum of
 * its input and one of its weight in forward passes, and one of its output's gradient in backward
 * passes. An attention in fp8 has three each way: of q, k and v together, of the probabilities and
 * of the result, or of the gradients of these. pass: F, B or I; a W pass finds no maxima. */
static int maxima_of(const ms_cost_builder *builder, ms_pass pass, ms_stage_content content) {
    enum { OF_ATTENTION = 3 };
    ms_cost_builder own = *builder;
    int count = 0, each = pass == MS_PASS_F ? 2 : 1;
    for (int i = 0; i < content.layers; i++) {
        int layer = own.product.layer = content.layer_first + i;
        bool is_moe = ms_layer_is_moe(builder->model, layer);
        count += ms_is_quantized(&own, MS_PRODUCT_PROJECTIONS) ? 2 * each : 0;
        count += ms_is_quantized(&own, is_moe ? MS_PRODUCT_EXPERTS : MS_PRODUCT_MLP) ? 2 * each : 0;
        count += ms_has_fp8_attention(&own, pass != MS_PASS_F) ? OF_ATTENTION : 0;
    }
    return count;
}

/* Add the end of a pass under delayed scaling: ranks share the maxima, and a kernel makes scales
 * from them. A W pass finds no maxima. Each maximum is 4 bytes in the all-reduce, whose time counts
 * for dp if replicas take part, else for tp. The kernel reads the maxima and writes as many
 * scales. */
void ms_cost_amax(ms_cost_builder *builder, ms_pass pass, ms_stage_content content) {
    const ms_products *products = products_of(builder);
    bool is_delayed = products->format == MS_PRODUCT_FP8 && products->scaling == MS_SCALING_DELAYED;
    double maxima = is_delayed && pass != MS_PASS_W ? maxima_of(builder, pass, content) : 0;
    if (maxima <= 0) {
        return;
    }
    if (products->amax != MS_AMAX_NONE) {
        unsigned axes = amax_axes(builder);
        bool has_replicas = ms_group_size(builder->layout, axes & ~MS_AXIS_BIT(MS_AXIS_TP)) > 1;
        ms_cost_communicate(builder, &(ms_comm){.axis = has_replicas ? MS_AXIS_DP : MS_AXIS_TP,
                                                .group_axes = axes,
                                                .kind = MS_COLL_ALL_REDUCE,
                                                .bytes = 4 * maxima});
    }
    ms_cost_compute(builder);
    ms_cost_memory(builder, "scale_update", 4 * maxima * 2);
}

/* Bytes whose traffic takes as long as casting weights once per step [B]; 0 where every pass casts
 * them. Weights that are gathered in the products' type arrive as rows, from which a kernel makes
 * the columns, if any are needed. Else one cast makes all forms, behind a search for the maximum if
 * the format has one. The bytes of kernels that transpose are counted `slower` times. */
double ms_weight_casts_B(const ms_cost_builder *builder, double weights) {
    const ms_products *products = products_of(builder);
    double e = builder->shard.element_B, q = ms_quantized_B(builder);
    double second_B = ms_has_second_forms(builder) ? q : 0;
    double slower = second_B > 0 ? transposing_slowness(builder) : 1;
    if (weights <= 0 || casts_weights(builder)) {
        return 0;
    }
    if (products->parameter_gathers == MS_TYPE_OF_PRODUCTS) {
        return weights * (second_B > 0 ? slower * (q + second_B) : 0);
    }
    return weights * ((has_maximum_first(products) ? e : 0) + slower * (e + q + second_B));
}

/* Bytes of the quantized copies of weights that a rank holds [B]. Weights that are gathered in the
 * products' type are held in no other, so that their working copy is subtracted. */
double ms_held_weights_B(const ms_cost_builder *builder, double weights) {
    if (weights <= 0 || casts_weights(builder)) {
        return 0;
    }
    double forms_B = (ms_has_second_forms(builder) ? 2 : 1) * ms_quantized_B(builder);
    bool is_alone = products_of(builder)->parameter_gathers == MS_TYPE_OF_PRODUCTS;
    return weights * (forms_B - (is_alone ? builder->precision->parameter_B : 0));
}

/* Bytes per element in which the backward pass keeps a product's input [B]. */
double ms_kept_input_B(const ms_cost_builder *builder, ms_product_kind kind) {
    bool is_cast = ms_is_quantized(builder, kind) &&
                   products_of(builder)->weight_gradients == MS_TYPE_OF_PRODUCTS &&
                   products_of(builder)->kept == MS_TYPE_OF_PRODUCTS;
    return is_cast ? ms_quantized_B(builder) : builder->shard.element_B;
}
