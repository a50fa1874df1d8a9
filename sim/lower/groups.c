/* Collectives over the groups of a set of axes. */
#include "lower/lowering.h"

static unsigned axes_of(const ms_group_op *c) {
    return c->group_axes != 0 ? c->group_axes : MS_AXIS_BIT(c->op.axis);
}

/* A stream per communicator of a rank: one for each axis and set of axes that its groups span. */
static int32_t group_stream(ms_lowering *l, int32_t sim, const ms_group_op *c) {
    ms_work_key key = {.kind = (int32_t)axes_of(c),
                       .domain = MS_DOMAIN_GROUP_STREAMS,
                       .first = sim,
                       .second = (int32_t)c->op.axis};
    return ms_stream_of(l, &key, -1, (ms_axis)c->op.axis);
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
                       .second = (int32_t)axes_of(c)};
    *work_out = ms_works_find(&l->works, &key);
    if (*work_out >= 0) {
        return MS_OK;
    }
    ms_fold_request request = {
        .group = {.kind = c->kind,
                  .members = ms_ranks_members(&l->ranks, axes_of(c), lead, NULL),
                  .size_B = c->size_B,
                  .intra_node_B = c->intra_node_B,
                  .load_imbalance = c->load_imbalance}};
    request.group.gpus =
        ms_ranks_groups(&l->ranks, p, axes_of(c), lead, l->works.arena, &request.groups);
    return ms_communication_make(l, &key, &request, work_out);
}

/* One operation of the group led by the simulated rank at place `k` of pipeline rank `p`. */
static void add_group_op(ms_lowering *l, int p, int k, const ms_group_op *c) {
    const ms_ranks *ranks = &l->ranks;
    int32_t index = ms_dag_add_op(l->dag, &c->op);
    int count = 1;
    if (!ms_ranks_are_folded(ranks)) {
        count = ms_ranks_members(ranks, axes_of(c), ms_rank_at(ranks, p, k), l->members);
    }
    for (int m = 0; m < count; m++) {
        int place = ms_ranks_are_folded(ranks) ? k : ranks->place[l->members[m]];
        int32_t stream = group_stream(l, p * ranks->simulated_per_pp + place, c);
        ms_dag_add_member(l->dag, stream);
        ms_before_depend(&l->waiting, place, l->dag, -1);
        ms_waits_add(&l->waiting.pool, &c->ends[place], index, stream);
    }
}

bool ms_group_runs(const ms_lowering *l, int p, const ms_group_op *op) {
    int first = ms_rank_at(&l->ranks, p, 0);
    return op->size_B > 0.0 && ms_ranks_members(&l->ranks, axes_of(op), first, NULL) > 1;
}

ms_status ms_group_lower(ms_lowering *l, int p, const ms_group_op *op) {
    ms_group_op c = *op;
    for (int k = 0; k < l->ranks.simulated_per_pp; k++) {
        int rank = ms_rank_at(&l->ranks, p, k);
        /* The one rank of a folded pipeline rank is its lowest, and so the lowest of any group. */
        if (!ms_ranks_are_folded(&l->ranks) && !ms_rank_is_lead(&l->ranks, axes_of(&c), rank)) {
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
