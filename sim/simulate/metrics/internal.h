/*
 * What the files of the metrics layer share.
 */
#ifndef MESHSIM_METRICS_INTERNAL_H
#define MESHSIM_METRICS_INTERNAL_H

#include <math.h>

#include "base/number.h" /* the timeline was checked to hold numbers */
#include "simulate/metrics/metrics.h"

/** A sum that does not lose the small terms, so that a rank's categories sum to the step time
 * whatever their number.  Source: Neumaier, ZAMM 54 (1974), compensated summation. */
typedef struct ms_sum {
    double value;
    double rest; /**< what `value` lost to rounding so far */
} ms_sum;

static inline void ms_sum_add(ms_sum *sum, double term) {
    double value = sum->value + term;
    sum->rest +=
        fabs(sum->value) >= fabs(term) ? (sum->value - value) + term : (term - value) + sum->value;
    sum->value = value;
}

static inline double ms_sum_total(const ms_sum *sum) {
    return sum->value + sum->rest;
}

/** A stretch of a rank's time; it starts where the one before it ends (the first at 0). */
typedef struct ms_time_span {
    double end_s;
    ms_time_category category;
    ms_other_part part;        /**< of MS_TIME_OTHER */
    double slowed_share;       /**< of MS_TIME_COMPUTE: of its length, what communication added */
    const ms_dag_piece *piece; /**< of MS_TIME_COMPUTE: that it is, and so waits in between; else
                                  NULL */
    double length_s;           /**< of the whole piece's operation */
} ms_time_span;

/** Of a span, the share in which its rank computes: all, but of a piece. */
static inline double ms_span_computing(const ms_time_span *span) {
    if (span->piece == NULL || span->length_s <= 0.0) {
        return 1.0;
    }
    return ms_max(0.0, 1.0 - span->piece->waited_s / span->length_s);
}

/** A stretch of time that figures are taken over. */
typedef struct ms_window {
    double from_s;
    double to_s;
} ms_window;

/** The part of a timeline that counts: all of one step, of several all but the first. */
typedef struct ms_measured {
    ms_window path;   /**< from the end of the step before to the end: the critical path's */
    ms_window *ranks; /**< [rank_count], as long as the path's; in a scratch arena */
    double steps;     /**< that are in it */
    int32_t first_op; /**< of these steps */
} ms_measured;

/** A timeline and, per simulated rank, the operations that concern it. Arrays in a scratch arena.
 */
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

/** Find the steps' times and what of the timeline counts: set ops->measured and, in `arena`,
 * metrics->steps with the step time.  Returns MS_OK; MS_E_NOMEM; MS_E_RANGE where a rank's window
 * begins in what the timeline holds once for many times.  O(operations). */
ms_status ms_measure_steps(ms_rank_ops *ops, ms_arena *scratch, ms_arena *arena,
                           ms_metrics *metrics);

/** Pass that a computation belongs to; MS_PASS_COUNT if none. The input gradient counts as the
 * fused backward pass B, and so does the recomputation that opens either. */
ms_pass ms_op_pass(const ms_dag *dag, int32_t op);

/** Fill `spans` (of ms_time_span, emptied first) with where the time of one rank goes, from 0 to
 * the last step's end without a hole, and set time_s, other_s and slowed_s of *rank_out.  Returns
 * MS_OK; MS_E_NOMEM; MS_E_BUG when operations of the rank overlap or causes go round in a circle
 * (not reported here). */
ms_status ms_rank_spans(const ms_rank_ops *ops, int32_t rank, ms_vector *spans,
                        ms_rank_metrics *rank_out);

/** Where the time of the longest chain goes.  critical_s: [MS_TIME_COUNT], sums to the step time.
 *  Returns MS_OK; MS_E_BUG when causes go round in a circle (not reported here).  O(operations). */
ms_status ms_critical_path(const ms_rank_ops *ops, double *critical_s);

/** Set busy_s, exposed_s, overlapped_s and in_idle_s of *rank_out.
 *  spans: of the rank.  intervals: scratch, of ms_interval.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_rank_axes(const ms_rank_ops *ops, int32_t rank, const ms_vector *spans,
                       ms_vector *intervals, ms_rank_metrics *rank_out);

/** A communication of a rank, from its last arrival to its end. */
typedef struct ms_interval {
    double start_s;
    double end_s;
    int axis;
} ms_interval;

/** Axis a communication is counted under: MS_AXIS_OTHER where it names none. */
static inline int ms_op_axis(const ms_dag *dag, int32_t op) {
    int axis = dag->ops[op].axis;
    return axis == MS_AXIS_NONE || axis >= MS_AXIS_COUNT ? MS_AXIS_OTHER : axis;
}

/** Add bytes and waiting times of the measured steps' communications to metrics->ranks and set
 * metrics->collectives (in `arena`).  Returns MS_OK; MS_E_NOMEM.  O(members + dependencies). */
ms_status ms_count_communication(const ms_rank_ops *ops, ms_arena *scratch, ms_arena *arena,
                                 ms_metrics *metrics);

#endif
