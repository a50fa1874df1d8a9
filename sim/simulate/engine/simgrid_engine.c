/* The engine of flows: runs operations whose transfers are contended, on top of the replay
 * (replay.h). The flows of such an operation are started phase by phase in a max-min simulation
 * (maxmin.h), which keeps the clock; flows that have to share links are handed over to SimGrid
 * (handover.h), or are shared by meshsim's own solver when that is asked for. The event queue of
 * the replay and the clock wake each other: the queue runs ahead where no flow can change its
 * events, and else waits for a wake-up. */
#include "simulate/engine/bridge.h"
#include "simulate/engine/contention.h"
#include "simulate/engine/demand.h"
#include "simulate/engine/handover.h"
#include "simulate/engine/maxmin.h"
#include "simulate/engine/replay.h"
#include "simulate/engine/simgrid_start.h"

#include <math.h>

/* Token of the wake-up at which the event queue goes on; the other tokens are streams, whose next
 * phase starts. */
enum { LOOK = MS_MAXMIN_LOOK };

/* An operation with contended transfers that is under way on a stream. */
typedef struct active_op {
    double phase_s; /* when its current phase begins */
    double flows_s; /* latest end of a flow of the phase so far */
    int32_t op;
    int32_t phase; /* current phase, index into ms_dag_network.phases */
    int32_t left;  /* contended flows of the phase that have not ended */
} active_op;

/* The state of a run. */
typedef struct flow_run {
    ms_replay *replay;
    const ms_contention *contention;
    active_op *active;   /* [stream_count] by the operation's lowest stream */
    ms_maxmin transfers; /* contended flows, and the clock */
    int32_t live;        /* number of contended flows under way */
    int32_t under_way;   /* number of operations with contended flows, begun and not settled */
    double look_s;       /* date of the pending wake-up LOOK; INFINITY: none */
    ms_status status;    /* first failure */
} flow_run;

static double clock_s(const flow_run *run) {
    return run->transfers.clock_s;
}

static void wake_at(flow_run *run, double date_s, int32_t token) {
    ms_maxmin_wake_at(&run->transfers, date_s, token);
}

/* Record a transfer that starts at `start_s`; its end is set later. There is room for all transfers
 * of the graph (alloc_account). stream: its owner, -1: none. Returns the index of the record. */
static int32_t add_record(flow_run *run, int32_t flow, double start_s, int32_t stream) {
    ms_account *account = &run->replay->account;
    account->records[account->count] =
        (ms_flow_record){.start_s = start_s, .end_s = start_s, .flow = flow, .owner = stream};
    return (int32_t)account->count++;
}

/* Set how far the replay may run ahead of the clock. Where communication slows computations down
 * and contended flows are under way, it may not: the end of a flow could still move later events.
 */
static void set_limit(flow_run *run) {
    bool is_free = !run->replay->has_slowdown || run->under_way == 0;
    run->replay->horizon.limit_s = is_free ? INFINITY : clock_s(run);
    run->replay->horizon.quiet_s = 0.0;
}

/* Handle the events up to the horizon of the replay, and set a wake-up at the next event after it.
 */
static void drain(flow_run *run) {
    ms_replay *replay = run->replay;
    ms_replay_drain(replay);
    double next_s = ms_event_queue_first_s(&replay->queue);
    if (next_s < run->look_s) {
        run->look_s = next_s;
        wake_at(run, run->look_s, LOOK);
    }
}

/* Record a flow that is not contended, whose duration is known. Returns its end [s]. */
static double record_known_flow(flow_run *run, int32_t flow, double start_s) {
    double end_s = start_s + ms_dag_flow_time_s(run->replay->dag, flow, false);
    if (run->replay->dag->network.flows[flow].crossing_count > 0) {
        run->replay->account.records[add_record(run, flow, start_s, -1)].end_s = end_s;
        run->replay->timeline.timers += end_s > start_s;
    }
    return end_s;
}

/* Start a contended flow of the operation on `stream`. A failure is kept in run->status. */
static void start_contended(flow_run *run, int32_t flow, int32_t stream) {
    const ms_contention *c = run->contention;
    active_op *active = &run->active[stream];
    int32_t first = c->route_first[flow];
    int32_t count = c->route_first[flow + 1] - first;
    int32_t record = add_record(run, flow, active->phase_s, stream);
    const int32_t *route = &c->route[first];
    ms_status status =
        ms_maxmin_flow(&run->transfers, (double)c->payload[flow], route, count, record);
    if (status != MS_OK) {
        run->status = status;
        return;
    }
    active->left++;
    run->live++;
    ms_timeline *timeline = &run->replay->timeline;
    timeline->flows++;
    timeline->flows_peak = run->live > timeline->flows_peak ? run->live : timeline->flows_peak;
}

/* Start all flows of the current phase of the operation on `stream`. active->flows_s becomes the
 * latest end of those flows whose end is known, which are not contended. The clock is at the
 * beginning of the phase if the phase has contended flows. */
static void start_phase(flow_run *run, int32_t stream) {
    active_op *active = &run->active[stream];
    const ms_dag_phase *phase = &run->replay->dag->network.phases[active->phase];
    active->flows_s = active->phase_s;
    for (int32_t i = phase->flow_first; i < phase->flow_first + phase->flow_count; i++) {
        if (run->contention->is_contended_flow[i]) {
            start_contended(run, i, stream);
        } else {
            active->flows_s = fmax(active->flows_s, record_known_flow(run, i, active->phase_s));
        }
    }
}

/* Whether a phase has contended flows. */
static bool is_contended_phase(const flow_run *run, const ms_dag_phase *phase) {
    for (int32_t i = phase->flow_first; i < phase->flow_first + phase->flow_count; i++) {
        if (run->contention->is_contended_flow[i]) {
            return true;
        }
    }
    return false;
}

/* Move an operation to its next phase when the flows of the current one have ended: it begins after
 * the latency. */
static void end_phase(flow_run *run, active_op *active) {
    double latency_s = run->replay->dag->network.phases[active->phase].latency_s;
    active->phase_s = active->flows_s + latency_s;
    active->phase++;
    run->replay->timeline.timers += latency_s > 0.0;
}

/* Run the operation on `stream` on from its current phase. Phases without contended flows have
 * known ends and are passed at once. At a phase with contended flows it waits for the clock, and
 * then for the ends of the flows (on_flow). After the last phase it is settled. */
static void advance(flow_run *run, int32_t stream) {
    const ms_dag *dag = run->replay->dag;
    active_op *active = &run->active[stream];
    const ms_dag_work *work = &dag->works[dag->ops[active->op].work];
    while (active->phase < work->phase_first + work->phase_count) {
        bool is_contended = is_contended_phase(run, &dag->network.phases[active->phase]);
        if (is_contended && active->phase_s > clock_s(run)) {
            wake_at(run, active->phase_s, stream);
            return;
        }
        start_phase(run, stream);
        if (is_contended) {
            return;
        }
        end_phase(run, active);
    }
    run->under_way--;
    set_limit(run);
    ms_replay_settle(run->replay, active->op, active->flows_s, active->phase_s);
}

/* ms_replay.begin: start an operation with contended transfers, which is kept under the lowest of
 * its streams. The replay may be ahead of the clock; before horizon.quiet_s no contended flow
 * starts or ends, so the clock can go on to the start of the operation at once. */
static void begin(void *context, ms_event start) {
    flow_run *run = context;
    const ms_dag *dag = run->replay->dag;
    int32_t stream = ms_op_lowest_stream(dag, start.op);
    if (start.time_s < run->replay->horizon.quiet_s) {
        run->transfers.clock_s = fmax(clock_s(run), start.time_s);
    }
    run->active[stream] = (active_op){.op = start.op,
                                      .phase = dag->works[dag->ops[start.op].work].phase_first,
                                      .phase_s = start.time_s};
    run->under_way++;
    set_limit(run);
    advance(run, stream);
}

/* Handle a wake-up that is due: start the next phase of the operation on stream `token` or, for
 * LOOK, go on with the event queue. */
static void on_wake(void *context, int32_t token) {
    flow_run *run = context;
    if (token != LOOK) {
        start_phase(run, token);
        return;
    }
    set_limit(run);
    run->look_s = clock_s(run) >= run->look_s ? INFINITY : run->look_s;
    /* up to this date events run in one go, without a wake-up for each */
    run->replay->horizon.quiet_s = ms_maxmin_quiet_until_s(&run->transfers);
    drain(run);
}

/* Handle the end of the flow of record `index`, which may end its phase. */
static void on_flow(void *context, int32_t index) {
    flow_run *run = context;
    set_limit(run);
    /* events up to the clock first: a flow's end that lies within the precision of their wake-up
     * may be reported before that wake-up */
    ms_replay_drain(run->replay);
    ms_flow_record *record = &run->replay->account.records[index];
    active_op *active = &run->active[record->owner];
    record->end_s = fmax(record->start_s, clock_s(run));
    active->flows_s = fmax(active->flows_s, record->end_s);
    run->live--;
    if (--active->left == 0) {
        end_phase(run, active);
        advance(run, record->owner);
        drain(run);
    }
}

/* Upper bound of the number of contended flows at once: each stream runs one operation, which is in
 * one phase. */
static int64_t most_flows(const flow_run *run) {
    const ms_dag *dag = run->replay->dag;
    int64_t most = 0;
    for (int32_t p = 0; p < dag->network.phase_count; p++) {
        const ms_dag_phase *phase = &dag->network.phases[p];
        most = phase->flow_count > most ? phase->flow_count : most;
    }
    int64_t all = most * dag->stream_count;
    return all < run->replay->account.capacity ? all : run->replay->account.capacity;
}

/* Prepare the max-min simulation.  handover: shares links by SimGrid; NULL: meshsim's own solver
 * shares them.  Returns MS_OK; MS_E_NOMEM. */
static ms_status init_transfers(flow_run *run, ms_handover *handover, ms_arena *scratch) {
    ms_maxmin_setup setup = {.link_bandwidths = run->contention->bandwidths,
                             .link_count = run->contention->link_count,
                             .timers = run->replay->dag->stream_count,
                             .flows = most_flows(run),
                             .context = run,
                             .on_wake = on_wake,
                             .on_flow = on_flow,
                             .share = handover != NULL ? ms_handover_share : NULL,
                             .share_context = handover};
    ms_status status = ms_simgrid_choose_precision(run->replay, scratch, &setup.precision_s);
    return status == MS_OK ? ms_maxmin_init(&run->transfers, &setup, scratch) : status;
}

/* Replay the graph with contended operations handed to `begin`. Returns the first failure of a
 * flow's start or of the max-min simulation; not reported. */
static ms_status run_graph(flow_run *run) {
    ms_replay *replay = run->replay;
    replay->is_contended = run->contention->is_contended_work;
    replay->begin = begin;
    replay->context = run;
    ms_replay_start(replay);
    drain(run);
    ms_status status = run->status == MS_OK ? ms_maxmin_run(&run->transfers) : MS_OK;
    return run->status == MS_OK ? status : run->status;
}

/* Report the failures that nothing below has reported.  Returns `status`. */
static ms_status report(ms_status status, ms_diag *diag) {
    if (status == MS_E_BUG) {
        ms_diag_error(diag, "bug: SimGrid failed: %s", ms_bridge_error());
    }
    return status == MS_E_NOMEM ? ms_engine_no_memory(diag) : status;
}

ms_status ms_engine_find_contention(ms_replay *replay, ms_arena *scratch, ms_diag *diag) {
    if (replay->contention != NULL) {
        return MS_OK;
    }
    ms_contention *found = MS_NEW(scratch, ms_contention, 1);
    if (found == NULL) {
        return ms_engine_no_memory(diag);
    }
    replay->contention = found;
    return ms_contention_find(replay->dag, scratch, diag, found);
}

/* All flows run in the max-min simulation of maxmin.c. With SimGrid as solver, flows on links that
 * are full are handed over to SimGrid (handover.c). */
ms_status ms_engine_run_flows(ms_replay *replay, ms_solver solver, ms_arena *scratch,
                              ms_diag *diag) {
    flow_run run = {.replay = replay, .look_s = INFINITY, .status = MS_OK};
    ms_handover handover;
    bool is_own = solver == MS_SOLVER_MAXMIN;
    run.active = MS_NEW(scratch, active_op, replay->dag->stream_count);
    if (run.active == NULL) {
        return ms_engine_no_memory(diag);
    }
    ms_status status = ms_engine_find_contention(replay, scratch, diag);
    if (status != MS_OK) {
        return status;
    }
    run.contention = replay->contention;
    ms_handover_init(&handover, &run.transfers, diag);
    status = init_transfers(&run, is_own ? NULL : &handover, scratch);
    status = status == MS_OK ? run_graph(&run) : status;
    replay->timeline.has_shared = run.transfers.has_shared;
    ms_maxmin_release(&run.transfers);
    ms_handover_release(&handover);
    return report(status, diag);
}
