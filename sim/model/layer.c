/* The kernels of one transformer layer, as Megatron-LM without sequence parallelism runs them on
 * one tensor-parallel rank: norms, dropout and residuals work on all n*h elements of every rank,
 * the matrix products and the attention on 1/tp of the columns or heads.
 *
 * Bytes of memory-bound kernels: e bytes per activation element (element_B), one byte per element
 * of a dropout mask. Source: the order of operations of Megatron-LM's ParallelTransformerLayer
 * (Shoeybi et al. 2019, arXiv:1909.08053, figure 4; Narayanan et al., SC'21, section 2.3); byte
 * counts derived here from what each kernel has to read and write once.
 */
#include <stdio.h>

#include "model/internal.h"

static void add_norm(ms_cost_builder *builder, unsigned parts) {
    const ms_shard *shard = &builder->shard;
    double plane_B = shard->tokens * shard->hidden * shard->element_B;
    const char *name = builder->model->is_rms_norm ? "rms_norm" : "layer_norm";
    if (parts & MS_PART_FORWARD) {
        ms_cost_memory(builder, name, 2 * plane_B); /* x in, y out */
    }
    if (parts & MS_PART_INPUT) {
        /* x and dy in, dx out; the gain's (and bias's) gradient reads x and dy once more */
        ms_cost_memory(builder, "norm_backward", 5 * plane_B);
    }
}

/* Bias, dropout and residual in one kernel forward; backward dropout, and the sum of the gradients
 * that arrive by the branch and by the residual. */
static void add_residual(ms_cost_builder *builder, unsigned parts) {
    const ms_shard *shard = &builder->shard;
    double elements = shard->tokens * shard->hidden;
    double mask_B = builder->model->dropout > 0 ? elements : 0;
    if (parts & MS_PART_FORWARD) {
        ms_cost_memory(builder, "residual", 3 * elements * shard->element_B + mask_B);
    }
    if (parts & MS_PART_INPUT) {
        if (mask_B > 0) {
            ms_cost_memory(builder, "dropout_backward", 2 * elements * shard->element_B + mask_B);
        }
        ms_cost_memory(builder, "residual_backward", 3 * elements * shard->element_B);
    }
}

typedef struct linear_names {
    const char *forward, *input, *weight, *bias;
} linear_names;

/* A linear layer of n tokens, `in` to `out` columns on this rank. */
static void add_linear(ms_cost_builder *builder, unsigned parts, const linear_names *names,
                       double in, double out) {
    double tokens = builder->shard.tokens;
    if (parts & MS_PART_FORWARD) {
        ms_cost_gemm(builder, names->forward, (ms_gemm_shape){tokens, out, in, 1});
    }
    if (parts & MS_PART_INPUT) {
        ms_cost_gemm(builder, names->input, (ms_gemm_shape){tokens, in, out, 1});
    }
    if (parts & MS_PART_WEIGHT) {
        ms_cost_weight_gradient(builder, names->weight, (ms_gemm_shape){out, in, tokens, 1});
        if (builder->model->has_bias) { /* column sums of the output's gradient */
            ms_cost_memory(builder, names->bias, tokens * out * builder->shard.element_B);
        }
    }
}

/* Rotary embedding of queries and keys: both in and out, and its inverse backward. */
static void add_rotary(ms_cost_builder *builder, unsigned parts) {
    const ms_shard *shard = &builder->shard;
    if (!builder->model->has_positions && (parts & (MS_PART_FORWARD | MS_PART_INPUT))) {
        ms_cost_memory(builder, "rotary",
                       2 * shard->tokens * (shard->q_width + shard->kv_width) * shard->element_B);
    }
}

/* Efficiency of a fused attention kernel at a problem's size: SMs that run out of blocks wait for
 * the last ones, which under a causal mask are the longest. `tail`: share of such a block's time
 * lost. Source: work split of Dao, FlashAttention-2, arXiv:2307.08691, section 3.2, 128 rows a
 * block; tail fitted to 12 shapes each way measured on an A100 PCIe (SimuMax, system file
 * a100_pcie): mean absolute error 5 % forward, 8 % backward. */
static double flash_efficiency(const ms_cost_builder *builder, double best, double tail) {
    const double BLOCK_ROWS = 128;
    const ms_shard *shard = &builder->shard;
    double blocks = shard->batch * shard->heads * shard->sequence / 2 / BLOCK_ROWS; /* full ones */
    return best * blocks / (blocks + tail * (builder->gpu->sms - 1));
}

static const double FLASH_TAIL = 0.75, FLASH_BACKWARD_TAIL = 0.15;

/* Fused attention.  A causal mask lets it skip half of the score matrix; backward it computes five
 * products where forward has two.
 * Source: Dao, FlashAttention-2, arXiv:2307.08691, section 4.1 (causal: divided by 2; backward: 2.5
 * times forward). */
static void add_flash(ms_cost_builder *builder, unsigned parts) {
    const ms_shard *shard = &builder->shard;
    const ms_gpu_type *gpu = builder->gpu;
    double flop = 2 * shard->batch * shard->heads * shard->sequence * shard->sequence *
                  shard->head_dim; /* two products of 2 s^2 d, half of each */
    double io_B = shard->tokens * (shard->q_width * 2 + shard->kv_width * 2) * shard->element_B;
    char shape[80];
    snprintf(shape, sizeof shape, "b%.0f s%.0f a%.0f kv%.0f d%.0f", shard->batch, shard->sequence,
             shard->heads, shard->kv_heads, shard->head_dim);
    if (parts & MS_PART_FORWARD) {
        double efficiency = flash_efficiency(builder, gpu->attention_efficiency, FLASH_TAIL);
        ms_cost_fused(
            builder, "attention",
            (ms_fused_work){.flop = flop, .bytes = io_B, .efficiency = efficiency, .shape = shape});
    }
    if (parts & MS_PART_INPUT) { /* q, k, v, out, dout in; dq, dk, dv out */
        double efficiency =
            flash_efficiency(builder, gpu->attention_backward_efficiency, FLASH_BACKWARD_TAIL);
        ms_cost_fused(
            builder, "attention_backward",
            (ms_fused_work){
                .flop = 2.5 * flop, .bytes = 2 * io_B, .efficiency = efficiency, .shape = shape});
    }
}

/* Attention by batched products over the full score matrix. */
static void add_plain_attention(ms_cost_builder *builder, unsigned parts) {
    const ms_shard *shard = &builder->shard;
    double s = shard->sequence, d = shard->head_dim, batch = shard->batch * shard->heads;
    double scores = batch * s * s, e = shard->element_B;
    bool has_dropout = builder->model->dropout > 0;
    if (parts & MS_PART_FORWARD) {
        ms_cost_gemm(builder, "attention_scores", (ms_gemm_shape){s, s, d, batch});
        ms_cost_memory(builder, "softmax", 2 * scores * e); /* scale, mask and softmax fused */
        if (has_dropout) {
            ms_cost_memory(builder, "attention_dropout", scores * (2 * e + 1));
        }
        ms_cost_gemm(builder, "attention_context", (ms_gemm_shape){s, d, s, batch});
        /* heads back beside each other */
        ms_cost_memory(builder, "attention_transpose", 2 * shard->tokens * shard->q_width * e);
    }
    if (parts & MS_PART_INPUT) {
        ms_cost_memory(builder, "attention_transpose", 2 * shard->tokens * shard->q_width * e);
        ms_cost_gemm(builder, "attention_scores", (ms_gemm_shape){s, s, d, batch});  /* dP */
        ms_cost_gemm(builder, "attention_context", (ms_gemm_shape){s, d, s, batch}); /* dV */
        if (has_dropout) {
            ms_cost_memory(builder, "attention_dropout", scores * (2 * e + 1));
        }
        ms_cost_memory(builder, "softmax_backward", 3 * scores * e); /* P, dP in; dS out */
        ms_cost_gemm(builder, "attention_context", (ms_gemm_shape){s, d, s, batch}); /* dQ */
        ms_cost_gemm(builder, "attention_context", (ms_gemm_shape){s, d, s, batch}); /* dK */
        /* dq, dk, dv into one matrix */
        ms_cost_memory(builder, "qkv_concat", 2 * shard->tokens * shard->qkv_width * e);
    }
}

static void add_attention(ms_cost_builder *builder, unsigned parts) {
    if (builder->model->has_flash_attention) {
        add_flash(builder, parts);
    } else {
        add_plain_attention(builder, parts);
    }
}

static void add_attention_half(ms_cost_builder *builder, unsigned parts) {
    static const linear_names QKV = {"qkv", "qkv_input_grad", "qkv_weight_grad", "qkv_bias_grad"};
    static const linear_names OUTPUT = {"attention_output", "attention_output_input_grad",
                                        "attention_output_weight_grad",
                                        "attention_output_bias_grad"};
    const ms_shard *shard = &builder->shard;
    ms_cost_compute(builder);
    add_norm(builder, parts);
    add_linear(builder, parts, &QKV, shard->hidden, shard->qkv_width);
    add_rotary(builder, parts);
    add_attention(builder, parts);
    add_linear(builder, parts, &OUTPUT, shard->q_width, shard->hidden);
    add_residual(builder, parts);
}

/* GELU (with its bias): x in, y out; backward x, dy in, dx out.  SwiGLU: gate and up in, y out;
 * backward both and dy in, both gradients out. */
static void add_activation(ms_cost_builder *builder, unsigned parts) {
    double plane_B = builder->shard.tokens * builder->shard.ffn * builder->shard.element_B;
    bool is_gated = builder->model->is_gated;
    if (parts & MS_PART_FORWARD) {
        ms_cost_memory(builder, is_gated ? "swiglu" : "gelu", (is_gated ? 3 : 2) * plane_B);
    }
    if (parts & MS_PART_INPUT) {
        ms_cost_memory(builder, is_gated ? "swiglu_backward" : "gelu_backward",
                       (is_gated ? 5 : 3) * plane_B);
    }
}

static void add_mlp_half(ms_cost_builder *builder, unsigned parts) {
    static const linear_names UP = {"mlp_up", "mlp_up_input_grad", "mlp_up_weight_grad",
                                    "mlp_up_bias_grad"};
    static const linear_names DOWN = {"mlp_down", "mlp_down_input_grad", "mlp_down_weight_grad",
                                      "mlp_down_bias_grad"};
    const ms_shard *shard = &builder->shard;
    ms_cost_compute(builder);
    add_norm(builder, parts);
    add_linear(builder, parts, &UP, shard->hidden, shard->up_width);
    add_activation(builder, parts);
    add_linear(builder, parts, &DOWN, shard->ffn, shard->hidden);
    add_residual(builder, parts);
}

/* Forward: each half ends in the all-reduce of its row-parallel product. */
static void add_forward(ms_cost_builder *builder) {
    const ms_shard *shard = &builder->shard;
    double plane_B = shard->tokens * shard->hidden * shard->element_B;
    add_attention_half(builder, MS_PART_FORWARD);
    ms_cost_collective(builder, MS_COLL_ALL_REDUCE, plane_B);
    add_mlp_half(builder, MS_PART_FORWARD);
    ms_cost_collective(builder, MS_COLL_ALL_REDUCE, plane_B);
}

/* Backward: each half ends in the all-reduce of its column-parallel input's gradient. A half's norm
 * and residual stand in the half's own segment although they run after that all-reduce: the sum is
 * the same, and the all-reduce blocks either way. */
static void add_backward(ms_cost_builder *builder, unsigned parts) {
    const ms_shard *shard = &builder->shard;
    double plane_B = shard->tokens * shard->hidden * shard->element_B;
    add_mlp_half(builder, parts);
    if (parts & MS_PART_INPUT) {
        ms_cost_collective(builder, MS_COLL_ALL_REDUCE, plane_B);
    }
    add_attention_half(builder, parts);
    if (parts & MS_PART_INPUT) {
        ms_cost_collective(builder, MS_COLL_ALL_REDUCE, plane_B);
    }
}

static void build_layer(ms_cost_builder *builder, ms_pass pass) {
    if (pass == MS_PASS_F) {
        add_forward(builder);
        return;
    }
    if (pass == MS_PASS_W) {
        add_backward(builder, MS_PART_WEIGHT);
        return;
    }
    if (builder->layout->recompute == MS_RECOMPUTE_FULL) {
        builder->is_recompute = true;
        add_forward(builder);
        builder->is_recompute = false;
    }
    add_backward(builder, pass == MS_PASS_B ? MS_PART_INPUT | MS_PART_WEIGHT : MS_PART_INPUT);
}

void ms_cost_layer(ms_cost_builder *builder, int layer, ms_pass pass) {
    ms_pass_plan *plan = &builder->layer_plan[pass];
    if (plan->count > 0) {
        ms_cost_repeat(builder, *plan, layer);
        return;
    }
    plan->first = (int)builder->segments.count;
    builder->layer = layer;
    build_layer(builder, pass);
    builder->layer = -1;
    plan->count = (int)builder->segments.count - plan->first;
}
