/* The memory curves under a Gantt picture. */
#ifndef MS_REPORT_GANTT_CURVE_H
#define MS_REPORT_GANTT_CURVE_H

#include "trace/report/gantt_sorted.h"

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
