/* Collectives over the groups of a set of axes. */
#include "lower/passes.h"

/* A stream per communicator of a rank: one for each axis and set of axes that its groups span. */
static int32_t group_stream(ms_lowering *l, int32_t sim, const ms_group_op *c) {
    ms_work_key key = {
        .kind = (int32_t)c->group_axes, .domain = MS_DOMAIN_GROUP_STREAMS, .first = sim};
    key.second = (int32_t)c->op.axis;
    int32_t stream = ms_works_find(&l->works, &key);
    if (stream < 0) {
        stream = ms_dag_add_stream(l->dag, sim, -1, (ms_axis)c->op.axis);
        ms_works_remember(&l->works, &key, stream);
    }
    return stream;
}

/* Whether a rank is the lowest of its group. */
static bool is_lead(const ms_mesh *mesh, unsigned axes, int rank) {
    int coordinates[MS_MESH_AXES_MAX];
    ms_mesh_coordinates(mesh, rank, coordinates);
    for (int a = 0; a < mesh->axes; a++) {
        if ((axes & MS_AXIS_BIT(mesh->kinds[a])) != 0 && coordinates[a] != 0) {
            return false;
        }
    }
    return true;
}

/* All groups among the ranks of pipeline rank `p`, the one of `lead` first; [groups * members]. */
static int *list_groups(ms_lowering *l, int p, unsigned axes, int lead, int *groups_out) {
    const ms_mesh *mesh = l->in->mesh;
    int *gpus = MS_NEW(l->arena, int, l->group_ranks);
    if (gpus == NULL) {
        return NULL;
    }
    int next = ms_mesh_members(mesh, axes, lead, gpus);
    int groups = 1;
    for (int i = 0; i < l->group_ranks && l->works.is_folded; i++) {
        int rank = l->stage_ranks[p * l->group_ranks + i];
        if (rank != lead && is_lead(mesh, axes, rank)) {
            next += ms_mesh_members(mesh, axes, rank, gpus + next);
            groups++;
        }
    }
    *groups_out = groups;
    return gpus;
}

/* The work of the collective of the group led by rank `lead`, made on first use. */
static ms_status group_work(ms_lowering *l, int p, int lead, const ms_group_op *c,
                            int32_t *work_out) {
    ms_work_key key = {.size_B = c->size_B,
                       .intra_node_B = c->intra_node_B,
                       .load_imbalance = c->load_imbalance,
                       .kind = (int32_t)c->kind,
                       .domain = (int32_t)c->op.axis,
                       .first = lead,
                       .second = (int32_t)c->group_axes};
    *work_out = ms_works_find(&l->works, &key);
    if (*work_out >= 0) {
        return MS_OK;
    }
    ms_fold_request request = {.kind = c->kind,
                               .size_B = c->size_B,
                               .intra_node_B = c->intra_node_B,
                               .load_imbalance = c->load_imbalance};
    request.members = ms_mesh_members(l->in->mesh, c->group_axes, lead, NULL);
    request.gpus = list_groups(l, p, c->group_axes, lead, &request.groups);
    ms_status status =
        request.gpus == NULL ? MS_E_NOMEM : ms_fold_work(&l->works, &request, work_out);
    if (status == MS_OK) {
        ms_works_remember(&l->works, &key, *work_out);
    }
    return status;
}

/* One operation of the group led by simulated rank `k` of pipeline rank `p`. */
static void add_group_op(ms_lowering *l, int p, int k, const ms_group_op *c) {
    int32_t index = ms_dag_add_op(l->dag, &c->op);
    int count = 1;
    if (!l->works.is_folded) {
        int lead = l->stage_ranks[p * l->group_ranks + k];
        count = ms_mesh_members(l->in->mesh, c->group_axes, lead, l->members);
    }
    for (int m = 0; m < count; m++) {
        int member = l->works.is_folded ? k : l->place[l->members[m]];
        int32_t sim = p * l->sims + member;
        ms_dag_add_member(l->dag, group_stream(l, sim, c));
        ms_tail_dep(l, sim, false);
        for (int i = 0; i < 2; i++) {
            ms_dag_add_dep(l->dag, c->inputs[i] == NULL ? -1 : c->inputs[i][member]);
        }
        ms_join_deps(l, &c->joins, member);
        if (c->ends_out == NULL) {
            l->tail[sim] = index;
            l->tail_communicates[sim] = true;
        } else {
            c->ends_out[member] = index;
        }
    }
}

ms_status ms_group_lower(ms_lowering *l, int p, const ms_group_op *op, bool *has_run_out) {
    *has_run_out = false;
    ms_group_op c = *op;
    if (c.group_axes == 0) {
        c.group_axes = MS_AXIS_BIT(c.op.axis);
    }
    int first = l->stage_ranks[p * l->group_ranks];
    if (ms_mesh_members(l->in->mesh, c.group_axes, first, NULL) == 1 || c.size_B <= 0.0) {
        return MS_OK;
    }
    *has_run_out = true;
    for (int k = 0; k < l->sims; k++) {
        int rank = l->stage_ranks[p * l->group_ranks + k];
        if (!is_lead(l->in->mesh, c.group_axes, rank)) {
            continue;
        }
        ms_status status = group_work(l, p, rank, &c, &c.op.work);
        if (status != MS_OK) {
            return status;
        }
        add_group_op(l, p, k, &c);
    }
    return MS_OK;
}
