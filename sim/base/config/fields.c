/* Reads mappings into structs by field tables (ms_config_read) and reports every fault: keys that
 * are unknown, missing or have a former name, and, by values.c, wrong values. */
#include <stdio.h>
#include <string.h>

#include "base/config/fields.h"

/* KEY_LIST_MAX: size of a list of keys in a message [B]. MISSPELT_MAX: keys of a mapping that are
 * searched for a misspelt one, which bounds the time in mappings with very many keys. */
enum { KEY_LIST_MAX = 600, MISSPELT_MAX = 200 };

const ms_field *ms_field_find(const ms_field *fields, const char *key) {
    for (const ms_field *field = fields; field->key != NULL; field++) {
        if (strcmp(field->key, key) == 0) {
            return field;
        }
    }
    return NULL;
}

const ms_field *ms_config_row(const ms_field *fields, const char *key_path) {
    const char *dot = strchr(key_path, '.');
    size_t length = dot == NULL ? strlen(key_path) : (size_t)(dot - key_path);
    for (const ms_field *field = fields; field != NULL && field->key != NULL; field++) {
        if (strncmp(field->key, key_path, length) == 0 && field->key[length] == '\0') {
            return dot == NULL ? field : ms_config_row(field->fields, dot + 1);
        }
    }
    return NULL;
}

/* The key of a table that a misspelt key is nearest to; NULL: none is near. */
static const char *nearest_key(const ms_field *fields, const char *key) {
    const char *best = NULL;
    for (const ms_field *field = fields; field->key != NULL; field++) {
        const char *pair[2] = {best, field->key};
        best = ms_nearest_word(key, pair, 2);
    }
    return best;
}

/* The mapping of the table whose own keys have one of this name, such as "mesh" for "tp"; NULL:
 * there is none. */
static const ms_field *find_owner(const ms_field *fields, const char *key) {
    for (const ms_field *field = fields; field->key != NULL; field++) {
        const ms_field *changes = field->shape == NULL ? NULL : field->shape->changes;
        if ((field->fields != NULL && ms_field_find(field->fields, key) != NULL) ||
            (changes != NULL && ms_field_find(changes, key) != NULL)) {
            return field;
        }
    }
    return NULL;
}

/* Write the keys of a table, separated by commas.  out: [KEY_LIST_MAX]. */
static void list_keys(const ms_field *fields, char *out) {
    size_t length = 0;
    out[0] = '\0';
    for (const ms_field *field = fields; field->key != NULL && length < KEY_LIST_MAX; field++) {
        length += (size_t)snprintf(out + length, KEY_LIST_MAX - length, "%s%s",
                                   length == 0 ? "" : ", ", field->key);
    }
}

/* The row whose key had the name `key` before; the row that ends the table if that key was removed;
 * NULL: neither. */
static const ms_field *find_former(const ms_field *fields, const char *key) {
    for (const ms_field *field = fields;; field++) {
        if (field->former != NULL && strcmp(field->former, key) == 0) {
            return field;
        }
        if (field->key == NULL) {
            return NULL;
        }
    }
}

/* Report a key that the table does not know: with the reason why it was removed, with its new name,
 * with the mapping whose key it is, with the nearest key, or with a list of all keys, whichever
 * applies first. Mapping and nearest key are searched only if the message will be printed, since
 * that takes O(rows) comparisons. */
static void report_unknown(ms_reading *reading, const ms_field *fields, const ms_node *child,
                           const ms_path *path) {
    const ms_field *renamed = find_former(fields, child->key);
    if (renamed != NULL && renamed->key == NULL) {
        ms_reading_fault(reading, &child->key_mark, path, "this key is gone: %s", renamed->help);
        return;
    }
    if (renamed != NULL) {
        ms_reading_fault(reading, &child->key_mark, path, "unknown key; it is '%s' now%s%s",
                         renamed->key, renamed->help == NULL ? "" : ": ",
                         renamed->help == NULL ? "" : renamed->help);
        return;
    }
    bool is_shown = reading->diag->errors < reading->diag->limit;
    const ms_field *owner = is_shown ? find_owner(fields, child->key) : NULL;
    if (owner != NULL) {
        ms_reading_fault(reading, &child->key_mark, path, "unknown key; did you mean '%s.%s'?",
                         owner->key, child->key);
        return;
    }
    const char *near = is_shown ? nearest_key(fields, child->key) : NULL;
    if (near != NULL) {
        ms_reading_fault(reading, &child->key_mark, path, "unknown key; did you mean '%s'?", near);
        return;
    }
    char keys[KEY_LIST_MAX];
    list_keys(fields, keys);
    ms_reading_fault(reading, &child->key_mark, path, "unknown key; the keys here are %s", keys);
}

/* Whether the mapping has an unknown key that was probably meant to be `key`. The required key is
 * not reported as missing then, so that one slip makes one message. */
static bool is_misspelt(const ms_node *mapping, const ms_field *fields, const char *key) {
    const ms_node *child = mapping->first;
    for (int i = 0; child != NULL && i < MISSPELT_MAX; i++, child = child->next) {
        if (ms_field_find(fields, child->key) == NULL) {
            const char *near = nearest_key(fields, child->key);
            if (near != NULL && strcmp(near, key) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Report a required key that is absent, at its mapping; without a place where the mapping is
 * absent. */
static void report_missing(ms_reading *reading, const ms_node *mapping, const ms_field *field,
                           const ms_path *path) {
    const ms_mark *mark = mapping == NULL ? NULL : ms_node_fault_mark(mapping);
    if (field->help == NULL) {
        ms_reading_fault(reading, mark, path, "this key is required");
    } else {
        ms_reading_fault(reading, mark, path, "this key is required: %s", field->help);
    }
}

ms_status ms_field_parse_fallback(const ms_field *field, ms_arena *arena, ms_diag *diag,
                                  ms_node **node_out) {
    const char *text = field->fallback;
    if (text[0] == '[' || text[0] == '{') { /* a list or mapping; other defaults are scalars */
        ms_yaml_input input = {.origin = "default"};
        ms_status status =
            ms_source_init(&input.source, "default", text, strlen(text), arena, diag);
        return status == MS_OK ? ms_yaml_build(&input, arena, diag, node_out) : status;
    }
    ms_node *node = MS_NEW(arena, ms_node, 1);
    if (node == NULL) {
        return MS_E_NOMEM;
    }
    *node = (ms_node){.type = MS_NODE_SCALAR, .text = text, .origin = "default"};
    node->is_quoted = text[0] == '\0'; /* an empty text, not an absent value */
    *node_out = node;
    return MS_OK;
}

/* Where a mapping is read to. */
typedef struct target {
    const ms_field *fields; /* table of the mapping */
    const ms_path *path;    /* key path of the mapping */
    char *out;              /* the struct */
    bool asks_required;     /* missing required keys are faults */
} target;

static void read_mapping(ms_reading *reading, const ms_node *mapping, const target *to);

/* Read a nested mapping of a MAP field.  child: NULL where the key is absent: all defaults then,
 * and no key of the mapping is required.  to: target of the mapping that has the field, but with
 * the path of the nested mapping. */
static void read_map(ms_reading *reading, const ms_node *child, const ms_field *field,
                     const target *to) {
    target below = {field->fields, to->path, to->out + field->offset, child != NULL};
    if (child != NULL && child->type != MS_NODE_MAPPING) {
        char shown[MS_SHOWN_MAX + 8];
        ms_reading_fault(reading, ms_node_fault_mark(child), to->path,
                         "expected a mapping of keys to values, got %s",
                         ms_node_shown(child, shown));
        return;
    }
    read_mapping(reading, child, &below);
}

/* Read the value of a key that the mapping has.  to: target of the mapping. */
static void read_present(ms_reading *reading, const ms_node *child, const ms_field *field,
                         const target *to) {
    ms_path path = {.parent = to->path, .key = field->key};
    if (field->type == MS_FIELD_MAP) {
        target here = {to->fields, &path, to->out, to->asks_required};
        read_map(reading, child, field, &here);
    } else {
        ms_field_read(reading, field, child, &path, to->out + field->offset);
    }
}

void ms_field_read_fallback(ms_reading *reading, const ms_field *field, const ms_path *path,
                            void *member) {
    ms_node *node = NULL;
    ms_status status = ms_field_parse_fallback(field, reading->arena, reading->diag, &node);
    ms_reading own = {.arena = reading->arena, .diag = reading->diag};
    if (status == MS_OK) {
        ms_field_read(&own, field, node, path, member);
    }
    reading->has_no_memory = reading->has_no_memory || own.has_no_memory || status == MS_E_NOMEM;
    reading->has_bad_table = reading->has_bad_table || own.has_fault || status == MS_E_INPUT;
}

/* Treat a key that the mapping lacks: report it if it is required, and store its default. mapping:
 * NULL where the mapping itself is absent.  to: target of the mapping. */
static void read_absent(ms_reading *reading, const ms_node *mapping, const ms_field *field,
                        const target *to) {
    ms_path path = {.parent = to->path, .key = field->key};
    if (field->is_required && to->asks_required &&
        (mapping == NULL || !is_misspelt(mapping, to->fields, field->key))) {
        report_missing(reading, mapping, field, &path);
    }
    if (field->type == MS_FIELD_MAP) {
        target here = {to->fields, &path, to->out, to->asks_required};
        read_map(reading, NULL, field, &here);
    } else if (field->fallback != NULL) {
        ms_field_read_fallback(reading, field, &path, to->out + field->offset);
    }
}

/* Read the keys of a mapping in the order of the file, so that faults are reported in that order;
 * then treat the absent keys.  mapping: NULL: all keys are absent. */
static void read_mapping(ms_reading *reading, const ms_node *mapping, const target *to) {
    const ms_node *child = mapping == NULL ? NULL : mapping->first;
    reading->has_fault = reading->has_fault || (mapping != NULL && mapping->has_fault);
    for (; child != NULL; child = child->next) {
        const ms_field *field = ms_field_find(to->fields, child->key);
        if (field == NULL) {
            ms_path path = {.parent = to->path, .key = child->key};
            report_unknown(reading, to->fields, child, &path);
        } else if (ms_node_get(mapping, child->key) == child) { /* a repeated key: only the first */
            read_present(reading, child, field, to);
        }
    }
    for (const ms_field *field = to->fields; field->key != NULL; field++) {
        if (ms_node_get(mapping, field->key) == NULL) {
            read_absent(reading, mapping, field, to);
        }
    }
}

/* All faults are reported while the mapping is read; the status is derived from the flags of the
 * reading at the end. */
ms_status ms_config_read(const ms_node *mapping, const ms_field *fields, const char *key_path,
                         void *out, ms_arena *arena, ms_diag *diag) {
    ms_reading reading = {.arena = arena, .diag = diag};
    ms_path path = {.key = key_path};
    target to = {fields, &path, out, true};
    if (mapping != NULL && mapping->type != MS_NODE_MAPPING) {
        char shown[MS_SHOWN_MAX + 8];
        return ms_config_fault(diag, mapping, key_path,
                               "expected a mapping of keys to values, got %s",
                               ms_node_shown(mapping, shown));
    }
    read_mapping(&reading, mapping, &to);
    if (reading.has_no_memory) {
        return ms_diag_no_memory(diag);
    }
    if (reading.has_bad_table) {
        return MS_E_BUG;
    }
    return reading.has_fault ? MS_E_INPUT : MS_OK;
}
