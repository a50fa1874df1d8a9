/* Reads the key `attention` of a GPU type: the efficiency of each generation of fused attention
 * kernels by the size of a head. */
#ifndef MESHSIM_PLATFORM_GPU_ATTENTION_H
#define MESHSIM_PLATFORM_GPU_ATTENTION_H

#include "base/config/config.h"
#include "cluster/platform/platform.h"

/** The keys of a generation of attention kernels in one format: pairs of numbers, forward and
 * backward. */
typedef struct ms_gpu_attention_shares {
    ms_numbers ramp;                   /**< as ms_attention_rate.ramp_keys */
    ms_numbers widths[MS_HEAD_WIDTHS]; /**< by size of a head, shares of the peak */
} ms_gpu_attention_shares;

/** The keys of one generation of attention kernels, such as `flash2`. */
typedef struct ms_gpu_attention_text {
    ms_gpu_attention_shares working; /**< in 16 bits */
    ms_gpu_attention_shares fp8;     /**< in fp8; the backward number may be left out */
} ms_gpu_attention_text;

/** The keys of all generations of attention kernels, and those of the type's own fused kernel. */
typedef struct ms_gpu_attention {
    double own_forward, own_backward; /**< attention_efficiency, attention_backward_efficiency */
    ms_gpu_attention_text kernels[MS_ATTENTION_COUNT];
} ms_gpu_attention;

/** The keys below `attention`, for a MS_FIELD_MAP whose struct is the array `kernels`. */
extern const ms_field MS_GPU_ATTENTION_FIELDS[];

/** Check the values of the keys and store them in the GPU type.
 *  mapping: for diagnostics; NULL: not given.  Returns MS_OK; MS_E_INPUT (reported). */
ms_status ms_gpu_attention_store(const ms_gpu_attention *text, const ms_node *mapping,
                                 ms_diag *diag, ms_gpu_type *gpu);

#endif
