/* The parts of a Gantt picture: panels, and the memory curves under them. */
#ifndef MS_REPORT_GANTT_PANEL_H
#define MS_REPORT_GANTT_PANEL_H

#include "trace/report/gantt_sorted.h"

/* One panel: rows over a window of time, as boxes or as shares of kinds. */
typedef struct ms_panel {
    double x, y, width; /* pixels; the height follows from the rows */
    double row_height;
    double start, end; /* window of time */
    double bin_px;     /* > 0: shares of kinds in bins as wide; 0: boxes */
    bool has_labels;   /* names of the rows to the left */
    bool has_tips;     /* what a box is, on hovering */
} ms_panel;

double ms_panel_height(const ms_panel *panel, const ms_gantt_sorted *sorted);
/* Append the panel with its phases, frame, axis and labels. */
void ms_panel_draw(const ms_panel *panel, const ms_gantt_sorted *sorted, ms_buffer *out);
/* Append the hatches that mark idle time; once per picture, before any panel. */
void ms_panel_define_hatches(ms_buffer *out);
/* Fills of idle time before, in and after the steady phase. */
#define MS_FILL_WARM     "url(#warm-up)"
#define MS_FILL_STEADY   "#ffffff"
#define MS_FILL_COOL     "url(#cool-down)"
/* Narrower boxes cannot be seen and are left out. */
#define MS_BOX_LEAST_PX  0.3
/* Width of the lines where phases meet. */
#define MS_PHASE_LINE_PX "1.4"
/* Smallest font size that is still drawn, and the width of a digit at size 1. */
#define MS_FONT_LEAST    6.5
#define MS_DIGIT_WIDTH   0.6

/* Range of levels that pictures share. */
typedef struct ms_curve_scale {
    double floor, top;
    bool has_limit; /* the limit is near enough to be drawn */
} ms_curve_scale;

typedef struct ms_curves {
    double x, y, width; /* pixels; the height follows from the rows */
    double end;         /* of the time axis */
    ms_curve_scale scale;
    double band_height;
    bool has_strips; /* a strip per row; else the highest and the lowest of all rows in one */
} ms_curves;

/* The range of levels of pictures [count] that have memory. */
ms_curve_scale ms_curves_fit(const ms_gantt_sorted *pictures, size_t count);
double ms_curves_height(const ms_curves *curves, const ms_gantt_sorted *sorted);
/* Append heading and curves of a picture that has memory.  Peaks stand to the right of the width.
 */
void ms_curves_draw(const ms_curves *curves, const ms_gantt_sorted *sorted, ms_buffer *out);
/* Room that the peaks need there. */
#define MS_CURVES_RIGHT_PX 62.0

#endif
