/* Reading with HDF5: what of its ways is to be known, once. */
#ifndef MS_TRACE_H5_READ_H
#define MS_TRACE_H5_READ_H

#include <hdf5.h>

#include "meshsim/status.h"
#include "trace/h5.h"

/* Memory type of a column's cell. */
hid_t ms_h5_memory_type(ms_h5_cell cell);

/* Sum of the lengths of cells of variable length, before HDF5 reads them: it needs 900 MB of memory
 * for a text of 200 MB.
 *  from: an attribute or a dataset of such cells.  count: of its cells.
 *  Returns the sum [characters of texts, else cells]; -1 if it cannot be read.  O(count). */
int64_t ms_h5_lengths(hid_t from, hssize_t count, ms_arena *scratch);

/* Switch off what HDF5 does behind our back: its exit handler (it crashes after a failure), its
 * error stacks on stderr, and plug-ins. To be called before anything else. */
void ms_h5_quiet(void);

/* What the newest HDF5 error was: MS_E_NOMEM, MS_E_IO with the system's words, or else MS_E_INPUT
 * with HDF5's.  errno: as HDF5 left it. */
ms_status ms_h5_failure(char *cause_out, size_t size);

#endif
