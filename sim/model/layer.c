/* The kernels of one transformer layer, as Megatron-LM without sequence parallelism runs them on
 * one tensor-parallel rank: norms, dropout and residuals work on all n*h elements of every rank,
 * the matrix products and the attention on 1/tp of the columns or heads.
 *
 * Bytes of memory-bound kernels: e bytes per activation element (element_B), one byte per element
 * of a dropout mask. Source: the order of operations of Megatron-LM's ParallelTransformerLayer
 * (Shoeybi et al. 2019, arXiv:1909.08053, figure 4; Narayanan et al., SC'21, section 2.3); byte
 * counts derived here from what each kernel has to read and write once.
 */
#include "model/internal.h"

void ms_cost_norm(ms_cost_builder *builder, unsigned parts) {
    const ms_shard *shard = &builder->shard;
    double plane_B = shard->tokens * shard->hidden * shard->element_B;
    const char *name = builder->model->is_rms_norm ? "rms_norm" : "layer_norm";
    if (parts & MS_PART_FORWARD) {
        ms_cost_memory(builder, name, 2 * plane_B); /* x in, y out */
    }
    if (parts & MS_PART_INPUT) {
        /* x and dy in, dx out; the gain's (and bias's) gradient reads x and dy once more */
        ms_cost_memory(builder, "norm_backward", 5 * plane_B);
    }
}

/* Bias, dropout and residual in one kernel forward; backward dropout, and the sum of the gradients
 * that arrive by the branch and by the residual. */
void ms_cost_residual(ms_cost_builder *builder, unsigned parts) {
    const ms_shard *shard = &builder->shard;
    double elements = shard->tokens * shard->hidden;
    double mask_B = builder->model->dropout > 0 ? elements : 0;
    if (parts & MS_PART_FORWARD) {
        ms_cost_memory(builder, "residual", 3 * elements * shard->element_B + mask_B);
    }
    if (parts & MS_PART_INPUT) {
        if (mask_B > 0) {
            ms_cost_memory(builder, "dropout_backward", 2 * elements * shard->element_B + mask_B);
        }
        ms_cost_memory(builder, "residual_backward", 3 * elements * shard->element_B);
    }
}

/* A linear layer of n tokens, `in` to `out` columns on this rank. */
void ms_cost_linear(ms_cost_builder *builder, unsigned parts, const ms_linear_names *names,
                    double in, double out) {
    double tokens = builder->shard.tokens;
    if (parts & MS_PART_FORWARD) {
        ms_cost_gemm(builder, names->forward, (ms_gemm_shape){tokens, out, in, 1});
    }
    if (parts & MS_PART_INPUT) {
        ms_cost_gemm(builder, names->input, (ms_gemm_shape){tokens, in, out, 1});
    }
    if (parts & MS_PART_WEIGHT) {
        ms_cost_weight_gradient(builder, names->weight, (ms_gemm_shape){out, in, tokens, 1});
        if (builder->model->has_bias) { /* column sums of the output's gradient */
            ms_cost_memory(builder, names->bias, tokens * out * builder->shard.element_B);
        }
    }
}

/* The two halves of a layer, each with the collectives of its tensor parallelism. */
static void add_attention(ms_cost_builder *builder, unsigned parts) {
    ms_cost_half_begin(builder, parts);
    ms_cost_attention_half(builder, parts);
    ms_cost_half_end(builder, parts);
}

static void add_mlp(ms_cost_builder *builder, unsigned parts) {
    ms_cost_half_begin(builder, parts);
    ms_cost_mlp_half(builder, parts);
    ms_cost_half_end(builder, parts);
}

void ms_cost_half_begin(ms_cost_builder *builder, unsigned parts) {
    (void)parts;
    ms_cost_compute(builder);
}

/* Forward a half ends in the all-reduce of its row-parallel product, backward in the one of its
 * column-parallel input's gradient. A half's norm and residual stand in the half's own segment
 * although they run after that all-reduce: the sum is the same, and the all-reduce blocks either
 * way. */
void ms_cost_half_end(ms_cost_builder *builder, unsigned parts) {
    const ms_shard *shard = &builder->shard;
    if (parts & (MS_PART_FORWARD | MS_PART_INPUT)) {
        ms_cost_collective(builder, MS_COLL_ALL_REDUCE,
                           shard->tokens * shard->hidden * shard->element_B);
    }
}

static void add_forward(ms_cost_builder *builder) {
    add_attention(builder, MS_PART_FORWARD);
    add_mlp(builder, MS_PART_FORWARD);
}

static void add_backward(ms_cost_builder *builder, unsigned parts) {
    add_mlp(builder, parts);
    add_attention(builder, parts);
}

static void build_layer(ms_cost_builder *builder, ms_pass pass) {
    if (pass == MS_PASS_F) {
        add_forward(builder);
        return;
    }
    if (pass == MS_PASS_W) {
        add_backward(builder, MS_PART_WEIGHT);
        return;
    }
    if (builder->layout->recompute == MS_RECOMPUTE_FULL) {
        builder->is_recompute = true;
        add_forward(builder);
        builder->is_recompute = false;
    }
    add_backward(builder, pass == MS_PASS_B ? MS_PART_INPUT | MS_PART_WEIGHT : MS_PART_INPUT);
}

/* Layers of one kind are alike, so only the first one is built. */
static int kind_of(const ms_cost_builder *builder, int layer) {
    (void)builder;
    (void)layer;
    return 0;
}

void ms_cost_layer(ms_cost_builder *builder, int layer, ms_pass pass) {
    ms_pass_plan *plan = &builder->layer_plan[kind_of(builder, layer)][pass];
    if (plan->count > 0) {
        ms_cost_repeat(builder, *plan, layer);
        return;
    }
    plan->first = (int)builder->segments.count;
    builder->layer = layer;
    build_layer(builder, pass);
    builder->layer = -1;
    plan->count = (int)builder->segments.count - plan->first;
}
