/* What follows the last microbatch: gradients are reduced over dp, tied embeddings over first and
 * last stage, the optimizer updates, and with a sharded optimizer the parameters are gathered. */
#include "graph/passes.h"

static const ms_dag_op NO_LABELS = {.mb = -1, .stage = -1, .chunk = -1, .layer = -1};

void ms_outstanding_add(ms_lowering *l, int32_t sim, int32_t communicator, int32_t op) {
    ms_outstanding *o = &l->outstanding[sim];
    int i = 0;
    while (i < o->count && o->communicators[i] != communicator) {
        i++;
    }
    if (op < 0) {
        return;
    }
    if (i == MS_OUTSTANDING_MAX) {
        l->dag->failed = true;
        return;
    }
    o->count = i == o->count ? i + 1 : o->count;
    o->communicators[i] = communicator;
    o->ops[i] = op;
}

/* The collectives of a plan, one after the other. */
static ms_status lower_plan(ms_lowering *l, int p, const ms_pass_plan *plans) {
    ms_status status = MS_OK;
    for (int i = 0; plans != NULL && i < plans[p].count && status == MS_OK; i++) {
        const ms_segment *segment = &l->in->costs->segments[plans[p].first + i];
        ms_group_op c = {.kind = segment->coll,
                         .size_B = segment->coll_B,
                         .group_axes = segment->group_axes,
                         .op = NO_LABELS};
        c.op.kind = (uint8_t)ms_op_kind_of_coll(segment->coll);
        c.op.axis = (uint8_t)segment->axis;
        bool has_run = false;
        status = ms_group_lower(l, p, &c, &has_run);
    }
    return status;
}

static void join_outstanding(ms_lowering *l, int32_t sim) {
    ms_outstanding *o = &l->outstanding[sim];
    for (int i = 0; i < o->count; i++) {
        ms_dag_add_dep(l->dag, o->ops[i]);
    }
    o->count = 0;
}

/* The optimizer; where it takes no time, what is outstanding still comes before the parameters are
 * gathered. */
static void update(ms_lowering *l, int p) {
    double time_s = l->in->costs->optimizer_s[p];
    if (time_s <= 0.0 && l->outstanding[p * l->sims].count == 0) {
        return;
    }
    ms_dag_work work = {.time_s = time_s,
                        .stands_for = l->group_ranks / l->sims,
                        .group_size = 1,
                        .tier = -1,
                        .tag = -1};
    ms_dag_op op = NO_LABELS;
    op.kind = MS_OP_OPTIMIZER;
    op.work = ms_dag_add_work(l->dag, &work);
    for (int k = 0; k < l->sims; k++) {
        int32_t sim = p * l->sims + k;
        int32_t index = ms_dag_add_op(l->dag, &op);
        ms_dag_add_member(l->dag, sim);
        ms_tail_dep(l, sim, true);
        join_outstanding(l, sim);
        l->tail[sim] = index;
        l->tail_communicates[sim] = false;
    }
}

/* The all-reduce of the word embedding's gradient between first and last stage, for every pair of
 * ranks. */
static ms_status reduce_tied(ms_lowering *l) {
    const ms_program *program = l->in->program;
    double size_B = l->in->costs->stage[0].tied_B;
    int ends[2] = {program->stage_rank[0], program->stage_rank[program->stages - 1]};
    if (size_B <= 0.0 || ends[0] == ends[1]) {
        return MS_OK;
    }
    int *gpus = MS_NEW(l->arena, int, 2 * l->group_ranks);
    if (gpus == NULL) {
        return MS_E_NOMEM;
    }
    for (int i = 0; i < l->group_ranks; i++) {
        gpus[2 * i] = l->stage_ranks[ends[0] * l->group_ranks + i];
        gpus[2 * i + 1] = l->stage_ranks[ends[1] * l->group_ranks + i];
    }
    for (int k = 0; k < l->sims; k++) {
        ms_class_request request = {.kind = MS_COLL_ALL_REDUCE,
                                    .size_B = size_B,
                                    .gpus = gpus + 2 * k,
                                    .groups = l->group_ranks / l->sims,
                                    .members = 2};
        ms_dag_op op = NO_LABELS;
        op.kind = MS_OP_ALL_REDUCE;
        op.axis = MS_AXIS_PP;
        ms_status status = ms_class_work(l, &request, &op.work);
        if (status != MS_OK) {
            return status;
        }
        int32_t index = ms_dag_add_op(l->dag, &op);
        for (int end = 0; end < 2; end++) {
            int32_t sim = ends[end] * l->sims + k;
            ms_dag_add_member(l->dag, ms_dag_add_stream(l->dag, sim, -1, MS_AXIS_PP));
            ms_dag_add_dep(l->dag, l->tail[sim]);
            l->tail[sim] = index;
            l->tail_communicates[sim] = true;
        }
    }
    return MS_OK;
}

ms_status ms_step_end_lower(ms_lowering *l) {
    ms_status status = MS_OK;
    for (int p = 0; p < l->pp && status == MS_OK; p++) {
        status = lower_plan(l, p, l->in->costs->before_update);
    }
    status = status == MS_OK ? reduce_tied(l) : status;
    for (int p = 0; p < l->pp && status == MS_OK; p++) {
        update(l, p);
        status = lower_plan(l, p, l->in->costs->after_update);
    }
    return status;
}
