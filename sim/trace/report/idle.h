/* Idle time by the categories of time_share. */
#ifndef MS_REPORT_IDLE_H
#define MS_REPORT_IDLE_H

#include "simulate/metrics/metrics.h"
#include "trace/report/gantt_sorted.h"
#include "trace/report/passes.h"

/* When the steady phase of every rank and step begins and ends. */
typedef struct ms_idle_phases {
    const ms_gantt_steady *steady; /* [rank_count * steps] */
    int32_t steps;
} ms_idle_phases;

/* Find the phases of a trace whose steps take time.  boxes: of ms_passes_collect, a row for each
 * rank of the trace.  *phases_out: in `arena`.  Returns MS_OK; MS_E_RANGE as ms_gantt_sort;
 * MS_E_NOMEM.  O(boxes log boxes). */
ms_status ms_idle_phases_find(const ms_trace *trace, const ms_vector *boxes, ms_arena *arena,
                              ms_idle_phases *phases_out);

/* Category of a stretch of idle time, as time_share counts it. */
ms_time_category ms_idle_category(const ms_idle_phases *phases, const ms_idle_piece *idle);

#endif
