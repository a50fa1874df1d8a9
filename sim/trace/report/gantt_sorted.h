/* A Gantt picture that is sorted and measured for drawing: boxes by row, steady phases, the
 * repeated period, sizes of texts. */
#ifndef MS_REPORT_GANTT_SORTED_H
#define MS_REPORT_GANTT_SORTED_H

#include "trace/report/report.h"

/* Phases of a row and step, as the metrics and the evaluation on paper divide idle time. The steady
 * phase lasts from the first backward pass to the end of the last forward pass. The time before it
 * is warm-up, from the last pass of the step before on; the time after it is cool-down, to the
 * step's last pass, or after the last step to the picture's end. */
typedef struct ms_gantt_steady {
    double from;  /* warm-up begins */
    double start; /* steady phase begins */
    double end;   /* steady phase ends; without passes equal to `to` */
    double to;    /* cool-down ends */
} ms_gantt_steady;

/* The time in which all rows are in their steady phase, in the middle one of the steps, and the
 * shortest sequence of passes that the middle row repeats in this time. */
typedef struct ms_gantt_period {
    double from, to; /* from >= to: the steady phases have no time in common */
    double length;   /* from a pass to the same one of the next sequence; 0: nothing repeats */
    int32_t passes;  /* boxes of passes in a sequence */
} ms_gantt_period;

/* A picture, sorted and measured. */
typedef struct ms_gantt_sorted {
    const ms_gantt *gantt;
    const ms_gantt_box *boxes; /* by row, then start; a pass before its parts */
    size_t *row_first;         /* [rows + 1] boxes of row r: row_first[r] .. row_first[r + 1] - 1 */
    ms_gantt_steady *steady;   /* [rows][steps] */
    int32_t steps;
    ms_gantt_period period; /* of the steady phase */
    double median;          /* median length of a pass */
    double quartile;        /* first quartile of the lengths of passes */
    int32_t slices;         /* slices of a sequence per microbatch; 1: not sliced */
    int number_length;      /* characters of the longest number in a box */
    double unit;            /* time units in one unit of the axis */
    const char *unit_name;  /* "s", "ms", "us", or "" for abstract time */
    int32_t row_step;       /* one row in row_step is shown */
    int32_t rows_shown;
} ms_gantt_sorted;

/* Find the phases of all rows and steps of a picture, whose boxes may be in any order.  steady_out:
 * [rows][steps], in `arena`.  Returns MS_OK; MS_E_RANGE as ms_gantt_write_svg; MS_E_NOMEM. */
ms_status ms_gantt_find_steady(const ms_gantt *gantt, ms_arena *arena, ms_gantt_steady **steady_out,
                               int32_t *steps_out);

/* Sort and measure `gantt`; all rows are shown.  gantt: borrowed.  axis_end: right end of the time
 * axis, by which its unit is chosen.  *sorted_out: in `arena`.  Returns MS_OK; MS_E_RANGE as
 * ms_gantt_write_svg; MS_E_NOMEM. */
ms_status ms_gantt_sort(const ms_gantt *gantt, double axis_end, ms_arena *arena,
                        ms_gantt_sorted *sorted_out);
/* Show at most `rows_max` rows, evenly spaced.  rows_max: >= 1. */
void ms_gantt_show_rows(ms_gantt_sorted *sorted, int32_t rows_max);

/* Whether a box is a pass of a stage: not a part, an update or communication. */
static inline bool ms_gantt_is_pass(const ms_gantt_box *box) {
    return !box->is_part && box->kind < MS_OP_OPTIMIZER;
}

#endif
