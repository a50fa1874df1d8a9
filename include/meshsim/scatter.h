/**
 * @file
 * Pictures of predictions against measurements: points on logarithmic axes, as SVG.
 */
#ifndef MESHSIM_SCATTER_H
#define MESHSIM_SCATTER_H

#include <stddef.h>

#include "meshsim/buffer.h"
#include "meshsim/decls.h"

MS_BEGIN_DECLS

/** A point. */
typedef struct ms_scatter_point {
    double x;         /**< > 0 */
    double y;         /**< > 0 */
    size_t series;    /**< index into the series */
    const char *name; /**< shown when a reader points at it */
} ms_scatter_point;

/** What is drawn. All borrowed. */
typedef struct ms_scatter {
    const char *title;
    const char *x_label; /**< with its unit */
    const char *y_label;
    const char *const *series; /**< [series_count] for the legend, in this order */
    size_t series_count;
    const ms_scatter_point *points; /**< [point_count] */
    size_t point_count;
} ms_scatter;

/** Append a picture as SVG: both axes logarithmic and of one scale, the line of equal values and
 * those 10 % off it, a marker for each point. Every series has a colour and a shape of its own, so
 * that it is known without colours, too.  Points that are not above 0 are left out.
 *  O(points). */
void ms_scatter_write(const ms_scatter *scatter, ms_buffer *out);

MS_END_DECLS

#endif
