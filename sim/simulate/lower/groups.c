/* Lowers collectives over the groups of a set of axes: one operation for all groups that a class of
 * ranks leads. `k` is a class of the ranks of pipeline rank `p` (ranks.h); the lowest class in a
 * group leads it (traffic.h). */
#include "simulate/lower/lowering.h"

/* The stream of a simulated rank's communicator for a collective, made on first use. A rank has one
 * communicator for each pair of an axis and a set of axes that groups span. */
static int32_t group_stream(ms_lowering *l, int32_t sim, const ms_group_op *c) {
    ms_work_key key = {.kind = (int32_t)ms_group_axes(c),
                       .domain = MS_DOMAIN_GROUP_STREAMS,
                       .first = sim,
                       .second = (int32_t)c->op.axis};
    return ms_stream_of(l, &key, -1, (ms_axis)c->op.axis);
}

ms_group_op ms_group_op_of(const ms_segment *segment) {
    ms_group_op op = {.kind = segment->coll,
                      .size_B = segment->coll_B,
                      .intra_node_B = segment->coll_intra_node_B,
                      .load_imbalance = segment->coll_load_imbalance,
                      .group_axes = segment->group_axes,
                      .op = MS_NO_LABELS};
    op.op.kind = (uint8_t)ms_op_kind_of_coll(segment->coll);
    op.op.axis = (uint8_t)segment->axis;
    return op;
}

ms_work_key ms_group_key(const ms_group_op *op, int first) {
    return (ms_work_key){.size_B = op->size_B,
                         .intra_node_B = op->intra_node_B,
                         .load_imbalance = op->load_imbalance,
                         .kind = (int32_t)op->kind,
                         .domain = (int32_t)op->op.axis,
                         .first = first,
                         .second = (int32_t)ms_group_axes(op)};
}

ms_coll_request ms_group_request(const ms_group_op *op, int members) {
    return (ms_coll_request){.kind = op->kind,
                             .members = members,
                             .size_B = op->size_B,
                             .intra_node_B = op->intra_node_B,
                             .load_imbalance = op->load_imbalance};
}

/* Find the work of collective `c` in the groups that class `k` leads, made on first use.  Returns
 * as ms_communication_make. */
static ms_status group_work(ms_lowering *l, const ms_comm_groups *groups, int k,
                            const ms_group_op *c, int32_t *work_out) {
    int p = groups->ends[0];
    ms_work_key key = ms_group_key(c, ms_rank_simulated(&l->ranks, p, k));
    *work_out = ms_works_find(&l->works, &key);
    if (*work_out >= 0) {
        return MS_OK;
    }
    ms_step_comm comm = {.key = ms_group_key(c, ~p), /* of the communication in all groups of p */
                         .request = ms_group_request(c, groups->members),
                         .groups = groups};
    return ms_communication_make(l, &key, &comm, k, work_out);
}

/* Emit one operation of collective `c` for the groups that class `k` leads: its members are the
 * simulated ranks of all classes in these groups. */
static void add_group_op(ms_lowering *l, const ms_comm_groups *groups, int k,
                         const ms_group_op *c) {
    int32_t index = ms_dag_add_op(l->dag, &c->op);
    for (int m = groups->class_first[k]; m < groups->class_first[k + 1]; m++) {
        int member = groups->member_classes[m];
        int32_t sim = groups->ends[0] * l->ranks.simulated_per_pp + member;
        int32_t stream = group_stream(l, sim, c);
        ms_dag_add_member(l->dag, stream);
        ms_before_depend(&l->waiting, member, l->dag, -1);
        ms_waits_add(&l->waiting.pool, &c->ends[member], index, stream);
    }
}

bool ms_group_runs(const ms_lowering *l, int p, const ms_group_op *op) {
    int first = ms_rank_at(&l->ranks, p, 0);
    return op->size_B > 0.0 && ms_ranks_members(&l->ranks, ms_group_axes(op), first, NULL) > 1;
}

/* Groups are emitted once, by the class `k` that leads them (traffic.h). */
ms_status ms_group_lower(ms_lowering *l, int p, const ms_group_op *op) {
    ms_group_op c = *op;
    const int ends[2] = {p, -1};
    const ms_comm_groups *groups = ms_traffic_groups(&l->traffic, ends, ms_group_axes(op));
    ms_status status = groups == NULL ? MS_E_NOMEM : MS_OK;
    for (int k = 0; k < l->ranks.simulated_per_pp && status == MS_OK; k++) {
        if (groups->lead[k] != k) {
            continue;
        }
        status = group_work(l, groups, k, &c, &c.op.work);
        if (status == MS_OK) {
            add_group_op(l, groups, k, &c);
        }
    }
    return status;
}
