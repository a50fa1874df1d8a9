/*
 * Types and functions that the files of the metrics room share.
 */
#ifndef MESHSIM_METRICS_INTERNAL_H
#define MESHSIM_METRICS_INTERNAL_H

#include <math.h>

#include "base/number.h" /* the timeline was checked to hold numbers */
#include "simulate/metrics/metrics.h"

/** A sum without accumulated rounding errors, so that a rank's categories sum to the step time
 * however many terms they have.  Source: Neumaier, ZAMM 54 (1974), compensated summation. */
typedef struct ms_sum {
    double value;
    double rest; /**< rounding errors of `value` so far */
} ms_sum;

/** Add a term; the rounding error of the addition is added to `rest`. */
static inline void ms_sum_add(ms_sum *sum, double term) {
    double value = sum->value + term;
    sum->rest +=
        fabs(sum->value) >= fabs(term) ? (sum->value - value) + term : (term - value) + sum->value;
    sum->value = value;
}

/** The sum of all terms. */
static inline double ms_sum_total(const ms_sum *sum) {
    return sum->value + sum->rest;
}

/** A span: a part of a rank's time that has one category. It starts where the span before it ends,
 * the first one at 0. */
typedef struct ms_time_span {
    double end_s; /**< [s] */
    ms_time_category category;
    ms_other_part part;  /**< only for MS_TIME_OTHER */
    double slowed_share; /**< MS_TIME_COMPUTE: share of its length that communication beside it
                            added */
    const ms_fused_pass *fused; /**< MS_TIME_COMPUTE: the fused pass that runs, within which the
                                  rank also waits; else NULL */
    double length_s;            /**< MS_TIME_COMPUTE: duration of the whole operation [s] */
} ms_time_span;

/** The share of a span in which its rank computes: 1, less the waits inside a fused pass. */
static inline double ms_span_computing(const ms_time_span *span) {
    if (span->fused == NULL || span->length_s <= 0.0) {
        return 1.0;
    }
    return ms_max(0.0, 1.0 - span->fused->waited_s / span->length_s);
}

/** A window: the part of the timeline that figures are taken over. */
typedef struct ms_window {
    double from_s;
    double to_s;
} ms_window;

/** The part of a timeline that is measured: the whole of one step; of several steps, all but the
 * first. */
typedef struct ms_measured {
    ms_window path;   /**< the critical path's: from the end of the first step (or 0) to the end */
    ms_window *ranks; /**< [rank_count] those of the ranks, as long as `path`; scratch */
    double steps;     /**< number of steps measured */
    int32_t first_op; /**< first operation of these steps */
} ms_measured;

/** A timeline and the operations of each simulated rank. Arrays in a scratch arena. */
typedef struct ms_rank_ops {
    const ms_dag *dag;
    const ms_timeline *timeline;
    int32_t *compute_first; /**< [rank_count + 1] into compute_ops */
    int32_t *compute_ops;   /**< computations on each rank's compute stream, in program order */
    int32_t *comm_first;    /**< [rank_count + 1] into comm_ops */
    int32_t *comm_ops;    /**< communications of each rank: its own and the messages it receives */
    int32_t last_op;      /**< ends last, on ties the lowest role, then the lowest index; -1 in an
                             empty graph */
    ms_measured measured; /**< set by ms_measure_steps */
} ms_rank_ops;

/** Collect the operations of every rank.
 *  with_comm: collect comm_ops too.  Returns MS_OK; MS_E_NOMEM.  O(members). */
ms_status ms_rank_ops_collect(const ms_dag *dag, const ms_timeline *timeline, bool with_comm,
                              ms_arena *scratch, ms_rank_ops *ops_out);

/** Find the times of the steps and the windows that are measured: set ops->measured, and
 * metrics->steps (in `arena`) with the step time.  Returns MS_OK; MS_E_NOMEM (not reported);
 * MS_E_RANGE (not reported) where a rank's window would begin in a repetition of a span that the
 * timeline does not contain. O(operations). */
ms_status ms_measure_steps(ms_rank_ops *ops, ms_arena *scratch, ms_arena *arena,
                           ms_metrics *metrics);

/** The pass that a computation belongs to; MS_PASS_COUNT: none. An input gradient (I) counts as the
 * backward pass B, and so does the recomputation before either. */
ms_pass ms_op_pass(const ms_dag *dag, int32_t op);

/** Fill `spans` (of ms_time_span, emptied first) with the spans of one rank from 0 to the makespan,
 * without a hole, and set time_s, other_s and slowed_s of *rank_out from those in the rank's
 * window.  Returns MS_OK; MS_E_NOMEM; MS_E_BUG when operations of the rank overlap or causes form a
 * circle (none reported). */
ms_status ms_rank_spans(const ms_rank_ops *ops, int32_t rank, ms_vector *spans,
                        ms_rank_metrics *rank_out);

/** Find the time that the critical path spends in each category.  critical_s: [MS_TIME_COUNT] [s],
 * sums to the step time.  Returns MS_OK; MS_E_BUG (not reported) when causes form a circle.
 * O(operations, times the repetitions of spans). */
ms_status ms_critical_path(const ms_rank_ops *ops, double *critical_s);

/** Set busy_s, exposed_s, overlapped_s and in_idle_s of all axes of *rank_out.
 *  spans: of the rank, from ms_rank_spans.  intervals: scratch, of ms_interval.  Returns MS_OK;
 * MS_E_NOMEM (not reported). */
ms_status ms_rank_axes(const ms_rank_ops *ops, int32_t rank, const ms_vector *spans,
                       ms_vector *intervals, ms_rank_metrics *rank_out);

/** A communication of a rank, from its last arrival to its end. */
typedef struct ms_interval {
    double start_s;
    double end_s;
    int axis; /**< ms_axis */
} ms_interval;

/** The axis under which a communication is counted: MS_AXIS_OTHER if its operation has none. */
static inline int ms_op_axis(const ms_dag *dag, int32_t op) {
    int axis = dag->ops[op].axis;
    return axis == MS_AXIS_NONE || axis >= MS_AXIS_COUNT ? MS_AXIS_OTHER : axis;
}

/** Set bytes and wait_s of all axes in metrics->ranks from the communications of the measured
 * steps, and set metrics->collectives (in `arena`).  Returns MS_OK; MS_E_NOMEM (not reported).
 * O(members + dependencies). */
ms_status ms_count_communication(const ms_rank_ops *ops, ms_arena *scratch, ms_arena *arena,
                                 ms_metrics *metrics);

#endif
