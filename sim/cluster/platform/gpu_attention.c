/* Reads the efficiencies of fused attention kernels of a GPU type, and interpolates them between
 * sizes of heads (gpu_attention.h, ms_attention_efficiency). */
#include "cluster/platform/gpu_attention.h"

#include <math.h>
#include <stddef.h>

/* Sizes of a head for which efficiencies are given [elements]. */
static const double WIDTHS[MS_HEAD_WIDTHS] = {64, 96, 128, 192, 256};

#define WIDTH_FIELD(width_, index_)                                                                \
    MS_KEY("d" #width_,                                                                            \
           "shares of the peak at heads of " #width_ " elements, forward and backward", NUMBERS,   \
           offsetof(ms_gpu_attention_shares, widths[index_]), MS_RANGE(1e-6, 1))

#define RAMP_FIELD                                                                                 \
    MS_KEY("ramp",                                                                                 \
           "keys whose time a row of queries takes besides, forward and backward [elements]",      \
           NUMBERS, offsetof(ms_gpu_attention_shares, ramp), MS_RANGE(0, 1e6))

#define SHARE_FIELDS                                                                               \
    RAMP_FIELD, WIDTH_FIELD(64, 0), WIDTH_FIELD(96, 1), WIDTH_FIELD(128, 2), WIDTH_FIELD(192, 3),  \
        WIDTH_FIELD(256, 4)

static const ms_field FP8_FIELDS[] = {SHARE_FIELDS, {.key = NULL}};

/* SHARE_FIELDS has offsets in ms_gpu_attention_shares. They are those of `working` here, because it
 * is the first member of ms_gpu_attention_text. */
static const ms_field KERNEL_FIELDS[] = {
    SHARE_FIELDS,
    MS_KEY("fp8",
           "the same of products in fp8, of the type's dense peak in it; one number: forward only",
           MAP, offsetof(ms_gpu_attention_text, fp8), .fields = FP8_FIELDS),
    {.key = NULL}};

#define KERNEL_FIELD(key_, kernel_)                                                                \
    MS_KEY((key_), "shares of the peak by the size of a head", MAP,                                \
           (kernel_) * sizeof(ms_gpu_attention_text), .fields = KERNEL_FIELDS)

const ms_field MS_GPU_ATTENTION_FIELDS[] = {
    KERNEL_FIELD("flash1", MS_ATTENTION_FLASH1), KERNEL_FIELD("flash2", MS_ATTENTION_FLASH2),
    KERNEL_FIELD("flash3", MS_ATTENTION_FLASH3), KERNEL_FIELD("cudnn", MS_ATTENTION_CUDNN),
    KERNEL_FIELD("triton", MS_ATTENTION_TRITON), {.key = NULL}};

/* Go through the given widths in ascending order, and move the result on to the next given width as
 * far as `width` reaches. Below the first and above the last given width their values hold. */
double ms_attention_efficiency(const ms_attention_rate *rate, double width) {
    double efficiency = 0, below = 0; /* at the width `below`, the last that was given */
    for (int i = 0; i < MS_HEAD_WIDTHS; i++) {
        if (rate->efficiency[i] <= 0) {
            continue;
        }
        if (efficiency > 0 && width > below) { /* on the line to the next width, at most there */
            double share = fmin((width - below) / (WIDTHS[i] - below), 1);
            efficiency += share * (rate->efficiency[i] - efficiency);
        } else if (efficiency <= 0) {
            efficiency = rate->efficiency[i];
        }
        below = WIDTHS[i];
    }
    return efficiency;
}

/* How pairs of numbers are checked. */
typedef struct pair_rules {
    const ms_node *mapping; /* `attention`, for diagnostics */
    ms_diag *diag;
    bool takes_one; /* the backward number may be left out */
} pair_rules;

/* Check a pair of numbers, forward and backward, and store it; numbers that are left out are 0.
 * Returns MS_OK; MS_E_INPUT (reported). */
static ms_status store_pair(const ms_numbers *pair, const pair_rules *rules, double out[2]) {
    bool is_one = rules->takes_one && pair->count == 1;
    if (pair->count != 0 && pair->count != 2 && !is_one) {
        return ms_config_fault(rules->diag, rules->mapping, "gpu.attention",
                               "expected two numbers for each, forward and backward%s, got %zu",
                               rules->takes_one ? ", or the forward one" : "", pair->count);
    }
    for (size_t i = 0; i < 2; i++) {
        out[i] = i < pair->count ? pair->items[i] : 0;
    }
    return MS_OK;
}

/* Store the ramp and the shares of all widths of one generation and format.  Returns MS_OK;
 * MS_E_INPUT (reported). */
static ms_status store_shares(const ms_gpu_attention_shares *text, const pair_rules *rules,
                              ms_attention_rate *forward_out, ms_attention_rate *backward_out) {
    double pair[2] = {0, 0};
    ms_status status = store_pair(&text->ramp, rules, pair);
    forward_out->ramp_keys = pair[0];
    backward_out->ramp_keys = pair[1];
    for (int i = 0; i < MS_HEAD_WIDTHS && status == MS_OK; i++) {
        status = store_pair(&text->widths[i], rules, pair);
        forward_out->efficiency[i] = pair[0];
        backward_out->efficiency[i] = pair[1];
    }
    return status;
}

/* The type's own fused kernel has one efficiency for all widths; the generations have pairs by
 * width. */
ms_status ms_gpu_attention_store(const ms_gpu_attention *text, const ms_node *mapping,
                                 ms_diag *diag, ms_gpu_type *gpu) {
    ms_status status = MS_OK;
    ms_attention_rates *own = &gpu->attention[MS_ATTENTION_FUSED];
    own->forward.efficiency[0] = text->own_forward; /* given at one width: it holds for all */
    own->backward.efficiency[0] = text->own_backward;
    const pair_rules both = {.mapping = mapping, .diag = diag},
                     any = {.mapping = mapping, .diag = diag, .takes_one = true};
    for (int kernel = MS_ATTENTION_FLASH1; kernel < MS_ATTENTION_COUNT && status == MS_OK;
         kernel++) {
        const ms_gpu_attention_text *keys = &text->kernels[kernel];
        ms_attention_rates *rates = &gpu->attention[kernel];
        status = store_shares(&keys->working, &both, &rates->forward, &rates->backward);
        status = status == MS_OK
                     ? store_shares(&keys->fp8, &any, &rates->fp8_forward, &rates->fp8_backward)
                     : status;
    }
    return status;
}
