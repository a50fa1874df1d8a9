/* Reads parts of a trace as result trees (h5_read.h): the summary and the what-ifs, from JSON or
 * from the groups of format version 1, and its small tables. The trees are shown as they are, so
 * that no key is known here. */
#include "trace/h5_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config/config.h"
#include "trace/summary.h"

/* Maximum size of a text, as of an input file (base/config/source.c); maximum number of cells of a
 * list; size of an object's path. The depth of groups was checked before (h5_check.c). */
enum { TEXT_MAX_B = 1 << 24, COUNT_MAX = 1 << 21, NAME_B = 256 };

/* ---- JSON ---- */

/* Add a word of JSON without quotes: an integer, null, true, false or another number. */
static void add_word(const char *word, const char *key, ms_value *parent) {
    char *end = NULL;
    errno = 0;
    long long integer = strtoll(word, &end, 10);
    if (*end == '\0' && errno == 0) {
        ms_value_add_int(parent, key, integer);
    } else if (strcmp(word, "null") == 0) {
        ms_value_add(parent, key, MS_VALUE_NULL);
    } else if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0) {
        ms_value_add_bool(parent, key, word[0] == 't');
    } else {
        ms_value_add_double(parent, key, strtod(word, NULL));
    }
}

void ms_summary_add_json(const ms_node *node, ms_value *parent) {
    for (const ms_node *child = node->first; child != NULL; child = child->next) {
        if (child->type == MS_NODE_MAPPING) {
            ms_summary_add_json(child, ms_value_add(parent, child->key, MS_VALUE_OBJECT));
        } else if (child->type == MS_NODE_SEQUENCE) {
            ms_summary_add_json(child, ms_value_add(parent, child->key, MS_VALUE_ARRAY));
        } else if (child->is_quoted) {
            ms_value_add_string(parent, child->key, child->text);
        } else {
            add_word(child->text, child->key, parent);
        }
    }
}

void ms_tree_add_json(ms_value *parent, const char *key, const char *text, ms_h5_fault *fault) {
    ms_diag mute;
    ms_buffer whole = {0}; /* {"key":text}, as the parser takes no list by itself */
    ms_node *root = NULL;
    ms_diag_init_mute(&mute);
    ms_buffer_printf(&whole, "{\"%s\":%s}", key, text);
    const ms_text document = {key, ms_buffer_text(&whole), whole.length};
    ms_status status =
        whole.failed ? MS_E_NOMEM : ms_config_parse_json(&document, parent->arena, &mute, &root);
    if (status == MS_OK) {
        ms_summary_add_json(root, parent);
    }
    if (status == MS_E_NOMEM || parent->arena->has_failed) {
        (void)ms_h5_set_fault(fault, MS_E_NOMEM, "out of memory");
    } else if (status != MS_OK) {
        (void)ms_h5_set_fault(fault, MS_E_INPUT, "the trace is damaged at /%s", key);
    }
    ms_buffer_release(&whole);
}

/* ---- cells ---- */

/* HDF5's type of cells in memory: numbers of 8 bytes, or texts as in the file; < 0: neither. */
static hid_t memory_type(hid_t type) {
    switch (H5Tget_class(type)) {
    case H5T_ENUM:
    case H5T_INTEGER:
        return H5Tcopy(H5T_NATIVE_INT64);
    case H5T_FLOAT:
        return H5Tcopy(H5T_NATIVE_DOUBLE);
    case H5T_STRING:
        return H5Tis_variable_str(type) > 0 || H5Tget_size(type) == MS_H5_TEXT_B ? H5Tcopy(type)
                                                                                 : -1;
    default:
        return -1;
    }
}

/* Add `count` cells to a list (key NULL), or one cell to an object under a key.  type: of the cells
 * in the file, by which numbers, texts of MS_H5_TEXT_B bytes and pointers to texts are told apart
 * in `cells`. */
static void add_cells(ms_value *parent, const char *key, hid_t type, const char *cells,
                      hssize_t count) {
    bool is_fixed = H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0;
    for (hssize_t i = 0; i < count; i++, cells += is_fixed ? MS_H5_TEXT_B : sizeof(int64_t)) {
        char fixed[MS_H5_TEXT_B + 1] = "";
        const char *text = fixed;
        int64_t integer = 0;
        double number = 0.0;
        memcpy(&integer, cells, sizeof integer);
        switch (H5Tget_class(type)) {
        case H5T_FLOAT:
            memcpy(&number, cells, sizeof number);
            (void)ms_value_add_double(parent, key, number);
            break;
        case H5T_STRING:
            memcpy(is_fixed ? (void *)fixed : (void *)&text, cells,
                   is_fixed ? MS_H5_TEXT_B : sizeof text);
            (void)ms_value_add_string(parent, key, text == NULL ? "" : text);
            break;
        default:
            (void)ms_value_add_int(parent, key, integer);
        }
    }
}

/* ---- groups of version 1 ---- */

/* The state of reading groups of format version 1. */
typedef struct group_reader {
    ms_arena *arena;
    ms_h5_fault *fault;
    const char *object_path; /* for faults: "/summary" or "/whatif" */
    ms_value *parent;        /* list or object of the values that are read */
} group_reader;

/* Decode a name of a group into a key: "%2F" is "/", "%25" is "%", "%2E" is ".".  Returns NULL when
 * memory runs out. */
static const char *plain_key(ms_arena *arena, const char *name) {
    char *key = ms_arena_strdup(arena, name);
    char *to = key;
    for (const char *from = name; to != NULL && *from != '\0'; to++) {
        bool is_code =
            from[0] == '%' && from[1] == '2' && from[2] != '\0' && strchr("F5E", from[2]) != NULL;
        *to = !is_code ? *from : from[2] == 'F' ? '/' : from[2] == '5' ? '%' : '.';
        from += is_code ? 3 : 1;
    }
    if (to != NULL) {
        *to = '\0';
    }
    return key;
}

/* Read an attribute and add it as one value or as a list.  key: NULL in a list.  Returns -1 with a
 * fault, as all functions below. */
static herr_t add_attribute_cells(group_reader *read, const char *key, hid_t attribute, hid_t type,
                                  hid_t space) {
    hssize_t count = H5Sget_simple_extent_npoints(space);
    bool is_text = H5Tget_class(type) == H5T_STRING;
    bool is_list = H5Sget_simple_extent_type(space) == H5S_SIMPLE;
    hid_t memory = memory_type(type);
    bool is_sound = memory >= 0 && count >= 0 && count <= COUNT_MAX &&
                    (!is_text || H5Tis_variable_str(type) > 0);
    char *cells = is_sound ? ms_arena_alloc(read->arena, (size_t)count, sizeof(int64_t)) : NULL;
    if (cells == NULL || (count > 0 && H5Aread(attribute, memory, cells) < 0)) {
        return ms_h5_fault_of_call(read->fault, read->object_path);
    }
    const char *const *texts = (const char *const *)(void *)cells;
    herr_t result = 0;
    for (hssize_t i = 0; is_text && i < count && result == 0; i++) {
        bool is_long = texts[i] != NULL && strlen(texts[i]) > TEXT_MAX_B;
        result = is_long ? ms_h5_fault_of_call(read->fault, read->object_path) : 0;
    }
    if (H5Tget_class(type) == H5T_ENUM && !is_list) { /* a boolean */
        (void)ms_value_add_bool(read->parent, key, *(const int64_t *)(const void *)cells != 0);
    } else {
        ms_value *parent = is_list ? ms_value_add(read->parent, key, MS_VALUE_ARRAY) : read->parent;
        add_cells(parent, is_list ? NULL : key, type, cells, count);
    }
    if (is_text && count > 0) {
        (void)H5Dvlen_reclaim(memory, space, H5P_DEFAULT, cells);
    }
    (void)H5Tclose(memory);
    return result;
}

/* Add an attribute of a group; one without data is null. */
static herr_t add_attribute(group_reader *read, hid_t group, const char *name, const char *key) {
    hid_t attribute = H5Aopen(group, name, H5P_DEFAULT);
    hid_t type = attribute < 0 ? -1 : H5Aget_type(attribute);
    hid_t space = attribute < 0 ? -1 : H5Aget_space(attribute);
    herr_t result = 0;
    if (type < 0 || space < 0) {
        result = ms_h5_fault_of_call(read->fault, read->object_path);
    } else if (H5Sget_simple_extent_type(space) == H5S_NULL) {
        (void)ms_value_add(read->parent, key, MS_VALUE_NULL);
    } else {
        result = add_attribute_cells(read, key, attribute, type, space);
    }
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    (void)H5Aclose(attribute);
    return result;
}

/* Add an attribute of an object, for H5Aiterate2.  context: group_reader. */
static herr_t visit_attribute(hid_t group, const char *name, const H5A_info_t *info,
                              void *context) {
    (void)info;
    return add_attribute(context, group, name, name);
}

static herr_t add_group(group_reader *read, hid_t above, const char *name, const char *key);

/* Add a group of an object, for H5Literate.  context: group_reader. */
static herr_t visit_link(hid_t group, const char *name, const H5L_info_t *info, void *context) {
    group_reader *read = context;
    (void)info;
    return add_group(read, group, name, plain_key(read->arena, name));
}

/* Add the members "000", "001", ... of a list, each of which is an attribute or a group. */
static herr_t add_members(group_reader *read, hid_t group) {
    int64_t length = ms_h5_read_integer(group, "array_length", read->object_path, read->fault);
    herr_t result = read->fault->status == MS_OK ? 0 : -1;
    for (int64_t i = 0; i < length && result == 0; i++) {
        char name[24];
        snprintf(name, sizeof name, "%03lld", (long long)i);
        result = H5Aexists(group, name) > 0 ? add_attribute(read, group, name, NULL)
                                            : add_group(read, group, name, NULL);
    }
    return result;
}

/* Add a group as a list, if it has the attribute array_length, or as an object, whose attributes
 * come before its groups.  key: NULL in a list. */
static herr_t add_group(group_reader *read, hid_t above, const char *name, const char *key) {
    hid_t group = H5Gopen2(above, name, H5P_DEFAULT);
    if (group < 0) {
        return ms_h5_fault_of_call(read->fault, read->object_path);
    }
    ms_value *parent = read->parent;
    bool is_list = H5Aexists(group, "array_length") > 0;
    read->parent = ms_value_add(parent, key, is_list ? MS_VALUE_ARRAY : MS_VALUE_OBJECT);
    herr_t result = is_list ? add_members(read, group) : 0;
    if (!is_list &&
        (H5Aiterate2(group, H5_INDEX_CRT_ORDER, H5_ITER_INC, NULL, visit_attribute, read) < 0 ||
         H5Literate(group, H5_INDEX_CRT_ORDER, H5_ITER_INC, NULL, visit_link, read) < 0)) {
        result = ms_h5_fault_of_call(read->fault, read->object_path);
    }
    read->parent = parent;
    (void)H5Gclose(group);
    return result;
}

void ms_tree_add_groups(ms_value *parent, const char *key, hid_t file, ms_h5_fault *fault) {
    char object_path[NAME_B];
    snprintf(object_path, sizeof object_path, "/%s", key);
    group_reader read = {
        .arena = parent->arena, .fault = fault, .object_path = object_path, .parent = parent};
    if (add_group(&read, file, key, key) == 0 && parent->arena->has_failed) {
        (void)ms_h5_set_fault(fault, MS_E_NOMEM, "out of memory");
    }
}

/* ---- tables ---- */

/* The state of reading a table. */
typedef struct tree_table {
    ms_arena *arena;
    ms_h5_fault *fault;
    const char *name;  /* of its group */
    ms_value *columns; /* object of the columns */
    hssize_t rows;     /* of each column so far; -1: there is none yet */
} tree_table;

/* Read the cells of a column and add them as a list.  object_path: path of the column. */
static herr_t read_column(tree_table *read, hid_t data, hid_t type, hssize_t rows,
                          const char *object_path) {
    hid_t memory = memory_type(type);
    if (memory < 0 || H5Tis_variable_str(memory) > 0) {
        return ms_h5_fault_of_call(read->fault, object_path);
    }
    char *cells = ms_arena_alloc(read->arena, (size_t)rows, H5Tget_size(memory));
    bool is_read = cells != NULL &&
                   (rows == 0 || H5Dread(data, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, cells) >= 0);
    herr_t result = is_read ? 0 : ms_h5_fault_of_call(read->fault, object_path);
    if (is_read) {
        const char *name = strrchr(object_path, '/') + 1;
        add_cells(ms_value_add(read->columns, name, MS_VALUE_ARRAY), NULL, type, cells, rows);
    }
    (void)H5Tclose(memory);
    return result;
}

/* Add a column of a table, for H5Literate. The table's dimension, which has the attribute CLASS, is
 * skipped, and so are columns with too many rows; the number of rows of all is compared.  context:
 * tree_table. */
static herr_t visit_column(hid_t group, const char *name, const H5L_info_t *info, void *context) {
    tree_table *read = context;
    char object_path[NAME_B];
    (void)info;
    snprintf(object_path, sizeof object_path, "/%s/%s", read->name, name);
    hid_t data = H5Dopen2(group, name, H5P_DEFAULT);
    hid_t type = data < 0 ? -1 : H5Dget_type(data);
    hid_t space = data < 0 ? -1 : H5Dget_space(data);
    bool is_list = space >= 0 && H5Sget_simple_extent_ndims(space) == 1;
    hssize_t rows = is_list ? H5Sget_simple_extent_npoints(space) : -1;
    herr_t result = 0;
    if (type < 0 || rows < 0 || (read->rows >= 0 && rows != read->rows)) {
        result = ms_h5_fault_of_call(read->fault, object_path);
    } else if (rows <= MS_TRACE_TABLE_ROWS_MAX && H5Aexists(data, "CLASS") == 0) {
        result = read_column(read, data, type, rows, object_path);
    }
    read->rows = rows;
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    (void)H5Dclose(data);
    return result;
}

/* The rows of a table are -1 until its first column is read. A table with too many rows becomes
 * null. */
ms_value *ms_tree_of_tables(hid_t file, ms_arena *arena, ms_h5_fault *fault) {
    static const char *const TABLES[] = {"ranks", "axes", "tiers", "links", "steps"};
    ms_value *root = ms_value_new_object(arena);
    for (size_t i = 0; i < sizeof TABLES / sizeof TABLES[0] && fault->status == MS_OK; i++) {
        tree_table read = {.arena = arena, .fault = fault, .name = TABLES[i], .rows = -1};
        read.columns = ms_value_add(root, TABLES[i], MS_VALUE_OBJECT);
        hid_t group = H5Gopen2(file, TABLES[i], H5P_DEFAULT);
        if (group < 0 ||
            H5Literate(group, H5_INDEX_CRT_ORDER, H5_ITER_INC, NULL, visit_column, &read) < 0) {
            char object_path[NAME_B];
            snprintf(object_path, sizeof object_path, "/%s", TABLES[i]);
            (void)ms_h5_fault_of_call(fault, object_path);
        }
        if (read.rows > MS_TRACE_TABLE_ROWS_MAX && read.columns != NULL) {
            read.columns->type = MS_VALUE_NULL;
        }
        (void)H5Gclose(group);
    }
    if (arena->has_failed) {
        (void)ms_h5_set_fault(fault, MS_E_NOMEM, "out of memory");
    }
    return fault->status == MS_OK ? root : NULL;
}
