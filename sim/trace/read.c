/* Reads traces. A child process reads the file first, completely; where that succeeds, this process
 * reads it in the same way. Every number is checked here, once, so that nobody behind this file needs
 * to. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "meshsim/config.h"
#include "meshsim/event.h"
#include "meshsim/input.h"
#include "meshsim/trace.h"
#include "trace/child.h"
#include "trace/h5_check.h"
#include "trace/repeat.h"
#include "trace/tree.h"

/* Processor time and memory that reading a sound file never needs: some seconds, and one for each
 * megabyte, which is ten times what it takes; what HDF5 keeps for itself, and twice what all
 * columns can be. */
enum { CHILD_CPU_S = 10, CHILD_MEMORY_B = 256 << 20 };

/* Rows of a table: more than any simulation here produces. Maximum size of the unpacked columns of a
 * file: so much, and so many times the file's size, so that a file of a few megabytes cannot make
 * meshsim allocate gigabytes. Columns of version 1 unpack to up to 6.6 times the file (65,536 equal
 * microbatches, measured); ten times that is accepted. */
enum { ROWS_MAX = 1 << 28, PLAIN_SHARE = 64, PLAIN_LEAST_B = 64 << 20, MIB = 1 << 20 };

enum { ATTRIBUTE_B = 127 }; /* of a text that names something */

/* Numbers of ranks, microbatches and the like, far above any that are simulated, so that sums of
 * two stay numbers. */
static const double COUNT_MAX = 1 << 30;
static const double PS_MAX = MS_TRACE_RUN_MAX_S * MS_PS_PER_S;
static const double BYTES_MAX = 0x1p62;
static const double FLOP_MAX = 1e30;

/* The columns that are read, by table; the first of each table sets its length. */
typedef enum column {
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
} column_spec;

static const column_spec SPECS[COLUMN_COUNT] = {
    [STEP_END] = {"/steps/end_ps", MS_H5_I64, STEP_END, 0},
    [MESH_SIZE] = {"/mesh/size", MS_H5_I32, MESH_SIZE, 0},
    [RANK] = {"/ranks/rank", MS_H5_I32, RANK, 0},
    [RANK_MULTIPLICITY] = {"/ranks/multiplicity", MS_H5_I32, RANK, 0},
    [RANK_PP] = {"/ranks/pp", MS_H5_I32, RANK, 0},
    [STREAM_RANK] = {"/streams/rank", MS_H5_I32, STREAM_RANK, 0},
    [STREAM_PEER] = {"/streams/peer", MS_H5_I32, STREAM_RANK, 0},
    [STREAM_AXIS] = {"/streams/axis", MS_H5_AXIS, STREAM_RANK, 0},
    [EVENT_KIND] = {"/events/kind", MS_H5_KIND, EVENT_KIND, 0},
    [EVENT_START] = {"/events/start_ps", MS_H5_I64, EVENT_KIND, MS_TRACE_START},
    [EVENT_END] = {"/events/end_ps", MS_H5_I64, EVENT_KIND, MS_TRACE_END},
    [EVENT_STREAM] = {"/events/stream", MS_H5_I32, EVENT_KIND, MS_TRACE_STREAM},
    [EVENT_AXIS] = {"/events/axis", MS_H5_AXIS, EVENT_KIND, MS_TRACE_AXIS},
    [EVENT_STAGE] = {"/events/stage", MS_H5_I16, EVENT_KIND, MS_TRACE_STAGE},
    [EVENT_CHUNK] = {"/events/chunk", MS_H5_I16, EVENT_KIND, MS_TRACE_CHUNK},
    [EVENT_MB] = {"/events/mb", MS_H5_I32, EVENT_KIND, MS_TRACE_MB},
    [EVENT_LAYER] = {"/events/layer", MS_H5_I16, EVENT_KIND, MS_TRACE_LAYER},
    [EVENT_BYTES] = {"/events/bytes", MS_H5_F64, EVENT_KIND, MS_TRACE_BYTES},
    [EVENT_FLOP] = {"/events/flop", MS_H5_F64, EVENT_KIND, MS_TRACE_FLOP},
    [EVENT_CAUSE] = {"/events/cause", MS_H5_I32, EVENT_KIND, MS_TRACE_CAUSE},
    [EVENT_STEP] = {"/events/step", MS_H5_I16, EVENT_KIND, MS_TRACE_STEP},
    [MEMBER_EVENT] = {"/members/event", MS_H5_I32, MEMBER_EVENT, 0},
    [MEMBER_STREAM] = {"/members/stream", MS_H5_I32, MEMBER_EVENT, 0},
    [MEMORY_RANK] = {"/memory/rank", MS_H5_I32, MEMORY_RANK, 0},
    [MEMORY_TIME] = {"/memory/time_ps", MS_H5_I64, MEMORY_RANK, 0},
    [MEMORY_BYTES] = {"/memory/bytes", MS_H5_F64, MEMORY_RANK, 0},
};

/* A trace that is read. */
typedef struct trace_reader {
    const char *path; /* as the user gave it */
    int descriptor;   /* of the file, which a new file under its name does not change */
    int64_t size_B;   /* of the file */
    unsigned columns; /* what is asked for */
    ms_arena *arena;
    ms_trace trace;
    hid_t file;
    int64_t plain_B;            /* of the columns so far */
    int64_t stored_B;           /* of these columns in the file */
    int32_t rows[COLUMN_COUNT]; /* of the columns so far; -1: not in the file */
    double rank_count;          /* ranks that the rows of /ranks stand for */
    ms_h5_fault fault;
} trace_reader;

static bool goes_on(const trace_reader *read) {
    return read->fault.status == MS_OK;
}

#define REFUSE(read, ...) ((void)ms_h5_refuse(&(read)->fault, MS_E_INPUT, __VA_ARGS__))

static void fail_at(trace_reader *read, column at, int32_t row, const char *fault) {
    REFUSE(read, "the trace is damaged at %s[%d]: %s", SPECS[at].name, row, fault);
}

static void *allocate(trace_reader *read, size_t count, size_t size) {
    void *memory = goes_on(read) ? ms_arena_alloc(read->arena, count, size) : NULL;
    if (memory == NULL) {
        (void)ms_h5_refuse(&read->fault, MS_E_NOMEM, "out of memory");
    }
    return memory;
}

/* ---- texts ---- */

/* The text that is the only cell of a dataset or an attribute; NULL after a failure.
 *  from: < 0 where it could not be opened.  limit_B: most bytes that it may have. */
static const char *read_text(trace_reader *read, hid_t from, const char *name, size_t limit_B) {
    bool is_attribute = from >= 0 && H5Iget_type(from) == H5I_ATTR;
    hid_t type = from < 0 ? -1 : is_attribute ? H5Aget_type(from) : H5Dget_type(from);
    hid_t space = type < 0 ? -1 : is_attribute ? H5Aget_space(from) : H5Dget_space(from);
    bool is_text = space >= 0 && H5Tis_variable_str(type) > 0 &&
                   H5Sget_simple_extent_type(space) == H5S_SCALAR;
    char *text = NULL;
    const char *copy = NULL;
    if (!is_text || (is_attribute ? H5Aread(from, type, &text)
                                  : H5Dread(from, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text)) < 0) {
        (void)ms_h5_fail_at(&read->fault, name);
    } else if (text != NULL && strlen(text) > limit_B) {
        bool is_large = limit_B >= MIB;
        REFUSE(read, "the trace is damaged at %s: expected a text of at most %zu %s", name,
               is_large ? limit_B / MIB : limit_B, is_large ? "MiB" : "bytes");
    } else {
        copy = ms_arena_strdup(read->arena, text == NULL ? "" : text);
    }
    if (text != NULL) {
        (void)H5Dvlen_reclaim(type, space, H5P_DEFAULT, &text);
    }
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    (void)(is_attribute ? H5Aclose(from) : H5Dclose(from));
    if (copy == NULL) {
        (void)ms_h5_refuse(&read->fault, MS_E_NOMEM, "out of memory");
    }
    return copy;
}

/* A text attribute; "" if there is none. */
static const char *read_attribute(trace_reader *read, hid_t object, const char *name,
                                  size_t limit_B) {
    if (!goes_on(read) || H5Aexists(object, name) == 0) {
        return "";
    }
    const char *text = read_text(read, H5Aopen(object, name, H5P_DEFAULT), name, limit_B);
    return text == NULL ? "" : text;
}

/* A text beside the tables, of the limit that a file of its type has; NULL if there is none. */
static const char *read_document(trace_reader *read, const char *name, ms_file_type type) {
    if (!goes_on(read) || H5Lexists(read->file, name, H5P_DEFAULT) == 0) {
        return NULL;
    }
    return read_text(read, H5Dopen2(read->file, name, H5P_DEFAULT), name, ms_file_limit_B(type));
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
static void check_size(trace_reader *read, column at, hid_t data, hssize_t rows) {
    int64_t stored_B = 0;
    int64_t most_B = PLAIN_LEAST_B + PLAIN_SHARE * read->size_B;
    bool has_cells = ms_h5_has_cells(data, rows, &stored_B);
    char cause[256];
    ms_status status = has_cells ? MS_OK : ms_h5_failure(cause, sizeof cause);
    if (!has_cells && status != MS_E_INPUT) { /* HDF5 may have failed */
        (void)ms_h5_refuse(&read->fault, status, "%s", cause);
    }
    read->stored_B += stored_B;
    read->plain_B += (int64_t)rows * (int64_t)ms_h5_cell_B(SPECS[at].cell);
    if (!has_cells || rows > ROWS_MAX || read->stored_B > read->size_B || read->plain_B > most_B) {
        REFUSE(read, "the trace is damaged at %s: no file of %lld bytes holds %lld rows",
               SPECS[at].name, (long long)read->size_B, (long long)rows);
    }
}

/* All cells of a column, which has as many rows as its table. */
static void *read_cells(trace_reader *read, column at, hid_t data, int32_t rows) {
    const column_spec *spec = &SPECS[at];
    read->rows[at] = rows;
    if (rows != read->rows[spec->table]) {
        REFUSE(read, "the trace is damaged at %s: %d rows, and %s has %d", spec->name, rows,
               SPECS[spec->table].name, read->rows[spec->table]);
    }
    void *cells = allocate(read, (size_t)rows, ms_h5_cell_B(spec->cell));
    if (cells != NULL && rows > 0 &&
        H5Dread(data, ms_h5_memory_type(spec->cell), H5S_ALL, H5S_ALL, H5P_DEFAULT, cells) < 0) {
        (void)ms_h5_fail_at(&read->fault, spec->name);
    }
    return cells;
}

static bool is_wanted(const trace_reader *read, column at) {
    return SPECS[at].asked_with == 0 || (read->columns & SPECS[at].asked_with) != 0;
}

/* The cells of a column, each within [low, high]; NULL when it was not asked for, or is not there
 * and need not be. */
static void *take(trace_reader *read, column at, double low, double high) {
    const column_spec *spec = &SPECS[at];
    /* not in traces before there were several steps; a mesh may have no axis */
    bool is_optional = at == EVENT_STEP || at == MESH_SIZE;
    if (!goes_on(read) || !is_wanted(read, at)) {
        return NULL;
    }
    if (is_optional && H5Lexists(read->file, spec->name, H5P_DEFAULT) == 0) {
        read->rows[at] = -1;
        return NULL;
    }
    hid_t data = H5Dopen2(read->file, spec->name, H5P_DEFAULT);
    hid_t space = data < 0 ? -1 : H5Dget_space(data);
    bool is_list = space >= 0 && H5Sget_simple_extent_ndims(space) == 1;
    hssize_t rows = is_list ? H5Sget_simple_extent_npoints(space) : -1;
    if (rows < 0) {
        (void)ms_h5_fail_at(&read->fault, spec->name);
    } else {
        check_size(read, at, data, rows);
    }
    void *cells = goes_on(read) ? read_cells(read, at, data, (int32_t)rows) : NULL;
    (void)H5Sclose(space);
    (void)H5Dclose(data);
    double value = 0.0;
    int32_t bad = goes_on(read)
                      ? find_outside(spec->cell, cells, (int32_t)rows, low, high, &value)
                      : -1;
    if (bad >= 0) {
        char fault[96];
        snprintf(fault, sizeof fault, "%.17g, expected %.17g to %.17g", value, low, high);
        fail_at(read, at, bad, fault);
    }
    return cells;
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
    return a->rank != b->rank ? (a->rank < b->rank ? -1 : 1)
                              : (a->index > b->index) - (a->index < b->index);
}

/* Ranks in order, to be looked up. */
static rank_place *sort_ranks(trace_reader *read, const int32_t *rank, int32_t rows) {
    rank_place *places = allocate(read, (size_t)rows, sizeof *places);
    for (int32_t i = 0; places != NULL && i < rows; i++) {
        places[i] = (rank_place){rank[i], i};
    }
    if (places != NULL) {
        qsort(places, (size_t)rows, sizeof *places, by_rank);
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

/* Index of a rank of the job in /ranks; fails if it was not simulated. */
static int32_t rank_index(trace_reader *read, const rank_place *places, column at, int32_t row,
                          int32_t rank) {
    int32_t low = 0;
    int32_t high = read->rows[RANK];
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (places[middle].rank < rank) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < read->rows[RANK] && places[low].rank == rank) {
        return places[low].index;
    }
    char fault[64];
    snprintf(fault, sizeof fault, "%d is not in /ranks", rank);
    fail_at(read, at, row, fault);
    return -1;
}

/* Check that a mesh has as many ranks as the rows of /ranks stand for. */
static void check_mesh(trace_reader *read, const char *place, double mesh_ranks) {
    if (goes_on(read) && mesh_ranks != read->rank_count) {
        REFUSE(read,
               "the trace is damaged at %s: a mesh of %.0f ranks, and those of /ranks stand for %.0f",
               place, mesh_ranks, read->rank_count);
    }
}

static rank_place *read_ranks(trace_reader *read) {
    ms_trace *trace = &read->trace;
    const int32_t *size = take(read, MESH_SIZE, 1, COUNT_MAX);
    const int32_t *rank = take(read, RANK, 0, COUNT_MAX);
    const int32_t *multiplicity = take(read, RANK_MULTIPLICITY, 1, COUNT_MAX);
    const int32_t *pp = take(read, RANK_PP, 0, COUNT_MAX);
    int32_t rows = read->rows[RANK];
    rank_place *places = goes_on(read) ? sort_ranks(read, rank, rows) : NULL;
    trace->ranks = allocate(read, (size_t)rows, sizeof *trace->ranks);
    for (int32_t i = 0; goes_on(read) && i < rows; i++) {
        trace->ranks[i] = (ms_trace_rank){rank[i], multiplicity[i], pp[i]};
        read->rank_count += multiplicity[i];
        if (read->rank_count > COUNT_MAX) {
            fail_at(read, RANK_MULTIPLICITY, i, "all ranks together stand for too many");
        }
    }
    trace->rank_count = rows;
    double mesh_ranks = 1;
    for (int32_t i = 0; size != NULL && goes_on(read) && i < read->rows[MESH_SIZE]; i++) {
        mesh_ranks *= size[i];
    }
    if (size != NULL) {
        check_mesh(read, SPECS[MESH_SIZE].name, mesh_ranks);
    }
    return places;
}

static void read_streams(trace_reader *read, const rank_place *places) {
    ms_trace *trace = &read->trace;
    const int32_t *rank = take(read, STREAM_RANK, 0, COUNT_MAX);
    const int32_t *peer = take(read, STREAM_PEER, -1, COUNT_MAX);
    const uint8_t *axis = take(read, STREAM_AXIS, 0, MS_AXIS_COUNT - 1);
    int32_t rows = read->rows[STREAM_RANK];
    trace->streams = allocate(read, (size_t)rows, sizeof *trace->streams);
    for (int32_t i = 0; goes_on(read) && i < rows; i++) {
        int32_t owner = rank_index(read, places, STREAM_RANK, i, rank[i]);
        int32_t other = peer[i] < 0 ? -1 : rank_index(read, places, STREAM_PEER, i, peer[i]);
        trace->streams[i] = (ms_trace_stream){owner, other, axis[i]};
    }
    trace->stream_count = rows;
}

static void read_members(trace_reader *read) {
    ms_trace *trace = &read->trace;
    const int32_t *event = take(read, MEMBER_EVENT, 0, trace->events.count - 1);
    const int32_t *stream = take(read, MEMBER_STREAM, 0, trace->stream_count - 1);
    int32_t rows = read->rows[MEMBER_EVENT];
    trace->members = allocate(read, (size_t)rows, sizeof *trace->members);
    for (int32_t i = 0; goes_on(read) && i < rows; i++) {
        trace->members[i] = (ms_trace_member){event[i], stream[i]};
    }
    trace->member_count = rows;
}

static void read_memory(trace_reader *read, const rank_place *places) {
    ms_trace *trace = &read->trace;
    const int32_t *rank = take(read, MEMORY_RANK, 0, COUNT_MAX);
    const int64_t *time_ps = take(read, MEMORY_TIME, 0, (double)trace->step_ps);
    const double *bytes = take(read, MEMORY_BYTES, 0, BYTES_MAX);
    int32_t rows = read->rows[MEMORY_RANK];
    trace->memory = allocate(read, (size_t)rows, sizeof *trace->memory);
    for (int32_t i = 0; goes_on(read) && i < rows; i++) {
        int32_t index = rank_index(read, places, MEMORY_RANK, i, rank[i]);
        trace->memory[i] = (ms_trace_memory){index, time_ps[i], bytes[i]};
        const ms_trace_memory *before = i == 0 ? NULL : &trace->memory[i - 1];
        if (before != NULL && before->rank_index == index && before->time_ps > time_ps[i]) {
            fail_at(read, MEMORY_TIME, i, "before the row above it");
        }
    }
    trace->memory_count = rows;
}

/* ---- events, steps ---- */

/* Steps may overlap, but each ends after the one before. */
static void read_steps(trace_reader *read) {
    const int64_t *end_ps = take(read, STEP_END, 0, PS_MAX);
    int32_t rows = read->rows[STEP_END];
    if (goes_on(read) && rows < 1) {
        REFUSE(read, "the trace is damaged at %s: there is no step", SPECS[STEP_END].name);
    }
    for (int32_t i = 0; goes_on(read) && i < rows; i++) {
        if (end_ps[i] < read->trace.step_ps) {
            fail_at(read, STEP_END, i, "before the row above it");
        }
        read->trace.step_ps = end_ps[i];
    }
}

/* Check that the chain of causes of each operation ends at one without a cause. */
static void check_causes(trace_reader *read, const int32_t *cause, int32_t rows) {
    int32_t *seen_from = allocate(read, (size_t)rows, sizeof *seen_from); /* 1 + row; 0: none */
    for (int32_t i = 0; seen_from != NULL && goes_on(read) && i < rows; i++) {
        int32_t at = i;
        while (at >= 0 && seen_from[at] == 0) {
            seen_from[at] = i + 1;
            at = cause[at];
        }
        if (at >= 0 && seen_from[at] == i + 1) {
            fail_at(read, EVENT_CAUSE, at, "its causes lead back to it");
        }
    }
}

static void check_ends(trace_reader *read, const ms_trace_events *events) {
    bool has_times = events->start_ps != NULL && events->end_ps != NULL;
    for (int32_t i = 0; has_times && goes_on(read) && i < events->count; i++) {
        if (events->end_ps[i] < events->start_ps[i]) {
            fail_at(read, EVENT_END, i, "before its start");
        }
    }
}

static void read_events(trace_reader *read) {
    ms_trace_events *events = &read->trace.events;
    double end_ps = (double)read->trace.step_ps;
    events->kind = take(read, EVENT_KIND, 0, MS_OP_KIND_COUNT - 1);
    int32_t rows = read->rows[EVENT_KIND];
    events->count = rows;
    events->start_ps = take(read, EVENT_START, 0, end_ps);
    events->end_ps = take(read, EVENT_END, 0, end_ps);
    events->stream = take(read, EVENT_STREAM, 0, read->trace.stream_count - 1);
    events->axis = take(read, EVENT_AXIS, 0, MS_AXIS_COUNT - 1);
    events->stage = take(read, EVENT_STAGE, -1, COUNT_MAX);
    events->chunk = take(read, EVENT_CHUNK, -1, COUNT_MAX);
    events->mb = take(read, EVENT_MB, -1, COUNT_MAX);
    events->layer = take(read, EVENT_LAYER, -1, COUNT_MAX);
    events->bytes = take(read, EVENT_BYTES, 0, BYTES_MAX);
    events->flop = take(read, EVENT_FLOP, 0, FLOP_MAX);
    events->cause = take(read, EVENT_CAUSE, -1, rows - 1);
    events->step = take(read, EVENT_STEP, 0, read->rows[STEP_END] - 1);
    if (read->rows[EVENT_STEP] < 0) {
        events->step = allocate(read, (size_t)rows, sizeof *events->step);
    }
    if (events->cause != NULL && goes_on(read)) {
        check_causes(read, events->cause, rows);
    }
    check_ends(read, events);
}

/* ---- texts and trees ---- */

static void read_documents(trace_reader *read) {
    ms_trace_inputs *inputs = &read->trace.inputs;
    if (!goes_on(read) || H5Lexists(read->file, "/input", H5P_DEFAULT) == 0) {
        return;
    }
    inputs->workload = read_document(read, "/input/workload", MS_FILE_YAML);
    inputs->platform = read_document(read, "/input/platform", MS_FILE_YAML);
    inputs->schedule = read_document(read, "/input/schedule", MS_FILE_CSV);
    inputs->placement = read_document(read, "/input/placement", MS_FILE_CSV);
    inputs->sources = read_document(read, "/input/sources", MS_FILE_YAML);
    inputs->resolved = read_document(read, "/input/resolved", MS_FILE_YAML);
}

/* Check the sizes of a mesh in the summary; a mesh without axes has one rank. */
static void check_sizes(trace_reader *read, const char *key) {
    char place[64];
    double mesh_ranks = 1;
    const ms_value *sizes = ms_value_get(read->trace.summary, key);
    snprintf(place, sizeof place, "/summary/%s", key);
    for (const ms_value *size = sizes == NULL ? NULL : sizes->first; size != NULL && goes_on(read);
         size = size->next) {
        bool is_sound = size->type == MS_VALUE_INT && size->as.integer >= 1 &&
                        (double)size->as.integer <= COUNT_MAX;
        if (!is_sound) {
            REFUSE(read,
                   "the trace is damaged at %s/%.32s: expected a whole number from 1 to %.0f", place,
                   size->key == NULL ? "0" : size->key, COUNT_MAX);
        }
        mesh_ranks *= is_sound ? (double)size->as.integer : 1;
    }
    if (sizes != NULL) {
        check_mesh(read, place, mesh_ranks);
    }
}

/* Add the tree /KEY to an object: groups in version 1, a text of JSON since. */
static void read_tree(trace_reader *read, const char *key, int64_t version, ms_value *parent) {
    char place[16];
    snprintf(place, sizeof place, "/%s", key);
    if (goes_on(read) && version == 1) {
        ms_tree_add_groups(parent, key, read->file, &read->fault);
    } else if (goes_on(read)) {
        const char *text = read_text(read, H5Dopen2(read->file, place, H5P_DEFAULT), place,
                                     ms_file_limit_B(MS_FILE_JSON));
        if (text != NULL) {
            ms_tree_add_json(parent, key, text, &read->fault);
        }
    }
}

static void read_summary(trace_reader *read, int64_t version) {
    ms_value *root = ms_value_new_object(read->arena);
    if (root == NULL) {
        (void)ms_h5_refuse(&read->fault, MS_E_NOMEM, "out of memory");
    }
    read_tree(read, "summary", version, root);
    read->trace.summary = ms_value_get(root, "summary");
    if (goes_on(read) && read->trace.summary->type != MS_VALUE_OBJECT) {
        REFUSE(read, "the trace is damaged at /summary");
    }
    check_sizes(read, "mesh");
    check_sizes(read, "expert_mesh");
}

static void read_tables(trace_reader *read, int64_t version) {
    if (goes_on(read) && (read->columns & MS_TRACE_TABLES) != 0) {
        ms_value *tables = ms_tree_of_tables(read->file, read->arena, &read->fault);
        if (goes_on(read) && H5Lexists(read->file, "whatif", H5P_DEFAULT) > 0) {
            read_tree(read, "whatif", version, tables);
        }
        read->trace.tables = tables;
    }
}

/* ---- the head ---- */

/* The version of the format; 0 after a failure. */
static int64_t read_version(trace_reader *read) {
    int64_t version = 0;
    const char *format = read_attribute(read, read->file, "format", ATTRIBUTE_B);
    if (goes_on(read) && strcmp(format, "meshsim-trace") != 0) {
        REFUSE(read, "it is no trace of meshsim (no attribute format = 'meshsim-trace')");
    }
    hid_t attribute = goes_on(read) ? H5Aopen(read->file, "format_version", H5P_DEFAULT) : -1;
    hid_t space = attribute < 0 ? -1 : H5Aget_space(attribute);
    if (space < 0 || H5Sget_simple_extent_npoints(space) != 1 ||
        H5Aread(attribute, H5T_NATIVE_INT64, &version) < 0 || version < 1) {
        (void)ms_h5_fail_at(&read->fault, "format_version");
    } else if (version > MS_TRACE_FORMAT_VERSION) {
        REFUSE(read, "it has format version %lld, this program reads up to %d", (long long)version,
               MS_TRACE_FORMAT_VERSION);
    }
    (void)H5Sclose(space);
    (void)H5Aclose(attribute);
    return version;
}

/* Which operations /events has, and how often some of them happened. */
static void read_level(trace_reader *read, ms_steady *repeat_out) {
    /* without the group, a column of it is missed */
    hid_t events = H5Lexists(read->file, "events", H5P_DEFAULT) > 0
                       ? H5Gopen2(read->file, "events", H5P_DEFAULT)
                       : -1;
    const char *word = events < 0 ? "" : read_attribute(read, events, "level", ATTRIBUTE_B);
    const char *repeat = events < 0 ? ""
                                    : read_attribute(read, events, "fast_forwarded",
                                                     MS_TRACE_REPEAT_TEXT_B);
    int level = MS_TRACE_FULL; /* in files that do not say */
    while (word[0] != '\0' && level < MS_TRACE_LEVEL_COUNT &&
           strcmp(word, ms_trace_level_name((ms_trace_level)level)) != 0) {
        level++;
    }
    if (level == MS_TRACE_LEVEL_COUNT) {
        REFUSE(read, "the trace is damaged at the attribute level of /events: '%s'", word);
    }
    if (!ms_trace_repeat_read(repeat, repeat_out)) {
        REFUSE(read, "the trace is damaged at the attribute fast_forwarded of /events: '%.100s'",
               repeat);
    }
    read->trace.level = (ms_trace_level)level;
    (void)H5Gclose(events);
}

/* ---- the whole ---- */

/* Open the file. Most often one that is no HDF5 is a workload where a trace is wanted. */
static void open_hdf5(trace_reader *read) {
    char path[32]; /* the file that is open already, whatever has its name by now */
    snprintf(path, sizeof path, "/proc/self/fd/%d", read->descriptor);
    errno = 0;
    if (H5Fis_hdf5(path) <= 0) {
        char cause[256], text[512];
        ms_status status = ms_h5_failure(cause, sizeof cause);
        ms_input_kind kind = ms_input_kind_of(read->path);
        if (status == MS_E_INPUT) {
            REFUSE(read, "it is %s",
                   kind == MS_INPUT_UNKNOWN ? "no HDF5 file"
                                            : ms_input_explain(kind, MS_INPUT_TRACE, read->path,
                                                               text, sizeof text));
        }
        (void)ms_h5_refuse(&read->fault, status, "%s", cause);
        return;
    }
    /* a trace never changes under its name, and some file systems have no locks */
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    read->file = access < 0 || H5Pset_file_locking(access, false, true) < 0
                     ? -1
                     : H5Fopen(path, H5F_ACC_RDONLY, access);
    if (read->file < 0) {
        char cause[256];
        ms_status status = ms_h5_failure(cause, sizeof cause);
        (void)ms_h5_refuse(&read->fault, status, "%s", cause);
    }
    (void)H5Pclose(access);
}

static void read_all(trace_reader *read) {
    ms_steady repeat = {.count = 0};
    int64_t version = read_version(read);
    if (goes_on(read)) {
        ms_h5_check_file(read->file, &read->fault);
    }
    read->trace.program_version =
        read_attribute(read, read->file, "program_version", ATTRIBUTE_B);
    read_level(read, &repeat);
    read_steps(read);
    const rank_place *places = read_ranks(read);
    read_streams(read, places);
    read_events(read);
    read_members(read);
    read_memory(read, places);
    read_documents(read);
    read_summary(read, version);
    read_tables(read, version);
    ms_status status =
        goes_on(read) ? ms_trace_repeat_apply(&repeat, read->arena, &read->trace) : MS_OK;
    if (status == MS_E_NOMEM) {
        (void)ms_h5_refuse(&read->fault, MS_E_NOMEM, "out of memory");
    } else if (status != MS_OK) {
        REFUSE(read, "the trace is damaged at the attribute fast_forwarded of /events: it is more "
                     "than the run");
    }
}

static ms_status read_file(void *context, char cause_out[MS_CHILD_CAUSE_B]) {
    trace_reader *read = context;
    read->fault = (ms_h5_fault){.cause = cause_out};
    open_hdf5(read);
    if (goes_on(read)) {
        read_all(read);
        (void)H5Fclose(read->file);
    }
    return read->fault.status;
}

static ms_status read_in_child(void *context, char cause_out[MS_CHILD_CAUSE_B]) {
    ms_h5_quiet();
    return read_file(context, cause_out);
}

/* The same in this process, which may use HDF5 for something else, too. HDF5's exit handler, which
 * crashes after a failure, is not installed; who has installed it already keeps it. */
static ms_status read_here(trace_reader *read, char cause_out[MS_CHILD_CAUSE_B]) {
    H5E_auto2_t print = NULL;
    void *context = NULL;
    (void)H5dont_atexit();
    (void)H5Eget_auto2(H5E_DEFAULT, &print, &context);
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    ms_status status = read_file(read, cause_out);
    (void)H5Eset_auto2(H5E_DEFAULT, print, context);
    return status;
}

static bool is_unchanged(const struct stat *before, int descriptor) {
    struct stat now;
    return fstat(descriptor, &now) == 0 && now.st_size == before->st_size &&
           now.st_ctim.tv_sec == before->st_ctim.tv_sec &&
           now.st_ctim.tv_nsec == before->st_ctim.tv_nsec;
}

static ms_status read_twice(trace_reader *read, char cause_out[MS_CHILD_CAUSE_B]) {
    struct stat facts;
    if (fstat(read->descriptor, &facts) != 0) {
        snprintf(cause_out, MS_CHILD_CAUSE_B, "%s", strerror(errno));
        return MS_E_IO;
    }
    read->size_B = (int64_t)facts.st_size;
    const ms_child_limits limits = {
        .cpu_s = CHILD_CPU_S + (rlim_t)read->size_B / 1000000,
        .memory_B = CHILD_MEMORY_B + PLAIN_LEAST_B + PLAIN_SHARE * (rlim_t)read->size_B};
    ms_status status = ms_child_run(read_in_child, read, &limits, cause_out);
    if (status == MS_E_BUG) {
        char crash[MS_CHILD_CAUSE_B];
        snprintf(crash, sizeof crash, "%s", cause_out);
        snprintf(cause_out, MS_CHILD_CAUSE_B, "the trace is damaged: %.100s over it", crash);
        return MS_E_INPUT;
    }
    if (status == MS_OK && !is_unchanged(&facts, read->descriptor)) {
        snprintf(cause_out, MS_CHILD_CAUSE_B, "it has been changed while it was read");
        return MS_E_IO;
    }
    return status == MS_OK ? read_here(read, cause_out) : status;
}

/* Open a regular file.  Returns its descriptor; < 0 with a fault. */
static int open_path(const char *path, ms_h5_fault *fault) {
    struct stat facts;
    int file = -1;
    if (stat(path, &facts) != 0) {
        bool is_missing = errno == ENOENT || errno == ENOTDIR;
        (void)ms_h5_refuse(fault, is_missing ? MS_E_INPUT : MS_E_IO, "%s", strerror(errno));
    } else if (!S_ISREG(facts.st_mode)) {
        (void)ms_h5_refuse(fault, MS_E_INPUT,
                           S_ISDIR(facts.st_mode) ? "it is a folder" : "it is no regular file");
    } else {
        file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0) {
            (void)ms_h5_refuse(fault, MS_E_IO, "%s", strerror(errno));
        }
    }
    return file;
}

ms_status ms_trace_read(const char *path, unsigned columns, ms_arena *arena, ms_diag *diag,
                        ms_trace *trace_out) {
    char cause[MS_CHILD_CAUSE_B] = "";
    trace_reader read = {.path = path, .arena = arena, .trace.path = path, .fault.cause = cause};
    /* what happened more often than the file has it is told by starts and streams */
    read.columns = (columns & MS_TRACE_EVERYTHING) == MS_TRACE_NOTHING
                       ? columns
                       : columns | MS_TRACE_START | MS_TRACE_STREAM;
    read.descriptor = open_path(path, &read.fault);
    ms_status status = read.fault.status;
    if (status == MS_OK) {
        status = read_twice(&read, cause);
        close(read.descriptor);
    }
    if (status == MS_OK) {
        *trace_out = read.trace;
    } else {
        ms_diag_error(diag, "cannot read '%s': %s", path, cause);
    }
    return status;
}
