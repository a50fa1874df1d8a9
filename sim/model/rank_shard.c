/* Sizes of one rank's share of a layer: heads, columns, vocabulary and tokens. */
#include <math.h>

#include "model/internal.h"

/* Vocabulary rounded up as Megatron-LM does, to a multiple of 128 * tp.
 * Source: Megatron-LM, option --make-vocab-size-divisible-by, default 128. */
static double padded_vocab(int vocab, int tp) {
    double step = 128.0 * tp;
    return ceil(vocab / step) * step;
}

/* Key and value heads on one rank: an equal share, or one copy each where ranks outnumber them. */
static double local_kv_heads(const ms_model *model, int tp) {
    return model->kv_heads >= tp ? (double)model->kv_heads / tp : 1;
}

bool ms_is_recomputed(const ms_model_layout *layout, int position) {
    return layout->recompute == MS_RECOMPUTE_FULL &&
           (layout->recompute_layers == 0 || position < layout->recompute_layers);
}

bool ms_copies_units(const ms_model_layout *layout) {
    return layout->units != MS_UNITS_IN_PLACE &&
           ms_group_size(layout, ms_shard_group_of(layout, false).shard) > 1;
}

/* Whether every microbatch's gradients are reduced by themselves and added as shards: with units
 * that are copied for their reduction after every microbatch (FSDP). */
bool ms_makes_gradients_anew(const ms_model_layout *layout) {
    return ms_copies_units(layout) && layout->zero >= 2 && layout->reduce == MS_REDUCE_EVERY;
}

/* Sizes of a layer's share on one rank. Sizes that tp does not divide are refused by
 * ms_layout_check before. */
ms_shard ms_shard_of(const ms_model *model, const ms_model_layout *layout,
                     const ms_precision *precision) {
    double tp = layout->tp;
    ms_shard shard = {.tp = tp,
                      .slice = {.count = layout->slices > 1 ? layout->slices : 1},
                      .batch = layout->micro_batch,
                      .sequence = model->sequence,
                      .cp = layout->cp > 1 ? layout->cp : 1,
                      .tokens = (double)layout->micro_batch * model->sequence,
                      .hidden = model->hidden,
                      .heads = model->heads / tp,
                      .kv_heads = local_kv_heads(model, layout->tp),
                      .head_dim = model->head_dim,
                      .ffn = model->ffn / tp,
                      .vocab = padded_vocab(model->vocab, layout->tp) / tp,
                      .element_B = precision->parameter_B,
                      .accumulation_B = precision->gradient_B};
    shard.tokens /= shard.cp * shard.slice.count;
    shard.plane = shard.tokens * shard.hidden / (layout->has_sequence_parallel ? tp : 1);
    shard.q_width = shard.heads * shard.head_dim;
    shard.kv_width = shard.kv_heads * shard.head_dim;
    shard.qkv_width = shard.q_width + 2 * shard.kv_width;
    shard.up_width = model->is_gated ? 2 * shard.ffn : shard.ffn;
    ms_shard_set_slice(&shard, 0);
    return shard;
}

bool ms_has_fp32_activations(const ms_shard *shard) {
    enum { SINGLE_B = 4 };
    return shard->element_B >= SINGLE_B;
}

void ms_shard_set_slice(ms_shard *shard, int slice) {
    shard->slice.index = slice;
    shard->slice.keys = shard->sequence / shard->slice.count * (slice + 1);
}

/* Parameters of one norm: gain and bias for each element, the gain alone, or neither. */
double ms_norm_parameters(const ms_model *model) {
    if (model->is_plain_norm) {
        return 0;
    }
    bool has_gain_only = model->is_rms_norm || model->parts.has_gain_norms;
    return has_gain_only ? model->hidden : 2.0 * model->hidden;
}
