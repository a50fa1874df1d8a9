/* The operations of a trace's compute streams, merged into passes. */
#ifndef MS_REPORT_PASSES_H
#define MS_REPORT_PASSES_H

#include "meshsim/report.h"

/* Two passes of a rank that run together, as places among the boxes. */
typedef struct ms_pass_pair {
    size_t upper, lower;
} ms_pass_pair;

/* Append the boxes of all compute streams: one per pass of a stage over a microbatch, parts inside
 * it for recomputation and for waiting on communication, boxes of their own for waiting between
 * passes. Times in seconds. Two passes whose operations alternate overlap; the forward one has
 * half 1, the other half 2.
 *  boxes: of ms_gantt_box.  pairs: of ms_pass_pair, those that alternate.  Check `failed` of both.
 *  O(events log events). */
void ms_passes_collect(const ms_trace *trace, ms_arena *scratch, ms_vector *boxes,
                       ms_vector *pairs);

/* Cut the passes of pairs so that a box has half of the row's height just while both passes are
 * under way.  Pieces are appended. */
void ms_passes_cut_pairs(ms_vector *boxes, const ms_vector *pairs);

#endif
