/*
 * What both engines share: the replay of the operation graph, and the account of the links.
 *
 * What happens leaves a queue in the order of time. Once the ends of all its dependencies are
 * known, an operation's start is known, no earlier than the hosts of its ranks have launched it
 * (host.h), and waits in the queue; when its time comes, its end is
 * known as well, exactly, with two exceptions. Where a transfer has to share links with others, the
 * operation is handed to the engine, which settles it later. Where communication slows computations
 * down (slowdown.h), a computation's end waits in the queue and moves with what communicates beside
 * it, and so does the end of each communication that slows.
 */
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

/** One transfer that happened. */
typedef struct ms_flow_record {
    double start_s;
    double end_s;
    int32_t flow;  /**< index into ms_dag_network.flows */
    int32_t owner; /**< while it runs: whose it is, the engine's own number */
} ms_flow_record;

/** Every transfer of a run, in the order they were started. */
typedef struct ms_account {
    ms_flow_record *records; /**< [capacity] */
    int64_t count;
    int64_t capacity; /**< transfers over links in the whole graph, known before the run */
} ms_account;

/** What is known of an operation's start. Side by side, for both are asked for at every end before
 * it, all over the graph. */
typedef struct ms_start {
    double time_s;   /**< latest release so far */
    int32_t cause;   /**< the operation that gave it, -1: none so far */
    int32_t waiting; /**< dependencies and stream predecessors not settled yet */
} ms_start;

/** The operations that depend on each operation: ms_dag.deps the other way round. They lie in an
 * arena of their own, which is released once all operations are settled. The next operation of a
 * stream is in ms_dag.member_next. */
typedef struct ms_successors {
    ms_arena arena;
    int32_t *first; /**< [op_count + 1] those of op i: of[first[i]] .. */
    int32_t *of;    /**< operations */
} ms_successors;

/** Small delays of all operations, to test whether dates are stable. */
typedef struct ms_perturbation {
    double share;   /**< maximum delay of an operation's start [share of its time]; 0: no delays */
    double until_s; /**< operations that would start later are not run */
} ms_perturbation;

/** How far a replay may go on by itself. */
typedef struct ms_horizon {
    double limit_s; /**< nothing later may happen yet: INFINITY, or the engine's clock */
    double quiet_s; /**< but for what comes before this date; 0: all waits */
} ms_horizon;

/** A replay of one graph. Arrays in the scratch arena; the timeline's in the caller's. */
typedef struct ms_replay {
    const ms_dag *dag;
    bool is_alone;        /**< fidelity analytic: every transfer has its links to itself */
    ms_timeline timeline; /**< while it runs: end_s, < 0: not known; start_s and cause at the end */
    ms_account account;
    double *work_time_s;     /**< [work_count] time with no other work on the links */
    double *work_transfer_s; /**< [work_count] the same without the last latency */
    ms_start *starts;        /**< [op_count] */
    ms_successors next;
    ms_event_queue queue;         /**< starts, and ends that are no known dates, that lie ahead */
    ms_host host;                 /**< which holds starts back that are not launched yet */
    ms_perturbation perturbation; /**< all zero but in a test of another run */
    ms_horizon horizon;
    double now_s;                    /**< time of the last event that was taken from the queue */
    bool has_slowdown;               /**< communication slows computations down */
    ms_slowdown slowdown;            /**< if so */
    int32_t settled;                 /**< operations whose end is known */
    const ms_contention *contention; /**< what flows on links that can bind; NULL: not found yet */
    /** Works that the engine must carry out; [work_count], NULL: none. */
    const bool *is_contended;
    /** Called for each operation of such a work once its start is known. */
    void (*begin)(void *context, ms_event start);
    void *context;
} ms_replay;

/** Prepare a replay: successors, times of works, room for transfers.
 *  scratch: for the replay; timeline: for the results.  Returns MS_OK; MS_E_NOMEM (reported). */
ms_status ms_replay_init(ms_replay *replay, const ms_dag *dag, ms_fidelity fidelity,
                         ms_arena *scratch, ms_arena *timeline, ms_diag *diag);

/** Prepare another replay of the graph that `other` has replayed, which borrows its successors,
 * times of works and contention: they have to be there until this one is done.
 *  scratch: for the replay and its results.  Returns MS_OK; MS_E_NOMEM (reported). */
ms_status ms_replay_init_again(ms_replay *replay, const ms_replay *other, ms_arena *scratch,
                               ms_diag *diag);

/** Queue the operations that wait for nothing. */
void ms_replay_start(ms_replay *replay);

/** Bytes of all arrays of a graph's timeline [B]. */
size_t ms_timeline_arrays_B(const ms_dag *dag);
/** Set the arrays of a timeline to the parts of one block, which begins with start_s.  block:
 * [ms_timeline_arrays_B], borrowed. */
void ms_timeline_set_arrays(ms_timeline *timeline, const ms_dag *dag, void *block);

/** Let happen what the queue holds until its horizon, until only that is left that needs the
 * engine. */
void ms_replay_drain(ms_replay *replay);

/** Settle `op`: it frees its stream at `transfer_s` and ends at `end_s`.  Queues what that
 * releases, or its end, which then releases it; call ms_replay_drain after it. */
void ms_replay_settle(ms_replay *replay, int32_t op, double transfer_s, double end_s);

/** After the replay: write starts and causes to the timeline. */
void ms_replay_tell_starts(ms_replay *replay);

/** Free what is in no arena of the caller, the successors; also after a failure, and again. */
void ms_replay_release(ms_replay *replay);

/** After the replay: MS_OK if every operation is settled, else MS_E_BUG, reported with a cycle and
 * up to ten operations that wait.  scratch: for the search. */
ms_status ms_replay_check_done(const ms_replay *replay, ms_arena *scratch, ms_diag *diag);

/** Fill link_bytes, link_busy_s and link_peak of the replay's timeline from its transfers.
 *  Returns MS_OK; MS_E_NOMEM (reported).  O(t log t) for t transfers, plus their crossings. */
ms_status ms_account_links(ms_replay *replay, ms_arena *scratch, ms_diag *diag);

/** Add what pieces hide to link_bytes, link_busy_s and link_peak, after ms_account_links. What one
 * piece has on a link counts beside what others have on it at the same time.  Returns MS_OK;
 * MS_E_NOMEM (reported).  O(operations + crossings of the parts). */
ms_status ms_account_pieces(ms_replay *replay, ms_arena *scratch, ms_diag *diag);

/** Find which links can bind, where the replay does not have that yet.  Returns as
 * ms_contention_find. */
ms_status ms_engine_find_contention(ms_replay *replay, ms_arena *scratch, ms_diag *diag);

/** The SimGrid engine: run a prepared replay with contended transfers as flows.
 *  solver: what they share links by. */
ms_status ms_engine_run_flows(ms_replay *replay, ms_solver solver, ms_arena *scratch,
                              ms_diag *diag);

#endif
