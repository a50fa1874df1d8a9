/* The slowdown of computations by communication that runs at the same time on their rank
 * (slowdown.h): the end of a computation whose factors change while it runs. */
#include "collective/slowdown.h"

bool ms_slowdown_is_needed(const double *factors) {
    bool is_needed = false;
    for (int kind = 0; kind < MS_COLL_COUNT; kind++) {
        is_needed = is_needed || factors[kind] > 1.0;
    }
    return is_needed;
}

/* Factor on a computation at time `now_s`: the largest of the spans that contain it, 1 if none
 * does. *until_out: the next time at which a span begins or ends, infinite if there is none; the
 * factor is constant up to then [s]. */
static double factor_at(const ms_slow_span *spans, int count, double now_s, double *until_out) {
    double factor = 1.0;
    *until_out = INFINITY;
    for (int i = 0; i < count; i++) {
        if (spans[i].from_s <= now_s && now_s < spans[i].until_s) {
            factor = fmax(factor, spans[i].factor);
            *until_out = fmin(*until_out, spans[i].until_s);
        } else if (spans[i].from_s > now_s) {
            *until_out = fmin(*until_out, spans[i].from_s);
        }
    }
    return factor;
}

/* End of a computation whose factor changes with the spans of communication: moves on from one
 * change to the next, until the computation ends before the next change. */
double ms_slowed_end_s(const ms_slow_span *spans, int count, double start_s, double time_s) {
    double until_s = 0.0;
    ms_running running = {time_s, start_s, factor_at(spans, count, start_s, &until_s)};
    while (ms_running_end_s(&running) > until_s) {
        double now_s = until_s;
        ms_running_change(&running, now_s, factor_at(spans, count, now_s, &until_s));
    }
    return ms_running_end_s(&running);
}
