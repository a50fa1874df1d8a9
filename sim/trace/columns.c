/* Reads the tables of a trace as records and checks them (ms_columns_read): each number against its
 * bounds, each index against its table, and tables against each other. A table is read column by
 * column; its sizes are checked before any memory is allocated. */
#include "trace/h5_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/tables.h"

enum { ROWS_MAX = 1 << 28 }; /* maximum number of rows of a table: more than any simulation has */
enum { CELL_MOST_B = 8 };    /* maximum size of a cell in memory */

/* The tables that have been read so far. */
typedef struct trace_tables {
    const ms_trace_file *file;
    ms_arena *arena;
    ms_trace *trace;
    ms_h5_fault *fault;
    int32_t step_count;
    int64_t plain_B;  /* unpacked bytes of the columns so far */
    int64_t stored_B; /* bytes of these columns in the file */
} trace_tables;

/* A column that is open. */
typedef struct open_column {
    const ms_trace_table *table;
    const ms_column *column;
    char name[64]; /* such as "/events/mb" */
    hid_t data;
    int32_t rows;
} open_column;

/* Whether there is no fault so far. */
static bool goes_on(const trace_tables *read) {
    return read->fault->status == MS_OK;
}

/* Set a fault of the file, unless there is one already. */
#define REFUSE(read, ...) ((void)ms_h5_set_fault((read)->fault, MS_E_INPUT, __VA_ARGS__))

/* Set a fault of a row.  column: such as "/events/mb". */
static void fail_at(trace_tables *read, const char *column, int32_t row, const char *fault) {
    REFUSE(read, "the trace is damaged at %s[%d]: %s", column, row, fault);
}

/* Allocate `count` zeroed objects; NULL with a fault. */
static void *allocate(trace_tables *read, ms_arena *arena, int64_t count, size_t size) {
    void *memory = goes_on(read) ? ms_arena_alloc(arena, (size_t)count, size) : NULL;
    if (memory == NULL) {
        (void)ms_h5_set_fault(read->fault, MS_E_NOMEM, "out of memory");
    }
    return memory;
}

/* ---- columns ---- */

/* The number in a cell; whole numbers up to 2^53 are exact. */
static double number_in(ms_h5_cell cell, const char *at) {
    int64_t wide = 0;
    double number = 0.0;
    switch (cell) {
    case MS_H5_KIND:
    case MS_H5_AXIS:
        return *(const int8_t *)at;
    case MS_H5_I16:
        return *(const int16_t *)(const void *)at;
    case MS_H5_I32:
        return *(const int32_t *)(const void *)at;
    case MS_H5_I64:
        memcpy(&wide, at, sizeof wide);
        return (double)wide;
    default:
        memcpy(&number, at, sizeof number);
        return number;
    }
}

/* The maximum number of a column. */
static double high_of(const trace_tables *read, const ms_column *column) {
    switch ((int)fmin(column->high, 0)) {
    case MS_HIGH_RUN_END:
        return (double)read->trace->step_ps;
    case MS_HIGH_STEP:
        return read->step_count - 1;
    case MS_HIGH_STREAM:
        return read->trace->stream_count - 1;
    case MS_HIGH_EVENT:
        return read->trace->event_count - 1;
    default:
        return column->high;
    }
}

/* Check that the file can hold the rows of a column: its stored bytes can unpack to them, and all
 * columns together stay within the limits of h5_read.h. No memory is allocated before. */
static void check_size(trace_tables *read, const open_column *at, hssize_t rows) {
    int64_t stored_B = 0;
    int64_t most_B = MS_COLUMNS_LEAST_B + MS_COLUMNS_SHARE * read->file->size_B;
    bool has_cells = ms_h5_has_cells(at->data, rows, &stored_B);
    char cause[256];
    ms_status status = has_cells ? MS_OK : ms_h5_failure(cause, sizeof cause);
    if (!has_cells && status != MS_E_INPUT) { /* not a lack of cells, but a failure of HDF5 */
        (void)ms_h5_set_fault(read->fault, status, "%s", cause);
    }
    read->stored_B += stored_B;
    read->plain_B += (int64_t)rows * (int64_t)ms_h5_cell_B(at->column->cell);
    if (!has_cells || rows > ROWS_MAX || read->stored_B > read->file->size_B ||
        read->plain_B > most_B) {
        REFUSE(read, "the trace is damaged at %s: no file of %lld bytes holds %lld rows", at->name,
               (long long)read->file->size_B, (long long)rows);
    }
}

/* The number of rows of a column, after the check of its size; 0 with a fault. */
static int32_t find_rows(trace_tables *read, const open_column *at) {
    hid_t space = at->data < 0 ? -1 : H5Dget_space(at->data);
    bool is_list = space >= 0 && H5Sget_simple_extent_ndims(space) == 1;
    hssize_t rows = is_list ? H5Sget_simple_extent_npoints(space) : -1;
    if (rows < 0) {
        (void)ms_h5_fault_of_call(read->fault, at->name);
    } else {
        check_size(read, at, rows);
    }
    (void)H5Sclose(space);
    return goes_on(read) ? (int32_t)rows : 0;
}

/* Copy the cells of a column into the records, after a check of their bounds. */
static void scatter_cells(trace_tables *read, const open_column *at, const char *cells,
                          char *records) {
    size_t cell_B = ms_h5_cell_B(at->column->cell);
    double low = at->column->low, high = high_of(read, at->column);
    char *to = records + at->column->offset;
    for (int32_t i = 0; i < at->rows; i++, cells += cell_B, to += at->table->record_B) {
        double number = number_in(at->column->cell, cells);
        if (!(number >= low && number <= high)) { /* NaN never is */
            char fault[96];
            snprintf(fault, sizeof fault, "%.17g, expected %.17g to %.17g", number, low, high);
            fail_at(read, at->name, i, fault);
            return;
        }
        memcpy(to, cells, cell_B);
    }
}

/* Read a column into the records; after a fault nothing is read.  cells: scratch for all its
 * cells. */
static void read_cells(trace_tables *read, const open_column *at, char *cells, char *records) {
    hid_t type = ms_h5_memory_type(at->column->cell);
    if (goes_on(read) && at->rows > 0 &&
        H5Dread(at->data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, cells) < 0) {
        (void)ms_h5_fault_of_call(read->fault, at->name);
    }
    if (goes_on(read)) {
        scatter_cells(read, at, cells, records);
    }
}

/* Open the next column of at->table that is read and that the file has.  *next: index of the column
 * at which to start; set behind the one that is opened.  Returns false if there is none. */
static bool open_next(const trace_tables *read, open_column *at, size_t *next) {
    hid_t file = read->file->hdf5;
    while (*next < at->table->column_count && goes_on(read)) {
        at->column = &at->table->columns[(*next)++];
        snprintf(at->name, sizeof at->name, "/%s/%s", at->table->group, at->column->name);
        if (at->column->high != MS_HIGH_UNREAD &&
            !(at->column->is_optional && H5Lexists(file, at->name, H5P_DEFAULT) == 0)) {
            at->data = H5Dopen2(file, at->name, H5P_DEFAULT);
            return true;
        }
    }
    return false;
}

/* Check the sizes of a table's columns, or of its first column only, before any memory is
 * allocated.  Returns the number of rows, which is the same for all columns; 0 with a fault. */
static int32_t count_rows(trace_tables *read, const ms_trace_table *table, bool of_all_columns) {
    open_column at = {.table = table};
    int32_t rows = 0;
    size_t next = 0;
    for (bool is_first = true; (is_first || of_all_columns) && open_next(read, &at, &next);
         is_first = false) {
        int32_t own = find_rows(read, &at);
        rows = is_first ? own : rows;
        if (goes_on(read) && own != rows) {
            REFUSE(read, "the trace is damaged at %s: %d rows, and /%s/%s has %d", at.name, own,
                   table->group, table->columns[0].name, rows);
        }
        (void)H5Dclose(at.data);
    }
    return rows;
}

/* Read a table.  is_wanted: false: only its number of rows is found.  *rows: that number; it is set
 * before the cells are read, as their bounds may depend on it.  Returns the records, in the arena
 * of the trace; NULL where they are not wanted, and with a fault. */
static void *read_table(trace_tables *read, const ms_trace_table *table, bool is_wanted,
                        int32_t *rows) {
    *rows = count_rows(read, table, is_wanted);
    if (!is_wanted || !goes_on(read)) {
        return NULL;
    }
    ms_arena scratch;
    ms_arena_init(&scratch);
    open_column at = {.table = table, .rows = *rows};
    char *cells = allocate(read, &scratch, *rows, CELL_MOST_B);
    char *records = allocate(read, read->arena, *rows, table->record_B);
    for (size_t next = 0; open_next(read, &at, &next);) {
        read_cells(read, &at, cells, records);
        (void)H5Dclose(at.data);
    }
    ms_arena_release(&scratch);
    return goes_on(read) ? records : NULL;
}

/* ---- steps, ranks and mesh ---- */

/* Read /steps and find the end of the run. Steps may overlap, but each ends after the one before
 * it. */
static void read_steps(trace_tables *read) {
    const ms_trace_step *steps = read_table(read, &MS_TABLE_STEPS, true, &read->step_count);
    if (goes_on(read) && read->step_count < 1) {
        REFUSE(read, "the trace is damaged at /steps/end_ps: there is no step");
    }
    for (int32_t i = 0; goes_on(read) && i < read->step_count; i++) {
        if (steps[i].end_ps < read->trace->step_ps) {
            fail_at(read, "/steps/end_ps", i, "before the row above it");
        }
        read->trace->step_ps = steps[i].end_ps;
    }
}

void ms_columns_check_mesh(const ms_trace *trace, const char *object_path, double mesh_ranks,
                           ms_h5_fault *fault) {
    double ranks = 0;
    for (int32_t i = 0; i < trace->rank_count; i++) {
        ranks += trace->ranks[i].multiplicity;
    }
    if (mesh_ranks != ranks) {
        (void)ms_h5_set_fault(
            fault, MS_E_INPUT,
            "the trace is damaged at %s: a mesh of %.0f ranks, and those of /ranks stand for %.0f",
            object_path, mesh_ranks, ranks);
    }
}

/* Read /ranks and /mesh, and check that both have the same number of ranks. */
static void read_ranks(trace_tables *read) {
    ms_trace *trace = read->trace;
    double ranks = 0, mesh_ranks = 1;
    int32_t axes = 0;
    trace->ranks = read_table(read, &MS_TABLE_RANKS, true, &trace->rank_count);
    for (int32_t i = 0; goes_on(read) && i < trace->rank_count; i++) {
        ranks += trace->ranks[i].multiplicity;
        if (ranks > MS_TRACE_COUNT_MAX) {
            fail_at(read, "/ranks/multiplicity", i, "all ranks together stand for too many");
        }
    }
    const ms_trace_axis *mesh = read_table(read, &MS_TABLE_MESH, true, &axes);
    for (int32_t i = 0; mesh != NULL && i < axes; i++) {
        mesh_ranks *= mesh[i].size;
    }
    if (mesh != NULL && goes_on(read)) {
        ms_columns_check_mesh(trace, "/mesh/size", mesh_ranks, read->fault);
    }
}

/* A rank of the job and its row of /ranks. */
typedef struct read_rank {
    int32_t rank;
    int32_t index;
} read_rank;

/* Comparison for bsearch: rows by rank. */
static int by_rank(const void *left, const void *right) {
    const read_rank *a = left;
    const read_rank *b = right;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Comparison for qsort: rows by rank, then index, so that faults do not depend on qsort. */
static int by_rank_and_index(const void *left, const void *right) {
    const read_rank *a = left;
    const read_rank *b = right;
    int order = by_rank(a, b);
    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

/* Sort the rows of /ranks by rank, for find_rank; each rank may have only one.  Returns NULL with a
 * fault. */
static read_rank *sort_ranks(trace_tables *read) {
    int32_t rows = read->trace->rank_count;
    read_rank *rank_rows = allocate(read, read->arena, rows, sizeof *rank_rows);
    for (int32_t i = 0; rank_rows != NULL && i < rows; i++) {
        rank_rows[i] = (read_rank){read->trace->ranks[i].rank, i};
    }
    if (rank_rows != NULL) {
        qsort(rank_rows, (size_t)rows, sizeof *rank_rows, by_rank_and_index);
    }
    for (int32_t i = 1; rank_rows != NULL && i < rows; i++) {
        if (rank_rows[i].rank == rank_rows[i - 1].rank) {
            char fault[64];
            snprintf(fault, sizeof fault, "%d, as in row %d", rank_rows[i].rank,
                     rank_rows[i - 1].index);
            fail_at(read, "/ranks/rank", rank_rows[i].index, fault);
        }
    }
    return rank_rows;
}

/* Replace a rank of the job, as it is in a cell, by its index in /ranks; -1 stays -1. A rank that
 * has no row there is a fault. */
static void find_rank(trace_tables *read, const read_rank *rank_rows, const char *column,
                      int32_t row, int32_t *rank) {
    const read_rank key = {.rank = *rank};
    const read_rank *found =
        bsearch(&key, rank_rows, (size_t)read->trace->rank_count, sizeof key, by_rank);
    if (found == NULL && key.rank >= 0) {
        char fault[64];
        snprintf(fault, sizeof fault, "%d is not in /ranks", key.rank);
        fail_at(read, column, row, fault);
    }
    *rank = found == NULL ? -1 : found->index;
}

/* ---- streams, events and memory ---- */

/* Read /streams, with ranks as indices in /ranks. */
static void read_streams(trace_tables *read, const read_rank *rank_rows) {
    ms_trace *trace = read->trace;
    trace->streams = read_table(read, &MS_TABLE_STREAMS, true, &trace->stream_count);
    for (int32_t i = 0; goes_on(read) && i < trace->stream_count; i++) {
        find_rank(read, rank_rows, "/streams/rank", i, &trace->streams[i].rank_index);
        find_rank(read, rank_rows, "/streams/peer", i, &trace->streams[i].peer_index);
    }
}

/* Check that the chain of causes of each event ends at an event without a cause. Each event is
 * marked with the chain that met it first; a chain that meets its own mark is a circle. */
static void check_causes(trace_tables *read) {
    const ms_trace_event *events = read->trace->events;
    int32_t count = read->trace->event_count;
    int32_t *seen_from = allocate(read, read->arena, count, sizeof *seen_from); /* 1 + row */
    for (int32_t i = 0; goes_on(read) && i < count; i++) {
        int32_t at = i;
        while (at >= 0 && seen_from[at] == 0) {
            seen_from[at] = i + 1;
            at = events[at].cause;
        }
        if (at >= 0 && seen_from[at] == i + 1) {
            fail_at(read, "/events/cause", at, "its causes lead back to it");
        }
    }
}

/* Read /events, or only its number of rows if events are not wanted. */
static void read_events(trace_tables *read) {
    ms_trace *trace = read->trace;
    bool is_wanted = (read->file->what & MS_TRACE_EVENTS) != 0;
    ms_arena *arena = read->arena;
    read->arena = read->file->events;
    trace->events = read_table(read, &MS_TABLE_EVENTS, is_wanted, &trace->event_count);
    if (is_wanted && goes_on(read)) {
        check_causes(read);
    }
    read->arena = arena;
    for (int32_t i = 0; trace->events != NULL && goes_on(read) && i < trace->event_count; i++) {
        if (trace->events[i].end_ps < trace->events[i].start_ps) {
            fail_at(read, "/events/end_ps", i, "before its start");
        }
    }
}

/* Read /memory, with ranks as indices in /ranks; the points of a rank are in order. */
static void read_memory(trace_tables *read, const read_rank *rank_rows) {
    ms_trace *trace = read->trace;
    trace->memory = read_table(read, &MS_TABLE_MEMORY, true, &trace->memory_count);
    for (int32_t i = 0; goes_on(read) && i < trace->memory_count; i++) {
        ms_trace_memory *point = &trace->memory[i];
        find_rank(read, rank_rows, "/memory/rank", i, &point->rank_index);
        if (i > 0 && point[-1].rank_index == point->rank_index &&
            point[-1].time_ps > point->time_ps) {
            fail_at(read, "/memory/time_ps", i, "before the row above it");
        }
    }
}

/* ---- the whole ---- */

void ms_columns_read(const ms_trace_file *file, ms_arena *arena, ms_trace *trace,
                     ms_h5_fault *fault) {
    trace_tables read = {.file = file, .arena = arena, .trace = trace, .fault = fault};
    read_steps(&read);
    read_ranks(&read);
    const read_rank *rank_rows = sort_ranks(&read);
    read_streams(&read, rank_rows);
    read_events(&read);
    trace->members = read_table(&read, &MS_TABLE_MEMBERS, true, &trace->member_count);
    read_memory(&read, rank_rows);
}
