/* Spans of time in which communication of a rank slows its computations down. See estimate.md. */
#ifndef MS_ESTIMATE_SLOW_SPANS_H
#define MS_ESTIMATE_SLOW_SPANS_H

#include "collective/slowdown.h"

/* Communications that one computation may meet; of more the one that ends first is forgotten. */
enum { MS_SLOW_SPANS_MAX = 16 };

/* Communications of a rank while a pass is laid out. */
typedef struct ms_slow_spans {
    const double *factors; /* [MS_COLL_COUNT] as in compute_slowdown of a GPU */
    ms_slow_span spans[MS_SLOW_SPANS_MAX];
    int count;
} ms_slow_spans;

/* Note that a communication runs. */
void ms_slow_spans_note(ms_slow_spans *all, ms_coll_kind kind, double from_s, double until_s);

#endif
