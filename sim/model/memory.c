#include <math.h>

#include "model/internal.h"

/* Bytes per token that the attention itself keeps, between q, k, v and its output.
 * Full matrix: the softmax's result, and with dropout its mask and its result, per head and key.
 * Fused: maximum and sum of each row as one fp32 (their log-sum-exp). */
static double attention_core_B(const ms_model *model, const ms_shard *shard) {
    if (model->has_flash_attention) {
        return shard->heads * 4;
    }
    double per_score = model->dropout > 0 ? 2 * shard->element_B + 1 : shard->element_B;
    return per_score * shard->heads * shard->sequence;
}

/* Source: Korthikanti et al. 2022, arXiv:2205.05198, section 4.1, tensor by tensor; their
 * sbh(10 + 24/t + 5as/(ht)) is the case of 2-byte elements, dropout, full attention, ffn 4h, tp t.
 */
double ms_layer_activation_B(const ms_model *model, const ms_shard *shard) {
    double e = shard->element_B, h = shard->hidden;
    double mask = model->dropout > 0 ? h : 0;
    double attention = e * h                  /* input of the norm */
                       + e * h                /* input of the qkv product */
                       + e * shard->qkv_width /* q, k, v */
                       + attention_core_B(model, shard) +
                       e * shard->q_width /* input of the output projection */
                       + mask;
    double mlp = e * h                 /* input of the norm */
                 + e * h               /* input of the first product */
                 + e * shard->up_width /* input of the activation */
                 + e * shard->ffn      /* input of the second product */
                 + mask;
    return shard->tokens * (attention + mlp);
}

/* Kept from a microbatch's forward to its backward pass. */
static double kept_B(const ms_cost_builder *builder, ms_stage_content content) {
    const ms_model *model = builder->model;
    const ms_shard *shard = &builder->shard;
    double plane_B = shard->tokens * shard->hidden * shard->element_B;
    bool is_full = builder->layout->recompute == MS_RECOMPUTE_FULL;
    double kept = content.layers * (is_full ? plane_B : ms_layer_activation_B(model, shard));
    if (model->vocab == 0) {
        return kept;
    }
    if (content.is_first && model->dropout > 0) {
        kept += shard->tokens * shard->hidden; /* the embedding dropout's mask */
    }
    if (content.is_last) {
        /* inputs of the final norm and of the head; probabilities in fp32 */
        kept += 2 * plane_B + 4 * shard->tokens * shard->vocab;
    }
    return kept;
}

/* Largest that exists only during a pass: a recomputed layer, the widest gradients of a backward
 * pass, or the logits with their fp32 gradient; and what the stage receives and sends. */
static double working_B(const ms_cost_builder *builder, ms_stage_content content) {
    const ms_model *model = builder->model;
    const ms_shard *shard = &builder->shard;
    double e = shard->element_B;
    double plane_B = shard->tokens * shard->hidden * e;
    double layer_B = 0, head_B = 0;
    if (content.layers > 0) {
        double mlp_B = shard->tokens * (shard->up_width + shard->ffn) * e;
        double scores_B =
            model->has_flash_attention ? 0 : 2 * e * shard->tokens * shard->heads * shard->sequence;
        layer_B = fmax(mlp_B, scores_B) + 2 * plane_B;
        if (builder->layout->recompute == MS_RECOMPUTE_FULL) {
            layer_B += ms_layer_activation_B(model, shard);
        }
    }
    if (content.is_last && model->vocab > 0) {
        head_B = shard->tokens * shard->vocab * (e + 4);
    }
    bool has_neighbour = !(content.is_first && content.is_last);
    return fmax(layer_B, head_B) + (has_neighbour ? 2 * plane_B : 0);
}

ms_stage_memory ms_stage_memory_of(const ms_cost_builder *builder, ms_stage_content content) {
    const ms_precision *precision = builder->precision;
    const ms_model_layout *layout = builder->layout;
    double parameters = ms_stage_parameters(builder, content);
    double optimizer_B = precision->optimizer_B / (layout->zero >= 1 ? layout->dp : 1);
    double layer_parameters = content.layers * ms_layer_parameters(builder->model, &builder->shard);
    return (ms_stage_memory){.parameter_B = parameters * precision->parameter_B,
                             .gradient_B = parameters * precision->gradient_B,
                             .optimizer_B = parameters * optimizer_B,
                             .activation_B = kept_B(builder, content),
                             .working_B = working_B(builder, content),
                             .transformer_B =
                                 layer_parameters *
                                 (precision->parameter_B + precision->gradient_B + optimizer_B)};
}
