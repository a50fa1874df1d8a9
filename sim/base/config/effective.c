/* Lists every key with its value and the value's origin: for `check --effective`, and as the
 * resolved inputs that a trace stores. The latter name no folder and no line of a file, so that
 * equal runs in different folders have equal traces. */
#include <stdio.h>
#include <string.h>

#include "base/config/fields.h"

/* The form of the lines. */
typedef struct line_style {
    bool is_resolved;      /* origins are words, see ms_config_write_resolved */
    const char *user_file; /* is_resolved: the file whose keys the user typed; NULL: none */
} line_style;

/* The name of a file without its folder. */
static const char *name_behind_slash(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* Append the origin of a value without any folder: "typed", the name of a file, or the origin's own
 * words, such as "framework megatron". */
static void add_origin_words(const ms_node *node, const line_style *style, ms_buffer *out) {
    const char *file = node->mark.file;
    const char *space = strchr(node->origin, ' ');
    char shown[MS_SHOWN_MAX + 4];
    bool is_file = strcmp(node->origin, "file") == 0 && file != NULL;
    bool is_users = is_file && style->user_file != NULL && strcmp(file, style->user_file) == 0;
    if (is_users || strcmp(node->origin, "--set") == 0) {
        ms_buffer_puts(out, "  # typed\n");
    } else if (is_file) {
        ms_buffer_printf(out, "  # %s\n", ms_shown(name_behind_slash(file), shown));
    } else if (space != NULL) { /* such as "framework ../own/profile" */
        ms_buffer_printf(out, "  # %.*s%s\n", (int)(space + 1 - node->origin), node->origin,
                         ms_shown(name_behind_slash(space + 1), shown));
    } else {
        ms_buffer_printf(out, "  # %s\n", node->origin);
    }
}

/* Append the origin of a value as a comment: in resolved style as add_origin_words writes it, else
 * with the file and line of the value where it has them. */
static void add_origin(const ms_node *node, const line_style *style, ms_buffer *out) {
    if (style->is_resolved) {
        add_origin_words(node, style, out);
        return;
    }
    bool has_location = node->mark.file != NULL && strcmp(node->origin, "--set") != 0;
    bool is_file = strcmp(node->origin, "file") == 0;
    if (!has_location) {
        ms_buffer_printf(out, "  # %s\n", node->origin);
        return;
    }
    ms_buffer_printf(out, "  # %s%s%s:%d\n", is_file ? "" : node->origin, is_file ? "" : ", ",
                     node->mark.file, node->mark.line);
}

/* Append a value on one line: a scalar as in a file, a list or mapping in flow style. */
static void add_value(const ms_node *node, ms_buffer *out) {
    if (node->type == MS_NODE_SCALAR) {
        ms_buffer one;
        ms_buffer_init(&one);
        ms_node_write(node, &one);
        /* without the line feed at its end */
        ms_buffer_add(out, ms_buffer_text(&one), one.length == 0 ? 0 : one.length - 1);
        ms_buffer_release_part(&one, out);
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

/* Append "KEY = VALUE  # ORIGIN". In resolved style a null has no value, because it means that the
 * key was removed. */
static void add_line(const char *key_path, const ms_node *node, const line_style *style,
                     ms_buffer *out) {
    ms_buffer_printf(out, "%s =", key_path);
    if (!style->is_resolved || !ms_node_is_removal(node)) {
        ms_buffer_puts(out, " ");
        add_value(node, out);
    }
    add_origin(node, style, out);
}

/* Append the keys of a tree that no table describes: one line for each of its scalars and lists. */
static void add_tree(const ms_path *path, const ms_node *node, const line_style *style,
                     ms_buffer *out) {
    char text[MS_PATH_MAX];
    if (node->type != MS_NODE_MAPPING || node->count == 0) {
        add_line(ms_path_text(path, text), node, style, out);
        return;
    }
    for (const ms_node *child = node->first; child != NULL; child = child->next) {
        ms_path below = {.parent = path, .key = child->key};
        add_tree(&below, child, style, out);
    }
}

static void add_table(const ms_node *mapping, const ms_field *fields, const ms_path *path,
                      const line_style *style, ms_buffer *out);

bool ms_field_has_required(const ms_field *fields) {
    for (; fields->key != NULL; fields++) {
        if (fields->is_required) {
            return true;
        }
    }
    return false;
}

/* Append a key that the document lacks: the defaults of a mapping without required keys, the key's
 * default, or "not given". */
static void add_absent(const ms_field *field, const ms_path *path, const line_style *style,
                       ms_buffer *out) {
    char text[MS_PATH_MAX];
    if (field->type == MS_FIELD_MAP && !ms_field_has_required(field->fields)) {
        add_table(NULL, field->fields, path, style, out);
    } else if (field->fallback != NULL) {
        ms_buffer_printf(out, "%s = %s  # default\n", ms_path_text(path, text),
                         *field->fallback == '\0' ? "\"\"" : field->fallback);
    } else {
        ms_buffer_printf(out, "%s =  # not given\n", ms_path_text(path, text));
    }
}

/* List the keys of a mapping that have no row in the mapping's table of fields: keys that only
 * platform files have, or an axis of the mesh with a name that the user chose. */
static void add_others(const ms_node *mapping, const ms_field *fields, const ms_path *path,
                       const line_style *style, ms_buffer *out) {
    for (const ms_node *child = mapping->first; child != NULL; child = child->next) {
        ms_path below = {.parent = path, .key = child->key};
        if (ms_field_find(fields, child->key) == NULL) {
            add_tree(&below, child, style, out);
        }
    }
}

/* Append the keys of a mapping in the order of its table. A nested mapping with a table of its own
 * is appended in the same way, followed by its keys that this table lacks. mapping: NULL: all keys
 * are absent. */
static void add_table(const ms_node *mapping, const ms_field *fields, const ms_path *path,
                      const line_style *style, ms_buffer *out) {
    for (const ms_field *field = fields; field->key != NULL; field++) {
        ms_path below = {.parent = path, .key = field->key};
        const ms_node *child = ms_node_get(mapping, field->key);
        if (child == NULL) {
            add_absent(field, &below, style, out);
        } else if (field->fields != NULL && child->type == MS_NODE_MAPPING) {
            add_table(child, field->fields, &below, style, out);
            add_others(child, field->fields, &below, style, out);
        } else {
            add_tree(&below, child, style, out);
        }
    }
}

void ms_config_write_effective(const ms_node *mapping, const ms_field *fields, const char *key_path,
                               ms_buffer *out) {
    const ms_path path = {.key = key_path};
    const line_style style = {.is_resolved = false};
    add_table(mapping, fields, &path, &style, out);
}

void ms_config_write_resolved(const ms_node *mapping, const ms_field *fields, const char *user_file,
                              ms_buffer *out) {
    const ms_path path = {.key = ""};
    const line_style style = {.is_resolved = true, .user_file = user_file};
    add_table(mapping, fields, &path, &style, out);
}
