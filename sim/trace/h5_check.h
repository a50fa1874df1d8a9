/* What HDF5 may be asked to read in an untrusted file. */
#ifndef MS_TRACE_H5_CHECK_H
#define MS_TRACE_H5_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/h5.h"

/* Check every link and dataset of a file, and read no data. A trace holds all of its data itself,
 * under one name each. But a file could lead HDF5 to other files of the reader (external links,
 * external storage, virtual datasets), to code (filters that are plugins), and into circles (links
 * to groups above). Such a file is refused: *fault names the first such object and says what it is.
 * O(objects), of which there are at most some 100,000. */
void ms_h5_check_file(hid_t file, ms_h5_fault *fault);

/* Whether the stored bytes of a dataset can hold `rows` rows.
 *  *stored_B_out: these bytes.  O(chunks). */
bool ms_h5_has_cells(hid_t data, int64_t rows, int64_t *stored_B_out);

#endif
