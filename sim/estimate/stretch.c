#include "estimate/stretch.h"

#include "estimate/later.h"

/* Make a span that meets another of the same factor one with it: collectives that wait for each
 * other on one communicator run one right behind the other, far more of them than there are spans.
 * Returns whether there is such a one. */
static bool joins_span(ms_stretch *stretch, const ms_slow_span *added) {
    for (int i = 0; i < stretch->count; i++) {
        ms_slow_span *span = &stretch->spans[i];
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
    const ms_slow_span added = {from_s, until_s, stretch->factors[kind]};
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
