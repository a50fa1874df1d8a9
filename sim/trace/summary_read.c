#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/summary.h"

enum {
    DEPTH_MAX = 16,            /* a damaged file may link a group into itself */
    VALUES_MAX = 4000000,      /* nor may it make us read for ever */
    ATTRIBUTE_MAX_B = 1 << 24, /* of one attribute in memory */
    VARIABLE_MAX_B = 1 << 24   /* of all texts: the limit of an input file (source.c) */
};

typedef struct tree_reader {
    ms_arena *arena;
    ms_value *parent; /* of the values being read */
    ms_status status;
    char *io_cause; /* [256] the system's words where it failed */
    int depth;
    long values;
    int64_t variable_B; /* characters of all texts, and numbers of all long lists, so far */
} tree_reader;

/* To be called before the next call of HDF5, which forgets why the one before failed. */
static herr_t stop(tree_reader *read, ms_status status) {
    if (read->status == MS_OK && status == MS_E_INPUT) {
        char cause[256];
        status = ms_h5_failure(cause, sizeof cause);
        if (status == MS_E_IO) {
            memcpy(read->io_cause, cause, sizeof cause);
        }
    }
    read->status = read->status == MS_OK ? status : read->status;
    return -1;
}

/* "%2F" back to "/". */
static const char *plain_key(ms_arena *arena, const char *name) {
    char *key = ms_arena_strdup(arena, name);
    char *to = key;
    for (const char *from = key; key != NULL && *from != '\0'; to++) {
        unsigned byte = 0;
        if (from[0] == '%' && sscanf(from + 1, "%2X", &byte) == 1 && byte > 0) {
            *to = (char)byte;
            from += 3;
        } else {
            *to = *from++;
        }
    }
    if (key != NULL) {
        *to = '\0';
    }
    return key;
}

static hid_t memory_type(hid_t type) {
    switch (H5Tget_class(type)) {
    case H5T_ENUM:
    case H5T_INTEGER:
        return H5T_NATIVE_INT64;
    case H5T_FLOAT:
        return H5T_NATIVE_DOUBLE;
    case H5T_STRING:
        return H5Tis_variable_str(type) > 0 ? type : -1;
    default:
        return -1;
    }
}

static ms_value *add_cell(ms_value *parent, const char *key, H5T_class_t sort, const void *cell) {
    int64_t integer = 0;
    double number = 0.0;
    char *text = NULL;
    switch (sort) {
    case H5T_FLOAT:
        memcpy(&number, cell, sizeof number);
        return ms_value_add_double(parent, key, number);
    case H5T_STRING:
        memcpy(&text, cell, sizeof text);
        return ms_value_add_string(parent, key, text == NULL ? "" : text);
    case H5T_ENUM:
        memcpy(&integer, cell, sizeof integer);
        return ms_value_add_bool(parent, key, integer != 0);
    default:
        memcpy(&integer, cell, sizeof integer);
        return ms_value_add_int(parent, key, integer);
    }
}

/* [count] cells of a type in memory, all but texts' bytes of 8 bytes. */
static herr_t add_all(tree_reader *read, const char *key, H5T_class_t sort, const char *cells,
                      hssize_t count) {
    for (hssize_t i = 0; i < count; i++) {
        if (add_cell(read->parent, key, sort, cells + 8 * i) == NULL) {
            return stop(read, MS_E_NOMEM);
        }
    }
    return 0;
}

/* The same of an array, which has as many values. */
static herr_t add_array(tree_reader *read, const char *key, H5T_class_t sort, const char *cells,
                        hssize_t count) {
    ms_value *above = read->parent;
    read->parent = ms_value_add(above, key, MS_VALUE_ARRAY);
    read->values += count;
    herr_t result =
        read->parent == NULL ? stop(read, MS_E_NOMEM) : add_all(read, NULL, sort, cells, count);
    read->parent = above;
    return result;
}

/* Add up the size of cells of variable length before they are read. */
static herr_t count_bytes(tree_reader *read, hid_t attribute, hssize_t count) {
    ms_arena scratch;
    ms_arena_init(&scratch);
    int64_t length = count == 0 ? 0 : ms_h5_lengths(attribute, count, &scratch);
    herr_t result = length < 0 ? stop(read, MS_E_INPUT) : 0;
    ms_arena_release(&scratch);
    read->variable_B += length < 0 ? 0 : length;
    return result == 0 && read->variable_B > VARIABLE_MAX_B ? stop(read, MS_E_INPUT) : result;
}

/* Cells of an attribute as one value, or as an array of them. */
static herr_t add_cells(tree_reader *read, const char *key, hid_t attribute, hid_t type,
                        hid_t space) {
    hssize_t count = H5Sget_simple_extent_npoints(space);
    bool is_array = H5Sget_simple_extent_type(space) == H5S_SIMPLE;
    hid_t memory = memory_type(type);
    if (count < 0 || count > ATTRIBUTE_MAX_B / 8 || memory < 0 || count > VALUES_MAX) {
        return stop(read, MS_E_INPUT);
    }
    char *cells = ms_arena_alloc(read->arena, (size_t)count + 1, sizeof(int64_t));
    if (cells == NULL) {
        return stop(read, MS_E_NOMEM);
    }
    H5T_class_t sort = H5Tget_class(type);
    if (sort == H5T_STRING && count_bytes(read, attribute, count) != 0) {
        return -1;
    }
    if (count > 0 && H5Aread(attribute, memory, cells) < 0) {
        return stop(read, MS_E_INPUT);
    }
    herr_t result = is_array ? add_array(read, key, sort, cells, count)
                             : add_all(read, key, sort, cells, count);
    if (sort == H5T_STRING && count > 0) {
        (void)H5Dvlen_reclaim(memory, space, H5P_DEFAULT, cells);
    }
    return result;
}

/* One cell of variable length as an array: numbers that are too many for an attribute. */
static herr_t add_long(tree_reader *read, const char *key, hid_t attribute, hid_t type,
                       hid_t space) {
    hvl_t list = {0};
    hid_t base = H5Tget_super(type);
    H5T_class_t sort = H5Tget_class(base);
    bool is_numbers = sort == H5T_INTEGER || sort == H5T_FLOAT;
    hid_t memory = is_numbers ? H5Tvlen_create(memory_type(base)) : -1;
    herr_t result = 0;
    if (memory < 0 || H5Sget_simple_extent_npoints(space) != 1 ||
        count_bytes(read, attribute, 1) != 0 || H5Aread(attribute, memory, &list) < 0 ||
        list.len > ATTRIBUTE_MAX_B / 8) {
        result = stop(read, MS_E_INPUT);
    } else {
        result = add_array(read, key, sort, list.p, (hssize_t)list.len);
    }
    if (list.p != NULL) {
        (void)H5Dvlen_reclaim(memory, space, H5P_DEFAULT, &list);
    }
    (void)H5Tclose(memory);
    (void)H5Tclose(base);
    return result;
}

static herr_t add_attribute(tree_reader *read, hid_t group, const char *name, const char *key) {
    if (++read->values > VALUES_MAX) {
        return stop(read, MS_E_INPUT);
    }
    hid_t attribute = H5Aopen(group, name, H5P_DEFAULT);
    hid_t type = attribute < 0 ? -1 : H5Aget_type(attribute);
    hid_t space = attribute < 0 ? -1 : H5Aget_space(attribute);
    herr_t result = 0;
    if (type < 0 || space < 0) {
        result = stop(read, MS_E_INPUT);
    } else if (H5Sget_simple_extent_type(space) == H5S_NULL) {
        if (ms_value_add(read->parent, key, MS_VALUE_NULL) == NULL) {
            result = stop(read, MS_E_NOMEM);
        }
    } else if (H5Tget_class(type) == H5T_VLEN) {
        result = add_long(read, key, attribute, type, space);
    } else {
        result = add_cells(read, key, attribute, type, space);
    }
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    (void)H5Aclose(attribute);
    return result;
}

static herr_t visit_attribute(hid_t group, const char *name, const H5A_info_t *info,
                              void *context) {
    (void)info;
    return add_attribute(context, group, name, name);
}

static herr_t add_group(tree_reader *read, hid_t parent, const char *name, const char *key);

static herr_t visit_link(hid_t group, const char *name, const H5L_info_t *info, void *context) {
    tree_reader *read = context;
    if (info->type != H5L_TYPE_HARD) {
        return stop(read, MS_E_INPUT);
    }
    const char *key = plain_key(read->arena, name);
    return key == NULL ? stop(read, MS_E_NOMEM) : add_group(read, group, name, key);
}

static herr_t add_items(tree_reader *read, hid_t group, int64_t length) {
    herr_t result = 0;
    for (int64_t i = 0; i < length && result == 0; i++) {
        char name[24];
        snprintf(name, sizeof name, "%03lld", (long long)i);
        htri_t is_attribute = H5Aexists(group, name);
        result = is_attribute < 0   ? stop(read, MS_E_INPUT)
                 : is_attribute > 0 ? add_attribute(read, group, name, NULL)
                                    : add_group(read, group, name, NULL);
    }
    return result;
}

/* Length of an array that is stored as a group; -1: it is an object.  False when that cannot be
 * read. */
static bool array_length(hid_t group, int64_t *length_out) {
    *length_out = -1;
    htri_t exists = H5Aexists(group, "array_length");
    if (exists <= 0) {
        return exists == 0;
    }
    hid_t attribute = H5Aopen(group, "array_length", H5P_DEFAULT);
    hid_t space = attribute < 0 ? -1 : H5Aget_space(attribute);
    if (space < 0 || H5Sget_simple_extent_npoints(space) != 1 ||
        H5Aread(attribute, H5T_NATIVE_INT64, length_out) < 0 || *length_out < 0) {
        return false;
    }
    (void)H5Sclose(space);
    (void)H5Aclose(attribute);
    return true;
}

static herr_t add_children(tree_reader *read, hid_t group, int64_t length) {
    if (length >= 0) {
        return add_items(read, group, length);
    }
    if (H5Aiterate2(group, H5_INDEX_CRT_ORDER, H5_ITER_INC, NULL, visit_attribute, read) < 0 ||
        H5Literate(group, H5_INDEX_CRT_ORDER, H5_ITER_INC, NULL, visit_link, read) < 0) {
        return stop(read, MS_E_INPUT);
    }
    return 0;
}

static herr_t add_group(tree_reader *read, hid_t parent, const char *name, const char *key) {
    hid_t group = H5Gopen2(parent, name, H5P_DEFAULT);
    int64_t length = 0;
    if (group < 0 || read->depth >= DEPTH_MAX || ++read->values > VALUES_MAX ||
        !array_length(group, &length)) {
        herr_t result = stop(read, MS_E_INPUT);
        (void)H5Gclose(group);
        return result;
    }
    ms_value *above = read->parent;
    read->parent = ms_value_add(above, key, length >= 0 ? MS_VALUE_ARRAY : MS_VALUE_OBJECT);
    read->depth++;
    herr_t result =
        read->parent == NULL ? stop(read, MS_E_NOMEM) : add_children(read, group, length);
    read->depth--;
    read->parent = above;
    (void)H5Gclose(group);
    return result;
}

ms_status ms_summary_read(hid_t file, const char *name, ms_arena *arena, ms_value **object_out,
                          char cause_out[256]) {
    tree_reader read = {.arena = arena};
    read.io_cause = cause_out;
    read.parent = ms_value_new_object(arena);
    ms_value *root = read.parent;
    if (root == NULL) {
        return MS_E_NOMEM;
    }
    hid_t group = H5Gopen2(file, name, H5P_DEFAULT);
    if (group < 0) {
        (void)stop(&read, MS_E_INPUT);
        return read.status;
    }
    (void)add_children(&read, group, -1);
    (void)H5Gclose(group);
    if (read.status == MS_OK) {
        *object_out = root;
    }
    return read.status;
}
