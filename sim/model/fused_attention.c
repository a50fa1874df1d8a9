/* Efficiency of fused attention kernels by their generation (FlashAttention 1 to 3, cuDNN, Triton,
 * or the GPU type's own figures), and which heads, GPUs and number formats each of them runs
 * with. */
#include "model/fused_attention.h"
#include "model/attention_casts.h"

#include <math.h>
#include <stddef.h>

/* Sizes of heads that a generation has kernels for [elements], 0 behind the last; other heads are
 * padded to the next size. MS_ATTENTION_FUSED, the GPU type's own kernel, is taken to have every
 * size. Source: HazyResearch flash-attention 1.0, csrc/flash_attn (16, 32, 64, 128); Dao-AILab
 * flash-attention 2, csrc/flash_attn/src (multiples of 32), and its port to Triton, flash_attn
 * (powers of two up to 128); its hopper folder (64 to 256); NVIDIA cuDNN, scaled dot product
 * attention (multiples of 8 up to 256). */
static const int SIZES_1[] = {16, 32, 64, 128, 0};
static const int SIZES_2[] = {32, 64, 96, 128, 160, 192, 224, 256, 0};
static const int SIZES_3[] = {64, 96, 128, 192, 256, 0};
enum { CUDNN_STEP = 8, CUDNN_MAX = 256 };

/* Size of a head as the kernel computes it, padded to the next size that it has [elements]; 0: it
 * has none that large. */
static double padded(ms_attention_kernel kernel, double width) {
    if (kernel == MS_ATTENTION_FUSED) {
        return width;
    }
    if (kernel == MS_ATTENTION_CUDNN) {
        return width > CUDNN_MAX ? 0 : CUDNN_STEP * ceil(width / CUDNN_STEP);
    }
    bool is_first = kernel == MS_ATTENTION_FLASH1 || kernel == MS_ATTENTION_TRITON;
    const int *sizes = is_first ? SIZES_1 : kernel == MS_ATTENTION_FLASH2 ? SIZES_2 : SIZES_3;
    while (*sizes > 0 && *sizes < width) {
        sizes++;
    }
    return *sizes;
}

/* Sizes of a head's query (and key) and of its value [elements]. */
typedef struct head_size {
    double query, value;
} head_size;

/* Padded sizes of a head. The first two generations, and the port to Triton, have queries and
 * values of one size: the smaller is padded to the larger. */
static head_size padded_head(ms_attention_kernel kernel, double query, double value) {
    bool is_one = kernel != MS_ATTENTION_FUSED && kernel != MS_ATTENTION_FLASH3 &&
                  kernel != MS_ATTENTION_CUDNN;
    return (head_size){.query = padded(kernel, is_one ? fmax(query, value) : query),
                       .value = padded(kernel, is_one ? fmax(query, value) : value)};
}

/* Mean width of the products of a call: forward one of query and one of value width; backward three
 * and two (source in attention_core.c). */
static double mean_width(double query, double value, bool is_backward) {
    return is_backward ? (3 * query + 2 * value) / 5 : (query + value) / 2;
}

/* Efficiency of a fused attention call after the loss at its end. rows: as of ms_attention_shape.
 * best: efficiency of an endless call. SMs that run out of blocks of rows wait for the last blocks,
 * which under a causal mask are the longest: up to sms - 1 of them lose the share `tail` of such a
 * block's time. Source: work split of Dao, FlashAttention-2, arXiv:2307.08691, section 3.2, 128
 * rows a block; tail fitted to 12 shapes each way measured on an A100 PCIe (SimuMax, system file
 * a100_pcie): mean absolute error 5 % forward, 8 % backward. */
static double with_tail(const ms_gpu_type *gpu, double rows, double best, bool is_backward) {
    const double BLOCK_ROWS = 128, TAIL = 0.75, BACKWARD_TAIL = 0.15;
    double blocks = rows / BLOCK_ROWS, tail = is_backward ? BACKWARD_TAIL : TAIL;
    return best * blocks / (blocks + tail * (gpu->sms - 1));
}

/* Figures of the model's kernel in one direction. peaks: the peak that they are shares of (fp8's,
 * for fp8) over the peak of 16 bits, both at the clocks that the power limit leaves. */
typedef struct direction_rate {
    const ms_attention_rate *rate;
    double peaks;
} direction_rate;

/* The figures of the model's kernel in one direction, in fp8 where the layer being added multiplies
 * attention in it. */
static direction_rate rate_of(const ms_cost_builder *builder, bool is_backward) {
    const ms_gpu_type *gpu = builder->gpu;
    bool is_fp8 = ms_has_fp8_attention(builder, is_backward);
    const ms_attention_rates *rates = &gpu->attention[builder->model->attention];
    const ms_attention_rate *forward = is_fp8 ? &rates->fp8_forward : &rates->forward;
    const ms_attention_rate *backward = is_fp8 ? &rates->fp8_backward : &rates->backward;
    const ms_product_rate *fp8 = &gpu->products.of[MS_PRODUCT_FP8];
    double peaks =
        fp8->peak_flop_per_s * fp8->sustained_clock / (gpu->peak_flop_per_s * gpu->clock.sustained);
    return (direction_rate){.rate = is_backward ? backward : forward, .peaks = is_fp8 ? peaks : 1};
}

/* Share of the peak that a fused attention call reaches: a product of four shares. These are the
 * kernel's best one at the padded width, the part of that width that is no padding, the loss at the
 * start and end of rows (keys met over these and ramp_keys more), and the tail. */
double ms_fused_attention_efficiency(const ms_cost_builder *builder, ms_attention_shape shape,
                                     bool is_backward) {
    ms_attention_kernel kernel = builder->model->attention;
    direction_rate found = rate_of(builder, is_backward);
    const ms_attention_rate *rate = found.rate;
    head_size head = padded_head(kernel, shape.query_dim, shape.value_dim);
    double width = mean_width(head.query, head.value, is_backward);
    double unpadded = mean_width(shape.query_dim, shape.value_dim, is_backward) / width;
    double ramped = shape.meets / (shape.meets + rate->ramp_keys);
    double best = found.peaks * ms_attention_efficiency(rate, width) * unpadded * ramped;
    return with_tail(builder->gpu, shape.rows, best, is_backward);
}

/* Sizes of a head of the model, of latent attention in its expanded form. */
static head_size head_of(const ms_model *model) {
    bool is_latent = model->mla.kv_rank > 0;
    return (head_size){.query =
                           is_latent ? model->mla.qk_nope + model->mla.qk_rope : model->head_dim,
                       .value = is_latent ? model->mla.v_dim : model->head_dim};
}

/* Why a GPU type cannot run the model's attention kernel; NULL: it can. A kernel needs figures in
 * the GPU type for both directions, a window where the model has one, and heads of the model's
 * size. */
const char *ms_attention_missing(const ms_model *model, const ms_gpu_type *gpu) {
    ms_attention_kernel kernel = model->attention;
    if (kernel == MS_ATTENTION_UNFUSED) {
        return NULL;
    }
    const ms_attention_rates *rates = &gpu->attention[kernel];
    if (ms_attention_efficiency(&rates->forward, 1) <= 0 ||
        ms_attention_efficiency(&rates->backward, 1) <= 0) {
        return "the GPU type has no figures for it";
    }
    bool is_first = kernel == MS_ATTENTION_FLASH1 || kernel == MS_ATTENTION_TRITON;
    if (is_first && model->window > 0) {
        return "its generation has no window"; /* FlashAttention has it since 2.3 */
    }
    head_size wanted = head_of(model);
    head_size head = padded_head(kernel, wanted.query, wanted.value);
    return head.query <= 0 || head.value <= 0 ? "it has no kernel for heads of that size" : NULL;
}

/* Whether the kernel multiplies in fp8 with heads of the model's size, both ways for cuDNN. Source:
 * Transformer Engine, nvte_get_fused_attn_backend (sm90 trains heads of 128, sm100 heads up to 128
 * and, from cuDNN 9.21 on, of 192 and 128, all multiples of 16). FlashAttention 3's forward kernel:
 * its hopper folder (64, 128, 256). */
static bool has_fp8_head(const ms_model *model, const ms_gpu_type *gpu) {
    head_size head = head_of(model);
    if (model->attention == MS_ATTENTION_FLASH3) {
        return head.query == head.value &&
               (head.query == 64 || head.query == 128 || head.query == 256);
    }
    if (gpu->generation < MS_GENERATION_BLACKWELL) {
        return head.query == 128 && head.value == 128;
    }
    return fmod(head.query, 16) == 0 && fmod(head.value, 16) == 0 && head.query <= 192 &&
           head.value <= 128 && (head.query <= 128 || head.value == 128);
}

/* Why the fp8 recipe (formats and scaling of products) rules out attention in fp8, for a message;
 * NULL: it does not. Source: Transformer Engine, Float8BlockScaling (no fp8_dpa),
 * get_attention_backend (current scaling from sm100 on), MultiheadAttention (no fp8 between modules
 * under current scaling). */
static const char *recipe_against(const ms_products *products, const ms_gpu_type *gpu) {
    bool is_current = products->scaling == MS_SCALING_CURRENT;
    if (products->format != MS_PRODUCT_FP8) {
        return "it is part of the recipe of fp8: set 'precision.products: fp8'";
    }
    if (products->scaling != MS_SCALING_DELAYED && !is_current) {
        return "its scales are of whole tensors: set 'precision.scaling' to delayed or current";
    }
    if (is_current && gpu->generation < MS_GENERATION_BLACKWELL) {
        return "under current scaling there are kernels for Blackwell only: set "
               "'precision.scaling: delayed'";
    }
    if (is_current && products->attention == MS_ATTENTION_FP8_MULTI_HEAD) {
        return "under current scaling products hand on the working type: set fp8_dot_product";
    }
    return NULL;
}

/* Why the GPU or the kernel rules out attention in fp8, for a message; NULL: neither does. */
static const char *kernel_against(const ms_model *model, const ms_products *products,
                                  const ms_gpu_type *gpu) {
    const ms_attention_rates *rates = &gpu->attention[model->attention];
    if (model->attention == MS_ATTENTION_UNFUSED) {
        return "only fused kernels multiply in it: 'model.attention' is unfused";
    }
    if (ms_attention_efficiency(&rates->fp8_forward, 1) <= 0) {
        return "the GPU type has no figures in fp8 for the kernel that 'model.attention' names";
    }
    if (products->attention != MS_ATTENTION_FP8_FORWARD &&
        ms_attention_efficiency(&rates->fp8_backward, 1) <= 0) {
        return "the kernel that 'model.attention' names has no backward pass in fp8; fp8_forward "
               "leaves that in the working type";
    }
    return has_fp8_head(model, gpu) ? NULL : "there is no kernel in fp8 for heads of that size";
}

/* Why attention cannot multiply in fp8 as asked; NULL: it can. The recipe is checked before the
 * kernel, and both before parts of sequences, which are not built. */
const char *ms_attention_format_against(const ms_model *model, const ms_model_layout *layout,
                                        const ms_products *products, const ms_gpu_type *gpu) {
    if (products->attention == MS_ATTENTION_IN_PARAMETERS) {
        return NULL;
    }
    const char *against = recipe_against(products, gpu);
    against = against != NULL ? against : kernel_against(model, products, gpu);
    if (against == NULL && (model->window > 0 || model->has_alibi)) {
        /* Transformer Engine, get_attention_backend and nvte_get_fused_attn_backend */
        against = "its kernels have neither a window nor linear biases";
    }
    if (against == NULL && (layout->cp > 1 || layout->slices > 1)) {
        against = "with parts of sequences (cp, or slices of a schedule) it is not built";
    }
    return against;
}
