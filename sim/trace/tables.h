/* The tables of a trace that are both written and read. A column is defined once, with its name,
 * the type of its cells and the bounds of its numbers; a record is a row of a table in memory. */
#ifndef MS_TRACE_TABLES_H
#define MS_TRACE_TABLES_H

#include <math.h>
#include <stddef.h>

#include "trace/h5.h"
#include "trace/trace.h"

/* Maximum number of ranks, of microbatches and of other counts: far above any simulation, and the
 * sum of two of them is an int32_t. */
enum { MS_TRACE_COUNT_MAX = 1 << 30 };

/* Values of ms_column.high for columns whose maximum depends on the trace. */
enum {
    MS_HIGH_UNREAD = -2,  /* the column is not read */
    MS_HIGH_RUN_END = -3, /* end of the run */
    MS_HIGH_STEP = -4,    /* last row of /steps */
    MS_HIGH_STREAM = -5,  /* last row of /streams */
    MS_HIGH_EVENT = -6,   /* last row of /events */
};

/* A column of a table. Its cells are members of records. */
typedef struct ms_column {
    const char *name;
    ms_h5_cell cell;       /* a record has a pointer to a text for MS_H5_TEXT; NULL counts as "" */
    const char *units;     /* attribute of the column */
    const char *long_name; /* attribute of the column: its meaning */
    size_t offset;         /* of the member in a record */
    double low, high;      /* minimum and maximum of its numbers when it is read, or MS_HIGH_... */
    bool is_optional;      /* older traces may lack it */
} ms_column;

/* A group with one shared dimension and one dataset per column. */
typedef struct ms_trace_table {
    const char *group;
    const char *dimension; /* name of the shared dimension */
    const char *long_name; /* meaning of a row */
    size_t record_B;       /* size of a record */
    const ms_column *columns;
    size_t column_count;
} ms_trace_table;

/* The last three members of a table from its type of records and its columns. */
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

/* The tables. Their records are ms_trace_step, ms_trace_axis, ms_trace_rank, ms_trace_stream,
 * ms_trace_event, ms_trace_member and ms_trace_memory; in the file, streams and memory have ranks
 * of the job in place of indices. */
extern const ms_trace_table MS_TABLE_STEPS, MS_TABLE_MESH, MS_TABLE_RANKS, MS_TABLE_STREAMS;
extern const ms_trace_table MS_TABLE_EVENTS, MS_TABLE_PASSES, MS_TABLE_MEMBERS, MS_TABLE_MEMORY;

/* A time in whole picoseconds, as in the columns: rounded to the nearest, ties to even. */
static inline int64_t ms_to_ps(double seconds) {
    return (int64_t)llrint(seconds * MS_PS_PER_S);
}

#endif
