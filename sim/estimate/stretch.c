#include "estimate/stretch.h"

#include <math.h>

#include "estimate/later.h"

bool ms_stretch_is_needed(const double *factors) {
    bool is_needed = false;
    for (int kind = 0; kind < MS_COLL_COUNT; kind++) {
        is_needed = is_needed || factors[kind] > 1.0;
    }
    return is_needed;
}

/* Make a span that meets another of the same factor one with it: collectives that wait for each
 * other on one communicator run one right behind the other, far more of them than there are spans.
 * Returns whether there is such a one. */
static bool joins_span(ms_stretch *stretch, const ms_stretch_span *added) {
    for (int i = 0; i < stretch->count; i++) {
        ms_stretch_span *span = &stretch->spans[i];
        bool meets = added->from_s <= span->until_s && added->until_s >= span->from_s;
        if (meets && added->factor == span->factor) {
            span->from_s = fmin(span->from_s, added->from_s);
            span->until_s = ms_later_s(span->until_s, added->until_s);
            return true;
        }
    }
    return false;
}

void ms_stretch_note(ms_stretch *stretch, ms_coll_kind kind, double from_s, double until_s) {
    const ms_stretch_span added = {from_s, until_s, stretch->factors[kind]};
    int at = 0;
    if (added.factor <= 1.0 || joins_span(stretch, &added)) {
        return;
    }
    if (stretch->count < MS_STRETCH_SPANS) {
        at = stretch->count++;
    } else {
        for (int i = 1; i < stretch->count; i++) {
            at = stretch->spans[i].until_s < stretch->spans[at].until_s ? i : at;
        }
    }
    stretch->spans[at] = added;
}

/* The factor at a time; *until_out: how long it stays. */
static double factor_at(const ms_stretch *stretch, double now_s, double *until_out) {
    double factor = 1.0;
    *until_out = INFINITY;
    for (int i = 0; i < stretch->count; i++) {
        const ms_stretch_span *span = &stretch->spans[i];
        if (span->from_s <= now_s && now_s < span->until_s) {
            factor = ms_later_s(factor, span->factor);
            *until_out = fmin(*until_out, span->until_s);
        } else if (span->from_s > now_s) {
            *until_out = fmin(*until_out, span->from_s);
        }
    }
    return factor;
}

double ms_stretch_end_s(const ms_stretch *stretch, double start_s, double time_s) {
    double now_s = start_s, until_s = 0.0;
    for (;;) {
        double factor = factor_at(stretch, now_s, &until_s);
        if (now_s + time_s * factor <= until_s) {
            return now_s + time_s * factor;
        }
        time_s -= (until_s - now_s) / factor;
        now_s = until_s;
    }
}
