#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "meshsim/event.h"
#include "meshsim/input.h"
#include "meshsim/trace.h"
#include "trace/h5.h"
#include "trace/summary.h"

/* More rows than any simulation here produces; a damaged file must not make us ask for more. */
enum { ROWS_MAX = 1 << 28, PROBE_LIMIT_S = 60, PROBE_CPU_S = 5 };

typedef struct reader {
    const char *path;
    ms_arena *arena;
    ms_diag *diag;
    hid_t file;
    ms_status status;
} reader;

static void fail(reader *read, ms_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void fail(reader *read, ms_status status, const char *format, ...) {
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

static void fail_damaged(reader *read, const char *place) {
    fail(read, MS_E_INPUT, "the trace is damaged at %s", place);
}

static void *allocate(reader *read, size_t count, size_t size) {
    void *memory = ms_arena_alloc(read->arena, count, size);
    if (memory == NULL) {
        fail(read, MS_E_NOMEM, "out of memory");
    }
    return memory;
}

/* ---- opening ---- */

static bool is_readable(reader *read) {
    struct stat facts;
    if (stat(read->path, &facts) != 0 || access(read->path, R_OK) != 0) {
        fail(read, errno == ENOENT || errno == ENOTDIR ? MS_E_INPUT : MS_E_IO, "%s",
             strerror(errno));
    } else if (S_ISDIR(facts.st_mode)) {
        fail(read, MS_E_INPUT, "it is a folder");
    } else if (!S_ISREG(facts.st_mode)) {
        fail(read, MS_E_INPUT, "it is no regular file");
    } else if (H5Fis_hdf5(read->path) <= 0) {
        char text[512];
        ms_input_kind kind = ms_input_kind_of(read->path);
        fail(read, MS_E_INPUT, "it is %s",
             kind == MS_INPUT_UNKNOWN
                 ? "no HDF5 file"
                 : ms_input_explain(kind, MS_INPUT_TRACE, read->path, text, sizeof text));
    }
    return read->status == MS_OK;
}

static void open_file(reader *read) {
    read->file = H5Fopen(read->path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (read->file < 0) {
        char cause[256];
        ms_h5_cause(cause, sizeof cause);
        fail(read, MS_E_INPUT, "%s", cause);
    }
}

/* A text attribute of the root; NULL if there is none. */
static const char *read_text(reader *read, const char *name) {
    char *text = NULL;
    const char *copy = NULL;
    if (read->status != MS_OK || H5Aexists(read->file, name) <= 0) {
        return NULL;
    }
    hid_t attribute = H5Aopen(read->file, name, H5P_DEFAULT);
    hid_t type = attribute < 0 ? -1 : H5Aget_type(attribute);
    hid_t space = attribute < 0 ? -1 : H5Aget_space(attribute);
    if (type >= 0 && space >= 0 && H5Tis_variable_str(type) > 0 &&
        H5Sget_simple_extent_type(space) == H5S_SCALAR && H5Aread(attribute, type, &text) >= 0 &&
        text != NULL) {
        copy = ms_arena_strdup(read->arena, text);
        (void)H5Dvlen_reclaim(type, space, H5P_DEFAULT, &text);
        if (copy == NULL) {
            fail(read, MS_E_NOMEM, "out of memory");
        }
    }
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    (void)H5Aclose(attribute);
    return copy;
}

/* A text of its own, such as /input/workload; NULL if there is none. */
static const char *read_document(reader *read, const char *name) {
    char *text = NULL;
    const char *copy = NULL;
    if (read->status != MS_OK || H5Lexists(read->file, "/input", H5P_DEFAULT) <= 0 ||
        H5Lexists(read->file, name, H5P_DEFAULT) <= 0) {
        return NULL;
    }
    hid_t data = H5Dopen2(read->file, name, H5P_DEFAULT);
    hid_t type = data < 0 ? -1 : H5Dget_type(data);
    hid_t space = data < 0 ? -1 : H5Dget_space(data);
    bool is_text = type >= 0 && space >= 0 && H5Tis_variable_str(type) > 0 &&
                   H5Sget_simple_extent_type(space) == H5S_SCALAR;
    if (is_text && H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text) >= 0 && text != NULL) {
        copy = ms_arena_strdup(read->arena, text);
        (void)H5Dvlen_reclaim(type, space, H5P_DEFAULT, &text);
        if (copy == NULL) {
            fail(read, MS_E_NOMEM, "out of memory");
        }
    } else {
        fail_damaged(read, name);
    }
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    (void)H5Dclose(data);
    return copy;
}

static void read_inputs(reader *read, ms_trace *trace) {
    trace->workload_text = read_document(read, "/input/workload");
    trace->platform_text = read_document(read, "/input/platform");
    trace->schedule_text = read_document(read, "/input/schedule");
}

static int64_t read_version(reader *read) {
    int64_t version = 0;
    hid_t attribute = H5Aopen(read->file, "format_version", H5P_DEFAULT);
    hid_t space = attribute < 0 ? -1 : H5Aget_space(attribute);
    if (attribute < 0 || H5Sget_simple_extent_npoints(space) != 1 ||
        H5Aread(attribute, H5T_NATIVE_INT64, &version) < 0) {
        version = 0;
    }
    (void)H5Sclose(space);
    (void)H5Aclose(attribute);
    return version;
}

static void read_head(reader *read, ms_trace *trace) {
    const char *format = read_text(read, "format");
    if (read->status != MS_OK) {
        return;
    }
    if (format == NULL || strcmp(format, "meshsim-trace") != 0) {
        fail(read, MS_E_INPUT, "it is no trace of meshsim (no attribute format = 'meshsim-trace')");
        return;
    }
    int64_t version = read_version(read);
    if (version < 1) {
        fail_damaged(read, "format_version");
    } else if (version > MS_TRACE_FORMAT_VERSION) {
        fail(read, MS_E_INPUT, "it has format version %lld, this program reads up to %d",
             (long long)version, MS_TRACE_FORMAT_VERSION);
    }
    const char *program = read_text(read, "program_version");
    trace->program_version = program == NULL ? "" : program;
}

/* ---- columns ---- */

static size_t memory_B(ms_h5_cell cell) {
    return cell <= MS_H5_AXIS ? 1 : cell == MS_H5_I16 ? 2 : cell == MS_H5_I32 ? 4 : 8;
}

/* Read GROUP/NAME into a new array. *rows: -1 takes the column's length, else it must be that. */
static void *read_column(reader *read, const char *name, ms_h5_cell cell, int32_t *rows) {
    void *cells = NULL;
    if (read->status != MS_OK) {
        return NULL;
    }
    hid_t data = H5Dopen2(read->file, name, H5P_DEFAULT);
    hid_t space = data < 0 ? -1 : H5Dget_space(data);
    hssize_t count = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    if (count < 0 || count > ROWS_MAX || H5Sget_simple_extent_ndims(space) != 1 ||
        (*rows >= 0 && count != *rows)) {
        fail_damaged(read, name);
    } else {
        *rows = (int32_t)count;
        cells = allocate(read, (size_t)count, memory_B(cell));
        if (cells != NULL && count > 0 &&
            H5Dread(data, ms_h5_memory_type(cell), H5S_ALL, H5S_ALL, H5P_DEFAULT, cells) < 0) {
            fail_damaged(read, name);
        }
    }
    (void)H5Sclose(space);
    (void)H5Dclose(data);
    return cells;
}

static void check_range(reader *read, const char *name, const int32_t *cells, int32_t rows,
                        const int32_t limits[2]) {
    for (int32_t i = 0; read->status == MS_OK && i < rows; i++) {
        if (cells[i] < limits[0] || cells[i] >= limits[1]) {
            fail_damaged(read, name);
        }
    }
}

static void check_codes(reader *read, const char *name, const uint8_t *cells, int32_t rows,
                        int count) {
    for (int32_t i = 0; read->status == MS_OK && i < rows; i++) {
        if (cells[i] >= count) {
            fail_damaged(read, name);
        }
    }
}

/* ---- ranks, streams, members, memory ---- */

static void read_ranks(reader *read, ms_trace *trace) {
    int32_t rows = -1;
    const int32_t *rank = read_column(read, "/ranks/rank", MS_H5_I32, &rows);
    const int32_t *multiplicity = read_column(read, "/ranks/multiplicity", MS_H5_I32, &rows);
    const int32_t *pp = read_column(read, "/ranks/pp", MS_H5_I32, &rows);
    if (read->status == MS_OK) {
        trace->ranks = allocate(read, (size_t)rows, sizeof *trace->ranks);
    }
    for (int32_t i = 0; read->status == MS_OK && i < rows; i++) {
        trace->ranks[i] = (ms_trace_rank){rank[i], multiplicity[i], pp[i]};
        trace->rank_count = rows;
    }
}

/* Index of a rank of the job, looked for from `near` on; -1 if it was not simulated. */
static int32_t rank_index(const ms_trace *trace, int32_t rank, int32_t near) {
    for (int32_t i = 0; i < trace->rank_count; i++) {
        int32_t at = near + i < trace->rank_count ? near + i : near + i - trace->rank_count;
        if (trace->ranks[at].rank == rank) {
            return at;
        }
    }
    return -1;
}

static void read_streams(reader *read, ms_trace *trace) {
    int32_t rows = -1;
    const int32_t *rank = read_column(read, "/streams/rank", MS_H5_I32, &rows);
    const int32_t *peer = read_column(read, "/streams/peer", MS_H5_I32, &rows);
    const uint8_t *axis = read_column(read, "/streams/axis", MS_H5_AXIS, &rows);
    if (read->status == MS_OK) {
        check_codes(read, "/streams/axis", axis, rows, MS_AXIS_COUNT);
        trace->streams = allocate(read, (size_t)rows, sizeof *trace->streams);
    }
    int32_t near = 0;
    for (int32_t i = 0; read->status == MS_OK && i < rows; i++) {
        int32_t owner = rank_index(trace, rank[i], near);
        int32_t other = peer[i] < 0 ? -1 : rank_index(trace, peer[i], near);
        if (owner < 0 || (peer[i] >= 0 && other < 0)) {
            fail_damaged(read, "/streams");
            return;
        }
        near = owner;
        trace->streams[i] = (ms_trace_stream){owner, other, axis[i]};
        trace->stream_count = rows;
    }
}

static void read_members(reader *read, ms_trace *trace) {
    int32_t rows = -1;
    const int32_t *event = read_column(read, "/members/event", MS_H5_I32, &rows);
    const int32_t *stream = read_column(read, "/members/stream", MS_H5_I32, &rows);
    if (read->status == MS_OK) {
        const int32_t events[2] = {0, trace->event_count};
        const int32_t streams[2] = {0, trace->stream_count};
        check_range(read, "/members/event", event, rows, events);
        check_range(read, "/members/stream", stream, rows, streams);
        trace->members = allocate(read, (size_t)rows, sizeof *trace->members);
    }
    for (int32_t i = 0; read->status == MS_OK && i < rows; i++) {
        trace->members[i] = (ms_trace_member){event[i], stream[i]};
        trace->member_count = rows;
    }
}

static void read_memory(reader *read, ms_trace *trace) {
    int32_t rows = -1;
    const int32_t *rank = read_column(read, "/memory/rank", MS_H5_I32, &rows);
    const int64_t *time_ps = read_column(read, "/memory/time_ps", MS_H5_I64, &rows);
    const double *bytes = read_column(read, "/memory/bytes", MS_H5_F64, &rows);
    if (read->status == MS_OK) {
        trace->memory = allocate(read, (size_t)rows, sizeof *trace->memory);
    }
    int32_t near = 0;
    for (int32_t i = 0; read->status == MS_OK && i < rows; i++) {
        near = rank_index(trace, rank[i], near);
        if (near < 0) {
            fail_damaged(read, "/memory/rank");
            return;
        }
        trace->memory[i] = (ms_trace_memory){near, time_ps[i], bytes[i]};
        trace->memory_count = rows;
    }
}

/* ---- events, steps ---- */

static void read_events(reader *read, unsigned columns, ms_trace *trace) {
    int32_t rows = -1;
    (void)read_column(read, "/events/kind", MS_H5_KIND, &rows); /* for the number of events */
    const struct {
        unsigned column;
        const char *name;
        ms_h5_cell cell;
        void *place;
    } TABLE[] = {
        {MS_TRACE_START, "/events/start_ps", MS_H5_I64, &trace->start_ps},
        {MS_TRACE_END, "/events/end_ps", MS_H5_I64, &trace->end_ps},
        {MS_TRACE_STREAM, "/events/stream", MS_H5_I32, &trace->stream},
        {MS_TRACE_KIND, "/events/kind", MS_H5_KIND, &trace->kind},
        {MS_TRACE_AXIS, "/events/axis", MS_H5_AXIS, &trace->axis},
        {MS_TRACE_STAGE, "/events/stage", MS_H5_I16, &trace->stage},
        {MS_TRACE_CHUNK, "/events/chunk", MS_H5_I16, &trace->chunk},
        {MS_TRACE_MB, "/events/mb", MS_H5_I32, &trace->mb},
        {MS_TRACE_LAYER, "/events/layer", MS_H5_I16, &trace->layer},
        {MS_TRACE_BYTES, "/events/bytes", MS_H5_F64, &trace->bytes},
        {MS_TRACE_FLOP, "/events/flop", MS_H5_F64, &trace->flop},
        {MS_TRACE_CAUSE, "/events/cause", MS_H5_I32, &trace->cause},
    };
    for (size_t i = 0; i < sizeof TABLE / sizeof TABLE[0]; i++) {
        if ((columns & TABLE[i].column) != 0) {
            void *cells = read_column(read, TABLE[i].name, TABLE[i].cell, &rows);
            memcpy(TABLE[i].place, &cells, sizeof cells);
        }
    }
    if ((columns & MS_TRACE_STEP) != 0 && read->status == MS_OK) {
        bool has_steps = H5Lexists(read->file, "/events/step", H5P_DEFAULT) > 0;
        trace->step = has_steps ? read_column(read, "/events/step", MS_H5_I16, &rows)
                                : allocate(read, (size_t)rows, sizeof *trace->step);
    }
    trace->event_count = read->status == MS_OK ? rows : 0;
}

static void check_events(reader *read, const ms_trace *trace) {
    int32_t rows = trace->event_count;
    const int32_t streams[2] = {0, trace->stream_count};
    const int32_t events[2] = {-1, rows};
    if (trace->stream != NULL) {
        check_range(read, "/events/stream", trace->stream, rows, streams);
    }
    if (trace->cause != NULL) {
        check_range(read, "/events/cause", trace->cause, rows, events);
    }
    if (trace->kind != NULL) {
        check_codes(read, "/events/kind", trace->kind, rows, MS_OP_KIND_COUNT);
    }
    if (trace->axis != NULL) {
        check_codes(read, "/events/axis", trace->axis, rows, MS_AXIS_COUNT);
    }
    for (int32_t i = 0; trace->start_ps != NULL && trace->end_ps != NULL && i < rows; i++) {
        if (trace->start_ps[i] < 0 || trace->end_ps[i] < trace->start_ps[i]) {
            fail_damaged(read, "/events/end_ps");
            return;
        }
    }
}

static void read_steps(reader *read, ms_trace *trace) {
    int32_t rows = -1;
    const int64_t *end_ps = read_column(read, "/steps/end_ps", MS_H5_I64, &rows);
    if (read->status == MS_OK) {
        if (rows < 1 || end_ps[rows - 1] < 0) {
            fail_damaged(read, "/steps/end_ps");
        } else {
            trace->step_ps = end_ps[rows - 1];
        }
    }
}

static void read_summary(reader *read, ms_trace *trace) {
    ms_value *summary = NULL;
    if (read->status != MS_OK) {
        return;
    }
    ms_status status = ms_summary_read(read->file, "summary", read->arena, &summary);
    if (status == MS_E_NOMEM) {
        fail(read, status, "out of memory");
    } else if (status != MS_OK) {
        fail_damaged(read, "/summary");
    }
    trace->summary = summary;
}

static ms_status read_whole(const char *path, unsigned columns, ms_arena *arena, ms_diag *diag,
                            ms_trace *trace_out) {
    reader read = {.path = path, .arena = arena, .diag = diag, .file = -1};
    ms_trace trace = {.path = path};
    open_file(&read);
    if (read.status == MS_OK) {
        read_head(&read, &trace);
        read_inputs(&read, &trace);
        read_steps(&read, &trace);
        read_ranks(&read, &trace);
        read_streams(&read, &trace);
        read_events(&read, columns, &trace);
        read_members(&read, &trace);
        read_memory(&read, &trace);
        read_summary(&read, &trace);
        check_events(&read, &trace);
    }
    if (read.file >= 0) {
        (void)H5Fclose(read.file);
    }
    if (read.status == MS_OK) {
        *trace_out = trace;
    }
    return read.status;
}

static void keep_silent(void *context, const char *text) {
    (void)context;
    (void)text;
}

static void close_talk(void) {
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) {
        (void)dup2(nowhere, STDERR_FILENO);
    }
}

/* Processor time that reading a sound file never needs: some seconds, and one for each megabyte,
 * which is ten times what it takes. */
static rlim_t probe_cpu_s(const char *path) {
    struct stat facts;
    rlim_t megabytes = stat(path, &facts) == 0 ? (rlim_t)facts.st_size / 1000000 : 0;
    return PROBE_CPU_S + megabytes;
}

/* HDF5 1.10 crashes on some damaged files (its global heap has no checksum) and goes round in
 * circles on others, so a process of its own reads first. Returns whether that process lived. */
static bool survives_reading(const char *path, unsigned columns) {
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit no_core = {0, 0};
        const struct rlimit cpu = {probe_cpu_s(path), RLIM_INFINITY};
        ms_diag silent;
        ms_arena arena;
        ms_trace trace;
        (void)setrlimit(RLIMIT_CORE, &no_core);
        (void)setrlimit(RLIMIT_CPU, &cpu);
        (void)alarm(PROBE_LIMIT_S);
        close_talk(); /* whatever the C library or a sanitizer says of a crash */
        ms_diag_init(&silent, keep_silent, NULL);
        ms_arena_init(&arena);
        (void)read_whole(path, columns, &arena, &silent, &trace);
        _exit(0);
    }
    int state = 0;
    while (child > 0 && waitpid(child, &state, 0) < 0) {
        if (errno != EINTR) {
            break;
        }
    }
    /* without a child (no processes left) the file is read as it is */
    return child < 0 || (WIFEXITED(state) && WEXITSTATUS(state) == 0);
}

ms_status ms_trace_read(const char *path, unsigned columns, ms_arena *arena, ms_diag *diag,
                        ms_trace *trace_out) {
    ms_h5_quiet();
    reader read = {.path = path, .arena = arena, .diag = diag, .file = -1};
    if (is_readable(&read) && !survives_reading(path, columns)) {
        fail(&read, MS_E_INPUT, "the trace is damaged");
    }
    return read.status == MS_OK ? read_whole(path, columns, arena, diag, trace_out) : read.status;
}
