/* The tables of `moe:` (mixture of experts) and `mla:` (latent attention) in a workload's model,
 * defaults of their sizes, and the checks of their keys together. */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "model/read_moe.h"

static const char *const ELEMENTS[] = {"as_activations", "fp8", NULL};
static const char *const ROUTERS[] = {"fused", "eager", NULL};
static const char *const OVERLAPS[] = {"none", "shared", "all", NULL};
static const char *const DISTRIBUTIONS[] = {"none", "lognormal", "zipf", NULL};

/* An fp8 element with its share of a 4-byte scale per 128 elements.
 * Source: DeepSeek-AI 2024, DeepSeek-V3, arXiv:2412.19437, section 3.3. */
static const double FP8_B = 1 + 4.0 / 128;

#define INT_FIELD(type_, key_, member_, minimum_, fallback_, help_, ...)                           \
    MS_KEY((key_), (help_), INT, offsetof(type_, member_), .fallback = (fallback_),                \
           MS_RANGE((minimum_), 10000000), __VA_ARGS__)
#define REQUIRED_FIELD(type_, key_, member_, help_)                                                \
    MS_KEY((key_), (help_), INT, offsetof(type_, member_), .is_required = true, .is_of_job = true, \
           MS_RANGE(1, 10000000))
#define ENUM_FIELD(key_, member_, words_, fallback_, help_)                                        \
    MS_KEY((key_), (help_), ENUM, offsetof(ms_moe_text, member_), .words = (words_),               \
           .fallback = (fallback_))

static const ms_field IMBALANCE_FIELDS[] = {
    ENUM_FIELD("distribution", imbalance, DISTRIBUTIONS, "lognormal", "of the experts' popularity"),
    MS_KEY("spread", "lognormal: standard deviation over mean; zipf: exponent; 0: all alike",
           NUMBER, offsetof(ms_moe_text, moe.spread), .fallback = "0", MS_RANGE(0, 10)),
    {.key = NULL}};

const ms_field MS_MOE_FIELDS[] = {
    MS_KEY("experts", "routed experts per layer", INT, offsetof(ms_moe_text, moe.experts),
           .is_required = true, MS_RANGE(1, 65536),
           .is_of_job = true), /* each is drawn for every layer */
    REQUIRED_FIELD(ms_moe_text, "top_k", moe.top_k, "experts each token goes to"),
    INT_FIELD(ms_moe_text, "ffn", moe.ffn, 1, NULL,
              "inner size of an expert, default the model's ffn", .is_of_job = true),
    MS_KEY("shared_experts", "experts that every token passes", INT,
           offsetof(ms_moe_text, moe.shared_experts), .fallback = "0", MS_RANGE(0, 64),
           .is_of_job = true), /* keeps their width an int */
    INT_FIELD(ms_moe_text, "shared_ffn", moe.shared_ffn, 1, NULL,
              "inner size of a shared expert, default that of a routed one", .is_of_job = true),
    INT_FIELD(ms_moe_text, "first_dense_layers", moe.first_dense_layers, 0, "0",
              "layers at the front with a dense MLP", .is_of_job = true),
    MS_KEY("dense_layers", "further layers with one, counted from 0", INTS,
           offsetof(ms_moe_text, moe.parts.dense_layers), MS_RANGE(0, 100000), .is_of_job = true),
    MS_KEY("shared_gate", "what shared experts give is scaled token by token (Qwen2-MoE)", BOOL,
           offsetof(ms_moe_text, moe.parts.has_shared_gate), .fallback = "false"),
    INT_FIELD(ms_moe_text, "every", moe.every, 1, "1",
              "of the layers after those every so many-th has experts", .is_of_job = true),
    MS_KEY("capacity_factor",
           "tokens an expert takes at most over the mean, the rest is dropped; 0: no bound", NUMBER,
           offsetof(ms_moe_text, moe.capacity_factor), .fallback = "0", MS_RANGE(0, 65536)),
    MS_KEY("pad", "fill every expert up to its capacity", BOOL,
           offsetof(ms_moe_text, moe.has_padding), .fallback = "false"),
    INT_FIELD(ms_moe_text, "node_limit", moe.node_limit, 0, "0",
              "nodes a token's experts lie on at most, sent once to each; 0: no limit"),
    MS_KEY("router_bias", "a bias per expert in the router", BOOL,
           offsetof(ms_moe_text, moe.has_router_bias), .fallback = "false"),
    ENUM_FIELD("router", router, ROUTERS, "fused", "kernels that choose the experts of a token"),
    ENUM_FIELD("dispatch", dispatch, ELEMENTS, "as_activations", "elements sent to the experts"),
    ENUM_FIELD("combine", combine, ELEMENTS, "as_activations", "elements sent back"),
    ENUM_FIELD("kept", kept, ELEMENTS, "as_activations",
               "elements the experts keep of their inner results"),
    ENUM_FIELD("overlap", overlap, OVERLAPS, "none",
               "what runs beside the all-to-alls: shared experts; all: weight gradients too"),
    MS_KEY("imbalance", "how unevenly tokens choose experts", MAP, 0, .fields = IMBALANCE_FIELDS,
           .is_of_job = true),
    INT_FIELD(ms_moe_text, "seed", moe.seed, 0, "0", "seed of the imbalance", .is_of_job = true),
    {.key = NULL}};

const ms_field MS_MLA_FIELDS[] = {
    INT_FIELD(ms_mla, "q_rank", q_rank, 0, "0", "latent of the queries; 0: none"),
    REQUIRED_FIELD(ms_mla, "kv_rank", kv_rank, "latent of keys and values"),
    REQUIRED_FIELD(ms_mla, "qk_nope", qk_nope, "part of a head's query and key without position"),
    REQUIRED_FIELD(ms_mla, "qk_rope", qk_rope, "part with rotary position"),
    REQUIRED_FIELD(ms_mla, "v_dim", v_dim, "size of a head's value"),
    {.key = NULL}};

/* Limits on drawn loads (layers; experts * top_k * layers): with an imbalance every layer has loads
 * and costs of its own, which these limits keep within seconds. */
enum { DRAWN_LAYERS_MAX = 1000 };
static const double DRAWN_MAX = 2e7;

/* Report a fault of a key of the model. Returns MS_E_INPUT. */
ms_status ms_model_fault(const ms_model_keys *keys, const char *key, const char *format, ...) {
    char why[160];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    char path[160];
    snprintf(path, sizeof path, "%s%s%s", keys->key_path, keys->key_path[0] ? "." : "", key);
    return ms_config_fault(keys->diag, ms_node_at(keys->mapping, key, NULL), path, "%s", why);
}

/* Check the keys of `moe` together: numbers of experts, that some layer has experts, limits on
 * drawing, features that need others. Returns MS_OK; MS_E_INPUT, every fault reported. */
static ms_status check_moe(const ms_model_keys *keys, const ms_model *model) {
    const ms_moe *moe = &model->moe;
    ms_status status = MS_OK;
    if (moe->top_k > moe->experts) {
        status = ms_model_fault(keys, "moe.top_k",
                                "'%d' experts per token are more than the %d there are", moe->top_k,
                                moe->experts);
    }
    if (moe->first_dense_layers > model->layers) {
        status = ms_model_fault(keys, "moe.first_dense_layers",
                                "'%d' dense layers are more than the model's %d",
                                moe->first_dense_layers, model->layers);
    }
    if (moe->every > model->layers - moe->first_dense_layers && status == MS_OK) {
        status =
            ms_model_fault(keys, moe->every > 1 ? "moe.every" : "moe.first_dense_layers",
                           "no layer has experts: %d layers, the first %d dense, every %d%s",
                           model->layers, moe->first_dense_layers, moe->every,
                           moe->every > 1 ? "th of the rest with them" : " of the rest with them");
    }
    for (size_t i = 0; i < moe->parts.dense_layers.count; i++) {
        if (moe->parts.dense_layers.items[i] >= model->layers) {
            status = ms_model_fault(keys, "moe.dense_layers",
                                    "there is no layer '%d': %d layers are counted from 0",
                                    moe->parts.dense_layers.items[i], model->layers);
        }
    }
    if (status == MS_OK && ms_model_expert_layers(model) == 0) {
        status = ms_model_fault(keys, "moe.dense_layers",
                                "no layer has experts: it names all that would");
    }
    if (moe->parts.has_shared_gate && moe->shared_experts == 0) {
        status = ms_model_fault(keys, "moe.shared_gate", "needs 'shared_experts' to scale");
    }
    if (moe->spread > 0 && (model->layers > DRAWN_LAYERS_MAX ||
                            (double)moe->experts * moe->top_k * model->layers > DRAWN_MAX)) {
        status = ms_model_fault(
            keys, "moe.imbalance",
            "'%d' experts, %d per token, in %d layers are too many to draw: at most %d layers "
            "and %.0f in product",
            moe->experts, moe->top_k, model->layers, DRAWN_LAYERS_MAX, DRAWN_MAX);
    }
    if (moe->has_padding && moe->capacity_factor <= 0) {
        status = ms_model_fault(keys, "moe.pad", "needs a 'capacity_factor' to fill up to");
    }
    if (model->has_bias || (model->parts.biases & MS_BIAS_MLP)) {
        status = ms_model_fault(
            keys, "moe.experts",
            "biases in experts are not built: set 'bias: false', and leave mlp out of "
            "'biases'");
    }
    return status;
}

/* Check the model's keys that latent attention rules out. */
static ms_status check_mla(const ms_model_keys *keys, const ms_model *model) {
    ms_status status = MS_OK;
    if (model->kv_heads != model->heads) {
        status = ms_model_fault(
            keys, "mla.kv_rank",
            "latent attention has keys and values for all %d heads, 'kv_heads' is %d", model->heads,
            model->kv_heads);
    }
    if (model->has_bias) {
        status = ms_model_fault(keys, "mla.kv_rank",
                                "biases in its products are not built: set 'bias: false'");
    }
    return status;
}

/* Move `moe:` as it was read into the model. Words become element sizes and enumerations; sizes
 * that are not given become those of the model. */
void ms_moe_defaults(const ms_moe_text *text, ms_model *model) {
    ms_moe *moe = &model->moe;
    *moe = text->moe;
    if (moe->experts > 0) {
        moe->dispatch_element_B = text->dispatch ? FP8_B : 0;
        moe->combine_element_B = text->combine ? FP8_B : 0;
        moe->kept_element_B = text->kept ? FP8_B : 0;
        moe->router = (ms_moe_router)text->router;
        moe->overlap = (ms_moe_overlap)text->overlap;
        moe->imbalance = (ms_imbalance_kind)text->imbalance;
        moe->ffn = moe->ffn > 0 ? moe->ffn : model->ffn;
        moe->shared_ffn = moe->shared_ffn > 0 ? moe->shared_ffn : moe->ffn;
        if (model->ffn == 0 && moe->first_dense_layers == 0 && moe->every <= 1 &&
            moe->parts.dense_layers.count == 0) {
            model->ffn = moe->ffn; /* no layer has a dense MLP */
        }
    }
    if (model->mla.kv_rank > 0 && model->head_dim == 0) {
        model->head_dim = model->mla.qk_nope + model->mla.qk_rope;
    }
}

/* The keys of `moe:` that a model's experts are written as. */
ms_moe_text ms_moe_text_of(const ms_moe *moe) {
    return (ms_moe_text){.moe = *moe,
                         .dispatch = moe->dispatch_element_B > 0,
                         .combine = moe->combine_element_B > 0,
                         .kept = moe->kept_element_B > 0,
                         .router = (int)moe->router,
                         .overlap = (int)moe->overlap,
                         .imbalance = (int)moe->imbalance};
}

/* Check the keys of `moe:` and `mla:`, where the model has these. */
ms_status ms_moe_read_check(const ms_model_keys *keys, const ms_model *model) {
    ms_status status = MS_OK;
    if (model->moe.experts > 0) {
        status = check_moe(keys, model);
    }
    if (model->mla.kv_rank > 0 && check_mla(keys, model) != MS_OK) {
        status = MS_E_INPUT;
    }
    return status;
}
