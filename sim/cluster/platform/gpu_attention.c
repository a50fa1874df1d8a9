/* `attention:` of a GPU type. */
#include "cluster/platform/gpu_attention.h"

#include <math.h>
#include <stddef.h>

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

/* The rates of 16 bits stand first in the struct. */
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

double ms_attention_efficiency(const ms_attention_rate *rate, double width) {
    double efficiency = 0, below = 0;
    for (int i = 0; i < MS_HEAD_WIDTHS; i++) {
        if (rate->efficiency[i] <= 0) {
            continue;
        }
        if (efficiency > 0 && width > below) {
            double share = fmin((width - below) / (WIDTHS[i] - below), 1);
            efficiency += share * (rate->efficiency[i] - efficiency);
        } else if (efficiency <= 0) {
            efficiency = rate->efficiency[i];
        }
        below = WIDTHS[i];
    }
    return efficiency;
}

/* What takes numbers of a generation, and whether the backward one may be missing. */
typedef struct taking {
    const ms_node *mapping;
    ms_diag *diag;
    bool takes_one;
} taking;

/* A pair, forward and backward. */
static ms_status take_pair(const ms_numbers *pair, const taking *t, double out[2]) {
    bool is_one = t->takes_one && pair->count == 1;
    if (pair->count != 0 && pair->count != 2 && !is_one) {
        return ms_config_fault(t->diag, t->mapping, "gpu.attention",
                               "expected two numbers for each, forward and backward%s, got %zu",
                               t->takes_one ? ", or the forward one" : "", pair->count);
    }
    for (size_t i = 0; i < 2; i++) {
        out[i] = i < pair->count ? pair->items[i] : 0;
    }
    return MS_OK;
}

static ms_status take_shares(const ms_gpu_attention_shares *text, const taking *t,
                             ms_attention_rate *forward_out, ms_attention_rate *backward_out) {
    double pair[2] = {0, 0};
    ms_status status = take_pair(&text->ramp, t, pair);
    forward_out->ramp_keys = pair[0];
    backward_out->ramp_keys = pair[1];
    for (int i = 0; i < MS_HEAD_WIDTHS && status == MS_OK; i++) {
        status = take_pair(&text->widths[i], t, pair);
        forward_out->efficiency[i] = pair[0];
        backward_out->efficiency[i] = pair[1];
    }
    return status;
}

ms_status ms_gpu_attention_take(const ms_gpu_attention *text, const ms_node *mapping, ms_diag *diag,
                                ms_gpu_type *gpu) {
    ms_status status = MS_OK;
    ms_attention_rates *own = &gpu->attention[MS_ATTENTION_FUSED];
    own->forward.efficiency[0] = text->own_forward; /* of one size: it holds for all */
    own->backward.efficiency[0] = text->own_backward;
    const taking both = {.mapping = mapping, .diag = diag},
                 any = {.mapping = mapping, .diag = diag, .takes_one = true};
    for (int kernel = MS_ATTENTION_FLASH1; kernel < MS_ATTENTION_COUNT && status == MS_OK;
         kernel++) {
        const ms_gpu_attention_text *keys = &text->kernels[kernel];
        ms_attention_rates *rates = &gpu->attention[kernel];
        status = take_shares(&keys->working, &both, &rates->forward, &rates->backward);
        status = status == MS_OK
                     ? take_shares(&keys->fp8, &any, &rates->fp8_forward, &rates->fp8_backward)
                     : status;
    }
    return status;
}
