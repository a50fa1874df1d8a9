/* Memory of a virtual stage on one rank: activations that a microbatch keeps from its forward to
 * its backward pass ("kept"), what exists during a pass only ("working"), and parameters, gradients
 * and optimizer state ("states").
 *
 * Source of the activations: Korthikanti et al. 2022, arXiv:2205.05198, sections 4.1 to 4.2, tensor
 * by tensor. Their sbh(10 + 24/t + 5as/(ht)), with sequence parallelism sbh(34/t + 5as/(ht)), is
 * the case of 2-byte elements, dropout, full attention, ffn 4h, tp t. */
#include <math.h>

#include "model/attention_casts.h"
#include "model/mla.h"
#include "model/moe.h"

/* Bytes of the dropout mask behind a half, one per element [B]; 0 without dropout. */
static double mask_B(const ms_cost_builder *builder) {
    return builder->model->dropout > 0 ? builder->shard.plane : 0;
}

/* Bytes that a half keeps at its front [B]: the input of its norm, and the norm's result as the
 * input of its first product, unless the backward pass recomputes norms. kind: of that product. */
static double kept_front_B(const ms_cost_builder *builder, ms_product_kind kind) {
    bool is_repeated = (builder->layout->recompute_parts & MS_RECOMPUTE_NORMS) != 0;
    double result_B = is_repeated ? 0 : ms_kept_input_B(builder, kind);
    return builder->shard.plane * (builder->shard.element_B + result_B);
}

/* The sizes of the model's attention core on this rank. */
static ms_core core_of(const ms_cost_builder *builder) {
    return ms_is_mla(builder->model) ? ms_mla_core(builder->model, &builder->shard)
                                     : ms_head_core(builder);
}

/* Elements per token that copies of key and value heads (repeat_kv) keep beyond the original heads;
 * 0 where the backward pass makes the copies again. */
static double repeated_width(const ms_cost_builder *builder) {
    const ms_shard *shard = &builder->shard;
    bool is_kept = builder->model->repeats_key_values &&
                   !(builder->layout->recompute_parts & MS_RECOMPUTE_ACTIVATIONS);
    return is_kept ? 2 * (shard->q_width - shard->kv_width) : 0;
}

/* Bytes that one microbatch keeps in the attention half, norm included. Selective recomputation
 * moves what the core keeps to the pass that repeats it (moved_B). */
static ms_kept_bytes attention_kept(const ms_cost_builder *builder) {
    const ms_shard *shard = &builder->shard;
    ms_core core = core_of(builder);
    double core_B = ms_core_activation_B(builder, &core);
    bool is_moved = builder->layout->recompute == MS_RECOMPUTE_SELECTIVE;
    bool keeps_keys = !(builder->layout->recompute_parts & MS_RECOMPUTE_PRODUCTS);
    double qkv_width = shard->qkv_width - (keeps_keys ? 0 : shard->kv_width);
    double heads_B = kept_front_B(builder, MS_PRODUCT_PROJECTIONS) /* inputs of norm and of qkv */
                     + ms_kept_operand_B(builder) * shard->tokens *
                           (qkv_width + repeated_width(builder)) /* q, k, v */
                     + ms_kept_context_B(builder) * shard->tokens * shard->q_width +
                     mask_B(builder);
    ms_kept_bytes kept = {.kept_B = heads_B};
    if (ms_is_mla(builder->model)) {
        kept = ms_mla_kept(builder);
    }
    *(is_moved ? &kept.moved_B : &kept.kept_B) += core_B;
    return kept;
}

/* Bytes that the half of a layer with a dense MLP keeps at its front [B], as kept_front_B. In a
 * parallel block attention and MLP have the same input, which the attention half counts. With one
 * norm for both the MLP half adds nothing, with a norm of its own (has_branch_norms) that norm's
 * result. */
static double mlp_front_B(const ms_cost_builder *builder) {
    const ms_model *model = builder->model;
    double input_B = builder->shard.plane * builder->shard.element_B; /* attention counts it */
    double front_B = kept_front_B(builder, MS_PRODUCT_MLP);
    return !model->has_parallel_block      ? front_B
           : model->parts.has_branch_norms ? front_B - input_B
                                           : 0;
}

/* Bytes that norms keep which only some families have [B]: the inputs of norms of both halves'
 * results, and those of the norms of queries and keys. The latter are kept beside the norms'
 * results, which q and k count; a backward pass that recomputes norms keeps only one of the two. */
static double more_norms_B(const ms_cost_builder *builder) {
    const ms_shard *shard = &builder->shard;
    const ms_layer_parts *parts = &builder->model->parts;
    bool keeps_both = !(builder->layout->recompute_parts & MS_RECOMPUTE_NORMS);
    double heads =
        parts->has_qk_norms && keeps_both ? shard->tokens * (shard->q_width + shard->kv_width) : 0;
    return shard->element_B * (heads + (parts->has_post_norms ? 2 * shard->plane : 0));
}

/* Bytes that one microbatch keeps in the dense MLP half of a layer, norm included [B].
 * Recomputation of products leaves half of the activation's input. In a parallel block the
 * attention half counts the only dropout mask. */
static double mlp_kept_B(const ms_cost_builder *builder) {
    const ms_shard *shard = &builder->shard;
    double e = shard->element_B;
    bool keeps_result = !(builder->layout->recompute_parts & MS_RECOMPUTE_ACTIVATIONS);
    bool keeps_both = !(builder->layout->recompute_parts & MS_RECOMPUTE_PRODUCTS);
    double up_width = keeps_both ? shard->up_width : shard->ffn;
    double input_B = keeps_result ? ms_kept_input_B(builder, MS_PRODUCT_MLP) : 0;
    double mask_after_B = builder->model->has_parallel_block ? 0 : mask_B(builder);
    return mlp_front_B(builder) + mask_after_B +
           e * shard->tokens * up_width            /* input of the activation */
           + input_B * shard->tokens * shard->ffn; /* input of the second product */
}

/* Bytes that the loss keeps for its backward pass [B]: probabilities in fp32; the plain one their
 * logarithms and the logits, which the caller still holds; fused ones the logits alone, Transformer
 * Engine's with the gradient in their place. */
static double loss_kept_B(const ms_cost_builder *builder) {
    const ms_shard *shard = &builder->shard;
    double e = shard->element_B;
    double logit_B[] = {[MS_LOSS_VOCAB_PARALLEL] = 4,
                        [MS_LOSS_PLAIN] = 4 + e,
                        [MS_LOSS_FUSED] = e,
                        [MS_LOSS_COMPILED] = 4,
                        [MS_LOSS_TRANSFORMER_ENGINE] = e};
    return shard->tokens * shard->vocab * logit_B[builder->model->loss];
}

/* Bytes that exist during the loss's passes only [B].
 * - Megatron-LM's: forward the logits, of which a copy in fp32 becomes the probabilities in place.
 *   Backward the probabilities become the logits' gradient in place, which is copied to the logits'
 *   type. Logits in fp32 need no copies.
 * - PyTorch's: two gradients in fp32 and, over a split vocabulary, the probabilities.
 * - Fused: nothing.
 * - Compiled: a compiled function between two reductions does not write to its inputs, so that the
 *   copy in fp32 and the probabilities exist side by side.
 *
 * Source: Megatron-LM, megatron.core.tensor_parallel.cross_entropy and
 * megatron.core.fusions.fused_cross_entropy; PyTorch, torch/distributed/tensor/parallel/loss.py
 * (tensors alive at once). */
static double loss_working_B(const ms_cost_builder *builder) {
    const ms_shard *shard = &builder->shard;
    double plain_B = shard->tp > 1 ? 12 : 8;
    double logits_B = ms_has_fp32_activations(shard) ? 0 : shard->element_B;
    double logit_B[] = {[MS_LOSS_VOCAB_PARALLEL] = logits_B,
                        [MS_LOSS_PLAIN] = plain_B,
                        [MS_LOSS_FUSED] = 0,
                        [MS_LOSS_COMPILED] = logits_B + 4,
                        [MS_LOSS_TRANSFORMER_ENGINE] = 0};
    return shard->tokens * shard->vocab * logit_B[builder->model->loss];
}

/* Bytes of a layer's kept activations that wait on the host instead of the GPU [B]: of norms, the
 * fronts of both halves; of attention, all but its front and its mask; of routed experts, the
 * copies of tokens and the experts' inner tensors. */
static double offloaded_B(const ms_cost_builder *builder, int layer) {
    unsigned parts = builder->layout->offloaded;
    bool is_moe = ms_layer_is_moe(builder->model, layer);
    double front_B = kept_front_B(builder, MS_PRODUCT_PROJECTIONS), sum_B = 0;
    if (parts & MS_OFFLOAD_NORMS) { /* the input of a router is kept in the working type */
        bool is_repeated = (builder->layout->recompute_parts & MS_RECOMPUTE_NORMS) != 0;
        double plane_B = builder->shard.plane * builder->shard.element_B;
        sum_B += front_B + (is_moe ? (is_repeated ? 1 : 2) * plane_B : mlp_front_B(builder));
    }
    if (parts & MS_OFFLOAD_ATTENTION) {
        sum_B += attention_kept(builder).kept_B - front_B - mask_B(builder);
    }
    if ((parts & MS_OFFLOAD_EXPERTS) && is_moe) {
        sum_B += ms_moe_copies_kept_B(builder, &builder->moe_loads[layer]);
    }
    return sum_B;
}

/* Bytes that one microbatch keeps on the GPU of a layer that is not recomputed as a whole [B]. */
static double layer_kept_B(const ms_cost_builder *stage, int layer) {
    ms_cost_builder own = *stage;
    own.product.layer = layer;
    const ms_cost_builder *builder = &own;
    double mlp_B = ms_layer_is_moe(builder->model, layer)
                       ? ms_moe_kept_B(builder, &builder->moe_loads[layer])
                       : mlp_kept_B(builder);
    return attention_kept(builder).kept_B + mlp_B + more_norms_B(builder) -
           offloaded_B(builder, layer);
}

/* Bytes that one microbatch keeps of a layer that is recomputed as a whole [B]: the layer's input,
 * and the keys and values that later slices of the sequence attend to. */
static double recomputed_kept_B(const ms_cost_builder *builder) {
    const ms_shard *shard = &builder->shard;
    ms_core core = core_of(builder);
    bool is_seen = shard->slice.index < shard->slice.count - 1;
    return shard->plane * shard->element_B +
           (is_seen ? ms_core_key_value_B(builder, &core, shard->tokens) : 0);
}

/* Bytes that one microbatch keeps in MTP modules [B]: those of their layers; six planes, the inputs
 * of three norms, of the merging product (two) and of the head; and what the head's loss keeps. */
static double modules_kept_B(const ms_cost_builder *builder, ms_stage_content content) {
    const ms_model *model = builder->model;
    const ms_shard *shard = &builder->shard;
    double plane_B = shard->plane * shard->element_B, kept = 0;
    for (int i = 0; i < model->mtp_layers; i++) {
        bool is_recomputed = ms_is_recomputed(builder->layout, content.layers + i);
        kept +=
            is_recomputed ? recomputed_kept_B(builder) : layer_kept_B(builder, model->layers + i);
        kept += 6 * plane_B + loss_kept_B(builder);
    }
    return kept;
}

/* Bytes that one microbatch (or slice) keeps on a stage from its forward to its backward pass
 * [B]. */
static double kept_B(const ms_cost_builder *builder, ms_stage_content content) {
    const ms_shard *shard = &builder->shard;
    double plane_B = shard->plane * shard->element_B;
    double kept = 0;
    for (int i = 0; i < content.layers; i++) {
        kept += ms_is_recomputed(builder->layout, i)
                    ? recomputed_kept_B(builder)
                    : layer_kept_B(builder, content.layer_first + i);
    }
    if (builder->model->vocab == 0) {
        return kept;
    }
    if (content.is_first) {
        kept += mask_B(builder);
    }
    if (content.is_last) {
        /* inputs of the final norm and of the head; probabilities in fp32 */
        kept += 2 * plane_B + loss_kept_B(builder);
        kept += modules_kept_B(builder, content);
    }
    return kept;
}

/* Bytes that exist only while a layer's backward pass runs [B]: the widest gradients inside a half,
 * two gradients of the hidden state, and activations that are recomputed or fetched back from the
 * host. A layer that is recomputed as a whole has all its activations at once then, those of
 * recompute_parts included. position: of the layer in its virtual stage, 0-based. */
static double layer_working_B(const ms_cost_builder *stage, int layer, int position) {
    bool is_whole = ms_is_recomputed(stage->layout, position);
    ms_model_layout layout = *stage->layout;
    layout.recompute_parts = is_whole ? 0 : layout.recompute_parts;
    ms_cost_builder own = *stage;
    own.layout = &layout;
    own.product.layer = layer;
    const ms_cost_builder *builder = &own;
    const ms_shard *shard = &builder->shard;
    double e = shard->element_B;
    double mlp_B = ms_layer_is_moe(builder->model, layer)
                       ? ms_moe_working_B(builder, &builder->moe_loads[layer])
                       : shard->tokens * (shard->up_width + shard->ffn) * e;
    ms_core core = core_of(builder);
    double scores_B = builder->model->attention != MS_ATTENTION_UNFUSED
                          ? 0
                          : 2 * e * shard->tokens * shard->heads * shard->slice.keys;
    double attention_B =
        scores_B + attention_kept(builder).moved_B + ms_core_buffer_B(builder, &core);
    double planes_B = 2 * shard->tokens * shard->hidden * e;
    double back_B = is_whole ? layer_kept_B(builder, layer) : 0; /* recomputed or fetched back */
    back_B += offloaded_B(builder, layer);
    return fmax(mlp_B, attention_B) + planes_B + back_B;
}

/* Parameters of the stage's largest FSDP unit on this rank [count]. */
static double largest_unit(const ms_cost_builder *builder, ms_stage_content content) {
    double largest = 0;
    int count = ms_stage_fsdp_unit_count(builder, content);
    for (int i = 0; i < count; i++) {
        ms_fsdp_unit unit = ms_stage_fsdp_unit(builder, content, i);
        largest = fmax(largest, unit.parameters.dense + unit.parameters.expert);
    }
    return largest;
}

/* Bytes of the sums of gradients of keys and values that wait between the backward passes of
 * slices, in all layers of the stage [B]: later slices have left them for the keys and values of
 * this slice and of those before it. The last slice, which runs first, writes its gradients for the
 * earlier slices there. */
static double waiting_gradients_B(const ms_cost_builder *builder, ms_stage_content content) {
    const ms_shard *shard = &builder->shard;
    ms_core core = core_of(builder);
    double slices = fmin(shard->slice.index + 1, shard->slice.count - 1);
    int layers = content.layers + (content.is_last ? builder->model->mtp_layers : 0);
    return layers * ms_core_key_value_B(builder, &core, slices * shard->tokens);
}

/* Bytes that arrive from the host while a layer's backward pass runs [B]: the offloaded activations
 * of the layer before it in the stage, whose backward pass is next. The stage's last layer leaves
 * nothing on the host, as its activations are needed at once. Source: Megatron-LM,
 * megatron.core.pipeline_parallel.fine_grained_activation_offload (on_group_start_backward reloads
 * the next group, should_bulk_offload leaves out the last one). */
static double reloaded_B(const ms_cost_builder *builder, ms_stage_content content, int position) {
    int layer = content.layer_first + position - 1;
    bool is_there = position > 0 && !ms_is_recomputed(builder->layout, position - 1);
    return is_there ? offloaded_B(builder, layer) : 0;
}

/* Bytes that the most demanding layer of a stage works with, less those that the loss keeps [B].
 * The loss's tensors are gone when layers run backward, and not there yet when they run forward, so
 * that a layer can use their place. */
static double layers_working_B(const ms_cost_builder *builder, ms_stage_content content) {
    double layer_B = 0, loss_B = 0;
    int modules = content.is_last ? builder->model->mtp_layers : 0; /* behind the last layer */
    for (int i = 0; i < content.layers + modules; i++) {
        layer_B = fmax(layer_B, layer_working_B(builder, content.layer_first + i, i) +
                                    reloaded_B(builder, content, i));
    }
    if (content.is_last && builder->model->vocab > 0) {
        loss_B = (1 + modules) * loss_kept_B(builder);
    }
    return fmax(layer_B - loss_B, 0);
}

/* Bytes that exist only during a pass, at most [B]: of a layer or of the loss; of the tensors that
 * the stage receives and sends; of sums that wait for earlier slices; of gathered parameters and
 * gradient buckets. */
static double working_B(const ms_cost_builder *builder, ms_stage_content content) {
    const ms_shard *shard = &builder->shard;
    bool has_loss = content.is_last && builder->model->vocab > 0;
    double head_B = has_loss ? loss_working_B(builder) : 0;
    bool has_neighbour = !(content.is_first && content.is_last);
    double boundary_B = has_neighbour ? 2 * shard->plane * shard->element_B : 0;
    return fmax(layers_working_B(builder, content), head_B) + boundary_B +
           waiting_gradients_B(builder, content) +
           ms_fsdp_unit_buffers_B(builder, largest_unit(builder, content));
}

/* All parts of a stage's memory on one rank. States are computed twice: for all units, and for the
 * transformer layers alone. */
ms_stage_memory ms_stage_memory_of(const ms_cost_builder *builder, ms_stage_content content) {
    ms_parameter_count layers = {.dense = 0};
    int count = ms_stage_fsdp_unit_count(builder, content);
    for (int i = 0; i < count; i++) {
        ms_fsdp_unit unit = ms_stage_fsdp_unit(builder, content, i);
        if (unit.kind == MS_FSDP_UNIT_LAYER) {
            ms_parameters_add(&layers, &unit.parameters);
        }
    }
    ms_state_bytes states = ms_states_of(builder, ms_stage_parameters(builder, content));
    ms_state_bytes own = ms_states_of(builder, layers);
    return (ms_stage_memory){.parameter_B = states.parameter_B,
                             .gradient_B = states.gradient_B,
                             .optimizer_B = states.optimizer_B,
                             .activation_B = kept_B(builder, content),
                             .working_B = working_B(builder, content),
                             .transformer_B = own.parameter_B + own.gradient_B + own.optimizer_B,
                             .round_B = states.round_B,
                             .round_transformer_B = own.round_B,
                             .unsharded_B = states.unsharded_B,
                             .unsharded_transformer_B = own.unsharded_B,
                             .framework_B = ms_framework_buffer_B(builder, content),
                             .update_B = states.update_B};
}
