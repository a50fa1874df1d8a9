/* The attention half of a transformer layer: norm, q/k/v product, attention, output product,
 * residual. */
#include <stdio.h>

#include "model/internal.h"

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

void ms_cost_attention_half(ms_cost_builder *builder, unsigned parts) {
    static const ms_linear_names QKV = {"qkv", "qkv_input_grad", "qkv_weight_grad",
                                        "qkv_bias_grad"};
    static const ms_linear_names OUTPUT = {"attention_output", "attention_output_input_grad",
                                           "attention_output_weight_grad",
                                           "attention_output_bias_grad"};
    const ms_shard *shard = &builder->shard;
    ms_cost_norm(builder, parts);
    ms_cost_linear(builder, parts, &QKV, shard->hidden, shard->qkv_width);
    add_rotary(builder, parts);
    add_attention(builder, parts);
    ms_cost_linear(builder, parts, &OUTPUT, shard->q_width, shard->hidden);
    ms_cost_residual(builder, parts);
}
