/*
 * An attention in fp8: what is cast around its kernel, and what is kept of it.
 */
#ifndef MESHSIM_MODEL_ATTENTION_CASTS_H
#define MESHSIM_MODEL_ATTENTION_CASTS_H

#include "model/internal.h"

/** Add what stands before the fused kernel of an attention in fp8: casts of q, k and v, or of the
 * gradient of its result. */
void ms_cost_attention_casts(ms_cost_builder *builder, const ms_core *core, bool is_backward);
/** Add what stands behind it: casts back of its result, or of the gradients of q, k and v. */
void ms_cost_attention_casts_back(ms_cost_builder *builder, const ms_core *core, bool is_backward);
/** Bytes of an element of what an attention in fp8 writes [B]. */
double ms_attention_result_B(const ms_cost_builder *builder);
/** Bytes of an element of q, k and v as the attention keeps them for its backward pass [B]. */
double ms_kept_operand_B(const ms_cost_builder *builder);
/** Bytes of an element of the attention's result, as itself and the projection behind it keep it
 * together [B]. */
double ms_kept_context_B(const ms_cost_builder *builder);

#endif
