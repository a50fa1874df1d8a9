/*
 * Mixture-of-experts layers: loads of experts and ranks, parameters, memory, and costs of the half.
 *
 * A token goes to top_k experts, which makes top_k copies of it. Every rank of an expert-parallel
 * (ep) group holds experts / ep of the experts and sends the copies of its own tokens to them. With
 * tensor parallelism every tp rank sends the copies of the tokens it holds, and the experts' inner
 * size is split over tp.
 */
#ifndef MESHSIM_MODEL_MOE_H
#define MESHSIM_MODEL_MOE_H

#include "model/internal.h"

/** Copies of one microbatch's tokens, per rank of an ep group [count]. */
typedef struct ms_moe_load {
    double sent;    /**< copies a rank sends, padding included: also the mean a rank receives */
    double busiest; /**< copies the busiest rank receives */
} ms_moe_load;

/** Expert-parallel degree, at least 1. */
int ms_ep_of(const ms_model_layout *layout);

/** Ranks that share an expert and hold different tokens. Each of them computes its part of the
 * expert for the tokens of all, which are gathered. At least 1. */
double ms_moe_gather_ranks(const ms_model_layout *layout);

/** How often experts are chosen in one layer, relative to their mean. popularity_out: [experts],
 * with the sum `experts`; all 1 without imbalance. The same for a (seed, layer) on every layout. */
void ms_moe_popularity(const ms_moe *moe, int layer, double *popularity_out);

/** Copies of `tokens` tokens of one rank that each expert receives. popularity: [experts], of
 * ms_moe_popularity; overwritten by the copies. Without a capacity factor the copies sum to tokens
 * * top_k: an expert that every token has chosen hands its excess on to the others. With one, an
 * expert takes ceil(capacity_factor * tokens * top_k / experts) at most, and the rest is dropped.
 * Returns the sum. Source of the capacity: Lepikhin et al. 2020, GShard, arXiv:2006.16668, section
 * 2.2. */
double ms_moe_copies(const ms_moe *moe, double tokens, double *popularity);

/** Copies that the ranks of an ep group send and receive of `tokens` tokens each.
 *  scratch: [experts].  O(experts^2) at worst, O(experts) without bounds hit. */
ms_moe_load ms_moe_load_of(const ms_moe *moe, int layer, int ep, double tokens, double *scratch);

/** Loads of all layers and MTP modules.
 *  *loads_out: in the builder's arena; NULL without experts.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_moe_loads_new(const ms_cost_builder *builder, const ms_moe_load **loads_out);

/** Expected numbers of nodes, and of ranks on them, that hold at least one of a token's experts. */
typedef struct ms_moe_reach {
    double nodes, ranks; /**< expected [count] */
} ms_moe_reach;

/** Reach of a token whose experts are any top_k of those on min(node_limit, nodes) nodes of an ep
 * group of nodes * node_ranks ranks; node_limit 0: of all nodes. Source: 1 - C(E - g, k) / C(E, k)
 * is the probability that a group of g of E experts has at least one of k; the limit: DeepSeek-AI
 * 2024, DeepSeek-V3, arXiv:2412.19437, section 2.1.2. */
ms_moe_reach ms_moe_reach_of(const ms_moe *moe, int nodes, int node_ranks);

/** Parameters of one layer's routed experts on one rank [count]. */
double ms_moe_expert_parameters(const ms_model *model, const ms_model_layout *layout);
/** Parameters of one layer's router and shared experts on one rank [count]. */
double ms_moe_shared_parameters(const ms_model *model, const ms_shard *shard);
/** Weights that one token meets in the MLP half of a layer of the whole model [count]: router,
 * top_k and shared experts. */
double ms_moe_active_weights(const ms_model *model);

/** Bytes per microbatch that the MLP half of a layer keeps on the busiest rank, norm included [B].
 * Source: tensor by tensor as in memory.c. */
double ms_moe_kept_B(const ms_cost_builder *builder, const ms_moe_load *load);
/** Bytes per microbatch kept for the copies of tokens: received copies and the experts' inner
 * tensors [B]. */
double ms_moe_copies_kept_B(const ms_cost_builder *builder, const ms_moe_load *load);
/** Bytes that exist during a pass only: copies as they arrive and as they are sorted, and gradients
 * of the experts' inner tensors [B]. */
double ms_moe_working_B(const ms_cost_builder *builder, const ms_moe_load *load);

/** Add the MLP half of a mixture-of-experts layer, collectives included. */
void ms_cost_moe(ms_cost_builder *builder, unsigned parts);

/** A degree over whose ranks a size is split, and the words of a message about it. */
typedef struct ms_split {
    const char *name; /**< of the degree, such as "tensor-parallel degree" */
    int degree;
    const char *verb; /**< such as "fit", for the message "NAME 'N' does not VERB SIZE WHAT" */
    int size;
    const char *what; /**< things that the size counts, such as "attention heads" */
    bool is_shared;   /**< the degree may be a multiple of the size: ranks then hold the same */
} ms_split;

/** Refuse a degree that does not split its size, with the nearest degrees that do. */
ms_status ms_check_split(ms_diag *diag, const ms_split *split);
/** MS_E_INPUT if one of [count] statuses is no success, else MS_OK. */
ms_status ms_any_fault(const ms_status *found, size_t count);

/** Refuse degrees that do not fit the experts of a model. */
ms_status ms_moe_check(const ms_model *model, const ms_model_layout *layout, ms_diag *diag);

#endif
