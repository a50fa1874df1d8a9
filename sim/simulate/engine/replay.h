/* The replay of the operation graph and the account of the links, which both engines share.
 *
 * Events are handled in the order of time, from a queue. Once the ends of all its dependencies are
 * known, the start of an operation is known; it is no earlier than its launch by the hosts of its
 * ranks (host.h). The start waits in the queue; when its time has come, the end is known exactly as
 * well, with two exceptions. If a transfer of the operation has to share links with others, the
 * operation is handed to the engine of flows, which settles it later. If communication slows
 * computations down (slowdown.h), the end of a computation waits in the queue and moves whenever
 * the communication beside it changes; the end of a communication that slows others waits in the
 * queue, too. */
#ifndef MESHSIM_ENGINE_REPLAY_H
#define MESHSIM_ENGINE_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/status.h"
#include "simulate/engine/contention.h"
#include "simulate/engine/engine.h"
#include "simulate/engine/event_queue.h"
#include "simulate/engine/host.h"
#include "simulate/engine/slowdown.h"
#include "simulate/graph/dag.h"

/** Report that memory ran out in the engine.  Returns MS_E_NOMEM. */
static inline ms_status ms_engine_no_memory(ms_diag *diag) {
    ms_diag_error(diag, "out of memory while running the operation graph");
    return MS_E_NOMEM;
}

/** One transfer that happened. */
typedef struct ms_flow_record {
    double start_s;
    double end_s;
    int32_t flow;  /**< index into ms_dag_network.flows */
    int32_t owner; /**< while it runs: the stream whose operation it belongs to; -1: its end was
                      known from the start */
} ms_flow_record;

/** Every transfer of a run, in the order they were started. */
typedef struct ms_account {
    ms_flow_record *records; /**< [capacity] */
    int64_t count;
    int64_t capacity; /**< transfers over links in the whole graph, known before the run */
} ms_account;

/** The start of an operation so far. The fields are in one record, because each release reads them
 * all, of operations all over the graph. */
typedef struct ms_start {
    double time_s;   /**< latest release so far [s] */
    int32_t cause;   /**< the operation of that release, -1: none so far */
    int32_t waiting; /**< dependencies and stream predecessors that have not released it yet */
} ms_start;

/** The operations that depend on each operation: the inverse of ms_dag.deps. The arrays have an
 * arena of their own, which is released once all operations are settled. Successors on streams are
 * in ms_dag.member_next. */
typedef struct ms_successors {
    ms_arena arena;
    int32_t *first; /**< [op_count + 1] dependents of operation i: of[first[i]] to before
                       of[first[i + 1]] */
    int32_t *of;    /**< [dep_count] operations */
} ms_successors;

/** Small delays of all operations, to test whether dates are stable. */
typedef struct ms_perturbation {
    double share;   /**< maximum delay of an operation's start [share of its time]; 0: no delays */
    double until_s; /**< operations that would start later are not run */
} ms_perturbation;

/** How far a replay may go on by itself: events at or before limit_s or before quiet_s. */
typedef struct ms_horizon {
    double limit_s; /**< INFINITY, or the clock of the engine of flows where the end of a flow could
                       still change later events */
    double quiet_s; /**< date before which no contended flow starts or ends; 0: not known */
} ms_horizon;

/** A replay of one graph. Arrays in the scratch arena; the timeline's in the caller's. */
typedef struct ms_replay {
    const ms_dag *dag;
    bool is_alone;        /**< fidelity analytic: every transfer has its links to itself */
    ms_timeline timeline; /**< during the replay end_s is set, < 0: not settled; start_s and cause
                             are set afterwards (ms_replay_write_starts) */
    ms_account account;
    double *work_time_s;     /**< [work_count] time with no other work on the links */
    double *work_transfer_s; /**< [work_count] the same without the last latency */
    ms_start *starts;        /**< [op_count] */
    ms_successors next;
    ms_event_queue queue; /**< future starts; with slow-down also ends of computations and of
                             communications that slow them */
    ms_host host;         /**< host clocks, which delay starts that are not launched yet */
    ms_perturbation perturbation; /**< all zero except in a run that tests another run */
    ms_horizon horizon;
    double now_s;                    /**< time of the last event taken from the queue [s] */
    bool has_slowdown;               /**< communication slows computations down */
    ms_slowdown slowdown;            /**< used only if has_slowdown */
    int32_t settled;                 /**< number of operations whose end is known */
    const ms_contention *contention; /**< contended flows and routes; NULL: not found yet */
    /** [work_count] works whose operations the engine of flows runs; NULL: none. */
    const bool *is_contended;
    /** Called for each operation of a contended work when its start has come. */
    void (*begin)(void *context, ms_event start);
    void *context; /**< first argument of `begin` */
} ms_replay;

/** Prepare a replay: successors, times of works, room for transfers.
 *  scratch: for the replay; timeline: for the results.  Returns MS_OK; MS_E_NOMEM (reported). */
ms_status ms_replay_init(ms_replay *replay, const ms_dag *dag, ms_fidelity fidelity,
                         ms_arena *scratch, ms_arena *timeline, ms_diag *diag);

/** Prepare another replay of the graph that `other` has replayed. It borrows the successors, times
 * of works and contention of `other`, which must not be released before it ends. scratch: for the
 * replay and its results.  Returns MS_OK; MS_E_NOMEM (reported). */
ms_status ms_replay_init_again(ms_replay *replay, const ms_replay *other, ms_arena *scratch,
                               ms_diag *diag);

/** Queue the operations that wait for nothing. */
void ms_replay_start(ms_replay *replay);

/** Size of all arrays of a graph's timeline together [B]. */
size_t ms_timeline_arrays_B(const ms_dag *dag);
/** Point the arrays of a timeline at consecutive parts of one block, of which start_s is the first.
 * block: ms_timeline_arrays_B bytes, borrowed. */
void ms_timeline_set_arrays(ms_timeline *timeline, const ms_dag *dag, void *block);

/** Handle all events in the queue up to the horizon, including those that they add. */
void ms_replay_drain(ms_replay *replay);

/** Settle `op`: set its end to `end_s` [s] and release the operations that wait for it; a pipelined
 * work releases its streams at `transfer_s` [s] already. With slow-down the end is an event of its
 * own, which releases them when its time comes. The caller calls ms_replay_drain afterwards. */
void ms_replay_settle(ms_replay *replay, int32_t op, double transfer_s, double end_s);

/** After the replay: copy starts and causes to the timeline. */
void ms_replay_write_starts(ms_replay *replay);

/** Free the successors, the only memory that is not in an arena of the caller. May be called after
 * a failure, and twice. */
void ms_replay_release(ms_replay *replay);

/** After the replay: returns MS_OK if every operation is settled, else MS_E_BUG, reported with a
 * cycle and up to ten operations that wait.  scratch: for the search. */
ms_status ms_replay_check_done(const ms_replay *replay, ms_arena *scratch, ms_diag *diag);

/** Fill link_bytes, link_busy_s and link_peak of the replay's timeline from its transfers.
 *  Returns MS_OK; MS_E_NOMEM (reported).  O(t log t) for t transfers, plus their crossings. */
ms_status ms_account_links(ms_replay *replay, ms_arena *scratch, ms_diag *diag);

/** Add the communications inside fused passes to link_bytes, link_busy_s and link_peak, after
 * ms_account_links. When they run is not compared with other transfers: busy times are added up, at
 * most to the makespan, and peaks are those of one phase alone.  Returns MS_OK; MS_E_NOMEM
 * (reported).  O(operations + crossings of the parts). */
ms_status ms_account_fused_passes(ms_replay *replay, ms_arena *scratch, ms_diag *diag);

/** Set replay->contention unless it is set.  Returns as ms_contention_find. */
ms_status ms_engine_find_contention(ms_replay *replay, ms_arena *scratch, ms_diag *diag);

/** The engine of flows: run a prepared replay with contended transfers as flows.
 *  solver: which solver shares links.  Returns MS_OK; MS_E_NOMEM, MS_E_BUG, MS_E_IO, MS_E_RANGE
 * (all reported). */
ms_status ms_engine_run_flows(ms_replay *replay, ms_solver solver, ms_arena *scratch,
                              ms_diag *diag);

#endif
