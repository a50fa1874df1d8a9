/* The tables of a trace that are written and read: each column once, with its name, its cells and
 * the bounds of its numbers. */
#ifndef MS_TRACE_TABLES_H
#define MS_TRACE_TABLES_H

#include <math.h>
#include <stddef.h>

#include "trace/h5.h"
#include "trace/trace.h"

/* Largest number of ranks, of microbatches and of other counts: far above what is simulated, and
 * the sum of two of them is an int32_t. */
enum { MS_TRACE_COUNT_MAX = 1 << 30 };

/* Largest number of a column whose bound depends on the trace, in place of ms_column.high. */
enum {
    MS_HIGH_UNREAD = -2, /* nobody reads the column */
    MS_HIGH_RUN_END = -3,
    MS_HIGH_STEP = -4, /* the last row of /steps, of /streams, of /events */
    MS_HIGH_STREAM = -5,
    MS_HIGH_EVENT = -6,
};

/* A column of a table. Its cells are members of records. */
typedef struct ms_column {
    const char *name;
    ms_h5_cell cell; /* of MS_H5_TEXT the record holds a pointer to a text, NULL alike "" */
    const char *units;
    const char *long_name;
    size_t offset;    /* in a record */
    double low, high; /* bounds of its numbers, where it is read; high: or MS_HIGH_... */
    bool is_optional; /* older traces may lack it */
} ms_column;

/* A group with one shared dimension and one dataset per column. */
typedef struct ms_trace_table {
    const char *group;
    const char *dimension; /* name of the shared dimension */
    const char *long_name; /* what a row is */
    size_t record_B;
    const ms_column *columns;
    size_t column_count;
} ms_trace_table;

#define MS_COLUMNS(record, columns) sizeof(record), (columns), sizeof(columns) / sizeof(columns)[0]

/* A row of /steps. */
typedef struct ms_trace_step {
    int64_t start_ps;
    int64_t end_ps;
} ms_trace_step;

/* A row of /mesh. */
typedef struct ms_trace_axis {
    const char *name;
    int32_t size;
    int32_t stride;
} ms_trace_axis;

/* Records: ms_trace_step, ms_trace_axis, ms_trace_rank, and ms_trace_stream and ms_trace_memory
 * with ranks of the job in place of indices. */
extern const ms_trace_table MS_TABLE_STEPS, MS_TABLE_MESH, MS_TABLE_RANKS, MS_TABLE_STREAMS;
extern const ms_trace_table MS_TABLE_EVENTS, MS_TABLE_PASSES, MS_TABLE_MEMBERS, MS_TABLE_MEMORY;

/* A time as the columns have it [ps], rounded to the nearest, ties to even. */
static inline int64_t ms_to_ps(double seconds) {
    return (int64_t)llrint(seconds * MS_PS_PER_S);
}

#endif
