/* The lines of a text file, which may be compressed with gzip. The file is read piece by piece, so
 * that its size is not limited. */
#ifndef MS_RECORDED_LINES_H
#define MS_RECORDED_LINES_H

#include "base/config/csv_cells.h"

/* A file that is being read. */
typedef struct ms_lines ms_lines;

/* Open a file.  path: borrowed.  *lines_out: in `arena`, closed by ms_lines_close.  Returns MS_OK;
 * MS_E_IO; MS_E_NOMEM (reported). */
ms_status ms_lines_open(const char *path, ms_arena *arena, ms_diag *diag, ms_lines **lines_out);

/* Get the next line, which a NUL ends.  *line_out: with its line feed; valid until the next call.
 * Returns false behind the last line, and after a fault (ms_lines_close). */
bool ms_lines_next(ms_lines *lines, ms_span *line_out);

/* Close the file.  Returns MS_OK; MS_E_IO or MS_E_INPUT (reported) where it could not be read to
 * its end. */
ms_status ms_lines_close(ms_lines *lines);

#endif
