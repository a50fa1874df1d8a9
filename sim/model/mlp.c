/* The dense MLP half of a transformer layer: norm, up product, activation, down product,
 * residual. */
#include "model/internal.h"

/* GELU (with its bias): x in, y out; backward x, dy in, dx out.  SwiGLU: gate and up in, y out;
 * backward both and dy in, both gradients out. */
static void add_activation(ms_cost_builder *builder, unsigned parts) {
    double plane_B = builder->shard.tokens * builder->shard.ffn * builder->shard.element_B;
    bool is_gated = builder->model->is_gated;
    if ((parts & MS_PART_FORWARD) || ms_repeats(builder, parts, MS_RECOMPUTE_ACTIVATIONS)) {
        ms_cost_memory(builder, is_gated ? "swiglu" : "gelu", (is_gated ? 3 : 2) * plane_B);
    }
    if (parts & MS_PART_INPUT) {
        ms_cost_memory(builder, is_gated ? "swiglu_backward" : "gelu_backward",
                       (is_gated ? 5 : 3) * plane_B);
    }
}

static const ms_linear_names UP = {"mlp_up", "mlp_up_input_grad", "mlp_up_weight_grad",
                                   "mlp_up_bias_grad"};
static const ms_linear_names DOWN = {"mlp_down", "mlp_down_input_grad", "mlp_down_weight_grad",
                                     "mlp_down_bias_grad"};

static void add_up(ms_cost_builder *builder, unsigned parts) {
    const ms_shard *shard = &builder->shard;
    ms_cost_column(builder, parts, &UP, shard->hidden, shard->up_width);
    if (ms_repeats(builder, parts, MS_RECOMPUTE_PRODUCTS)) { /* gate or value */
        ms_cost_gemm(builder, UP.forward,
                     (ms_gemm_shape){shard->tokens, shard->ffn, shard->hidden, 1});
    }
}

static void add_down(ms_cost_builder *builder, unsigned parts) {
    ms_cost_row(builder, parts, &DOWN, builder->shard.ffn, builder->shard.hidden);
}

void ms_cost_mlp_half(ms_cost_builder *builder, unsigned parts) {
    static const ms_piece PIECES[] = {ms_cost_norm, add_up, add_activation, add_down,
                                      ms_cost_residual};
    ms_cost_pieces(builder, parts, PIECES, sizeof PIECES / sizeof PIECES[0]);
}
