/* Operators that both halves of a layer (attention and MLP) are made of: norms, linear layers
 * (products with weights) and residuals. Each adds its kernels to the builder for the MS_PART_ bits
 * in `parts`.
 *
 * Bytes of memory-bound kernels: e bytes per activation element (element_B), one byte per element
 * of a dropout mask; derived here from what each kernel has to read and write once. */
#include "model/buckets.h"

/* Add the operators of a half of a layer. A backward pass runs them in reverse. That order matters
 * only where a collective over tp or cp, or the reduction of a bucket, is added between two
 * operators. In a single compute segment times and bytes are sums, so that the order given will do.
 * is_cut: a bucket of gradients is reduced between operators. */
void ms_cost_operators(ms_cost_builder *builder, unsigned parts, const ms_operator *operators,
                       size_t count) {
    bool is_backward = !(parts & MS_PART_FORWARD);
    bool is_cut = builder->unit.buckets.of != NULL && builder->unit.buckets.of->is_ordered;
    bool is_one_segment = !builder->is_tp_split && builder->shard.cp <= 1 && !is_cut;
    for (size_t i = 0; i < count; i++) {
        operators[is_backward && !is_one_segment ? count - 1 - i : i](builder, parts);
    }
}

/* Add an operator without its collectives over tp. */
void ms_cost_without_collectives(ms_cost_builder *builder, unsigned parts, ms_operator add) {
    bool is_tp_split = builder->is_tp_split;
    builder->is_tp_split = false;
    add(builder, parts);
    builder->is_tp_split = is_tp_split;
}

bool ms_repeats(const ms_cost_builder *builder, unsigned parts, ms_recompute_part what) {
    return (parts & MS_PART_INPUT) && (builder->repeated & what);
}

/* Whether the linear layer being added has a bias. The two projections of an attention may differ:
 * the qkv product opens the half, the output product closes it (MS_SIDE_ROW). */
static bool has_bias(const ms_cost_builder *builder) {
    bool is_row = builder->product.side == MS_SIDE_ROW;
    switch (builder->product.kind) {
    case MS_PRODUCT_PROJECTIONS:
        return ms_has_bias(builder->model, is_row ? MS_BIAS_ATTENTION_OUTPUT : MS_BIAS_QKV);
    case MS_PRODUCT_MLP:
        return ms_has_bias(builder->model, MS_BIAS_MLP);
    default:
        return builder->model->has_bias;
    }
}

/* Add a norm of the hidden state: its forward kernel, also where the backward pass recomputes
 * norms, and its backward kernel. A forward kernel that writes fewer bits moves fewer bytes
 * (ms_norm_share). */
void ms_cost_norm(ms_cost_builder *builder, unsigned parts) {
    const ms_shard *shard = &builder->shard;
    bool is_rms = builder->model->is_rms_norm;
    const char *name = is_rms ? "rms_norm" : "layer_norm";
    ms_work work = is_rms ? MS_WORK_RMS_NORM : MS_WORK_LAYER_NORM;
    if ((parts & MS_PART_FORWARD) || ms_repeats(builder, parts, MS_RECOMPUTE_NORMS)) {
        ms_cost_memory_work(builder, name, work, false, shard->plane * ms_norm_share(builder));
    }
    if (parts & MS_PART_INPUT) {
        ms_cost_memory_work(builder, "norm_backward", work, true, shard->plane);
    }
}

void ms_cost_opening_norm(ms_cost_builder *builder, unsigned parts) {
    builder->product.side = MS_SIDE_COLUMN;
    ms_cost_norm(builder, parts);
    builder->product.side = MS_SIDE_NONE;
}

/* Add the kernels that end a half of a layer. Forward: the norm of the half's result
 * (has_post_norms), then bias, dropout and residual. Gradient of the input: the dropout's, a kernel
 * that reads a gradient and the mask and writes a gradient; the sum of the gradients that arrive
 * through the half and past it; then the norm's. MS_PART_WEIGHT adds nothing. */
void ms_cost_residual(ms_cost_builder *builder, unsigned parts) {
    const ms_shard *shard = &builder->shard;
    double elements = shard->plane;
    double mask_B = builder->model->dropout > 0 ? elements : 0;
    bool has_norm = builder->model->parts.has_post_norms;
    if (has_norm && (parts & MS_PART_FORWARD)) {
        ms_cost_norm(builder, parts);
    }
    if (parts & MS_PART_FORWARD) {
        ms_cost_memory_work(builder, "residual",
                            mask_B > 0 ? MS_WORK_DROPPED_RESIDUAL : MS_WORK_RESIDUAL, false,
                            elements);
    }
    if (parts & MS_PART_INPUT) {
        if (mask_B > 0) {
            ms_cost_memory(builder, "dropout_backward", 2 * elements * shard->element_B + mask_B);
        }
        ms_cost_memory_work(builder, "residual_backward", MS_WORK_RESIDUAL, true, elements);
    }
    if (has_norm && !(parts & MS_PART_FORWARD)) {
        ms_cost_norm(builder, parts);
    }
}

void ms_cost_linear(ms_cost_builder *builder, unsigned parts, const ms_linear_names *names,
                    double in, double out) {
    ms_cost_linear_of(builder, parts, names, (ms_linear_size){builder->shard.tokens, in, out});
}

/* Columns of product i of a linear layer on this rank. A linear layer is one product, or several of
 * the same input side by side (product.apart): i = 0 has the columns that the others leave. */
static double columns_of(const ms_cost_builder *builder, ms_linear_size size, int i) {
    const ms_side_products *apart = &builder->product.apart;
    return i == 0 ? size.out - apart->more * apart->out : apart->out;
}

/* Add the sums of the input's gradients where a linear layer is several products. Each product
 * gives a gradient of the shared input. PyTorch's autograd adds each further one in a kernel that
 * reads two tensors and writes one; a compiled kernel behind the products reads each as it goes (1
 * pass). */
static void add_input_sum(ms_cost_builder *builder, ms_linear_size size) {
    double passes = builder->model->kernels == MS_KERNELS_COMPILED ? 1 : 3;
    for (int i = 0; i < builder->product.apart.more; i++) {
        ms_cost_memory(builder, "input_grad_sum",
                       passes * size.tokens * size.in * builder->shard.element_B);
    }
}

/* Add a linear layer (product with a weight). Forward: the cast of the input, the products. Input
 * gradient: the cast of the output's gradient, the products, the sum of their results. Weight
 * gradient: casts of the input, the products, the bias's gradient. There are casts where products
 * multiply in fewer bits (casts.c). */
void ms_cost_linear_of(ms_cost_builder *builder, unsigned parts, const ms_linear_names *names,
                       ms_linear_size size) {
    double tokens = size.tokens, in = size.in, out = size.out;
    int products = 1 + builder->product.apart.more;
    if (parts & MS_PART_FORWARD) {
        ms_cost_input_cast(builder, size);
        for (int i = 0; i < products; i++) {
            ms_cost_product(builder, names->forward,
                            (ms_gemm_shape){tokens, columns_of(builder, size, i), in, 1});
        }
    }
    if (parts & MS_PART_INPUT) {
        ms_cost_gradient_cast(builder, size);
        for (int i = 0; i < products; i++) {
            ms_cost_product(builder, names->input,
                            (ms_gemm_shape){tokens, in, columns_of(builder, size, i), 1});
        }
        add_input_sum(builder, size);
    }
    if (parts & MS_PART_WEIGHT) {
        ms_cost_input_columns(builder, size);
        for (int i = 0; i < products; i++) {
            ms_cost_weight_gradient(builder, names->weight,
                                    (ms_gemm_shape){columns_of(builder, size, i), in, tokens, 1});
        }
        if (names->bias != NULL && has_bias(builder) && !ms_sums_bias_in_cast(builder)) {
            /* column sums: the output's gradient is read once, the sums are small */
            ms_cost_memory(builder, names->bias, tokens * out * builder->shard.element_B);
        }
    }
}
