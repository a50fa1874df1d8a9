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

#include "meshsim/decls.h"
#include "meshsim/event.h"

MS_BEGIN_DECLS

/** Whether any communication slows computations down.  factors: [MS_COLL_COUNT], >= 1. */
bool ms_slowdown_is_needed(const double *factors);

/** A computation under way. */
typedef struct ms_running {
    double left_s;  /**< of it at `since_s`, at full speed */
    double since_s; /**< when its factor last changed */
    double factor;  /**< since then */
} ms_running;

/** When it ends if its factor stays. */
static inline double ms_running_end_s(const ms_running *running) {
    return running->since_s + running->left_s * running->factor;
}

/** Its factor changes at `now_s`. */
static inline void ms_running_change(ms_running *running, double now_s, double factor) {
    double done_s = (now_s - running->since_s) / running->factor;
    const ms_running changed = {fmax(0.0, running->left_s - done_s), now_s, factor};
    *running = changed;
}

/** A time in which communication runs on a rank. */
typedef struct ms_slow_span {
    double from_s, until_s;
    double factor; /**< on what computes then */
} ms_slow_span;

/** When a computation ends that takes `time_s` with nothing beside it and whose communications are
 * known.  spans: [count] in any order.  O(count^2). */
double ms_slowed_end_s(const ms_slow_span *spans, int count, double start_s, double time_s);

MS_END_DECLS

#endif
