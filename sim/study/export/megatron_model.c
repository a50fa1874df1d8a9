/* The model in Megatron-LM's arguments: what study/import/megatron_model.c reads. */
#include <string.h>

#include "study/export/megatron.h"

/* ---- sizes ---- */

static void say_heads(ms_megatron_export *x, const ms_model *model) {
    bool is_usual_dim =
        model->mla.kv_rank > 0
            ? model->head_dim == model->mla.qk_nope + model->mla.qk_rope
            : model->hidden % model->heads == 0 && model->head_dim == model->hidden / model->heads;
    ms_megatron_say(x, "--num-attention-heads", "%d", model->heads);
    if (model->kv_heads != model->heads) {
        ms_megatron_say_if(x, "--group-query-attention", true);
        ms_megatron_say(x, "--num-query-groups", "%d", model->kv_heads);
    }
    if (!is_usual_dim) {
        ms_megatron_say(x, "--kv-channels", "%d", model->head_dim);
    }
}

static void say_sizes(ms_megatron_export *x, const ms_model *model) {
    ms_megatron_say(x, "--num-layers", "%d", model->layers);
    ms_megatron_say(x, "--hidden-size", "%d", model->hidden);
    ms_megatron_say(x, "--ffn-hidden-size", "%d", model->ffn);
    say_heads(x, model);
    ms_megatron_say(x, "--seq-length", "%d", model->sequence);
    ms_megatron_say(x, "--max-position-embeddings", "%d", model->sequence);
    if (model->vocab > 0) {
        ms_megatron_say(x, "--vocab-size", "%d", x->source->job->spec.model.vocab);
    }
    ms_megatron_say_count(x, "--mtp-num-layers", model->mtp_layers, 0);
}

/* ---- how it is made ---- */

static void say_parts(ms_megatron_export *x, const ms_model *model) {
    bool has_latent = model->mla.kv_rank > 0;
    bool has_qkv = (model->parts.biases & MS_BIAS_QKV) != 0 && !model->has_bias && !has_latent;
    ms_megatron_say(x, "--normalization", "%s", model->is_rms_norm ? "RMSNorm" : "LayerNorm");
    ms_megatron_say(x, "--position-embedding-type", "%s",
                    model->has_positions ? "learned_absolute" : "rope");
    ms_megatron_say_if(x, "--swiglu", model->is_gated);
    ms_megatron_say_if(x, "--disable-bias-linear", !model->has_bias);
    ms_megatron_say_if(x, "--add-qkv-bias", has_qkv);
    ms_megatron_say_if(x, "--qk-layernorm", model->parts.has_qk_norms && !has_latent);
    ms_megatron_say(x, "--hidden-dropout", "%.15g", model->dropout);
    ms_megatron_say(x, "--attention-dropout", "%.15g", model->dropout);
    if (model->window > 1) {
        ms_megatron_say(x, "--window-size", "%d,0", model->window - 1);
        ms_megatron_say_count(x, "--window-attn-skip-freq", model->parts.window_skip_freq, 0);
    }
    if (has_latent) {
        ms_megatron_say_if(x, "--multi-latent-attention", true);
        ms_megatron_say_pairs(x, MS_MEGATRON_LATENT_PAIRS);
    }
    ms_megatron_say_pairs(x, MS_MEGATRON_MODEL_PAIRS);
}

/* Megatron-LM's own layers attend over the score matrix, which they keep; Transformer Engine's
 * where asked to. Experts' layers have the engine's products beside either. */
static void say_kernels(ms_megatron_export *x, const ms_model *model) {
    const ms_framework_memory *memory = &x->spec->framework_memory;
    bool has_scores = (memory->buffers & MS_BUFFER_SCORES) != 0;
    bool is_local =
        memory->libraries == MS_LIBRARIES_TORCH || (has_scores && model->moe.experts > 0);
    bool is_te_loss = model->loss == MS_LOSS_TRANSFORMER_ENGINE;
    bool is_unfused = model->attention == MS_ATTENTION_UNFUSED;
    if (is_local) {
        ms_megatron_say(x, "--transformer-impl", "local");
        ms_megatron_say_if(x, "--use-flash-attn", !is_unfused);
    } else if (is_unfused) {
        ms_megatron_say(x, "--attention-backend", "unfused");
    }
    ms_megatron_say_if(x, "--cross-entropy-loss-fusion",
                       is_te_loss || model->loss == MS_LOSS_COMPILED);
    if (is_te_loss) {
        ms_megatron_say(x, "--cross-entropy-fusion-impl", "te");
    }
}

void ms_megatron_say_model(ms_megatron_export *x) {
    const ms_model *model = &x->spec->model;
    say_sizes(x, model);
    say_parts(x, model);
    say_kernels(x, model);
}

/* ---- experts ---- */

/* Which layers have experts, as a list expression: "([0]*3+[1]*58)". */
static void say_frequency(ms_megatron_export *x, const ms_model *model) {
    ms_buffer list;
    bool has_dense = false;
    ms_buffer_init(&list);
    for (int from = 0, to = 0; from < model->layers; from = to) {
        bool is_one = ms_layer_is_moe(model, from);
        while (to < model->layers && ms_layer_is_moe(model, to) == is_one) {
            to++;
        }
        has_dense = has_dense || !is_one;
        ms_buffer_printf(&list, "%s[%d]*%d", from == 0 ? "" : "+", is_one, to - from);
    }
    if (has_dense) {
        ms_megatron_say(x, "--moe-layer-freq", "(%s)", ms_buffer_text(&list));
    }
    x->lines.failed = x->lines.failed || list.failed;
    ms_buffer_release(&list);
}

void ms_megatron_say_experts(ms_megatron_export *x) {
    const ms_model *model = &x->spec->model;
    const ms_moe *moe = &model->moe;
    if (moe->experts == 0) {
        return;
    }
    ms_megatron_say(x, "--num-experts", "%d", moe->experts);
    ms_megatron_say_pairs(x, MS_MEGATRON_EXPERT_PAIRS);
    say_frequency(x, model);
    if (moe->shared_experts > 0) {
        ms_megatron_say(x, "--moe-shared-expert-intermediate-size", "%ld",
                        (long)moe->shared_experts * moe->shared_ffn);
        ms_megatron_say_if(x, "--moe-shared-expert-overlap", moe->overlap == MS_MOE_OVERLAP_SHARED);
    }
    if (moe->capacity_factor > 0) {
        ms_megatron_say(x, "--moe-expert-capacity-factor", "%.15g", moe->capacity_factor);
        ms_megatron_say_if(x, "--moe-pad-expert-input-to-capacity", moe->has_padding);
    }
    ms_megatron_say_if(x, "--moe-grouped-gemm",
                       (x->spec->framework_memory.buffers & MS_BUFFER_GROUPED_PRODUCTS) != 0);
}
