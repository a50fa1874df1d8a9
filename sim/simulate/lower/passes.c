/* Passes: their segments, what each waits for, and overlapped pairs' turns. */
#include "simulate/lower/passes.h"

/* Lists of what waits for one of the pass's asynchronous segments: [k]. */
static ms_waits *ended(const ms_lowering *l, const ms_pass_state *state, int segment) {
    return state->ended + (size_t)segment * (size_t)l->waiting.count;
}

/* What a pass waits for besides its rank's own order: [k], or NULL. */
static ms_waits *inputs_of(const ms_lowering *l, const ms_action *action) {
    bool is_first = !ms_program_has_previous(&l->job->program, action->stage);
    if (action->pass == MS_PASS_W || (action->pass == MS_PASS_F && is_first)) {
        return NULL;
    }
    return ms_arrived(l, action->pass != MS_PASS_F, action->stage, action->mb);
}

/* Whether the rank's host waits for its GPU before a pass that runs alone. */
static bool synchronises(const ms_lowering *l, const ms_action *action) {
    return ms_host_waits(&l->job->host, (ms_pass)action->pass, l->ranks.pp > 1);
}

/* A pass of which nothing has been lowered. */
static ms_pass_state begin_pass(const ms_lowering *l, int p, const ms_action *action) {
    return (ms_pass_state){.p = p,
                           .action = action,
                           .plan = &ms_lowering_cost(l, action)->passes[action->pass],
                           .inputs = {inputs_of(l, action), NULL},
                           .is_synchronised = !synchronises(l, action),
                           .next = ms_next(l, p),
                           .ended = l->waiting.ended[0],
                           .is_awaited = l->waiting.is_awaited[0]};
}

void ms_pass_begin_pair(const ms_lowering *l, int p, const ms_action *pair,
                        ms_pass_state states_out[2]) {
    for (int i = 0; i < 2; i++) {
        states_out[i] = begin_pass(l, p, &pair[i]);
        states_out[i].inputs[1] = inputs_of(l, &pair[1 - i]);
        states_out[i].is_synchronised = true;
        states_out[i].is_paired = true;
        states_out[i].next = l->waiting.pair[i];
        states_out[i].ended = l->waiting.ended[i];
        states_out[i].is_awaited = l->waiting.is_awaited[i];
    }
}

/* Whether a segment runs on the microbatch at hand. */
static bool runs_now(const ms_lowering *l, const ms_action *action, ms_when when) {
    if (when == MS_WHEN_ROUND) {
        return ms_action_closes_round(&l->job->program, action);
    }
    bool is_first = when == MS_WHEN_FIRST;
    int runs = ms_action_runs_before(action, l->runs, !is_first);
    return when == MS_WHEN_ALWAYS || runs == (is_first ? 0 : l->job->program.mb_count - 1);
}

/* Which segments run on the microbatch at hand besides those that always do: 1 << ms_when. */
static unsigned whens_now(const ms_lowering *l, const ms_action *action, const ms_pass_plan *plan) {
    unsigned whens = 0;
    for (int when = MS_WHEN_FIRST; when <= MS_WHEN_ROUND; when++) {
        unsigned bit = 1U << when;
        whens |= (plan->when & bit) && runs_now(l, action, (ms_when)when) ? bit : 0;
    }
    return whens;
}

/* Labels of an operation of a pass. */
static ms_dag_op label(const ms_lowering *l, const ms_action *action, int layer) {
    return (ms_dag_op){.mb = action->mb,
                       .stage = action->stage,
                       .chunk = (int16_t)l->job->program.stage_chunk[action->stage],
                       .layer = (int16_t)layer,
                       .kind = (uint8_t)ms_op_kind_of_pass((ms_pass)action->pass)};
}

/* Let the operation at hand wait for what the rank waits for next, and for the pass's inputs. */
static void take_next(ms_lowering *l, ms_pass_state *state) {
    ms_before_take(&l->waiting, state->next);
    for (int i = 0; i < 2; i++) {
        if (state->inputs[i] != NULL) {
            ms_before_merge(&l->waiting, state->inputs[i]);
            state->inputs[i] = NULL;
        }
    }
}

/* Let the operation at hand wait for asynchronous segments of the pass.  waits: [count] segments.
 */
static void merge_waits(ms_lowering *l, ms_pass_state *state, const int *waits, int count) {
    for (int i = 0; i < count; i++) {
        ms_before_merge(&l->waiting, ended(l, state, waits[i]));
        state->is_awaited[waits[i]] = true;
        state->has_beside = true;
    }
}

static void lower_compute(ms_lowering *l, ms_pass_state *state, const ms_segment *segment,
                          const ms_dag_op *op) {
    take_next(l, state);
    merge_waits(l, state, segment->waits, segment->wait_count);
    ms_before_take(&l->waiting, ms_unsharded(l, state->action->stage));
    ms_compute_lower(l, state->p, op, state->next);
}

static ms_status lower_collective(ms_lowering *l, ms_pass_state *state, const ms_segment *segment,
                                  const ms_dag_op *op) {
    ms_group_op c = ms_group_op_of(segment);
    c.op.mb = op->mb;
    c.op.stage = op->stage;
    c.op.chunk = op->chunk;
    c.op.layer = op->layer;
    c.ends = segment->is_async ? ended(l, state, state->segment) : state->next;
    if (!ms_group_runs(l, state->p, &c)) {
        return MS_OK;
    }
    if (segment->is_async) {
        state->has_beside = true;
        ms_before_merge(&l->waiting, state->next);
    } else {
        take_next(l, state);
        state->is_held = true;
    }
    merge_waits(l, state, segment->waits, segment->wait_count);
    return ms_group_lower(l, state->p, &c);
}

static ms_status lower_segment(ms_lowering *l, ms_pass_state *state) {
    int index = state->plan->first + state->segment;
    const ms_segment *segment = &l->job->costs.segments[index];
    if (!runs_now(l, state->action, segment->when)) {
        return MS_OK;
    }
    ms_dag_op op = label(l, state->action, segment->layer);
    if (segment->is_collective) {
        return lower_collective(l, state, segment, &op);
    }
    op.kind = segment->is_recompute ? (uint8_t)MS_OP_RECOMPUTE : op.kind;
    ms_segment_turn turn = state->is_paired ? MS_TURN_PAIRED : MS_TURN_AHEAD;
    bool waits = !state->is_synchronised || (segment->kernels.has_host_wait && !state->is_paired);
    op.work = ms_segment_work(l, index, waits ? MS_TURN_SYNCHRONISED : turn);
    state->is_synchronised = true;
    lower_compute(l, state, segment, &op);
    return MS_OK;
}

/* Emit a piece on all simulated ranks, each set of them as one operation. */
static void lower_piece(ms_lowering *l, ms_pass_state *state, const ms_piece_run *run) {
    ms_dag_op op = label(l, state->action, -1);
    op.work = run->work;
    take_next(l, state);
    merge_waits(l, state, run->waits, run->wait_count);
    ms_before_take(&l->waiting, ms_unsharded(l, state->action->stage));
    for (int set = 0; set < run->places->count; set++) {
        int32_t index = ms_dag_add_op(l->dag, &op);
        for (int i = run->places->first[set]; i < run->places->first[set + 1]; i++) {
            int k = run->places->places[i];
            int32_t sim = state->p * l->waiting.count + k;
            ms_dag_add_member(l->dag, sim);
            ms_before_depend(&l->waiting, k, l->dag, sim);
            ms_waits_add(&l->waiting.pool, &state->next[k], index, sim);
        }
    }
    state->is_synchronised = true;
    state->segment = run->end;
}

/* The piece that begins with the next segment; NULL: none. */
static const ms_piece_run *next_piece(const ms_pass_layout *layout, int segment, int *run) {
    while (layout != NULL && *run < layout->count && layout->runs[*run].first < segment) {
        ++*run;
    }
    bool is_here = layout != NULL && *run < layout->count && layout->runs[*run].first == segment;
    return is_here ? &layout->runs[*run] : NULL;
}

/* Lower a whole pass, what its layout says as pieces. */
static ms_status run_pieces(ms_lowering *l, ms_pass_state *state, const ms_pass_layout *layout) {
    ms_status status = MS_OK;
    int run = 0;
    while (state->segment < state->plan->count && status == MS_OK) {
        const ms_piece_run *piece = next_piece(layout, state->segment, &run);
        if (piece != NULL) {
            lower_piece(l, state, piece);
        } else {
            status = lower_segment(l, state);
            state->segment++;
        }
    }
    return status;
}

void ms_pass_lower_nothing(ms_lowering *l, ms_pass_state *state) {
    const ms_segment none = {.is_collective = false};
    ms_dag_op op = label(l, state->action, -1);
    op.work = ms_no_work(l);
    lower_compute(l, state, &none, &op);
}

/* Whether the next segment needs a collective that runs beside the pass. */
static bool would_wait(const ms_lowering *l, const ms_pass_state *state) {
    const ms_segment *segment = &l->job->costs.segments[state->plan->first + state->segment];
    bool waits = false;
    for (int i = 0; i < segment->wait_count; i++) {
        waits = waits || !ms_waits_are_empty(ended(l, state, segment->waits[i]));
    }
    return waits;
}

ms_status ms_pass_run(ms_lowering *l, ms_pass_state *state, bool until_held) {
    state->is_held = false;
    for (bool is_first = true; state->segment < state->plan->count; is_first = false) {
        bool is_held = state->is_held || (!is_first && would_wait(l, state));
        if (until_held && is_held) {
            return MS_OK;
        }
        ms_status status = lower_segment(l, state);
        if (status != MS_OK) {
            return status;
        }
        state->segment++;
    }
    if (state->inputs[0] != NULL || state->inputs[1] != NULL) {
        ms_pass_lower_nothing(l, state);
    }
    state->is_done = true;
    return MS_OK;
}

void ms_pass_end(ms_lowering *l, const ms_pass_state *state) {
    const ms_action *action = state->action;
    size_t count = (size_t)l->waiting.count;
    ms_waits *update = l->waiting.update + state->p * l->waiting.count;
    l->runs[action->stage * MS_PASS_COUNT + action->pass]++;
    for (int i = 0; i < state->plan->count && state->has_beside; i++) {
        ms_waits *lists = ended(l, state, i);
        bool has_ended = !ms_waits_are_empty(&lists[0]); /* on all ranks or on none */
        for (int k = 0; k < l->waiting.count && has_ended; k++) {
            if (!state->is_awaited[i]) {
                ms_waits_merge(&l->waiting.pool, &update[k], &lists[k]);
            }
            ms_waits_clear(&l->waiting.pool, &lists[k]);
        }
        state->is_awaited[i] = false;
    }
    if (inputs_of(l, action) != NULL) { /* waited for: their storage is used again */
        ms_lists_clear(&l->waiting, inputs_of(l, action), count);
    }
}

ms_status ms_pass_on(ms_lowering *l, int p, const ms_action *action) {
    const ms_program *program = &l->job->program;
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
    ms_waits *own = ms_arrived(l, true, stage, action->mb);
    for (int k = 0; k < l->waiting.count; k++) {
        ms_waits_merge(&l->waiting.pool, &own[k], &ms_next(l, p)[k]);
    }
    return MS_OK;
}

ms_status ms_pass_lower(ms_lowering *l, int p, const ms_action *action) {
    ms_pass_state state = begin_pass(l, p, action);
    const ms_pass_layout *layout = NULL;
    ms_status status = ms_pieces_find(l, p, action, whens_now(l, action, state.plan), &layout);
    if (status == MS_OK && layout != NULL) {
        status = run_pieces(l, &state, layout);
    }
    status = status == MS_OK ? ms_pass_run(l, &state, false) : status;
    if (status != MS_OK) {
        return status;
    }
    ms_pass_end(l, &state);
    status = ms_pass_on(l, p, action);
    if (status == MS_OK && ms_job_is_blocking(l->job)) {
        ms_barrier_lower(l, p, action, 1);
    }
    return status;
}
