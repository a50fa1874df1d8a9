/* Reads the `model:` mapping of a workload into an ms_model by the table of its keys, fills in
 * sizes that follow from others, checks them together, and writes a model back as such a
 * mapping. */
#include <stddef.h>
#include <string.h>

#include "model/read_moe.h"

enum { TYPE_GPT, TYPE_LLAMA };
enum { NORM_LAYER, NORM_RMS, NORM_PLAIN, NORM_GAIN };
enum { POSITIONS_LEARNED, POSITIONS_ROTARY, POSITIONS_ALIBI };

static const char *const TYPES[] = {"gpt", "llama", NULL};
static const char *const NORMS[] = {"layer", "rms", "plain", "gain", NULL};
static const char *const POSITIONS[] = {"learned", "rotary", "alibi", NULL};
static const char *const ATTENTIONS[] = {"unfused", "fused", "flash1", "flash2",
                                         "flash3",  "cudnn", "triton", NULL};
static const char *const LOSSES[] = {"vocab_parallel",     "plain", "fused", "compiled",
                                     "transformer_engine", NULL};
static const char *const KERNELS[] = {"fused", "eager", "compiled", NULL};
static const char *const BIASES[] = {"qkv",  "attention_output", "mlp",
                                     "head", "experts",          NULL}; /* bits as ms_bias */
static const char *const QK_GAINS[] = {"shared", "own", NULL};
static const char *const PROJECTIONS[] = {"merged", "concatenated", "separate", "interleaved",
                                          NULL};

/* The mapping as its table fills it. */
typedef struct model_text {
    const char *hf; /* the reader of workloads takes this key out before; here it is a fault */
    int type, norm, positions, qk_gains; /* indices of words */
    ms_moe_text moe;
    ms_model model;
} model_text;

/* a size of the job's model */
#define SIZE_FIELD(key_, member_, required_, help_)                                                \
    MS_KEY((key_), (help_), INT, offsetof(model_text, model.member_), .is_required = (required_),  \
           MS_RANGE(1, 10000000), .is_of_job = true)
#define FLAG_FIELD(key_, member_, help_, ...)                                                      \
    MS_KEY((key_), (help_), BOOL, offsetof(model_text, model.member_), __VA_ARGS__)
#define WORD_FIELD(key_, member_, words_, help_, ...)                                              \
    MS_KEY((key_), (help_), ENUM, offsetof(model_text, member_), .words = (words_), __VA_ARGS__)

const ms_field MS_MODEL_FIELDS[] = {
    MS_KEY("name", "name for output", STRING, offsetof(model_text, model.name), .fallback = "model",
           .is_of_job = true),
    MS_KEY("hf", "a Hugging Face config, or its folder, that says what the other keys leave out",
           STRING, offsetof(model_text, hf), .gives_rest = true, .is_of_job = true),
    MS_KEY("type", "family that sets the defaults: gpt or llama", ENUM, offsetof(model_text, type),
           .is_required = true, .is_choice = true, .words = TYPES),
    /* every layer is laid out: the limit keeps a typing error from filling the memory */
    MS_KEY("layers", "transformer layers", INT, offsetof(model_text, model.layers),
           .is_required = true, MS_RANGE(1, 100000), .is_of_job = true),
    SIZE_FIELD("hidden", hidden, true, "hidden size"),
    SIZE_FIELD("heads", heads, true, "query heads"),
    SIZE_FIELD("kv_heads", kv_heads, false, "key and value heads, default heads"),
    SIZE_FIELD("head_dim", head_dim, false, "size of a head, default hidden / heads"),
    SIZE_FIELD("ffn", ffn, false, "inner size of the MLP, default 4 hidden for gpt"),
    MS_KEY("vocab", "vocabulary; 0: neither embedding nor head and loss", INT,
           offsetof(model_text, model.vocab), .is_required = true, MS_RANGE(0, 10000000),
           .is_of_job = true),
    SIZE_FIELD("sequence", sequence, true, "tokens per sequence"),
    FLAG_FIELD("tied_embeddings", has_tied_embeddings,
               "the head uses the word embedding's weights, default true for gpt",
               .is_of_family = true),
    MS_KEY("attention",
           "kernel: the GPU type's own fused one, a generation of its own, or unfused products",
           ENUM, offsetof(model_text, model.attention), .former = "flash_attention",
           .fallback = "fused", .words = ATTENTIONS),
    MS_KEY("fused_accumulation", "weight-gradient products add into the gradient buffer themselves",
           BOOL, offsetof(model_text, model.has_fused_accumulation), .fallback = "true"),
    MS_KEY("loss", "Megatron-LM's, in place or compiled, PyTorch's, or one kernel each way", ENUM,
           offsetof(model_text, model.loss), .fallback = "vocab_parallel", .words = LOSSES),
    MS_KEY("loss_metrics",
           "plain cross entropies that the trainer makes of the logits besides the loss", INT,
           offsetof(model_text, model.loss_metrics), .fallback = "0", MS_RANGE(0, 16)),
    MS_KEY("projections",
           "products of queries, keys and values, and of gate and value: one, one whose gradient "
           "is put together, a product each, or one with a group's heads side by side",
           ENUM, offsetof(model_text, model.projections), .fallback = "merged",
           .words = PROJECTIONS),
    MS_KEY(
        "repeat_key_values",
        "fewer heads of keys and values are copied to as many as of queries before the attention",
        BOOL, offsetof(model_text, model.repeats_key_values), .fallback = "false"),
    MS_KEY("kernels",
           "memory-bound kernels: Megatron-LM's, PyTorch's as they are called, or compiled", ENUM,
           offsetof(model_text, model.kernels), .fallback = "fused", .words = KERNELS),
    MS_KEY("two_pass_norms", "layer norms read their rows twice, as Apex's do", BOOL,
           offsetof(model_text, model.kernel_traits.has_two_pass_norms), .fallback = "false"),
    MS_KEY("separate_dropout", "bias, dropout and residual are a kernel each", BOOL,
           offsetof(model_text, model.kernel_traits.has_separate_dropout), .fallback = "false"),
    MS_KEY("complex_rotary",
           "the rotary embedding multiplies complex numbers, in kernels of its own", BOOL,
           offsetof(model_text, model.kernel_traits.has_complex_rotary), .fallback = "false"),
    MS_KEY("cast_gradients",
           "weight gradients are cast to the gradient buffer's type before they are added", BOOL,
           offsetof(model_text, model.kernel_traits.has_cast_gradients), .fallback = "false"),
    MS_KEY("dropout", "dropout probability, default 0.1 for gpt and 0 for llama", NUMBER,
           offsetof(model_text, model.dropout), MS_RANGE(0, 1), .is_of_family = true),
    FLAG_FIELD("bias", has_bias, "biases in the linear layers, default true for gpt",
               .is_of_family = true),
    MS_KEY("biases", "linear layers that have one where 'bias' is false, or besides: some of",
           FLAGS, offsetof(model_text, model.parts.biases), .words = BIASES, .is_of_family = true),
    WORD_FIELD(
        "norm", norm, NORMS,
        "layer (gain and bias), gain (a layer norm without bias), rms (gain) or plain (neither); "
        "default layer for gpt",
        .is_of_family = true),
    WORD_FIELD("positions", positions, POSITIONS,
               "learned embedding (default for gpt), rotary, or alibi, biases on attention scores",
               .is_of_family = true),
    FLAG_FIELD("gated", is_gated, "MLP with a gate (SwiGLU), default true for llama",
               .is_of_family = true),
    MS_KEY("window", "sliding window: latest tokens that a token attends to; 0: all before it", INT,
           offsetof(model_text, model.window), .fallback = "0", MS_RANGE(0, 1 << 28)),
    MS_KEY("window_skip_freq",
           "each so many-th layer has no window (Gemma 3: 6, gpt-oss: 2); 0: every layer has it",
           INT, offsetof(model_text, model.parts.window_skip_freq), .fallback = "0",
           MS_RANGE(0, 100000)),
    MS_KEY("parallel_block", "attention and MLP side by side behind one norm, their outputs summed",
           BOOL, offsetof(model_text, model.has_parallel_block), .fallback = "false"),
    MS_KEY("branch_norms", "side by side, attention and MLP have a norm each (GPT-NeoX)", BOOL,
           offsetof(model_text, model.parts.has_branch_norms), .fallback = "false",
           .is_of_family = true),
    MS_KEY("qk_norm",
           "queries and keys are normed head by head before the attention (Qwen 3, Gemma 3)", BOOL,
           offsetof(model_text, model.parts.has_qk_norms), .fallback = "false",
           .is_of_family = true),
    MS_KEY("qk_gains",
           "all heads share the gains of these norms, or each has its own (OLMo 2, Command R+)",
           ENUM, offsetof(model_text, qk_gains), .fallback = "shared", .words = QK_GAINS,
           .is_of_family = true),
    MS_KEY("post_norms",
           "results of attention and MLP are normed before they are added (Gemma 2, 3)", BOOL,
           offsetof(model_text, model.parts.has_post_norms), .fallback = "false",
           .is_of_family = true),
    MS_KEY("moe", "mixture of experts in place of the MLP", MAP, offsetof(model_text, moe),
           .fields = MS_MOE_FIELDS),
    MS_KEY("mla", "latent attention in place of plain heads", MAP, offsetof(model_text, model.mla),
           .fields = MS_MLA_FIELDS, .is_of_job = true),
    MS_KEY("parameters_override",
           "for tests: parameters of the whole model, all in its layers; 0: as the shape has it",
           NUMBER, offsetof(model_text, model.parameters_override), .fallback = "0",
           MS_RANGE(0, 1e15), .is_of_job = true),
    MS_KEY("mtp_layers", "multi-token prediction modules behind the last layer", INT,
           offsetof(model_text, model.mtp_layers), .fallback = "0", MS_RANGE(0, 64),
           .is_of_job = true),
    {.key = NULL}};

/* Defaults of a model's type (`type: gpt` or `llama`). Source: Brown et al. 2020 (GPT-3) as
 * Megatron-LM builds it, dropout 0.1 its default; Touvron et al. 2023 (Llama). */
static model_text defaults_of(const ms_node *mapping) {
    const ms_node *type = ms_node_get(mapping, "type");
    bool is_llama = type && type->text && strcmp(type->text, TYPES[TYPE_LLAMA]) == 0;
    return (model_text){.type = is_llama ? TYPE_LLAMA : TYPE_GPT,
                        .norm = is_llama ? NORM_RMS : NORM_LAYER,
                        .positions = is_llama ? POSITIONS_ROTARY : POSITIONS_LEARNED,
                        .model = {.is_gated = is_llama,
                                  .has_bias = !is_llama,
                                  .has_tied_embeddings = !is_llama,
                                  .dropout = is_llama ? 0 : 0.1}};
}

/* Fill in the sizes that follow from others, and the flags that words give. A size that does not
 * follow stays 0, and check_sizes reports it. */
static void derive(model_text *text) {
    ms_model *model = &text->model;
    ms_moe_defaults(&text->moe, model);
    if (model->kv_heads == 0) {
        model->kv_heads = model->heads;
    }
    if (model->head_dim == 0 && model->hidden % model->heads == 0) {
        model->head_dim = model->hidden / model->heads;
    }
    if (model->ffn == 0 && text->type == TYPE_GPT) {
        model->ffn = 4 * model->hidden;
    }
    if (model->moe.experts > 0 && model->moe.ffn == 0) { /* default: the model's ffn, set above */
        model->moe.ffn = model->ffn;
        model->moe.shared_ffn = model->moe.shared_ffn > 0 ? model->moe.shared_ffn : model->ffn;
    }
    model->is_rms_norm = text->norm == NORM_RMS;
    model->is_plain_norm = text->norm == NORM_PLAIN;
    model->parts.has_gain_norms = text->norm == NORM_GAIN;
    model->parts.has_own_qk_gains = text->qk_gains == 1;
    model->has_positions = text->positions == POSITIONS_LEARNED;
    model->has_alibi = text->positions == POSITIONS_ALIBI;
}

/* Check the sizes that depend on each other. Returns MS_OK; MS_E_INPUT, every fault reported. */
static ms_status check_sizes(const ms_model_keys *keys, const ms_model *model) {
    ms_status status = MS_OK;
    if (model->heads % model->kv_heads != 0) {
        status = ms_model_fault(keys, "kv_heads", "'%d' key/value heads do not divide the %d heads",
                                model->kv_heads, model->heads);
    }
    if (model->head_dim == 0) {
        status = ms_model_fault(keys, "heads",
                                "'%d' heads do not divide hidden size %d: give 'head_dim'",
                                model->heads, model->hidden);
    }
    if (model->ffn == 0) {
        status = ms_model_fault(
            keys, "ffn",
            "key is missing: the inner size of a llama's MLP follows from no other size");
    }
    if (model->mtp_layers > 0 && model->vocab == 0) {
        status = ms_model_fault(keys, "mtp_layers",
                                "prediction modules need an embedding and a head: 'vocab' is 0");
    }
    if (ms_moe_read_check(keys, model) != MS_OK) {
        status = MS_E_INPUT;
    }
    return status;
}

/* Read the `model:` mapping: defaults of the type, then the keys, then sizes that follow from
 * others, then the checks across keys. */
ms_status ms_model_read(const ms_node *mapping, const char *key_path, ms_arena *arena,
                        ms_diag *diag, ms_model *model_out) {
    const ms_model_keys keys = {.mapping = mapping, .key_path = key_path, .diag = diag};
    model_text text = defaults_of(mapping);
    ms_status status = ms_config_read(mapping, MS_MODEL_FIELDS, key_path, &text, arena, diag);
    if (status == MS_OK && text.hf != NULL) {
        return ms_model_fault(&keys, "hf", "can stand in a workload's file only");
    }
    if (status == MS_OK) {
        derive(&text);
        status = check_sizes(&keys, &text.model);
    }
    if (status == MS_OK) {
        *model_out = text.model;
    }
    return status;
}

/* The word of the model's norm. */
static int norm_of(const ms_model *model) {
    if (model->is_plain_norm) {
        return NORM_PLAIN;
    }
    int with_mean = model->parts.has_gain_norms ? NORM_GAIN : NORM_LAYER;
    return model->is_rms_norm ? NORM_RMS : with_mean;
}

/* A model in the form of its table of keys. The type only sets defaults, and all values that it
 * would decide are written, so that either word would do. */
static model_text text_of(const ms_model *model) {
    return (model_text){.type = model->is_gated ? TYPE_LLAMA : TYPE_GPT,
                        .norm = norm_of(model),
                        .positions = model->has_positions ? POSITIONS_LEARNED
                                     : model->has_alibi   ? POSITIONS_ALIBI
                                                          : POSITIONS_ROTARY,
                        .qk_gains = model->parts.has_own_qk_gains ? 1 : 0,
                        .moe = ms_moe_text_of(&model->moe),
                        .model = *model};
}

ms_status ms_model_write(const ms_model *model, ms_arena *arena, ms_node **mapping_out) {
    const model_text text = text_of(model);
    return ms_config_write(MS_MODEL_FIELDS, &text, arena, mapping_out);
}

/* Check a model that was not read from a file: each key by the table first, and only then the sizes
 * together. */
ms_status ms_model_check(const ms_model *model, const char *key_path, const ms_node *root,
                         ms_diag *diag) {
    const model_text text = text_of(model);
    ms_status status = ms_config_check(MS_MODEL_FIELDS, &text, key_path, root, diag);
    bool is_found = false;
    const ms_node *mapping = ms_node_at(root, key_path, &is_found);
    const ms_model_keys keys = {
        .mapping = is_found ? mapping : NULL, .key_path = key_path, .diag = diag};
    return status == MS_OK ? check_sizes(&keys, model) : status;
}
