/*
 * `attention:` of a GPU type: what generations of fused kernels reach.
 */
#ifndef MESHSIM_PLATFORM_GPU_ATTENTION_H
#define MESHSIM_PLATFORM_GPU_ATTENTION_H

#include "base/config/config.h"
#include "cluster/platform/platform.h"

/** The keys of a generation of attention kernels in one format: pairs of numbers, forward and
 * backward. */
typedef struct ms_gpu_attention_shares {
    ms_numbers ramp;
    ms_numbers widths[MS_HEAD_WIDTHS];
} ms_gpu_attention_shares;

/** The keys of one generation of attention kernels, such as `flash2`. */
typedef struct ms_gpu_attention_text {
    ms_gpu_attention_shares working; /**< in 16 bits */
    ms_gpu_attention_shares fp8;     /**< the forward number may stand alone */
} ms_gpu_attention_text;

/** The keys of all generations of attention kernels, and those of the type's own fused kernel. */
typedef struct ms_gpu_attention {
    double own_forward, own_backward; /**< attention_efficiency, attention_backward_efficiency */
    ms_gpu_attention_text kernels[MS_ATTENTION_COUNT];
} ms_gpu_attention;

/** The keys, for a MS_FIELD_MAP at `kernels`. */
extern const ms_field MS_GPU_ATTENTION_FIELDS[];

/** Check what was read and put it into the type.
 * mapping: for diagnostics; NULL: not given.  Returns MS_OK; MS_E_INPUT. */
ms_status ms_gpu_attention_take(const ms_gpu_attention *text, const ms_node *mapping, ms_diag *diag,
                                ms_gpu_type *gpu);

#endif
