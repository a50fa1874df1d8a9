/* The parts that writing and reading HDF5 share: types of cells, and the causes of failures. A cell
 * is one number or text of a column. */
#ifndef MS_TRACE_H5_H
#define MS_TRACE_H5_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/child.h"

/* Bytes of a cell of a text column, its NUL included. */
enum { MS_H5_TEXT_B = 48 };

/* Types of the cells of a column. */
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

/* HDF5's type in memory of a cell that is not a text; for an enumeration the type of its numbers.
 */
hid_t ms_h5_memory_type(ms_h5_cell cell);

/* Find the cause of the failure of the latest call of HDF5. The next call of HDF5 clears it.
 *  errno: as HDF5 left it.  cause_out: [size] the cause in words.  Returns MS_E_NOMEM; MS_E_IO with
 * the text of a system error; MS_E_INPUT with the text of HDF5. */
ms_status ms_h5_failure(char *cause_out, size_t size);

/* The first fault of a file that is read. */
typedef struct ms_h5_fault {
    ms_status status; /* MS_OK: none so far */
    char *cause;      /* [MS_CHILD_CAUSE_B] */
} ms_h5_fault;

/* Set a fault, unless there is one already.  format: of its cause.  Returns -1. */
herr_t ms_h5_set_fault(ms_h5_fault *fault, ms_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Set a fault for the failure of the latest call of HDF5: a lack of memory, a system error, or else
 * damage of the file at `object_path` (NULL: HDF5's text).  Returns -1. */
herr_t ms_h5_fault_of_call(ms_h5_fault *fault, const char *object_path);

/* Read an integer attribute.  object_path: name for the fault if the object has no such attribute.
 * Returns 0 with a fault. */
int64_t ms_h5_read_integer(hid_t object, const char *name, const char *object_path,
                           ms_h5_fault *fault);

/* Start HDF5 in a child process, without its exit handler, which crashes after a failure, without
 * error stacks on stderr, and without plug-ins, even if a file asks for them.  Returns false where
 * memory runs out. */
bool ms_h5_start(void);

#endif
