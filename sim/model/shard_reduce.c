/* Reductions of gradients over the replicas, and the axes that the groups of these reductions
 * span. */
#include "model/buckets.h"

enum {
    REPLICAS = MS_AXIS_BIT(MS_AXIS_DP) | MS_AXIS_BIT(MS_AXIS_CP) | MS_AXIS_BIT(MS_AXIS_OTHER),
    DENSE_REPLICAS = REPLICAS | MS_AXIS_BIT(MS_AXIS_EP) /* experts differ over ep */
};

/* Axes over which parameters are replicated and sharded. Parameters of experts differ over ep; with
 * a mesh of their own their groups have that mesh's axes. */
ms_shard_group ms_shard_group_of(const ms_model_layout *layout, bool is_expert) {
    unsigned all = is_expert ? REPLICAS : DENSE_REPLICAS;
    unsigned shard = layout->shard_axes != 0 ? all & layout->shard_axes : all;
    if (is_expert) {
        all = ms_axes_of_experts(layout, all);
        shard = ms_axes_of_experts(layout, shard);
    } else if (layout->expert_mesh.tp > 0) { /* ep is an axis of the experts alone */
        all &= REPLICAS;
        shard &= REPLICAS;
    }
    return (ms_shard_group){.all = all, .shard = shard};
}

bool ms_reduces_in_passes(const ms_model_layout *layout) {
    return layout->reduce != MS_REDUCE_LAST || layout->has_reduce_overlap;
}

/* The microbatches on which passes reduce gradients. */
static ms_when when_reduced(const ms_model_layout *layout) {
    static const ms_when WHEN[] = {[MS_REDUCE_LAST] = MS_WHEN_LAST,
                                   [MS_REDUCE_EVERY] = MS_WHEN_ALWAYS,
                                   [MS_REDUCE_ROUND] = MS_WHEN_ROUND};
    return WHEN[layout->reduce];
}

/* Add the reduction of gradients over the replicas. With sharded state gradients are
 * reduce-scattered to shards; with several sets of shards (hybrid sharding) each shard is then
 * all-reduced over the sets. Else they are all-reduced, also in a ZeRO 1 of which each replica
 * keeps whole gradients, as DeepSpeed's BF16_Optimizer does. With two directions they are always
 * reduce-scattered: the two ranks of a stage sum the shards at the step's end, and gather them
 * there if nothing is sharded. */
void ms_shard_reduce(ms_cost_builder *builder, double bytes, bool is_expert, bool is_at_end) {
    const ms_model_layout *layout = builder->layout;
    ms_shard_group group = ms_shard_group_of(layout, is_expert);
    bool is_scattered = layout->directions > 1;
    bool is_sharded = layout->zero > 0 && (is_scattered || !layout->all_reduces_gradients);
    is_scattered = is_scattered || is_sharded;
    ms_comm comm = {.axis = MS_AXIS_DP,
                    .group_axes = is_sharded ? group.shard : group.all,
                    .kind = is_scattered ? MS_COLL_REDUCE_SCATTER : MS_COLL_ALL_REDUCE,
                    .bytes = bytes,
                    .is_async = layout->has_reduce_overlap && !is_at_end};
    comm.when = is_at_end ? MS_WHEN_ALWAYS : when_reduced(layout);
    comm.after = ms_cost_communicate(builder, &comm);
    if (is_sharded && group.shard != group.all) {
        comm.bytes = bytes / ms_group_size(layout, group.shard);
        comm.group_axes = (group.all & ~group.shard) | (group.all & MS_AXES_OF_EXPERTS);
        comm.kind = MS_COLL_ALL_REDUCE;
        ms_cost_communicate(builder, &comm);
    }
}
