/*
 * `fp32:`, `fp8:`, `mxfp8:` and `nvfp4:` of a GPU type: what products reach that are not in 16
 * bits.
 */
#ifndef MESHSIM_PLATFORM_GPU_PRODUCTS_H
#define MESHSIM_PLATFORM_GPU_PRODUCTS_H

#include "base/config/config.h"
#include "cluster/platform/platform.h"

/** The keys of one format, for a MS_FIELD_MAP at a ms_product_rate. */
extern const ms_field MS_GPU_PRODUCT_FIELDS[];

/** Those of `fp32`, of which there are no kinds of scales, casts or layouts. */
extern const ms_field MS_GPU_SINGLE_FIELDS[];

/** Check what was read, and let the type's own figures hold where a format is silent.
 * keys: the type's, for diagnostics.  Returns MS_OK; MS_E_INPUT. */
ms_status ms_gpu_products_take(const ms_node *keys, ms_diag *diag, ms_gpu_type *gpu);

#endif
