/* When each rank of a trace takes part in communication. */
#ifndef MS_REPORT_RANK_COMMUNICATION_H
#define MS_REPORT_RANK_COMMUNICATION_H

#include "trace/trace.h"

/* A span of time in which a rank communicates [ps]. */
typedef struct ms_comm_span {
    int64_t start_ps, end_ps;
} ms_comm_span;

/* Of each simulated rank and axis the spans in which at least one communication runs that the rank
 * takes part in, as a sender, a receiver or a member. */
typedef struct ms_rank_comms {
    const ms_comm_span *spans; /* by rank, axis, start; those of one rank and axis do not touch */
    const size_t *first;       /* [rank_count * MS_AXIS_COUNT] first span of a rank and axis */
    const size_t *end;         /* the same, behind its last one */
} ms_rank_comms;

/* Collect the spans of a trace.  *own_out: in `arena`.  Returns MS_OK; MS_E_NOMEM.  O(events
 * log events), O(events) where those of a rank and axis stand in order. */
ms_status ms_rank_comms_build(const ms_trace *trace, ms_arena *arena, ms_rank_comms *own_out);

/* The first span of a rank and axis that ends after `from_ps`; NULL where none starts before
 * `to_ps`.  O(log spans). */
const ms_comm_span *ms_rank_comms_find(const ms_rank_comms *own, int32_t rank_index, uint8_t axis,
                                       int64_t from_ps, int64_t to_ps);

#endif
