/* A Gantt picture made ready for drawing. */
#ifndef MS_REPORT_GANTT_SORTED_H
#define MS_REPORT_GANTT_SORTED_H

#include "trace/report/report.h"

/* Where the steady phase of a row and step lies: from its first backward pass to the end of its
 * last forward pass, as the metrics and the evaluation on paper divide idle time. What is before it
 * is warm-up, from the last pass of the step before; what is behind it cool-down, to the step's
 * last pass, after the last step to the picture's end. */
typedef struct ms_gantt_steady {
    double from, start, end, to; /* no passes: from the step before to the picture's end */
} ms_gantt_steady;

/* The time in which all rows are in their steady phase, of the step in the middle, and the shortest
 * sequence of passes that a row repeats there. */
typedef struct ms_gantt_period {
    double from, to; /* from >= to: there is no such time */
    double length;   /* from a pass to the same one of the next sequence; 0: nothing repeats */
    int32_t passes;  /* boxes of passes in a sequence */
} ms_gantt_period;

typedef struct ms_gantt_sorted {
    const ms_gantt *gantt;
    const ms_gantt_box *boxes; /* by row, start, passes before their parts */
    size_t *row_first;         /* [rows + 1] */
    ms_gantt_steady *steady;   /* [rows * steps] */
    int32_t steps;
    ms_gantt_period period; /* of the steady phase */
    double median;          /* length of a pass */
    double quartile;        /* a quarter of the passes is not longer */
    int32_t slices;         /* of a sequence per microbatch, 1: whole ones */
    int number_length;      /* characters of the longest number in a box */
    double unit;            /* time units in one unit of the axis */
    const char *unit_name;
    int32_t row_step; /* every how many rows one is shown */
    int32_t rows_shown;
} ms_gantt_sorted;

/* Sort and measure `gantt`; all rows are shown.  axis_end: right edge of the time axis, which
 * chooses its unit.  *sorted_out: in `arena`.  MS_OK; MS_E_RANGE as ms_gantt_write_svg;
 * MS_E_NOMEM. */
ms_status ms_gantt_sort(const ms_gantt *gantt, double axis_end, ms_arena *arena,
                        ms_gantt_sorted *sorted_out);
/* Show at most `rows_max` rows, evenly spaced.  rows_max: >= 1. */
void ms_gantt_show_rows(ms_gantt_sorted *sorted, int32_t rows_max);

/* Whether a box is a pass of a stage: no part, no optimizer, no communication. */
static inline bool ms_gantt_is_pass(const ms_gantt_box *box) {
    return !box->is_part && box->kind < MS_OP_OPTIMIZER;
}

#endif
