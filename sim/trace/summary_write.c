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

/* Arrays of only integers, doubles or strings fit one attribute. */
static bool is_alike(const ms_value *array) {
    for (const ms_value *child = array->first; child != NULL; child = child->next) {
        if (child->type != array->first->type || !is_scalar(child) ||
            child->type == MS_VALUE_NULL || child->type == MS_VALUE_BOOL) {
            return false;
        }
    }
    return true;
}

static hid_t new_bool_type(ms_h5 *h5) {
    int8_t no = 0;
    int8_t yes = 1;
    hid_t type = H5Tenum_create(H5T_NATIVE_INT8);
    if (ms_h5_check(h5, type)) {
        ms_h5_check(h5, H5Tenum_insert(type, "FALSE", &no));
        ms_h5_check(h5, H5Tenum_insert(type, "TRUE", &yes));
    }
    return type;
}

static void write_null(ms_h5 *h5, hid_t group, const char *name) {
    hid_t space = H5Screate(H5S_NULL);
    if (!ms_h5_check(h5, space)) {
        return;
    }
    hid_t attribute = H5Acreate2(group, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT);
    if (ms_h5_check(h5, attribute)) {
        ms_h5_check(h5, H5Aclose(attribute));
    }
    ms_h5_check(h5, H5Sclose(space));
}

static void write_scalar(ms_h5 *h5, hid_t group, const char *name, const ms_value *value) {
    switch (value->type) {
    case MS_VALUE_BOOL: {
        int8_t cell = value->as.boolean ? 1 : 0;
        hid_t type = new_bool_type(h5);
        ms_h5_attribute(h5, group, name, (ms_h5_cells){type, -1, &cell});
        (void)H5Tclose(type);
        break;
    }
    case MS_VALUE_INT:
        ms_h5_integer(h5, group, name, value->as.integer);
        break;
    case MS_VALUE_DOUBLE:
        ms_h5_attribute(h5, group, name, (ms_h5_cells){H5T_NATIVE_DOUBLE, -1, &value->as.number});
        break;
    case MS_VALUE_STRING:
        ms_h5_text(h5, group, name, value->as.string);
        break;
    default:
        write_null(h5, group, name);
    }
}

static void write_alike(ms_h5 *h5, hid_t group, const char *name, const ms_value *array) {
    hid_t type = H5T_NATIVE_INT64;
    if (array->first != NULL && array->first->type == MS_VALUE_DOUBLE) {
        type = H5T_NATIVE_DOUBLE;
    } else if (array->first != NULL && array->first->type == MS_VALUE_STRING) {
        type = h5->text_type;
    }
    ms_vector cells; /* int64_t, double and pointers are of one size */
    ms_vector_init(&cells, sizeof array->as);
    for (const ms_value *child = array->first; child != NULL; child = child->next) {
        ms_vector_add(&cells, &child->as, 1);
    }
    if (cells.failed) {
        ms_h5_fail(h5, "out of memory");
    }
    ms_h5_attribute(h5, group, name, (ms_h5_cells){type, (int64_t)cells.count, cells.data});
    ms_vector_release(&cells);
}

static void write_children(ms_h5 *h5, hid_t group, const ms_value *parent, const char *path,
                           int depth);

/* `path` is the dotted path of the value, `depth` that of its parent. */
static void write_subgroup(ms_h5 *h5, hid_t group, const ms_value *value, const char *path,
                           int depth) {
    if (group >= 0) {
        if (value->type == MS_VALUE_ARRAY) {
            ms_h5_integer(h5, group, "array_length", (int64_t)value->count);
        }
        write_children(h5, group, value, path, depth + 1);
        ms_h5_close_group(h5, group);
    }
}

static void write_children(ms_h5 *h5, hid_t group, const ms_value *parent, const char *path,
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
            write_subgroup(h5, ms_h5_group(h5, group, name), child, below, depth);
        }
    }
}

void ms_summary_write(ms_h5 *h5, const char *name, const ms_value *object) {
    hid_t group = ms_h5_group(h5, h5->file, name);
    if (group >= 0) {
        if (object != NULL) {
            write_children(h5, group, object, "", 0);
        }
        ms_h5_close_group(h5, group);
    }
}
