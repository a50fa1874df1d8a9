/* The dense MLP half of a transformer layer: norm, up product, activation, down product, residual.
 * `up` makes gate and value in gated MLPs. Each function adds its kernels for the MS_PART_ bits in
 * `parts`. */
#include "model/internal.h"

/* Add the activation: GELU (with its bias), or SwiGLU of gate and value. */
static void add_activation(ms_cost_builder *builder, unsigned parts) {
    double elements = builder->shard.tokens * builder->shard.ffn;
    bool is_gated = builder->model->is_gated;
    ms_work work = is_gated ? MS_WORK_SWIGLU : MS_WORK_GELU;
    if ((parts & MS_PART_FORWARD) || ms_repeats(builder, parts, MS_RECOMPUTE_ACTIVATIONS)) {
        ms_cost_memory_work(builder, is_gated ? "swiglu" : "gelu", work, false, elements);
    }
    if (parts & MS_PART_INPUT) {
        ms_cost_memory_work(builder, is_gated ? "swiglu_backward" : "gelu_backward", work, true,
                            elements);
    }
}

static const ms_linear_names UP = {"mlp_up", "mlp_up_input_grad", "mlp_up_weight_grad",
                                   "mlp_up_bias_grad"};
static const ms_linear_names DOWN = {"mlp_down", "mlp_down_input_grad", "mlp_down_weight_grad",
                                     "mlp_down_bias_grad"};

/* Add the up product. With MS_RECOMPUTE_PRODUCTS the backward pass repeats the half of it that
 * makes gate or value. */
static void add_up(ms_cost_builder *builder, unsigned parts) {
    const ms_shard *shard = &builder->shard;
    ms_cost_opening(builder, parts, &UP,
                    (ms_side_products){.more = builder->model->is_gated ? 1 : 0, .out = shard->ffn},
                    shard->up_width);
    if (ms_repeats(builder, parts, MS_RECOMPUTE_PRODUCTS)) {
        ms_cost_product(builder, UP.forward,
                        (ms_gemm_shape){shard->tokens, shard->ffn, shard->hidden, 1});
    }
}

/* Add the down product, whose partial sums tp ranks reduce. */
static void add_down(ms_cost_builder *builder, unsigned parts) {
    ms_cost_row(builder, parts, &DOWN, builder->shard.ffn, builder->shard.hidden);
}

void ms_cost_mlp_half(ms_cost_builder *builder, unsigned parts) {
    static const ms_operator OPERATORS[] = {ms_cost_opening_norm, add_up, add_activation, add_down,
                                            ms_cost_residual};
    ms_cost_operators(builder, parts, OPERATORS, sizeof OPERATORS / sizeof OPERATORS[0]);
}

/* Add the up product in a parallel block, without a gather of its own: attention gathers the input
 * of both branches. */
static void add_gathered_up(ms_cost_builder *builder, unsigned parts) {
    ms_cost_without_collectives(builder, parts, add_up);
}

void ms_cost_mlp_branch(ms_cost_builder *builder, unsigned parts) {
    static const ms_operator OPERATORS[] = {add_gathered_up, add_activation, add_down};
    ms_cost_operators(builder, parts, OPERATORS, sizeof OPERATORS / sizeof OPERATORS[0]);
}
