#include <stdio.h>
#include <string.h>

#include "meshsim/metrics.h"
#include "meshsim/trace.h"
#include "trace/summary.h"
#include "trace/tables.h"

enum { NAME_B = 64, COLUMNS_MAX = 28, LACKING = -2 };

static const char *const RANKS[] = {"rank",
                                    "multiplicity",
                                    "pp",
                                    "gpu",
                                    "peak_B",
                                    "peak_time_s",
                                    "parameters_B",
                                    "gradients_B",
                                    "optimizer_B",
                                    "activations_B",
                                    "buffers_B",
                                    "other_B",
                                    "inflight_peak",
                                    NULL};
static const char *const AXES[] = {"rank",         "axis",      "bytes",  "busy_s", "exposed_s",
                                   "overlapped_s", "in_idle_s", "wait_s", NULL};
static const char *const TIERS[] = {"name",      "bandwidth_Bps", "efficiency",
                                    "latency_s", "links",         NULL};
static const char *const LINKS[] = {"link",  "name",   "tier",     "capacity_Bps",
                                    "bytes", "busy_s", "peak_use", NULL};

static const char *const STEPS[] = {"start_ps", "end_ps", NULL};

typedef struct tables_reader {
    hid_t file;
    ms_arena *arena;
    ms_value *root;
    char *cause; /* [256] */
    ms_status status;
} tables_reader;

/* To be called before the next call of HDF5, which forgets why the one before failed. */
static void stop(tables_reader *read, const char *table, const char *column) {
    if (read->status == MS_OK) {
        read->status = ms_h5_failure(read->cause, 256);
    }
    if (read->status == MS_E_INPUT) {
        snprintf(read->cause, 256, "the trace is damaged at /%s/%s", table, column);
    }
}

/* The type of a column in memory; the caller closes it.  < 0: no type that a trace has. */
static hid_t memory_type(hid_t type) {
    switch (H5Tget_class(type)) {
    case H5T_ENUM: /* its numbers as they stand in the file */
        return H5Tget_super(type);
    case H5T_INTEGER:
        return H5Tcopy(H5T_NATIVE_INT64);
    case H5T_FLOAT:
        return H5Tcopy(H5T_NATIVE_DOUBLE);
    case H5T_STRING:
        return H5Tis_variable_str(type) == 0 && H5Tget_size(type) == MS_H5_TEXT_B ? H5Tcopy(type)
                                                                                  : -1;
    default:
        return -1;
    }
}

static void add_cell(ms_value *list, H5T_class_t sort, const char *cell) {
    char text[MS_H5_TEXT_B + 1] = "";
    int64_t integer = 0;
    double number = 0.0;
    switch (sort) {
    case H5T_STRING:
        memcpy(text, cell, MS_H5_TEXT_B);
        (void)ms_value_add_string(list, NULL, text);
        break;
    case H5T_FLOAT:
        memcpy(&number, cell, sizeof number);
        (void)ms_value_add_double(list, NULL, number);
        break;
    case H5T_ENUM:
        (void)ms_value_add_int(list, NULL, (signed char)*cell);
        break;
    default:
        memcpy(&integer, cell, sizeof integer);
        (void)ms_value_add_int(list, NULL, integer);
    }
}

static void add_cells(tables_reader *read, ms_value *list, hid_t data, hid_t type, hssize_t rows) {
    hid_t memory = memory_type(type);
    size_t size = memory < 0 ? 0 : H5Tget_size(memory);
    char *cells = memory < 0 ? NULL : ms_arena_alloc(read->arena, (size_t)rows, size);
    if (memory >= 0 && cells == NULL) {
        read->status = MS_E_NOMEM;
    } else if (memory >= 0 &&
               (rows == 0 || H5Dread(data, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, cells) >= 0)) {
        for (hssize_t i = 0; i < rows; i++) {
            add_cell(list, H5Tget_class(type), cells + (size_t)i * size);
        }
    } else {
        stop(read, "", "");
    }
    (void)H5Tclose(memory);
}

/* Rows of the table by this column; -1 when it cannot be read, LACKING when there is none. */
static hssize_t read_column(tables_reader *read, const char *table, const char *name,
                            ms_value *columns) {
    char path[NAME_B];
    snprintf(path, sizeof path, "%s/%s", table, name);
    if (H5Lexists(read->file, path, H5P_DEFAULT) == 0) {
        return LACKING; /* older traces have fewer columns */
    }
    hid_t data = H5Dopen2(read->file, path, H5P_DEFAULT);
    hid_t type = data < 0 ? -1 : H5Dget_type(data);
    hid_t space = data < 0 ? -1 : H5Dget_space(data);
    bool is_column = type >= 0 && space >= 0 && H5Sget_simple_extent_ndims(space) == 1;
    hssize_t rows = is_column ? H5Sget_simple_extent_npoints(space) : -1;
    if (rows >= 0 && rows <= MS_TRACE_TABLE_ROWS_MAX) {
        add_cells(read, ms_value_add(columns, name, MS_VALUE_ARRAY), data, type, rows);
    }
    if (rows < 0 || read->status != MS_OK) {
        stop(read, table, name);
        rows = -1;
    }
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    (void)H5Dclose(data);
    return rows;
}

static void read_table(tables_reader *read, const char *table, const char *const *names) {
    ms_value *columns = ms_value_add(read->root, table, MS_VALUE_OBJECT);
    hssize_t rows = -1;
    for (int i = 0; names[i] != NULL && read->status == MS_OK; i++) {
        hssize_t length = read_column(read, table, names[i], columns);
        if (rows >= 0 && length >= 0 && length != rows) {
            read->status = MS_E_INPUT;
            stop(read, table, names[i]);
        }
        rows = length >= 0 ? length : rows;
    }
    if (rows > MS_TRACE_TABLE_ROWS_MAX && columns != NULL) {
        columns->type = MS_VALUE_NULL;
    }
}

/* The columns of /ranks: those of RANKS, and one for each category of time. */
static void read_ranks(tables_reader *read) {
    char times[MS_TIME_COUNT][NAME_B];
    const char *names[COLUMNS_MAX] = {NULL};
    size_t count = 0;
    while (RANKS[count] != NULL) {
        names[count] = RANKS[count];
        count++;
    }
    for (int c = 0; c < MS_TIME_COUNT; c++) {
        snprintf(times[c], NAME_B, "%s_s", ms_time_category_name((ms_time_category)c));
        names[count++] = times[c];
    }
    read_table(read, "ranks", names);
}

static void read_whatif(tables_reader *read) {
    ms_value *changes = NULL;
    if (read->status != MS_OK || H5Lexists(read->file, "whatif", H5P_DEFAULT) <= 0) {
        return;
    }
    snprintf(read->cause, 256, "the trace is damaged at /whatif");
    read->status = ms_summary_read(read->file, "whatif", read->arena, &changes, read->cause);
    ms_value *list = ms_value_add(read->root, "whatif", MS_VALUE_ARRAY);
    if (read->status == MS_OK && list != NULL) {
        *list = (ms_value){.type = MS_VALUE_ARRAY, .key = list->key, .arena = list->arena};
        for (ms_value *row = changes->first; row != NULL;) {
            ms_value *next = row->next;
            if (row->type == MS_VALUE_OBJECT) { /* else an attribute of the list */
                row->key = NULL;
                row->next = NULL;
                *(list->last == NULL ? &list->first : &list->last->next) = row;
                list->last = row;
                list->count++;
            }
            row = next;
        }
    }
}

// NOLINTNEXTLINE(readability-non-const-parameter): written through a struct, which it does not see
ms_status ms_tables_read(hid_t file, ms_arena *arena, ms_value **object_out, char cause_out[256]) {
    tables_reader read = {.file = file,
                          .arena = arena,
                          .root = ms_value_new_object(arena),
                          .cause = cause_out,
                          .status = MS_OK};
    read_ranks(&read);
    read_table(&read, "axes", AXES);
    read_table(&read, "tiers", TIERS);
    read_table(&read, "links", LINKS);
    read_table(&read, "steps", STEPS);
    read_whatif(&read);
    if (read.status == MS_OK && arena->has_failed) {
        read.status = MS_E_NOMEM;
    }
    *object_out = read.status == MS_OK ? read.root : *object_out;
    return read.status;
}
