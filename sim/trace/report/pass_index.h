/* Which pass of a rank uses a point-to-point message. */
#ifndef MS_REPORT_PASS_INDEX_H
#define MS_REPORT_PASS_INDEX_H

#include "trace/report/report.h"

typedef struct ms_pass_index {
    const ms_gantt_box *passes; /* by rank, then start */
    size_t *rank_first;         /* [rank_count + 1] */
} ms_pass_index;

/* Index the passes among `boxes` (as ms_passes_collect gives them).  *index_out: in `arena`.
 * Returns MS_OK; MS_E_NOMEM.  O(boxes + ranks). */
ms_status ms_pass_index_build(const ms_vector *boxes, int32_t rank_count, ms_arena *arena,
                              ms_pass_index *index_out);

/* First pass of a rank over microbatch `mb` that starts at `time_s` or later and needs an input (no
 * weight gradient); NULL if there is none.  Between arrival and use a rank runs no other such pass
 * of the microbatch, because its stages follow each other. */
const ms_gantt_box *ms_pass_index_find(const ms_pass_index *index, int32_t rank_index, int32_t mb,
                                       double time_s);

#endif
