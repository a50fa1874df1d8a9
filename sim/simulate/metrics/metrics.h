/**
 * @file
 * Metrics: where every second of every simulated rank went, what each axis communicated, how full
 * memory was.
 *
 * Definitions: for every rank, the categories of ms_time_category sum to the step time.
 *
 * With K > 1 optimizer steps, all figures are those of one step, the mean over steps 2 to K, which
 * do not depend on the start of the run. The step time is (end_K - end_1) / (K - 1), where the end
 * of a step is the last end of its operations on any rank. Times of a rank are taken over a window
 * of K - 1 step times up to the end of its own last computation (steps.md): with optimizer
 * post-validation ranks may be steps apart, and a window common to all ranks would count the idle
 * time of those that end early. Idle time between two steps of a rank belongs to the second.
 *
 * A gap of a rank's compute stream before operation X (or before the step's end) is split by
 * walking `cause` back from X through communication operations of any rank to the first computation
 * c. Until end(c) the gap is bubble if c belongs to another pipeline rank's stage, imbalance if to
 * the same; after end(c) each instant belongs to the axis of the communication on that chain at
 * that instant.
 */
#ifndef MESHSIM_METRICS_H
#define MESHSIM_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/event.h"
#include "base/status.h"
#include "estimate/rank_memory.h"
#include "job/spec.h"
#include "simulate/engine/engine.h"
#include "simulate/graph/dag.h"

/** Where a rank's time goes. */
typedef enum ms_time_category {
    MS_TIME_COMPUTE,
    MS_TIME_OPTIMIZER,
    MS_TIME_BUBBLE_WARMUP,
    MS_TIME_BUBBLE_STEADY,
    MS_TIME_BUBBLE_COOLDOWN,
    MS_TIME_IMBALANCE,
    MS_TIME_EXPOSED_TP,
    MS_TIME_EXPOSED_CP,
    MS_TIME_EXPOSED_EP,
    MS_TIME_EXPOSED_PP,
    MS_TIME_EXPOSED_DP,
    MS_TIME_OTHER, /**< parted by ms_other_part */
    MS_TIME_COUNT,
} ms_time_category;

/** What MS_TIME_OTHER consists of. */
typedef enum ms_other_part {
    MS_OTHER_HOST, /**< gaps without a cause on any GPU: the host launches too late */
    MS_OTHER_NORM, /**< waiting for the norm of the world's gradient (MS_AXIS_OTHER) */
    MS_OTHER_COUNT,
} ms_other_part;

/** Name of a category in results, a key of time_share ("compute", "exposed_tp"); static storage. */
const char *ms_time_category_name(ms_time_category category);
/** Name of a part of MS_TIME_OTHER in results, a key of other_parts ("host", "norm"); static
 * storage. */
const char *ms_other_part_name(ms_other_part part);
/** Category of exposed communication of an axis. */
ms_time_category ms_time_category_of_axis(ms_axis axis);

/** Communication of one axis on one rank (or a mean over ranks). busy_s = exposed_s + overlapped_s
 * + in_idle_s. */
typedef struct ms_axis_use {
    double bytes;     /**< sent by the rank [B] */
    double busy_s;    /**< length of the union of [start, end] of its operations */
    double exposed_s; /**< of busy_s: the compute stream is idle because of this axis; less than the
                         rank's MS_TIME_EXPOSED_* where it also waits for communication of others */
    double overlapped_s; /**< of busy_s: the compute stream runs */
    double in_idle_s;    /**< of busy_s: the compute stream is idle for another reason */
    double wait_s;       /**< from own arrival to last arrival, summed over operations */
} ms_axis_use;

/** Figures of one simulated rank, for one step. */
typedef struct ms_rank_metrics {
    double time_s[MS_TIME_COUNT];   /**< by category; sums to the step time */
    double other_s[MS_OTHER_COUNT]; /**< by part; sums to time_s[MS_TIME_OTHER] */
    double slowed_s; /**< of time_s[MS_TIME_COMPUTE]: added by communication beside computations */
    ms_axis_use axes[MS_AXIS_COUNT];
} ms_rank_metrics;

/** A row of the table of collectives: all communications for which the fields up to size_B are
 * equal, on all ranks. */
typedef struct ms_coll_row {
    ms_axis axis;
    ms_coll_kind kind;
    int tier;              /**< outermost tier crossed, -1 none */
    int algorithm;         /**< ms_coll_algorithm */
    int protocol;          /**< ms_protocol */
    int group_size;        /**< ranks of a group */
    double size_B;         /**< full buffer [B] */
    double count_per_rank; /**< number in a step, the mean over all ranks of the job */
    double ranks;          /**< number of ranks of the job that take part in some; of messages, that
                              send */
    double time_s;         /**< mean of end - start */
    double alone_s;        /**< mean time on idle links; time_s - alone_s is due to contention */
    double latency_s;      /**< of alone_s: what more bandwidth would not shorten */
    double wait_s;         /**< mean over members of last arrival - own arrival */
} ms_coll_row;

/** When an optimizer step ran: first start and last end of its operations on any rank [s]. */
typedef struct ms_step_times {
    double start_s;
    double end_s;
} ms_step_times;

/** Everything computed from one timeline, of one step where there are several. Arrays in the arena.
 */
typedef struct ms_metrics {
    double step_time_s;
    ms_step_times *steps; /**< [step_count] */
    int step_count;
    ms_rank_metrics *ranks;      /**< [rank_count] simulated ranks */
    double share[MS_TIME_COUNT]; /**< time of each category as a fraction of the step, mean over
                                    ranks (weighted by multiplicity) */
    double other_share[MS_OTHER_COUNT]; /**< likewise the parts of share[MS_TIME_OTHER] */
    double slowed_share; /**< likewise what communication added to share[MS_TIME_COMPUTE] */
    ms_axis_use axes[MS_AXIS_COUNT];  /**< means over ranks, weighted likewise */
    double critical_s[MS_TIME_COUNT]; /**< time on the critical path by category; bubble categories
                                         are 0; sums to step_time_s */
    ms_coll_row *collectives;         /**< [collective_count], in order of first use */
    int collective_count;
} ms_metrics;

/** Compute the metrics of a timeline.
 *  *metrics_out: arrays in `arena`.  Returns MS_OK; MS_E_NOMEM (reported); MS_E_BUG (reported) if
 * the timeline contradicts itself; MS_E_RANGE (not reported) where a rank's window would begin in a
 * repetition of a span that the timeline does not contain, as it may where steps overlap.
 * O(operations log operations). */
ms_status ms_metrics_compute(const ms_dag *dag, const ms_timeline *timeline, ms_arena *arena,
                             ms_diag *diag, ms_metrics *metrics_out);

/** Warn when ranks wait for more than a hundredth of the step for rings whose time is mostly
 * latency (advice.h).  O(collectives). */
void ms_advise_latency(const ms_metrics *metrics, ms_diag *diag);

/** A point at which the memory of a rank changes. */
typedef struct ms_memory_point {
    double time_s;
    double bytes; /**< memory held from then on [B] */
} ms_memory_point;

/** Memory of one simulated rank over the run. */
typedef struct ms_rank_memory {
    ms_held_memory held;     /**< at the peak, when total_B is highest */
    double peak_time_s;      /**< first instant at which the peak is reached */
    int inflight_peak;       /**< maximum number of (stage, mb) pairs whose activations are kept */
    ms_memory_point *points; /**< [point_count] total after each change, in time order */
    int point_count;
} ms_rank_memory;

/** Find the memory of every simulated rank over a timeline, by the model of rank_memory.h. An
 * action lasts from the start of its first operation to the end of its last one, whatever runs in
 * between. Parameters are unsharded and resharded at the end of the action before. Stage and mb of
 * operations are those of the job's program; stages of both directions have parameters of their
 * own. *ranks_out: [rank_count] in `arena`. Returns MS_OK; MS_E_NOMEM (not reported).  O(operations
 * log operations). */
ms_status ms_memory_compute(const ms_job *job, const ms_dag *dag, const ms_timeline *timeline,
                            ms_arena *arena, ms_rank_memory **ranks_out);

#endif
