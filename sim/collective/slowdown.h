/**
 * @file
 * How communication slows down the computations that run at the same time on its rank: the one rule
 * that engine, fused passes of passes and estimate share. A computation runs at full speed divided
 * by a factor, the largest factor of the communications that run on its rank at the moment.
 */
#ifndef MESHSIM_SLOWDOWN_H
#define MESHSIM_SLOWDOWN_H

#include <math.h>
#include <stdbool.h>

#include "base/event.h"

/** Whether any kind of communication slows computations down.  factors: [MS_COLL_COUNT] of each
 * kind, >= 1. */
bool ms_slowdown_is_needed(const double *factors);

/** A computation under way. */
typedef struct ms_running {
    double left_s;  /**< time at full speed of the work left at `since_s` [s] */
    double since_s; /**< time of the last change of the factor [s] */
    double factor;  /**< factor on the computation's time since then, >= 1 */
} ms_running;

/** Time at which a computation ends if its factor does not change any more [s]. */
static inline double ms_running_end_s(const ms_running *running) {
    return running->since_s + running->left_s * running->factor;
}

/** Give a computation another factor from `now_s` on; now_s >= running->since_s. */
static inline void ms_running_change(ms_running *running, double now_s, double factor) {
    double done_s = (now_s - running->since_s) / running->factor;
    const ms_running changed = {fmax(0.0, running->left_s - done_s), now_s, factor};
    *running = changed;
}

/** A span of time in which communication runs on a rank. */
typedef struct ms_slow_span {
    double from_s, until_s; /**< [s] */
    double factor;          /**< factor on the time of computations that run in this span, >= 1 */
} ms_slow_span;

/** Time at which a computation ends that starts at `start_s` and takes `time_s` at full speed, when
 * all spans of communication on its rank are known [s].  spans: [count] in any order, may overlap.
 * O(count^2). */
double ms_slowed_end_s(const ms_slow_span *spans, int count, double start_s, double time_s);

#endif
