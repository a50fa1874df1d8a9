/* The operators of one transformer layer in the order of Megatron-LM's: the attention half and the
 * MLP half, each between collectives of tensor parallelism, or both side by side (parallel block).
 * Here a layer is also built once for its kind, and repeated for other layers of the kind.
 *
 * Without sequence parallelism norms, dropout and residuals work on all n*h elements on every tp
 * rank, the matrix products and the attention on 1/tp of the columns or heads.
 *
 * Source: the order of operations of Megatron-LM's ParallelTransformerLayer (Shoeybi et al. 2019,
 * arXiv:1909.08053, figure 4; Narayanan et al., SC'21, section 2.3). */
#include "model/buckets.h"
#include "model/mla.h"
#include "model/moe.h"

/* Add a half of a layer with the collectives of its tensor parallelism: beside the products of its
 * two ends (is_tp_split), or before and behind the half. */
static void add_half(ms_cost_builder *builder, unsigned parts,
                     void (*half)(ms_cost_builder *, unsigned)) {
    builder->is_tp_split = ms_splits_halves(builder);
    if (builder->is_tp_split) {
        ms_cost_compute(builder);
        half(builder, parts);
    } else {
        ms_cost_half_begin(builder, parts);
        half(builder, parts);
        ms_cost_half_end(builder, parts);
    }
    builder->is_tp_split = false;
}

/* Add the attention half. Latent attention has collectives of its own. */
static void add_attention(ms_cost_builder *builder, unsigned parts) {
    builder->product.kind = MS_PRODUCT_PROJECTIONS;
    if (ms_is_mla(builder->model)) {
        ms_cost_mla(builder, parts);
    } else {
        add_half(builder, parts, ms_cost_attention_half);
    }
    builder->product.kind = (ms_product_kind)0;
}

/* Add the MLP half, dense or a mixture of experts, which has collectives of its own. */
static void add_mlp(ms_cost_builder *builder, unsigned parts) {
    builder->product.kind = MS_PRODUCT_MLP;
    if (ms_layer_is_moe(builder->model, builder->product.layer)) {
        ms_cost_moe(builder, parts);
    } else {
        add_half(builder, parts, ms_cost_mlp_half);
    }
    builder->product.kind = (ms_product_kind)0;
}

/* Add the sum of the two branches' outputs, backward of their inputs' gradients: both are partial
 * sums of whole tokens; two in, one out. */
static void add_branch_sum(ms_cost_builder *builder, unsigned parts) {
    const ms_shard *shard = &builder->shard;
    if (parts & (MS_PART_FORWARD | MS_PART_INPUT)) {
        ms_cost_memory(builder, "branch_sum", 3 * shard->tokens * shard->hidden * shard->element_B);
    }
}

/* Add the MLP of a parallel block. It shares the norm and the gather before the projections of the
 * attention, unless it has a norm of its own. Source of that norm: GPT-NeoX
 * (post_attention_layernorm of the layer's input). */
static void add_mlp_branch(ms_cost_builder *builder, unsigned parts) {
    bool has_norm = builder->model->parts.has_branch_norms;
    builder->product.kind = MS_PRODUCT_MLP;
    if (has_norm && (parts & MS_PART_FORWARD)) {
        ms_cost_norm(builder, parts);
    }
    ms_cost_mlp_branch(builder, parts);
    if (has_norm && !(parts & MS_PART_FORWARD)) {
        ms_cost_norm(builder, parts);
    }
    builder->product.kind = MS_PRODUCT_PROJECTIONS; /* as add_parallel_block has set it */
}

/* Add the operators of a parallel block: y = x + attention(norm(x)) + mlp(norm(x)), with one norm,
 * one residual, and over tp one collective where halves have two. Source: Wang and Komatsuzaki 2021
 * (GPT-J); Chowdhery et al. 2022, arXiv:2204.02311, section 2; Jiang et al. 2024, arXiv:2402.15627,
 * section 3.1. */
static void add_parallel(ms_cost_builder *builder, unsigned parts) {
    static const ms_operator OPERATORS[] = {ms_cost_opening_norm, ms_cost_attention_branch,
                                            add_mlp_branch, add_branch_sum, ms_cost_residual};
    ms_cost_operators(builder, parts, OPERATORS, sizeof OPERATORS / sizeof OPERATORS[0]);
}

/* Add a parallel block as one half, whose collectives are those of both branches. */
static void add_parallel_block(ms_cost_builder *builder, unsigned parts) {
    builder->product.kind = MS_PRODUCT_PROJECTIONS;
    add_half(builder, parts, add_parallel);
    builder->product.kind = (ms_product_kind)0;
}

/* Add the forward part of the layer. */
static void add_forward(ms_cost_builder *builder) {
    if (builder->model->has_parallel_block) {
        add_parallel_block(builder, MS_PART_FORWARD);
        return;
    }
    add_attention(builder, MS_PART_FORWARD);
    add_mlp(builder, MS_PART_FORWARD);
}

/* Add the backward parts of the layer: input gradient, weight gradient, or both. */
static void add_backward(ms_cost_builder *builder, unsigned parts) {
    if (builder->model->has_parallel_block) {
        add_parallel_block(builder, parts);
        return;
    }
    add_mlp(builder, parts);
    add_attention(builder, parts);
}

/* Add a layer's operators for a pass. A recomputed layer repeats its whole forward part before its
 * input gradients; else the operators repeat the parts that the layout lists (recompute_parts). */
void ms_cost_layer_body(ms_cost_builder *builder, int layer, ms_pass pass, bool is_recomputed) {
    builder->product.layer = layer;
    if (pass == MS_PASS_F) {
        add_forward(builder);
        return;
    }
    if (pass == MS_PASS_W) {
        add_backward(builder, MS_PART_WEIGHT);
        return;
    }
    if (is_recomputed) {
        builder->is_recompute = true;
        add_forward(builder);
        builder->is_recompute = false;
    }
    builder->repeated = is_recomputed ? 0 : builder->layout->recompute_parts;
    add_backward(builder, pass == MS_PASS_B ? MS_PART_INPUT | MS_PART_WEIGHT : MS_PART_INPUT);
    builder->repeated = 0;
}

/* Number of a layer's kind, below MS_LAYER_KINDS. Layers of one kind have the same costs, unless
 * is_unique holds. */
static int kind_of(const ms_cost_builder *builder, int layer, bool is_recomputed) {
    return (is_recomputed ? 1 : 0) + (ms_layer_is_moe(builder->model, layer) ? 2 : 0) +
           (ms_has_plain_products(builder, layer) ? 4 : 0) +
           (ms_layer_window(builder->model, layer) > 0 ? 8 : 0);
}

/* Whether a layer differs from all others: its experts are chosen unevenly, by a draw of its
 * own. */
static bool is_unique(const ms_cost_builder *builder, int layer) {
    return ms_layer_is_moe(builder->model, layer) && builder->model->moe.spread > 0;
}

/* Whether two layers cost the same: they are of one kind, and not unique. */
bool ms_layers_are_alike(const ms_cost_builder *builder, const int layers[2],
                         const int positions[2]) {
    int kinds[2];
    for (int i = 0; i < 2; i++) {
        kinds[i] = kind_of(builder, layers[i], ms_is_recomputed(builder->layout, positions[i]));
    }
    return kinds[0] == kinds[1] && !is_unique(builder, layers[0]);
}

/* Add a layer's part of a pass. The first layer of a kind is built, and its segments are copied for
 * later ones (ms_cost_copy_layer). A layer inside which a bucket of gradients is reduced, or whose
 * experts are drawn unevenly (is_unique), is built by itself. */
void ms_cost_layer(ms_cost_builder *builder, int layer, ms_pass pass) {
    bool is_recomputed = ms_is_recomputed(builder->layout, layer - builder->stage_first);
    ms_built_layer *built = &builder->built_layers[kind_of(builder, layer, is_recomputed)][pass];
    bool is_cut = builder->unit.buckets.of != NULL && builder->unit.buckets.of->is_ordered;
    if (built->plan.count > 0 && !is_unique(builder, layer) && !is_cut) {
        ms_cost_copy_layer(builder, built, layer);
        return;
    }
    size_t first = builder->segments.count;
    builder->layer = layer;
    ms_cost_layer_body(builder, layer, pass, is_recomputed);
    builder->layer = -1;
    if (!is_cut) { /* segments with a bucket's reduction between them fit no other layer */
        *built = (ms_built_layer){
            .plan = {.first = (int)first, .count = (int)(builder->segments.count - first)},
            .pass_first = builder->pass_first};
    }
}
