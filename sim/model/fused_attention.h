/*
 * Efficiency of fused attention by the generation of its kernel.
 */
#ifndef MESHSIM_MODEL_FUSED_ATTENTION_H
#define MESHSIM_MODEL_FUSED_ATTENTION_H

#include "model/internal.h"

/** What a fused kernel has to do in one direction. */
typedef struct ms_attention_shape {
    double rows;  /**< of queries (backward: of keys) of all heads, counted in those that meet all
                     keys (queries) */
    double meets; /**< keys (queries) that such a row meets on average, the mask taken off */
    double query_dim, value_dim; /**< of a head [elements] */
} ms_attention_shape;

/** Share of the peak that the model's kernel reaches: of a generation, each row pays for its start,
 * its end and its masked rest as if for ramp_keys more keys, and padding computes what nobody
 * wants. 0 < result <= 1. */
double ms_fused_attention_efficiency(const ms_cost_builder *builder, ms_attention_shape shape,
                                     bool is_backward);

/** Why the GPU type cannot run the model's attention kernel; NULL: it can. */
const char *ms_attention_missing(const ms_model *model, const ms_gpu_type *gpu);

#endif
