#include <stdio.h>
#include <string.h>

#include "meshsim/trace.h"
#include "trace/summary.h"

enum { PATH_MAX_B = 512, NAME_MAX_B = 256, DEPTH_MAX = 16 };

static const char *const VOLATILE[] = {"engine.wall_s",   "engine.peak_rss_B", "program_version",
                                       "simgrid_version", "hdf5_version",      "workload_path",
                                       "platform_path"};

bool ms_trace_is_volatile(const char *path) {
    for (size_t i = 0; i < sizeof VOLATILE / sizeof VOLATILE[0]; i++) {
        if (strcmp(path, VOLATILE[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* The name of a link must not hold a slash; percent-encoding keeps every key apart. */
static void link_name(const char *key, char *name_out) {
    size_t used = 0;
    for (const char *at = key; *at != '\0' && used + 4 < NAME_MAX_B; at++) {
        bool is_dot = key[0] == '.' && key[1] == '\0';
        if (*at == '/' || *at == '%' || is_dot) {
            used += (size_t)snprintf(name_out + used, 4, "%%%02X", (unsigned)*at);
        } else {
            name_out[used++] = *at;
        }
    }
    name_out[used] = '\0';
}

static bool is_scalar(const ms_value *value) {
    return value->type != MS_VALUE_ARRAY && value->type != MS_VALUE_OBJECT;
}

/* Arrays of only integers, doubles or strings fit one attribute, unless there are too many texts.
 */
static bool is_alike(const ms_value *array) {
    if (array->first != NULL && array->first->type == MS_VALUE_STRING &&
        array->count > MS_H5_WORDS_MOST) {
        return false;
    }
    for (const ms_value *child = array->first; child != NULL; child = child->next) {
        if (child->type != array->first->type || !is_scalar(child) ||
            child->type == MS_VALUE_NULL || child->type == MS_VALUE_BOOL) {
            return false;
        }
    }
    return true;
}

static void write_scalar(ms_h5 *h5, ms_h5_object *group, const char *name, const ms_value *value) {
    ms_h5_cells cells = {MS_H5_F64, MS_H5_SCALAR, &value->as};
    const int8_t is_true = value->type == MS_VALUE_BOOL && value->as.boolean;
    switch (value->type) {
    case MS_VALUE_BOOL:
        cells.cell = MS_H5_BOOL;
        cells.data = &is_true;
        break;
    case MS_VALUE_INT:
        cells.cell = MS_H5_I64;
        break;
    case MS_VALUE_DOUBLE:
        break;
    case MS_VALUE_STRING:
        cells.cell = MS_H5_WORDS;
        break;
    default:
        cells.count = MS_H5_NOTHING;
    }
    ms_h5_attribute(h5, group, name, cells);
}

static void write_alike(ms_h5 *h5, ms_h5_object *group, const char *name, const ms_value *array) {
    ms_h5_cell cell = MS_H5_I64;
    if (array->first != NULL && array->first->type == MS_VALUE_DOUBLE) {
        cell = MS_H5_F64;
    } else if (array->first != NULL && array->first->type == MS_VALUE_STRING) {
        cell = MS_H5_WORDS;
    }
    ms_vector cells; /* int64_t, double and pointers are of one size */
    ms_vector_init(&cells, sizeof array->as);
    for (const ms_value *child = array->first; child != NULL; child = child->next) {
        ms_vector_add(&cells, &child->as, 1);
    }
    if (cells.failed) {
        ms_h5_fail(h5, "out of memory");
    }
    ms_h5_attribute(h5, group, name, (ms_h5_cells){cell, (int64_t)cells.count, cells.data});
    ms_vector_release(&cells);
}

static void write_children(ms_h5 *h5, ms_h5_object *group, const ms_value *parent, const char *path,
                           int depth);

/* `path` is the dotted path of the value, `depth` that of its parent. */
static uint64_t write_group(ms_h5 *h5, const ms_value *value, const char *path, int depth) {
    ms_h5_object group;
    ms_h5_begin(&group, true);
    if (value != NULL && value->type == MS_VALUE_ARRAY) {
        ms_h5_integer(h5, &group, "array_length", (int64_t)value->count);
    }
    if (value != NULL) {
        write_children(h5, &group, value, path, depth + 1);
    }
    return ms_h5_end(h5, &group);
}

static void write_children(ms_h5 *h5, ms_h5_object *group, const ms_value *parent, const char *path,
                           int depth) {
    size_t index = 0;
    if (depth > DEPTH_MAX) {
        ms_h5_fail(h5, "the summary is nested too deeply");
    }
    for (const ms_value *child = parent->first; child != NULL && !h5->failed;
         child = child->next, index++) {
        char number[24];
        char below[PATH_MAX_B];
        snprintf(number, sizeof number, "%03zu", index);
        const char *key = child->key == NULL ? number : child->key;
        snprintf(below, sizeof below, "%s%s%s", path, path[0] == '\0' ? "" : ".", key);
        if (ms_trace_is_volatile(below)) {
            continue;
        }
        if (is_scalar(child)) {
            write_scalar(h5, group, key, child);
        } else if (child->type == MS_VALUE_ARRAY && is_alike(child)) {
            write_alike(h5, group, key, child);
        } else {
            char name[NAME_MAX_B];
            link_name(key, name);
            ms_h5_link(h5, group, name, write_group(h5, child, below, depth));
        }
    }
}

void ms_summary_write(ms_h5 *h5, const char *name, const ms_value *object) {
    ms_h5_link(h5, &h5->root, name, write_group(h5, object, "", -1));
}
