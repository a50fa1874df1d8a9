/* The operations that a trace holds, as rows of /events and /members. */
#ifndef MS_TRACE_EVENTS_H
#define MS_TRACE_EVENTS_H

#include "meshsim/trace.h"
#include "trace/h5_write.h"

/* Which operations are rows; at level full all, row by row. Otherwise in the scratch arena. */
typedef struct ms_event_rows {
    const ms_result *result;
    const ms_trace_detail *detail;
    int32_t count;
    int32_t
        *first_op;   /* [count] the operation, or the first of a pass; NULL: row i is operation i */
    int32_t *row_of; /* [op_count] row that an operation stands in, -1 none; NULL alike */
    bool *is_listed; /* [rank_count] level ranks; else NULL */
    /* Of passes, [count] each; else NULL. */
    double *end_s;
    double *bytes;
    double *flop;
    uint8_t *kind;
} ms_event_rows;

/* Whether the rows are of the rank of a stream, among others. */
static inline bool ms_rows_have(const ms_event_rows *rows, int32_t stream) {
    return rows->is_listed == NULL || rows->is_listed[rows->result->dag.streams[stream].rank];
}

/* The stream of the first member that the rows are of. */
static inline int32_t ms_rows_stream(const ms_event_rows *rows, int32_t op) {
    const ms_dag *dag = &rows->result->dag;
    for (int32_t at = dag->member_first[op]; at < dag->member_first[op + 1]; at++) {
        if (ms_rows_have(rows, dag->member_stream[at])) {
            return dag->member_stream[at];
        }
    }
    return dag->member_stream[dag->member_first[op]];
}

/* Choose the rows.
 *  Returns MS_OK; MS_E_INPUT where a rank of the list is not simulated (reported); MS_E_NOMEM. */
ms_status ms_event_rows_choose(const ms_result *result, const ms_trace_detail *detail,
                               ms_arena *scratch, ms_diag *diag, ms_event_rows *rows_out);

void ms_event_rows_write(ms_h5 *h5, const ms_event_rows *rows);

#endif
