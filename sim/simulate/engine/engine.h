/**
 * @file
 * Engines: run an operation graph, tell when every operation started and ended and which dependency
 * released it.
 *
 * Two engines with one contract: the closed form (no contention: every communication takes its time
 * alone; the oracle of the tests, and fidelity `analytic`) and SimGrid (flows share links max-min
 * fairly; fidelities `flow` and `step`). With MS_SOLVER_MAXMIN meshsim's own max-min solver shares
 * the links in place of SimGrid, for large runs without folding; both give the same dates except
 * for rounding.
 */
#ifndef MESHSIM_ENGINE_H
#define MESHSIM_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/event.h"
#include "base/status.h"
#include "simulate/graph/dag.h"

/** How far apart instants about `time_s` may be and count as one: rounding, and SimGrid's clock
 * [s]. */
static inline double ms_together_s(double time_s) {
    return 1e-12 + 1e-12 * time_s;
}

enum { MS_STRETCHES_MOST = 64 }; /**< one of each step, of which a run has no more */

/** A stretch of a timeline that happens again and again, exactly as it did, before what comes
 * behind it (sim/simulate/run/fast_forward.md). Dates are told without the other times. */
typedef struct ms_steady_stretch {
    double from_s;
    double period_s;
    int32_t mbs;   /**< by which `mb` of an operation grows in a period */
    int32_t times; /**< beside the one in the timeline, >= 1 */
} ms_steady_stretch;

/** What of a timeline is repeated: a stretch of each step, in their order, or nothing. */
typedef struct ms_steady {
    int32_t count;    /**< of stretches; 0: nothing is repeated */
    int32_t seen_mbs; /**< count 0: of a period that was found, but is no divisor of what is left
                         out; 0: none was found */
    ms_steady_stretch of_step[MS_STRETCHES_MOST];
} ms_steady;

/** Whether an instant lies in a stretch. */
static inline bool ms_steady_stretch_has(const ms_steady_stretch *stretch, double time_s) {
    return time_s >= stretch->from_s && time_s < stretch->from_s + stretch->period_s;
}

/** Whether an instant of the timeline lies behind a stretch, and so behind all times of it. */
static inline bool ms_steady_stretch_is_before(const ms_steady_stretch *stretch, double time_s) {
    return time_s >= stretch->from_s + stretch->period_s;
}

/** How often what begins at an instant of the timeline happens. */
static inline double ms_steady_count(const ms_steady *repeat, double start_s) {
    double count = 1.0;
    for (int32_t i = 0; i < repeat->count; i++) {
        const ms_steady_stretch *stretch = &repeat->of_step[i];
        count = ms_steady_stretch_has(stretch, start_s) ? 1.0 + stretch->times : count;
    }
    return count;
}

/** Time between two instants of the timeline, all other times of the stretches included [s]. */
static inline double ms_steady_length_s(const ms_steady *repeat, double from_s, double to_s) {
    double length_s = to_s - from_s;
    for (int32_t i = 0; i < repeat->count; i++) {
        const ms_steady_stretch *stretch = &repeat->of_step[i];
        double end_s = stretch->from_s + stretch->period_s;
        double first_s = from_s > stretch->from_s ? from_s : stretch->from_s;
        double last_s = to_s < end_s ? to_s : end_s;
        length_s += last_s > first_s ? stretch->times * (last_s - first_s) : 0.0;
    }
    return length_s;
}

/** Time by which an instant is later than in the timeline, for all times of the stretches that it
 * lies behind [s]. */
static inline double ms_steady_later_s(const ms_steady *repeat, double time_s) {
    double later_s = 0.0;
    for (int32_t i = 0; i < repeat->count; i++) {
        const ms_steady_stretch *stretch = &repeat->of_step[i];
        later_s +=
            ms_steady_stretch_is_before(stretch, time_s) ? stretch->times * stretch->period_s : 0.0;
    }
    return later_s;
}

/** When an instant of the timeline is, behind all times of the stretches that it lies behind [s].
 */
static inline double ms_steady_date_s(const ms_steady *repeat, double time_s) {
    return time_s + ms_steady_later_s(repeat, time_s);
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
    ms_steady steady;  /**< of a graph that stands for more: where its middles are. Without any: the
                          timeline is that of the graph alone */
    double *link_bytes;  /**< [link_count] bytes of the messages across it: sum over flows of
                            bytes / slowness * weight, counted as each flow ends [B] */
    double *link_busy_s; /**< [link_count] time with at least one flow on the link [s] */
    double *link_peak;  /**< [link_count] largest share of the capacity in use at once, each flow at
                           its mean rate, slowness included, 0..1 */
    bool has_shared;    /**< transfers have changed each other's rates */
    int64_t flows;      /**< flows that were simulated as flows */
    int64_t timers;     /**< computations, latencies and private transfers */
    int64_t ops_run;    /**< cost of finding this timeline: operations of this run, those of the
                           second run that tests it, and a sixteenth of those that the search for a
                           period looks at */
    int32_t flows_peak; /**< flows at once, at most */
} ms_timeline;

/** How often each work is carried out, also inside pieces: operations, and of a piece only the
 * share of its pipeline rank's ranks that each stands for, since the works inside stand for all of
 * them. What is repeated counts each time. timeline: with its starts.  counts_out: [work_count]
 * zeros.  O(members + parts). */
void ms_timeline_count_works(const ms_dag *dag, const ms_timeline *timeline, double *counts_out);

/** Run a graph.
 * A graph in which SimGrid may have to share links runs in a child process, so that its dates do
 * not depend on what this process ran before. solver: what shares the links among transfers; not
 * used at MS_FIDELITY_ANALYTIC, where transfers share none.  *timeline_out: in `arena`.  Returns
 * MS_OK; MS_E_BUG when operations wait for each other (reported with a cycle and up to ten waiting
 * operations) or SimGrid fails; MS_E_NOMEM; MS_E_IO (reported) where SimGrid cannot be loaded;
 * MS_E_INTERRUPTED where the child process was interrupted. */
ms_status ms_engine_run(const ms_dag *dag, ms_fidelity fidelity, ms_solver solver, ms_arena *arena,
                        ms_diag *diag, ms_timeline *timeline_out);

/** Test whether the dates of a run are stable: the graph is run again with meshsim's own max-min
 * solver, each operation delayed by next to nothing. Where transfers change each other's rates,
 * such delays may grow until they show in figures. Then the rounding of dates may grow likewise,
 * and it differs between two ways to simulate the same job.  timeline: of the run, in another
 * fidelity than MS_FIDELITY_ANALYTIC, nothing repeated.  *is_stable_out: whether no end moved by
 * more than rounding may account for.  Returns MS_OK; MS_E_NOMEM (reported).  Cost: that of a run.
 */
ms_status ms_engine_test(const ms_dag *dag, const ms_timeline *timeline, ms_diag *diag,
                         bool *is_stable_out);

/** Load SimGrid now, where that is left to the first run whose transfers share links: processes
 * forked from this one then need not do it each. */
void ms_engine_load_simgrid(void);

/** Version of the SimGrid library this program was built with, such as "3.32"; static storage. */
const char *ms_engine_simgrid_version(void);

#endif
