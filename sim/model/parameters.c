/* Counts parameters (of a layer, of the embedding, of the whole model), and the FLOP of one
 * sequence in a forward pass and in recomputation. Sizes in ms_shard give the counts of one tp
 * rank; with tp of 1 they are those of the model. */
#include <math.h>

#include "model/mla.h"
#include "model/moe.h"

/* Gains, and biases, of the norms of queries and keys on a rank [count]: those of one head, which
 * all heads share, or of every head (has_own_qk_gains). shard: may be NULL for shared gains. */
static double head_norm_parameters(const ms_model *model, const ms_shard *shard) {
    double width =
        model->parts.has_own_qk_gains ? shard->q_width + shard->kv_width : 2.0 * model->head_dim;
    return model->parts.has_qk_norms ? width / model->hidden * ms_norm_parameters(model) : 0;
}

/* Parameters of a layer's attention on a rank, without the layer's own norm [count]. */
static double attention_parameters(const ms_model *model, const ms_shard *shard) {
    if (ms_is_mla(model)) {
        return ms_mla_parameters(model, shard);
    }
    /* biases of row-parallel products are not split: every rank holds them */
    double biases = ms_has_bias(model, MS_BIAS_QKV) ? shard->qkv_width : 0;
    biases += ms_has_bias(model, MS_BIAS_ATTENTION_OUTPUT) ? shard->hidden : 0;
    return shard->hidden * (shard->qkv_width + shard->q_width) + biases +
           head_norm_parameters(model, shard);
}

/* Parameters of a layer's MLP on a rank; of experts, the router and the shared ones [count]. */
static double mlp_parameters(const ms_model *model, const ms_shard *shard, int layer) {
    if (ms_layer_is_moe(model, layer)) {
        return ms_moe_shared_parameters(model, shard);
    }
    double biases = ms_has_bias(model, MS_BIAS_MLP) ? shard->up_width + shard->hidden : 0;
    return shard->hidden * (shard->up_width + shard->ffn) + biases;
}

/* Norms of the hidden state in a layer [count]. */
static int layer_norms(const ms_model *model) {
    int before = model->has_parallel_block && !model->parts.has_branch_norms ? 1 : 2;
    return before + (model->parts.has_post_norms ? 2 : 0);
}

/* Parameters of a layer on one rank without its routed experts. */
double ms_layer_dense_parameters(const ms_model *model, const ms_shard *shard, int layer) {
    if (model->parameters_override > 0) {
        return model->parameters_override / (model->layers * shard->tp);
    }
    return attention_parameters(model, shard) + mlp_parameters(model, shard, layer) +
           layer_norms(model) * ms_norm_parameters(model);
}

double ms_layer_expert_parameters(const ms_model *model, const ms_model_layout *layout, int layer) {
    return ms_layer_is_moe(model, layer) ? ms_moe_expert_parameters(model, layout) : 0;
}

/* Parameters of a layer that every tp rank holds whole: norms, biases of row-parallel products,
 * products into latents, and routers with gates. */
double ms_layer_replicated_parameters(const ms_model *model, int layer) {
    bool is_moe = ms_layer_is_moe(model, layer);
    double biases = ms_has_bias(model, MS_BIAS_ATTENTION_OUTPUT) ? model->hidden : 0;
    biases += ms_has_bias(model, MS_BIAS_MLP) && !is_moe ? model->hidden : 0;
    double gates = (double)model->moe.experts + (model->moe.parts.has_shared_gate ? 1 : 0);
    double heads = model->parts.has_own_qk_gains ? 0 : head_norm_parameters(model, NULL);
    return layer_norms(model) * ms_norm_parameters(model) + biases +
           (ms_is_mla(model) ? ms_mla_replicated_parameters(model) : heads) +
           (is_moe ? gates * model->hidden : 0);
}

double ms_mtp_parameters(const ms_model *model) {
    return 2.0 * model->hidden * model->hidden + 3 * ms_norm_parameters(model);
}

/* Parameters of the word embedding, and of learned positions, on one rank. */
double ms_embedding_parameters(const ms_model *model, const ms_shard *shard) {
    if (model->vocab == 0 || model->parameters_override > 0) {
        return 0;
    }
    double positions = model->has_positions ? (double)model->sequence * model->hidden : 0;
    return shard->vocab * shard->hidden + positions;
}

/* Parameters of all layers and MTP modules on a rank [count]. whole: a layout without
 * parallelism. */
static double layer_sum(const ms_model *model, const ms_model_layout *whole,
                        const ms_shard *shard) {
    double sum = model->mtp_layers * ms_mtp_parameters(model);
    for (int layer = 0; layer < model->layers + model->mtp_layers; layer++) {
        sum += ms_layer_dense_parameters(model, shard, layer) +
               ms_layer_expert_parameters(model, whole, layer);
    }
    return sum;
}

/* Parameters of the whole model, counted as on a single rank, with the vocabulary as given instead
 * of padded. */
double ms_model_parameters(const ms_model *model) {
    ms_model_layout whole = {.tp = 1, .micro_batch = 1};
    ms_precision none = {.parameter_B = 0};
    ms_shard shard = ms_shard_of(model, &whole, &none);
    double layers = layer_sum(model, &whole, &shard);
    if (model->vocab == 0 || model->parameters_override > 0) {
        return layers;
    }
    shard.vocab = model->vocab;
    double head = model->has_tied_embeddings ? 0 : shard.vocab * shard.hidden;
    head += ms_has_bias(model, MS_BIAS_HEAD) ? shard.vocab : 0;
    return layers + ms_embedding_parameters(model, &shard) + head + ms_norm_parameters(model);
}

/* Parameters of the model part by part. The modules' share is what is missing in the same model
 * without modules. */
ms_parameter_parts ms_model_parameter_parts(const ms_model *model) {
    ms_model plain = *model;
    plain.mtp_layers = 0;
    double total = ms_model_parameters(model), active = ms_model_active_parameters(model);
    double matrix = (double)model->vocab * model->hidden;
    bool has_ends = model->parameters_override <= 0;
    return (ms_parameter_parts){.total = total,
                                .active = active,
                                .modules = total - ms_model_parameters(&plain),
                                .active_modules = active - ms_model_active_parameters(&plain),
                                .embedding = has_ends && model->vocab > 0 && model->has_positions
                                                 ? matrix + (double)model->sequence * model->hidden
                                             : has_ends ? matrix
                                                        : 0,
                                .head = has_ends ? matrix : 0};
}

/* Weights of the matrix products that one token passes through in a layer of the whole model
 * [count]; biases and norms are not counted. */
static double layer_weights(const ms_model *model, int layer) {
    double h = model->hidden;
    double q_width = (double)model->heads * model->head_dim;
    double kv_width = (double)model->kv_heads * model->head_dim;
    double attention = ms_is_mla(model) ? ms_mla_weights(model) : h * (2 * q_width + 2 * kv_width);
    double mlp = ms_layer_is_moe(model, layer) ? ms_moe_active_weights(model)
                                               : (model->is_gated ? 3.0 : 2.0) * h * model->ffn;
    return attention + mlp;
}

/* Parameters that one token meets: all but the routed experts that the token does not go to. */
double ms_model_active_parameters(const ms_model *model) {
    double sum = ms_model_parameters(model);
    const ms_model_layout whole = {.tp = 1};
    double expert =
        model->moe.experts > 0 ? ms_moe_expert_parameters(model, &whole) / model->moe.experts : 0;
    for (int layer = 0; layer < model->layers + model->mtp_layers; layer++) {
        bool is_moe = ms_layer_is_moe(model, layer);
        sum -= is_moe ? expert * (model->moe.experts - model->moe.top_k) : 0;
    }
    return sum;
}

int ms_layer_window(const ms_model *model, int layer) {
    int every = model->parts.window_skip_freq;
    return every > 0 && (layer + 1) % every == 0 ? 0 : model->window;
}

/* Share of the causal pairs that lie inside a window. With w = share * s: pairs in the window w s -
 * w^2 / 2 over the causal pairs s^2 / 2. */
double ms_window_share(int window, double sequence) {
    double share = window > 0 ? fmin(window / sequence, 1) : 1;
    return share * (2 - share);
}

/* FLOP of one sequence in one layer's attention core (scores and context), not halved for the
 * causal mask; a window leaves its share. */
static double core_flop(const ms_model *model, int layer) {
    double s = model->sequence;
    double dims =
        ms_is_mla(model) ? ms_mla_query_dim(model) + model->mla.v_dim : 2.0 * model->head_dim;
    double share = ms_window_share(ms_layer_window(model, layer), s);
    return 2 * s * s * share * model->heads * dims;
}

/* FLOP of the forward pass of one sequence that the backward pass repeats, over all layers: of a
 * layer recomputed as a whole all its FLOP, else those of recompute_parts and, under selective
 * recomputation, of the core. */
static double recomputed_flop(const ms_model *model, const ms_model_layout *layout) {
    double sum = 0, part = 0; /* part: of recompute_parts, in each layer */
    bool is_selective = layout->recompute == MS_RECOMPUTE_SELECTIVE;
    if (layout->recompute_parts & MS_RECOMPUTE_LATENT_UP) {
        part += 2.0 * model->sequence * ms_mla_up_weights(model);
    }
    if (layout->recompute_parts & MS_RECOMPUTE_PRODUCTS) {
        double q_width = (double)model->heads * model->head_dim;
        double kv_width = (double)model->kv_heads * model->head_dim;
        part += 2.0 * model->sequence * model->hidden * (kv_width + q_width + model->ffn);
    }
    int stages = layout->pp * layout->chunks, layer = 0;
    for (int stage = 0; stage < stages; stage++) {
        int modules = stage == stages - 1 ? model->mtp_layers : 0;
        for (int i = 0; i < layout->stage_layers[stage] + modules; i++, layer++) {
            double core = core_flop(model, layer);
            double whole = 2.0 * model->sequence * layer_weights(model, layer) + core;
            sum += ms_is_recomputed(layout, i) ? whole : part + (is_selective ? core : 0);
        }
    }
    return sum;
}

/* Set the FLOP of one sequence in the whole model. A product of s tokens with w weights is 2 s w
 * FLOP. */
void ms_count_flop(const ms_model *model, const ms_model_layout *layout, ms_stage_costs *costs) {
    double s = model->sequence, h = model->hidden;
    int count = model->layers + model->mtp_layers;
    double weights = 0, attention = 0;
    for (int layer = 0; layer < count; layer++) {
        weights += layer_weights(model, layer);
        attention += core_flop(model, layer);
    }
    costs->attention_flop = attention;
    double layers = 2 * s * weights + costs->attention_flop;
    /* a module merges two hidden states into one and has the head's product again */
    double modules = model->mtp_layers * (2 * s * 2 * h * h + 2 * s * h * model->vocab);
    costs->forward_flop = layers + 2 * s * h * model->vocab + modules;
    costs->recompute_flop = recomputed_flop(model, layout);
}
