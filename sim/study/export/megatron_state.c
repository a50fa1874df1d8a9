/* Precision, sharding, recomputation and buffers in Megatron-LM's arguments: what
 * study/import/megatron_state.c reads. */
#include <math.h>
#include <string.h>

#include "study/export/megatron.h"

/* ---- types ---- */

static void say_recipe(ms_megatron_export *x) {
    const char *products = ms_megatron_key(x, "precision.products");
    const char *scaling = ms_megatron_key(x, "precision.scaling");
    for (const ms_megatron_recipe *row = MS_MEGATRON_RECIPES; row->recipe != NULL; row++) {
        bool is_one = strcmp(row->products, products) == 0 &&
                      (row->scaling == NULL || strcmp(row->scaling, scaling) == 0);
        if (is_one) {
            ms_megatron_say(x, "--fp8-format", "hybrid");
            ms_megatron_say(x, "--fp8-recipe", "%s", row->recipe);
            return;
        }
    }
    ms_megatron_say(x, "--fp8-format", "hybrid"); /* scales of rows: no recipe has them */
}

static void say_products(ms_megatron_export *x, const ms_products *products) {
    if (products->format == MS_PRODUCT_NVFP4) {
        ms_megatron_say(x, "--fp4-format", "e2m1");
    } else {
        say_recipe(x);
    }
    if (products->first_plain_layers > 0 || products->last_plain_layers > 0) {
        ms_megatron_say_if(x, "--first-last-layers-bf16", true);
        ms_megatron_say(x, "--num-layers-at-start-in-bf16", "%d", products->first_plain_layers);
        ms_megatron_say(x, "--num-layers-at-end-in-bf16", "%d", products->last_plain_layers);
    }
    ms_megatron_say_if(x, "--fp8-dot-product-attention",
                       products->attention == MS_ATTENTION_FP8_DOT_PRODUCT ||
                           products->attention == MS_ATTENTION_FP8_MULTI_HEAD);
    ms_megatron_say_if(x, "--fp8-multi-head-attention",
                       products->attention == MS_ATTENTION_FP8_MULTI_HEAD);
    ms_megatron_say_if(x, "--no-fp8-wgrad", products->weight_gradients == MS_TYPE_OF_PARAMETERS);
    ms_megatron_say_if(x, "--tp-only-amax-red", products->amax == MS_AMAX_TENSOR);
    ms_megatron_say_if(x, "--fp8-param-gather", products->parameter_gathers == MS_TYPE_OF_PRODUCTS);
}

static bool is_close(double a, double b) {
    return fabs(a - b) < 1e-6;
}

/* Moments of Adam in types that together have so many bytes, alike if there are such; false: none.
 */
static bool say_moments(ms_megatron_export *x, double moments_B) {
    for (int pass = 0; pass < 2; pass++) {
        for (const ms_megatron_type *a = MS_MEGATRON_TYPES; a->type != NULL; a++) {
            for (const ms_megatron_type *b = MS_MEGATRON_TYPES; b->type != NULL; b++) {
                if (is_close(a->size_B + b->size_B, moments_B) && (pass == 1 || a == b)) {
                    ms_megatron_say(x, "--exp-avg-dtype", "%s", a->type);
                    ms_megatron_say(x, "--exp-avg-sq-dtype", "%s", b->type);
                    return true;
                }
            }
        }
    }
    return false;
}

/* What the optimizer keeps of a parameter. Adam with moments in fp32 is usual; with fewer bytes it
 * is the precision-aware one, which beside bf16 keeps half a master copy, and which an offloaded
 * optimizer is in any case; else SGD with a momentum. */
static void say_optimizer(ms_megatron_export *x, bool is_single, bool has_fsdp) {
    const ms_job_spec *spec = x->spec;
    double bytes = spec->precision.optimizer_B;
    double master_B = is_single && !has_fsdp ? 0 : 4;
    double half_B = spec->precision.parameters == MS_DTYPE_BF16 ? 2 : 4;
    bool is_usual = is_close(bytes, master_B + 8);
    bool may_be_aware = !is_single && spec->data.zero > 0;
    if (spec->data.is_offloaded && may_be_aware && is_usual) {
        ms_megatron_say_if(x, "--use-precision-aware-optimizer", true);
        return;
    }
    if (is_usual) {
        return;
    }
    if (may_be_aware && bytes - half_B >= 2 && bytes - half_B <= 8) {
        ms_megatron_say_if(x, "--use-precision-aware-optimizer", true);
        if (say_moments(x, bytes - half_B)) {
            return;
        }
    } else if (is_close(bytes, master_B + 4)) {
        ms_megatron_say(x, "--optimizer", "sgd");
    }
}

static void say_precision(ms_megatron_export *x, bool has_fsdp) {
    const ms_spec_precision *precision = &x->spec->precision;
    bool is_fp16 = precision->parameters == MS_DTYPE_FP16;
    bool is_bf16 = precision->parameters == MS_DTYPE_BF16;
    ms_megatron_say_if(x, "--bf16", is_bf16);
    ms_megatron_say_if(x, "--fp16", is_fp16);
    ms_megatron_say_if(x, "--accumulate-allreduce-grads-in-fp32",
                       is_fp16 && precision->gradients == MS_DTYPE_FP32);
    ms_megatron_say_if(x, "--grad-reduce-in-bf16",
                       is_bf16 && precision->gradients == MS_DTYPE_BF16);
    say_optimizer(x, !is_fp16 && !is_bf16, has_fsdp);
    if (precision->products.format != MS_PRODUCT_PLAIN) {
        say_products(x, &precision->products);
    }
}

/* ---- replicas ---- */

/* Zero 3 that keeps its parameters is PyTorch's FSDP2, all else from zero 2 on Megatron's own. */
static void say_sharding(ms_megatron_export *x, bool has_torch, bool has_fsdp) {
    const ms_spec_data *data = &x->spec->data;
    ms_megatron_say_if(x, "--use-torch-fsdp2", has_torch);
    ms_megatron_say_if(x, "--torch-fsdp2-no-reshard-after-forward", has_torch);
    ms_megatron_say_if(x, "--use-megatron-fsdp", has_fsdp);
    if (has_fsdp) {
        ms_megatron_say(x, "--data-parallel-sharding-strategy", "%s",
                        MS_MEGATRON_STRATEGIES[data->zero]);
    }
    ms_megatron_say_if(x, "--use-distributed-optimizer", data->zero > 0 && !has_torch);
    ms_megatron_say_count(x, "--num-distributed-optimizer-instances", data->copies, 1);
}

/* Parameters are gathered ahead only beside gradients that are reduced so: Megatron-LM asks for it.
 */
static void say_overlaps(ms_megatron_export *x, bool has_torch) {
    const ms_job_spec *spec = x->spec;
    const ms_spec_data *data = &spec->data;
    const double element_B = ms_dtype_B(spec->precision.gradients);
    double elements = data->bucket_B / element_B;
    bool is_whole = elements >= 1 && elements <= 1e9 && is_close(elements, floor(elements));
    if (has_torch) { /* does both by itself */
        return;
    }
    ms_megatron_say_if(x, "--overlap-grad-reduce", data->has_reduce_overlap);
    ms_megatron_say_if(x, "--overlap-param-gather",
                       data->zero > 0 && data->has_gather_overlap && data->has_reduce_overlap);
    bool has_size = data->bucketing != MS_BUCKETS_STAGES && data->bucketing != MS_BUCKETS_CAPPED;
    if (data->has_reduce_overlap && is_whole && has_size) {
        ms_megatron_say(x, "--ddp-bucket-size", "%.0f", elements);
    }
}

/* ---- recomputation ---- */

static void say_parts(ms_megatron_export *x, bool is_selective) {
    const ms_job_spec *spec = x->spec;
    ms_buffer modules;
    ms_buffer_init(&modules);
    ms_buffer_puts(&modules, is_selective ? "core_attn" : "");
    for (const ms_megatron_recomputed *row = MS_MEGATRON_RECOMPUTED; row->module != NULL; row++) {
        bool is_there = row->bit == MS_RECOMPUTE_ACTIVATIONS ? spec->model.moe.experts > 0
                        : row->bit == MS_RECOMPUTE_LATENT_UP ? spec->model.mla.kv_rank > 0
                                                             : true;
        if ((spec->recompute.parts & (unsigned)row->bit) != 0 && is_there) {
            ms_buffer_printf(&modules, "%s%s", modules.length == 0 ? "" : " ", row->module);
        }
    }
    if (modules.length > 0) {
        ms_megatron_say(x, "--recompute-granularity", "selective");
        ms_megatron_say(x, "--recompute-modules", "%s", ms_buffer_text(&modules));
    }
    x->lines.failed = x->lines.failed || modules.failed;
    ms_buffer_release(&modules);
}

static void say_recompute(ms_megatron_export *x) {
    const ms_spec_recompute *recompute = &x->spec->recompute;
    if (recompute->kind != MS_RECOMPUTE_FULL) {
        say_parts(x, recompute->kind == MS_RECOMPUTE_SELECTIVE);
        return;
    }
    ms_megatron_say(x, "--recompute-granularity", "full");
    ms_megatron_say(x, "--recompute-method", "%s", recompute->layers > 0 ? "block" : "uniform");
    ms_megatron_say(x, "--recompute-num-layers", "%d",
                    recompute->layers > 0 ? recompute->layers : 1);
}

/* ---- buffers ---- */

static void say_offload(ms_megatron_export *x) {
    ms_buffer modules;
    ms_buffer_init(&modules);
    for (const ms_megatron_offloaded *row = MS_MEGATRON_OFFLOADED; row->part != NULL; row++) {
        bool is_one = (x->spec->offloaded & (unsigned)row->bit) != 0;
        for (int i = 0; is_one && row->modules[i] != NULL; i++) {
            ms_buffer_printf(&modules, "%s%s", modules.length == 0 ? "" : " ", row->modules[i]);
        }
    }
    if (modules.length > 0) {
        ms_megatron_say_if(x, "--fine-grained-activation-offloading", true);
        ms_megatron_say(x, "--offload-modules", "%s", ms_buffer_text(&modules));
    }
    x->lines.failed = x->lines.failed || modules.failed;
    ms_buffer_release(&modules);
}

void ms_megatron_say_state(ms_megatron_export *x) {
    const ms_spec_data *data = &x->spec->data;
    bool has_torch = data->zero == 3 && data->keeps_parameters;
    bool has_fsdp = data->zero >= 2 && !has_torch;
    say_precision(x, has_fsdp);
    say_sharding(x, has_torch, has_fsdp);
    say_overlaps(x, has_torch);
    ms_megatron_say_pairs(x, MS_MEGATRON_DATA_PAIRS);
    say_recompute(x);
    say_offload(x);
    ms_megatron_say_if(x, "--deterministic-mode",
                       is_close(x->spec->framework_memory.cublas_B,
                                MS_MEGATRON_DETERMINISTIC_MIB * 1024.0 * 1024.0));
}
