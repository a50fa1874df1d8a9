/* Writing HDF5 with libhdf5: groups, attributes, texts and tables of columns.
 *
 * The first error is kept and turns all later calls into no-ops, so one check at the end is enough.
 * The same calls give the same bytes: objects have no times, and the format's version is fixed. */
#ifndef MS_TRACE_H5_WRITE_H
#define MS_TRACE_H5_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "trace/h5.h"
#include "trace/tables.h"

/* A file that is being written. */
typedef struct ms_h5 {
    hid_t file;
    hid_t object_plist;       /* creation properties of groups: keep the order of links, no times */
    hid_t types[MS_H5_CELLS]; /* types of cells, in the file and in memory */
    hid_t words_type;         /* type of texts of any length, in UTF-8 */
    ms_arena *scratch;
    bool failed;
    char cause[256]; /* of the first failure */
} ms_h5;

/* Begin a file, which replaces the contents of the one at `path`.  scratch: borrowed, for the cells
 * of columns. */
void ms_h5_create(ms_h5 *h5, const char *path, ms_arena *scratch);
/* Write all data that HDF5 still holds in memory, and close the file; after a failure nothing is
 * written.  Returns whether no call has failed. */
bool ms_h5_close(ms_h5 *h5);
/* Set a failure that is not one of HDF5. */
void ms_h5_fail(ms_h5 *h5, const char *cause);

/* Make a group.  Returns its identifier, which the caller closes by H5Gclose; -1 after a failure.
 */
hid_t ms_h5_group(ms_h5 *h5, hid_t parent, const char *name);
/* Write an attribute with a text, or with an integer, of a group or dataset. */
void ms_h5_text(ms_h5 *h5, hid_t object, const char *name, const char *text);
void ms_h5_integer(ms_h5 *h5, hid_t object, const char *name, int64_t integer);
/* Cells of an attribute or a dataset. */
typedef struct ms_h5_cells {
    hid_t type;
    int64_t count; /* < 0: one cell that is not a list */
    const void *data;
} ms_h5_cells;

/* Write an attribute of a group or dataset. */
void ms_h5_attribute(ms_h5 *h5, hid_t object, const char *name, ms_h5_cells cells);
/* Write a text as a dataset of one cell, with its sha256 as attribute. */
void ms_h5_document(ms_h5 *h5, hid_t parent, const char *name, const char *text);

/* Make a record of a table.  row: its number, from 0. */
typedef void ms_record_maker(void *context, size_t row, void *record_out);

/* Write a table: an HDF5 dimension scale without stored coordinates, as netCDF-4 has them, and one
 * 1-D dataset per column.  make: makes each of the rows, in their order; context: its first
 * argument. */
void ms_h5_write_made(ms_h5 *h5, const ms_trace_table *table, ms_record_maker *make, void *context,
                      size_t rows);
/* Write a table whose records are in memory.  records: [rows]; NULL: memory ran out, which is
 * reported unless rows is 0. */
void ms_h5_write_table(ms_h5 *h5, const ms_trace_table *table, const void *records, size_t rows);

#endif
