/* Writes the operations of a run as rows of /events and /members, as far as the trace's level holds
 * them. */
#ifndef MS_TRACE_EVENTS_H
#define MS_TRACE_EVENTS_H

#include "trace/h5_write.h"

/* The part of a result that a trace holds. */
typedef struct ms_event_choice {
    const ms_result *result;
    const ms_trace_detail *detail;
    const bool
        *is_listed; /* [rank_count] level ranks: the simulated ranks of the list; else NULL */
} ms_event_choice;

/* Find the ranks of the list in `detail`, if its level is that of listed ranks.
 *  result, detail: borrowed.  choice_out: its array in `scratch`.  Returns MS_OK; MS_E_INPUT where
 * a rank of the list is not simulated; MS_E_NOMEM (both reported).  O(listed * simulated ranks). */
ms_status ms_events_choose(const ms_result *result, const ms_trace_detail *detail,
                           ms_arena *scratch, ms_diag *diag, ms_event_choice *choice_out);

/* Write /events and /members.  O(operations). */
void ms_events_write(ms_h5 *h5, const ms_event_choice *choice);

#endif
