/* What a child reads of a trace with HDF5, sent to its parent as it stands in the file: nothing of
 * it is checked but that it can be held. read.c does the rest.
 *
 * The child writes for each column that is wanted, in order, the number of its rows and its cells,
 * then for each document its length (-1: there is none) and its bytes, and the same of the packed
 * summary and, where they are wanted, of the packed tables; each number is an int64_t. Where it
 * fails it just ends, and its verdict says why. */
#ifndef MS_TRACE_PARCEL_H
#define MS_TRACE_PARCEL_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/child.h"
#include "trace/h5.h"
#include "trace/repeat.h"

enum { MS_PARCEL_COLUMNS_MAX = 32, MS_PARCEL_TEXT_B = 128, MS_PARCEL_DOCUMENTS = 6 };

typedef struct ms_parcel_column {
    const char *name; /* "/events/mb" */
    ms_h5_cell cell;
    bool is_wanted;
    bool is_optional; /* may be missing: -1 rows */
} ms_parcel_column;

/* In shared memory. */
typedef struct ms_parcel {
    ms_child_verdict verdict;
    const char *path;
    int64_t size_B; /* of the trace */
    int pipe;       /* where to write */
    ms_parcel_column columns[MS_PARCEL_COLUMNS_MAX];
    int column_count;
    bool wants_tables; /* after the summary the tables, packed */
    int64_t plain_B;   /* of all columns so far */
    int64_t stored_B;  /* of these columns in the file */
    char program_version[MS_PARCEL_TEXT_B];
    char level[MS_PARCEL_TEXT_B];        /* of its events; "": it does not say */
    char repeat[MS_TRACE_REPEAT_TEXT_B]; /* what of them happened more often (repeat.h); "": nothing
                                          */
} ms_parcel;

/* Maximum size of the unpacked columns of a file of `size_B` bytes, so that a file of a few
 * megabytes cannot make meshsim allocate gigabytes. Start, end and cause of an operation hardly
 * compress: columns unpack to up to 5.4 times the file for the workloads here, at every level, and
 * to 6.6 times with 65,536 equal microbatches (measured); ten times that is accepted. */
int64_t ms_parcel_plain_max_B(int64_t size_B);

/* Read what the parcel asks for; `context` is the parcel. To be run in a child. */
void ms_parcel_fill(void *context, ms_child_verdict *verdict);

#endif
