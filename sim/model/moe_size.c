/* Parameters and memory of mixture-of-experts layers, the degrees that fit their sizes, and the
 * check of any degree against the size that it splits (ms_check_split). */
#include <stdio.h>

#include "model/moe.h"

/* Weight matrices of an expert: three with a gate, else two. */
static double matrices_of(const ms_model *model) {
    return model->is_gated ? 3 : 2;
}

/* Ranks that share an expert and hold different tokens: tp ranks do so with sequence parallelism,
 * and ranks of an expert mesh always. */
double ms_moe_gather_ranks(const ms_model_layout *layout) {
    bool is_split = layout->expert_mesh.tp > 0 || layout->has_sequence_parallel;
    return is_split ? ms_expert_tp(layout) : 1;
}

/* Parameters of one layer's routed experts on one rank: experts are spread over ep, and each over
 * tp. */
double ms_moe_expert_parameters(const ms_model *model, const ms_model_layout *layout) {
    const ms_moe *moe = &model->moe;
    double width = moe->ffn / ms_expert_tp(layout);
    double biases = ms_has_bias(model, MS_BIAS_EXPERTS)
                        ? (matrices_of(model) - 1) * width + model->hidden
                        : 0; /* biases behind the second product are not split over tp */
    return (matrices_of(model) * model->hidden * width + biases) * moe->experts / ms_ep_of(layout);
}

/* Parameters of one layer's router and shared experts on one rank; tp splits the latter only. */
double ms_moe_shared_parameters(const ms_model *model, const ms_shard *shard) {
    const ms_moe *moe = &model->moe;
    double width = (double)moe->shared_experts * moe->shared_ffn / shard->tp;
    double router = (double)moe->experts * (model->hidden + (moe->has_router_bias ? 1 : 0));
    router += moe->parts.has_shared_gate ? model->hidden : 0;
    return router + matrices_of(model) * model->hidden * width;
}

/* Weights that one token meets in the MLP half of a layer with experts. */
double ms_moe_active_weights(const ms_model *model) {
    const ms_moe *moe = &model->moe;
    double width = (double)moe->top_k * moe->ffn + (double)moe->shared_experts * moe->shared_ffn;
    double gates = (double)moe->experts + (moe->parts.has_shared_gate ? 1 : 0);
    return model->hidden * (gates + matrices_of(model) * width);
}

/* Columns of the tensors between the two products of an expert on one rank: the activation's input
 * (twice ffn when gated) and its result. */
static double inner_width(const ms_model *model, double ffn) {
    return (model->is_gated ? 3 : 2) * ffn;
}

/* Bytes that an expert keeps of one token's inner tensors for the backward pass [B]: the
 * activation's input and, unless recomputation repeats the activation, its result as the second
 * product's input. kind: of the expert's products. ffn: inner width on this rank. */
static double kept_inner_B(const ms_cost_builder *builder, ms_product_kind kind, double ffn) {
    bool is_repeated = (builder->layout->recompute_parts & MS_RECOMPUTE_ACTIVATIONS) != 0;
    double given_B = builder->model->moe.kept_element_B;
    double inner_B = given_B > 0 ? given_B : builder->shard.element_B;
    double result_B = given_B > 0 ? given_B : ms_kept_input_B(builder, kind);
    return (inner_width(builder->model, ffn) - ffn) * inner_B + (is_repeated ? 0 : ffn * result_B);
}

/* Bytes that a routed expert keeps of one copy's inner tensors [B]. The router's weight of a copy
 * scales the activation's result. A gated activation does so in its own kernel; else the unscaled
 * result is kept as well, to be multiplied with the gradient. Source: Megatron-LM,
 * megatron.core.transformer.moe.experts (bias_act_func) and megatron.core.fusions.fused_bias_swiglu
 * (weighted_bias_swiglu_impl). */
static double kept_routed_B(const ms_cost_builder *builder, double ffn) {
    bool is_repeated = (builder->layout->recompute_parts & MS_RECOMPUTE_ACTIVATIONS) != 0;
    bool is_weighted_apart = !builder->model->is_gated && !is_repeated;
    double given_B = builder->model->moe.kept_element_B;
    double result_B = given_B > 0 ? given_B : builder->shard.element_B;
    return kept_inner_B(builder, MS_PRODUCT_EXPERTS, ffn) +
           (is_weighted_apart ? ffn * result_B : 0);
}

/* Bytes of an element of a kept copy [B]: as it was sent to another rank, where the model names a
 * type for that, else as the input of a product is kept. */
static double copy_element_B(const ms_cost_builder *builder) {
    double sent_B = builder->model->moe.dispatch_element_B;
    return ms_ep_of(builder->layout) > 1 && sent_B > 0
               ? sent_B
               : ms_kept_input_B(builder, MS_PRODUCT_EXPERTS);
}

/* Copies of tokens that the busiest rank computes, gathered over the ranks that share an expert
 * [count]. */
static double computed_copies(const ms_cost_builder *builder, const ms_moe_load *load) {
    return load->busiest * ms_moe_gather_ranks(builder->layout);
}

/* Bytes kept for the copies that the busiest rank computes [B]: the copies and the experts' inner
 * tensors. */
double ms_moe_copies_kept_B(const ms_cost_builder *builder, const ms_moe_load *load) {
    const ms_model *model = builder->model;
    double copy_B = copy_element_B(builder) * model->hidden +
                    kept_routed_B(builder, model->moe.ffn / ms_expert_tp(builder->layout));
    return computed_copies(builder, load) * copy_B;
}

/* Bytes that the half keeps for the backward pass [B]: the tokens' tensors, the shared experts',
 * the copies', and the dropout mask. */
double ms_moe_kept_B(const ms_cost_builder *builder, const ms_moe_load *load) {
    const ms_model *model = builder->model;
    const ms_moe *moe = &model->moe;
    const ms_shard *shard = &builder->shard;
    double e = shard->element_B, tp = shard->tp;
    double own = shard->plane / shard->hidden;
    double mask_B = model->dropout > 0 ? shard->plane : 0;
    /* input of the norm; its result, which router, permutation and shared experts read; for each
     * token all experts' probabilities, and those and the numbers of the chosen experts, in 4 bytes
     * each */
    bool keeps_norm = !(builder->layout->recompute_parts & MS_RECOMPUTE_NORMS);
    double token_B =
        (keeps_norm ? 2 : 1) * e * shard->plane + own * 4 * (moe->experts + 2.0 * moe->top_k);
    double shared = (double)moe->shared_experts * moe->shared_ffn / tp;
    double shared_B = shard->tokens * kept_inner_B(builder, MS_PRODUCT_MLP, shared);
    shared_B +=
        moe->parts.has_shared_gate ? e * shard->plane : 0; /* the result that the gate scales */
    return token_B + shared_B + ms_moe_copies_kept_B(builder, load) + mask_B;
}

/* Bytes of the half that exist during a pass only [B], in the working type, whatever the copies are
 * sent and kept in. */
double ms_moe_working_B(const ms_cost_builder *builder, const ms_moe_load *load) {
    const ms_model *model = builder->model;
    const ms_shard *shard = &builder->shard;
    double copies = computed_copies(builder, load);
    /* the gradients of the inner tensors, and the copies as they arrive and as they are sorted */
    double inner_B = copies * inner_width(model, model->moe.ffn / ms_expert_tp(builder->layout)) *
                     shard->element_B;
    return inner_B + (load->sent + copies) * model->hidden * shard->element_B;
}

/* Whether a degree fits a size: it divides the size, or where ranks may share what they hold, the
 * size divides it. */
static bool fits(const ms_split *split, int degree) {
    return split->size % degree == 0 || (split->is_shared && degree % split->size == 0);
}

/* Check that a degree fits the size that it splits. The nearest degrees below and above that fit
 * are searched one by one for the message. */
ms_status ms_check_split(ms_diag *diag, const ms_split *split) {
    if (fits(split, split->degree)) {
        return MS_OK;
    }
    int below = split->degree < split->size ? split->degree : split->size;
    while (below > 1 && !fits(split, below)) {
        below--;
    }
    int above = split->degree + 1;
    while (above < split->size && !fits(split, above)) {
        above++;
    }
    char other[24] = "";
    if (above <= split->size) {
        snprintf(other, sizeof other, " or %d", above);
    }
    return ms_diag_error(diag, "%s '%d' does not %s %d %s: nearest that does is %d%s", split->name,
                         split->degree, split->verb, split->size, split->what, below, other);
}

/* Whether a list of statuses has a fault, as a status. */
ms_status ms_any_fault(const ms_status *found, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (found[i] != MS_OK) {
            return MS_E_INPUT;
        }
    }
    return MS_OK;
}

/* Check that a degree divides a size. what: the things that the size counts. */
static ms_status check_divides(ms_diag *diag, const char *name, int degree, int size,
                               const char *what) {
    return ms_check_split(diag, &(ms_split){name, degree, "divide", size, what, false});
}

/* Check that there are as many experts as a token goes to. */
static ms_status check_choice(const ms_moe *moe, ms_diag *diag) {
    if (moe->top_k > moe->experts) {
        return ms_diag_error(diag, "top_k '%d' is more than the %d experts", moe->top_k,
                             moe->experts);
    }
    return MS_OK;
}

/* Check that the nodes which a token may reach (node_limit) hold at least top_k experts. Groups
 * inside one node have no such limit; check_divides reports nodes that do not divide ep. */
static ms_status check_nodes(const ms_moe *moe, const ms_model_layout *layout, ms_diag *diag) {
    int ep = ms_ep_of(layout), node = layout->ep_node_ranks > 0 ? layout->ep_node_ranks : ep;
    if (moe->node_limit == 0 || ep % node != 0 || ep == node) {
        return MS_OK;
    }
    int per_node = moe->experts / (ep / node);
    if ((int64_t)moe->node_limit * per_node >= moe->top_k) {
        return MS_OK;
    }
    return ms_diag_error(
        diag,
        "node_limit '%d' leaves %d experts (%d on each of %d nodes) to choose top_k %d "
        "from: at least %d nodes are needed",
        moe->node_limit, moe->node_limit * per_node, per_node, ep / node, moe->top_k,
        (moe->top_k + per_node - 1) / per_node);
}

/* Check that an expert mesh has a model with experts, tp ranks that hold different tokens, and no
 * sharding over some axes only. */
static ms_status check_expert_mesh(const ms_model *model, const ms_model_layout *layout,
                                   ms_diag *diag) {
    const char *fault = NULL;
    if (layout->expert_mesh.tp == 0) {
        return MS_OK;
    }
    if (model->moe.experts == 0) {
        fault = "a mesh of the experts needs a model with experts ('moe')";
    } else if (layout->tp > 1 && !layout->has_sequence_parallel) {
        fault = "a mesh of the experts needs sequence parallelism where tp is above 1: without it "
                "tp ranks hold the same tokens; set tensor_parallel.sequence to true";
    } else if (layout->shard_axes != 0) {
        fault = "sharding over some axes only is not built beside a mesh of the experts: leave "
                "data_parallel.shard out";
    }
    if (fault == NULL) {
        return MS_OK;
    }
    return ms_diag_error(diag, "%s", fault);
}

/* Check the degrees that the experts of a model are spread over. Without experts, only ep of 1 is
 * legal. */
ms_status ms_moe_check(const ms_model *model, const ms_model_layout *layout, ms_diag *diag) {
    const ms_moe *moe = &model->moe;
    int ep = ms_ep_of(layout);
    if (check_expert_mesh(model, layout, diag) != MS_OK) {
        return MS_E_INPUT;
    }
    if (moe->experts == 0) {
        if (ep > 1) {
            return ms_diag_error(diag,
                                 "expert-parallel degree '%d' needs a model with experts ('moe'): "
                                 "without them it is 1, and their ranks belong to dp",
                                 ep);
        }
        return MS_OK;
    }
    int node = layout->ep_node_ranks > 0 ? layout->ep_node_ranks : ep;
    const ms_status found[] = {
        check_choice(moe, diag),
        check_divides(diag, "expert-parallel degree", ep, moe->experts, "experts"),
        check_divides(diag, "members of an ep group on a node", node, ep,
                      "members of the group (expert-parallel degree)"),
        check_divides(diag,
                      layout->expert_mesh.tp > 0 ? "tensor-parallel degree of experts"
                                                 : "tensor-parallel degree",
                      (int)ms_expert_tp(layout), moe->ffn, "columns of an expert (moe.ffn)"),
        moe->shared_experts > 0
            ? check_divides(diag, "tensor-parallel degree", layout->tp,
                            moe->shared_experts * moe->shared_ffn,
                            "columns of the shared experts (shared_experts x shared_ffn)")
            : MS_OK};
    bool is_wrong = ms_any_fault(found, sizeof found / sizeof found[0]) != MS_OK;
    return is_wrong ? MS_E_INPUT : check_nodes(moe, layout, diag);
}
