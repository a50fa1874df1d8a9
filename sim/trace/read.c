/* Traces back in memory. A child reads the file with HDF5 (parcel.h); here every number of it is
 * checked, once, so that nobody behind this door needs to. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "meshsim/event.h"
#include "meshsim/trace.h"
#include "trace/parcel.h"
#include "trace/repeat.h"

/* Processor time and memory that reading a sound file never needs: some seconds, and one for each
 * megabyte, which is ten times what it takes; what HDF5 keeps for itself, and twice what all
 * columns can be. */
enum { CHILD_CPU_S = 10, CHILD_MEMORY_B = 256 << 20 };

enum { COLUMN_NAME_B = 64 };

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

typedef struct trace_reader {
    const char *path;
    ms_arena *arena;
    ms_diag *diag;
    ms_parcel *parcel;
    int pipe;                   /* from the child */
    int32_t rows[COLUMN_COUNT]; /* of the columns so far */
    double rank_count;          /* ranks that the rows of /ranks stand for */
    bool has_ended;             /* the child has no more to say */
    ms_status status;
} trace_reader;

static void fail(trace_reader *read, ms_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void fail(trace_reader *read, ms_status status, const char *format, ...) {
    if (read->status != MS_OK) {
        return;
    }
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    read->status = status;
    ms_diag_error(read->diag, "cannot read '%s': %s", read->path, text);
}

static bool goes_on(const trace_reader *read) {
    return read->status == MS_OK && !read->has_ended;
}

static void *allocate(trace_reader *read, size_t count, size_t size) {
    void *memory = goes_on(read) ? ms_arena_alloc(read->arena, count, size) : NULL;
    if (memory == NULL && goes_on(read)) {
        fail(read, MS_E_NOMEM, "out of memory");
    }
    return memory;
}

/* ---- the child ---- */

static void check_place(trace_reader *read, int64_t *size_out) {
    struct stat facts;
    if (stat(read->path, &facts) != 0 || access(read->path, R_OK) != 0) {
        fail(read, errno == ENOENT || errno == ENOTDIR ? MS_E_INPUT : MS_E_IO, "%s",
             strerror(errno));
    } else if (S_ISDIR(facts.st_mode)) {
        fail(read, MS_E_INPUT, "it is a folder");
    } else if (!S_ISREG(facts.st_mode)) {
        fail(read, MS_E_INPUT, "it is no regular file");
    } else {
        int file = open(read->path, O_RDONLY | O_CLOEXEC);
        if (file < 0) { /* as HDF5 would find it, which says less */
            fail(read, MS_E_IO, "%s", strerror(errno));
        } else {
            close(file);
        }
        *size_out = (int64_t)facts.st_size;
    }
}

static void ask(ms_parcel *parcel, unsigned columns) {
    parcel->column_count = COLUMN_COUNT;
    for (int i = 0; i < COLUMN_COUNT; i++) {
        unsigned asked_with = SPECS[i].asked_with;
        parcel->columns[i] = (ms_parcel_column){
            .name = SPECS[i].name,
            .cell = SPECS[i].cell,
            .is_wanted = asked_with == 0 || (columns & asked_with) != 0,
            /* not in traces before there were several steps; a mesh may have no axis */
            .is_optional = i == EVENT_STEP || i == MESH_SIZE,
        };
    }
}

static ms_child_limits child_limits(const ms_parcel *parcel) {
    return (ms_child_limits){.cpu_s = CHILD_CPU_S + (rlim_t)parcel->size_B / 1000000,
                             .memory_B =
                                 CHILD_MEMORY_B + (rlim_t)ms_parcel_plain_max_B(parcel->size_B)};
}

/* What the child says at its end, unless a fault has been found before. */
static void take_verdict(trace_reader *read, pid_t child) {
    ms_child_verdict *verdict = &read->parcel->verdict;
    if (!goes_on(read) && !read->has_ended) {
        (void)kill(child, SIGKILL); /* nobody listens to it any more */
    }
    ms_child_wait(child, verdict);
    if (verdict->status == MS_E_BUG) {
        fail(read, MS_E_INPUT, "the trace is damaged: %s over it", verdict->cause);
    } else if (verdict->status != MS_OK) {
        fail(read, verdict->status, "%s", verdict->cause);
    } else if (read->has_ended) {
        fail(read, MS_E_INPUT, "the trace is damaged");
    }
}

/* ---- columns ---- */

static void fail_at(trace_reader *read, column at, int32_t row, const char *fault) {
    fail(read, MS_E_INPUT, "the trace is damaged at %s[%d]: %s", SPECS[at].name, row, fault);
}

static void fetch(trace_reader *from, void *bytes_out, int64_t length) {
    for (int64_t done = 0; goes_on(from) && done < length;) {
        ssize_t got = read(from->pipe, (char *)bytes_out + done, (size_t)(length - done));
        if (got > 0) {
            done += got;
        } else if (got == 0) {
            from->has_ended = true;
        } else if (errno != EINTR) {
            fail(from, MS_E_IO, "%s", strerror(errno));
        }
    }
}

static int64_t fetch_number(trace_reader *from) {
    int64_t number = 0;
    fetch(from, &number, sizeof number);
    return number;
}

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

/* The cells of the next column, each within [low, high], as long as its table; NULL when it was not
 * asked for, or is not there and need not be. */
static void *take(trace_reader *read, column at, double low, double high) {
    const column_spec *spec = &SPECS[at];
    if (!goes_on(read) || !read->parcel->columns[at].is_wanted) {
        return NULL;
    }
    int32_t rows = (int32_t)fetch_number(read);
    read->rows[at] = rows;
    if (rows < 0) {
        return NULL;
    }
    if (goes_on(read) && rows != read->rows[spec->table]) {
        fail(read, MS_E_INPUT, "the trace is damaged at %s: %d rows, and %s has %d", spec->name,
             rows, SPECS[spec->table].name, read->rows[spec->table]);
    }
    void *cells = allocate(read, (size_t)rows, ms_h5_cell_B(spec->cell));
    fetch(read, cells, (int64_t)rows * (int64_t)ms_h5_cell_B(spec->cell));
    double value = 0.0;
    int32_t bad = goes_on(read) ? find_outside(spec->cell, cells, rows, low, high, &value) : -1;
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
        fail(read, MS_E_INPUT,
             "the trace is damaged at %s: a mesh of %.0f ranks, and those of /ranks stand for %.0f",
             place, mesh_ranks, read->rank_count);
    }
}

static rank_place *read_ranks(trace_reader *read, ms_trace *trace) {
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

static void read_streams(trace_reader *read, const rank_place *places, ms_trace *trace) {
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

static void read_members(trace_reader *read, ms_trace *trace) {
    const int32_t *event = take(read, MEMBER_EVENT, 0, trace->events.count - 1);
    const int32_t *stream = take(read, MEMBER_STREAM, 0, trace->stream_count - 1);
    int32_t rows = read->rows[MEMBER_EVENT];
    trace->members = allocate(read, (size_t)rows, sizeof *trace->members);
    for (int32_t i = 0; goes_on(read) && i < rows; i++) {
        trace->members[i] = (ms_trace_member){event[i], stream[i]};
    }
    trace->member_count = rows;
}

static void read_memory(trace_reader *read, const rank_place *places, double end_ps,
                        ms_trace *trace) {
    const int32_t *rank = take(read, MEMORY_RANK, 0, COUNT_MAX);
    const int64_t *time_ps = take(read, MEMORY_TIME, 0, end_ps);
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
static void read_steps(trace_reader *read, ms_trace *trace) {
    const int64_t *end_ps = take(read, STEP_END, 0, PS_MAX);
    int32_t rows = read->rows[STEP_END];
    if (goes_on(read) && rows < 1) {
        fail(read, MS_E_INPUT, "the trace is damaged at %s: there is no step",
             SPECS[STEP_END].name);
    }
    for (int32_t i = 0; goes_on(read) && i < rows; i++) {
        if (end_ps[i] < trace->step_ps) {
            fail_at(read, STEP_END, i, "before the row above it");
        }
        trace->step_ps = end_ps[i];
    }
}

/* The child has read it before the first column. */
static void read_level(trace_reader *read, ms_trace *trace) {
    const char *word = read->parcel->level;
    int level = MS_TRACE_FULL; /* in files that do not say */
    while (word[0] != '\0' && level < MS_TRACE_LEVEL_COUNT &&
           strcmp(word, ms_trace_level_name((ms_trace_level)level)) != 0) {
        level++;
    }
    if (level == MS_TRACE_LEVEL_COUNT) {
        fail(read, MS_E_INPUT, "the trace is damaged at the attribute level of /events: '%s'",
             word);
        level = MS_TRACE_FULL;
    }
    trace->level = (ms_trace_level)level;
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

static void read_events(trace_reader *read, double end_ps, ms_trace *trace) {
    trace->events.kind = take(read, EVENT_KIND, 0, MS_OP_KIND_COUNT - 1);
    if (goes_on(read)) {
        read_level(read, trace);
    }
    int32_t rows = read->rows[EVENT_KIND];
    trace->events.count = rows;
    trace->events.start_ps = take(read, EVENT_START, 0, end_ps);
    trace->events.end_ps = take(read, EVENT_END, 0, end_ps);
    trace->events.stream = take(read, EVENT_STREAM, 0, trace->stream_count - 1);
    trace->events.axis = take(read, EVENT_AXIS, 0, MS_AXIS_COUNT - 1);
    trace->events.stage = take(read, EVENT_STAGE, -1, COUNT_MAX);
    trace->events.chunk = take(read, EVENT_CHUNK, -1, COUNT_MAX);
    trace->events.mb = take(read, EVENT_MB, -1, COUNT_MAX);
    trace->events.layer = take(read, EVENT_LAYER, -1, COUNT_MAX);
    trace->events.bytes = take(read, EVENT_BYTES, 0, BYTES_MAX);
    trace->events.flop = take(read, EVENT_FLOP, 0, FLOP_MAX);
    trace->events.cause = take(read, EVENT_CAUSE, -1, rows - 1);
    trace->events.step = take(read, EVENT_STEP, 0, read->rows[STEP_END] - 1);
    if (trace->events.step == NULL && read->parcel->columns[EVENT_STEP].is_wanted) {
        trace->events.step = allocate(read, (size_t)rows, sizeof *trace->events.step);
    }
    if (trace->events.cause != NULL && goes_on(read)) {
        check_causes(read, trace->events.cause, rows);
    }
    bool has_times = trace->events.start_ps != NULL && trace->events.end_ps != NULL;
    for (int32_t i = 0; has_times && goes_on(read) && i < rows; i++) {
        if (trace->events.end_ps[i] < trace->events.start_ps[i]) {
            fail_at(read, EVENT_END, i, "before its start");
        }
    }
}

/* ---- the whole ---- */

static void read_documents(trace_reader *read, ms_trace *trace) {
    const char **const places[MS_PARCEL_DOCUMENTS] = {
        &trace->inputs.workload,  &trace->inputs.platform, &trace->inputs.schedule,
        &trace->inputs.placement, &trace->inputs.sources,  &trace->inputs.resolved};
    for (int i = 0; i < MS_PARCEL_DOCUMENTS && goes_on(read); i++) {
        int64_t length = fetch_number(read);
        char *text = length < 0 ? NULL : allocate(read, (size_t)length + 1, 1);
        fetch(read, text, length);
        *places[i] = text;
    }
}

/* The next object that the child sends packed; NULL after a failure. */
static const ms_value *take_tree(trace_reader *read) {
    int64_t length = goes_on(read) ? fetch_number(read) : 0;
    char *packed = allocate(read, (size_t)length, 1);
    fetch(read, packed, length);
    const ms_value *tree =
        goes_on(read) ? ms_value_unpack(packed, (size_t)length, read->arena) : NULL;
    if (goes_on(read) && tree == NULL) {
        fail(read, MS_E_NOMEM, "out of memory");
    }
    return tree;
}

/* Check the sizes of a mesh in the summary; a mesh without axes has one rank. */
static void check_sizes(trace_reader *read, const char *place, const ms_value *sizes) {
    double mesh_ranks = 1;
    for (const ms_value *size = sizes->first; size != NULL && goes_on(read); size = size->next) {
        bool is_sound = size->type == MS_VALUE_INT && size->as.integer >= 1 &&
                        (double)size->as.integer <= COUNT_MAX;
        if (!is_sound) {
            fail(read, MS_E_INPUT,
                 "the trace is damaged at %s/%.32s: expected a whole number from 1 to %.0f", place,
                 size->key == NULL ? "0" : size->key, COUNT_MAX);
        }
        mesh_ranks *= is_sound ? (double)size->as.integer : 1;
    }
    check_mesh(read, place, mesh_ranks);
}

static void check_summary(trace_reader *read, const ms_value *summary) {
    const ms_value *mesh = ms_value_get(summary, "mesh");
    const ms_value *expert_mesh = ms_value_get(summary, "expert_mesh");
    if (mesh != NULL) {
        check_sizes(read, "/summary/mesh", mesh);
    }
    if (expert_mesh != NULL) {
        check_sizes(read, "/summary/expert_mesh", expert_mesh);
    }
}

static void read_trees(trace_reader *read, ms_trace *trace) {
    trace->summary = take_tree(read);
    check_summary(read, trace->summary);
    if (goes_on(read)) {
        trace->program_version = ms_arena_strdup(read->arena, read->parcel->program_version);
        if (trace->program_version == NULL) {
            fail(read, MS_E_NOMEM, "out of memory");
        }
    }
    if (read->parcel->wants_tables) {
        trace->tables = take_tree(read);
    }
}

static void take_all(trace_reader *read, ms_trace *trace) {
    read_steps(read, trace);
    double end_ps = (double)trace->step_ps;
    const rank_place *places = read_ranks(read, trace);
    read_streams(read, places, trace);
    read_events(read, end_ps, trace);
    read_members(read, trace);
    read_memory(read, places, end_ps, trace);
    read_documents(read, trace);
    read_trees(read, trace);
}

/* Repeat what the file holds once. */
static void repeat(trace_reader *read, ms_trace *trace) {
    ms_steady found;
    if (!ms_trace_repeat_read(read->parcel->repeat, &found)) {
        fail(read, MS_E_INPUT,
             "the trace is damaged at the attribute fast_forwarded of /events: '%.100s'",
             read->parcel->repeat);
        return;
    }
    ms_status status = ms_trace_repeat_apply(&found, read->arena, trace);
    if (status == MS_E_NOMEM) {
        fail(read, MS_E_NOMEM, "out of memory");
    } else if (status != MS_OK) {
        fail(read, MS_E_INPUT,
             "the trace is damaged at the attribute fast_forwarded of /events: '%.100s' is more "
             "than "
             "the run",
             read->parcel->repeat);
    }
}

/* Start the child, and take what it sends. */
static void read_in_child(trace_reader *read, ms_trace *trace) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        fail(read, MS_E_IO, "%s", strerror(errno));
        return;
    }
    read->pipe = ends[0];
    read->parcel->pipe = ends[1];
    const ms_child_limits limits = child_limits(read->parcel);
    pid_t child = ms_child_start(ms_parcel_fill, read->parcel, &limits, &read->parcel->verdict);
    int error = errno;
    close(ends[1]);
    if (child < 0) {
        fail(read, error == ENOMEM ? MS_E_NOMEM : MS_E_IO, "cannot start a process: %s",
             strerror(error));
    } else {
        take_all(read, trace);
        take_verdict(read, child);
    }
    close(ends[0]);
}

ms_status ms_trace_read(const char *path, unsigned columns, ms_arena *arena, ms_diag *diag,
                        ms_trace *trace_out) {
    trace_reader read = {.path = path, .arena = arena, .diag = diag};
    ms_trace trace = {.path = path};
    read.parcel = ms_child_share(sizeof *read.parcel);
    if (read.parcel == NULL) {
        fail(&read, MS_E_NOMEM, "out of memory");
        return read.status;
    }
    read.parcel->path = path;
    read.parcel->wants_tables = (columns & MS_TRACE_TABLES) != 0;
    columns &= MS_TRACE_EVERYTHING;
    check_place(&read, &read.parcel->size_B);
    /* what happened more often than the file has it is told by starts and streams */
    ask(read.parcel,
        columns == MS_TRACE_NOTHING ? columns : columns | MS_TRACE_START | MS_TRACE_STREAM);
    if (read.status == MS_OK) {
        read_in_child(&read, &trace);
    }
    if (read.status == MS_OK) {
        repeat(&read, &trace);
    }
    if (read.status == MS_OK) {
        *trace_out = trace;
    }
    ms_child_unshare(read.parcel, sizeof *read.parcel);
    return read.status;
}
