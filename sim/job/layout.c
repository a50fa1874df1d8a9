/* The degrees and choices that lay a model out, from mesh, platform and workload. */
#include "job/layout.h"

#include <string.h>

/* One axis of a name of its own holds further replicas; a second one would be ambiguous. */
static ms_status check_axes(const ms_workload *w, const ms_mesh *mesh, ms_arena *arena,
                            ms_diag *diag) {
    int others = 0;
    for (int a = 0; a < mesh->axes; a++) {
        others += mesh->kinds[a] == MS_AXIS_OTHER && mesh->sizes[a] > 1 ? 1 : 0;
        if (others > 1) {
            const ms_node *node = ms_node_get(w->mesh, mesh->names[a]);
            return ms_config_fault(diag, node == NULL ? w->mesh : node,
                                   ms_arena_printf(arena, "mesh.%s", mesh->names[a]),
                                   "a second axis with a name of its own, of size %d; one such "
                                   "axis can be larger than 1",
                                   mesh->sizes[a]);
        }
    }
    return MS_OK;
}

/* Axes whose ranks see other data: what state can be sharded over. */
static bool is_replica_axis(ms_axis axis) {
    return axis == MS_AXIS_DP || axis == MS_AXIS_CP || axis == MS_AXIS_EP || axis == MS_AXIS_OTHER;
}

static ms_status read_shard_axes(const ms_workload *w, const ms_mesh *mesh, ms_diag *diag,
                                 unsigned *axes_out) {
    const ms_node *data = ms_node_get(w->root, "data_parallel");
    unsigned axes = 0;
    for (size_t i = 0; i < w->shard.count; i++) {
        int index = ms_mesh_axis(mesh, w->shard.items[i]);
        if (index < 0 || !is_replica_axis(mesh->kinds[index])) {
            return ms_config_fault(diag, ms_node_get(data, "shard"), "data_parallel.shard",
                                   "'%s' is no axis of replicas of this mesh; expected some of "
                                   "dp, cp, ep",
                                   w->shard.items[i]);
        }
        axes |= MS_AXIS_BIT(mesh->kinds[index]);
    }
    *axes_out = axes;
    return MS_OK;
}

static ms_status read_recompute_parts(const ms_workload *w, ms_diag *diag, unsigned *parts_out) {
    static const struct {
        const char *name;
        unsigned bit;
    } PARTS[] = {{"norms", MS_RECOMPUTE_NORMS},
                 {"latent_up", MS_RECOMPUTE_LATENT_UP},
                 {"activations", MS_RECOMPUTE_ACTIVATIONS},
                 {"products", MS_RECOMPUTE_PRODUCTS}};
    unsigned parts = 0;
    for (size_t i = 0; i < w->recompute_parts.count; i++) {
        unsigned bit = 0;
        for (size_t p = 0; p < sizeof PARTS / sizeof PARTS[0]; p++) {
            bit |= strcmp(w->recompute_parts.items[i], PARTS[p].name) == 0 ? PARTS[p].bit : 0;
        }
        if (bit == 0) {
            return ms_config_fault(diag, ms_node_get(w->root, "recompute_parts"), "recompute_parts",
                                   "expected some of norms, latent_up, activations and products, "
                                   "got '%s'",
                                   w->recompute_parts.items[i]);
        }
        parts |= bit;
    }
    *parts_out = parts;
    return MS_OK;
}

/* FSDP and DeepSpeed's ZeRO 2 reduce every microbatch's gradients where they are told nothing else;
 * PyTorch's pipelining tells them to hold whole ones until a stage's last.
 * Source: torch/distributed/pipelining/stage.py, backward_maybe_with_nosync. */
static ms_reduce usual_reduce(const ms_model_layout *layout) {
    bool has_replicas = ms_layout_replicas(layout) * layout->cp > 1;
    return layout->zero >= 2 && layout->pp == 1 && has_replicas ? MS_REDUCE_EVERY : MS_REDUCE_LAST;
}

/* Only a ring has blocks that travel beside the attention.
 * Source: Megatron-LM, cp_comm_type: p2p "can be overlapped with attention compute", all_gather "is
 * not async, and cannot be overlapped". */
static ms_status check_context_overlap(const ms_workload *w, const ms_model_layout *layout,
                                       ms_diag *diag) {
    static const char *const WHEN[] = {[MS_CP_ALL_GATHER] = "all_gather has keys and values",
                                       [MS_CP_ALL_TO_ALL] = "all_to_all has all that it needs"};
    if (layout->cp <= 1 || layout->cp_kind == MS_CP_RING || !layout->has_cp_overlap) {
        return MS_OK;
    }
    return ms_config_fault(
        diag, ms_node_get(ms_node_get(w->root, "context_parallel"), "overlap"),
        "context_parallel.overlap",
        "%s before the attention begins: only a ring's blocks travel beside it; leave it out, or "
        "set context_parallel.kind to ring",
        WHEN[layout->cp_kind]);
}

ms_status ms_layout_find(const ms_workload *w, const ms_mesh *mesh, ms_arena *arena, ms_diag *diag,
                         ms_model_layout *layout_out) {
    ms_model_layout layout = w->layout;
    layout.tp = ms_mesh_size(mesh, MS_AXIS_TP);
    layout.pp = ms_mesh_size(mesh, MS_AXIS_PP);
    layout.dp = ms_mesh_size(mesh, MS_AXIS_DP);
    layout.cp = ms_mesh_size(mesh, MS_AXIS_CP);
    layout.ep = ms_mesh_size(mesh, MS_AXIS_EP);
    layout.other = 1;
    for (int a = 0; a < mesh->axes; a++) {
        layout.other *= mesh->kinds[a] == MS_AXIS_OTHER ? mesh->sizes[a] : 1;
    }
    /* only a ring has something to hide behind; where it is not asked for, it is not wanted
     * elsewhere */
    if (!ms_config_has(ms_node_get(w->root, "context_parallel"), "overlap")) {
        layout.has_cp_overlap = layout.cp > 1 && layout.cp_kind == MS_CP_RING;
    }
    if (!ms_config_has(ms_node_get(w->root, "data_parallel"), "reduce")) {
        layout.reduce = usual_reduce(&layout);
    }
    layout.micro_batch = w->batch.micro;
    ms_status status = check_axes(w, mesh, arena, diag);
    ms_status overlap = check_context_overlap(w, &layout, diag);
    status = status == MS_OK ? overlap : status;
    if (status == MS_OK) {
        status = read_shard_axes(w, mesh, diag, &layout.shard_axes);
    }
    if (status == MS_OK) {
        status = read_recompute_parts(w, diag, &layout.recompute_parts);
    }
    if (status == MS_OK) {
        *layout_out = layout;
    }
    return status;
}

int ms_layout_replicas(const ms_model_layout *layout) {
    return layout->dp * layout->ep * layout->other;
}

int ms_layout_node_ranks(const ms_mesh *mesh, const ms_platform *platform, int *members) {
    int count = ms_mesh_members(mesh, MS_AXIS_BIT(MS_AXIS_EP), 0, members);
    int together = 0;
    for (int i = 0; i < count; i++) {
        together += ms_platform_node(platform, members[i]) == ms_platform_node(platform, 0);
    }
    return together;
}
