#include "graph/passes.h"

/* Marks an input whose producer has not been lowered (0xFE in every byte). */
static const int32_t NOT_YET = (int32_t)0xFEFEFEFE;

size_t ms_input_index(const ms_lowering *l, int stage, int mb) {
    return ((size_t)stage * (size_t)l->in->program->spec.microbatches + (size_t)mb) *
           (size_t)l->sims;
}

bool ms_pass_is_ready(const ms_lowering *l, const ms_action *action) {
    size_t index = ms_input_index(l, action->stage, action->mb);
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

void ms_tail_dep(ms_lowering *l, int32_t sim, bool on_compute_stream) {
    int32_t tail = l->tail[sim];
    if (tail < 0) {
        return;
    }
    if (!on_compute_stream || l->tail_communicates[sim]) {
        ms_dag_add_dep(l->dag, tail);
    }
}

/* Computation on every simulated rank of `p`; `inputs` and `joins`, [sims] or NULL, are further
 * dependencies. */
static void lower_compute(ms_lowering *l, int p, const ms_dag_op *op, const int32_t *inputs,
                          const int32_t *joins) {
    for (int k = 0; k < l->sims; k++) {
        int32_t sim = p * l->sims + k;
        int32_t index = ms_dag_add_op(l->dag, op);
        /* simulated ranks are numbered as their compute streams were added: rank by rank, before
         * all others */
        ms_dag_add_member(l->dag, sim);
        ms_tail_dep(l, sim, true);
        ms_dag_add_dep(l->dag, inputs == NULL ? -1 : inputs[k]);
        ms_dag_add_dep(l->dag, joins == NULL ? -1 : joins[k]);
        l->tail[sim] = index;
        l->tail_communicates[sim] = false;
    }
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

/* Whether a segment runs on the microbatch at hand. */
static bool runs_now(const ms_lowering *l, const ms_action *action, ms_when when) {
    int runs = l->pass_runs[action->stage * MS_PASS_COUNT + action->pass];
    return when == MS_WHEN_ALWAYS || (when == MS_WHEN_FIRST && runs == 0) ||
           (when == MS_WHEN_LAST && runs == l->in->program->spec.microbatches - 1);
}

/* One pass while its segments are lowered. */
typedef struct pass_state {
    int p;
    const ms_action *action;
    const ms_pass_plan *plan;
    const int32_t *inputs; /* [sims] what the first segment that is not asynchronous waits for; NULL
                              once one did */
} pass_state;

static int32_t *async_ends(ms_lowering *l, int place) {
    return l->async_ends + (size_t)place * (size_t)l->sims;
}

static ms_status lower_collective(ms_lowering *l, pass_state *state, int place,
                                  const ms_segment *segment, ms_dag_op op) {
    op.axis = (uint8_t)segment->axis;
    bool has_run = false;
    ms_group_op c = {.kind = segment->coll,
                     .size_B = segment->coll_B,
                     .node_B = segment->coll_node_B,
                     .skew = segment->coll_skew,
                     .group_axes = segment->group_axes,
                     .op = op,
                     .inputs = segment->is_async ? NULL : state->inputs,
                     .joins = segment->join > 0 ? async_ends(l, segment->join - 1) : NULL,
                     .ends_out = segment->is_async ? async_ends(l, place) : NULL};
    ms_status status = ms_group_lower(l, state->p, &c, &has_run);
    if (has_run && !segment->is_async) {
        state->inputs = NULL;
    }
    return status;
}

static void lower_compute_segment(ms_lowering *l, pass_state *state, int index, ms_dag_op op) {
    const ms_segment *segment = &l->in->costs->segments[index];
    op.work = compute_work(l, index);
    const int32_t *joins = segment->join > 0 ? async_ends(l, segment->join - 1) : NULL;
    lower_compute(l, state->p, &op, state->inputs, joins);
    state->inputs = NULL;
}

static ms_status lower_segment(ms_lowering *l, pass_state *state, int place) {
    int index = state->plan->first + place;
    const ms_segment *segment = &l->in->costs->segments[index];
    const ms_action *action = state->action;
    for (int k = 0; k < l->sims; k++) {
        async_ends(l, place)[k] = -1;
    }
    if (!runs_now(l, action, segment->when)) {
        return MS_OK;
    }
    ms_dag_op op = {.mb = action->mb,
                    .stage = action->stage,
                    .chunk = (int16_t)l->in->program->stage_chunk[action->stage],
                    .layer = (int16_t)segment->layer,
                    .kind = op_kind((ms_pass)action->pass, segment)};
    if (segment->is_collective) {
        return lower_collective(l, state, place, segment, op);
    }
    lower_compute_segment(l, state, index, op);
    return MS_OK;
}

/* Leave what no segment of the pass has joined to the step's end. */
static void keep_outstanding(ms_lowering *l, const pass_state *state) {
    for (int i = 0; i < state->plan->count; i++) {
        const ms_segment *segment = &l->in->costs->segments[state->plan->first + i];
        bool is_joined = !segment->is_async;
        for (int j = i + 1; j < state->plan->count && !is_joined; j++) {
            is_joined = l->in->costs->segments[state->plan->first + j].join == i + 1;
        }
        for (int k = 0; k < l->sims && !is_joined; k++) {
            int32_t communicator =
                (int32_t)segment->group_axes * MS_AXIS_COUNT + (int32_t)segment->axis;
            ms_outstanding_add(l, state->p * l->sims + k, communicator, async_ends(l, i)[k]);
        }
    }
}

/* What a pass waits for besides its rank's own order: [sims] operations, or NULL. */
static const int32_t *pass_inputs(const ms_lowering *l, const ms_action *action) {
    size_t index = ms_input_index(l, action->stage, action->mb);
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
        return action->stage == 0
                   ? MS_OK
                   : ms_send_lower(l, p, &from, action->stage - 1, stage->send_backward_B);
    }
    if (action->stage + 1 < l->in->program->stages) {
        return ms_send_lower(l, p, &from, action->stage + 1, stage->send_forward_B);
    }
    int32_t *own = l->backward_in + ms_input_index(l, action->stage, action->mb);
    for (int k = 0; k < l->sims; k++) {
        own[k] = l->tail[p * l->sims + k];
    }
    return MS_OK;
}

/* A pass without any work still passes its input on: a computation that takes no time. */
static void lower_nothing(ms_lowering *l, pass_state *state) {
    if (l->no_work < 0) {
        ms_dag_work work = {
            .stands_for = l->group_ranks / l->sims, .group_size = 1, .tier = -1, .tag = -1};
        l->no_work = ms_dag_add_work(l->dag, &work);
    }
    const ms_segment none = {.is_collective = false};
    ms_dag_op op = {.work = l->no_work,
                    .mb = state->action->mb,
                    .stage = state->action->stage,
                    .chunk = (int16_t)l->in->program->stage_chunk[state->action->stage],
                    .layer = -1,
                    .kind = op_kind((ms_pass)state->action->pass, &none)};
    lower_compute(l, state->p, &op, state->inputs, NULL);
}

ms_status ms_pass_lower(ms_lowering *l, int p, const ms_action *action) {
    pass_state state = {.p = p,
                        .action = action,
                        .plan = &l->in->costs->stage[action->stage].passes[action->pass],
                        .inputs = pass_inputs(l, action)};
    for (int i = 0; i < state.plan->count; i++) {
        ms_status status = lower_segment(l, &state, i);
        if (status != MS_OK) {
            return status;
        }
    }
    if (state.inputs != NULL) {
        lower_nothing(l, &state);
    }
    keep_outstanding(l, &state);
    l->pass_runs[action->stage * MS_PASS_COUNT + action->pass]++;
    return pass_on(l, p, action);
}
