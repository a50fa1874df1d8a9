/* The columns of a trace, read and checked: each number within its bounds, each index within its
 * table, and what they say together. */
#include "trace/columns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "meshsim/event.h"
#include "trace/h5_check.h"

enum { ROWS_MAX = 1 << 28 }; /* of a table: more than any simulation here produces */

#define COUNT_MAX MS_TRACE_COUNT_MAX
#define PS_MAX    (MS_TRACE_RUN_MAX_S * MS_PS_PER_S)
#define BYTES_MAX 0x1p62
#define FLOP_MAX  1e30
#define RUN_END   INFINITY /* the end of the last step, once that is known */

/* The columns that are read, by table; the first of each table sets its length. */
typedef enum column {
    NO_COLUMN,
    STEP_END,
    MESH_SIZE,
    RANK,
    RANK_MULTIPLICITY,
    RANK_PP,
    STREAM_RANK,
    STREAM_PEER,
    STREAM_AXIS,
    EVENT_KIND,
    EVENT_START,
    EVENT_END,
    EVENT_STREAM,
    EVENT_AXIS,
    EVENT_STAGE,
    EVENT_CHUNK,
    EVENT_MB,
    EVENT_LAYER,
    EVENT_BYTES,
    EVENT_FLOP,
    EVENT_CAUSE,
    EVENT_STEP,
    MEMBER_EVENT,
    MEMBER_STREAM,
    MEMORY_RANK,
    MEMORY_TIME,
    MEMORY_BYTES,
    COLUMN_COUNT,
} column;

typedef struct column_spec {
    const char *name;
    ms_h5_cell cell;
    column table;        /* its first column */
    unsigned asked_with; /* ms_trace_column; 0: always read */
    double low, high;    /* bounds of its numbers */
    column index_of;     /* the table whose rows they number, in place of `high` */
} column_spec;

static const column_spec SPECS[COLUMN_COUNT] = {
    [STEP_END] = {"/steps/end_ps", MS_H5_I64, STEP_END, 0, 0, PS_MAX, 0},
    [MESH_SIZE] = {"/mesh/size", MS_H5_I32, MESH_SIZE, 0, 1, COUNT_MAX, 0},
    [RANK] = {"/ranks/rank", MS_H5_I32, RANK, 0, 0, COUNT_MAX, 0},
    [RANK_MULTIPLICITY] = {"/ranks/multiplicity", MS_H5_I32, RANK, 0, 1, COUNT_MAX, 0},
    [RANK_PP] = {"/ranks/pp", MS_H5_I32, RANK, 0, 0, COUNT_MAX, 0},
    [STREAM_RANK] = {"/streams/rank", MS_H5_I32, STREAM_RANK, 0, 0, COUNT_MAX, 0},
    [STREAM_PEER] = {"/streams/peer", MS_H5_I32, STREAM_RANK, 0, -1, COUNT_MAX, 0},
    [STREAM_AXIS] = {"/streams/axis", MS_H5_AXIS, STREAM_RANK, 0, 0, MS_AXIS_COUNT - 1, 0},
    [EVENT_KIND] = {"/events/kind", MS_H5_KIND, EVENT_KIND, 0, 0, MS_OP_KIND_COUNT - 1, 0},
    [EVENT_START] = {"/events/start_ps", MS_H5_I64, EVENT_KIND, MS_TRACE_START, 0, RUN_END, 0},
    [EVENT_END] = {"/events/end_ps", MS_H5_I64, EVENT_KIND, MS_TRACE_END, 0, RUN_END, 0},
    [EVENT_STREAM] = {"/events/stream", MS_H5_I32, EVENT_KIND, MS_TRACE_STREAM, 0, 0, STREAM_RANK},
    [EVENT_AXIS] = {"/events/axis", MS_H5_AXIS, EVENT_KIND, MS_TRACE_AXIS, 0, MS_AXIS_COUNT - 1, 0},
    [EVENT_STAGE] = {"/events/stage", MS_H5_I16, EVENT_KIND, MS_TRACE_STAGE, -1, COUNT_MAX, 0},
    [EVENT_CHUNK] = {"/events/chunk", MS_H5_I16, EVENT_KIND, MS_TRACE_CHUNK, -1, COUNT_MAX, 0},
    [EVENT_MB] = {"/events/mb", MS_H5_I32, EVENT_KIND, MS_TRACE_MB, -1, COUNT_MAX, 0},
    [EVENT_LAYER] = {"/events/layer", MS_H5_I16, EVENT_KIND, MS_TRACE_LAYER, -1, COUNT_MAX, 0},
    [EVENT_BYTES] = {"/events/bytes", MS_H5_F64, EVENT_KIND, MS_TRACE_BYTES, 0, BYTES_MAX, 0},
    [EVENT_FLOP] = {"/events/flop", MS_H5_F64, EVENT_KIND, MS_TRACE_FLOP, 0, FLOP_MAX, 0},
    [EVENT_CAUSE] = {"/events/cause", MS_H5_I32, EVENT_KIND, MS_TRACE_CAUSE, -1, 0, EVENT_KIND},
    [EVENT_STEP] = {"/events/step", MS_H5_I16, EVENT_KIND, MS_TRACE_STEP, 0, 0, STEP_END},
    [MEMBER_EVENT] = {"/members/event", MS_H5_I32, MEMBER_EVENT, 0, 0, 0, EVENT_KIND},
    [MEMBER_STREAM] = {"/members/stream", MS_H5_I32, MEMBER_EVENT, 0, 0, 0, STREAM_RANK},
    [MEMORY_RANK] = {"/memory/rank", MS_H5_I32, MEMORY_RANK, 0, 0, COUNT_MAX, 0},
    [MEMORY_TIME] = {"/memory/time_ps", MS_H5_I64, MEMORY_RANK, 0, 0, RUN_END, 0},
    [MEMORY_BYTES] = {"/memory/bytes", MS_H5_F64, MEMORY_RANK, 0, 0, BYTES_MAX, 0},
};

/* The columns so far. */
typedef struct column_reader {
    const ms_trace_file *file;
    ms_arena *arena;
    ms_trace *trace;
    ms_h5_fault *fault;
    int64_t plain_B;           /* of the columns so far */
    int64_t stored_B;          /* of these columns in the file */
    void *cells[COLUMN_COUNT]; /* NULL: not asked for, or not there */
    int32_t rows[COLUMN_COUNT];
} column_reader;

static bool goes_on(const column_reader *read) {
    return read->fault->status == MS_OK;
}

#define REFUSE(read, ...) ((void)ms_h5_refuse((read)->fault, MS_E_INPUT, __VA_ARGS__))

static void fail_at(column_reader *read, column at, int32_t row, const char *fault) {
    REFUSE(read, "the trace is damaged at %s[%d]: %s", SPECS[at].name, row, fault);
}

static void *allocate(column_reader *read, size_t count, size_t size) {
    void *memory = goes_on(read) ? ms_arena_alloc(read->arena, count, size) : NULL;
    if (memory == NULL) {
        (void)ms_h5_refuse(read->fault, MS_E_NOMEM, "out of memory");
    }
    return memory;
}

/* ---- columns ---- */

#define FIND_OUTSIDE(type)                                                                         \
    for (int32_t i = 0; i < rows; i++) {                                                           \
        *value_out = (double)((const type *)cells)[i];                                             \
        if (!(*value_out >= low && *value_out <= high)) {                                          \
            return i;                                                                              \
        }                                                                                          \
    }                                                                                              \
    return -1

/* First row that is not within [low, high] (NaN never is), with its value; -1 if all are. */
static int32_t find_outside(ms_h5_cell cell, const void *cells, int32_t rows, double low,
                            double high, double *value_out) {
    switch (cell) {
    case MS_H5_KIND:
    case MS_H5_AXIS:
        FIND_OUTSIDE(int8_t);
    case MS_H5_I16:
        FIND_OUTSIDE(int16_t);
    case MS_H5_I32:
        FIND_OUTSIDE(int32_t);
    case MS_H5_I64:
        FIND_OUTSIDE(int64_t);
    default:
        FIND_OUTSIDE(double);
    }
}

/* Check that the file can hold a column, before memory is asked for it. */
static void check_size(column_reader *read, column at, hid_t data, hssize_t rows) {
    int64_t stored_B = 0;
    int64_t most_B = MS_COLUMNS_LEAST_B + MS_COLUMNS_SHARE * read->file->size_B;
    bool has_cells = ms_h5_has_cells(data, rows, &stored_B);
    char cause[256];
    ms_status status = has_cells ? MS_OK : ms_h5_failure(cause, sizeof cause);
    if (!has_cells && status != MS_E_INPUT) { /* HDF5 may have failed */
        (void)ms_h5_refuse(read->fault, status, "%s", cause);
    }
    read->stored_B += stored_B;
    read->plain_B += (int64_t)rows * (int64_t)ms_h5_cell_B(SPECS[at].cell);
    if (!has_cells || rows > ROWS_MAX || read->stored_B > read->file->size_B ||
        read->plain_B > most_B) {
        REFUSE(read, "the trace is damaged at %s: no file of %lld bytes holds %lld rows",
               SPECS[at].name, (long long)read->file->size_B, (long long)rows);
    }
}

/* Find how many rows a column has: as many as its table. */
static void find_rows(column_reader *read, column at, hid_t data) {
    const column_spec *spec = &SPECS[at];
    hid_t space = data < 0 ? -1 : H5Dget_space(data);
    bool is_list = space >= 0 && H5Sget_simple_extent_ndims(space) == 1;
    hssize_t rows = is_list ? H5Sget_simple_extent_npoints(space) : -1;
    if (rows < 0) {
        (void)ms_h5_fail_at(read->fault, spec->name);
    } else {
        check_size(read, at, data, rows);
    }
    read->rows[at] = (int32_t)rows;
    if (goes_on(read) && rows != read->rows[spec->table]) {
        REFUSE(read, "the trace is damaged at %s: %d rows, and %s has %d", spec->name, (int)rows,
               SPECS[spec->table].name, read->rows[spec->table]);
    }
    (void)H5Sclose(space);
}

static void read_cells(column_reader *read, column at, hid_t data) {
    const column_spec *spec = &SPECS[at];
    read->cells[at] = allocate(read, (size_t)read->rows[at], ms_h5_cell_B(spec->cell));
    if (goes_on(read) && read->rows[at] > 0 &&
        H5Dread(data, ms_h5_memory_type(spec->cell), H5S_ALL, H5S_ALL, H5P_DEFAULT,
                read->cells[at]) < 0) {
        (void)ms_h5_fail_at(read->fault, spec->name);
    }
}

static void check_bounds(column_reader *read, column at) {
    const column_spec *spec = &SPECS[at];
    double value = 0.0;
    double high = spec->index_of != NO_COLUMN ? read->rows[spec->index_of] - 1
                  : spec->high == RUN_END     ? (double)read->trace->step_ps
                                              : spec->high;
    int32_t bad =
        find_outside(spec->cell, read->cells[at], read->rows[at], spec->low, high, &value);
    if (bad >= 0) {
        char fault[96];
        snprintf(fault, sizeof fault, "%.17g, expected %.17g to %.17g", value, spec->low, high);
        fail_at(read, at, bad, fault);
    }
}

/* Steps may overlap, but each ends after the one before. */
static void check_steps(column_reader *read) {
    const int64_t *end_ps = read->cells[STEP_END];
    if (goes_on(read) && read->rows[STEP_END] < 1) {
        REFUSE(read, "the trace is damaged at %s: there is no step", SPECS[STEP_END].name);
    }
    for (int32_t i = 0; goes_on(read) && i < read->rows[STEP_END]; i++) {
        if (end_ps[i] < read->trace->step_ps) {
            fail_at(read, STEP_END, i, "before the row above it");
        }
        read->trace->step_ps = end_ps[i];
    }
}

/* Do something with each column that is wanted and there. */
static void each_column(column_reader *read, void (*visit)(column_reader *, column, hid_t)) {
    for (int at = NO_COLUMN + 1; at < COLUMN_COUNT && goes_on(read); at++) {
        const column_spec *spec = &SPECS[at];
        bool is_wanted = spec->asked_with == 0 || (read->file->columns & spec->asked_with) != 0;
        /* not in traces before there were several steps; a mesh may have no axis */
        bool is_optional = at == EVENT_STEP || at == MESH_SIZE;
        if (is_wanted &&
            !(is_optional && H5Lexists(read->file->hdf5, spec->name, H5P_DEFAULT) == 0)) {
            hid_t data = H5Dopen2(read->file->hdf5, spec->name, H5P_DEFAULT);
            visit(read, (column)at, data);
            (void)H5Dclose(data);
        }
    }
}

static void read_columns(column_reader *read) {
    each_column(read, find_rows); /* the sizes of all, before memory is asked for any */
    each_column(read, read_cells);
    for (int at = NO_COLUMN + 1; at < COLUMN_COUNT && goes_on(read); at++) {
        if (read->cells[at] != NULL) {
            check_bounds(read, (column)at);
        }
        if (at == STEP_END) {
            check_steps(read);
        }
    }
}

/* ---- ranks, streams, members, memory ---- */

/* A rank of the job and where it stands in /ranks. */
typedef struct rank_place {
    int32_t rank;
    int32_t index;
} rank_place;

static int by_rank(const void *left, const void *right) {
    const rank_place *a = left;
    const rank_place *b = right;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

static int by_rank_and_index(const void *left, const void *right) {
    const rank_place *a = left;
    const rank_place *b = right;
    int order = by_rank(a, b);
    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

/* Ranks in order, to be looked up. */
static rank_place *sort_ranks(column_reader *read) {
    const int32_t *rank = read->cells[RANK];
    int32_t rows = read->rows[RANK];
    rank_place *places = allocate(read, (size_t)rows, sizeof *places);
    for (int32_t i = 0; places != NULL && i < rows; i++) {
        places[i] = (rank_place){rank[i], i};
    }
    if (places != NULL) {
        qsort(places, (size_t)rows, sizeof *places, by_rank_and_index);
    }
    for (int32_t i = 1; places != NULL && i < rows; i++) {
        if (places[i].rank == places[i - 1].rank) {
            char fault[64];
            snprintf(fault, sizeof fault, "%d, as in row %d", places[i].rank, places[i - 1].index);
            fail_at(read, RANK, places[i].index, fault);
        }
    }
    return places;
}

/* Index in /ranks of the rank in a cell; -1 for none, or with a fault if it was not simulated. */
static int32_t rank_index(column_reader *read, const rank_place *places, column at, int32_t row) {
    const rank_place key = {.rank = ((const int32_t *)read->cells[at])[row]};
    const rank_place *found = bsearch(&key, places, (size_t)read->rows[RANK], sizeof key, by_rank);
    if (found == NULL && key.rank >= 0) {
        char fault[64];
        snprintf(fault, sizeof fault, "%d is not in /ranks", key.rank);
        fail_at(read, at, row, fault);
    }
    return found == NULL ? -1 : found->index;
}

void ms_columns_check_mesh(const ms_trace *trace, const char *place, double mesh_ranks,
                           ms_h5_fault *fault) {
    double ranks = 0;
    for (int32_t i = 0; i < trace->rank_count; i++) {
        ranks += trace->ranks[i].multiplicity;
    }
    if (mesh_ranks != ranks) {
        (void)ms_h5_refuse(
            fault, MS_E_INPUT,
            "the trace is damaged at %s: a mesh of %.0f ranks, and those of /ranks stand for %.0f",
            place, mesh_ranks, ranks);
    }
}

static void make_ranks(column_reader *read) {
    ms_trace *trace = read->trace;
    const int32_t *rank = read->cells[RANK], *multiplicity = read->cells[RANK_MULTIPLICITY];
    const int32_t *pp = read->cells[RANK_PP], *size = read->cells[MESH_SIZE];
    double ranks = 0, mesh_ranks = 1;
    trace->rank_count = read->rows[RANK];
    trace->ranks = allocate(read, (size_t)trace->rank_count, sizeof *trace->ranks);
    for (int32_t i = 0; goes_on(read) && i < trace->rank_count; i++) {
        trace->ranks[i] = (ms_trace_rank){rank[i], multiplicity[i], pp[i]};
        ranks += multiplicity[i];
        if (ranks > COUNT_MAX) {
            fail_at(read, RANK_MULTIPLICITY, i, "all ranks together stand for too many");
        }
    }
    for (int32_t i = 0; size != NULL && i < read->rows[MESH_SIZE]; i++) {
        mesh_ranks *= size[i];
    }
    if (size != NULL && goes_on(read)) {
        ms_columns_check_mesh(trace, SPECS[MESH_SIZE].name, mesh_ranks, read->fault);
    }
}

static void make_streams(column_reader *read, const rank_place *places) {
    ms_trace *trace = read->trace;
    const uint8_t *axis = read->cells[STREAM_AXIS];
    trace->stream_count = read->rows[STREAM_RANK];
    trace->streams = allocate(read, (size_t)trace->stream_count, sizeof *trace->streams);
    for (int32_t i = 0; goes_on(read) && i < trace->stream_count; i++) {
        trace->streams[i] = (ms_trace_stream){rank_index(read, places, STREAM_RANK, i),
                                              rank_index(read, places, STREAM_PEER, i), axis[i]};
    }
}

static void make_members(column_reader *read) {
    ms_trace *trace = read->trace;
    const int32_t *event = read->cells[MEMBER_EVENT], *stream = read->cells[MEMBER_STREAM];
    trace->member_count = read->rows[MEMBER_EVENT];
    trace->members = allocate(read, (size_t)trace->member_count, sizeof *trace->members);
    for (int32_t i = 0; goes_on(read) && i < trace->member_count; i++) {
        trace->members[i] = (ms_trace_member){event[i], stream[i]};
    }
}

static void make_memory(column_reader *read, const rank_place *places) {
    ms_trace *trace = read->trace;
    const int64_t *time_ps = read->cells[MEMORY_TIME];
    const double *bytes = read->cells[MEMORY_BYTES];
    trace->memory_count = read->rows[MEMORY_RANK];
    trace->memory = allocate(read, (size_t)trace->memory_count, sizeof *trace->memory);
    for (int32_t i = 0; goes_on(read) && i < trace->memory_count; i++) {
        int32_t index = rank_index(read, places, MEMORY_RANK, i);
        const ms_trace_memory *before = i == 0 ? NULL : &trace->memory[i - 1];
        trace->memory[i] = (ms_trace_memory){index, time_ps[i], bytes[i]};
        if (before != NULL && before->rank_index == index && before->time_ps > time_ps[i]) {
            fail_at(read, MEMORY_TIME, i, "before the row above it");
        }
    }
}

/* ---- events ---- */

/* Check that the chain of causes of each operation ends at one without a cause. */
static void check_causes(column_reader *read, const ms_trace_events *events) {
    int32_t *seen_from = allocate(read, (size_t)events->count, sizeof *seen_from); /* 1 + row */
    for (int32_t i = 0; goes_on(read) && i < events->count; i++) {
        int32_t at = i;
        while (at >= 0 && seen_from[at] == 0) {
            seen_from[at] = i + 1;
            at = events->cause[at];
        }
        if (at >= 0 && seen_from[at] == i + 1) {
            fail_at(read, EVENT_CAUSE, at, "its causes lead back to it");
        }
    }
}

static void make_events(column_reader *read) {
    ms_trace_events *events = &read->trace->events;
    void *const *cells = read->cells;
    *events = (ms_trace_events){.count = read->rows[EVENT_KIND],
                                .start_ps = cells[EVENT_START],
                                .end_ps = cells[EVENT_END],
                                .stream = cells[EVENT_STREAM],
                                .kind = cells[EVENT_KIND],
                                .axis = cells[EVENT_AXIS],
                                .stage = cells[EVENT_STAGE],
                                .chunk = cells[EVENT_CHUNK],
                                .mb = cells[EVENT_MB],
                                .layer = cells[EVENT_LAYER],
                                .bytes = cells[EVENT_BYTES],
                                .flop = cells[EVENT_FLOP],
                                .cause = cells[EVENT_CAUSE],
                                .step = cells[EVENT_STEP]};
    if (events->step == NULL && (read->file->columns & MS_TRACE_STEP) != 0) {
        events->step = allocate(read, (size_t)events->count, sizeof *events->step);
    }
    if (events->cause != NULL) {
        check_causes(read, events);
    }
    bool has_times = events->start_ps != NULL && events->end_ps != NULL;
    for (int32_t i = 0; has_times && goes_on(read) && i < events->count; i++) {
        if (events->end_ps[i] < events->start_ps[i]) {
            fail_at(read, EVENT_END, i, "before its start");
        }
    }
}

/* ---- the whole ---- */

void ms_columns_read(const ms_trace_file *file, ms_arena *arena, ms_trace *trace,
                     ms_h5_fault *fault) {
    column_reader read = {.file = file, .arena = arena, .trace = trace, .fault = fault};
    read_columns(&read);
    const rank_place *places = sort_ranks(&read);
    make_ranks(&read);
    make_streams(&read, places);
    make_events(&read);
    make_members(&read);
    make_memory(&read, places);
}
