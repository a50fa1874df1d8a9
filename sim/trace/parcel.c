#include "trace/parcel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "meshsim/config.h"
#include "meshsim/input.h"
#include "meshsim/trace.h"
#include "trace/h5_check.h"
#include "trace/h5_read.h"
#include "trace/summary.h"
#include "trace/tables.h"

/* More rows than any simulation here produces. */
enum { ROWS_MAX = 1 << 28, PLAIN_SHARE = 64, PLAIN_LEAST_B = 64 << 20, MIB = 1 << 20 };

/* Texts beside the tables, in the order in which they are sent. Each is a file of a type, whose
 * limit holds here, too. */
static const struct {
    const char *name;
    ms_file_type type;
} DOCUMENTS[MS_PARCEL_DOCUMENTS] = {
    {"/input/workload", MS_FILE_YAML}, {"/input/platform", MS_FILE_YAML},
    {"/input/schedule", MS_FILE_CSV},  {"/input/placement", MS_FILE_CSV},
    {"/input/sources", MS_FILE_YAML},  {"/input/resolved", MS_FILE_YAML}};

int64_t ms_parcel_plain_max_B(int64_t size_B) {
    return PLAIN_LEAST_B + PLAIN_SHARE * size_B;
}

/* HDF5 could not read: memory, the disk, or else what is said of the file (NULL: HDF5's words). */
static void fail_unless_system(ms_child_verdict *verdict, const char *fault) {
    char cause[256];
    ms_status status = ms_h5_failure(cause, sizeof cause);
    ms_child_verdict_fail(verdict, status, "%s",
                          status == MS_E_INPUT && fault != NULL ? fault : cause);
}

/* HDF5 may have failed, of which only the system's causes count; to be asked before the next call
 * of HDF5, which forgets. */
static void note_system(ms_child_verdict *verdict) {
    char cause[256];
    ms_status status = ms_h5_failure(cause, sizeof cause);
    if (status != MS_E_INPUT) {
        ms_child_verdict_fail(verdict, status, "%s", cause);
    }
}

static void fail_reading(ms_child_verdict *verdict, const char *place) {
    char fault[256];
    snprintf(fault, sizeof fault, "the trace is damaged at %s", place);
    fail_unless_system(verdict, fault);
}

/* ---- the head ---- */

/* A dataset or an attribute that is one text. */
typedef struct text_place {
    hid_t from; /* < 0: it could not be opened */
    const char *name;
    size_t limit_B;
} text_place;

/* HDF5's text, once its length is known to be within the limit; NULL after a failure. */
static char *read_limited(const text_place *place, hid_t type, ms_child_verdict *verdict) {
    char *text = NULL;
    ms_arena scratch;
    ms_arena_init(&scratch);
    bool is_attribute = H5Iget_type(place->from) == H5I_ATTR;
    int64_t length_B = ms_h5_lengths(place->from, 1, &scratch);
    if (length_B > (int64_t)place->limit_B) {
        bool is_large = place->limit_B >= MIB;
        ms_child_verdict_fail(verdict, MS_E_INPUT,
                              "the trace is damaged at %s: expected a text of at most %zu %s",
                              place->name, is_large ? place->limit_B / MIB : place->limit_B,
                              is_large ? "MiB" : "bytes");
    } else if (length_B < 0 ||
               (is_attribute
                    ? H5Aread(place->from, type, &text)
                    : H5Dread(place->from, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text)) < 0 ||
               text == NULL) {
        fail_reading(verdict, place->name);
        text = NULL;
    }
    ms_arena_release(&scratch);
    return text;
}

/* A text in `arena`; NULL after a failure. */
static const char *read_one_text(const text_place *place, ms_arena *arena,
                                 ms_child_verdict *verdict) {
    if (place->from < 0) {
        fail_reading(verdict, place->name); /* at once: HDF5's next call clears the reason */
        return NULL;
    }
    bool is_attribute = H5Iget_type(place->from) == H5I_ATTR;
    hid_t type = is_attribute ? H5Aget_type(place->from) : H5Dget_type(place->from);
    hid_t space = is_attribute ? H5Aget_space(place->from) : H5Dget_space(place->from);
    bool is_text = type >= 0 && space >= 0 && H5Tis_variable_str(type) > 0 &&
                   H5Sget_simple_extent_type(space) == H5S_SCALAR;
    const char *copy = NULL;
    char *text = NULL;
    if (is_text) {
        text = read_limited(place, type, verdict);
    } else {
        fail_reading(verdict, place->name);
    }
    if (text != NULL) {
        copy = ms_arena_strdup(arena, text);
        (void)H5Dvlen_reclaim(type, space, H5P_DEFAULT, &text);
        if (copy == NULL) {
            ms_child_verdict_fail(verdict, MS_E_NOMEM, "out of memory");
        }
    }
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    return copy;
}

/* A text attribute of a group; "" if there is none. */
static void read_text(hid_t group, const char *name, char *text_out, size_t size,
                      ms_child_verdict *verdict) {
    text_out[0] = '\0';
    if (verdict->status != MS_OK || H5Aexists(group, name) == 0) {
        return;
    }
    ms_arena arena;
    ms_arena_init(&arena);
    const text_place place = {H5Aopen(group, name, H5P_DEFAULT), name, size - 1};
    const char *text = read_one_text(&place, &arena, verdict);
    snprintf(text_out, size, "%s", text == NULL ? "" : text);
    (void)H5Aclose(place.from);
    ms_arena_release(&arena);
}

static int64_t read_version(hid_t file, ms_child_verdict *verdict) {
    int64_t version = 0;
    hid_t attribute = H5Aopen(file, "format_version", H5P_DEFAULT);
    hid_t space = attribute < 0 ? -1 : H5Aget_space(attribute);
    if (attribute < 0 || H5Sget_simple_extent_npoints(space) != 1 ||
        H5Aread(attribute, H5T_NATIVE_INT64, &version) < 0) {
        version = 0;
        note_system(verdict);
    }
    (void)H5Sclose(space);
    (void)H5Aclose(attribute);
    return version;
}

static void read_head(ms_parcel *parcel, hid_t file, ms_child_verdict *verdict) {
    char format[MS_PARCEL_TEXT_B];
    read_text(file, "format", format, sizeof format, verdict);
    if (verdict->status == MS_OK && strcmp(format, "meshsim-trace") != 0) {
        ms_child_verdict_fail(verdict, MS_E_INPUT,
                              "it is no trace of meshsim (no attribute format = "
                              "'meshsim-trace')");
        return;
    }
    int64_t version = verdict->status == MS_OK ? read_version(file, verdict) : 0;
    if (version < 1) {
        ms_child_verdict_fail(verdict, MS_E_INPUT, "the trace is damaged at format_version");
    } else if (version > MS_TRACE_FORMAT_VERSION) {
        ms_child_verdict_fail(verdict, MS_E_INPUT,
                              "it has format version %lld, this program reads up to %d",
                              (long long)version, MS_TRACE_FORMAT_VERSION);
    }
    char fault[256];
    ms_status status = verdict->status == MS_OK ? ms_h5_check_file(file, fault) : MS_OK;
    if (status != MS_OK) {
        ms_child_verdict_fail(verdict, status, "%s", fault);
    }
    read_text(file, "program_version", parcel->program_version, sizeof parcel->program_version,
              verdict);
    hid_t events = verdict->status == MS_OK ? H5Gopen2(file, "events", H5P_DEFAULT) : -1;
    if (events >= 0) { /* without, a column of it is missed */
        read_text(events, "level", parcel->level, sizeof parcel->level, verdict);
        read_text(events, "fast_forwarded", parcel->repeat, sizeof parcel->repeat, verdict);
        (void)H5Gclose(events);
    }
}

/* ---- columns ---- */

/* Send bytes to the parent; that nobody takes them any more is no fault of the file. */
static void send_bytes(const ms_parcel *parcel, const void *bytes, int64_t length,
                       ms_child_verdict *verdict) {
    const char *at = bytes;
    while (length > 0 && verdict->status == MS_OK) {
        ssize_t written = write(parcel->pipe, at, (size_t)length);
        if (written >= 0) {
            at += written;
            length -= written;
        } else if (errno != EINTR) {
            ms_child_verdict_fail(verdict, MS_E_IO, "%s", strerror(errno));
        }
    }
}

static void send_number(const ms_parcel *parcel, int64_t number, ms_child_verdict *verdict) {
    send_bytes(parcel, &number, sizeof number, verdict);
}

static bool has_sane_size(ms_parcel *parcel, const ms_parcel_column *column, hid_t data,
                          hssize_t rows, ms_child_verdict *verdict) {
    int64_t most_B = ms_parcel_plain_max_B(parcel->size_B);
    int64_t stored_B = 0;
    if (rows < 0) {
        fail_reading(verdict, column->name);
        return false;
    }
    bool has_cells = ms_h5_has_cells(data, rows, &stored_B);
    if (!has_cells) {
        note_system(verdict);
    }
    parcel->stored_B += stored_B;
    if (!has_cells || parcel->stored_B > parcel->size_B || rows > ROWS_MAX ||
        rows * (hssize_t)ms_h5_cell_B(column->cell) > (hssize_t)(most_B - parcel->plain_B)) {
        ms_child_verdict_fail(verdict, MS_E_INPUT,
                              "the trace is damaged at %s: no file of %lld bytes holds %lld rows",
                              column->name, (long long)parcel->size_B, (long long)rows);
    }
    return verdict->status == MS_OK;
}

static void read_cells(ms_parcel *parcel, const ms_parcel_column *column, hid_t data, int64_t rows,
                       ms_child_verdict *verdict) {
    int64_t size = rows * (int64_t)ms_h5_cell_B(column->cell);
    ms_arena arena;
    ms_arena_init(&arena);
    void *cells = ms_arena_alloc(&arena, (size_t)size, 1);
    if (cells == NULL) {
        ms_child_verdict_fail(verdict, MS_E_NOMEM, "out of memory");
    } else if (rows > 0 && H5Dread(data, ms_h5_memory_type(column->cell), H5S_ALL, H5S_ALL,
                                   H5P_DEFAULT, cells) < 0) {
        fail_reading(verdict, column->name);
    }
    send_number(parcel, rows, verdict);
    send_bytes(parcel, cells, size, verdict);
    parcel->plain_B += size;
    ms_arena_release(&arena);
}

static void read_column(ms_parcel *parcel, hid_t file, const ms_parcel_column *column,
                        ms_child_verdict *verdict) {
    if (column->is_optional && H5Lexists(file, column->name, H5P_DEFAULT) == 0) {
        send_number(parcel, -1, verdict);
        return;
    }
    hid_t data = H5Dopen2(file, column->name, H5P_DEFAULT);
    hid_t space = data < 0 ? -1 : H5Dget_space(data);
    bool is_list = space >= 0 && H5Sget_simple_extent_ndims(space) == 1;
    hssize_t rows = is_list ? H5Sget_simple_extent_npoints(space) : -1;
    if (has_sane_size(parcel, column, data, rows, verdict)) {
        read_cells(parcel, column, data, rows, verdict);
    }
    (void)H5Sclose(space);
    (void)H5Dclose(data);
}

/* A text of its own, such as /input/workload: its length, -1 if there is none, and its bytes. */
static void read_document(const ms_parcel *parcel, hid_t file, int document,
                          ms_child_verdict *verdict) {
    const char *name = DOCUMENTS[document].name;
    if (H5Lexists(file, "/input", H5P_DEFAULT) == 0 || H5Lexists(file, name, H5P_DEFAULT) == 0) {
        send_number(parcel, -1, verdict);
        return;
    }
    ms_arena arena;
    ms_arena_init(&arena);
    const text_place place = {H5Dopen2(file, name, H5P_DEFAULT), name,
                              ms_file_limit_B(DOCUMENTS[document].type)};
    const char *text = read_one_text(&place, &arena, verdict);
    if (text != NULL) {
        send_number(parcel, (int64_t)strlen(text), verdict);
        send_bytes(parcel, text, (int64_t)strlen(text), verdict);
    }
    (void)H5Dclose(place.from);
    ms_arena_release(&arena);
}

/* Send an object packed, or why there is none. */
static void send_tree(const ms_parcel *parcel, const ms_value *tree, ms_status status,
                      const char *cause, ms_child_verdict *verdict) {
    ms_buffer packed;
    ms_buffer_init(&packed);
    if (status == MS_OK) {
        ms_value_pack(tree, &packed);
        status = packed.failed ? MS_E_NOMEM : MS_OK;
    }
    if (status != MS_OK) {
        ms_child_verdict_fail(verdict, status, "%s",
                              status == MS_E_NOMEM ? "out of memory" : cause);
    }
    send_number(parcel, (int64_t)packed.length, verdict);
    send_bytes(parcel, packed.data, (int64_t)packed.length, verdict);
    ms_buffer_release(&packed);
}

static void read_summary(const ms_parcel *parcel, hid_t file, ms_child_verdict *verdict) {
    ms_arena arena;
    ms_value *summary = NULL;
    ms_arena_init(&arena);
    char cause[256] = "the trace is damaged at /summary";
    ms_status status = ms_summary_read(file, "summary", &arena, &summary, cause);
    send_tree(parcel, summary, status, cause, verdict);
    ms_arena_release(&arena);
}

static void read_tables(const ms_parcel *parcel, hid_t file, ms_child_verdict *verdict) {
    ms_arena arena;
    ms_value *tables = NULL;
    ms_arena_init(&arena);
    char cause[256] = "";
    ms_status status = ms_tables_read(file, &arena, &tables, cause);
    send_tree(parcel, tables, status, cause, verdict);
    ms_arena_release(&arena);
}

/* ---- the whole ---- */

/* Whether a file is HDF5. Most often one that is not is a workload where a trace is wanted. */
static bool is_hdf5(const char *path, ms_child_verdict *verdict) {
    if (H5Fis_hdf5(path) > 0) {
        return true;
    }
    char text[512];
    char what[560];
    ms_input_kind kind = ms_input_kind_of(path);
    snprintf(what, sizeof what, "it is %s",
             kind == MS_INPUT_UNKNOWN
                 ? "no HDF5 file"
                 : ms_input_explain(kind, MS_INPUT_TRACE, path, text, sizeof text));
    fail_unless_system(verdict, what);
    return false;
}

static hid_t open_file(const char *path, ms_child_verdict *verdict) {
    ms_h5_quiet();
    if (H5open() < 0) {
        ms_child_verdict_fail(verdict, MS_E_NOMEM, "out of memory");
        return -1;
    }
    verdict->has_begun = true;
    if (!is_hdf5(path, verdict)) {
        return -1;
    }
    /* a trace never changes under its name, and some file systems have no locks */
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    hid_t file = access < 0 || H5Pset_file_locking(access, false, true) < 0
                     ? -1
                     : H5Fopen(path, H5F_ACC_RDONLY, access);
    if (file < 0) {
        fail_unless_system(verdict, NULL);
    }
    (void)H5Pclose(access);
    return file;
}

void ms_parcel_fill(void *context, ms_child_verdict *verdict) {
    ms_parcel *parcel = context;
    hid_t file = open_file(parcel->path, verdict);
    if (file < 0) {
        return;
    }
    read_head(parcel, file, verdict);
    for (int i = 0; i < parcel->column_count && verdict->status == MS_OK; i++) {
        if (parcel->columns[i].is_wanted) {
            read_column(parcel, file, &parcel->columns[i], verdict);
        }
    }
    for (int i = 0; i < MS_PARCEL_DOCUMENTS && verdict->status == MS_OK; i++) {
        read_document(parcel, file, i, verdict);
    }
    if (verdict->status == MS_OK) {
        read_summary(parcel, file, verdict);
    }
    if (verdict->status == MS_OK && parcel->wants_tables) {
        read_tables(parcel, file, verdict);
    }
    (void)H5Fclose(file);
}
