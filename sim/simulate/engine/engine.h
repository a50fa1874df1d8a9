/**
 * @file
 * Engines: run an operation graph, and find when every operation starts and ends and which
 * dependency releases it.
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

/** How far apart two instants near `time_s` may be and still count as simultaneous [s]: this covers
 * rounding and the resolution of SimGrid's clock. */
static inline double ms_together_s(double time_s) {
    return 1e-12 + 1e-12 * time_s;
}

/** Maximum number of repeated periods of a timeline, one for each optimizer step. A run of more
 * steps is not shortened.
 */
enum { MS_REPEATED_PERIODS_MAX = 64 };

/** A repeated period: a part of a timeline that stands for several repetitions of itself
 * (sim/simulate/run/fast_forward.md). The timeline contains it once, and its dates are those
 * without the other repetitions, which follow the repeated period and delay everything after it. */
typedef struct ms_repeated_period {
    double from_s;   /**< its beginning in the timeline [s] */
    double period_s; /**< its length [s] */
    int32_t mbs;     /**< microbatches in a period: difference of `mb` between an operation and its
                        next occurrence */
    int32_t times;   /**< repetitions beside the one in the timeline, >= 1 */
} ms_repeated_period;

/** The repeated periods of a timeline: either one for each optimizer step, in the order of steps,
 * or none at all. */
typedef struct ms_steady {
    int32_t count;    /**< number of repeated periods; 0: nothing is repeated */
    int32_t seen_mbs; /**< if count is 0: microbatches of a period that was found, but does not
                         divide the microbatches left out; 0: no period was found */
    ms_repeated_period of_step[MS_REPEATED_PERIODS_MAX];
} ms_steady;

/** Whether an instant of the timeline lies in a repeated period. */
static inline bool ms_repeated_period_has(const ms_repeated_period *repeated, double time_s) {
    return time_s >= repeated->from_s && time_s < repeated->from_s + repeated->period_s;
}

/** Whether an instant of the timeline lies after a repeated period, and so after all its
 * repetitions. */
static inline bool ms_repeated_period_is_before(const ms_repeated_period *repeated, double time_s) {
    return time_s >= repeated->from_s + repeated->period_s;
}

/** How often an operation that starts at an instant of the timeline happens: 1, or 1 + the
 * repetitions of the repeated period that the instant lies in. */
static inline double ms_steady_count(const ms_steady *repeat, double start_s) {
    double count = 1.0;
    for (int32_t i = 0; i < repeat->count; i++) {
        const ms_repeated_period *repeated = &repeat->of_step[i];
        count = ms_repeated_period_has(repeated, start_s) ? 1.0 + repeated->times : count;
    }
    return count;
}

/** Time between two instants of the timeline, with all repetitions of the parts of repeated periods
 * between them [s]. */
static inline double ms_steady_length_s(const ms_steady *repeat, double from_s, double to_s) {
    double length_s = to_s - from_s;
    for (int32_t i = 0; i < repeat->count; i++) {
        const ms_repeated_period *repeated = &repeat->of_step[i];
        double end_s = repeated->from_s + repeated->period_s;
        double first_s = from_s > repeated->from_s ? from_s : repeated->from_s;
        double last_s = to_s < end_s ? to_s : end_s;
        length_s += last_s > first_s ? repeated->times * (last_s - first_s) : 0.0;
    }
    return length_s;
}

/** Time of all repetitions of the repeated periods that lie before an instant of the timeline [s].
 * In the whole run the instant is later by this time. */
static inline double ms_steady_repeated_before_s(const ms_steady *repeat, double time_s) {
    double later_s = 0.0;
    for (int32_t i = 0; i < repeat->count; i++) {
        const ms_repeated_period *repeated = &repeat->of_step[i];
        later_s += ms_repeated_period_is_before(repeated, time_s)
                       ? repeated->times * repeated->period_s
                       : 0.0;
    }
    return later_s;
}

/** The date that an instant of the timeline has in the whole run, which contains all repetitions of
 * the repeated periods before the instant [s]. */
static inline double ms_steady_date_s(const ms_steady *repeat, double time_s) {
    return time_s + ms_steady_repeated_before_s(repeat, time_s);
}

/** The result of a run: when every operation ran, and how the links were used. All arrays in the
 * arena given to the engine. */
typedef struct ms_timeline {
    int32_t op_count;
    double *start_s;   /**< [op_count] [s] */
    double *end_s;     /**< [op_count] [s] */
    int32_t *cause;    /**< [op_count] dependency (or operation before it on a stream) that released
                          it last; -1: none. Of several that released it together (ms_together_s)
                          the one of the lowest role (ms_dag_role), then the one that began first,
                          then the lowest index. */
    double makespan_s; /**< latest end [s] */
    ms_steady steady;  /**< of a shortened job (ms_dag.repeat): its repeated periods, to which
                          figures add the repetitions left out; if it has none, nothing is added */
    double *link_bytes;  /**< [link_count] bytes of the messages across it: sum over flows of
                            bytes / slowness * weight, counted as each flow ends [B] */
    double *link_busy_s; /**< [link_count] time with at least one flow on the link [s] */
    double *link_peak;  /**< [link_count] largest share of the capacity in use at once, each flow at
                           its mean rate, slowness included, 0..1 */
    bool has_shared;    /**< transfers have changed each other's rates */
    int64_t flows;      /**< number of contended flows, which were simulated as flows */
    int64_t timers;     /**< number of computations, latencies and transfers of known duration */
    int64_t ops_run;    /**< cost of finding this timeline, in operations: those of this run, those
                           of the second run that tests it, and a sixteenth of an operation for
                           each one that the search for a period looks at */
    int32_t flows_peak; /**< largest number of contended flows at once */
} ms_timeline;

/** Count how often each work is carried out, with repetitions of repeated periods, both as
 * operations and inside fused passes. An operation that is a fused pass counts as the share of its
 * pipeline rank's ranks that its members stand for, since the works inside a fused pass stand for
 * the groups of all these ranks. timeline: with its starts.  counts_out: [work_count] zeros.
 * O(members + parts). */
void ms_timeline_count_works(const ms_dag *dag, const ms_timeline *timeline, double *counts_out);

/** Run a graph.
 * A graph in which SimGrid may have to share links runs in a child process, so that its dates do
 * not depend on earlier runs of this process. solver: which solver shares links among transfers;
 * not used at MS_FIDELITY_ANALYTIC, where transfers share none.  *timeline_out: in `arena`. Returns
 * MS_OK; MS_E_BUG when operations wait for each other (reported with a cycle and up to ten waiting
 * operations) or SimGrid fails; MS_E_NOMEM; MS_E_IO (reported) where SimGrid cannot be loaded;
 * MS_E_INTERRUPTED where the child process was interrupted. */
ms_status ms_engine_run(const ms_dag *dag, ms_fidelity fidelity, ms_solver solver, ms_arena *arena,
                        ms_diag *diag, ms_timeline *timeline_out);

/** Test whether the dates of a run are stable: the graph is run again with meshsim's own max-min
 * solver, each operation delayed by up to 1e-13 of its time. Where transfers change each other's
 * rates, such delays may grow until they show in figures. Then rounding errors may grow in the same
 * way, and these differ between the folded and the unfolded run of a job.  timeline: of the run, at
 * a fidelity other than MS_FIDELITY_ANALYTIC, without repeated periods.  *is_stable_out: whether no
 * end moved by more than 1e-9 of the makespan.  Returns MS_OK; MS_E_NOMEM (reported).  Cost: that
 * of a run. */
ms_status ms_engine_test(const ms_dag *dag, const ms_timeline *timeline, ms_diag *diag,
                         bool *is_stable_out);

/** Load SimGrid now rather than in the first run whose transfers share links, so that processes
 * forked from this one need not load it again. */
void ms_engine_load_simgrid(void);

/** Version of the SimGrid library this program was built with, such as "3.32"; static storage. */
const char *ms_engine_simgrid_version(void);

#endif
