/* Which pass of a rank uses a point-to-point message. */
#ifndef MS_REPORT_CONSUMERS_H
#define MS_REPORT_CONSUMERS_H

#include "meshsim/report.h"

typedef struct ms_consumers {
    const ms_gantt_box *passes; /* by rank, then start */
    size_t *rank_first;         /* [rank_count + 1] */
} ms_consumers;

/* Index the passes among `boxes` (as ms_passes_collect gives them).  *consumers_out: in `arena`.
 * Returns MS_OK; MS_E_NOMEM.  O(boxes + ranks). */
ms_status ms_consumers_build(const ms_vector *boxes, int32_t rank_count, ms_arena *arena,
                             ms_consumers *consumers_out);

/* First pass of a rank over microbatch `mb` that starts at `time_s` or later and needs an input (no
 * weight gradient); NULL if there is none.  Between arrival and use a rank runs no other such pass
 * of the microbatch, because its stages follow each other. */
const ms_gantt_box *ms_consumers_find(const ms_consumers *consumers, int32_t rank_index, int32_t mb,
                                      double time_s);

#endif
