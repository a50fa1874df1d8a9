/* What writing and reading HDF5 have in common: types of cells, and why HDF5 failed. */
#ifndef MS_TRACE_H5_H
#define MS_TRACE_H5_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/child.h"

/* Bytes of a cell of a text column, its NUL included. */
enum { MS_H5_TEXT_B = 48 };

/* What the cells of a column are. */
typedef enum ms_h5_cell {
    MS_H5_KIND, /* enum ms_op_kind */
    MS_H5_AXIS, /* enum ms_axis */
    MS_H5_I16,
    MS_H5_I32,
    MS_H5_I64,
    MS_H5_F64,
    MS_H5_TEXT, /* MS_H5_TEXT_B bytes */
    MS_H5_CELLS
} ms_h5_cell;

/* Bytes of a cell in memory. */
size_t ms_h5_cell_B(ms_h5_cell cell);

/* HDF5's type in memory of a cell that is no text; of an enumeration its numbers. */
hid_t ms_h5_memory_type(ms_h5_cell cell);

/* Say why the latest call of HDF5 failed. The next call of HDF5 forgets the failure.
 *  errno: as HDF5 left it.  cause_out: [size] in words.  Returns MS_E_NOMEM; MS_E_IO with the
 * system's words; MS_E_INPUT with those of HDF5. */
ms_status ms_h5_failure(char *cause_out, size_t size);

/* The first fault of a file that is read. */
typedef struct ms_h5_fault {
    ms_status status; /* MS_OK: none so far */
    char *cause;      /* [MS_CHILD_CAUSE_B] */
} ms_h5_fault;

/* Note a fault, unless there is one already.  Returns -1. */
herr_t ms_h5_refuse(ms_h5_fault *fault, ms_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Note that the latest call of HDF5 failed, as ms_h5_failure says, or else that the file is damaged
 * at `place` (NULL: in HDF5's words).  Returns -1. */
herr_t ms_h5_fail_at(ms_h5_fault *fault, const char *place);

/* Read an integer attribute.  place: where the file is damaged if it has none.  Returns 0 with a
 * fault. */
int64_t ms_h5_read_integer(hid_t object, const char *name, const char *place, ms_h5_fault *fault);

/* Start HDF5 in a child process: no exit handler, which crashes after a failure; no error stacks on
 * stderr; no plug-ins, whatever a file asks for.  Returns false where memory runs out. */
bool ms_h5_start(void);

#endif
