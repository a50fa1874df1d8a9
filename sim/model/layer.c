/* The kernels of one transformer layer, as Megatron-LM without sequence parallelism runs them on
 * one tensor-parallel rank: norms, dropout and residuals work on all n*h elements of every rank,
 * the matrix products and the attention on 1/tp of the columns or heads.
 *
 * Source: the order of operations of Megatron-LM's ParallelTransformerLayer (Shoeybi et al. 2019,
 * arXiv:1909.08053, figure 4; Narayanan et al., SC'21, section 2.3).
 */
#include "model/buckets.h"
#include "model/mla.h"
#include "model/moe.h"

/* A half of a layer with the collectives of its tensor parallelism. */
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

/* Halves with other collectives than a plain one's bring their own. */
static void add_attention(ms_cost_builder *builder, unsigned parts) {
    builder->product.kind = MS_PRODUCT_PROJECTIONS;
    if (ms_is_mla(builder->model)) {
        ms_cost_mla(builder, parts);
    } else {
        add_half(builder, parts, ms_cost_attention_half);
    }
    builder->product.kind = (ms_product_kind)0;
}

static void add_mlp(ms_cost_builder *builder, unsigned parts) {
    builder->product.kind = MS_PRODUCT_MLP;
    if (ms_layer_is_moe(builder->model, builder->product.layer)) {
        ms_cost_moe(builder, parts);
    } else {
        add_half(builder, parts, ms_cost_mlp_half);
    }
    builder->product.kind = (ms_product_kind)0;
}

/* The sum of the two branches' outputs, backward of their inputs' gradients: partial sums of whole
 * tokens, two in and one out. */
static void add_branch_sum(ms_cost_builder *builder, unsigned parts) {
    const ms_shard *shard = &builder->shard;
    if (parts & (MS_PART_FORWARD | MS_PART_INPUT)) {
        ms_cost_memory(builder, "branch_sum", 3 * shard->tokens * shard->hidden * shard->element_B);
    }
}

/* The norm and the gather before both branches are those of the projections, but where the MLP has
 * a norm of its own. Source of that: GPT-NeoX (post_attention_layernorm of the layer's input). */
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
    builder->product.kind = MS_PRODUCT_PROJECTIONS;
}

/* Attention and MLP side by side: y = x + attention(norm(x)) + mlp(norm(x)), one norm, one
 * residual, and over tp one collective where halves have two. Source: Wang and Komatsuzaki 2021
 * (GPT-J); Chowdhery et al. 2022, arXiv:2204.02311, section 2; Jiang et al. 2024, arXiv:2402.15627,
 * section 3.1. */
static void add_parallel(ms_cost_builder *builder, unsigned parts) {
    static const ms_operator OPERATORS[] = {ms_cost_opening_norm, ms_cost_attention_branch,
                                            add_mlp_branch, add_branch_sum, ms_cost_residual};
    ms_cost_operators(builder, parts, OPERATORS, sizeof OPERATORS / sizeof OPERATORS[0]);
}

static void add_parallel_block(ms_cost_builder *builder, unsigned parts) {
    builder->product.kind = MS_PRODUCT_PROJECTIONS;
    add_half(builder, parts, add_parallel);
    builder->product.kind = (ms_product_kind)0;
}

static void add_forward(ms_cost_builder *builder) {
    if (builder->model->has_parallel_block) {
        add_parallel_block(builder, MS_PART_FORWARD);
        return;
    }
    add_attention(builder, MS_PART_FORWARD);
    add_mlp(builder, MS_PART_FORWARD);
}

static void add_backward(ms_cost_builder *builder, unsigned parts) {
    if (builder->model->has_parallel_block) {
        add_parallel_block(builder, parts);
        return;
    }
    add_mlp(builder, parts);
    add_attention(builder, parts);
}

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

/* Layers of one kind are alike, so only the first one is built: but for experts that are chosen
 * unevenly, in each layer in a way of its own. */
static int kind_of(const ms_cost_builder *builder, int layer, bool is_recomputed) {
    return (is_recomputed ? 1 : 0) + (ms_layer_is_moe(builder->model, layer) ? 2 : 0) +
           (ms_has_plain_products(builder, layer) ? 4 : 0) +
           (ms_layer_window(builder->model, layer) > 0 ? 8 : 0);
}

static bool is_unique(const ms_cost_builder *builder, int layer) {
    return ms_layer_is_moe(builder->model, layer) && builder->model->moe.spread > 0;
}

bool ms_layers_are_alike(const ms_cost_builder *builder, const int layers[2],
                         const int positions[2]) {
    int kinds[2];
    for (int i = 0; i < 2; i++) {
        kinds[i] = kind_of(builder, layers[i], ms_is_recomputed(builder->layout, positions[i]));
    }
    return kinds[0] == kinds[1] && !is_unique(builder, layers[0]);
}

void ms_cost_layer(ms_cost_builder *builder, int layer, ms_pass pass) {
    bool is_recomputed = ms_is_recomputed(builder->layout, layer - builder->stage_first);
    ms_built_layer *built = &builder->built_layers[kind_of(builder, layer, is_recomputed)][pass];
    bool is_apart = builder->unit.buckets.of != NULL && builder->unit.buckets.of->is_ordered;
    if (built->plan.count > 0 && !is_unique(builder, layer) && !is_apart) {
        ms_cost_repeat(builder, built, layer);
        return;
    }
    size_t first = builder->segments.count;
    builder->layer = layer;
    ms_cost_layer_body(builder, layer, pass, is_recomputed);
    builder->layer = -1;
    if (!is_apart) { /* with reductions of its buckets inside it repeats nothing */
        *built = (ms_built_layer){
            .plan = {.first = (int)first, .count = (int)(builder->segments.count - first)},
            .pass_first = builder->pass_first};
    }
}
