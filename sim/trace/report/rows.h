/* Which ranks of a trace a report shows. */
#ifndef MS_REPORT_ROWS_H
#define MS_REPORT_ROWS_H

#include "trace/report/report.h"

/* The rows of a picture: ranks that the trace holds operations of, all or one of each pipeline
 * rank. */
typedef struct ms_shown_rows {
    int32_t *row_of;  /* [rank_count] -1: none */
    int32_t *rank_of; /* [count] index into ms_trace.ranks */
    int32_t count;
    bool is_choice; /* there are more of some pipeline rank */
} ms_shown_rows;

/* Choose the rows of a trace.  *rows: in `arena`.  Returns false when memory runs out. */
bool ms_shown_rows_find(const ms_trace *trace, ms_gantt_rows which, ms_arena *arena,
                        ms_shown_rows *rows);

/* "pp 3" for each row where all are other pipeline ranks, else "rank 12": [rows->count] in `arena`;
 * NULL when memory runs out. */
const char **ms_shown_rows_label(const ms_trace *trace, const ms_shown_rows *rows, ms_arena *arena);

#endif
