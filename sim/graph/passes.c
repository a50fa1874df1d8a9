#include "graph/passes.h"

/* Marks an input whose producer has not been lowered (0xFE in every byte). */
static const int32_t NOT_YET = (int32_t)0xFEFEFEFE;

static size_t input_index(const ms_lowering *l, int stage, int mb) {
    return ((size_t)stage * (size_t)l->in->program->spec.microbatches + (size_t)mb) *
           (size_t)l->sims;
}

bool ms_pass_is_ready(const ms_lowering *l, const ms_action *action) {
    size_t index = input_index(l, action->stage, action->mb);
    switch ((ms_pass)action->pass) {
    case MS_PASS_F:
        return action->stage == 0 || l->forward_in[index] != NOT_YET;
    case MS_PASS_I:
    case MS_PASS_B:
        return l->backward_in[index] != NOT_YET;
    case MS_PASS_W:
    default:
        break;
    }
    return true;
}

/* The work of a computation segment, made on first use. */
static int32_t compute_work(ms_lowering *l, int segment_index) {
    if (l->segment_work[segment_index] < 0) {
        const ms_segment *segment = &l->in->costs->segments[segment_index];
        ms_dag_work work = {.time_s = segment->time_s,
                            .flop = segment->flop,
                            .bytes = segment->bytes_moved,
                            .stands_for = l->group_ranks / l->sims,
                            .group_size = 1,
                            .tier = -1,
                            .tag = segment_index};
        l->segment_work[segment_index] = ms_dag_add_work(l->dag, &work);
    }
    return l->segment_work[segment_index];
}

/* Program order of a compute stream implies a dependency on the computation before; others must be
 * named. */
static void add_tail_dep(ms_lowering *l, int32_t sim, bool on_compute_stream) {
    int32_t tail = l->tail[sim];
    if (tail < 0) {
        return;
    }
    if (!on_compute_stream || l->tail_communicates[sim]) {
        ms_dag_add_dep(l->dag, tail);
    }
}

static int32_t collective_stream(ms_lowering *l, int32_t sim, ms_axis axis) {
    int32_t *stream = &l->streams[(size_t)sim * MS_AXIS_COUNT + (size_t)axis];
    if (*stream < 0) {
        *stream = ms_dag_add_stream(l->dag, sim, -1, axis);
    }
    return *stream;
}

/* Computation on every simulated rank of `p`; `inputs` [sims] or NULL are further dependencies. */
static void lower_compute(ms_lowering *l, int p, const ms_dag_op *op, const int32_t *inputs) {
    for (int k = 0; k < l->sims; k++) {
        int32_t sim = p * l->sims + k;
        int32_t index = ms_dag_add_op(l->dag, op);
        /* simulated ranks are numbered as their compute streams were added: rank by rank, before
         * all others */
        ms_dag_add_member(l->dag, sim);
        add_tail_dep(l, sim, true);
        ms_dag_add_dep(l->dag, inputs == NULL ? -1 : inputs[k]);
        l->tail[sim] = index;
        l->tail_communicates[sim] = false;
    }
}

/* All groups along `axis` among the ranks of pipeline rank `p`, the one of `lead` first. */
static int *list_groups(ms_lowering *l, int p, int axis, int lead, int *groups_out) {
    const ms_mesh *mesh = l->in->mesh;
    int size = mesh->sizes[axis];
    int *gpus = MS_NEW(l->arena, int, l->group_ranks);
    int groups = 0;
    for (int pass = 0; gpus != NULL && pass < 2; pass++) {
        for (int i = 0; i < l->group_ranks; i++) {
            int rank = l->stage_ranks[p * l->group_ranks + i];
            ms_group group = ms_mesh_group(mesh, axis, rank);
            bool is_wanted = group.first == rank && (pass == 0) == (rank == lead);
            for (int m = 0; is_wanted && m < size; m++) {
                gpus[groups * size + m] = group.first + m * group.stride;
            }
            groups += is_wanted ? 1 : 0;
        }
    }
    *groups_out = groups;
    return gpus;
}

/* The work of a collective of the group led by rank `lead`, made on first use; -1 when memory ran
 * out. */
static int32_t group_work(ms_lowering *l, int p, int axis, int lead, const ms_work_key *key) {
    int32_t work = ms_lowering_find(l, key);
    if (work >= 0) {
        return work;
    }
    ms_class_request request = {.kind = (ms_coll_kind)key->kind, .size_B = key->size_B};
    request.members = l->in->mesh->sizes[axis];
    request.gpus = list_groups(l, p, axis, lead, &request.groups);
    request.groups = l->in->no_fold ? 1 : request.groups;
    if (request.gpus == NULL || ms_class_work(l, &request, &work) != MS_OK) {
        return -1;
    }
    ms_lowering_remember(l, key, work);
    return work;
}

/* One collective operation of a group; `inputs` [sims] or NULL are further dependencies. */
static void add_group_op(ms_lowering *l, const ms_group *group, const ms_dag_op *op,
                         const int32_t *inputs) {
    int p = ms_mesh_coordinate(l->in->mesh, group->first, MS_AXIS_PP);
    int32_t index = ms_dag_add_op(l->dag, op);
    int members = l->in->no_fold ? group->size : 1;
    for (int m = 0; m < members; m++) {
        int k = l->in->no_fold ? l->place[group->first + m * group->stride] : 0;
        int32_t sim = p * l->sims + k;
        ms_dag_add_member(l->dag, collective_stream(l, sim, (ms_axis)op->axis));
        add_tail_dep(l, sim, false);
        ms_dag_add_dep(l->dag, inputs == NULL ? -1 : inputs[k]);
        l->tail[sim] = index;
        l->tail_communicates[sim] = true;
    }
}

static ms_status lower_collective(ms_lowering *l, int p, ms_work_key key, const ms_dag_op *op,
                                  const int32_t *inputs) {
    int axis = ms_mesh_axis(l->in->mesh, ms_axis_name((ms_axis)op->axis));
    if (axis < 0 || l->in->mesh->sizes[axis] == 1) {
        return MS_OK;
    }
    for (int k = 0; k < l->sims; k++) {
        int rank = l->stage_ranks[p * l->group_ranks + k];
        ms_group group = ms_mesh_group(l->in->mesh, axis, rank);
        if (group.first != rank) {
            continue;
        }
        key.first = rank;
        ms_dag_op labelled = *op;
        labelled.work = group_work(l, p, axis, rank, &key);
        if (labelled.work < 0) {
            return MS_E_NOMEM;
        }
        add_group_op(l, &group, &labelled, inputs);
    }
    return MS_OK;
}

ms_status ms_collective_lower(ms_lowering *l, int p, ms_coll_kind kind, double size_B,
                              const ms_dag_op *op) {
    ms_work_key key = {.size_B = size_B, .kind = (int32_t)kind, .domain = op->axis};
    return lower_collective(l, p, key, op, NULL);
}

/* The stream of messages from one simulated rank to another in one direction of the pipeline. */
static int32_t message_stream(ms_lowering *l, int32_t source, int32_t destination,
                              bool is_forward) {
    /* a domain of its own keeps streams apart from works in the table */
    ms_work_key key = {.kind = is_forward ? 1 : 2,
                       .domain = MS_AXIS_COUNT,
                       .first = source,
                       .second = destination};
    int32_t stream = ms_lowering_find(l, &key);
    if (stream < 0) {
        stream = ms_dag_add_stream(l->dag, source, destination, MS_AXIS_PP);
        ms_lowering_remember(l, &key, stream);
    }
    return stream;
}

/* The work of a message between simulated ranks `k` of two pipeline ranks. */
static int32_t message_work(ms_lowering *l, int from, int to, int k, double size_B) {
    const int *sources = l->stage_ranks + (size_t)from * (size_t)l->group_ranks;
    const int *targets = l->stage_ranks + (size_t)to * (size_t)l->group_ranks;
    ms_work_key key = {.size_B = size_B,
                       .kind = MS_COLL_P2P,
                       .domain = MS_AXIS_PP,
                       .first = sources[k],
                       .second = targets[k]};
    int32_t work = ms_lowering_find(l, &key);
    if (work >= 0) {
        return work;
    }
    int groups = l->in->no_fold ? 1 : l->group_ranks;
    int *gpus = MS_NEW(l->arena, int, 2 * groups);
    if (gpus == NULL) {
        return -1;
    }
    for (int g = 0; g < groups; g++) {
        gpus[2 * g] = sources[k + g];
        gpus[2 * g + 1] = targets[k + g];
    }
    ms_class_request request = {.kind = MS_COLL_P2P,
                                .size_B = size_B,
                                .gpus = gpus,
                                .groups = groups,
                                .members = 2,
                                .is_pipelined = true};
    if (ms_class_work(l, &request, &work) != MS_OK) {
        return -1;
    }
    ms_lowering_remember(l, &key, work);
    return work;
}

/* Hand the result of a pass to `stage` (the next one in its direction): a message, or nothing
 * between stages of one rank. */
static ms_status send(ms_lowering *l, int p, const ms_dag_op *from, int stage, double size_B) {
    bool is_forward = stage > from->stage;
    int to = l->in->program->stage_rank[stage];
    int32_t *arrivals =
        (is_forward ? l->forward_in : l->backward_in) + input_index(l, stage, from->mb);
    ms_dag_op op = *from;
    op.kind = MS_OP_P2P;
    op.axis = MS_AXIS_PP;
    op.layer = -1;
    for (int k = 0; k < l->sims; k++) {
        int32_t sim = p * l->sims + k;
        arrivals[k] = l->tail[sim];
        if (to != p) {
            op.work = message_work(l, p, to, k, size_B);
            if (op.work < 0) {
                return MS_E_NOMEM;
            }
            int32_t stream = message_stream(l, sim, to * l->sims + k, is_forward);
            arrivals[k] = ms_dag_add_op(l->dag, &op);
            ms_dag_add_member(l->dag, stream);
            ms_dag_add_dep(l->dag, l->tail[sim]);
        }
    }
    return MS_OK;
}

static uint8_t op_kind(ms_pass pass, const ms_segment *segment) {
    static const uint8_t KINDS[MS_PASS_COUNT] = {[MS_PASS_F] = MS_OP_FORWARD,
                                                 [MS_PASS_I] = MS_OP_INPUT_GRAD,
                                                 [MS_PASS_W] = MS_OP_WEIGHT_GRAD,
                                                 [MS_PASS_B] = MS_OP_BACKWARD};
    if (segment->is_collective) {
        return (uint8_t)ms_op_kind_of_coll(segment->coll);
    }
    return segment->is_recompute ? (uint8_t)MS_OP_RECOMPUTE : KINDS[pass];
}

static ms_status lower_segment(ms_lowering *l, int p, const ms_action *action, int index,
                               const int32_t *inputs) {
    const ms_segment *segment = &l->in->costs->segments[index];
    ms_dag_op op = {.mb = action->mb,
                    .stage = action->stage,
                    .chunk = (int16_t)l->in->program->stage_chunk[action->stage],
                    .layer = (int16_t)segment->layer,
                    .kind = op_kind((ms_pass)action->pass, segment)};
    if (!segment->is_collective) {
        op.work = compute_work(l, index);
        lower_compute(l, p, &op, inputs);
        return MS_OK;
    }
    op.axis = (uint8_t)segment->axis;
    ms_work_key key = {.size_B = segment->coll_B,
                       .kind = (int32_t)segment->coll,
                       .domain = (int32_t)segment->axis};
    return lower_collective(l, p, key, &op, inputs);
}

/* What a pass waits for besides its rank's own order: [sims] operations, or NULL. */
static const int32_t *pass_inputs(const ms_lowering *l, const ms_action *action) {
    size_t index = input_index(l, action->stage, action->mb);
    switch ((ms_pass)action->pass) {
    case MS_PASS_F:
        return action->stage == 0 ? NULL : l->forward_in + index;
    case MS_PASS_I:
    case MS_PASS_B:
        return l->backward_in + index;
    default:
        return NULL;
    }
}

/* Tell the next stage, or at the last one this stage's own backward pass, that a pass's result is
 * there. */
static ms_status pass_on(ms_lowering *l, int p, const ms_action *action) {
    const ms_stage_cost *stage = &l->in->costs->stage[action->stage];
    ms_dag_op from = {.mb = action->mb,
                      .stage = action->stage,
                      .chunk = (int16_t)l->in->program->stage_chunk[action->stage]};
    if (action->pass == MS_PASS_W) {
        return MS_OK;
    }
    if (action->pass != MS_PASS_F) {
        return action->stage == 0 ? MS_OK
                                  : send(l, p, &from, action->stage - 1, stage->send_backward_B);
    }
    if (action->stage + 1 < l->in->program->stages) {
        return send(l, p, &from, action->stage + 1, stage->send_forward_B);
    }
    int32_t *own = l->backward_in + input_index(l, action->stage, action->mb);
    for (int k = 0; k < l->sims; k++) {
        own[k] = l->tail[p * l->sims + k];
    }
    return MS_OK;
}

ms_status ms_pass_lower(ms_lowering *l, int p, const ms_action *action) {
    const ms_pass_plan *plan = &l->in->costs->stage[action->stage].passes[action->pass];
    const int32_t *inputs = pass_inputs(l, action);
    for (int i = 0; i < plan->count; i++) {
        ms_status status = lower_segment(l, p, action, plan->first + i, i == 0 ? inputs : NULL);
        if (status != MS_OK) {
            return status;
        }
    }
    return pass_on(l, p, action);
}
