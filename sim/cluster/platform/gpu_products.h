/* Keys `fp32`, `fp8`, `mxfp8` and `nvfp4` of a GPU type: the rates of matrix products whose
 * operands do not have 16 bits. */
#ifndef MESHSIM_PLATFORM_GPU_PRODUCTS_H
#define MESHSIM_PLATFORM_GPU_PRODUCTS_H

#include "base/config/config.h"
#include "cluster/platform/platform.h"

/** The keys of one format, for a MS_FIELD_MAP whose struct is a ms_product_rate. */
extern const ms_field MS_GPU_PRODUCT_FIELDS[];

/** The keys of `fp32`, which has no kinds of scales, casts or layouts. */
extern const ms_field MS_GPU_SINGLE_FIELDS[];

/** Check the rates of all formats, and fill in the type's own figures where a format has none.
 *  keys: mapping of the GPU type, for diagnostics.  Returns MS_OK; MS_E_INPUT (reported). */
ms_status ms_gpu_products_complete(const ms_node *keys, ms_diag *diag, ms_gpu_type *gpu);

#endif
