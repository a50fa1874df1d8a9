/* Sets a job's layout, the degrees and choices by which its model is cut up, from mesh, platform
 * and workload. */
#include <string.h>

#include "job/internal.h"

/* Check that at most one axis with a name of the user's own is larger than 1. The ranks along such
 * an axis are further replicas; with a second one it would be unclear which axis is meant. */
static ms_status check_axes(const ms_job_spec *spec, const ms_mesh *mesh, ms_arena *arena,
                            ms_diag *diag) {
    int others = 0;
    for (int a = 0; a < mesh->axes; a++) {
        others += mesh->kinds[a] == MS_AXIS_OTHER && mesh->sizes[a] > 1 ? 1 : 0;
        if (others > 1) {
            const char *key_path = ms_arena_printf(arena, "mesh.%s", mesh->names[a]);
            return ms_spec_fault(spec, diag, key_path == NULL ? "mesh" : key_path,
                                 "a second axis with a name of its own, of size %d; one such "
                                 "axis can be larger than 1",
                                 mesh->sizes[a]);
        }
    }
    return MS_OK;
}

/* Whether ranks along an axis see different data, so that ZeRO can shard state over the axis. */
static bool is_replica_axis(ms_axis axis) {
    return axis == MS_AXIS_DP || axis == MS_AXIS_CP || axis == MS_AXIS_EP || axis == MS_AXIS_OTHER;
}

/* Set *axes_out to the axes that data_parallel.shard names (MS_AXIS_BIT of each), which must hold
 * replicas; 0 where it names none. */
static ms_status find_shard_axes(const ms_job_spec *spec, const ms_mesh *mesh, ms_diag *diag,
                                 unsigned *axes_out) {
    unsigned axes = 0;
    for (size_t i = 0; i < spec->shard.count; i++) {
        int index = ms_mesh_axis(mesh, spec->shard.items[i]);
        if (index < 0 || !is_replica_axis(mesh->kinds[index])) {
            return ms_spec_fault(spec, diag, "data_parallel.shard",
                                 "'%s' is no axis of replicas of this mesh; expected some of "
                                 "dp, cp, ep",
                                 spec->shard.items[i]);
        }
        axes |= MS_AXIS_BIT(mesh->kinds[index]);
    }
    *axes_out = axes;
    return MS_OK;
}

/* When gradients are reduced where the user does not say. FSDP and DeepSpeed's ZeRO 2 reduce those
 * of every microbatch; with pipeline parallelism PyTorch holds whole gradients until a stage's last
 * microbatch. Source: torch/distributed/pipelining/stage.py, backward_maybe_with_nosync. */
static ms_reduce usual_reduce(const ms_model_layout *layout) {
    bool has_replicas = ms_layout_replicas(layout) * layout->cp > 1;
    return layout->zero >= 2 && layout->pp == 1 && has_replicas ? MS_REDUCE_EVERY : MS_REDUCE_LAST;
}

/* Check that only a ring is asked to overlap: only its blocks travel beside the attention. Source:
 * Megatron-LM, cp_comm_type: p2p "can be overlapped with attention compute", all_gather "is not
 * async, and cannot be overlapped". */
static ms_status check_context_overlap(const ms_job_spec *spec, const ms_model_layout *layout,
                                       ms_diag *diag) {
    static const char *const WHEN[] = {[MS_CP_ALL_GATHER] = "all_gather has keys and values",
                                       [MS_CP_ALL_TO_ALL] = "all_to_all has all that it needs"};
    if (layout->cp <= 1 || layout->cp_kind == MS_CP_RING || !layout->has_cp_overlap) {
        return MS_OK;
    }
    return ms_spec_fault(
        spec, diag, "context_parallel.overlap",
        "%s before the attention begins: only a ring's blocks travel beside it; leave it out, or "
        "set context_parallel.kind to ring",
        WHEN[layout->cp_kind]);
}

/* Set the parallel degrees of a layout from the sizes of the mesh's axes; ep, and the experts' own
 * tp and dp, from the experts' mesh where there is one. `other` is the size of the axis with a name
 * of the user's own, 1 if there is none. */
static void set_degrees(const ms_job *job, ms_model_layout *layout) {
    const ms_mesh *mesh = &job->mesh, *experts = job->expert_mesh;
    layout->tp = ms_mesh_size(mesh, MS_AXIS_TP);
    layout->pp = ms_mesh_size(mesh, MS_AXIS_PP);
    layout->dp = ms_mesh_size(mesh, MS_AXIS_DP);
    layout->cp = ms_mesh_size(mesh, MS_AXIS_CP);
    layout->ep = ms_mesh_size(experts == NULL ? mesh : experts, MS_AXIS_EP);
    if (experts != NULL) {
        layout->expert_mesh = (ms_expert_mesh){.tp = ms_mesh_size(experts, MS_AXIS_TP),
                                               .dp = ms_mesh_size(experts, MS_AXIS_DP)};
    }
    layout->other = 1;
    for (int a = 0; a < mesh->axes; a++) {
        layout->other *= mesh->kinds[a] == MS_AXIS_OTHER ? mesh->sizes[a] : 1;
    }
}

/* Set a job's layout: the choices of the spec, then the members that follow from mesh, host and
 * platform. */
ms_status ms_spec_find_layout(ms_job *job, ms_arena *arena, ms_diag *diag) {
    const ms_job_spec *spec = &job->spec;
    const ms_mesh *mesh = &job->mesh;
    ms_model_layout *layout = &job->layout; /* set in place: ms_memo reads its padding */
    memcpy(layout, &spec->choices, sizeof *layout);
    layout->micro_batch = spec->batch.micro;
    layout->communication_sms = spec->schedule.communication_sms;
    layout->waits_for_counts =
        (ms_spec_host_of(spec).syncs & MS_SYNC_EXPERTS) != 0 && spec->host.launch_s > 0;
    layout->blocking_launch_s = spec->host.syncs & MS_SYNC_KERNELS ? spec->host.launch_s : 0;
    set_degrees(job, layout);
    if (job->platform != NULL) { /* without a platform its faults are reported already */
        layout->slowest_gpu =
            ms_platform_slowest(job->platform, mesh->ranks, !spec->host.replaces_slow_nodes);
    }
    /* where the user gives no choice, a ring overlaps its messages and other kinds do not */
    bool is_ring = layout->cp > 1 && layout->cp_kind == MS_CP_RING;
    layout->has_cp_overlap = spec->cp_overlap == MS_SPEC_OPEN ? is_ring : spec->cp_overlap == 1;
    layout->reduce = spec->reduce == MS_SPEC_OPEN ? usual_reduce(layout) : (ms_reduce)spec->reduce;
    ms_status status = check_axes(spec, mesh, arena, diag);
    ms_status overlap = check_context_overlap(spec, layout, diag);
    status = status == MS_OK ? overlap : status;
    status = status == MS_OK ? find_shard_axes(spec, mesh, diag, &layout->shard_axes) : status;
    return status;
}

/* Set how many members of rank 0's ep group are on the node of its first member. All ep groups are
 * taken to lie on nodes as this one does. */
ms_status ms_spec_count_node_ranks(ms_job *job, ms_arena *arena) {
    const ms_platform *cluster = job->platform;
    const ms_mesh *mesh = ms_mesh_of_axes(&job->mesh, job->expert_mesh, MS_AXES_OF_EXPERTS);
    int *members = MS_NEW(arena, int, job->layout.ep);
    if (members == NULL) {
        return MS_E_NOMEM;
    }
    int count = ms_mesh_members(mesh, MS_AXIS_BIT(MS_AXIS_EP), 0, members);
    ms_mesh_to_devices(mesh, members, count);
    job->layout.ep_node_ranks = 0;
    for (int i = 0; i < count; i++) {
        job->layout.ep_node_ranks +=
            ms_platform_node(cluster, members[i]) == ms_platform_node(cluster, members[0]);
    }
    return MS_OK;
}

int ms_layout_replicas(const ms_model_layout *layout) {
    bool is_of_experts_alone = layout->expert_mesh.tp > 0;
    return layout->dp * layout->other * (is_of_experts_alone ? 1 : layout->ep);
}
