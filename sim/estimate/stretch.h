/* Computations that communication of their rank slows down. See estimate.md. */
#ifndef MS_ESTIMATE_STRETCH_H
#define MS_ESTIMATE_STRETCH_H

#include "collective/slowdown.h"

/* Communications that one computation may meet; of more the one that ends first is forgotten. */
enum { MS_STRETCH_SPANS = 16 };

/* Communications of a rank while a pass is laid out. */
typedef struct ms_stretch {
    const double *factors; /* [MS_COLL_COUNT] as in compute_slowdown of a GPU */
    ms_slow_span spans[MS_STRETCH_SPANS];
    int count;
} ms_stretch;

/* Note that a communication runs. */
void ms_stretch_note(ms_stretch *stretch, ms_coll_kind kind, double from_s, double until_s);

#endif
