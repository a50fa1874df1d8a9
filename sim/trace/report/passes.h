/* Which ranks of a trace a report shows, the operations of their compute streams merged into
 * passes, and their idle time. */
#ifndef MS_REPORT_PASSES_H
#define MS_REPORT_PASSES_H

#include "simulate/metrics/metrics.h"
#include "trace/report/gantt_sorted.h"

/* Two passes of a rank that run together, as places among the boxes. */
typedef struct ms_pass_pair {
    size_t upper, lower;
} ms_pass_pair;

/* What a rank without anything to compute waits for. */
typedef enum ms_idle_cause {
    MS_IDLE_BUBBLE,    /* a computation of another pipeline rank */
    MS_IDLE_IMBALANCE, /* one of another rank of the same stage */
    MS_IDLE_OWN, /* communication of an axis along which the rank itself communicates meanwhile */
    MS_IDLE_FOREIGN, /* communication of other ranks */
    MS_IDLE_HOST,    /* nothing on any GPU */
    MS_IDLE_UNKNOWN, /* an operation that the trace, of some ranks or of whole passes, does not hold
                      */
} ms_idle_cause;

/* A stretch of a rank's idle time. */
typedef struct ms_idle_piece {
    int64_t start_ps, end_ps;
    int32_t row;
    int32_t event; /* the event that the rank waits for; -1: none */
    int16_t step;
    uint8_t cause; /* ms_idle_cause */
    uint8_t axis;  /* of communication */
    bool is_part;  /* inside a pass */
} ms_idle_piece;

/* [rank_count] whether a rank has a row: all but those that a trace of some ranks leaves out; NULL
 * when memory runs out. */
bool *ms_passes_shown(const ms_trace *trace, ms_arena *arena);

/* Append the boxes of all compute streams: one per pass of a stage over a microbatch, parts inside
 * it for recomputation and for waiting on communication, boxes of their own for waiting between
 * passes. Times in seconds. Two passes whose operations alternate overlap; the forward one has
 * half 1, the other half 2.
 *  boxes: of ms_gantt_box.  pairs: of ms_pass_pair, those that alternate.  idle: of ms_idle_piece,
 * all idle time as the metrics part it; NULL: not wanted.  Check `failed` of each.
 *  O(events log events). */
void ms_passes_collect(const ms_trace *trace, ms_arena *scratch, ms_vector *boxes, ms_vector *pairs,
                       ms_vector *idle);

/* Cut the passes of pairs so that a box has half of the row's height just while both passes are
 * under way.  Pieces are appended. */
void ms_passes_cut_pairs(ms_vector *boxes, const ms_vector *pairs);

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
