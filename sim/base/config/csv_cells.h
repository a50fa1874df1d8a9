/**
 * @file
 * CSV texts, cell by cell: lines with LF or CR LF ends, a byte order mark at the start, blanks and
 * quotes around cells (RFC 4180), as spreadsheets write them. A cell does not run over several
 * lines, and a doubled quote in a cell stays doubled: no file that is read here needs either.
 */
#ifndef MESHSIM_CELLS_H
#define MESHSIM_CELLS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"

/** Text from `from` to before `to`. */
typedef struct ms_span {
    const char *from;
    const char *to;
} ms_span;

/** One cell of a line. */
typedef struct ms_cell {
    ms_span place;     /**< as it stands, quotes included, without blanks around it */
    ms_span text;      /**< without quotes and blanks */
    const char *fault; /**< what is wrong with its quotes ("has ..."); NULL: nothing */
} ms_cell;

/** A text without the byte order mark that may stand at its start. */
ms_span ms_cells_body(const char *text, size_t length_B);

/** The text without blanks around it. */
ms_span ms_span_trim(ms_span text);

/** Take the next line off a body, without its end.  Returns false at the end of the body. */
bool ms_cells_take_line(ms_span *body, ms_span *line_out);

/** Take the next cell off a line, up to a comma that stands in no quotes. A line without any
 * character has no cell, a line that ends in a comma has an empty one behind it.
 *  Returns false behind the last cell. */
bool ms_cells_take(ms_span *line, ms_cell *cell_out);

/** A CSV file while its lines are read. */
typedef struct ms_csv_file {
    const char *path; /**< borrowed, as the text and `diag` */
    ms_span body;     /**< the whole text */
    ms_span rest;     /**< the lines that are still to be read */
    int line;         /**< the line under way, from 1; 0: the file as a whole */
    ms_diag *diag;
    ms_status status; /**< MS_E_INPUT once a fault was reported */
} ms_csv_file;

/** Begin to read a file's text. A text with a NUL character is refused, and has no line to read.
 * path, diag of *file: set before. */
void ms_csv_file_begin(ms_csv_file *file, const char *text, size_t length_B);

/** Report a fault at the line under way. */
void ms_csv_file_fault(ms_csv_file *file, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Go to the next line with cells; blank lines and lines that begin with '#' have none.
 *  cells: [most + 1], those beyond the line's are empty.
 *  Returns how many cells the line has, at most most + 1; 0 behind the last line. */
int ms_csv_file_next(ms_csv_file *file, ms_cell *cells, int most);

#endif
