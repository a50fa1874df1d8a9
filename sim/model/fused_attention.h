/*
 * Efficiency of fused attention by the generation of its kernel.
 */
#ifndef MESHSIM_MODEL_FUSED_ATTENTION_H
#define MESHSIM_MODEL_FUSED_ATTENTION_H

#include "model/internal.h"

/** The size of a fused attention call in one direction. Forward the kernel goes through rows of
 * queries, backward through columns of keys. */
typedef struct ms_attention_shape {
    double rows;  /**< rows over all sequences and heads, counted in full ones, which attend to all
                     keys; backward: columns that all queries attend to [count] */
    double meets; /**< keys that a row attends to on average under the masks; backward: queries
                     that attend to a column [count] */
    double query_dim, value_dim; /**< of a head [elements] */
} ms_attention_shape;

/** Share of the peak of 16 bits that the model's attention kernel reaches. Each row costs as much
 * time as if it met ramp_keys more keys, for its start, its end and masked blocks; padding of heads
 * is computed in vain; and SMs idle at the end of a call. Above 0; in fp8 it can be above 1. */
double ms_fused_attention_efficiency(const ms_cost_builder *builder, ms_attention_shape shape,
                                     bool is_backward);

/** Why the GPU type cannot run the model's attention kernel; NULL: it can. */
const char *ms_attention_missing(const ms_model *model, const ms_gpu_type *gpu);

#endif
