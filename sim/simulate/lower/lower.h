/**
 * @file
 * Lowering: a schedule, the costs of its passes, a mesh and a platform become one operation graph.
 *
 * Folded, one rank is simulated of all that play the same role (sim/simulate/lower/folding.md);
 * else every rank is. An operation is added after all that it waits for.
 */
#ifndef MESHSIM_LOWER_H
#define MESHSIM_LOWER_H

#include <stdbool.h>

#include "base/diag.h"
#include "base/status.h"
#include "cluster/platform/platform.h"
#include "collective/collective.h"
#include "job/spec.h"
#include "simulate/graph/dag.h"

/** Maximum number of operations of a graph. */
#define MS_LOWER_OP_LIMIT 40000000.0

/** Maximum number of operations of an exact fold; beyond it, one rank stands for all ranks of its
 * pipeline rank. */
#define MS_FOLD_OP_LIMIT 8000000.0

/** A note warns that SimGrid may take long if at least so many ranks are simulated, with at least
 * MS_FOLD_SLOW_OPS operations. The cost of SimGrid grows with the number of concurrent flows, about
 * one for each rank. Measured on 4,608 ranks of a torus that all differ: 390,000 operations 9.3 s
 * of CPU time, 0.9 s with meshsim's own solver; 780,000 operations 24 s, 1.8 s. */
enum { MS_FOLD_SLOW_RANKS = 1024 };

/** Number of operations for the note of MS_FOLD_SLOW_RANKS. */
#define MS_FOLD_SLOW_OPS 250000.0

/** How the ranks are folded. */
typedef struct ms_lower_fold {
    bool is_exact;   /**< the figures are those of a simulation of every rank */
    bool is_chaotic; /**< rounding errors of the folded run grow until they change figures; with
                        is_exact: every rank was simulated because of that */
    int classes; /**< number of classes of ranks that behave alike, on all pipeline ranks; without
                    folding, number of ranks */
} ms_lower_fold;

/** Lower a job.
 *  dag_out: initialised here; the caller releases it with ms_dag_release, also after a failure.
 *  *fold_out: how ranks are folded. In a fold that is not exact, the slowest group of a pipeline
 * rank stands for the others; a fold that became inexact because of its size is warned of. Returns
 * MS_OK; MS_E_INPUT (reported) for a schedule that waits for itself (with the waiting passes), too
 * many operations, ranks of different speeds in an inexact fold, or a collective that no algorithm
 * lays out; MS_E_NOMEM (reported). O(operations + communications * ranks * links of a route). */
ms_status ms_lower(const ms_job *job, ms_diag *diag, ms_dag *dag_out, ms_lower_fold *fold_out);

/** A row of collectives of one kind. */
typedef struct ms_collective_row {
    ms_coll_kind kind;           /**< p2p, all-reduce, reduce-scatter or all-gather */
    ms_coll_algorithm algorithm; /**< MS_ALGORITHM_AUTO, or that of a row of the kind */
    ms_protocol protocol;        /**< MS_PROTOCOL_AUTO; others need a library */
    int members;                 /**< on GPUs 0..members-1; 2 for p2p */
    const double *sizes_B;       /**< [count] full buffers */
    int count;
    bool is_stepped; /**< every step by itself: fidelity `step` */
} ms_collective_row;

/** Lower a row of collectives, one after the other on one communicator, on an otherwise idle
 * platform. dag_out: operation i is the collective of sizes_B[i]; initialised here, released by the
 * caller, also after a failure. Returns MS_OK; MS_E_INPUT for a collective that no algorithm lays
 * out; MS_E_NOMEM (both reported). */
ms_status ms_lower_collectives(const ms_platform *platform, const ms_collective_row *row,
                               ms_diag *diag, ms_dag *dag_out);

#endif
