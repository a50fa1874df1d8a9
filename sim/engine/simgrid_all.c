/* The test mode: everything that takes time is an activity or a timer of SimGrid, whose clock alone
 * gives the dates. Nothing is known beforehand, nothing is left out, so that it tells whether what
 * the replay leaves out are known dates only. */
#include "engine/bridge.h"
#include "engine/contention.h"
#include "engine/no_memory.h"
#include "engine/replay.h"
#include "engine/simgrid_start.h"

#include <math.h>

/* An operation under way. */
typedef struct op_progress {
    int32_t phase; /* communication: index into ms_dag_network.phases */
    int32_t left;  /* of its phase, what has not ended: flows, then the latency */
    bool is_late;  /* the latency of the phase passes */
    bool is_ready; /* all it waits for has ended, but it is not launched yet */
} op_progress;

typedef struct whole_run {
    ms_replay *replay;
    ms_contention contention;
    op_progress *steps; /* [op_count] */
    int32_t
        *on_stream; /* [stream_count] computation under way whose first member it is, -1: none */
    int32_t *live;  /* [rank_count][MS_COLL_COUNT] communications that run on the rank */
    ms_bridge_setup setup;
    ms_status status; /* first failure of the bridge */
} whole_run;

static const ms_dag_work *work_of(const whole_run *run, int32_t op) {
    return &run->replay->dag->works[run->replay->dag->ops[op].work];
}

static void keep_status(whole_run *run, ms_status status) {
    run->status = run->status == MS_OK ? status : run->status;
}

static int32_t first_stream(const ms_dag *dag, int32_t op) {
    return dag->member_stream[dag->member_first[op]];
}

/* The kind of communication that slows a computation down most now; its speed has that number. */
static int32_t slowest_kind(const whole_run *run, int32_t op) {
    const ms_dag *dag = run->replay->dag;
    int32_t slowest = MS_COLL_NONE;
    for (int32_t j = dag->member_first[op]; j < dag->member_first[op + 1]; j++) {
        int32_t rank = dag->streams[dag->member_stream[j]].rank;
        for (int32_t kind = 0; kind < MS_COLL_COUNT; kind++) {
            bool is_slower =
                dag->network.compute_slowdown[kind] > dag->network.compute_slowdown[slowest];
            slowest = run->live[rank * MS_COLL_COUNT + kind] > 0 && is_slower ? kind : slowest;
        }
    }
    return slowest;
}

/* The communications on some ranks have changed: so may have the speed of every computation. */
static void set_speeds(whole_run *run) {
    for (int32_t i = 0; i < run->replay->dag->stream_count; i++) {
        if (run->on_stream[i] >= 0) {
            keep_status(run, ms_bridge_set_speed(i, slowest_kind(run, run->on_stream[i])));
        }
    }
}

static void communicate(whole_run *run, int32_t op, int32_t change) {
    const ms_dag *dag = run->replay->dag;
    int32_t kind = work_of(run, op)->coll;
    if (dag->network.compute_slowdown[kind] == 1.0) {
        return;
    }
    for (int32_t j = dag->member_first[op]; j < dag->member_first[op + 1]; j++) {
        const ms_dag_stream *stream = &dag->streams[dag->member_stream[j]];
        run->live[stream->rank * MS_COLL_COUNT + kind] += change;
        if (stream->peer >= 0 && stream->peer != stream->rank) {
            run->live[stream->peer * MS_COLL_COUNT + kind] += change;
        }
    }
    set_speeds(run);
}

static void start_flow(whole_run *run, int32_t op, int32_t flow) {
    const ms_contention *c = &run->contention;
    ms_timeline *timeline = &run->replay->timeline;
    ms_account *account = &run->replay->account;
    double now_s = ms_bridge_clock_s();
    int32_t first = c->route_first[flow];
    int32_t record = (int32_t)account->count;
    if (run->replay->dag->network.flows[flow].crossing_count == 0) {
        return;
    }
    account->records[account->count++] =
        (ms_flow_record){.start_s = now_s, .end_s = now_s, .flow = flow, .owner = op};
    if (c->is_contended_flow[flow]) {
        keep_status(run, ms_bridge_flow((uint64_t)c->payload[flow], &c->route[first],
                                        c->route_first[flow + 1] - first, record));
        timeline->flows++;
        run->steps[op].left++;
    }
}

/* Go on with a communication until it has to wait for SimGrid or is over. */
static void advance(whole_run *run, int32_t op) {
    const ms_dag *dag = run->replay->dag;
    const ms_dag_work *work = work_of(run, op);
    op_progress *at = &run->steps[op];
    int32_t end = work->phase_first + work->phase_count;
    while (at->left == 0 && at->phase < end) {
        const ms_dag_phase *phase = &dag->network.phases[at->phase];
        if (!at->is_late) {
            for (int32_t i = 0; i < phase->flow_count; i++) {
                start_flow(run, op, phase->flow_first + i);
            }
            at->is_late = true; /* next, once the flows have ended */
            continue;
        }
        at->is_late = false;
        if (++at->phase == end && work->is_pipelined) {
            ms_replay_release_streams(run->replay, op, ms_bridge_clock_s());
        }
        if (phase->latency_s > 0.0) {
            keep_status(run, ms_bridge_wake(ms_bridge_clock_s() + phase->latency_s, op));
            run->replay->timeline.timers++;
            at->left = 1;
        }
    }
    if (at->left == 0) {
        communicate(run, op, -1);
        if (!work->is_pipelined) {
            ms_replay_release_streams(run->replay, op, ms_bridge_clock_s());
        }
        ms_replay_end(run->replay, op, ms_bridge_clock_s());
    }
}

static void end_computation(whole_run *run, int32_t op) {
    run->on_stream[first_stream(run->replay->dag, op)] = -1;
    ms_replay_release_streams(run->replay, op, ms_bridge_clock_s());
    ms_replay_end(run->replay, op, ms_bridge_clock_s());
}

static void begin_computation(whole_run *run, int32_t op) {
    double time_s = work_of(run, op)->time_s;
    int32_t host = first_stream(run->replay->dag, op);
    run->on_stream[host] = op;
    run->replay->timeline.timers++;
    if (time_s > 0.0) {
        keep_status(run, ms_bridge_set_speed(host, slowest_kind(run, op)));
        keep_status(run, ms_bridge_compute(time_s, host, op));
    } else {
        end_computation(run, op);
    }
}

/* Begin an operation that is launched. */
static void begin_launched(whole_run *run, int32_t op) {
    const ms_dag_work *work = work_of(run, op);
    if (work->is_communication) {
        run->steps[op].phase = work->phase_first;
        communicate(run, op, 1);
        advance(run, op);
    } else {
        begin_computation(run, op);
    }
}

static void begin(void *context, ms_event start) {
    whole_run *run = context;
    if (start.time_s > ms_bridge_clock_s()) { /* its host launches it then */
        run->steps[start.op].is_ready = true;
        keep_status(run, ms_bridge_wake(start.time_s, start.op));
    } else {
        begin_launched(run, start.op);
    }
}

static void on_computed(void *context, int32_t op) {
    whole_run *run = context;
    end_computation(run, op);
    ms_replay_drain(run->replay);
}

/* A latency of an operation has passed, or its host has launched it. */
static void on_timer(void *context, int32_t op) {
    whole_run *run = context;
    if (run->steps[op].is_ready) {
        run->steps[op].is_ready = false;
        begin_launched(run, op);
    } else {
        run->steps[op].left--;
        advance(run, op);
    }
    ms_replay_drain(run->replay);
}

static void on_flow(void *context, int32_t index) {
    whole_run *run = context;
    ms_flow_record *record = &run->replay->account.records[index];
    record->end_s = ms_bridge_clock_s();
    on_timer(run, record->owner);
}

static bool alloc_run(whole_run *run, bool **is_ours, ms_arena *scratch) {
    const ms_dag *dag = run->replay->dag;
    run->steps = MS_NEW(scratch, op_progress, dag->op_count);
    run->on_stream = MS_NEW(scratch, int32_t, dag->stream_count);
    run->live = MS_NEW(scratch, int32_t, (size_t)dag->rank_count * MS_COLL_COUNT);
    *is_ours = MS_NEW(scratch, bool, dag->work_count);
    if (run->steps == NULL || run->on_stream == NULL || run->live == NULL || *is_ours == NULL) {
        return false;
    }
    for (int32_t i = 0; i < dag->stream_count; i++) {
        run->on_stream[i] = -1;
    }
    for (int32_t i = 0; i < dag->work_count; i++) {
        (*is_ours)[i] = true;
    }
    return true;
}

static void run_graph(whole_run *run, const bool *is_ours, ms_arena *scratch, ms_diag *diag) {
    ms_replay *replay = run->replay;
    double speeds[MS_COLL_COUNT];
    for (int kind = 0; kind < MS_COLL_COUNT; kind++) {
        speeds[kind] = 1.0 / replay->dag->network.compute_slowdown[kind];
    }
    replay->is_contended = is_ours;
    replay->begin = begin;
    replay->context = run;
    replay->has_slowdown = false; /* that is SimGrid's matter as well */
    replay->timeline.has_shared = true;
    run->setup = (ms_bridge_setup){.link_bandwidths = run->contention.bandwidths,
                                   .link_count = run->contention.link_count,
                                   .host_count = replay->dag->stream_count,
                                   .speeds = speeds,
                                   .speed_count = MS_COLL_COUNT,
                                   .context = run,
                                   .on_wake = on_timer,
                                   .on_flow = on_flow,
                                   .on_computed = on_computed};
    if (ms_simgrid_choose_precision(replay, scratch, &run->setup.precision_s) != MS_OK) {
        run->status = ms_engine_no_memory(diag);
        return;
    }
    keep_status(run, ms_simgrid_start(&run->setup, diag));
    if (run->status == MS_OK) {
        ms_replay_start(replay);
        ms_replay_drain(replay);
        keep_status(run, run->status == MS_OK ? ms_simgrid_run() : MS_OK);
    }
}

ms_status ms_engine_run_on_simgrid(ms_replay *replay, ms_arena *scratch, ms_diag *diag) {
    whole_run run = {.replay = replay, .status = MS_OK};
    bool *is_ours = NULL;
    if (!alloc_run(&run, &is_ours, scratch)) {
        return ms_engine_no_memory(diag);
    }
    ms_status status =
        ms_contention_find(replay->dag, MS_CONTENTION_ALL, scratch, diag, &run.contention);
    if (status != MS_OK) {
        return status;
    }
    run_graph(&run, is_ours, scratch, diag);
    if (run.status == MS_E_BUG) {
        ms_diag_error(diag, "bug: SimGrid failed: %s", ms_bridge_error());
    }
    return run.status;
}
