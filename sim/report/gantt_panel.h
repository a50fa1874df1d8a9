/* One panel of a Gantt picture: rows over a window of time, as boxes or as mean colours. */
#ifndef MS_REPORT_GANTT_PANEL_H
#define MS_REPORT_GANTT_PANEL_H

#include "meshsim/report.h"

/* A picture with its boxes in order of row, start and passes before their parts. */
typedef struct ms_gantt_sorted {
    const ms_gantt *gantt;
    const ms_gantt_box *boxes;
    size_t *row_first; /* [rows + 1] */
    double median;     /* length of a pass */
    double unit;       /* time units in one unit of the axis */
    const char *unit_name;
} ms_gantt_sorted;

typedef struct ms_panel {
    double x, y, width; /* pixels; the height follows from the rows */
    double row_height;
    double start, end; /* window of time */
    int32_t row_step;  /* every how many rows of the picture one is shown */
    bool is_density;   /* mean colours in bins of two pixels */
    bool has_labels;   /* names of the rows to the left */
    bool has_tips;     /* what a box is, on hovering */
} ms_panel;

double ms_panel_height(const ms_panel *panel, int32_t rows);
/* Append the panel with its frame, axis and labels. */
void ms_panel_draw(const ms_panel *panel, const ms_gantt_sorted *sorted, ms_buffer *out);
/* Smallest font size that is still drawn, and the width of a digit at size 1. */
#define MS_FONT_LEAST  6.5
#define MS_DIGIT_WIDTH 0.6

#endif
