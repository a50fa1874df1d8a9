/**
 * @file
 * How communication slows down the computations beside it: the one rule that engine, pieces of
 * passes and estimate share. A computation runs at full speed divided by a factor, the largest of
 * those of the communications that run on its rank at the moment.
 */
#ifndef MESHSIM_SLOWDOWN_H
#define MESHSIM_SLOWDOWN_H

#include <math.h>
#include <stdbool.h>

#include "base/event.h"

/** Whether any communication slows computations down.  factors: [MS_COLL_COUNT], >= 1. */
bool ms_slowdown_is_needed(const double *factors);

/** A computation under way. */
typedef struct ms_running {
    double left_s;  /**< time that the rest of it takes from `since_s` on, at full speed */
    double since_s; /**< when the computation's factor last changed */
    double factor;  /**< factor on the computation's time since `since_s` */
} ms_running;

/** When a computation ends if its factor stays as it is. */
static inline double ms_running_end_s(const ms_running *running) {
    return running->since_s + running->left_s * running->factor;
}

/** Give a computation another factor from `now_s` on. */
static inline void ms_running_change(ms_running *running, double now_s, double factor) {
    double done_s = (now_s - running->since_s) / running->factor;
    const ms_running changed = {fmax(0.0, running->left_s - done_s), now_s, factor};
    *running = changed;
}

/** A time in which communication runs on a rank. */
typedef struct ms_slow_span {
    double from_s, until_s;
    double factor; /**< factor of the computations that run in this time */
} ms_slow_span;

/** When a computation ends that takes `time_s` with nothing beside it and whose communications are
 * known.  spans: [count] in any order.  O(count^2). */
double ms_slowed_end_s(const ms_slow_span *spans, int count, double start_s, double time_s);

#endif
