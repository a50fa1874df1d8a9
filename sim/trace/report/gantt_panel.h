/* The parts of a Gantt picture as SVG: panels, and the memory curves below them. A panel shows the
 * rows of a picture (pipeline ranks) over a window of time. */
#ifndef MS_REPORT_GANTT_PANEL_H
#define MS_REPORT_GANTT_PANEL_H

#include "trace/report/gantt_sorted.h"

/* One panel. Each row shows the box of each pass or, where boxes would be too narrow to see, the
 * shares of the kinds of passes in bins of time. */
typedef struct ms_panel {
    double x, y, width; /* left, top and width [pixels]; the height follows from the rows */
    double row_height;  /* [pixels] */
    double start, end;  /* window of time, in the picture's time unit */
    double bin_px;      /* > 0: width of the bins of shares [pixels]; 0: boxes are drawn */
    bool has_labels;    /* names of the rows to the left */
    bool has_tips;      /* tooltips on boxes */
} ms_panel;

/* Height of a panel without its axis [pixels]. */
double ms_panel_height(const ms_panel *panel, const ms_gantt_sorted *sorted);
/* Append the panel with its phases, frame, axis and labels. */
void ms_panel_draw(const ms_panel *panel, const ms_gantt_sorted *sorted, ms_buffer *out);
/* Append the hatches that mark idle time; once per picture, before any panel. */
void ms_panel_define_hatches(ms_buffer *out);
/* Fills of idle time before, in and after the steady phase. */
#define MS_FILL_WARM     "url(#warm-up)"
#define MS_FILL_STEADY   "#ffffff"
#define MS_FILL_COOL     "url(#cool-down)"
/* Width below which a box cannot be seen and is left out [pixels]. */
#define MS_BOX_LEAST_PX  0.3
/* Width of the lines between phases [pixels]. */
#define MS_PHASE_LINE_PX "1.4"
/* Smallest font size at which text is drawn [pixels], and the width of a digit at font size 1. */
#define MS_FONT_LEAST    6.5
#define MS_DIGIT_WIDTH   0.6

/* Range of the level axis, which all memory curves of a page share; in the unit of the levels. */
typedef struct ms_curve_scale {
    double floor, top; /* levels at the bottom and at the top of the curves */
    bool has_limit;    /* the capacity is near enough to the peak to be drawn */
} ms_curve_scale;

/* The memory curves of a picture. */
typedef struct ms_curves {
    double x, y, width; /* left, top and width [pixels]; the height follows from the rows */
    double end;         /* right end of the time axis, in the picture's time unit */
    ms_curve_scale scale;
    double band_height; /* height of the band [pixels] */
    bool has_strips;    /* a strip with a curve for each row; else one band between the lowest and
                           the highest curve of all rows */
} ms_curves;

/* The scale for the memory of some pictures.  pictures: [count]; those without memory are skipped.
 */
ms_curve_scale ms_curves_fit(const ms_gantt_sorted *pictures, size_t count);
/* Height of the curves with their heading [pixels]. */
double ms_curves_height(const ms_curves *curves, const ms_gantt_sorted *sorted);
/* Append heading and curves of a picture that has memory. The peaks are written to the right of the
 * curves. */
void ms_curves_draw(const ms_curves *curves, const ms_gantt_sorted *sorted, ms_buffer *out);
/* Width of the written peaks [pixels]. */
#define MS_CURVES_RIGHT_PX 62.0

#endif
