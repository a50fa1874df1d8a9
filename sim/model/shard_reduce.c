/* Reductions of gradients over the replicas, and which ranks these are. */
#include "model/buckets.h"

enum {
    REPLICAS = MS_AXIS_BIT(MS_AXIS_DP) | MS_AXIS_BIT(MS_AXIS_CP) | MS_AXIS_BIT(MS_AXIS_OTHER),
    DENSE_REPLICAS = REPLICAS | MS_AXIS_BIT(MS_AXIS_EP) /* experts differ over ep */
};

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

static ms_when when_reduced(const ms_model_layout *layout) {
    static const ms_when WHEN[] = {[MS_REDUCE_LAST] = MS_WHEN_LAST,
                                   [MS_REDUCE_EVERY] = MS_WHEN_ALWAYS,
                                   [MS_REDUCE_ROUND] = MS_WHEN_ROUND};
    return WHEN[layout->reduce];
}

/* Reduce gradients over the replicas: to shards, then the shards over what else holds copies; or
 * whole, also where each replica updates its shard alone, as DeepSpeed's BF16_Optimizer does. With
 * two directions whole gradients become shards too: the two ranks of a stage sum those at the
 * step's end, and gather them. */
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
