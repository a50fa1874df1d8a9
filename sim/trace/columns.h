/* The columns of a trace. */
#ifndef MS_TRACE_COLUMNS_H
#define MS_TRACE_COLUMNS_H

#include <stdint.h>

#include "trace/h5.h"
#include "trace/trace.h"

/* A file that is open. */
typedef struct ms_trace_file {
    hid_t hdf5;
    int64_t size_B;
    unsigned what; /* MS_TRACE_EVENTS, MS_TRACE_TABLES */
} ms_trace_file;

/* So many bytes, and so many times the size of a file, may its columns have when they are unpacked,
 * so that a file of a few megabytes cannot make meshsim allocate gigabytes. Columns of version 1
 * unpack to up to 6.6 times the file (65,536 equal microbatches, measured); ten times that is
 * accepted. */
enum { MS_COLUMNS_SHARE = 64, MS_COLUMNS_LEAST_B = 64 << 20 };

/* Read the columns and check each number: all of *trace but its level, texts and trees, in `arena`.
 * Any fault goes to *fault.  O(cells). */
void ms_columns_read(const ms_trace_file *file, ms_arena *arena, ms_trace *trace,
                     ms_h5_fault *fault);

/* Check that a mesh has as many ranks as the rows of /ranks stand for.  place: of the mesh. */
void ms_columns_check_mesh(const ms_trace *trace, const char *place, double mesh_ranks,
                           ms_h5_fault *fault);

#endif
