/* The kernels of one transformer layer, as Megatron-LM without sequence parallelism runs them on
 * one tensor-parallel rank: norms, dropout and residuals work on all n*h elements of every rank,
 * the matrix products and the attention on 1/tp of the columns or heads.
 *
 * Bytes of memory-bound kernels: e bytes per activation element (element_B), one byte per element
 * of a dropout mask. Source: the order of operations of Megatron-LM's ParallelTransformerLayer
 * (Shoeybi et al. 2019, arXiv:1909.08053, figure 4; Narayanan et al., SC'21, section 2.3); byte
 * counts derived here from what each kernel has to read and write once.
 */
#include "model/mla.h"
#include "model/moe.h"

void ms_cost_pieces(ms_cost_builder *builder, unsigned parts, const ms_piece *pieces,
                    size_t count) {
    bool is_backward = !(parts & MS_PART_FORWARD);
    bool is_one_segment = !builder->is_tp_split && builder->shard.cp <= 1;
    for (size_t i = 0; i < count; i++) {
        pieces[is_backward && !is_one_segment ? count - 1 - i : i](builder, parts);
    }
}

bool ms_repeats(const ms_cost_builder *builder, unsigned parts, ms_recompute_part what) {
    return (parts & MS_PART_INPUT) && (builder->repeated & what);
}

void ms_cost_norm(ms_cost_builder *builder, unsigned parts) {
    const ms_shard *shard = &builder->shard;
    double plane_B = shard->plane * shard->element_B;
    const char *name = builder->model->is_rms_norm ? "rms_norm" : "layer_norm";
    if ((parts & MS_PART_FORWARD) || ms_repeats(builder, parts, MS_RECOMPUTE_NORMS)) {
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
    double elements = shard->plane;
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

void ms_cost_linear(ms_cost_builder *builder, unsigned parts, const ms_linear_names *names,
                    double in, double out) {
    ms_cost_linear_of(builder, parts, names, (ms_linear_size){builder->shard.tokens, in, out});
}

void ms_cost_linear_of(ms_cost_builder *builder, unsigned parts, const ms_linear_names *names,
                       ms_linear_size size) {
    double tokens = size.tokens, in = size.in, out = size.out;
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

/* A half of a layer with the collectives of its tensor parallelism. */
static void add_half(ms_cost_builder *builder, unsigned parts,
                     void (*half)(ms_cost_builder *, unsigned)) {
    builder->is_tp_split =
        builder->layout->tp > 1 && builder->layout->tp_overlap != MS_TP_OVERLAP_NONE;
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
    if (ms_is_mla(builder->model)) {
        ms_cost_mla(builder, parts);
    } else {
        add_half(builder, parts, ms_cost_attention_half);
    }
}

static void add_mlp(ms_cost_builder *builder, unsigned parts) {
    if (ms_layer_is_moe(builder->model, builder->mlp_layer)) {
        ms_cost_moe(builder, parts);
    } else {
        add_half(builder, parts, ms_cost_mlp_half);
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

void ms_cost_layer_body(ms_cost_builder *builder, int layer, ms_pass pass, bool is_recomputed) {
    builder->mlp_layer = layer;
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
    return (is_recomputed ? 1 : 0) + (ms_layer_is_moe(builder->model, layer) ? 2 : 0);
}

static bool is_unique(const ms_cost_builder *builder, int layer) {
    return ms_layer_is_moe(builder->model, layer) && builder->model->moe.spread > 0;
}

void ms_cost_layer(ms_cost_builder *builder, int layer, ms_pass pass) {
    bool is_recomputed = ms_is_recomputed(builder->layout, layer - builder->stage_first);
    ms_layer_pieces *pieces = &builder->layer_pieces[kind_of(builder, layer, is_recomputed)][pass];
    if (pieces->plan.count > 0 && !is_unique(builder, layer)) {
        ms_cost_repeat(builder, pieces, layer);
        return;
    }
    pieces->pass_first = builder->pass_first;
    pieces->plan.first = (int)builder->segments.count;
    builder->layer = layer;
    ms_cost_layer_body(builder, layer, pass, is_recomputed);
    builder->layer = -1;
    pieces->plan.count = (int)builder->segments.count - pieces->plan.first;
}
