/*
 * Multi-head latent attention: queries, and keys with values, pass through a narrow latent.
 *
 * Source: DeepSeek-AI 2024, DeepSeek-V2, arXiv:2405.04434, section 2.1, in the form for training:
 * keys and values are expanded to all heads.  With tensor parallelism the products into the latents
 * are on every rank, those out of them split by heads, as Megatron Core has it.
 */
#ifndef MESHSIM_MODEL_MLA_H
#define MESHSIM_MODEL_MLA_H

#include "model/internal.h"

/** Whether a model's attention is latent. */
bool ms_is_mla(const ms_model *model);

/** Size of a head's query and key [elements]. */
double ms_mla_query_dim(const ms_model *model);

/** Widths of the products of one layer on a rank [elements]. */
typedef struct ms_mla_width {
    double down;     /**< into both latents, the shared rotary key included */
    double query_in; /**< rows of the product that makes the queries */
    double query;    /**< columns of the product that makes the queries */
    double expanded; /**< columns of the product out of the latent of keys and values */
    double context;  /**< columns of the attention's output */
} ms_mla_width;

/** The widths of the products with `heads` heads on a rank; 0 heads: only `down` and `query_in`
 * count. */
ms_mla_width ms_mla_width_of(const ms_model *model, double heads);

/** Parameters of one layer's attention on one rank, latent norms included, without the layer's own
 * norm [count]. */
double ms_mla_parameters(const ms_model *model, const ms_shard *shard);
/** Parameters of latent attention that are not split over tp [count]. */
double ms_mla_replicated_parameters(const ms_model *model);
/** Weights of the products of one layer's attention in the whole model, each met by every token
 * [count]. */
double ms_mla_weights(const ms_model *model);
/** Weights of the products out of the latents in one layer of the whole model [count]. */
double ms_mla_up_weights(const ms_model *model);

/** The attention core on one rank. In a ring, and when gathered, context-parallel ranks exchange
 * the latent of keys and values with its rotary part, and each rank makes keys and values from
 * what it receives (decision note layer.md). */
ms_core ms_mla_core(const ms_model *model, const ms_shard *shard);

/** Bytes per microbatch that the attention half keeps, besides those of ms_core_activation_B [B].
 * moved_B: those that the pass which repeats the products out of the latents makes again. Source:
 * tensor by tensor as in memory.c. */
ms_kept_bytes ms_mla_kept(const ms_cost_builder *builder);

/** Add the attention half of a layer, its collectives included. parts: MS_PART_FORWARD alone, or
 * backward bits. */
void ms_cost_mla(ms_cost_builder *builder, unsigned parts);

#endif
