/* The operations of a trace's compute streams, merged into passes. */
#ifndef MS_REPORT_PASSES_H
#define MS_REPORT_PASSES_H

#include "trace/report/report.h"

/* Two passes of a rank that run together, as places among the boxes. */
typedef struct ms_pass_pair {
    size_t upper, lower;
} ms_pass_pair;

/* What a rank without anything to compute waits for. */
typedef enum ms_idle_cause {
    MS_IDLE_BUBBLE,    /* a computation of another pipeline rank */
    MS_IDLE_IMBALANCE, /* one of another rank of the same stage */
    MS_IDLE_OWN,       /* communication of an axis while its own of that axis runs */
    MS_IDLE_FOREIGN,   /* communication of other ranks */
    MS_IDLE_HOST,      /* nothing on any GPU */
    MS_IDLE_UNKNOWN,   /* what the trace does not hold: it is of some ranks, or of whole passes */
} ms_idle_cause;

/* A stretch of a rank's idle time. */
typedef struct ms_idle_piece {
    int64_t start_ps, end_ps;
    int32_t row;
    int32_t event; /* what it waits for; -1: nothing */
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

#endif
