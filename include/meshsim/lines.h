/**
 * @file
 * Pictures of a quantity over one setting, a line for each value of others, or over two settings as
 * a table of colours; as SVG.
 */
#ifndef MESHSIM_LINES_H
#define MESHSIM_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "meshsim/buffer.h"
#include "meshsim/decls.h"
#include "meshsim/units.h"

MS_BEGIN_DECLS

/** A value of a picture. */
typedef struct ms_lines_value {
    double value;     /**< NAN: there is none */
    bool is_marked;   /**< drawn hollow, or with a '!' */
    const char *name; /**< shown when a reader points at it; NULL: nothing */
} ms_lines_value;

/** What is drawn.  All is borrowed. */
typedef struct ms_lines {
    const char *title;
    const char *x_label;
    const char *y_label;        /**< of the lines, or of the rows of colours */
    const char *const *x_names; /**< [x_count] from left to right */
    const double *x;            /**< [x_count] where they lie; NULL: at equal distances */
    size_t x_count;
    const char *const *series; /**< [series_count] names of the lines, or of the rows */
    size_t series_count;
    const ms_lines_value *values; /**< [series_count][x_count] */
    ms_dimension dim;             /**< of the values; NONE: plain numbers */
    bool is_share;                /**< plain numbers shown in percent */
    const char *mark_note;        /**< what it means to be marked; NULL: nothing is */
    const char *const *notes;     /**< [note_count] lines under a picture of lines */
    size_t note_count;
} ms_lines;

/** Append the lines. The axis of values starts at 0; both axes are logarithmic where what lies
 * along them spans much.  O(values). */
void ms_lines_write(const ms_lines *lines, ms_buffer *out);

/** Append the table of colours, each with its value in it.  O(values). */
void ms_lines_write_heat(const ms_lines *lines, ms_buffer *out);

MS_END_DECLS

#endif
