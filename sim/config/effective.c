/* `check --effective`: every key with its value and where it came from. */
#include <stdio.h>
#include <string.h>

#include "config/fields.h"

static void add_origin(const ms_node *node, ms_buffer *out) {
    bool has_place = node->mark.file != NULL && strcmp(node->origin, "--set") != 0;
    bool is_file = strcmp(node->origin, "file") == 0;
    if (!has_place) {
        ms_buffer_printf(out, "  # %s\n", node->origin);
        return;
    }
    ms_buffer_printf(out, "  # %s%s%s:%d\n", is_file ? "" : node->origin, is_file ? "" : ", ",
                     node->mark.file, node->mark.line);
}

/* A value on one line: scalars as written, lists and mappings in flow style. */
static void add_value(const ms_node *node, ms_buffer *out) {
    if (node->type == MS_NODE_SCALAR) {
        ms_buffer one;
        ms_buffer_init(&one);
        ms_node_write(node, &one);
        ms_buffer_add(out, ms_buffer_text(&one), one.length == 0 ? 0 : one.length - 1);
        out->failed = out->failed || one.failed;
        ms_buffer_release(&one);
        return;
    }
    bool is_mapping = node->type == MS_NODE_MAPPING;
    ms_buffer_puts(out, is_mapping ? "{" : "[");
    for (const ms_node *child = node->first; child != NULL; child = child->next) {
        if (is_mapping) {
            char shown[MS_SHOWN_MAX + 4];
            ms_buffer_printf(out, "%s: ", ms_shown(child->key, shown));
        }
        add_value(child, out);
        ms_buffer_puts(out, child->next == NULL ? "" : ", ");
    }
    ms_buffer_puts(out, is_mapping ? "}" : "]");
}

static void add_line(const char *key_path, const ms_node *node, ms_buffer *out) {
    ms_buffer_printf(out, "%s = ", key_path);
    add_value(node, out);
    add_origin(node, out);
}

/* Keys of a tree that no table describes here: one line for each of its scalars and lists. */
static void add_tree(const ms_path *path, const ms_node *node, ms_buffer *out) {
    char text[MS_PATH_MAX];
    if (node->type != MS_NODE_MAPPING || node->count == 0) {
        add_line(ms_path_text(path, text), node, out);
        return;
    }
    for (const ms_node *child = node->first; child != NULL; child = child->next) {
        ms_path below = {.parent = path, .key = child->key};
        add_tree(&below, child, out);
    }
}

static void add_table(const ms_node *mapping, const ms_field *fields, const ms_path *path,
                      ms_buffer *out);

static bool has_required(const ms_field *fields) {
    for (; fields->key != NULL; fields++) {
        if (fields->is_required) {
            return true;
        }
    }
    return false;
}

static void add_absent(const ms_field *field, const ms_path *path, ms_buffer *out) {
    char text[MS_PATH_MAX];
    if (field->type == MS_FIELD_MAP && !has_required(field->fields)) {
        add_table(NULL, field->fields, path, out);
    } else if (field->fallback != NULL) {
        ms_buffer_printf(out, "%s = %s  # default\n", ms_path_text(path, text),
                         *field->fallback == '\0' ? "\"\"" : field->fallback);
    } else {
        ms_buffer_printf(out, "%s =  # not given\n", ms_path_text(path, text));
    }
}

/* Keys that a mapping has and its table does not know: those of a platform's file, or an axis with
 * a name of its own. */
static void add_others(const ms_node *mapping, const ms_field *fields, const ms_path *path,
                       ms_buffer *out) {
    for (const ms_node *child = mapping->first; child != NULL; child = child->next) {
        ms_path below = {.parent = path, .key = child->key};
        if (ms_field_find(fields, child->key) == NULL) {
            add_tree(&below, child, out);
        }
    }
}

static void add_table(const ms_node *mapping, const ms_field *fields, const ms_path *path,
                      ms_buffer *out) {
    for (const ms_field *field = fields; field->key != NULL; field++) {
        ms_path below = {.parent = path, .key = field->key};
        const ms_node *child = ms_node_get(mapping, field->key);
        if (child == NULL) {
            add_absent(field, &below, out);
        } else if (field->fields != NULL && child->type == MS_NODE_MAPPING) {
            add_table(child, field->fields, &below, out);
            add_others(child, field->fields, &below, out);
        } else {
            add_tree(&below, child, out);
        }
    }
}

void ms_config_write_effective(const ms_node *mapping, const ms_field *fields, const char *key_path,
                               ms_buffer *out) {
    ms_path path = {.key = key_path};
    add_table(mapping, fields, &path, out);
}
