/* Spans of time in which communication of a rank slows its computations down, collected while a
 * pass runs on the clocks (pass_map.c). See estimate.md. */
#ifndef MS_ESTIMATE_SLOW_SPANS_H
#define MS_ESTIMATE_SLOW_SPANS_H

#include "collective/slowdown.h"

/* Maximum number of spans that are kept; of more, the one that ends first is dropped. */
enum { MS_SLOW_SPANS_MAX = 16 };

/* The spans of a rank during a pass. */
typedef struct ms_slow_spans {
    const double *factors; /* [MS_COLL_COUNT] as ms_gpu_type.compute_slowdown */
    ms_slow_span spans[MS_SLOW_SPANS_MAX];
    int count;
} ms_slow_spans;

/* Add the span in which a communication of a kind runs [s], unless its factor is 1. */
void ms_slow_spans_note(ms_slow_spans *all, ms_coll_kind kind, double from_s, double until_s);

#endif
