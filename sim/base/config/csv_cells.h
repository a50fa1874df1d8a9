/**
 * @file
 * Reads CSV texts cell by cell, as spreadsheets write them (RFC 4180): lines that end in LF or CR
 * LF, a byte order mark at the start, blanks and quotes around cells. Two things of the RFC are not
 * supported, as no file that is read here needs them: a cell on several lines, and a doubled quote
 * for a quote in a cell (it stays doubled).
 */
#ifndef MESHSIM_CSV_CELLS_H
#define MESHSIM_CSV_CELLS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"

/** A part of a text: from `from` to before `to`. */
typedef struct ms_span {
    const char *from;
    const char *to;
} ms_span;

/** One cell of a line. */
typedef struct ms_cell {
    ms_span span;      /**< the cell as written, quotes included, without blanks around it */
    ms_span text;      /**< without quotes and blanks */
    const char *fault; /**< what is wrong with its quotes ("has ..."); NULL: nothing */
} ms_cell;

/** The text behind a byte order mark, or the whole text if it has none. */
ms_span ms_cells_body(const char *text, size_t length_B);

/** The text without blanks around it. */
ms_span ms_span_trim(ms_span text);

/** Get the next line of a body, without its end, and shorten the body by the line.  Returns false
 * at the end of the body. */
bool ms_cells_next_line(ms_span *body, ms_span *line_out);

/** Get the next cell of a line, up to a comma that is not in quotes, and shorten the line by the
 * cell. An empty line has no cell; a line that ends in a comma has an empty cell behind it.
 *  Returns false behind the last cell. */
bool ms_cells_next(ms_span *line, ms_cell *cell_out);

/** The state of reading a CSV file line by line. */
typedef struct ms_csv_file {
    const char *path; /**< name in diagnostics; path, text and `diag` are borrowed */
    ms_span body;     /**< the whole text */
    ms_span rest;     /**< the lines that are still to be read */
    int line;         /**< the current line, from 1; faults are reported at it; 0: the whole file */
    ms_diag *diag;
    ms_status status; /**< MS_E_INPUT once a fault was reported */
} ms_csv_file;

/** Start reading a text. A text with a NUL character is reported, and has then no line to read.
 * file: its path and diag are set by the caller before. */
void ms_csv_file_begin(ms_csv_file *file, const char *text, size_t length_B);

/** Report a fault at the current line, and set the status to MS_E_INPUT.
 *  cell: of that line, which the fault is in; NULL: the fault is of the whole line. */
void ms_csv_file_fault(ms_csv_file *file, const ms_cell *cell, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Go to the next line with cells; blank lines and lines that begin with '#' are skipped.
 *  cells: [most + 1]; those that the line does not have are zero.
 *  Returns how many cells the line has, at most most + 1, which shows that there are too many; 0
 * behind the last line. */
int ms_csv_file_next(ms_csv_file *file, ms_cell *cells, int most);

#endif
