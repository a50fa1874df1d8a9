#include <math.h>

#include "model/internal.h"

double ms_padded_vocab(int vocab, int tp) {
    double step = 128.0 * tp;
    return ceil(vocab / step) * step;
}

/* Key and value heads on one rank: an equal share, or one copy each where ranks outnumber them. */
static double local_kv_heads(const ms_model *model, int tp) {
    return model->kv_heads >= tp ? (double)model->kv_heads / tp : 1;
}

bool ms_is_recomputed(const ms_model_layout *layout, int position) {
    return layout->recompute == MS_RECOMPUTE_FULL &&
           (layout->recompute_layers == 0 || position < layout->recompute_layers);
}

ms_shard ms_shard_of(const ms_model *model, const ms_model_layout *layout,
                     const ms_precision *precision) {
    double tp = layout->tp;
    ms_shard shard = {.tp = tp,
                      .batch = layout->micro_batch,
                      .sequence = model->sequence,
                      .cp = layout->cp > 1 ? layout->cp : 1,
                      .tokens = (double)layout->micro_batch * model->sequence,
                      .hidden = model->hidden,
                      .heads = model->heads / tp,
                      .kv_heads = local_kv_heads(model, layout->tp),
                      .head_dim = model->head_dim,
                      .ffn = model->ffn / tp,
                      .vocab = ms_padded_vocab(model->vocab, layout->tp) / tp,
                      .element_B = precision->parameter_B,
                      .accumulation_B = precision->gradient_B};
    shard.tokens /= shard.cp;
    shard.plane = shard.tokens * shard.hidden / (layout->has_sequence_parallel ? tp : 1);
    shard.q_width = shard.heads * shard.head_dim;
    shard.kv_width = shard.kv_heads * shard.head_dim;
    shard.qkv_width = shard.q_width + 2 * shard.kv_width;
    shard.up_width = model->is_gated ? 2 * shard.ffn : shard.ffn;
    return shard;
}

double ms_norm_parameters(const ms_model *model) {
    if (model->is_plain_norm) {
        return 0;
    }
    return model->is_rms_norm ? model->hidden : 2.0 * model->hidden;
}

double ms_layer_parameters(const ms_model *model, const ms_shard *shard) {
    double h = shard->hidden;
    double weights = h * (shard->qkv_width + shard->q_width + shard->up_width + shard->ffn);
    /* biases of row-parallel products are not split: every rank holds them */
    double biases = model->has_bias ? shard->qkv_width + shard->up_width + 2 * h : 0;
    return weights + biases + 2 * ms_norm_parameters(model);
}

double ms_embedding_parameters(const ms_model *model, const ms_shard *shard) {
    if (model->vocab == 0) {
        return 0;
    }
    double positions = model->has_positions ? (double)model->sequence * model->hidden : 0;
    return shard->vocab * shard->hidden + positions;
}

double ms_model_parameters(const ms_model *model) {
    ms_model_layout whole = {.tp = 1, .micro_batch = 1};
    ms_precision none = {0, 0, 0};
    ms_shard shard = ms_shard_of(model, &whole, &none);
    double layers = model->layers * ms_layer_parameters(model, &shard);
    if (model->vocab == 0) {
        return layers;
    }
    shard.vocab = model->vocab;
    double head = model->has_tied_embeddings ? 0 : shard.vocab * shard.hidden;
    return layers + ms_embedding_parameters(model, &shard) + head + ms_norm_parameters(model);
}

void ms_count_flop(const ms_model *model, ms_recompute recompute, ms_stage_costs *costs) {
    double s = model->sequence, h = model->hidden;
    double q_width = (double)model->heads * model->head_dim;
    double kv_width = (double)model->kv_heads * model->head_dim;
    double mlp = (model->is_gated ? 3.0 : 2.0) * h * model->ffn;
    double weights = h * (2 * q_width + 2 * kv_width) + mlp;
    costs->attention_flop = model->layers * 4 * s * s * q_width;
    double layers = model->layers * 2 * s * weights + costs->attention_flop;
    costs->forward_flop = layers + 2 * s * h * model->vocab;
    costs->recompute_flop = recompute == MS_RECOMPUTE_FULL ? layers : 0;
}

double ms_stage_parameters(const ms_cost_builder *builder, ms_stage_content content) {
    const ms_model *model = builder->model;
    const ms_shard *shard = &builder->shard;
    double parameters = content.layers * ms_layer_parameters(model, shard);
    if (content.is_first) {
        parameters += ms_embedding_parameters(model, shard);
    }
    if (content.is_last && model->vocab > 0) {
        bool has_own_table = !model->has_tied_embeddings || builder->layout->pp > 1;
        parameters +=
            ms_norm_parameters(model) + (has_own_table ? shard->vocab * shard->hidden : 0);
    }
    return parameters;
}
