/* The attention half of a layer with multi-head latent attention (MLA): norm, products into the
 * latents (down), norms of the latents, products out of them (up), rotary part, attention core,
 * output product, residual.
 *
 * Every tp rank computes all columns of the products into the latents; those out of the latents are
 * split by heads. So over tp, the backward pass sums the gradients of the latents, where other
 * attention sums the gradient of its input. With sequence parallelism the products into the latents
 * work on the rank's own tokens, and the latents are gathered. */
#include "model/mla.h"
#include "model/attention_casts.h"

/* Tokens of the rank outside the split products: 1/tp of all with sequence parallelism. */
static double own_tokens(const ms_shard *shard) {
    return shard->plane / shard->hidden;
}

/* Add a product of the rank's own tokens into the latents, of which every tp rank computes all
 * `columns`. */
static void add_down(ms_cost_builder *builder, unsigned parts, double columns) {
    const ms_shard *shard = &builder->shard;
    double n = own_tokens(shard), h = shard->hidden;
    if (parts & MS_PART_FORWARD) {
        ms_cost_product(builder, "latent_down", (ms_gemm_shape){n, columns, h, 1});
    }
    if (parts & MS_PART_INPUT) {
        ms_cost_product(builder, "latent_down_input_grad", (ms_gemm_shape){n, h, columns, 1});
    }
    if (parts & MS_PART_WEIGHT) {
        ms_cost_weight_gradient(builder, "latent_down_weight_grad",
                                (ms_gemm_shape){columns, h, n, 1});
    }
}

/* Add the RMS norms of both latents, behind the products into them. */
static void add_latent_norms(ms_cost_builder *builder, unsigned parts) {
    const ms_mla *mla = &builder->model->mla;
    const ms_shard *shard = &builder->shard;
    double elements = own_tokens(shard) * ((double)mla->q_rank + mla->kv_rank);
    if ((parts & MS_PART_FORWARD) || ms_repeats(builder, parts, MS_RECOMPUTE_NORMS)) {
        ms_cost_memory_work(builder, "latent_norm", MS_WORK_RMS_NORM, false, elements);
    }
    if (parts & MS_PART_INPUT) {
        ms_cost_memory_work(builder, "latent_norm_backward", MS_WORK_RMS_NORM, true, elements);
    }
}

/* Add the products into the latents and the latents' norms. One kernel makes both latents from
 * their common input. Queries without a latent (q_rank 0) come straight from the hidden state, in
 * add_heads. */
static void add_latents(ms_cost_builder *builder, unsigned parts) {
    ms_mla_width width = ms_mla_width_of(builder->model, builder->shard.heads);
    if (parts & MS_PART_FORWARD) {
        add_down(builder, parts, width.down);
        add_latent_norms(builder, parts);
    } else {
        add_latent_norms(builder, parts);
        add_down(builder, parts, width.down);
    }
}

static const ms_linear_names KEY_VALUE = {"key_value_up", "key_value_up_input_grad",
                                          "key_value_up_weight_grad", NULL};

/* Elements per token that are moved to assemble keys and values: one product makes each head's
 * values and own part of its keys (in: qk_nope + v_dim a head), and each head gets a copy of the
 * rotary part that all share (in: qk_rope once; out: qk_nope + qk_rope + v_dim a head). The
 * backward pass takes the gradients apart in the same way. Source:
 * megatron.core.fusions.fused_mla_yarn_rope_apply (_mla_rope_fwd_kv_split_kernel, and its backward
 * one); unfused, megatron.core.transformer.multi_latent_attention makes both contiguous. */
static double key_value_parts(const ms_mla *mla, double heads) {
    return mla->qk_rope + heads * (2.0 * mla->qk_nope + mla->qk_rope + 2.0 * mla->v_dim);
}

/* Add the product that makes keys and values of `tokens` tokens from latents that cp ranks have
 * exchanged, or its gradients. The `expand` of ms_core. */
static void expand_latents(ms_cost_builder *builder, unsigned parts, double tokens) {
    const ms_mla *mla = &builder->model->mla;
    const ms_shard *shard = &builder->shard;
    ms_mla_width width = ms_mla_width_of(builder->model, shard->heads);
    double parts_B = tokens * key_value_parts(mla, shard->heads) * shard->element_B;
    if (parts & MS_PART_INPUT) {
        ms_cost_memory(builder, "key_value_parts", parts_B);
    }
    ms_cost_linear_of(builder, parts, &KEY_VALUE,
                      (ms_linear_size){tokens, mla->kv_rank, width.expanded});
    if (parts & MS_PART_FORWARD) {
        ms_cost_memory(builder, "key_value_parts", parts_B);
    }
}

/* Sizes of the attention core with latent attention, in the expanded form: a key and value for each
 * head. */
ms_core ms_mla_core(const ms_model *model, const ms_shard *shard) {
    return (ms_core){.heads = shard->heads,
                     .kv_heads = shard->heads,
                     .query_dim = ms_mla_query_dim(model),
                     .value_dim = model->mla.v_dim,
                     .shared_width = (double)model->mla.kv_rank + model->mla.qk_rope,
                     .expand = expand_latents};
}

/* Whether keys and values are made from the gathered latents of a whole sequence (context
 * parallelism by all-gathers), so that add_heads makes none of the rank's own tokens. */
static bool makes_keys_of_all(const ms_cost_builder *builder) {
    return builder->shard.cp > 1 && builder->layout->cp_kind == MS_CP_ALL_GATHER;
}

/* Bytes that the half keeps for the backward pass, besides the core's. Recomputation of the
 * products out of the latents moves q, k and v to the pass that repeats them. */
ms_kept_bytes ms_mla_kept(const ms_cost_builder *builder) {
    const ms_model *model = builder->model;
    const ms_shard *shard = &builder->shard;
    const ms_mla *mla = &model->mla;
    unsigned repeated = builder->layout->recompute_parts;
    bool keeps_norms = !(repeated & MS_RECOMPUTE_NORMS);
    ms_mla_width width = ms_mla_width_of(model, shard->heads);
    double e = shard->element_B;
    double mask_B = model->dropout > 0 ? shard->plane : 0;
    double latents = (double)mla->q_rank + mla->kv_rank;
    double own = shard->plane / shard->hidden; /* tokens of the rank outside the split products */
    /* inputs of the norm and of the products into the latents; the latents before their norms */
    double own_B = e * ((keeps_norms ? 2 : 1) * shard->plane + own * latents);
    /* the latents behind their norms and the shared rotary key; the attention's output */
    double token_B = e * ((keeps_norms ? latents : 0) + mla->qk_rope + width.context);
    /* q; k with the rotary part copied to every head; v. The backward pass makes k and v of a
     * gathered sequence again. */
    double keys = makes_keys_of_all(builder) ? 0 : width.query + shard->heads * mla->v_dim;
    double heads_B = ms_kept_operand_B(builder) * (width.query + keys);
    bool is_moved = (repeated & MS_RECOMPUTE_LATENT_UP) != 0;
    return (ms_kept_bytes){.kept_B = own_B + shard->tokens * (token_B + (is_moved ? 0 : heads_B)) +
                                     mask_B,
                           .moved_B = is_moved ? shard->tokens * heads_B : 0};
}

/* Add the products out of the latents, and the rotary part: queries are rotated in place, keys and
 * values assembled (key_value_parts). The backward pass does the same in reverse. */
static void add_heads(ms_cost_builder *builder, unsigned parts) {
    static const ms_linear_names QUERY = {"query_up", "query_up_input_grad", "query_up_weight_grad",
                                          NULL};
    const ms_mla *mla = &builder->model->mla;
    const ms_shard *shard = &builder->shard;
    ms_mla_width width = ms_mla_width_of(builder->model, shard->heads);
    bool has_keys = !makes_keys_of_all(builder);
    double rotated = 2 * shard->heads * mla->qk_rope;
    double keys = has_keys ? key_value_parts(mla, shard->heads) : 0;
    double rotary_B = shard->tokens * (rotated + keys) * shard->element_B;
    if (parts & MS_PART_INPUT) {
        ms_cost_memory(builder, "rotary", rotary_B);
    }
    ms_cost_linear(builder, parts, &QUERY, width.query_in, width.query);
    if (has_keys) {
        ms_cost_linear(builder, parts, &KEY_VALUE, mla->kv_rank, width.expanded);
    }
    if (parts & MS_PART_FORWARD) {
        ms_cost_memory(builder, "rotary", rotary_B);
    }
}

static bool is_sequence_parallel(const ms_cost_builder *builder) {
    return builder->layout->has_sequence_parallel && builder->layout->tp > 1;
}

/* Add the collective over tp between the products that every tp rank computes and those that are
 * split: the gather of latents, or the sum of their gradients. Queries without a latent need the
 * hidden state too. */
static void add_latent_collective(ms_cost_builder *builder, ms_coll_kind kind) {
    const ms_shard *shard = &builder->shard;
    ms_mla_width width = ms_mla_width_of(builder->model, shard->heads);
    double direct = builder->model->mla.q_rank > 0 ? 0 : shard->hidden;
    ms_cost_collective(builder, kind, shard->tokens * (width.down + direct) * shard->element_B);
}

/* Add the product that closes the half. Its collective carries the hidden state, and may run beside
 * the product; the collectives of latents do not. */
static void add_output(ms_cost_builder *builder, unsigned parts) {
    static const ms_linear_names OUTPUT = {"attention_output", "attention_output_input_grad",
                                           "attention_output_weight_grad", NULL};
    ms_mla_width width = ms_mla_width_of(builder->model, builder->shard.heads);
    builder->is_tp_split = ms_splits_halves(builder);
    ms_cost_row(builder, parts, &OUTPUT, width.context, builder->shard.hidden);
    builder->is_tp_split = false;
}

/* Add the forward part of the half. The collective that sums its output over tp comes at the end,
 * unless add_output has let it run beside the output product (ms_splits_halves). */
static void add_forward(ms_cost_builder *builder) {
    ms_core core = ms_mla_core(builder->model, &builder->shard);
    ms_cost_compute(builder);
    ms_cost_norm(builder, MS_PART_FORWARD);
    add_latents(builder, MS_PART_FORWARD);
    if (is_sequence_parallel(builder)) {
        add_latent_collective(builder, MS_COLL_ALL_GATHER);
        ms_cost_compute(builder);
    }
    add_heads(builder, MS_PART_FORWARD);
    ms_cost_core(builder, MS_PART_FORWARD, &core);
    ms_cost_compute(builder);
    add_output(builder, MS_PART_FORWARD);
    ms_cost_residual(builder, MS_PART_FORWARD);
    if (!ms_splits_halves(builder)) {
        ms_cost_half_end(builder, MS_PART_FORWARD);
    }
}

/* Add the half's backward parts. With sequence parallelism the output's gradient is gathered first,
 * unless add_output lets that gather run beside its product (ms_splits_halves). The products out of
 * the latents are then repeated where the layout recomputes them (MS_RECOMPUTE_LATENT_UP). */
static void add_backward(ms_cost_builder *builder, unsigned parts) {
    ms_core core = ms_mla_core(builder->model, &builder->shard);
    const ms_shard *shard = &builder->shard;
    bool is_split = ms_splits_halves(builder);
    if (is_sequence_parallel(builder) && !is_split && (parts & MS_PART_INPUT)) {
        ms_cost_collective(builder, MS_COLL_ALL_GATHER,
                           shard->tokens * shard->hidden * shard->element_B);
    }
    if (ms_repeats(builder, parts, MS_RECOMPUTE_LATENT_UP)) {
        builder->is_recompute = true;
        ms_cost_compute(builder);
        add_heads(builder, MS_PART_FORWARD);
        builder->is_recompute = false;
    }
    ms_cost_compute(builder);
    ms_cost_residual(builder, parts);
    add_output(builder, parts);
    if (parts & MS_PART_INPUT) {
        ms_cost_core(builder, parts, &core);
        ms_cost_compute(builder);
    }
    add_heads(builder, parts);
    if (parts & MS_PART_INPUT) {
        add_latent_collective(builder, is_sequence_parallel(builder) ? MS_COLL_REDUCE_SCATTER
                                                                     : MS_COLL_ALL_REDUCE);
        ms_cost_compute(builder);
    }
    add_latents(builder, parts);
    ms_cost_norm(builder, parts);
}

/* Add the attention half with latent attention. `parts` is the forward part alone, or backward
 * parts. */
void ms_cost_mla(ms_cost_builder *builder, unsigned parts) {
    if (parts & MS_PART_FORWARD) {
        add_forward(builder);
    } else {
        add_backward(builder, parts);
    }
}
