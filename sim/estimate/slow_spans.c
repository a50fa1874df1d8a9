/* Keeps the spans of communication that slow computations down (slow_spans.h). */
#include "estimate/slow_spans.h"

#include "base/number.h"

/* Merge a span with one of the same factor that it overlaps or touches.  Returns whether there is
 * such a span. Without merging there would be far more spans than are kept: the collectives of one
 * communicator run right one after the other. */
static bool joins_span(ms_slow_spans *all, const ms_slow_span *added) {
    for (int i = 0; i < all->count; i++) {
        ms_slow_span *span = &all->spans[i];
        bool meets = added->from_s <= span->until_s && added->until_s >= span->from_s;
        if (meets && added->factor == span->factor) {
            span->from_s = fmin(span->from_s, added->from_s);
            span->until_s = ms_max(span->until_s, added->until_s);
            return true;
        }
    }
    return false;
}

void ms_slow_spans_note(ms_slow_spans *all, ms_coll_kind kind, double from_s, double until_s) {
    const ms_slow_span added = {from_s, until_s, all->factors[kind]};
    int at = 0;
    if (added.factor <= 1.0 || joins_span(all, &added)) {
        return;
    }
    if (all->count < MS_SLOW_SPANS_MAX) {
        at = all->count++;
    } else {
        for (int i = 1; i < all->count; i++) {
            at = all->spans[i].until_s < all->spans[at].until_s ? i : at;
        }
    }
    all->spans[at] = added;
}
