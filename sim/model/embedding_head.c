/* The first stage's word embedding, and the last stage's final norm, head (the product with the
 * vocabulary) and loss. The vocabulary is split over tp as in Megatron-LM. */
#include <math.h>

#include "model/internal.h"

/* Add the word embedding's part of a pass. Forward: lookup in the rank's part of the table,
 * reduction over tp, learned positions, dropout. Backward: dropout's gradient (I and B passes), the
 * table's gradient (B and W passes), before which tokens are gathered with sequence parallelism. */
void ms_cost_embedding(ms_cost_builder *builder, ms_pass pass) {
    const ms_shard *shard = &builder->shard;
    double elements = shard->tokens * shard->hidden;
    double mask_B = builder->model->dropout > 0 ? shard->plane : 0;
    bool is_split = builder->layout->has_sequence_parallel;
    if (shard->vocab <= 0) {
        return;
    }
    if (pass == MS_PASS_F) {
        ms_cost_compute(builder);
        /* a row of the table in and out for each token */
        ms_cost_memory(builder, "embedding", 2 * elements * shard->element_B);
        /* tp ranks without a word's row contribute zeros to the sum; learned positions are added to
         * all tokens, so that the sum is not scattered before */
        bool is_scattered = is_split && !builder->model->has_positions;
        ms_cost_collective(builder, is_scattered ? MS_COLL_REDUCE_SCATTER : MS_COLL_ALL_REDUCE,
                           elements * shard->element_B);
        if (builder->model->has_positions) {
            ms_cost_compute(builder);
            ms_cost_memory(builder, "position_embedding", 3 * elements * shard->element_B);
        }
        if (mask_B > 0) {
            ms_cost_compute(builder);
            ms_cost_memory(builder, "embedding_dropout",
                           2 * shard->plane * shard->element_B + mask_B);
        }
        return;
    }
    if (pass != MS_PASS_W && mask_B > 0) {
        ms_cost_compute(builder);
        ms_cost_memory(builder, "dropout_backward", 2 * shard->plane * shard->element_B + mask_B);
    }
    if (pass != MS_PASS_I && is_split) {
        ms_cost_collective(builder, MS_COLL_ALL_GATHER, elements * shard->element_B);
    }
    if (pass != MS_PASS_I) {
        /* the table's gradient is dense: it is zeroed, and for each token a gradient is read, and a
         * row read and written */
        double table = ms_embedding_parameters(builder->model, shard);
        ms_cost_compute(builder);
        ms_cost_memory(builder, "embedding_weight_grad", (table + 3 * elements) * shard->element_B);
        ms_cost_accumulate(builder, table);
    }
}

/* What a loss moves for each logit in one direction, e bytes a logit and 4 bytes in fp32.
 * - Megatron-LM's (vocab_parallel), in fp32: the copy to fp32 (e in, 4 out), maximum (4 in),
 *   difference (4 in, 4 out), exponential (4 in, 4 out), sum (4 in), division (4 in, 4 out).
 *   Backward the product with the loss's gradient (4 in, 4 out) and the copy back (4 in, e out).
 *   Source: order of operations of Megatron-LM's vocab_parallel_cross_entropy; bytes derived here.
 * - PyTorch's (plain): logits read once, copied to fp32 (4 out), log-softmax (maximum, sum and
 *   result each read 4, 4 out). Backward a dense gradient of the picked entries (4 out),
 *   log-softmax (gradient read twice and result once, 4 each, 4 out), the copy back (4 in), the
 *   logits' gradient written once. Source: passes of PyTorch's nn.functional.cross_entropy on CUDA;
 *   bytes derived here.
 * - Fused: logits in. Backward logits in, their gradient out in the same place. Source: Dao-AILab
 *   flash-attention, flash_attn/ops/triton/cross_entropy.py.
 * - Compiled: the copy to fp32 with its maximum (e in, 4 out), exponential with its sum (4 in, 4
 *   out), division (4 in, 4 out). Backward the gradient (4 in, e out). Source:
 *   megatron.core.fusions.fused_cross_entropy, a compiled function between two reductions; bytes
 *   derived here.
 * - Transformer Engine's: logits in for the maximum and the sum; logits in once more and their
 *   gradient out in the same place. Backward that gradient in and, scaled, out: the kernel does not
 *   know that the loss's own gradient is 1, as losses are returned token by token. Source:
 *   Transformer Engine, transformer_engine.pytorch.triton.cross_entropy (online_softmax_kernel,
 *   cross_entropy_kernel, element_mul_kernel); Megatron-LM, loss_func (the losses of tokens are
 *   masked and summed). */
typedef struct loss_bytes {
    double elements; /* read or written per logit, in the type of the logits */
    double fp32_B;   /* read or written per logit in fp32 [B] */
} loss_bytes;

/* Of each loss, [0] forward and [1] backward: all that it moves, and the part of this that is
 * copies to fp32 and back, which logits in fp32 do without. The compiled loss writes its copy in
 * the kernel that finds the maximum; that kernel reads the logits in any case. */
static const struct {
    loss_bytes moved[2], copied[2];
} LOSSES[] = {
    [MS_LOSS_VOCAB_PARALLEL] = {{{1, 36}, {1, 12}}, {{1, 4}, {1, 4}}},
    [MS_LOSS_PLAIN] = {{{1, 20}, {1, 24}}, {{1, 4}, {1, 4}}},
    [MS_LOSS_FUSED] = {{{1, 0}, {2, 0}}, {{0, 0}, {0, 0}}},
    [MS_LOSS_COMPILED] = {{{1, 20}, {1, 4}}, {{0, 4}, {0, 0}}},
    [MS_LOSS_TRANSFORMER_ENGINE] = {{{3, 0}, {2, 0}}, {{0, 0}, {0, 0}}},
};

/* Bytes that a loss moves over the rank's logits in one direction [B]. */
static double loss_B(const ms_cost_builder *builder, ms_loss loss, bool is_backward) {
    const ms_shard *shard = &builder->shard;
    loss_bytes each = LOSSES[loss].moved[is_backward];
    if (ms_has_fp32_activations(shard)) {
        each.elements -= LOSSES[loss].copied[is_backward].elements;
        each.fp32_B -= LOSSES[loss].copied[is_backward].fp32_B;
    }
    return shard->tokens * shard->vocab * (each.fp32_B + each.elements * shard->element_B);
}

/* Add a loss's kernel. It walks along a row of the vocabulary with sums of the row on the way, and
 * reaches less of the memory bandwidth than a copy does: the GPU type's loss_share, if it gives
 * one. */
static void add_loss(ms_cost_builder *builder, const char *name, double bytes) {
    double share = builder->gpu->kernels.loss_share;
    double slower = share > 0 ? fmax(builder->gpu->memory_efficiency / share, 1) : 1;
    ms_cost_slow_memory(builder, name, bytes, slower);
}

/* Add the metrics that the trainer reports besides the loss: plain cross entropies of the same
 * logits, each computed by itself. Source: mosaicml/composer, Trainer._train_microbatch
 * (_eval_train_metrics behind every backward pass) and composer.metrics.nlp (LanguageCrossEntropy,
 * LanguagePerplexity). */
static void add_metrics(ms_cost_builder *builder) {
    for (int i = 0; i < builder->model->loss_metrics; i++) {
        add_loss(builder, "loss_metric", loss_B(builder, MS_LOSS_PLAIN, false));
    }
}

/* Add the forward pass of the head: the gather of tokens (sequence parallelism), final norm,
 * product, loss with its reductions over tp, metrics. */
static void add_head_forward(ms_cost_builder *builder) {
    const ms_shard *shard = &builder->shard;
    double plane_B = shard->tokens * shard->hidden * shard->element_B;
    if (builder->layout->has_sequence_parallel) {
        ms_cost_collective(builder, MS_COLL_ALL_GATHER, plane_B);
    }
    ms_cost_compute(builder);
    ms_cost_norm(builder, MS_PART_FORWARD);
    ms_cost_product(builder, "head",
                    (ms_gemm_shape){shard->tokens, shard->vocab, shard->hidden, 1});
    add_loss(builder, "cross_entropy", loss_B(builder, builder->model->loss, false));
    add_metrics(builder);
    /* three reductions of one fp32 per token (maximum, predicted logit, sum), added as one */
    ms_cost_collective(builder, MS_COLL_ALL_REDUCE, 3 * 4 * shard->tokens);
}

/* Add the backward pass of the head. The input, kept split by tokens under sequence parallelism, is
 * gathered again for the weight gradient. The input's gradient is summed over tp. */
static void add_head_backward(ms_cost_builder *builder, unsigned parts) {
    const ms_shard *shard = &builder->shard;
    double plane_B = shard->tokens * shard->hidden * shard->element_B;
    bool is_split = builder->layout->has_sequence_parallel;
    if (is_split && (parts & MS_PART_WEIGHT)) {
        ms_cost_collective(builder, MS_COLL_ALL_GATHER, plane_B);
    }
    ms_cost_compute(builder);
    if (parts & MS_PART_INPUT) {
        add_loss(builder, "cross_entropy_backward", loss_B(builder, builder->model->loss, true));
        ms_cost_product(builder, "head_input_grad",
                        (ms_gemm_shape){shard->tokens, shard->hidden, shard->vocab, 1});
        ms_cost_norm(builder, MS_PART_INPUT);
    }
    if (parts & MS_PART_WEIGHT) {
        ms_cost_weight_gradient(builder, "head_weight_grad",
                                (ms_gemm_shape){shard->vocab, shard->hidden, shard->tokens, 1});
    }
    if (parts & MS_PART_INPUT) {
        ms_cost_collective(builder, is_split ? MS_COLL_REDUCE_SCATTER : MS_COLL_ALL_REDUCE,
                           plane_B);
    }
}

/* Add the final norm, the head and the loss for a pass, if the model has a vocabulary. */
void ms_cost_head(ms_cost_builder *builder, ms_pass pass) {
    if (builder->shard.vocab <= 0) {
        return;
    }
    builder->product.kind = MS_PRODUCT_HEAD;
    switch (pass) {
    case MS_PASS_F:
        add_head_forward(builder);
        break;
    case MS_PASS_I:
        add_head_backward(builder, MS_PART_INPUT);
        break;
    case MS_PASS_W:
        add_head_backward(builder, MS_PART_WEIGHT);
        break;
    default:
        add_head_backward(builder, MS_PART_INPUT | MS_PART_WEIGHT);
        break;
    }
    builder->product.kind = (ms_product_kind)0;
}
