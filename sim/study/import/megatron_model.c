/* The model of Megatron-LM's arguments.
 * Source of names, defaults and what follows from what: Megatron-LM, megatron.training.arguments
 * (validate_args), megatron.training.tokenizer (_vocab_size_with_padding),
 * megatron.core.models.gpt.gpt_layer_specs (moe_layer_freq). */
#include <stdio.h>
#include <string.h>

#include "meshsim/model.h"
#include "study/import/megatron_parts.h"

/* Dropout and padding where none is given. */
static const double USUAL_DROPOUT = 0.1;
enum { USUAL_DIVISOR = 128, LAYERS_MAX = 100000, VOCAB_MAX = 10000000 };

/* Inner size of a gated MLP that none is given for: 4 h over two matrices in the place of one, a
 * multiple of 64. */
static long usual_ffn(long hidden, bool is_swiglu) {
    return is_swiglu ? 4 * hidden * 2 / 3 / 64 * 64 : 4 * hidden;
}

/* A size that a model cannot do without. */
static int require(ms_megatron_run *run, const char *key, const char *name) {
    int size = ms_megatron_count(run, name, 1, 0);
    if (size > 0) {
        ms_megatron_set(run, key, name, "%d", size);
    } else if (!ms_megatron_given(run, name)) {
        ms_megatron_require(run, key, name);
    }
    return size;
}

/* ---- sizes ---- */

/* The name of the argument that says the layers: models of encoders had another. */
static const char *layers_name(ms_megatron_run *run) {
    return !ms_megatron_given(run, "--num-layers") && ms_megatron_given(run, "--encoder-num-layers")
               ? "--encoder-num-layers"
               : "--num-layers";
}

static void set_heads(ms_megatron_run *run, int hidden) {
    int heads = require(run, "model.heads", "--num-attention-heads");
    bool is_grouped = ms_megatron_given(run, "--group-query-attention");
    if (is_grouped) {
        ms_megatron_set(run, "model.kv_heads", "--group-query-attention --num-query-groups", "%d",
                        ms_megatron_count(run, "--num-query-groups", 1, 1));
    }
    static const char KV_HEADS[] = "--num-key-value-heads"; /* of Megatron-DeepSpeed */
    if (!is_grouped && ms_megatron_given(run, KV_HEADS)) {
        ms_megatron_set(run, "model.kv_heads", KV_HEADS, "%d",
                        ms_megatron_count(run, KV_HEADS, 1, 1));
    }
    int channels = ms_megatron_count(run, "--kv-channels", 1, 0);
    if (channels > 0) {
        ms_megatron_set(run, "model.head_dim", "--kv-channels", "%d", channels);
    } else if (heads > 0 && hidden % heads != 0) {
        ms_megatron_fault(run, "--num-attention-heads",
                          "expected a divisor of --hidden-size %d, or --kv-channels, got %d",
                          hidden, heads);
    }
}

static void set_ffn(ms_megatron_run *run, int hidden) {
    bool is_swiglu = ms_megatron_given(run, "--swiglu");
    int given = ms_megatron_count(run, "--ffn-hidden-size", 1, 0);
    long ffn = given > 0 ? given : usual_ffn(hidden, is_swiglu);
    if (ffn > 0) {
        ms_megatron_set(run, "model.ffn", "--ffn-hidden-size", "%ld", ffn);
    }
    ms_megatron_set_bool(run, "model.gated", "--swiglu --quick-geglu",
                         is_swiglu || ms_megatron_given(run, "--quick-geglu"));
}

/* The vocabulary with its padding: of the model, of the tokenizer, or nobody knows. */
static void set_vocab(ms_megatron_run *run) {
    long divisor = ms_megatron_count(run, "--make-vocab-size-divisible-by", 1, USUAL_DIVISOR);
    long multiple = divisor * ms_megatron_count(run, "--tensor-model-parallel-size", 1, 1);
    int forks = ms_megatron_count(run, "--pad-vocab-size-to", 1, 0);
    int padded = ms_megatron_count(run, "--padded-vocab-size", 1, forks);
    long bare = ms_megatron_count(run, "--vocab-size", 1, 0);
    if (run->facts->vocab > 0) {
        ms_megatron_set(run, "model.vocab", "", "%d", run->facts->vocab);
    } else if (padded > 0) {
        ms_megatron_set(run, "model.vocab", "--padded-vocab-size --pad-vocab-size-to", "%d",
                        padded);
    } else if (bare > VOCAB_MAX || multiple > VOCAB_MAX) {
        ms_megatron_fault(run, bare > VOCAB_MAX ? "--vocab-size" : "--make-vocab-size-divisible-by",
                          "expected at most %d words, got %ld", VOCAB_MAX,
                          bare > VOCAB_MAX ? bare : multiple);
    } else if (bare > 0) {
        ms_megatron_set(run, "model.vocab", "--vocab-size --make-vocab-size-divisible-by", "%ld",
                        (bare + multiple - 1) / multiple * multiple);
    } else {
        ms_megatron_require(run, "model.vocab", "words of the tokenizer");
    }
}

static void set_sizes(ms_megatron_run *run) {
    const char *layers = layers_name(run);
    run->layers = require(run, "model.layers", layers);
    if (run->layers > LAYERS_MAX) {
        ms_megatron_fault(run, layers, "expected at most %d layers, got %d", LAYERS_MAX,
                          run->layers);
    }
    int hidden = require(run, "model.hidden", "--hidden-size");
    set_heads(run, hidden);
    set_ffn(run, hidden);
    set_vocab(run);
    bool is_encoder =
        !ms_megatron_given(run, "--seq-length") && ms_megatron_given(run, "--encoder-seq-length");
    require(run, "model.sequence", is_encoder ? "--encoder-seq-length" : "--seq-length");
}

/* ---- how it is made ---- */

static void set_positions(ms_megatron_run *run) {
    bool is_old_rope = ms_megatron_given(run, "--use-rotary-position-embeddings");
    const char *type = ms_megatron_value(run, "--position-embedding-type");
    bool is_learned = !is_old_rope && (type == NULL || strcmp(type, "learned_absolute") == 0);
    bool is_alibi = !is_old_rope && type != NULL && strcmp(type, "alibi") == 0;
    ms_megatron_set(run, "model.positions",
                    "--position-embedding-type --use-rotary-position-embeddings", "%s",
                    is_learned ? "learned"
                    : is_alibi ? "alibi"
                               : "rotary");
    int most = ms_megatron_count(run, "--max-position-embeddings", 1, 0);
    if (is_learned && most > 0 && most != ms_megatron_count(run, "--seq-length", 1, most)) {
        ms_megatron_differs(run, "--max-position-embeddings",
                            "as many positions are learned as a sequence has tokens");
    }
}

static void set_norm(ms_megatron_run *run) {
    const char *norm = ms_megatron_value(run, "--normalization");
    bool is_rms = norm != NULL && strcmp(norm, "RMSNorm") == 0;
    if (norm != NULL && !is_rms && strcmp(norm, "LayerNorm") != 0) {
        ms_megatron_fault(run, "--normalization", "expected LayerNorm or RMSNorm, got '%s'", norm);
    }
    ms_megatron_set(run, "model.norm", "--normalization", "%s", is_rms ? "rms" : "layer");
}

static void set_bias(ms_megatron_run *run, bool is_latent) {
    bool has_bias = !ms_megatron_given(run, "--disable-bias-linear");
    if (has_bias && is_latent) {
        has_bias = false;
        ms_megatron_differs(run, "--multi-latent-attention", "latent attention without biases");
    }
    if (has_bias && ms_megatron_count(run, "--num-experts", 0, 0) > 0) {
        has_bias = false;
        ms_megatron_differs(run, "--num-experts", "layers with experts have no biases");
    }
    ms_megatron_set_bool(run, "model.bias", "--disable-bias-linear", has_bias);
}

/* Latent attention norms its latents in any case; heads are normed where that is said. */
static void set_small_parts(ms_megatron_run *run, bool is_latent) {
    if (ms_megatron_given(run, "--qk-layernorm") && !is_latent) {
        ms_megatron_set_bool(run, "model.qk_norm", "--qk-layernorm", true);
    }
    bool has_others = !ms_megatron_given(run, "--disable-bias-linear");
    if (ms_megatron_given(run, "--add-qkv-bias") && !is_latent && !has_others) {
        ms_megatron_set(run, "model.biases", "--add-qkv-bias", "[qkv]");
    }
}

static void set_dropout(ms_megatron_run *run) {
    double hidden = ms_megatron_number(run, "--hidden-dropout", USUAL_DROPOUT);
    double attention = ms_megatron_number(run, "--attention-dropout", USUAL_DROPOUT);
    if (hidden > 1) {
        ms_megatron_fault(run, "--hidden-dropout", "expected a share up to 1, got %g", hidden);
    }
    if (attention < hidden || attention > hidden) {
        ms_megatron_differs(run, "--attention-dropout", "the attention's is --hidden-dropout, too");
    }
    ms_megatron_set(run, "model.dropout", "--hidden-dropout --attention-dropout", "%.15g", hidden);
}

/* Each so many-th layer attends to everything.
 * Source: Megatron-LM, megatron.core.transformer.utils (is_layer_window_attention). */
static void set_window_skips(ms_megatron_run *run) {
    static const char FLAG[] = "--window-attn-skip-freq";
    const char *text = ms_megatron_value(run, FLAG);
    if (text != NULL && strchr(text, '[') != NULL) {
        ms_megatron_differs(run, FLAG, "every layer has the window: its list is not read");
    } else if (text != NULL) {
        int every = ms_megatron_count(run, FLAG, 1, 0);
        ms_megatron_set(run, "model.window_skip_freq", FLAG, "%d", every);
    }
}

/* Tokens to the left of a token and itself. */
static void set_window(ms_megatron_run *run) {
    const char *window = ms_megatron_value(run, "--window-size");
    int left = 0, right = 0;
    if (window == NULL) {
        return;
    }
    if (sscanf(window, " ( %d , %d", &left, &right) != 2 &&
        sscanf(window, "%d , %d", &left, &right) != 2) {
        ms_megatron_fault(run, "--window-size", "expected two counts, as in 128,0, got '%s'",
                          window);
    } else if (left > 0 && left < 1 << 28) {
        ms_megatron_set(run, "model.window", "--window-size", "%d", left + 1);
        set_window_skips(run);
    }
}

/* ---- kernels ---- */

/* Megatron-LM's own layers attend by products over the score matrix; Transformer Engine's do where
 * they are asked to, and in fp32, which its fused kernels do not take. */
static bool is_unfused(ms_megatron_run *run) {
    bool is_own = ms_megatron_says(run, "--transformer-impl", "local") || run->is_old;
    bool has_flash = ms_megatron_given(run, "--use-flash-attn");
    bool is_half = ms_megatron_given(run, "--bf16") || ms_megatron_given(run, "--fp16");
    return !is_half || (is_own && !has_flash) ||
           ms_megatron_says(run, "--attention-backend", "unfused");
}

/* Cross entropy: in a kernel of Transformer Engine's, compiled, or as it stands. */
static const char *loss_of(ms_megatron_run *run) {
    if (!ms_megatron_given(run, "--cross-entropy-loss-fusion")) {
        return "vocab_parallel";
    }
    return ms_megatron_says(run, "--cross-entropy-fusion-impl", "te") ? "transformer_engine"
                                                                      : "compiled";
}

/* In training only cuDNN's kernels attend in fp8.  Source: Transformer Engine,
 * get_attention_backend. */
static void set_kernels(ms_megatron_run *run) {
    const char *fp8 = ms_megatron_fp8_attention(run);
    if (is_unfused(run)) {
        ms_megatron_set(run, "model.attention", "--attention-backend --transformer-impl",
                        "unfused");
    } else if (run->is_old) {
        ms_megatron_set(run, "model.attention", "--use-flash-attn", "fused");
    } else if (fp8 != NULL) {
        ms_megatron_set(run, "model.attention", fp8, "cudnn");
    }
    ms_megatron_set(run, "model.loss", "--cross-entropy-loss-fusion --cross-entropy-fusion-impl",
                    "%s", loss_of(run));
    if (ms_megatron_given(run, "--deterministic-mode")) {
        ms_megatron_differs(run, "--deterministic-mode",
                            "kernels are those of other runs, but for cuBLAS's workspace");
    }
}

void ms_megatron_set_model(ms_megatron_run *run) {
    bool is_gated = ms_megatron_given(run, "--swiglu");
    bool is_latent = ms_megatron_given(run, "--multi-latent-attention");
    ms_megatron_set(run, "model.type", "", "%s", is_gated ? "llama" : "gpt");
    set_sizes(run);
    ms_megatron_set_pairs(run, MS_MEGATRON_MODEL_PAIRS);
    set_norm(run);
    set_bias(run, is_latent);
    set_small_parts(run, is_latent);
    set_positions(run);
    set_dropout(run);
    set_window(run);
    set_kernels(run);
    if (is_latent) {
        ms_megatron_set_pairs(run, MS_MEGATRON_LATENT_PAIRS);
    }
    int modules = ms_megatron_count(run, "--mtp-num-layers", 0, 0);
    if (modules > 0) {
        ms_megatron_set(run, "model.mtp_layers", "--mtp-num-layers", "%d", modules);
    }
}

/* ---- experts ---- */

/* Layers with experts as a workload says them: none in the first ones, then in every so many-th. */
typedef struct expert_layers {
    int first_dense, every;
} expert_layers;

static bool has_experts(const expert_layers *e, int layer) {
    return layer >= e->first_dense && (layer - e->first_dense) % e->every == e->every - 1;
}

static bool fits(const expert_layers *e, const ms_ints *pattern) {
    for (size_t i = 0; i < pattern->count; i++) {
        if (has_experts(e, (int)i) != (pattern->items[i] != 0)) {
            return false;
        }
    }
    return true;
}

/* The first two layers with experts say the rhythm; what has none is a list of dense layers behind
 * the first one with experts. */
static expert_layers find_rhythm(const ms_ints *pattern) {
    int first = -1, second = -1;
    for (size_t i = 0; i < pattern->count; i++) {
        if (pattern->items[i] != 0) {
            second = first >= 0 && second < 0 ? (int)i : second;
            first = first < 0 ? (int)i : first;
        }
    }
    int every = second < 0 ? 1 : second - first;
    expert_layers found = {.first_dense = first - every + 1, .every = every};
    if (first < 0 || found.first_dense < 0 || !fits(&found, pattern)) {
        found = (expert_layers){.first_dense = first < 0 ? (int)pattern->count : first, .every = 1};
    }
    return found;
}

/* The dense layers that such a rhythm has with experts. */
static void set_dense(ms_megatron_run *run, const expert_layers *found, const ms_ints *pattern) {
    ms_buffer list;
    ms_buffer_init(&list);
    for (size_t i = 0; i < pattern->count; i++) {
        if (has_experts(found, (int)i) && pattern->items[i] == 0) {
            ms_buffer_printf(&list, "%s%zu", list.length == 0 ? "" : ", ", i);
        }
    }
    if (list.length > 0) {
        ms_megatron_set(run, "model.moe.dense_layers", "--moe-layer-freq", "[%s]",
                        ms_buffer_text(&list));
    }
    ms_buffer_release(&list);
}

/* A number N: of every N layers the first has experts; a list: those with 1 have. */
static bool read_frequency(ms_megatron_run *run, const char *text, ms_ints *pattern_out) {
    const ms_megatron_argument *argument = ms_megatron_get(run, "--moe-layer-freq");
    if (strchr(text, '[') != NULL) {
        ms_status status =
            ms_megatron_read_pattern(text, &argument->mark, run->arena, run->diag, pattern_out);
        run->status = run->status == MS_OK ? status : run->status;
        return status == MS_OK;
    }
    int every = ms_megatron_count(run, "--moe-layer-freq", 1, 0);
    int count = run->layers > LAYERS_MAX ? 0 : run->layers;
    int *items = MS_NEW(run->arena, int, count + 1);
    for (int layer = 0; items != NULL && every > 0 && layer < count; layer++) {
        items[layer] = layer % every == 0;
    }
    *pattern_out = (ms_ints){.items = items, .count = (size_t)count};
    return items != NULL && every > 0;
}

static void set_frequency(ms_megatron_run *run) {
    const char *text = ms_megatron_value(run, "--moe-layer-freq");
    ms_ints pattern;
    if (text == NULL || run->layers == 0 || !read_frequency(run, text, &pattern)) {
        return;
    }
    if (pattern.count != (size_t)run->layers) {
        ms_megatron_fault(run, "--moe-layer-freq",
                          "expected one entry for each of %d layers, got %zu in '%s'", run->layers,
                          pattern.count, text);
        return;
    }
    expert_layers found = find_rhythm(&pattern);
    if (found.first_dense >= run->layers) {
        ms_megatron_fault(run, "--moe-layer-freq", "expected a layer with experts, got '%s'", text);
        return;
    }
    if (found.first_dense > 0) {
        ms_megatron_set(run, "model.moe.first_dense_layers", "--moe-layer-freq", "%d",
                        found.first_dense);
    }
    if (found.every > 1) {
        ms_megatron_set(run, "model.moe.every", "--moe-layer-freq", "%d", found.every);
    }
    set_dense(run, &found, &pattern);
}

static void set_shared(ms_megatron_run *run) {
    int shared = ms_megatron_count(run, "--moe-shared-expert-intermediate-size", 0, 0);
    if (shared == 0) {
        return;
    }
    ms_megatron_set(run, "model.moe.shared_experts", "", "1");
    ms_megatron_set(run, "model.moe.shared_ffn", "--moe-shared-expert-intermediate-size", "%d",
                    shared);
    if (ms_megatron_given(run, "--moe-shared-expert-gate")) {
        ms_megatron_set(run, "model.moe.shared_gate", "--moe-shared-expert-gate", "true");
    }
    if (ms_megatron_given(run, "--moe-shared-expert-overlap")) {
        ms_megatron_set(run, "model.moe.overlap", "--moe-shared-expert-overlap", "shared");
    }
}

static void set_router(ms_megatron_run *run) {
    double capacity = ms_megatron_number(run, "--moe-expert-capacity-factor", 0);
    if (capacity > 0) {
        ms_megatron_set(run, "model.moe.capacity_factor", "--moe-expert-capacity-factor", "%.15g",
                        capacity);
        ms_megatron_set_bool(run, "model.moe.pad", "--moe-pad-expert-input-to-capacity",
                             ms_megatron_given(run, "--moe-pad-expert-input-to-capacity"));
    }
}

void ms_megatron_set_experts(ms_megatron_run *run) {
    run->experts = ms_megatron_count(run, "--num-experts", 0, 0);
    if (run->experts == 0) {
        return;
    }
    ms_megatron_set(run, "model.moe.experts", "--num-experts", "%d", run->experts);
    ms_megatron_set_pairs(run, MS_MEGATRON_EXPERT_PAIRS);
    set_shared(run);
    set_frequency(run);
    set_router(run);
}
