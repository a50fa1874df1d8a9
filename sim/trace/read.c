/* Reads traces (ms_trace_read). HDF5 may crash on a damaged file: so a child process reads the file
 * first, completely; if that succeeds, this process reads the same open file in the same way. After
 * the first fault all later steps do nothing. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/config/config.h"
#include "base/config/input.h"
#include "trace/h5_read.h"
#include "trace/repeat.h"
#include "trace/tables.h"

/* Limits of the child process: CPU time beside a second for each megabyte of the file, which is ten
 * times the time of reading; memory for HDF5 itself, beside twice the limit on all columns. A sound
 * file stays far below both. */
enum { CHILD_CPU_S = 10, CHILD_MEMORY_B = 256 << 20 };

enum {
    MIB = 1 << 20,
    ATTRIBUTE_B = 127 /* maximum length of a text attribute such as `format` */
};

/* The state of reading a trace. */
typedef struct trace_reader {
    const char *path; /* as the user gave it */
    int descriptor;   /* of the open file, which stays the same if its name gets another file */
    ms_trace_file file;
    ms_arena *arena;
    ms_arena folded; /* the events of the file, where copies replace them */
    ms_trace trace;
    ms_steady repeat; /* periods of which the file holds one repetition */
    ms_h5_fault fault;
} trace_reader;

/* Whether there is no fault so far. */
static bool goes_on(const trace_reader *read) {
    return read->fault.status == MS_OK;
}

/* Set a fault of the file, unless there is one already. */
#define REFUSE(read, ...) ((void)ms_h5_set_fault(&(read)->fault, MS_E_INPUT, __VA_ARGS__))

/* Limit on the memory of the child, and on that of the events of the run [B]. */
static int64_t memory_B(const trace_reader *read) {
    return CHILD_MEMORY_B + 2 * (MS_COLUMNS_LEAST_B + MS_COLUMNS_SHARE * read->file.size_B);
}

/* ---- texts ---- */

/* Read the text that is the only cell of a dataset or an attribute, and close it.  from: the
 * dataset or attribute; < 0 if it could not be opened.  name: for faults.  limit_B: maximum length
 * of the text.  Returns the text in the arena; NULL with a fault. */
static const char *read_text(trace_reader *read, hid_t from, const char *name, size_t limit_B) {
    bool is_attribute = from >= 0 && H5Iget_type(from) == H5I_ATTR;
    hid_t type = from < 0 ? -1 : is_attribute ? H5Aget_type(from) : H5Dget_type(from);
    hid_t space = type < 0 ? -1 : is_attribute ? H5Aget_space(from) : H5Dget_space(from);
    bool is_text = space >= 0 && H5Tis_variable_str(type) > 0 &&
                   H5Sget_simple_extent_type(space) == H5S_SCALAR;
    char *text = NULL;
    const char *copy = NULL;
    if (!is_text ||
        (is_attribute ? H5Aread(from, type, &text)
                      : H5Dread(from, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text)) < 0) {
        (void)ms_h5_fault_of_call(&read->fault, name);
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
        (void)ms_h5_set_fault(&read->fault, MS_E_NOMEM, "out of memory");
    }
    return copy;
}

/* Read a text attribute; "" if there is none, or with a fault. */
static const char *read_attribute(trace_reader *read, hid_t object, const char *name,
                                  size_t limit_B) {
    if (!goes_on(read) || H5Aexists(object, name) == 0) {
        return "";
    }
    const char *text = read_text(read, H5Aopen(object, name, H5P_DEFAULT), name, limit_B);
    return text == NULL ? "" : text;
}

/* Read a text that is a dataset; NULL if there is none, or with a fault.  type: kind of input file
 * whose limit of size holds for the text. */
static const char *read_document(trace_reader *read, const char *name, ms_file_type type) {
    if (!goes_on(read) || H5Lexists(read->file.hdf5, name, H5P_DEFAULT) == 0) {
        return NULL;
    }
    return read_text(read, H5Dopen2(read->file.hdf5, name, H5P_DEFAULT), name,
                     ms_file_limit_B(type));
}

/* ---- texts and trees ---- */

/* Read the input texts; traces without the group /input have none. */
static void read_documents(trace_reader *read) {
    ms_trace_inputs *inputs = &read->trace.inputs;
    if (!goes_on(read) || H5Lexists(read->file.hdf5, "/input", H5P_DEFAULT) == 0) {
        return;
    }
    inputs->workload = read_document(read, "/input/workload", MS_FILE_YAML);
    inputs->platform = read_document(read, "/input/platform", MS_FILE_YAML);
    inputs->schedule = read_document(read, "/input/schedule", MS_FILE_CSV);
    inputs->placement = read_document(read, "/input/placement", MS_FILE_CSV);
    inputs->sources = read_document(read, "/input/sources", MS_FILE_YAML);
    inputs->resolved = read_document(read, "/input/resolved", MS_FILE_YAML);
}

/* Check the sizes of a mesh of the summary, "mesh" or "expert_mesh": its ranks are those that
 * /ranks stands for. A mesh without axes has one rank; a summary without the key is sound. */
static void check_sizes(trace_reader *read, const char *key) {
    char object_path[64];
    double mesh_ranks = 1;
    const ms_value *sizes = ms_value_get(read->trace.summary, key);
    snprintf(object_path, sizeof object_path, "/summary/%s", key);
    for (const ms_value *size = sizes == NULL ? NULL : sizes->first; size != NULL && goes_on(read);
         size = size->next) {
        bool is_sound = size->type == MS_VALUE_INT && size->as.integer >= 1 &&
                        size->as.integer <= MS_TRACE_COUNT_MAX;
        if (!is_sound) {
            REFUSE(read, "the trace is damaged at %s/%.32s: expected a whole number from 1 to %d",
                   object_path, size->key == NULL ? "0" : size->key, MS_TRACE_COUNT_MAX);
        }
        mesh_ranks *= is_sound ? (double)size->as.integer : 1;
    }
    if (sizes != NULL && goes_on(read)) {
        ms_columns_check_mesh(&read->trace, object_path, mesh_ranks, &read->fault);
    }
}

/* Add the tree /KEY to an object: from groups in version 1, from a text of JSON in later versions.
 */
static void read_tree(trace_reader *read, const char *key, int64_t version, ms_value *parent) {
    char object_path[16];
    snprintf(object_path, sizeof object_path, "/%s", key);
    if (goes_on(read) && version == 1) {
        ms_tree_add_groups(parent, key, read->file.hdf5, &read->fault);
    } else if (goes_on(read)) {
        const char *text = read_text(read, H5Dopen2(read->file.hdf5, object_path, H5P_DEFAULT),
                                     object_path, ms_file_limit_B(MS_FILE_JSON));
        if (text != NULL) {
            ms_tree_add_json(parent, key, text, &read->fault);
        }
    }
}

/* Read the summary and check its meshes. */
static void read_summary(trace_reader *read, int64_t version) {
    ms_value *root = ms_value_new_object(read->arena);
    if (root == NULL) {
        (void)ms_h5_set_fault(&read->fault, MS_E_NOMEM, "out of memory");
    }
    read_tree(read, "summary", version, root);
    read->trace.summary = ms_value_get(root, "summary");
    if (goes_on(read) && read->trace.summary->type != MS_VALUE_OBJECT) {
        REFUSE(read, "the trace is damaged at /summary");
    }
    check_sizes(read, "mesh");
    check_sizes(read, "expert_mesh");
}

/* Read the small tables and the what-ifs as trees, if they are wanted. */
static void read_tables(trace_reader *read, int64_t version) {
    if (goes_on(read) && (read->file.what & MS_TRACE_TABLES) != 0) {
        ms_value *tables = ms_tree_of_tables(read->file.hdf5, read->arena, &read->fault);
        if (goes_on(read) && H5Lexists(read->file.hdf5, "whatif", H5P_DEFAULT) > 0) {
            read_tree(read, "whatif", version, tables);
        }
        read->trace.tables = tables;
    }
}

/* ---- the head ---- */

/* Read the version of the format and check that it is known.  Returns 0 with a fault. */
static int64_t read_version(trace_reader *read) {
    const char *format = read_attribute(read, read->file.hdf5, "format", ATTRIBUTE_B);
    if (goes_on(read) && strcmp(format, "meshsim-trace") != 0) {
        REFUSE(read, "it is no trace of meshsim (no attribute format = 'meshsim-trace')");
    }
    int64_t version =
        ms_h5_read_integer(read->file.hdf5, "format_version", "format_version", &read->fault);
    if (version < 1) {
        (void)ms_h5_fault_of_call(&read->fault, "format_version");
    } else if (version > MS_TRACE_FORMAT_VERSION) {
        REFUSE(read, "it has format version %lld, this program reads up to %d", (long long)version,
               MS_TRACE_FORMAT_VERSION);
    }
    return version;
}

/* Read the level of the trace, and the periods that the run repeats. */
static void read_level(trace_reader *read) {
    /* where the group is missing, ms_columns_read reports its first column */
    hid_t events = H5Lexists(read->file.hdf5, "events", H5P_DEFAULT) > 0
                       ? H5Gopen2(read->file.hdf5, "events", H5P_DEFAULT)
                       : -1;
    const char *word = events < 0 ? "" : read_attribute(read, events, "level", ATTRIBUTE_B);
    const char *repeat =
        events < 0 ? "" : read_attribute(read, events, "fast_forwarded", MS_TRACE_REPEAT_TEXT_B);
    int level = MS_TRACE_FULL; /* of files without the attribute */
    while (word[0] != '\0' && level < MS_TRACE_LEVEL_COUNT &&
           strcmp(word, ms_trace_level_name((ms_trace_level)level)) != 0) {
        level++;
    }
    if (level == MS_TRACE_LEVEL_COUNT) {
        REFUSE(read, "the trace is damaged at the attribute level of /events: '%s'", word);
    }
    if (!ms_trace_repeat_read(repeat, &read->repeat)) {
        REFUSE(read, "the trace is damaged at the attribute fast_forwarded of /events: '%.100s'",
               repeat);
    }
    read->trace.level = (ms_trace_level)level;
    (void)H5Gclose(events);
}

/* ---- the whole ---- */

/* Open the file with HDF5. If it is no HDF5 file, it is most often a workload that was given in
 * place of a trace; the fault then says so. */
static void open_hdf5(trace_reader *read) {
    char path[32]; /* names the open file, even if its own name has another file by now */
    snprintf(path, sizeof path, "/proc/self/fd/%d", read->descriptor);
    errno = 0;
    if (H5Fis_hdf5(path) <= 0) {
        char cause[256], text[512];
        ms_status status = ms_h5_failure(cause, sizeof cause);
        ms_input_kind kind = ms_input_kind_of(read->path);
        if (status == MS_E_INPUT) {
            REFUSE(read, "it is %s",
                   kind == MS_INPUT_UNKNOWN
                       ? "no HDF5 file"
                       : ms_input_explain(kind, MS_INPUT_TRACE, read->path, text, sizeof text));
        }
        (void)ms_h5_set_fault(&read->fault, status, "%s", cause);
        return;
    }
    /* no lock: traces are replaced, never changed, and some file systems have no locks */
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    read->file.hdf5 = access < 0 || H5Pset_file_locking(access, false, true) < 0
                          ? -1
                          : H5Fopen(path, H5F_ACC_RDONLY, access);
    if (read->file.hdf5 < 0) {
        (void)ms_h5_fault_of_call(&read->fault, NULL);
    }
    (void)H5Pclose(access);
}

/* Read and check all parts of the open file. The order matters: bounds of columns depend on tables
 * that are read before. */
static void read_all(trace_reader *read) {
    int64_t version = read_version(read);
    if (goes_on(read)) {
        ms_h5_check_file(read->file.hdf5, &read->fault);
    }
    read->trace.program_version =
        read_attribute(read, read->file.hdf5, "program_version", ATTRIBUTE_B);
    read_level(read);
    read->file.events = read->repeat.count > 0 ? &read->folded : read->arena;
    if (goes_on(read)) {
        ms_columns_read(&read->file, read->arena, &read->trace, &read->fault);
    }
    read_documents(read);
    read_summary(read, version);
    read_tables(read, version);
}

/* Add the copies of repeated events, and merge the operations of passes if that is wanted. As many
 * events are accepted as fit into the child's memory, so that a small file cannot take all of this
 * process's. */
static void make_events(trace_reader *read) {
    int64_t most = memory_B(read) / (int64_t)sizeof(ms_trace_event);
    int32_t passes_above =
        (read->file.what & MS_TRACE_MERGED) != 0 ? MS_TRACE_OPERATIONS_MAX : INT32_MAX;
    ms_status status = ms_trace_repeat_apply(
        &read->repeat, passes_above, most < MS_TRACE_COUNT_MAX ? (int32_t)most : MS_TRACE_COUNT_MAX,
        read->arena, &read->trace);
    if (status == MS_E_NOMEM) {
        (void)ms_h5_set_fault(&read->fault, MS_E_NOMEM, "out of memory");
    } else if (status != MS_OK) {
        REFUSE(read, "the trace is damaged at the attribute fast_forwarded of /events: it is more "
                     "than the run");
    }
}

/* Open the file and read all of it into the reader's trace. context: the trace_reader. cause_out:
 * receives the text of a fault. Returns the status of the fault; MS_OK: there is none. */
static ms_status read_file(void *context, char cause_out[MS_CHILD_CAUSE_B]) {
    trace_reader *read = context;
    read->fault.status = MS_OK;
    read->fault.cause = cause_out;
    open_hdf5(read);
    if (goes_on(read)) {
        read_all(read);
        (void)H5Fclose(read->file.hdf5);
    }
    return read->fault.status;
}

/* Read the file in the child process. */
static ms_status read_in_child(void *context, char cause_out[MS_CHILD_CAUSE_B]) {
    if (!ms_h5_start()) {
        snprintf(cause_out, MS_CHILD_CAUSE_B, "out of memory");
        return MS_E_NOMEM;
    }
    return read_file(context, cause_out);
}

/* Read the file in this process, which may also use HDF5 elsewhere: its setting for printing errors
 * is restored. HDF5's exit handler, which crashes after a failure, is not installed; a program that
 * has installed it before keeps it. */
static ms_status read_here(trace_reader *read, char cause_out[MS_CHILD_CAUSE_B]) {
    H5E_auto2_t print = NULL;
    void *context = NULL;
    (void)H5dont_atexit();
    (void)H5Eget_auto2(H5E_DEFAULT, &print, &context);
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    if (read_file(read, cause_out) == MS_OK) {
        make_events(read);
    }
    (void)H5Eset_auto2(H5E_DEFAULT, print, context);
    return read->fault.status;
}

/* Whether the open file has the size and the time of change that it had before. */
static bool is_unchanged(const struct stat *before, int descriptor) {
    struct stat now;
    return fstat(descriptor, &now) == 0 && now.st_size == before->st_size &&
           now.st_ctim.tv_sec == before->st_ctim.tv_sec &&
           now.st_ctim.tv_nsec == before->st_ctim.tv_nsec;
}

/* Read the file in a child process, with limits on time and memory by its size, and then in this
 * process, unless it has changed meanwhile. A crash of the child counts as damage. */
static ms_status read_twice(trace_reader *read, char cause_out[MS_CHILD_CAUSE_B]) {
    struct stat facts;
    if (fstat(read->descriptor, &facts) != 0) {
        snprintf(cause_out, MS_CHILD_CAUSE_B, "%s", strerror(errno));
        return MS_E_IO;
    }
    read->file.size_B = (int64_t)facts.st_size;
    const ms_child_options options = {.library = "HDF5",
                                      .cpu_s = CHILD_CPU_S + read->file.size_B / 1000000,
                                      .memory_B = memory_B(read)};
    ms_status status = ms_child_run(read_in_child, read, &options, cause_out);
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
        (void)ms_h5_set_fault(fault, is_missing ? MS_E_INPUT : MS_E_IO, "%s", strerror(errno));
    } else if (!S_ISREG(facts.st_mode)) {
        (void)ms_h5_set_fault(fault, MS_E_INPUT,
                              S_ISDIR(facts.st_mode) ? "it is a folder" : "it is no regular file");
    } else {
        file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0) {
            (void)ms_h5_set_fault(fault, MS_E_IO, "%s", strerror(errno));
        }
    }
    return file;
}

/* The descriptor is opened once, so that both readings (read_twice) see the same file even if its
 * name is given to another file meanwhile. */
ms_status ms_trace_read(const char *path, unsigned what, ms_arena *arena, ms_diag *diag,
                        ms_trace *trace_out) {
    char cause[MS_CHILD_CAUSE_B] = "";
    trace_reader read = {.path = path, .arena = arena, .trace.path = path, .fault.cause = cause};
    read.file.what = what;
    ms_arena_init(&read.folded);
    read.descriptor = open_path(path, &read.fault);
    ms_status status = read.fault.status;
    if (status == MS_OK) {
        status = read_twice(&read, cause);
        close(read.descriptor);
    }
    ms_arena_release(&read.folded);
    if (status == MS_OK) {
        *trace_out = read.trace;
    } else {
        ms_diag_error(diag, "cannot read '%s': %s", path, cause);
    }
    return status;
}
