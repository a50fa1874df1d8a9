/* Computations that communication of their rank slows down. See estimate.md. */
#ifndef MS_ESTIMATE_STRETCH_H
#define MS_ESTIMATE_STRETCH_H

#include <stdbool.h>

#include "meshsim/event.h"

/* Communications that one computation may meet; of more the one that ends first is forgotten. */
enum { MS_STRETCH_SPANS = 16 };

/* A time in which communication runs on a rank. */
typedef struct ms_stretch_span {
    double from_s, until_s;
    double factor; /* on what computes then */
} ms_stretch_span;

/* Communications of a rank while a pass is laid out. */
typedef struct ms_stretch {
    const double *factors; /* [MS_COLL_COUNT] as in compute_slowdown of a GPU */
    ms_stretch_span spans[MS_STRETCH_SPANS];
    int count;
} ms_stretch;

/* Whether any communication slows computations down. */
bool ms_stretch_is_needed(const double *factors);

/* Note that a communication runs. */
void ms_stretch_note(ms_stretch *stretch, ms_coll_kind kind, double from_s, double until_s);

/* When a computation ends that takes `time_s` with nothing beside it: of several communications the
 * largest factor counts, as in the engine. */
double ms_stretch_end_s(const ms_stretch *stretch, double start_s, double time_s);

#endif
