/* The critical path through a trace, and by how much everything else could be later. */
#ifndef MS_REPORT_HTML_SLACK_H
#define MS_REPORT_HTML_SLACK_H

#include "base/buffer.h"
#include "trace/trace.h"

/* A stretch of the critical path on one rank. */
typedef struct ms_path_piece {
    int64_t start_ps, end_ps;
    int32_t rank_index;
} ms_path_piece;

typedef struct ms_slack {
    const int64_t *slack_ps;     /* [events] by so much it could end later and the run would not */
    const ms_path_piece *pieces; /* [piece_count] from the end of the run to its beginning */
    size_t piece_count;
} ms_slack;

/* Find the critical path and the slack of every event.  What follows an event is what stands behind
 * it on its streams, what it released (`cause`), the message that leaves its rank with its
 * microbatch, and the pass that a message is for.  Other things may wait for it that were held up
 * longer by something else, so slack is an upper limit; on the critical path it is 0.
 *  trace: with every column.  *slack_out: in `arena`.  Returns MS_OK; MS_E_NOMEM.  O(events log
 * events). */
ms_status ms_slack_find(const ms_trace *trace, ms_arena *arena, ms_slack *slack_out);

#endif
