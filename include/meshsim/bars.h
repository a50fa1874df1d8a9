/**
 * @file
 * Pictures of quantities that add up, as stacked bars side by side under a limit; as SVG.
 */
#ifndef MESHSIM_BARS_H
#define MESHSIM_BARS_H

#include <stddef.h>

#include "meshsim/buffer.h"
#include "meshsim/decls.h"
#include "meshsim/units.h"

MS_BEGIN_DECLS

/** What is drawn.  All is borrowed. */
typedef struct ms_bars {
    const char *title;
    const char *x_label;
    const char *y_label;
    const char *const *names; /**< [count] of the bars, from left to right */
    size_t count;
    const char *const *parts;   /**< [part_count] what a bar is made of, from the bottom up */
    const char *const *colours; /**< [part_count] of the parts, such as "#0072b2" */
    size_t part_count;
    const double *values;   /**< [count][part_count] >= 0 */
    ms_dimension dim;       /**< of the values */
    double limit;           /**< a line across; bars above it are framed, with a '!' */
    const char *limit_name; /**< what the limit is */
    const char *over_note;  /**< what it means to be above it */
} ms_bars;

/** Append the bars, each part with its number where a reader points at it.  O(values). */
void ms_bars_write(const ms_bars *bars, ms_buffer *out);

MS_END_DECLS

#endif
