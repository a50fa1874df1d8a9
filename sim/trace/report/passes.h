/* Rows for pictures of a trace: the ranks that are shown, their passes (the operations of a compute
 * stream that belong to one stage and microbatch, merged into a box) and their idle time by its
 * cause. A part is a box inside the box of a pass. */
#ifndef MS_REPORT_PASSES_H
#define MS_REPORT_PASSES_H

#include "simulate/metrics/metrics.h"
#include "trace/report/gantt_sorted.h"

/* An overlapped pair of passes of a rank, as indices of their boxes: the forward pass is drawn in
 * the upper half of the row. */
typedef struct ms_pass_pair {
    size_t upper, lower;
} ms_pass_pair;

/* What an idle rank waits for. */
typedef enum ms_idle_cause {
    MS_IDLE_BUBBLE,    /* a computation of another pipeline rank */
    MS_IDLE_IMBALANCE, /* a computation of another rank of its own pipeline rank */
    MS_IDLE_OWN,       /* communication along an axis, while the rank communicates along it too */
    MS_IDLE_FOREIGN,   /* communication of other ranks */
    MS_IDLE_HOST,      /* its own host: no operation for which the rank waits is under way */
    MS_IDLE_UNKNOWN,   /* an operation that the trace does not hold, as it holds only some ranks or
                          whole passes */
} ms_idle_cause;

/* A time in which a rank is idle for one cause. */
typedef struct ms_idle_span {
    int64_t start_ps, end_ps;
    int32_t row;   /* index into ms_trace.ranks */
    int32_t event; /* the event that the rank waits for; -1: none */
    int16_t step;
    uint8_t cause; /* ms_idle_cause */
    uint8_t axis;  /* ms_axis of the communication; MS_AXIS_NONE for other causes */
    bool is_part;  /* inside a pass */
} ms_idle_span;

/* Find the ranks that have a row: all, but in a trace of listed ranks only those with an operation
 * on their compute stream.  Returns [rank_count] in `arena`; NULL when memory runs out. */
bool *ms_passes_shown(const ms_trace *trace, ms_arena *arena);

/* The rows of a picture: of the ranks of which the trace holds operations, all or one for each
 * pipeline rank. */
typedef struct ms_shown_rows {
    int32_t *row_of;  /* [rank_count] row of each rank of ms_trace.ranks; -1: none */
    int32_t *rank_of; /* [count] rank of each row, as an index into ms_trace.ranks */
    int32_t count;
    bool is_choice; /* some pipeline rank has more ranks than are shown */
} ms_shown_rows;

/* The passes and the idle time of a trace. */
typedef struct ms_passes {
    ms_vector boxes; /* of ms_gantt_box, in seconds, with the index into ms_trace.ranks as row */
    ms_vector pairs; /* of ms_pass_pair */
    ms_vector idle;  /* of ms_idle_span */
} ms_passes;

/* What ms_passes_collect collects; NULL: all, and no slack. */
typedef struct ms_passes_choice {
    const ms_shown_rows *rows; /* whose ranks are collected; NULL: all */
    const int64_t *slack_ps;   /* [events] becomes the slack of passes; NULL: not wanted */
} ms_passes_choice;

/* Collect the passes of all compute streams: a box for each pass of a stage over a microbatch,
 * parts inside it for recomputation and for waiting for communication, and boxes for waiting
 * between passes. Two passes whose operations alternate are an overlapped pair; the forward pass
 * has half 1, the other one half 2. Idle time has the same causes as in the metrics.
 *  *passes_out: released with ms_passes_release, whatever is returned.  Returns MS_OK; MS_E_NOMEM.
 *  O(events log events). */
ms_status ms_passes_collect(const ms_trace *trace, const ms_passes_choice *choice,
                            ms_arena *scratch, ms_passes *passes_out);
void ms_passes_release(ms_passes *passes);

/* Cut the boxes of pairs so that a box has half of the row's height only while both passes are
 * under way. The parts of a box before and after that time are appended to `boxes`. */
void ms_passes_cut_pairs(ms_vector *boxes, const ms_vector *pairs);

/* The phases of every rank and step. */
typedef struct ms_idle_phases {
    ms_gantt_steady *steady; /* [rank_count][steps] */
    int32_t steps;
} ms_idle_phases;

/* Find the phases of a trace whose steps take time.  boxes: of ms_passes_collect, a row for each
 * rank of the trace.  *phases_out: in `arena`.  Returns MS_OK; MS_E_RANGE as ms_gantt_sort;
 * MS_E_NOMEM.  O(boxes log boxes). */
ms_status ms_idle_phases_find(const ms_trace *trace, const ms_vector *boxes, ms_arena *arena,
                              ms_idle_phases *phases_out);

/* The category of a span of idle time, as in `time_share` of the summary. */
ms_time_category ms_idle_category(const ms_idle_phases *phases, const ms_idle_span *idle);

/* Choose the rows of a trace.  *rows: in `arena`.  Returns false when memory runs out. */
bool ms_shown_rows_find(const ms_trace *trace, ms_gantt_rows which, ms_arena *arena,
                        ms_shown_rows *rows);

/* The labels of rows: "pp 3" where each row is another pipeline rank, else "rank 12".  Returns
 * [rows->count] in `arena`; NULL when memory runs out. */
const char **ms_shown_rows_label(const ms_trace *trace, const ms_shown_rows *rows, ms_arena *arena);

#endif
