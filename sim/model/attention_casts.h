/* Attention in fp8: the casts around its kernel, and the elements that are kept for the backward
 * pass. */
#ifndef MESHSIM_MODEL_ATTENTION_CASTS_H
#define MESHSIM_MODEL_ATTENTION_CASTS_H

#include "model/internal.h"

/** Whether the products of fused attention multiply in fp8 in the layer being added. */
bool ms_has_fp8_attention(const ms_cost_builder *builder, bool is_backward);
/** Whether the output projection behind an attention in fp8 takes the attention's result in fp8
 * without a cast, and computes the result's gradient in fp8. */
bool ms_attention_gives_fp8(const ms_cost_builder *builder);
/** Whether an attention in fp8 takes q, k and v in fp8 from the qkv product without a cast, and
 * returns their gradients in fp8. */
bool ms_attention_takes_fp8(const ms_cost_builder *builder);
/** Add the casts before the fused kernel of an attention in fp8: of q, k and v in the forward pass,
 * of the result's gradient in the backward pass. */
void ms_cost_attention_casts(ms_cost_builder *builder, const ms_core *core, bool is_backward);
/** Add the casts behind the fused kernel back to 16 bits: of the result in the forward pass, of the
 * gradients of q, k and v in the backward pass. */
void ms_cost_attention_casts_back(ms_cost_builder *builder, const ms_core *core, bool is_backward);
/** Bytes of each element that a fused attention kernel whose products are in fp8 writes: those of
 * fp8 where the kernel casts its result itself, else those of the working type [B]. */
double ms_attention_result_B(const ms_cost_builder *builder);
/** Bytes of an element of q, k and v as the attention keeps them for its backward pass [B]. */
double ms_kept_operand_B(const ms_cost_builder *builder);
/** Bytes per element of the attention's result that the attention and the output projection behind
 * it keep together for the backward pass [B]. */
double ms_kept_context_B(const ms_cost_builder *builder);

#endif
