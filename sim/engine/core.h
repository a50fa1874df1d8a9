/**
 * @file
 * What both engines share: the walk over the operation graph, and the account of the links.
 *
 * The walk is one idea. Once the ends of all its dependencies are known, an operation's start is
 * known; and unless a transfer of it has to share links with others, its end is known too, at the
 * same moment and exactly. So a walk settles whole stretches of the graph by plain arithmetic; only
 * operations with contended transfers are handed to the engine, which settles them later.
 */
#ifndef MESHSIM_ENGINE_CORE_H
#define MESHSIM_ENGINE_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "meshsim/arena.h"
#include "meshsim/dag.h"
#include "meshsim/diag.h"
#include "meshsim/engine.h"
#include "meshsim/status.h"

/** One transfer that happened. */
typedef struct ms_flow_record {
    double start_s;
    double end_s;
    int32_t flow;   /**< index into ms_dag.flows */
    int32_t stream; /**< while it runs: the stream whose operation it belongs to */
} ms_flow_record;

/** Every transfer of a run, in the order they were started. */
typedef struct ms_account {
    ms_flow_record *records; /**< [capacity] */
    int64_t count;
    int64_t capacity; /**< transfers over links in the whole graph, known before the run */
} ms_account;

/** A run of one graph. Arrays in the scratch arena; the timeline's in the caller's. */
typedef struct ms_walk {
    const ms_dag *dag;
    bool is_alone;        /**< fidelity analytic: every transfer has its links to itself */
    ms_timeline timeline; /**< while it runs: start_s and cause as far as known, end_s < 0 if not */
    ms_account account;
    double *work_time_s;     /**< [work_count] time with no other work on the links */
    double *work_transfer_s; /**< [work_count] the same without the last latency */
    int32_t *waiting;        /**< [op_count] dependencies and stream predecessors not settled yet */
    int32_t *next_first;     /**< [op_count + 1] successors of op i: next[next_first[i]] .. */
    int32_t *next;           /**< operation that waits for the end, or ~operation on the stream */
    int32_t *ready;          /**< [op_count] stack of operations whose start is known */
    int32_t ready_count;
    int32_t settled; /**< operations whose end is known */
    /** Works whose end the engine must find out; [work_count], NULL: none. */
    const bool *is_contended;
    /** Called for each operation of such a work once its start is known. */
    void (*begin)(void *context, int32_t op);
    void *context;
} ms_walk;

/** Prepare a walk: successors, times of works, room for transfers.
 *  scratch: for the walk; timeline: for the results.  Returns MS_OK; MS_E_NOMEM (reported). */
ms_status ms_walk_init(ms_walk *walk, const ms_dag *dag, ms_fidelity fidelity, ms_arena *scratch,
                       ms_arena *timeline, ms_diag *diag);

/** Push the operations that wait for nothing. */
void ms_walk_start(ms_walk *walk);

/** Settle every operation that can be, until only those wait that need the engine. */
void ms_walk_drain(ms_walk *walk);

/** Settle `op`: it frees its stream at `transfer_s` and ends at `end_s`.  Pushes what that
 * releases; call ms_walk_drain after it. */
void ms_walk_settle(ms_walk *walk, int32_t op, double transfer_s, double end_s);

/** After the walk: MS_OK if every operation is settled, else MS_E_BUG, reported with a cycle and up
 * to ten operations that wait.  scratch: for the search. */
ms_status ms_walk_check_done(const ms_walk *walk, ms_arena *scratch, ms_diag *diag);

/** Fill link_bytes, link_busy_s and link_peak of the walk's timeline from its transfers.
 *  Returns MS_OK; MS_E_NOMEM (reported).  O(t log t) for t transfers, plus their crossings. */
ms_status ms_account_links(ms_walk *walk, ms_arena *scratch, ms_diag *diag);

/** Report that memory ran out.  Returns MS_E_NOMEM. */
ms_status ms_engine_no_memory(ms_diag *diag);

/** The SimGrid engine: run a prepared walk with contended transfers as flows. */
ms_status ms_engine_run_flows(ms_walk *walk, ms_arena *scratch, ms_diag *diag);

#endif
