/**
 * @file
 * Engines: run an operation graph, tell when every operation started and ended and which dependency
 * released it.
 *
 * Two engines with one contract: the closed form (no contention: every communication takes its time
 * alone; the oracle of the tests, and fidelity `analytic`) and SimGrid (flows share links max-min
 * fairly; fidelities `flow` and `step`). For tests, the environment variable MESHSIM_ENGINE=simgrid
 * has SimGrid find every date of a flow run, also those that are known without it. With
 * MESHSIM_ENGINE=maxmin flows share links by max-min fairness of our own, for large runs without
 * folding: the same dates but for rounding.
 */
#ifndef MESHSIM_ENGINE_H
#define MESHSIM_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#include "meshsim/arena.h"
#include "meshsim/dag.h"
#include "meshsim/decls.h"
#include "meshsim/diag.h"
#include "meshsim/event.h"
#include "meshsim/status.h"

MS_BEGIN_DECLS

/** How far apart instants about `time_s` may be and count as one: rounding, and SimGrid's clock
 * [s]. */
static inline double ms_together_s(double time_s) {
    return 1e-12 + 1e-12 * time_s;
}

/** What happened. All arrays in the arena given to the engine. */
typedef struct ms_timeline {
    int32_t op_count;
    double *start_s;   /**< [op_count] */
    double *end_s;     /**< [op_count] */
    int32_t *cause;    /**< [op_count] dependency (or operation before it on a stream) that released
                          it; -1: none. Of several that released it together (ms_together_s) the one
                          of the lowest role (ms_dag_role), then the one that began first, then the
                          lowest index. */
    double makespan_s; /**< latest end */
    double *link_bytes;  /**< [link_count] sum over flows of bytes * weight, counted as each flow
                            ends [B] */
    double *link_busy_s; /**< [link_count] time with at least one flow on the link [s] */
    double *link_peak;  /**< [link_count] largest share of the capacity in use at once, each flow at
                           its mean rate, 0..1 */
    int64_t flows;      /**< flows that were simulated as flows */
    int64_t timers;     /**< computations, latencies and private transfers */
    int32_t flows_peak; /**< flows at once, at most */
} ms_timeline;

/** Run a graph.
 *  solver: of transfers that share links; none do in MS_FIDELITY_ANALYTIC.  *timeline_out: in
 * `arena`.  Returns MS_OK; MS_E_BUG when operations wait for each other (reported with a cycle and
 * up to ten waiting operations) or SimGrid fails; MS_E_NOMEM; MS_E_IO (reported) where SimGrid is
 * needed and cannot be loaded. Where memory runs out within SimGrid, which does not survive that,
 * the process reports it and ends at once with exit code 4.  At most one run on SimGrid, in another
 * fidelity than MS_FIDELITY_ANALYTIC, per process: its clock never resets (a second is MS_E_RANGE,
 * reported); MS_E_USAGE (reported) if MESHSIM_ENGINE holds another word.
 */
ms_status ms_engine_run(const ms_dag *dag, ms_fidelity fidelity, ms_solver solver, ms_arena *arena,
                        ms_diag *diag, ms_timeline *timeline_out);

/** Load SimGrid now, where that is left to the first run whose transfers share links: processes
 * forked from this one then need not do it each. */
void ms_engine_load_simgrid(void);

/** Version of the SimGrid library this program was built with, such as "3.32"; static storage. */
const char *ms_engine_simgrid_version(void);

MS_END_DECLS

#endif
