/* State sharded over the replicas (ZeRO, FSDP): parameters gathered before the passes that need
 * them, gradients reduced behind the passes that make them, and what is left for the step's end.
 * Also the optimizer's time and the memory of states.
 *
 * Gathers and reductions go unit by unit: a transformer layer, the embedding, the head. With
 * overlap a unit's parameters are gathered while the unit before it computes, and gradients are
 * reduced while the next unit's backward pass runs. Source: Rajbhandari et al. 2020,
 * arXiv:1910.02054, sections 5 and 7 (ZeRO 1 to 3); Zhao et al. 2023, arXiv:2304.11277, section 3
 * (units, prefetch, resharding, hybrid sharding). Where the schedule places the gathers, a stage is
 * gathered as a whole, outside of its passes. */
#include <math.h>

#include "model/buckets.h"

/* Bytes of a gradient in fp32 that an update is made from [B]. */
static const double MAIN_GRADIENT_B = 4;

/* Parameters that one rank updates when the optimizer's state is sharded [count]. The ranks may
 * hold several copies of the state (state_copies), each sharded over fewer ranks. */
static double sharded(const ms_model_layout *layout, ms_parameter_count count) {
    double copies = fmax(layout->state_copies, 1);
    double dense = ms_group_size(layout, ms_shard_group_of(layout, false).shard) / copies;
    double expert = ms_group_size(layout, ms_shard_group_of(layout, true).shard) / copies;
    return count.dense / fmax(dense, 1) + count.expert / fmax(expert, 1);
}

bool ms_unshards_in_passes(const ms_model_layout *layout) {
    return layout->zero >= 3 || (layout->zero >= 1 && layout->has_gather_overlap);
}

/* Whether a pass gathers parameters: forward passes do wherever passes gather; I and B passes do
 * where parameters are dropped behind the forward pass (ZeRO 3). A W pass needs no parameters. */
static bool unshards_in(const ms_model_layout *layout, ms_pass pass) {
    bool is_kept = layout->zero < 3 || layout->keeps_parameters;
    return ms_unshards_in_passes(layout) && !layout->has_placed_unshards &&
           (pass == MS_PASS_F || (!is_kept && pass != MS_PASS_W));
}

/* Bytes of a rank's whole parameters as they are gathered [B]: weights of products may travel in
 * fewer bits. */
static double gathered_B(const ms_cost_builder *builder, ms_parameter_count count, bool is_expert) {
    double all = is_expert ? count.expert : count.dense;
    double cast = is_expert ? count.expert_quantized : count.dense_quantized;
    double parameter_B = builder->precision->parameter_B;
    bool is_cast =
        cast > 0 && builder->precision->products.parameter_gathers == MS_TYPE_OF_PRODUCTS;
    return all * parameter_B - (is_cast ? cast * (parameter_B - ms_quantized_B(builder)) : 0);
}

/* Add the all-gather of a rank's parameters, of experts or of all others. Parameters that stay
 * gathered (is_kept) are gathered on a step's first microbatch only. Returns the number to wait for
 * it by (ms_cost_communicate). */
static int gather(ms_cost_builder *builder, ms_parameter_count count, bool is_expert) {
    const ms_model_layout *layout = builder->layout;
    bool is_kept = layout->zero < 3 || layout->keeps_parameters;
    return ms_cost_communicate(
        builder, &(ms_comm){.axis = MS_AXIS_DP,
                            .group_axes = ms_shard_group_of(layout, is_expert).shard,
                            .kind = MS_COLL_ALL_GATHER,
                            .bytes = gathered_B(builder, count, is_expert),
                            .is_async = layout->has_gather_overlap || layout->has_placed_unshards,
                            .when = is_kept ? MS_WHEN_FIRST : MS_WHEN_ALWAYS});
}

/* Add the gathers of a unit's dense and expert parameters. */
static ms_fsdp_unit_unshards gather_unit(ms_cost_builder *builder, const ms_fsdp_unit *unit) {
    builder->layer = unit->layer;
    ms_fsdp_unit_unshards gathers = {.dense = gather(builder, unit->parameters, false),
                                     .expert = gather(builder, unit->parameters, true)};
    builder->layer = -1;
    return gathers;
}

/* Index of the lowest bucket whose gather has been started once a unit has begun: the bucket below
 * the lowest one that the unit needs, or the lowest that the next unit needs if that is lower.
 * Forward passes go from the last bucket to the first, and units count in the order of the backward
 * pass. */
static int gathered_by(const ms_stage_buckets *buckets, int kind, int unit) {
    int until = buckets->units[unit].reached[kind];
    until -= until < buckets->of[kind].count && until > 0 ? 1 : 0;
    int next = unit > 0 ? buckets->units[unit - 1].lowest[kind] : -1;
    return next >= 0 && next < until ? next : until;
}

/* Start the gathers of a kind of buckets that are to be under way once the builder's unit has
 * begun. Units count in the order of the backward pass, so a forward pass begins with the last
 * (is_first). Returns the number by which the unit waits for the gather of its own lowest bucket;
 * 0: it has none of this kind. */
static int gather_kind(ms_cost_builder *builder, int kind) {
    ms_stage_buckets *buckets = builder->unit.buckets.of;
    const ms_bucket_list *list = &buckets->of[kind];
    bool is_first = buckets->unit == buckets->unit_count - 1;
    int own = buckets->units[buckets->unit].lowest[kind];
    int from = is_first ? list->count : gathered_by(buckets, kind, buckets->unit + 1);
    int until = gathered_by(buckets, kind, buckets->unit);
    for (int i = from - 1; i >= until; i--) {
        bool is_expert = kind == MS_BUCKET_EXPERT;
        buckets->gathers[kind][i] =
            gather(builder, ms_bucket_count(&list->items[i], is_expert), is_expert);
    }
    return own >= 0 ? buckets->gathers[kind][own] : 0;
}

/* Start the gathers of both kinds of buckets for the unit that begins. Returns the numbers of the
 * gathers that the unit waits for. */
static ms_fsdp_unit_unshards gather_buckets(ms_cost_builder *builder) {
    int dense = gather_kind(builder, MS_BUCKET_DENSE);
    return (ms_fsdp_unit_unshards){.dense = dense,
                                   .expert = gather_kind(builder, MS_BUCKET_EXPERT)};
}

/* Gather the parameters of the next unit while the current unit computes. The first unit of a pass
 * gathers its own parameters before that. next: NULL: the current unit is the last. */
static void gather_ahead(ms_cost_builder *builder, const ms_fsdp_unit *unit,
                         const ms_fsdp_unit *next) {
    if (builder->segments.count == builder->unit.units_first) {
        builder->unit.arriving = gather_unit(builder, unit);
    }
    builder->unit.ready = builder->unit.arriving;
    if (next) {
        builder->unit.arriving = gather_unit(builder, next);
    }
}

/* Whether parameters are gathered in the buckets that gradients are reduced in (ZeRO 1 and 2, first
 * stage of a rank); else unit by unit. */
static bool gathers_buckets(const ms_cost_builder *builder) {
    return builder->unit.buckets.of != NULL && builder->unit.buckets.of->is_gathered &&
           builder->layout->zero < 3;
}

/* Add a memory-bound kernel in a segment of its own, apart from the segments of the layer beside
 * it. */
static void add_copy(ms_cost_builder *builder, int layer, const char *name, double bytes) {
    builder->layer = layer;
    builder->unit.open_first = builder->segments.count;
    ms_cost_compute(builder);
    ms_cost_memory(builder, name, bytes);
    builder->layer = -1;
    builder->unit.open_first = builder->segments.count;
}

/* Add the copy of a unit's parameters out of the gathered buffer (FSDP2), in which each rank's
 * shards of all parameters lie together: read and written once, on the compute stream. In a flat
 * buffer (FSDP) parameters are views, and nothing is copied. Source: PyTorch,
 * torch.distributed.fsdp._fully_shard (foreach_all_gather_copy_out);
 * torch.distributed.fsdp._flat_param (_get_unflat_views). */
static void copy_out(ms_cost_builder *builder, const ms_fsdp_unit *unit) {
    const ms_model_layout *layout = builder->layout;
    if (layout->units == MS_UNITS_PARAMETERS && ms_copies_units(layout) && layout->zero >= 3 &&
        !layout->keeps_parameters) {
        double all_B = gathered_B(builder, unit->parameters, false) +
                       gathered_B(builder, unit->parameters, true);
        add_copy(builder, unit->layer, "unit_copy_out", 2 * all_B);
    }
}

/* Add the copy of a bucket's gradients into the buffer that is reduced, e bytes an element as
 * products write them, g as they are reduced. Into a flat buffer (FSDP) autograd concatenates them
 * (2 e); they are cast where the types differ (e + g) and divided by a factor of the replicas (2
 * g). The last two run on a stream of their own, but use the memory that computation waits for.
 * FSDP2 copies and casts in one kernel (e + g), and its collective takes the mean. Gradients that
 * accumulate in the reduced buffer are not copied (ms_makes_gradients_anew). Source: PyTorch,
 * torch.distributed.fsdp._runtime_utils (_post_backward_hook, _reduce_grad, _div_if_needed) of 2.0;
 * torch.distributed.fsdp._fully_shard (foreach_reduce_scatter_copy_in, ReduceOp.AVG). */
static void copy_in(ms_cost_builder *builder, int layer) {
    const ms_model_layout *layout = builder->layout;
    double e = builder->shard.element_B, g = builder->precision->gradient_B;
    double all = builder->unit.bucket.dense + builder->unit.bucket.expert;
    if (!ms_makes_gradients_anew(builder->layout)) {
        return;
    }
    bool is_flat = layout->units == MS_UNITS_FLAT;
    double flat_B = 2 * e + (e < g ? e + g : 0) + 2 * g;
    add_copy(builder, layer, "unit_copy_in", all * (is_flat ? flat_B : e + g));
}

/* Begin a unit of a pass: gather parameters, and copy them out of the gathered buffer. Computation
 * that was added before is closed, so that only the unit's own waits for the gather. */
void ms_fsdp_unit_begin(ms_cost_builder *builder, ms_pass pass, const ms_fsdp_unit *unit,
                        const ms_fsdp_unit *next) {
    if (unshards_in(builder->layout, pass)) {
        if (gathers_buckets(builder)) {
            builder->unit.ready = gather_buckets(builder);
        } else {
            gather_ahead(builder, unit, next);
        }
        builder->unit.open_first = builder->segments.count;
    }
    builder->unit.body_first = builder->segments.count;
    if (unshards_in(builder->layout, pass)) {
        copy_out(builder, unit);
    }
}

/* The plan that gathers all parameters of a stage at once; empty unless the schedule places
 * gathers. */
ms_pass_plan ms_stage_unshard(ms_cost_builder *builder, ms_parameter_count count) {
    ms_cost_begin_plan(builder);
    if (builder->layout->has_placed_unshards) {
        gather(builder, count, false);
        gather(builder, count, true);
    }
    return (ms_pass_plan){.first = (int)builder->pass_first,
                          .count = (int)(builder->segments.count - builder->pass_first)};
}

/* Let a computation of the unit wait for the gather `after` (0: for none): the unit's first
 * computation for the dense parameters, its first one with routed experts for the expert
 * parameters. */
static void wait_for_gather(ms_cost_builder *builder, int after, bool is_expert) {
    for (size_t i = builder->unit.body_first; after != 0 && i < builder->segments.count; i++) {
        ms_segment *segment = &MS_AT(&builder->segments, ms_segment, i);
        if (!segment->is_collective && (segment->is_experts || !is_expert)) {
            ms_cost_wait(builder, segment, after);
            return;
        }
    }
}

/* End a unit of a pass: set its waits for gathers, and reduce gradients. The stage's buckets are
 * reduced, if it has any; else units are put together until they make a bucket, and reduced behind
 * the unit that fills it, or the last. */
void ms_fsdp_unit_end(ms_cost_builder *builder, ms_pass pass, const ms_fsdp_unit *unit,
                      bool is_last) {
    const ms_model_layout *layout = builder->layout;
    if (unshards_in(layout, pass)) {
        wait_for_gather(builder, builder->unit.ready.dense, false);
        wait_for_gather(builder, builder->unit.ready.expert, true);
    }
    if (!ms_reduces_in_passes(layout) || pass == MS_PASS_F || pass == MS_PASS_I) {
        return;
    }
    if (builder->unit.buckets.of != NULL) {
        ms_buckets_end_unit(builder, unit->layer);
        return;
    }
    builder->unit.bucket.dense += unit->parameters.dense;
    builder->unit.bucket.expert += unit->parameters.expert;
    double gradient_B = builder->precision->gradient_B;
    double bucket_B = (builder->unit.bucket.dense + builder->unit.bucket.expert) * gradient_B;
    /* gradients of a round are held whole for the stage: without overlap they are reduced together,
     * as nothing would be gained by reducing a part earlier */
    bool is_whole_stage = layout->reduce == MS_REDUCE_ROUND && !layout->has_reduce_overlap;
    if (is_last || (bucket_B >= layout->bucket_B && !is_whole_stage)) {
        copy_in(builder, unit->layer);
        builder->layer = is_whole_stage ? -1 : unit->layer;
        ms_shard_reduce(builder, builder->unit.bucket.dense * gradient_B, false, false);
        ms_shard_reduce(builder, builder->unit.bucket.expert * gradient_B, true, false);
        builder->layer = -1;
        builder->unit.bucket = (ms_parameter_count){.dense = 0};
    }
}

/* Add the sum of a buffer over the two ranks that hold the same stages, one in each direction of
 * the pipeline. In a pipeline with one direction nothing is added. */
static void sum_directions(ms_cost_builder *builder, double bytes) {
    ms_cost_communicate(builder, &(ms_comm){.axis = MS_AXIS_DP,
                                            .kind = MS_COLL_ALL_REDUCE,
                                            .bytes = bytes,
                                            .is_between_directions = true});
}

/* Add the step's end for a rank's gradients: their reduction, bucket by bucket or at once, where
 * passes have not reduced them, and the sum over both directions of the pipeline. bytes: of the
 * rank's whole gradients [B]. */
static void finish_gradients(ms_cost_builder *builder, const ms_rank_buckets *stages, double bytes,
                             bool is_expert) {
    const ms_model_layout *layout = builder->layout;
    ms_shard_group group = ms_shard_group_of(layout, is_expert);
    if (!ms_reduces_in_passes(layout) && stages->count == 0) {
        ms_shard_reduce(builder, bytes, is_expert, true);
    }
    int kind = is_expert ? MS_BUCKET_EXPERT : MS_BUCKET_DENSE;
    for (int s = 0; !ms_reduces_in_passes(layout) && s < stages->count; s++) {
        const ms_bucket_list *list = &stages->of[s]->of[kind];
        for (int i = 0; i < list->count; i++) {
            ms_shard_reduce(builder, list->items[i].parameters * builder->precision->gradient_B,
                            is_expert, true);
        }
    }
    if (layout->directions <= 1) {
        return;
    }
    unsigned held = layout->zero > 0 ? group.shard : group.all;
    sum_directions(builder, bytes / ms_group_size(layout, held));
    if (layout->zero == 0) { /* each replica updates all parameters: it needs whole gradients */
        ms_cost_communicate(builder, &(ms_comm){.axis = MS_AXIS_DP,
                                                .group_axes = group.all,
                                                .kind = MS_COLL_ALL_GATHER,
                                                .bytes = bytes});
    }
}

/* The plan of a step's end before the optimizer. With sequence parallelism the parameters that tp
 * ranks share are first summed over tp. */
ms_pass_plan ms_before_update(ms_cost_builder *builder, const ms_rank_buckets *stages,
                              ms_parameter_count held, double own_token_parameters) {
    double gradient_B = builder->precision->gradient_B;
    ms_cost_begin_plan(builder);
    ms_cost_collective(builder, MS_COLL_ALL_REDUCE, own_token_parameters * gradient_B);
    finish_gradients(builder, stages, held.dense * gradient_B, false);
    finish_gradients(builder, stages, held.expert * gradient_B, true);
    return (ms_pass_plan){.first = (int)builder->pass_first,
                          .count = (int)(builder->segments.count - builder->pass_first)};
}

/* Add the blocking all-gather of updated parameters at the step's end. */
static void gather_behind(ms_cost_builder *builder, ms_parameter_count gathered, bool is_expert) {
    ms_cost_communicate(
        builder, &(ms_comm){.axis = MS_AXIS_DP,
                            .group_axes = ms_shard_group_of(builder->layout, is_expert).shard,
                            .kind = MS_COLL_ALL_GATHER,
                            .bytes = gathered_B(builder, gathered, is_expert)});
}

/* The plan of a step's end behind the optimizer: gathers of updated parameters, bucket by bucket
 * where gradients have buckets, else all at once. */
ms_pass_plan ms_after_update(ms_cost_builder *builder, const ms_rank_buckets *stages,
                             ms_parameter_count gathered) {
    bool has_any = gathered.dense + gathered.expert > 0;
    ms_cost_begin_plan(builder);
    for (int kind = 0; kind < MS_BUCKET_KINDS; kind++) {
        bool is_expert = kind == MS_BUCKET_EXPERT;
        if (stages->count == 0) {
            gather_behind(builder, gathered, is_expert);
        }
        for (int s = 0; has_any && s < stages->count; s++) {
            const ms_bucket_list *list = &stages->of[s]->of[kind];
            for (int i = list->count - 1; i >= 0;
                 i--) { /* in the order in which the next forward passes need the parameters */
                gather_behind(builder, ms_bucket_count(&list->items[i], is_expert), is_expert);
            }
        }
    }
    return (ms_pass_plan){.first = (int)builder->pass_first,
                          .count = (int)(builder->segments.count - builder->pass_first)};
}

/* Whether a rank keeps shards of gradients, to which every reduction in the step adds, instead of
 * whole gradients. */
static bool keeps_shards(const ms_model_layout *layout) {
    return layout->reduce != MS_REDUCE_LAST;
}

/* Traffic of kernels around the reductions and the update that MS_UPDATE_SEPARATE counts apart [B].
 * Before the reduction every gradient is read for the check of its norm, and read and written to be
 * divided by the number of replicas. After the update the master copy is read for the working copy,
 * whose writing update_B counts. all, own: parameters that the rank holds, and that it updates
 * [count]. Source: Megatron-LM, megatron.core.distributed.param_and_grad_buffer (start_grad_sync:
 * check_for_nan_in_grad and gradient_scaling_factor, which are on by default) and
 * megatron.core.optimizer.distrib_optimizer (_copy_main_params_to_model_params). */
static double separate_B(const ms_cost_builder *builder, double all, double own) {
    const double MASTER_B = 4;
    const ms_model_layout *layout = builder->layout;
    /* a rank without replicas has nothing to divide by */
    double passes = ms_group_size(layout, ms_shard_group_of(layout, false).all) > 1 ? 3 : 1;
    return layout->update == MS_UPDATE_SEPARATE
               ? all * passes * builder->precision->gradient_B + own * MASTER_B
               : 0;
}

/* Bytes that an update of Adam moves for each parameter where every operation is a kernel over fp32
 * tensors, as in PyTorch's AdamW without fusion and Composer's DecoupledAdamW: the first moment
 * decayed and added to (8 and 12, or 12 in one and 8 for the parameter's own decay), the second
 * decayed and added to (8, 12), its root (8), divided by the bias' correction (8), plus epsilon
 * (8), the parameter moved (16). Clipping before it: gradients in fp32 read for the norm (4), then
 * read and written (8). Source: torch.optim.adamw (_multi_tensor_adamw),
 * composer.optim.decoupled_weight_decay; bytes derived here. */
static const double OPERATIONS_B = 80, CLIPPING_B = 12;

/* Bytes that clipping and update move for each parameter [B]: the gradient four times (norm,
 * clipping in and out, update), the state in and out, the working copy out. */
static double update_B(const ms_cost_builder *builder) {
    const ms_precision *precision = builder->precision;
    return builder->layout->update == MS_UPDATE_OPERATIONS
               ? OPERATIONS_B + CLIPPING_B
               : 4 * precision->gradient_B + 2 * precision->optimizer_B + precision->parameter_B;
}

/* Time of an optimizer step of one rank [s], by its traffic. Gradients are zeroed on every rank,
 * read for the norm, read and written by clipping, and read by the update. The update reads and
 * writes master copy and moments, and writes the working copy. Source: derived from Adam (Kingma
 * and Ba 2015) in mixed precision (Rajbhandari et al. 2020, arXiv:1910.02054, section 3.1). A
 * separate fp32 copy of 2-byte gradients is not counted.
 *
 * Offloaded, one after the other: clipped gradients are copied to the host, the host updates at the
 * speed of its memory, and parameters are copied back. Source: Ren et al. 2021, arXiv:2101.06840,
 * section 4.1 (traffic between GPU and host). */
double ms_optimizer_time_s(const ms_cost_builder *builder, ms_parameter_count count) {
    const ms_precision *precision = builder->precision;
    const ms_model_layout *layout = builder->layout;
    double all = count.dense + count.expert;
    double own = layout->zero >= 1 ? sharded(layout, count) : all;
    double kept = keeps_shards(layout) ? own : all;
    double zeroing_B = kept * precision->gradient_B + separate_B(builder, all, own);
    if (!layout->is_offloaded) {
        double traffic_B = own * update_B(builder);
        double casts_B = ms_weight_casts_B(builder, count.dense_quantized + count.expert_quantized);
        return ms_roofline_s(builder->gpu, 0, zeroing_B + traffic_B + casts_B, 1, NULL);
    }
    double clipping_B = own * 3 * precision->gradient_B;
    double on_host_B =
        own * (precision->gradient_B + 2 * precision->optimizer_B + precision->parameter_B);
    double crossing_B = own * (precision->gradient_B + precision->parameter_B);
    return ms_roofline_s(builder->gpu, 0, zeroing_B + clipping_B, 1, NULL) +
           crossing_B / builder->gpu->host.pcie_Bps + on_host_B / builder->gpu->host.memory_Bps;
}

/* Parameters that Megatron-FSDP gathers ahead of those in use, and after an update for the next
 * step. Source: Megatron-LM, its MegatronFSDP: half of a communication unit of at least 1e9
 * elements, from the first bucket on when start_param_sync begins a step. */
static const double PREFETCHED_PARAMETERS = 0.5e9;

/* Whether a buffer of whole parameters is kept that were gathered ahead (MS_BUFFER_PREFETCHED). */
static bool prefetches(const ms_model_layout *layout) {
    return layout->zero >= 3 && !layout->keeps_parameters && !layout->has_placed_unshards &&
           (layout->framework_memory.buffers & MS_BUFFER_PREFETCHED);
}

/* Bytes of the parameters that are gathered ahead [B], at most all of the rank's. */
static double prefetched_B(const ms_cost_builder *builder, ms_parameter_count count) {
    double all = count.dense + count.expert;
    if (!prefetches(builder->layout) || all <= 0) {
        return 0;
    }
    double share = fmin(1, PREFETCHED_PARAMETERS / all);
    return share * (gathered_B(builder, count, false) + gathered_B(builder, count, true));
}

/* Bytes that a rank holds from step to step: parameters whole below ZeRO 3, gradients whole unless
 * passes leave shards, optimizer state of the parameters that the rank updates. */
ms_state_bytes ms_states_of(const ms_cost_builder *builder, ms_parameter_count count) {
    const ms_precision *precision = builder->precision;
    const ms_model_layout *layout = builder->layout;
    double all = count.dense + count.expert;
    double share = sharded(layout, count);
    double held = layout->zero < 3 ? all : share + (layout->keeps_parameters ? all : 0);
    double kept = keeps_shards(layout) ? share : all;
    double made = layout->reduce == MS_REDUCE_ROUND ? all : 0;
    double updated = layout->is_offloaded ? 0 : layout->zero >= 1 ? share : all;
    double cast_B = ms_held_weights_B(builder, count.dense_quantized + count.expert_quantized);
    unsigned buffers = layout->framework_memory.buffers;
    bool has_main = (buffers & MS_BUFFER_MAIN_GRADIENTS) != 0;
    double last_B = buffers & MS_BUFFER_LAST_GRADIENTS ? all * precision->parameter_B : 0;
    return (ms_state_bytes){
        .parameter_B = held * precision->parameter_B + cast_B + prefetched_B(builder, count),
        .gradient_B = kept * precision->gradient_B + last_B,
        .round_B = made * precision->gradient_B,
        .optimizer_B = updated * precision->optimizer_B,
        .update_B = has_main ? updated * MAIN_GRADIENT_B : 0,
        .unsharded_B = layout->has_placed_unshards ? all * precision->parameter_B : 0};
}

/* Bytes of gathered units and of a bucket of gradients during a pass [B]. With overlap two units
 * are gathered at a time, the current and the next one. Parameters that are gathered far ahead, or
 * where the schedule says, are states (ms_states_of). There is a bucket only where every
 * microbatch's gradients are reduced. */
double ms_fsdp_unit_buffers_B(const ms_cost_builder *builder, double largest_unit) {
    const ms_model_layout *layout = builder->layout;
    const ms_precision *precision = builder->precision;
    double units_B = 0, bucket_B = 0;
    bool is_gathered = layout->zero >= 3 && !layout->keeps_parameters;
    if (is_gathered && !layout->has_placed_unshards && !prefetches(layout)) {
        units_B = (layout->has_gather_overlap ? 2 : 1) * largest_unit * precision->parameter_B;
    }
    if (layout->reduce == MS_REDUCE_EVERY) {
        bucket_B = fmax(layout->bucket_B, largest_unit * precision->gradient_B);
    }
    return units_B + bucket_B;
}
