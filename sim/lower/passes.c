#include "lower/passes.h"

#include <string.h>

/* Marks an input whose producer has not been lowered (0xFE in every byte). */
static const int32_t NOT_YET = (int32_t)0xFEFEFEFE;

size_t ms_input_index(const ms_lowering *l, int stage, int unit) {
    return ((size_t)stage * (size_t)l->in->program->mb_count + (size_t)unit) * (size_t)l->sims;
}

const ms_stage_cost *ms_lowering_cost(const ms_lowering *l, const ms_action *action) {
    return ms_stage_cost_of(l->in->costs, ms_program_model_stage(l->in->program, action->stage),
                            action->mb);
}

bool ms_pass_is_ready(const ms_lowering *l, const ms_action *action) {
    size_t index = ms_input_index(l, action->stage, action->mb);
    switch ((ms_pass)action->pass) {
    case MS_PASS_F:
        return !ms_program_has_previous(l->in->program, action->stage) ||
               l->forward_in[index] != NOT_YET;
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

void ms_join_deps(ms_lowering *l, const ms_joins *joins, int k) {
    for (int i = 0; i < MS_JOINS_MAX; i++) {
        ms_dag_add_dep(l->dag, joins->ends[i] == NULL ? -1 : joins->ends[i][k]);
    }
}

/* Computation on every simulated rank of a pass; what it waits for besides: `joins`. */
static void lower_compute(ms_lowering *l, ms_pass_state *state, const ms_dag_op *op,
                          const ms_joins *joins) {
    for (int k = 0; k < l->sims; k++) {
        int32_t sim = state->p * l->sims + k;
        int32_t index = ms_dag_add_op(l->dag, op);
        /* simulated ranks are numbered as their compute streams were added: rank by rank, before
         * all others */
        ms_dag_add_member(l->dag, sim);
        ms_tail_dep(l, sim, true);
        for (int i = 0; i < 2; i++) {
            ms_dag_add_dep(l->dag, state->inputs[i] == NULL ? -1 : state->inputs[i][k]);
        }
        ms_join_deps(l, joins, k);
        ms_gathers_join(l, state->action->stage, k);
        l->tail[sim] = index;
        l->tail_communicates[sim] = false;
    }
    state->inputs[0] = state->inputs[1] = NULL;
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

/* Units that a stage has been through with a pass or with another one that does the same: a whole
 * backward pass counts with input gradients before it runs, and with weight gradients after. */
static int count_runs(const ms_lowering *l, const ms_action *action, ms_when when) {
    const int *runs = &l->pass_runs[action->stage * MS_PASS_COUNT];
    if (action->pass == MS_PASS_F) {
        return runs[MS_PASS_F];
    }
    bool is_input =
        action->pass == MS_PASS_I || (action->pass == MS_PASS_B && when == MS_WHEN_FIRST);
    return runs[MS_PASS_B] + runs[is_input ? MS_PASS_I : MS_PASS_W];
}

/* Whether a segment runs on the microbatch at hand. */
static bool runs_now(const ms_lowering *l, const ms_action *action, ms_when when) {
    if (when == MS_WHEN_ROUND) {
        return ms_action_closes_round(l->in->program, action);
    }
    return when == MS_WHEN_ALWAYS || count_runs(l, action, when) ==
                                         (when == MS_WHEN_FIRST ? 0 : l->in->program->mb_count - 1);
}

static int32_t *async_ends(const ms_lowering *l, const ms_pass_state *state, int place) {
    return state->async_ends + (size_t)place * (size_t)l->sims;
}

static ms_joins joined(const ms_lowering *l, const ms_pass_state *state,
                       const ms_segment *segment) {
    ms_joins joins = {{NULL}};
    for (int i = 0; i < MS_JOINS_MAX && segment->joins[i] > 0; i++) {
        joins.ends[i] = async_ends(l, state, segment->joins[i] - 1);
    }
    return joins;
}

static ms_status lower_collective(ms_lowering *l, ms_pass_state *state, const ms_segment *segment,
                                  ms_dag_op op) {
    op.axis = (uint8_t)segment->axis;
    bool has_run = false;
    ms_group_op c = {.kind = segment->coll,
                     .size_B = segment->coll_B,
                     .intra_node_B = segment->coll_intra_node_B,
                     .load_imbalance = segment->coll_load_imbalance,
                     .group_axes = segment->group_axes,
                     .op = op,
                     .joins = joined(l, state, segment),
                     .ends_out = segment->is_async ? async_ends(l, state, state->next) : NULL};
    for (int i = 0; i < 2 && !segment->is_async; i++) {
        c.inputs[i] = state->inputs[i];
    }
    ms_status status = ms_group_lower(l, state->p, &c, &has_run);
    if (has_run && !segment->is_async) {
        state->inputs[0] = state->inputs[1] = NULL;
        state->is_held = true;
    }
    return status;
}

/* Labels of an operation of a pass. */
static ms_dag_op label(const ms_lowering *l, const ms_action *action, const ms_segment *segment) {
    return (ms_dag_op){.mb = action->mb,
                       .stage = action->stage,
                       .chunk = (int16_t)l->in->program->stage_chunk[action->stage],
                       .layer = (int16_t)segment->layer,
                       .kind = op_kind((ms_pass)action->pass, segment)};
}

static ms_status lower_segment(ms_lowering *l, ms_pass_state *state) {
    int index = state->plan->first + state->next;
    const ms_segment *segment = &l->in->costs->segments[index];
    for (int k = 0; k < l->sims; k++) {
        async_ends(l, state, state->next)[k] = -1;
    }
    if (!runs_now(l, state->action, segment->when)) {
        return MS_OK;
    }
    ms_dag_op op = label(l, state->action, segment);
    if (segment->is_collective) {
        return lower_collective(l, state, segment, op);
    }
    op.work = compute_work(l, index);
    ms_joins joins = joined(l, state, segment);
    lower_compute(l, state, &op, &joins);
    return MS_OK;
}

/* Whether segment `place` of a plan waits for segment `async` of it. */
static bool waits_for(const ms_segment *segments, int place, int async) {
    bool waits = false;
    for (int i = 0; i < MS_JOINS_MAX; i++) {
        waits = waits || segments[place].joins[i] == async + 1;
    }
    return waits;
}

/* Leave what no segment of the pass has joined to the step's end. */
static ms_status keep_outstanding(ms_lowering *l, const ms_pass_state *state) {
    const ms_segment *segments = &l->in->costs->segments[state->plan->first];
    for (int i = 0; i < state->plan->count; i++) {
        const ms_segment *segment = &segments[i];
        bool is_joined = !segment->is_async || async_ends(l, state, i)[0] < 0;
        for (int j = i + 1; j < state->plan->count && !is_joined; j++) {
            is_joined = waits_for(segments, j, i);
        }
        for (int k = 0; k < l->sims && !is_joined; k++) {
            int32_t communicator =
                (int32_t)segment->group_axes * MS_AXIS_COUNT + (int32_t)segment->axis;
            ms_status status = ms_outstanding_add(l, state->p * l->sims + k, communicator,
                                                  async_ends(l, state, i)[k]);
            if (status != MS_OK) {
                return status;
            }
        }
    }
    return MS_OK;
}

const int32_t *ms_pass_inputs(const ms_lowering *l, const ms_action *action) {
    size_t index = ms_input_index(l, action->stage, action->mb);
    switch ((ms_pass)action->pass) {
    case MS_PASS_F:
        return ms_program_has_previous(l->in->program, action->stage) ? l->forward_in + index
                                                                      : NULL;
    case MS_PASS_I:
    case MS_PASS_B:
        return l->backward_in + index;
    default:
        return NULL;
    }
}

ms_status ms_pass_on(ms_lowering *l, int p, const ms_action *action) {
    const ms_program *program = l->in->program;
    const ms_stage_cost *cost = ms_lowering_cost(l, action);
    int stage = action->stage;
    ms_dag_op from = {
        .mb = action->mb, .stage = action->stage, .chunk = (int16_t)program->stage_chunk[stage]};
    if (action->pass == MS_PASS_W) {
        return MS_OK;
    }
    if (action->pass != MS_PASS_F) {
        return ms_program_has_previous(program, stage)
                   ? ms_send_lower(l, p, &from, stage - 1, cost->send_backward_B)
                   : MS_OK;
    }
    if (ms_program_has_next(program, stage)) {
        return ms_send_lower(l, p, &from, stage + 1, cost->send_forward_B);
    }
    int32_t *own = l->backward_in + ms_input_index(l, stage, action->mb);
    memcpy(own, l->tail + (size_t)p * (size_t)l->sims, (size_t)l->sims * sizeof *own);
    return MS_OK;
}

static void lower_no_work(ms_lowering *l, ms_pass_state *state, ms_dag_op op) {
    if (l->no_work < 0) {
        ms_dag_work work = {
            .stands_for = l->group_ranks / l->sims, .group_size = 1, .tier = -1, .tag = -1};
        l->no_work = ms_dag_add_work(l->dag, &work);
    }
    op.work = l->no_work;
    lower_compute(l, state, &op, &(ms_joins){{NULL}});
}

void ms_pass_lower_nothing(ms_lowering *l, ms_pass_state *state) {
    const ms_segment none = {.is_collective = false, .layer = -1};
    lower_no_work(l, state, label(l, state->action, &none));
}

void ms_pass_lower_hold(ms_lowering *l, ms_pass_state *state) {
    const ms_segment none = {.is_collective = false};
    uint8_t kind = op_kind((ms_pass)state->action->pass, &none);
    lower_no_work(l, state,
                  (ms_dag_op){.mb = -1, .stage = -1, .chunk = -1, .layer = -1, .kind = kind});
}

ms_pass_state ms_pass_begin(const ms_lowering *l, int p, const ms_action *action) {
    return (ms_pass_state){.p = p,
                           .action = action,
                           .plan = &ms_lowering_cost(l, action)->passes[action->pass],
                           .inputs = {ms_pass_inputs(l, action), NULL},
                           .async_ends = l->async_ends};
}

/* Whether the next segment needs a collective that runs beside the pass. */
static bool would_wait(const ms_lowering *l, const ms_pass_state *state) {
    ms_joins joins = joined(l, state, &l->in->costs->segments[state->plan->first + state->next]);
    bool waits = false;
    for (int i = 0; i < MS_JOINS_MAX; i++) {
        waits = waits || (joins.ends[i] != NULL && joins.ends[i][0] >= 0);
    }
    return waits;
}

ms_status ms_pass_run(ms_lowering *l, ms_pass_state *state, bool until_held) {
    state->is_held = false;
    for (bool is_first = true; state->next < state->plan->count; is_first = false) {
        bool is_held = state->is_held || (!is_first && would_wait(l, state));
        if (until_held && is_held) {
            return MS_OK;
        }
        ms_status status = lower_segment(l, state);
        if (status != MS_OK) {
            return status;
        }
        state->next++;
    }
    if (state->inputs[0] != NULL || state->inputs[1] != NULL) {
        ms_pass_lower_nothing(l, state);
    }
    state->is_done = true;
    return MS_OK;
}

ms_status ms_pass_end(ms_lowering *l, const ms_pass_state *state) {
    const ms_action *action = state->action;
    l->pass_runs[action->stage * MS_PASS_COUNT + action->pass]++;
    return keep_outstanding(l, state);
}

ms_status ms_pass_lower(ms_lowering *l, int p, const ms_action *action) {
    ms_pass_state state = ms_pass_begin(l, p, action);
    ms_status status = ms_pass_run(l, &state, false);
    status = status == MS_OK ? ms_pass_end(l, &state) : status;
    status = status == MS_OK ? ms_pass_on(l, p, action) : status;
    if (status == MS_OK && l->in->is_blocking) {
        ms_hold_for_messages(l, p, action, 1);
    }
    return status;
}
