/* The operations of a trace's compute streams, merged into passes. */
#ifndef MS_REPORT_PASSES_H
#define MS_REPORT_PASSES_H

#include "meshsim/report.h"

/* Append the boxes of all compute streams: one per pass of a stage over a microbatch, parts inside
 * it for recomputation and for waiting on communication, boxes of their own for waiting between
 * passes. Times in seconds.  boxes: of ms_gantt_box; check its `failed`.  O(events). */
void ms_passes_collect(const ms_trace *trace, ms_arena *scratch, ms_vector *boxes);

#endif
