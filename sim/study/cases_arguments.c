/* What a run of Megatron-LM was told by its arguments, where a case has them: each is a choice that
 * the setup of its software leaves to the run.
 * Source: Megatron-LM, megatron.training.arguments (names and defaults). */
#include <stdlib.h>
#include <string.h>

#include "study/cases_rules.h"

/* Dropout of Megatron-LM's arguments, hidden and attention's alike. */
static const double USUAL_DROPOUT = 0.1;

/* Workspace of cuBLAS that deterministic products need, :4096:8.
 * Source: PyTorch, torch.use_deterministic_algorithms; NVIDIA cuBLAS documentation. */
static const double DETERMINISTIC_B = 8 * 4096 * 1024.0;

/* Placeholders of weight gradients are kept by Transformer Engine since 2.3, and Megatron Core 0.15
 * takes them for the output layer, too. The month is an estimate between two measurements: a run of
 * September 2025 has none, one of January 2026 has them.
 * Source: Transformer Engine, pull request 1651; the dates of megatron_ci.yaml. */
static const char PLACEHOLDERS_SINCE[] = "2025-10";

/* The value of an argument, "" of one that has none; NULL: it was not given. */
static const char *value_of(const ms_case *c, const char *name) {
    size_t length = strlen(name);
    for (size_t i = 0; i < c->arguments.count; i++) {
        const char *item = c->arguments.items[i];
        if (strncmp(item, name, length) == 0 && (item[length] == '\0' || item[length] == ' ')) {
            return item[length] == '\0' ? "" : item + length + 1;
        }
    }
    return NULL;
}

static bool is_given(const ms_case *c, const char *name) {
    return value_of(c, name) != NULL;
}

static bool is_value(const ms_case *c, const char *name, const char *value) {
    const char *given = value_of(c, name);
    return given != NULL && strcmp(given, value) == 0;
}

/* Megatron-LM's own layers, not Transformer Engine's. */
static bool is_local(const ms_case *c) {
    return is_value(c, "--transformer-impl", "local");
}

/* Its own layers attend by products over the score matrix; Transformer Engine's do if asked to. */
static bool is_unfused(const ms_case *c) {
    bool is_own = is_local(c) && !is_given(c, "--use-flash-attn");
    return is_own || is_value(c, "--attention-backend", "unfused");
}

/* Whether the run's software was of that month or later: "(2025-10-02)" in its provenance. */
static bool is_since(const ms_case *c, const char *month) {
    const char *date = c->provenance == NULL ? NULL : strrchr(c->provenance, '(');
    return date != NULL && strncmp(date + 1, month, strlen(month)) >= 0;
}

/* Cross entropy: in a kernel of Transformer Engine's, compiled, or as it stands. */
static ms_loss loss_of(const ms_case *c) {
    if (!is_given(c, "--cross-entropy-loss-fusion")) {
        return MS_LOSS_VOCAB_PARALLEL;
    }
    return is_value(c, "--cross-entropy-fusion-impl", "te") ? MS_LOSS_TRANSFORMER_ENGINE
                                                            : MS_LOSS_COMPILED;
}

static void set_model(const ms_case *c, ms_model *model) {
    const char *dropout = value_of(c, "--hidden-dropout");
    const char *capacity = value_of(c, "--moe-expert-capacity-factor");
    model->dropout = dropout == NULL ? USUAL_DROPOUT : strtod(dropout, NULL);
    model->loss = loss_of(c);
    model->has_fused_accumulation = !is_given(c, "--no-gradient-accumulation-fusion");
    if (is_unfused(c)) {
        model->attention = MS_ATTENTION_UNFUSED;
    }
    if (is_given(c, "--moe-router-fusion")) {
        model->moe.router = MS_MOE_ROUTER_FUSED;
    }
    if (model->moe.experts > 0 && capacity != NULL) {
        model->moe.capacity_factor = strtod(capacity, NULL);
        model->moe.has_padding = is_given(c, "--moe-pad-expert-input-to-capacity");
    }
}

static void set_framework(const ms_case *c, ms_job_spec *spec) {
    bool has_experts = spec->model.moe.experts > 0; /* their router's products are the engine's */
    bool has_engine = !is_local(c) || has_experts;
    unsigned buffers = 0;
    buffers |= is_given(c, "--moe-grouped-gemm") ? MS_BUFFER_GROUPED_PRODUCTS : 0;
    buffers |= spec->tensor.has_sequence_parallel ? MS_BUFFER_GATHER : 0;
    bool has_placeholders = spec->model.has_fused_accumulation && is_since(c, PLACEHOLDERS_SINCE);
    buffers |= has_placeholders ? MS_BUFFER_WEIGHT_GRADIENTS : 0;
    buffers |= is_local(c) && is_unfused(c) ? MS_BUFFER_SCORES : 0;
    buffers |= is_given(c, "--fp16") ? MS_BUFFER_MAIN_GRADIENTS : 0;
    bool is_ahead = is_given(c, "--use-megatron-fsdp") && is_given(c, "--overlap-param-gather");
    buffers |= is_ahead ? MS_BUFFER_PREFETCHED : 0;
    spec->framework_memory = (ms_framework_memory){
        .libraries = has_engine ? MS_LIBRARIES_TRANSFORMER_ENGINE : MS_LIBRARIES_TORCH,
        .cublas_B = is_given(c, "--deterministic-mode") ? DETERMINISTIC_B : 0,
        .buffers = buffers};
}

/* What of a layer's activations modules give to the host. */
static unsigned offloaded_of(const ms_case *c) {
    static const struct {
        const char *module;
        unsigned part;
    } MODULES[] = {{"norm", MS_OFFLOAD_NORMS},
                   {"core_attn", MS_OFFLOAD_ATTENTION},
                   {"expert_fc1", MS_OFFLOAD_EXPERTS}};
    const char *modules = value_of(c, "--offload-modules");
    unsigned parts = 0;
    for (size_t i = 0; i < sizeof MODULES / sizeof MODULES[0]; i++) {
        parts |= ms_case_says(modules, MODULES[i].module) ? MODULES[i].part : 0;
    }
    return is_given(c, "--fine-grained-activation-offloading") ? parts : 0;
}

/* Neither of 16 bits is the default: parameters and activations are in fp32, and so they are where
 * products multiply in fp8. Such parameters are their own master copy, but for Megatron's FSDP,
 * which makes one of all parameters. Source: megatron.training.arguments (params_dtype);
 * megatron.core.optimizer (fp32 groups of the distributed optimizer are views of the model's);
 * Megatron-FSDP, ParamAndGradBuffer (the buffer of main weights, preserve_fp32_weights). */
static void set_single(const ms_case *c, ms_spec_precision *precision) {
    const double MASTER_B = 4;
    bool has_copy = is_given(c, "--use-megatron-fsdp");
    precision->parameters = MS_DTYPE_FP32;
    precision->optimizer_B -= has_copy ? 0 : MASTER_B;
}

static void set_data(const ms_case *c, ms_job_spec *spec) {
    const char *copies = value_of(c, "--num-distributed-optimizer-instances");
    spec->data.copies = copies == NULL ? 1 : (int)strtol(copies, NULL, 10);
    spec->offloaded = offloaded_of(c);
    spec->data.has_reduce_overlap = is_given(c, "--overlap-grad-reduce");
    spec->data.has_gather_overlap = spec->data.zero > 0 && is_given(c, "--overlap-param-gather");
    if (is_given(c, "--fp16")) { /* gradients are accumulated in fp32 beside bf16 alone */
        spec->precision.parameters = MS_DTYPE_FP16;
        spec->precision.gradients = MS_DTYPE_FP16;
    } else if (!is_given(c, "--bf16")) {
        set_single(c, &spec->precision);
    }
}

static void set_products(const ms_case *c, ms_products *products) {
    static const struct {
        const char *recipe;
        ms_product_format format;
        ms_scaling scaling;
    } RECIPES[] = {{"delayed", MS_PRODUCT_FP8, MS_SCALING_DELAYED},
                   {"tensorwise", MS_PRODUCT_FP8, MS_SCALING_CURRENT},
                   {"blockwise", MS_PRODUCT_FP8, MS_SCALING_BLOCKWISE},
                   {"mxfp8", MS_PRODUCT_MXFP8, MS_SCALING_DELAYED}};
    for (size_t i = 0; i < sizeof RECIPES / sizeof RECIPES[0]; i++) {
        if (products->format != MS_PRODUCT_PLAIN &&
            is_value(c, "--fp8-recipe", RECIPES[i].recipe)) {
            products->format = RECIPES[i].format;
            products->scaling = RECIPES[i].scaling;
        }
    }
    bool has_plain_ends = is_given(c, "--first-last-layers-bf16"); /* one each, by default */
    products->first_plain_layers = products->last_plain_layers = has_plain_ends ? 1 : 0;
    products->amax = is_given(c, "--tp-only-amax-red") ? MS_AMAX_TENSOR : MS_AMAX_REPLICAS;
    products->parameter_gathers =
        is_given(c, "--fp8-param-gather") ? MS_TYPE_OF_PRODUCTS : MS_TYPE_OF_PARAMETERS;
}

/* Arguments without a counterpart. */
static void tell_others(ms_case_translation *t) {
    static const struct {
        const char *name, *what;
    } OTHERS[] = {
        {"--fine-grained-activation-offloading", "copies to the host and back take no time"},
        {"--overlap-moe-expert-parallel-comm",
         "no microbatch computes beside another one's all-to-alls"},
        {"--cuda-graph-impl", "CUDA graphs hold no memory of their own"},
        {"--tp-comm-overlap", "user buffers hold no memory"},
    };
    for (size_t i = 0; i < sizeof OTHERS / sizeof OTHERS[0]; i++) {
        if (is_given(t->c, OTHERS[i].name)) {
            ms_case_differs(t, OTHERS[i].what);
        }
    }
    if (is_value(t->c, "--moe-flex-dispatcher-backend", "hybridep")) {
        ms_case_differs(t, "the dispatcher's buffers hold no memory");
    }
}

void ms_case_set_arguments(ms_case_translation *t) {
    if (t->c->arguments.count == 0) {
        return;
    }
    ms_job_spec *spec = &t->out->spec;
    set_model(t->c, &spec->model);
    set_data(t->c, spec);
    set_products(t->c, &spec->precision.products);
    set_framework(t->c, spec);
    tell_others(t);
}
