/* Precision, sharding, overlaps, recomputation and buffers of Megatron-LM's arguments.
 * Source: Megatron-LM, megatron.training.arguments, megatron.core.optimizer,
 * megatron.core.tensor_parallel.random (checkpoint), megatron.core.distributed. */
#include <string.h>

#include "meshsim/model.h"
#include "study/import/megatron_parts.h"

/* ---- types ---- */

/* What is multiplied in which type. */
static void set_products(ms_megatron_run *run) {
    const char *recipe = ms_megatron_value(run, "--fp8-recipe");
    recipe = recipe == NULL ? "delayed" : recipe;
    for (const ms_megatron_recipe *row = MS_MEGATRON_RECIPES; row->recipe != NULL; row++) {
        if (strcmp(recipe, row->recipe) == 0) {
            ms_megatron_set(run, "precision.products", "--fp8-format --fp8-recipe", "%s",
                            row->products);
            if (row->scaling != NULL) {
                ms_megatron_set(run, "precision.scaling", "--fp8-recipe", "%s", row->scaling);
            }
            return;
        }
    }
    ms_megatron_fault(run, "--fp8-recipe",
                      "expected delayed, tensorwise, blockwise or mxfp8, got '%s'", recipe);
}

/* Under delayed scaling both arguments reach Transformer Engine, where the second one brings the
 * first with it; to the recipes of other scalings Megatron hands the first alone.
 * Source: megatron.core.fp8_utils (get_fp8_recipe); Transformer Engine, DotProductAttention
 * (fp8_mha forces fp8_dpa). */
const char *ms_megatron_fp8_attention(ms_megatron_run *run) {
    static const char *const ARGUMENTS[] = {"--fp8-dot-product-attention",
                                            "--fp8-multi-head-attention"};
    const char *recipe = ms_megatron_value(run, "--fp8-recipe");
    bool is_delayed = recipe == NULL || strcmp(recipe, "delayed") == 0;
    bool is_multi_head = is_delayed && ms_megatron_given(run, ARGUMENTS[1]);
    bool is_fp8 = ms_megatron_given(run, "--fp8-format") && !ms_megatron_given(run, "--fp4-format");
    const char *argument = ARGUMENTS[is_multi_head ? 1 : 0];
    return is_fp8 && ms_megatron_given(run, argument) ? argument : NULL;
}

static void set_attention(ms_megatron_run *run) {
    const char *argument = ms_megatron_fp8_attention(run);
    if (argument != NULL) {
        bool is_multi_head = strstr(argument, "multi-head") != NULL;
        ms_megatron_set(run, "precision.attention", argument, "%s",
                        is_multi_head ? "fp8_multi_head" : "fp8_dot_product");
    }
}

static void set_few_bits(ms_megatron_run *run) {
    bool is_fp4 = ms_megatron_given(run, "--fp4-format");
    if (is_fp4) {
        ms_megatron_set(run, "precision.products", "--fp4-format", "nvfp4");
    } else {
        set_products(run);
    }
    if (ms_megatron_given(run, "--first-last-layers-bf16")) {
        ms_megatron_set(run, "precision.first_plain_layers",
                        "--first-last-layers-bf16 --num-layers-at-start-in-bf16", "%d",
                        ms_megatron_count(run, "--num-layers-at-start-in-bf16", 0, 1));
        ms_megatron_set(run, "precision.last_plain_layers",
                        "--first-last-layers-bf16 --num-layers-at-end-in-bf16", "%d",
                        ms_megatron_count(run, "--num-layers-at-end-in-bf16", 0, 1));
    }
    set_attention(run);
    if (ms_megatron_given(run, "--no-fp8-wgrad")) {
        ms_megatron_set(run, "precision.weight_gradients", "--no-fp8-wgrad", "parameters");
    }
    ms_megatron_set(run, "precision.amax_group", "--tp-only-amax-red", "%s",
                    ms_megatron_given(run, "--tp-only-amax-red") ? "tensor" : "replicas");
    ms_megatron_set(run, "precision.parameter_gathers", "--fp8-param-gather", "%s",
                    ms_megatron_given(run, "--fp8-param-gather") ? "products" : "parameters");
}

static bool is_fsdp(ms_megatron_run *run) {
    return ms_megatron_given(run, "--use-megatron-fsdp") ||
           ms_megatron_given(run, "--use-custom-fsdp");
}

/* Bytes of a type that the precision-aware optimizer keeps something in. */
static double type_B(ms_megatron_run *run, const char *name) {
    const char *type = ms_megatron_value(run, name);
    const ms_megatron_type *row = MS_MEGATRON_TYPES;
    for (; type != NULL && row->type != NULL; row++) {
        if (strcmp(row->type, type) == 0) {
            return row->size_B;
        }
    }
    if (type != NULL) {
        ms_megatron_fault(run, name, "expected fp32, fp16, bf16 or fp8, got '%s'", type);
    }
    return 4;
}

/* Master copy and moments. Parameters in fp32 are their own master copy, but for Megatron's FSDP,
 * which makes one of all parameters. Beside working parameters in bf16 the precision-aware
 * optimizer keeps of a master copy in fp32 the 16 bits that these lack.
 * Source: megatron.core.optimizer (fp32 groups of the distributed optimizer are views of the
 * model's; store_param_remainders with Transformer Engine 2.1 and later); Megatron-FSDP,
 * ParamAndGradBuffer (the buffer of main weights, preserve_fp32_weights). */
static double optimizer_B(ms_megatron_run *run, bool is_single, bool is_bf16) {
    const char *optimizer = ms_megatron_value(run, "--optimizer");
    double master_B = is_single && !is_fsdp(run) ? 0 : 4, moments_B = 8;
    if (optimizer != NULL && (strcmp(optimizer, "sgd") == 0 || strstr(optimizer, "muon") != NULL)) {
        moments_B = 4;
    } else if (optimizer != NULL && strcmp(optimizer, "adam") != 0) {
        ms_megatron_fault(run, "--optimizer", "expected adam, sgd or muon, got '%s'", optimizer);
    }
    if (ms_megatron_given(run, "--use-precision-aware-optimizer") && !is_single) {
        double given_B = type_B(run, "--main-params-dtype");
        master_B = given_B > 2 && is_bf16 ? 2 : given_B;
        moments_B = type_B(run, "--exp-avg-dtype") + type_B(run, "--exp-avg-sq-dtype");
    }
    return master_B + moments_B;
}

/* Beside bf16 gradients are accumulated in fp32 unless said otherwise, beside fp16 in fp16. */
static const char *gradients_of(ms_megatron_run *run, bool is_fp16, bool is_bf16) {
    bool is_aware = ms_megatron_given(run, "--use-precision-aware-optimizer");
    if (is_fp16) {
        return ms_megatron_given(run, "--accumulate-allreduce-grads-in-fp32") ? "fp32" : "fp16";
    }
    bool is_short = ms_megatron_given(run, "--grad-reduce-in-bf16") ||
                    (is_aware && type_B(run, "--main-grads-dtype") < 4) ||
                    (is_fsdp(run) && type_B(run, "--megatron-fsdp-main-grads-dtype") < 4);
    return is_bf16 && is_short ? "bf16" : "fp32";
}

void ms_megatron_set_precision(ms_megatron_run *run) {
    bool is_fp16 = ms_megatron_given(run, "--fp16"), is_bf16 = ms_megatron_given(run, "--bf16");
    bool is_fp8 = ms_megatron_given(run, "--fp8-format");
    if (is_fp16 && is_bf16) {
        ms_megatron_fault(run, "--fp16", "expected one of it and --bf16, got both");
    }
    ms_megatron_set(run, "precision.parameters", "--bf16 --fp16", "%s",
                    is_fp16   ? "fp16"
                    : is_bf16 ? "bf16"
                              : "fp32");
    ms_megatron_set(run, "precision.gradients",
                    "--accumulate-allreduce-grads-in-fp32 --grad-reduce-in-bf16 "
                    "--main-grads-dtype --megatron-fsdp-main-grads-dtype",
                    "%s", gradients_of(run, is_fp16, is_bf16));
    ms_megatron_set(run, "precision.optimizer",
                    "--optimizer --use-precision-aware-optimizer --main-params-dtype "
                    "--exp-avg-dtype --exp-avg-sq-dtype --megatron-fsdp-main-params-dtype",
                    "%g B", optimizer_B(run, !is_fp16 && !is_bf16, is_bf16));
    if (is_fp8 || ms_megatron_given(run, "--fp4-format")) {
        set_few_bits(run);
    }
}

/* ---- replicas ---- */

static int fsdp_stage(ms_megatron_run *run) {
    const char *strategy = ms_megatron_value(run, "--data-parallel-sharding-strategy");
    for (int stage = 0; stage < 4; stage++) {
        if (strcmp(strategy == NULL ? MS_MEGATRON_STRATEGIES[0] : strategy,
                   MS_MEGATRON_STRATEGIES[stage]) == 0) {
            return stage;
        }
    }
    ms_megatron_fault(run, "--data-parallel-sharding-strategy",
                      "expected no_shard, optim, optim_grads or optim_grads_params, got '%s'",
                      strategy);
    return 0;
}

static int zero_of(ms_megatron_run *run) {
    if (ms_megatron_given(run, "--use-torch-fsdp2")) {
        return 3;
    }
    bool is_distributed = ms_megatron_given(run, "--use-distributed-optimizer");
    return is_fsdp(run) ? fsdp_stage(run) : is_distributed ? 1 : 0;
}

/* The stage that --zero-stage asks for; -1: the profile's, as in bf16, where stage 0 is an engine
 * of its own that shards the optimizer's state. Source: deepspeed/runtime/bf16_optimizer.py. */
static int deepspeed_stage(ms_megatron_run *run) {
    int stage = ms_megatron_count(run, "--zero-stage", 0, 0);
    if (stage > 3) {
        ms_megatron_fault(run, "--zero-stage", "expected a stage of ZeRO from 0 to 3, got %d",
                          stage);
    }
    return ms_megatron_given(run, "--fp16") || (stage > 1 && stage <= 3) ? stage : -1;
}

static const char FROM_ZERO[] = "--use-distributed-optimizer --use-megatron-fsdp --use-custom-fsdp "
                                "--use-torch-fsdp2 --data-parallel-sharding-strategy --zero-stage";

static void set_replicas(ms_megatron_run *run) {
    bool is_engines = run->has_zero && deepspeed_stage(run) < 0;
    int zero = run->has_zero ? deepspeed_stage(run) : zero_of(run);
    int copies = ms_megatron_count(run, "--num-distributed-optimizer-instances", 1, 1);
    if (!is_engines) {
        ms_megatron_set(run, "data_parallel.zero", FROM_ZERO, "%d", zero);
    }
    if (copies > 1) {
        ms_megatron_set(run, "data_parallel.copies", "--num-distributed-optimizer-instances", "%d",
                        copies);
    }
    bool overlaps_reduce = ms_megatron_given(run, "--overlap-grad-reduce");
    bool overlaps_gather = ms_megatron_given(run, "--overlap-param-gather");
    bool is_torch = ms_megatron_given(run, "--use-torch-fsdp2"); /* does both by itself */
    ms_megatron_set_bool(run, "data_parallel.overlap_reduce", "--overlap-grad-reduce",
                         overlaps_reduce || is_torch);
    ms_megatron_set_bool(run, "data_parallel.overlap_gather", "--overlap-param-gather",
                         zero > 0 && (overlaps_gather || is_torch));
    if (zero == 3 && ms_megatron_given(run, "--torch-fsdp2-no-reshard-after-forward")) {
        ms_megatron_set_bool(run, "data_parallel.keep_parameters",
                             "--torch-fsdp2-no-reshard-after-forward", true);
    }
    ms_megatron_set_pairs(run, MS_MEGATRON_DATA_PAIRS);
    if (is_fsdp(run) && zero < 2) { /* with more the profile's rule has no place */
        ms_megatron_set(run, "data_parallel.bucketing", "--use-megatron-fsdp", "layers");
    }
    int bucket = ms_megatron_count(run, "--ddp-bucket-size", 1, 0);
    if (bucket > 0 && overlaps_reduce) {
        bool is_short = strcmp(gradients_of(run, ms_megatron_given(run, "--fp16"),
                                            ms_megatron_given(run, "--bf16")),
                               "fp32") != 0;
        ms_megatron_set(run, "data_parallel.bucket", "--ddp-bucket-size", "%.15g B",
                        (is_short ? 2.0 : 4.0) * bucket);
    }
}

/* ---- layers ---- */

static void set_tensor(ms_megatron_run *run) {
    bool is_plain = run->experts == 0 && !ms_megatron_given(run, "--multi-latent-attention");
    bool has_pieces = ms_megatron_given(run, "--tp-comm-overlap") && run->has_sequence;
    if (run->tp > 1) {
        ms_megatron_set_bool(run, "tensor_parallel.sequence", "--sequence-parallel",
                             run->has_sequence);
    }
    if (has_pieces && is_plain) {
        ms_megatron_set(run, "tensor_parallel.overlap", "--tp-comm-overlap", "ring");
    } else if (has_pieces) {
        ms_megatron_differs(run, "--tp-comm-overlap",
                            "products of layers with experts or latents are not cut in pieces");
    }
}

/* The first type where layers have several; the two-level one is a ring here. */
static void set_context(ms_megatron_run *run) {
    const char *types = ms_megatron_value(run, "--cp-comm-type");
    size_t length = types == NULL ? 0 : strcspn(types, " ");
    if (run->cp <= 1) {
        return;
    }
    for (const ms_megatron_cp_type *row = MS_MEGATRON_CP_TYPES; row->type != NULL; row++) {
        bool is_kind = types == NULL
                           ? row == MS_MEGATRON_CP_TYPES
                           : strlen(row->type) == length && strncmp(types, row->type, length) == 0;
        if (is_kind) {
            ms_megatron_set(run, "context_parallel.kind", "--cp-comm-type", "%s", row->kind);
            if (row->why != NULL || (types != NULL && types[length] != '\0')) {
                ms_megatron_differs(run, "--cp-comm-type",
                                    row->why != NULL ? row->why : "all layers have the first type");
            }
            return;
        }
    }
    ms_megatron_fault(run, "--cp-comm-type", "expected p2p, a2a, allgather or a2a+p2p, got '%s'",
                      types);
}

void ms_megatron_set_data(ms_megatron_run *run) {
    set_tensor(run);
    set_context(run);
    set_replicas(run);
}

/* ---- recomputation ---- */

/* Parts that are repeated by themselves. */
static void set_parts(ms_megatron_run *run) {
    static const char *const MISSING[] = {"mlp", "moe", "shared_experts"};
    static const char NAME[] = "--recompute-modules";
    ms_buffer parts;
    ms_buffer_init(&parts);
    for (const ms_megatron_recomputed *row = MS_MEGATRON_RECOMPUTED; row->module != NULL; row++) {
        if (ms_megatron_lists(run, NAME, row->module)) {
            ms_buffer_printf(&parts, "%s%s", parts.length == 0 ? "" : ", ", row->part);
        }
    }
    bool has_core = !ms_megatron_given(run, NAME) || ms_megatron_lists(run, NAME, "core_attn");
    ms_megatron_set(run, "recompute", "--recompute-granularity --recompute-modules", "%s",
                    has_core ? "selective" : "none");
    if (parts.length > 0) {
        ms_megatron_set(run, "recompute_parts", NAME, "[%s]", ms_buffer_text(&parts));
    }
    for (size_t i = 0; i < sizeof MISSING / sizeof MISSING[0]; i++) {
        if (ms_megatron_lists(run, NAME, MISSING[i])) {
            ms_megatron_differs(run, NAME,
                                i == 0   ? "the dense MLP is not recomputed"
                                : i == 1 ? "the experts' layer is not recomputed"
                                         : "shared experts are not recomputed");
        }
    }
    ms_buffer_release(&parts);
}

/* Whole layers: all of them in units, or the first ones of each virtual stage. */
static void set_full(ms_megatron_run *run, const char *method_name, const char *count_name) {
    const char *method = ms_megatron_value(run, method_name);
    int count = ms_megatron_count(run, count_name, 0, 1);
    bool is_block = method != NULL && strcmp(method, "block") == 0;
    if (method != NULL && !is_block && strcmp(method, "uniform") != 0) {
        ms_megatron_fault(run, method_name, "expected uniform or block, got '%s'", method);
    }
    ms_megatron_set(run, "recompute",
                    "--recompute-granularity --checkpoint-activations "
                    "--recompute-method --activations-checkpoint-method",
                    "%s", is_block && count == 0 ? "none" : "full");
    if (is_block && count > 0) {
        ms_megatron_set(run, "recompute_layers",
                        "--recompute-num-layers --activations-checkpoint-num-layers", "%d", count);
    } else if (!is_block && count > 1) {
        ms_megatron_differs(run, count_name, "the input of every layer is kept, not of every unit");
    }
}

void ms_megatron_set_recompute(ms_megatron_run *run) {
    const char *granularity = ms_megatron_value(run, "--recompute-granularity");
    bool is_old = ms_megatron_given(run, "--checkpoint-activations") ||
                  ms_megatron_given(run, "--activations-checkpoint-method");
    if (granularity != NULL && strcmp(granularity, "full") == 0) {
        set_full(run, "--recompute-method", "--recompute-num-layers");
    } else if (granularity != NULL && strcmp(granularity, "selective") == 0) {
        set_parts(run);
    } else if (granularity != NULL) {
        ms_megatron_fault(run, "--recompute-granularity", "expected full or selective, got '%s'",
                          granularity);
    } else if (is_old) {
        set_full(run, "--activations-checkpoint-method", "--activations-checkpoint-num-layers");
    } else {
        bool is_selective = ms_megatron_given(run, "--recompute-activations");
        ms_megatron_set(run, "recompute", "--recompute-activations", "%s",
                        is_selective ? "selective" : "none");
    }
    if (ms_megatron_given(run, "--moe-layer-recompute")) {
        ms_megatron_differs(run, "--moe-layer-recompute", "the experts' layer is not recomputed");
    }
}

/* ---- buffers ---- */

static void add_word(ms_buffer *list, bool is_one, const char *word) {
    if (is_one) {
        ms_buffer_printf(list, "%s%s", list->length == 0 ? "" : ", ", word);
    }
}

/* What a run holds of what its software may, and what its arguments add. */
static void set_buffers(ms_megatron_run *run, bool is_local) {
    ms_buffer list;
    bool has_fused = !ms_megatron_given(run, "--no-gradient-accumulation-fusion");
    bool is_unfused = (is_local && !ms_megatron_given(run, "--use-flash-attn")) ||
                      ms_megatron_says(run, "--attention-backend", "unfused");
    bool is_ahead = is_fsdp(run) && ms_megatron_given(run, "--overlap-param-gather");
    ms_buffer_init(&list);
    add_word(&list, ms_megatron_given(run, "--moe-grouped-gemm"), "grouped_products");
    add_word(&list, run->has_sequence, "gather");
    add_word(&list, has_fused && (run->buffers & MS_BUFFER_WEIGHT_GRADIENTS), "weight_gradients");
    add_word(&list, is_local && is_unfused, "scores");
    add_word(&list, ms_megatron_given(run, "--fp16"), "main_gradients");
    add_word(&list, is_ahead, "prefetched_parameters");
    ms_megatron_set(run, "memory.buffers",
                    "--moe-grouped-gemm --no-gradient-accumulation-fusion --transformer-impl",
                    "[%s]", ms_buffer_text(&list));
    ms_buffer_release(&list);
}

/* What of a layer's activations modules give to the host. */
static void set_offload(ms_megatron_run *run) {
    ms_buffer list;
    ms_buffer_init(&list);
    for (const ms_megatron_offloaded *row = MS_MEGATRON_OFFLOADED; row->part != NULL; row++) {
        bool is_one = false;
        for (size_t j = 0; row->modules[j] != NULL; j++) {
            is_one = is_one || ms_megatron_lists(run, "--offload-modules", row->modules[j]);
        }
        add_word(&list, is_one, row->part);
    }
    ms_megatron_set(run, "memory.offload", "--fine-grained-activation-offloading --offload-modules",
                    "[%s]", ms_buffer_text(&list));
    ms_megatron_differs(run, "--fine-grained-activation-offloading",
                        "copies to the host and back take no time");
    ms_buffer_release(&list);
}

void ms_megatron_set_memory(ms_megatron_run *run) {
    bool is_local = ms_megatron_says(run, "--transformer-impl", "local");
    if (!run->is_old) {
        /* the products of a router are the engine's in any case */
        bool has_engine = !is_local || run->experts > 0;
        ms_megatron_set(run, "memory.libraries", "--transformer-impl", "%s",
                        has_engine ? "transformer_engine" : "torch");
        set_buffers(run, is_local);
    }
    if (ms_megatron_given(run, "--deterministic-mode")) {
        ms_megatron_set(run, "memory.cublas_workspace", "--deterministic-mode", "%d MiB",
                        MS_MEGATRON_DETERMINISTIC_MIB);
    }
    if (ms_megatron_given(run, "--fine-grained-activation-offloading")) {
        set_offload(run);
    }
}
