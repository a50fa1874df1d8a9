/* When the ranks of a trace communicate themselves. */
#ifndef MS_REPORT_OWN_H
#define MS_REPORT_OWN_H

#include "trace/trace.h"

/* A stretch of time [ps]. */
typedef struct ms_own_span {
    int64_t start_ps, end_ps;
} ms_own_span;

/* Of each simulated rank and axis the stretches in which at least one communication runs that the
 * rank takes part in, as a sender, a receiver or a member. */
typedef struct ms_own {
    const ms_own_span *spans; /* by rank, axis, start; those of one rank and axis do not touch */
    const size_t *first;      /* [rank_count * MS_AXIS_COUNT] first span of a rank and axis */
    const size_t *end;        /* the same, behind its last one */
} ms_own;

/* Collect the stretches of a trace.  *own_out: in `arena`.  Returns MS_OK; MS_E_NOMEM.  O(events
 * log events), O(events) where those of a rank and axis stand in order. */
ms_status ms_own_build(const ms_trace *trace, ms_arena *arena, ms_own *own_out);

/* The first stretch of a rank and axis that ends after `from_ps`; NULL where none starts before
 * `to_ps`.  O(log stretches). */
const ms_own_span *ms_own_find(const ms_own *own, int32_t rank_index, uint8_t axis, int64_t from_ps,
                               int64_t to_ps);

#endif
