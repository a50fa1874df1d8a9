/* Lowers passes: emits the operations of a pass's segments on all simulated ranks of a pipeline
 * rank, each with the operations that it waits for, and the message to the next stage. `p` is a
 * pipeline rank, `k` a class of its ranks (one is simulated of each), `sim` the number of a
 * simulated rank, which is also that of its compute stream. The lists of operations to wait for are
 * those of waits.h. */
#include "simulate/lower/passes.h"

/* The ends of an asynchronous segment of the pass on each rank: [k] lists, empty until it is
 * lowered. Whatever waits for the segment waits for these. */
static ms_waits *ended(const ms_lowering *l, const ms_pass_state *state, int segment) {
    return state->ended + (size_t)segment * (size_t)l->waiting.count;
}

/* The inputs that a pass waits for beside the order of its rank: [k] lists of arrivals from the
 * neighbour stage; for the backward pass of the last stage, from its own forward pass. NULL: it has
 * none. */
static ms_waits *inputs_of(const ms_lowering *l, const ms_action *action) {
    bool is_first = !ms_program_has_previous(&l->job->program, action->stage);
    if (action->pass == MS_PASS_W || (action->pass == MS_PASS_F && is_first)) {
        return NULL;
    }
    return ms_arrived(l, action->pass != MS_PASS_F, action->stage, action->mb);
}

/* Whether the rank's host waits for its GPU before a pass that is not in an overlapped pair. */
static bool synchronises(const ms_lowering *l, const ms_action *action) {
    return ms_host_waits(&l->job->host, (ms_pass)action->pass, l->ranks.pp > 1);
}

/* The state of a pass of which nothing has been lowered. is_synchronised is true from the start if
 * its host need not synchronise. */
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

/* Whether a segment that runs on the microbatches that `when` selects runs in this action. The
 * first and last microbatch are those for which the stage runs the pass first and last in the step;
 * a whole backward pass (B) counts as I for the first one and as W for the last one. */
static bool runs_now(const ms_lowering *l, const ms_action *action, ms_when when) {
    if (when == MS_WHEN_ROUND) {
        return ms_action_closes_round(&l->job->program, action);
    }
    bool is_first = when == MS_WHEN_FIRST;
    int runs = ms_action_count_earlier(action, l->runs, !is_first);
    return when == MS_WHEN_ALWAYS || runs == (is_first ? 0 : l->job->program.mb_count - 1);
}

/* The set of 1 << ms_when of the conditional segments of `plan` that run in this action. */
static unsigned whens_now(const ms_lowering *l, const ms_action *action, const ms_pass_plan *plan) {
    unsigned whens = 0;
    for (int when = MS_WHEN_FIRST; when <= MS_WHEN_ROUND; when++) {
        unsigned bit = 1U << when;
        whens |= (plan->when & bit) && runs_now(l, action, (ms_when)when) ? bit : 0;
    }
    return whens;
}

/* The labels of an operation of an action's pass; the work is set later. */
static ms_dag_op labels_of(const ms_lowering *l, const ms_action *action, int layer) {
    return (ms_dag_op){.mb = action->mb,
                       .stage = action->stage,
                       .chunk = (int16_t)l->job->program.stage_chunk[action->stage],
                       .layer = (int16_t)layer,
                       .kind = (uint8_t)ms_op_kind_of_pass((ms_pass)action->pass)};
}

/* Let the operation that is being lowered wait for the previous operations of the pass (the list
 * `next`, which is then empty), and the first such operation also for the pass's inputs. */
static void wait_for_previous(ms_lowering *l, ms_pass_state *state) {
    ms_before_take(&l->waiting, state->next);
    for (int i = 0; i < 2; i++) {
        if (state->inputs[i] != NULL) {
            ms_before_merge(&l->waiting, state->inputs[i]);
            state->inputs[i] = NULL;
        }
    }
}

/* Let the operation that is being lowered wait for asynchronous segments of the pass.  waits:
 * [count] segments. */
static void wait_for_segments(ms_lowering *l, ms_pass_state *state, const int *waits, int count) {
    for (int i = 0; i < count; i++) {
        ms_before_merge(&l->waiting, ended(l, state, waits[i]));
        state->is_awaited[waits[i]] = true;
        state->has_beside = true;
    }
}

/* Emit a computation of a pass on all ranks; it also waits for the parameters of its stage. */
static void lower_compute(ms_lowering *l, ms_pass_state *state, const ms_segment *segment,
                          const ms_dag_op *op) {
    wait_for_previous(l, state);
    wait_for_segments(l, state, segment->waits, segment->wait_count);
    ms_before_take(&l->waiting, ms_unsharded(l, state->action->stage));
    ms_compute_lower(l, state->p, op, state->next);
}

/* Emit a collective of a pass in all its groups. A blocking collective waits for the previous
 * operations, and the next operations wait for it. An asynchronous collective also waits for the
 * previous operations, but leaves the list `next` as it is; its end is entered in a list of its
 * own.  op: labels of the pass.  Returns MS_OK; MS_E_NOMEM; MS_E_INPUT as ms_works_plan. */
static ms_status lower_collective(ms_lowering *l, ms_pass_state *state, const ms_segment *segment,
                                  const ms_dag_op *op) {
    ms_group_op collective = ms_group_op_of(segment);
    collective.op.mb = op->mb;
    collective.op.stage = op->stage;
    collective.op.chunk = op->chunk;
    collective.op.layer = op->layer;
    collective.ends = segment->is_async ? ended(l, state, state->segment) : state->next;
    if (!ms_group_runs(l, state->p, &collective)) {
        return MS_OK;
    }
    if (segment->is_async) {
        state->has_beside = true;
        ms_before_merge(&l->waiting, state->next);
    } else {
        wait_for_previous(l, state);
        state->is_held = true;
    }
    wait_for_segments(l, state, segment->waits, segment->wait_count);
    return ms_group_lower(l, state->p, &collective);
}

/* Emit the next segment of a pass, if it runs on the microbatch. The first computation after a wait
 * of the host has a synchronising work. Returns as lower_collective. */
static ms_status lower_segment(ms_lowering *l, ms_pass_state *state) {
    int index = state->plan->first + state->segment;
    const ms_segment *segment = &l->job->costs.segments[index];
    if (!runs_now(l, state->action, segment->when)) {
        return MS_OK;
    }
    ms_dag_op op = labels_of(l, state->action, segment->layer);
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

/* Emit a fused pass, one operation for each set of ranks that run it together, and move the pass's
 * position behind its segments. The fused pass waits for the same operations as a computation would
 * (lower_compute). If the host has to wait for its GPU first, its work is synchronising already. */
static void lower_fused_pass(ms_lowering *l, ms_pass_state *state, const ms_segment_run *run) {
    ms_dag_op op = labels_of(l, state->action, -1);
    op.work = run->work;
    wait_for_previous(l, state);
    wait_for_segments(l, state, run->waits, run->wait_count);
    ms_before_take(&l->waiting, ms_unsharded(l, state->action->stage));
    for (int set = 0; set < run->sets->count; set++) {
        int32_t index = ms_dag_add_op(l->dag, &op);
        for (int i = run->sets->first[set]; i < run->sets->first[set + 1]; i++) {
            int k = run->sets->ranks[i];
            int32_t sim = state->p * l->waiting.count + k;
            ms_dag_add_member(l->dag, sim);
            ms_before_depend(&l->waiting, k, l->dag, sim);
            ms_waits_add(&l->waiting.pool, &state->next[k], index, sim);
        }
    }
    state->is_synchronised = true;
    state->segment = run->end;
}

/* The fused pass that begins with segment `segment`; NULL: none does. Calls come with ascending
 * segments. *run: index in `layout` of the first fused pass that may begin at the segment, kept
 * from call to call. */
static const ms_segment_run *fused_pass_at(const ms_pass_layout *layout, int segment, int *run) {
    while (layout != NULL && *run < layout->count && layout->runs[*run].first < segment) {
        ++*run;
    }
    bool is_here = layout != NULL && *run < layout->count && layout->runs[*run].first == segment;
    return is_here ? &layout->runs[*run] : NULL;
}

/* Lower all segments of a pass, those in fused passes of `layout` as fused passes.  Returns as
 * lower_collective. */
static ms_status lower_fused_passes(ms_lowering *l, ms_pass_state *state,
                                    const ms_pass_layout *layout) {
    ms_status status = MS_OK;
    int run = 0;
    while (state->segment < state->plan->count && status == MS_OK) {
        const ms_segment_run *fused = fused_pass_at(layout, state->segment, &run);
        if (fused != NULL) {
            lower_fused_pass(l, state, fused);
        } else {
            status = lower_segment(l, state);
            state->segment++;
        }
    }
    return status;
}

void ms_pass_lower_nothing(ms_lowering *l, ms_pass_state *state) {
    const ms_segment none = {.is_collective = false};
    ms_dag_op op = labels_of(l, state->action, -1);
    op.work = ms_no_work(l);
    lower_compute(l, state, &none, &op);
}

/* Whether the next segment waits for an asynchronous collective that has been lowered. */
static bool has_to_wait(const ms_lowering *l, const ms_pass_state *state) {
    const ms_segment *segment = &l->job->costs.segments[state->plan->first + state->segment];
    bool waits = false;
    for (int i = 0; i < segment->wait_count; i++) {
        waits = waits || !ms_waits_are_empty(ended(l, state, segment->waits[i]));
    }
    return waits;
}

/* With until_held the run ends before the next segment if a blocking collective has been lowered,
 * or if the segment has to wait for an asynchronous collective; the first segment is always
 * lowered. */
ms_status ms_pass_run(ms_lowering *l, ms_pass_state *state, bool until_held) {
    state->is_held = false;
    for (bool is_first = true; state->segment < state->plan->count; is_first = false) {
        bool is_held = state->is_held || (!is_first && has_to_wait(l, state));
        if (until_held && is_held) {
            return MS_OK;
        }
        ms_status status = lower_segment(l, state);
        if (status != MS_OK) {
            return status;
        }
        state->segment++;
    }
    if (state->inputs[0] != NULL || state->inputs[1] != NULL) { /* no operation waits for these */
        ms_pass_lower_nothing(l, state);
    }
    state->is_done = true;
    return MS_OK;
}

/* The ends of asynchronous collectives that no segment has waited for are added to the lists that
 * the update waits for. All lists of the pass are then cleared. */
void ms_pass_end(ms_lowering *l, const ms_pass_state *state) {
    const ms_action *action = state->action;
    size_t count = (size_t)l->waiting.count;
    ms_waits *update = l->waiting.update + state->p * l->waiting.count;
    l->runs[action->stage * MS_PASS_COUNT + action->pass]++;
    for (int i = 0; i < state->plan->count && state->has_beside; i++) {
        ms_waits *lists = ended(l, state, i);
        bool has_ended = !ms_waits_are_empty(&lists[0]); /* the same on all ranks */
        for (int k = 0; k < l->waiting.count && has_ended; k++) {
            if (!state->is_awaited[i]) {
                ms_waits_merge(&l->waiting.pool, &update[k], &lists[k]);
            }
            ms_waits_clear(&l->waiting.pool, &lists[k]);
        }
        state->is_awaited[i] = false;
    }
    if (inputs_of(l, action) != NULL) { /* no other pass waits for these: free the storage */
        ms_lists_clear(&l->waiting, inputs_of(l, action), count);
    }
}

/* A forward pass sends to the next stage, a backward pass (B or I) to the previous one. */
ms_status ms_pass_send_result(ms_lowering *l, int p, const ms_action *action) {
    const ms_program *program = &l->job->program;
    const ms_stage_cost *cost = ms_lowering_cost(l, action);
    int stage = action->stage;
    ms_dag_op from = {
        .mb = action->mb, .stage = action->stage, .chunk = (int16_t)program->stage_chunk[stage]};
    if (action->pass == MS_PASS_W) { /* weight gradients stay on the rank */
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
    /* the last stage: its own backward pass waits for the forward pass */
    ms_waits *own = ms_arrived(l, true, stage, action->mb);
    for (int k = 0; k < l->waiting.count; k++) {
        ms_waits_merge(&l->waiting.pool, &own[k], &ms_next(l, p)[k]);
    }
    return MS_OK;
}

ms_status ms_pass_lower(ms_lowering *l, int p, const ms_action *action) {
    ms_pass_state state = begin_pass(l, p, action);
    const ms_pass_layout *layout = NULL;
    ms_status status = ms_pass_layout_find(l, p, action, whens_now(l, action, state.plan), &layout);
    if (status == MS_OK && layout != NULL) {
        status = lower_fused_passes(l, &state, layout);
    }
    /* After fused passes no segment is left; ms_pass_run then only lowers an empty operation, if
     * nothing has waited for the pass's inputs yet. */
    status = status == MS_OK ? ms_pass_run(l, &state, false) : status;
    if (status != MS_OK) {
        return status;
    }
    ms_pass_end(l, &state);
    status = ms_pass_send_result(l, p, action);
    if (status == MS_OK && ms_job_is_blocking(l->job)) {
        ms_barrier_lower(l, p, action, 1);
    }
    return status;
}
