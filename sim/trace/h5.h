/* Writing HDF5: groups, attributes and tables of columns, keeping the first error.
 *
 * Every function is a no-op after a failure, so one check at the end is enough. A table is a group
 * with one shared dimension (an HDF5 dimension scale without stored coordinates, as netCDF-4 has
 * them) and one 1-D dataset per column. */
#ifndef MS_TRACE_H5_H
#define MS_TRACE_H5_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meshsim/arena.h"
#include "meshsim/status.h"
#include "trace/pack.h"

enum {
    MS_H5_TEXT_B = 48,         /* longest name in a text column, with its NUL */
    MS_H5_CHUNK_CELLS = 65024, /* of 8 bytes they fit HDF5's 1 MiB chunk cache, and a byte of each
                                  zlib's window, which need not move on in a plane then */
    MS_H5_COLUMNS_MAX = 32     /* of a table */
};

typedef struct ms_h5 {
    hid_t file;
    hid_t group_plist;   /* creation order of links and attributes kept, no times */
    hid_t dataset_plist; /* no times */
    hid_t kind_type;     /* enum ms_op_kind, in the file */
    hid_t axis_type;     /* enum ms_axis, in the file */
    hid_t text_type;     /* variable-length UTF-8 */
    hid_t scalar_space;  /* of one cell, for all attributes that have one */
    void *cells;         /* one chunk of a column */
    uint8_t *planes;     /* its bytes by significance */
    uint8_t *packed;     /* these compressed */
    ms_packer *packer;
    bool failed;
    char cause[256]; /* of the first failure */
} ms_h5;

typedef enum ms_h5_cell {
    MS_H5_KIND,
    MS_H5_AXIS,
    MS_H5_I16,
    MS_H5_I32,
    MS_H5_I64,
    MS_H5_F64,
    MS_H5_TEXT
} ms_h5_cell;

typedef struct ms_column {
    const char *name;
    ms_h5_cell cell;
    const char *units;
    const char *long_name;
    const void *source; /* first record of an array, or whatever `fill` wants */
    size_t stride;      /* bytes from record to record; 0: `fill` makes the cells */
    size_t offset;      /* of the cell in a record */
    void (*fill)(const struct ms_column *column, size_t first, size_t count, void *cells_out);
} ms_column;

typedef struct ms_h5_table {
    const char *group;
    const char *dimension; /* name of the shared dimension */
    const char *long_name; /* what a row is */
    size_t rows;
    const ms_column *columns;
    size_t column_count;
} ms_h5_table;

/* Start the file anew: `path` is a file of ours.  scratch: keeps the column buffer. */
void ms_h5_create(ms_h5 *h5, const char *path, ms_arena *scratch);
/* Flush and close everything, also after a failure.  Returns whether all went well. */
bool ms_h5_close(ms_h5 *h5);
/* Note a failure unless `status` >= 0; returns whether all is well so far. */
bool ms_h5_check(ms_h5 *h5, int64_t status);
/* Note a failure of our own. */
void ms_h5_fail(ms_h5 *h5, const char *cause);

hid_t ms_h5_group(ms_h5 *h5, hid_t parent, const char *name);
void ms_h5_close_group(ms_h5 *h5, hid_t group);
void ms_h5_text(ms_h5 *h5, hid_t object, const char *name, const char *text);
void ms_h5_integer(ms_h5 *h5, hid_t object, const char *name, int64_t integer);

/* What an attribute holds. */
typedef struct ms_h5_cells {
    hid_t type;       /* in memory and in the file */
    int64_t count;    /* cells; < 0: a scalar */
    const void *data; /* [count] */
} ms_h5_cells;

void ms_h5_attribute(ms_h5 *h5, hid_t object, const char *name, ms_h5_cells cells);
/* A text as a scalar dataset of /input with its sha256 as attribute. */
void ms_h5_document(ms_h5 *h5, hid_t group, const char *name, const char *text);
void ms_h5_write_table(ms_h5 *h5, const ms_h5_table *table);

/* Fill one cell of a text column: cut at MS_H5_TEXT_B bytes, padded with NULs. */
void ms_h5_put_text(char *cell_out, const char *text);

/* Bytes of a cell in memory. */
size_t ms_h5_cell_B(ms_h5_cell cell);

/* Memory type of a cell for reading. */
hid_t ms_h5_memory_type(ms_h5_cell cell);

/* Switch off what HDF5 does behind our back: its exit handler (it crashes after a failed write) and
 * its error stacks on stderr. To be called before anything else. */
void ms_h5_quiet(void);

/* What the newest HDF5 error was: MS_E_NOMEM, MS_E_IO with the system's words, or else MS_E_INPUT
 * with HDF5's.  errno: as HDF5 left it. */
ms_status ms_h5_failure(char *cause_out, size_t size);

#endif
