/* The replay of an operation graph (replay.h): finds the start and end of every operation by
 * walking the graph in the order of time. Both engines are built on it. An operation waits for its
 * dependencies and for its predecessors on its streams; when the last of these has ended, its start
 * is put into the event queue. "Settled" means that the end of an operation is known. */
#include "simulate/engine/replay.h"

#include <math.h>

#include "base/firsts.h"
#include "base/progress.h"
#include "base/random.h"

enum { PROGRESS_MASK = (1 << 10) - 1 }; /* progress is reported every 1,024 settled operations */

/* Number of transfers over links in one operation of `work`: its flows that cross any link. */
static int64_t count_transfers(const ms_dag *dag, const ms_dag_work *work) {
    int64_t count = 0;
    for (int32_t p = 0; p < work->phase_count; p++) {
        const ms_dag_phase *phase = &dag->network.phases[work->phase_first + p];
        for (int32_t f = 0; f < phase->flow_count; f++) {
            count += dag->network.flows[phase->flow_first + f].crossing_count > 0;
        }
    }
    return count;
}

size_t ms_timeline_arrays_B(const ms_dag *dag) {
    size_t ops = (size_t)dag->op_count, links = (size_t)dag->network.link_count;
    return (2 * ops + 3 * links) * sizeof(double) + ops * sizeof(int32_t);
}

void ms_timeline_set_arrays(ms_timeline *timeline, const ms_dag *dag, void *block) {
    timeline->start_s = block;
    timeline->end_s = timeline->start_s + dag->op_count;
    timeline->link_bytes = timeline->end_s + dag->op_count;
    timeline->link_busy_s = timeline->link_bytes + dag->network.link_count;
    timeline->link_peak = timeline->link_busy_s + dag->network.link_count;
    timeline->cause = (int32_t *)(void *)(timeline->link_peak + dag->network.link_count);
}

/* Allocate the arrays of the timeline, all in one block. Returns whether there was memory. */
static bool alloc_timeline(ms_replay *replay, ms_arena *arena) {
    void *block = ms_arena_alloc(arena, 1, ms_timeline_arrays_B(replay->dag));
    replay->timeline.op_count = replay->dag->op_count;
    replay->timeline.ops_run = replay->dag->op_count;
    ms_timeline_set_arrays(&replay->timeline, replay->dag, block);
    return block != NULL;
}

/* Allocate the event queue for the largest number of events it can hold at once: one for each
 * stream, as an operation that waits for its start or computes is the next one of its streams; and
 * the end of every communication that slows computations down. Also prepares the slow-down if there
 * is any. Returns whether there was memory. */
static bool alloc_queue(ms_replay *replay, ms_arena *scratch) {
    const ms_dag *dag = replay->dag;
    int64_t capacity = dag->stream_count;
    for (int32_t i = 0; i < dag->op_count && replay->has_slowdown; i++) {
        capacity += ms_work_slows_compute(dag, &dag->works[dag->ops[i].work]);
    }
    int32_t movers = replay->has_slowdown ? dag->stream_count : 0;
    if (ms_event_queue_init(&replay->queue, capacity, movers, scratch) != MS_OK) {
        return false;
    }
    return !replay->has_slowdown ||
           ms_slowdown_init(&replay->slowdown, dag, &replay->queue, scratch) == MS_OK;
}

/* Allocate what another replay of the same graph can borrow (ms_replay_init_again): times of works
 * and successors. The successors have an arena of their own, as they are freed before the other
 * arrays. Returns whether there was memory. */
static bool alloc_borrowable(ms_replay *replay, ms_arena *scratch) {
    const ms_dag *dag = replay->dag;
    ms_successors *next = &replay->next;
    replay->work_time_s = MS_NEW(scratch, double, dag->work_count);
    replay->work_transfer_s = MS_NEW(scratch, double, dag->work_count);
    next->first = MS_NEW(&next->arena, int32_t, (size_t)dag->op_count + 1);
    next->of = MS_NEW(&next->arena, int32_t, dag->dep_count);
    return !scratch->has_failed && !next->arena.has_failed;
}

/* Allocate what changes during a replay: starts, host clocks and event queue. Returns whether there
 * was memory. */
static bool alloc_replay(ms_replay *replay, ms_arena *scratch) {
    replay->starts = MS_NEW(scratch, ms_start, replay->dag->op_count);
    return ms_host_init(&replay->host, replay->dag, scratch) == MS_OK && replay->starts != NULL &&
           alloc_queue(replay, scratch);
}

/* Allocate a record for every transfer over links in the graph. Returns whether there was
 * memory. */
static bool alloc_account(ms_replay *replay, ms_arena *scratch) {
    const ms_dag *dag = replay->dag;
    int64_t total = 0;
    for (int32_t i = 0; i < dag->op_count; i++) {
        const ms_dag_work *work = &dag->works[dag->ops[i].work];
        total += work->phase_count > 0 ? count_transfers(dag, work) : 0;
    }
    replay->account.capacity = total;
    replay->account.records = MS_NEW(scratch, ms_flow_record, total);
    return replay->account.records != NULL;
}

/* Set `waiting` of every operation: the number of its dependencies plus that of its predecessors on
 * its streams. */
static void count_waiting(ms_replay *replay) {
    const ms_dag *dag = replay->dag;
    for (int32_t op = 0; op < dag->op_count; op++) {
        int32_t first = dag->dep_first[dag->member_first[op]];
        int32_t end = dag->dep_first[dag->member_first[op + 1]];
        replay->starts[op].waiting += end - first;
        for (int32_t j = dag->member_first[op]; j < dag->member_first[op + 1]; j++) {
            if (dag->member_next[j] >= 0) {
                replay->starts[dag->member_next[j]].waiting++;
            }
        }
    }
}

/* List the operations that depend on each operation, the last one first: count, sum and distribute
 * (base/firsts.h). */
static void link_successors(ms_replay *replay) {
    const ms_dag *dag = replay->dag;
    int32_t *first = replay->next.first;
    for (int32_t d = 0; d < dag->dep_count; d++) {
        first[dag->deps[d] + 1]++;
    }
    ms_firsts_make(first, dag->op_count);
    for (int32_t op = dag->op_count - 1; op >= 0; op--) {
        int32_t begin = dag->dep_first[dag->member_first[op]];
        for (int32_t d = dag->dep_first[dag->member_first[op + 1]] - 1; d >= begin; d--) {
            replay->next.of[first[dag->deps[d]]++] = op;
        }
    }
    ms_firsts_rewind(first, dag->op_count);
}

/* Set a replay to its state before anything is allocated. A limit on allocations, which tests set
 * for `scratch`, holds for the arena of the successors as well. */
static void begin_replay(ms_replay *replay, const ms_dag *dag, bool is_alone, ms_arena *scratch) {
    *replay = (ms_replay){.dag = dag,
                          .is_alone = is_alone,
                          .horizon = {.limit_s = INFINITY},
                          .has_slowdown = ms_slowdown_is_needed(dag->network.compute_slowdown)};
    ms_arena_init(&replay->next.arena);
    ms_arena_fail_after(&replay->next.arena, scratch->fail_after);
}

/* Prepare what every replay needs for itself: timeline, starts, queue and account. timeline: arena
 * of the timeline. Returns MS_OK; MS_E_NOMEM (reported). */
static ms_status init_own(ms_replay *replay, ms_arena *scratch, ms_arena *timeline, ms_diag *diag) {
    if (!alloc_timeline(replay, timeline) || !alloc_replay(replay, scratch) ||
        !alloc_account(replay, scratch)) {
        return ms_engine_no_memory(diag);
    }
    for (int32_t i = 0; i < replay->dag->op_count; i++) {
        replay->starts[i].cause = -1;
        replay->timeline.end_s[i] = -1.0; /* not settled */
    }
    count_waiting(replay);
    return MS_OK;
}

ms_status ms_replay_init(ms_replay *replay, const ms_dag *dag, ms_fidelity fidelity,
                         ms_arena *scratch, ms_arena *timeline, ms_diag *diag) {
    begin_replay(replay, dag, fidelity == MS_FIDELITY_ANALYTIC, scratch);
    if (!alloc_borrowable(replay, scratch)) {
        return ms_engine_no_memory(diag);
    }
    for (int32_t i = 0; i < dag->work_count; i++) {
        replay->work_time_s[i] =
            ms_dag_work_time_s(dag, &dag->works[i], replay->is_alone, &replay->work_transfer_s[i]);
    }
    link_successors(replay);
    return init_own(replay, scratch, timeline, diag);
}

ms_status ms_replay_init_again(ms_replay *replay, const ms_replay *other, ms_arena *scratch,
                               ms_diag *diag) {
    begin_replay(replay, other->dag, other->is_alone, scratch);
    replay->work_time_s = other->work_time_s;
    replay->work_transfer_s = other->work_transfer_s;
    replay->next.first = other->next.first;
    replay->next.of = other->next.of;
    replay->contention = other->contention;
    return init_own(replay, scratch, scratch, diag);
}

/* Delay of the start of `op` in a perturbed run [s]: a random share, up to perturbation.share, of
 * its time. The share depends on the first stream and the work only, so that it is the same in
 * every microbatch, but differs between ranks. */
static double perturbation_s(const ms_replay *replay, int32_t op) {
    const ms_dag *dag = replay->dag;
    ms_random random = {(uint64_t)dag->member_stream[dag->member_first[op]] << 32 |
                        (uint32_t)dag->ops[op].work};
    double share = ms_random_unit(&random);
    return replay->perturbation.share * share * replay->work_time_s[dag->ops[op].work];
}

/* Queue the start of `op`, whose dependencies and stream predecessors have all ended. The start
 * moves to the launch by its hosts, if that is later, and by the perturbation. A perturbed
 * operation that would start after until_s is dropped, which ends the run. */
static void queue_start(ms_replay *replay, int32_t op) {
    ms_start *start = &replay->starts[op];
    if (replay->host.launches != NULL) {
        start->time_s = ms_host_start_s(&replay->host, op, start->time_s);
    }
    if (replay->perturbation.share > 0.0) {
        start->time_s += perturbation_s(replay, op);
        if (start->time_s > replay->perturbation.until_s) {
            return;
        }
    }
    ms_event event = {.time_s = start->time_s, .op = op};
    /* A computation that starts now needs no place in the queue. Other events of this instant may
     * change its slow-down, but as no time has passed, all of it is left whatever their order. */
    if (replay->has_slowdown && start->time_s <= replay->now_s &&
        ms_dag_is_compute(replay->dag, op)) {
        replay->timeline.timers++;
        ms_slowdown_begin(&replay->slowdown, event);
    } else {
        ms_event_queue_add(&replay->queue, event);
    }
}

void ms_replay_start(ms_replay *replay) {
    for (int32_t i = 0; i < replay->dag->op_count; i++) {
        if (replay->starts[i].waiting == 0) {
            queue_start(replay, i);
        }
    }
}

/* Whether `a` rather than `b` is the cause of a start, if both end together: the operation of the
 * lower role (ms_dag_role); of equal roles the one that began earlier, as it covers more of the
 * wait; then the lower index, which no figure depends on. */
static bool is_first_cause(const ms_replay *replay, int32_t a, int32_t b) {
    uint64_t role_a = ms_dag_role(replay->dag, a);
    uint64_t role_b = ms_dag_role(replay->dag, b);
    if (role_a != role_b) {
        return role_a < role_b;
    }
    double start_a_s = replay->starts[a].time_s;
    double start_b_s = replay->starts[b].time_s;
    double together_s = ms_together_s(start_a_s);
    return start_a_s < start_b_s - together_s || (start_a_s <= start_b_s + together_s && a < b);
}

/* Let operation `before` release `op` at `time_s`: `op` starts no earlier, and if nothing else
 * holds it back, its start is queued. The operation that releases last is the cause of the start.
 * If several release it together, as far as rounding and SimGrid's clock can tell, is_first_cause
 * chooses: otherwise the cause, and the category of the wait, would depend on rounding, which
 * differs between folded and unfolded runs. */
static inline void release(ms_replay *replay, int32_t op, int32_t before, double time_s) {
    ms_start *start = &replay->starts[op];
    double later_s = time_s - start->time_s;
    double together_s = ms_together_s(time_s);
    if (start->cause < 0 || later_s > together_s ||
        (later_s >= -together_s && is_first_cause(replay, before, start->cause))) {
        start->cause = before;
    }
    start->time_s = later_s > 0.0 ? time_s : start->time_s;
    if (--start->waiting == 0) {
        queue_start(replay, op);
    }
}

/* Let `op` release the next operation on each of its streams at `time_s`. */
static void release_streams(ms_replay *replay, int32_t op, double time_s) {
    const ms_dag *dag = replay->dag;
    for (int32_t j = dag->member_first[op]; j < dag->member_first[op + 1]; j++) {
        if (dag->member_next[j] >= 0) {
            release(replay, dag->member_next[j], op, time_s);
        }
    }
}

/* Let `op` release the operations that depend on it at `time_s`. */
static void release_dependents(ms_replay *replay, int32_t op, double time_s) {
    for (int32_t i = replay->next.first[op]; i < replay->next.first[op + 1]; i++) {
        release(replay, replay->next.of[i], op, time_s);
    }
}

/* Enter the end of `op` in the timeline, and report progress now and then. */
static void record_end(ms_replay *replay, int32_t op, double end_s) {
    replay->timeline.end_s[op] = end_s;
    replay->timeline.makespan_s = fmax(replay->timeline.makespan_s, end_s);
    if ((++replay->settled & PROGRESS_MASK) == 0) {
        ms_progress_done(replay->settled);
    }
}

void ms_replay_settle(ms_replay *replay, int32_t op, double transfer_s, double end_s) {
    const ms_dag_work *work = &replay->dag->works[replay->dag->ops[op].work];
    record_end(replay, op, end_s);
    if (replay->has_slowdown && ms_work_slows_compute(replay->dag, work)) {
        ms_event_queue_add(&replay->queue, (ms_event){.time_s = end_s, .op = op});
        if (!work->is_pipelined) {
            /* handle_with_slowdown releases what waits for it, once the event of its end has
             * changed the slow-down: most of these operations then start at once (queue_start) */
            return;
        }
    }
    release_streams(replay, op, work->is_pipelined ? transfer_s : end_s);
    release_dependents(replay, op, end_s);
}

/* Record the transfers of a communication whose flows all take their known time alone, phase after
 * phase from its start on. */
static void record_alone(ms_replay *replay, ms_event start) {
    const ms_dag *dag = replay->dag;
    const ms_dag_work *work = &dag->works[dag->ops[start.op].work];
    double phase_s = start.time_s;
    for (int32_t p = 0; p < work->phase_count; p++) {
        const ms_dag_phase *phase = &dag->network.phases[work->phase_first + p];
        double flows_s = 0.0;
        double next_s = phase_s + ms_dag_phase_time_s(dag, phase, replay->is_alone, &flows_s);
        for (int32_t f = phase->flow_first; f < phase->flow_first + phase->flow_count; f++) {
            double time_s = ms_dag_flow_time_s(dag, f, replay->is_alone);
            if (dag->network.flows[f].crossing_count > 0) {
                replay->account.records[replay->account.count++] = (ms_flow_record){
                    .start_s = phase_s, .end_s = phase_s + time_s, .flow = f, .owner = -1};
            }
        }
        phase_s = next_s;
        replay->timeline.timers += (flows_s > 0.0) + (phase->latency_s > 0.0);
    }
}

/* Start an operation: hand it to the engine if transfers of its work are contended; otherwise its
 * end is known, and it is settled. */
static void start_op(ms_replay *replay, ms_event start) {
    int32_t work = replay->dag->ops[start.op].work;
    if (replay->is_contended != NULL && replay->is_contended[work]) {
        replay->begin(replay->context, start);
        return;
    }
    if (replay->dag->works[work].is_communication) {
        record_alone(replay, start);
    } else {
        replay->timeline.timers++;
    }
    ms_replay_settle(replay, start.op, start.time_s + replay->work_transfer_s[work],
                     start.time_s + replay->work_time_s[work]);
}

/* Handle an event of a run in which communication slows computations down. The event of a
 * computation is its end if the computation is under way, else its start. The event of a
 * communication is its end if that is known (settled before), else its start. A pipelined
 * communication has released others when it was settled. */
static void handle_with_slowdown(ms_replay *replay, ms_event event) {
    const ms_dag_work *work = &replay->dag->works[replay->dag->ops[event.op].work];
    if (!work->is_communication) {
        if (ms_slowdown_is_running(&replay->slowdown, event.op)) {
            ms_slowdown_end(&replay->slowdown, event.op);
            ms_replay_settle(replay, event.op, event.time_s, event.time_s);
        } else {
            replay->timeline.timers++;
            ms_slowdown_begin(&replay->slowdown, event);
        }
    } else if (replay->timeline.end_s[event.op] >= 0.0) {
        ms_slowdown_change_comm(&replay->slowdown, event, -1); /* its end */
        if (!work->is_pipelined) {
            release_streams(replay, event.op, event.time_s);
            release_dependents(replay, event.op, event.time_s);
        }
    } else {
        if (ms_work_slows_compute(replay->dag, work)) {
            ms_slowdown_change_comm(&replay->slowdown, event, 1); /* its start */
        }
        start_op(replay, event);
    }
}

void ms_replay_drain(ms_replay *replay) {
    double first_s = 0.0;
    while (first_s = ms_event_queue_first_s(&replay->queue),
           (first_s <= replay->horizon.limit_s || first_s < replay->horizon.quiet_s) &&
               isfinite(first_s)) {
        ms_event event = ms_event_queue_take(&replay->queue);
        replay->now_s = event.time_s;
        if (replay->has_slowdown) {
            handle_with_slowdown(replay, event);
        } else {
            start_op(replay, event);
        }
    }
}

void ms_replay_release(ms_replay *replay) {
    ms_arena_release(&replay->next.arena);
}

void ms_replay_write_starts(ms_replay *replay) {
    for (int32_t i = 0; i < replay->dag->op_count; i++) {
        replay->timeline.start_s[i] = replay->starts[i].time_s;
        replay->timeline.cause[i] = replay->starts[i].cause;
    }
}
