/* Builds result trees and writes them as JSON (value.h), and writes texts so that JSON, XML or a
 * terminal reads them safely. */
#include "base/value.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

ms_value *ms_value_new_object(ms_arena *arena) {
    ms_value *value = MS_NEW(arena, ms_value, 1);
    if (value != NULL) {
        value->type = MS_VALUE_OBJECT;
        value->arena = arena;
    }
    return value;
}

/* The child is linked last, so that the tree stays whole if memory runs out. */
ms_value *ms_value_add(ms_value *parent, const char *key, ms_value_type type) {
    if (parent == NULL) {
        return NULL;
    }
    ms_value *child = MS_NEW(parent->arena, ms_value, 1);
    if (child == NULL) {
        return NULL;
    }
    child->type = type;
    child->arena = parent->arena;
    if (key != NULL) {
        child->key = ms_arena_strdup(parent->arena, key);
        if (child->key == NULL) {
            return NULL;
        }
    }
    if (parent->last == NULL) {
        parent->first = child;
    } else {
        parent->last->next = child;
    }
    parent->last = child;
    parent->count++;
    return child;
}

ms_value *ms_value_add_int(ms_value *parent, const char *key, int64_t integer) {
    ms_value *child = ms_value_add(parent, key, MS_VALUE_INT);
    if (child != NULL) {
        child->as.integer = integer;
    }
    return child;
}

ms_value *ms_value_add_double(ms_value *parent, const char *key, double number) {
    ms_value *child = ms_value_add(parent, key, isfinite(number) ? MS_VALUE_DOUBLE : MS_VALUE_NULL);
    if (child != NULL) {
        child->as.number = number;
    }
    return child;
}

ms_value *ms_value_add_bool(ms_value *parent, const char *key, bool boolean) {
    ms_value *child = ms_value_add(parent, key, MS_VALUE_BOOL);
    if (child != NULL) {
        child->as.boolean = boolean;
    }
    return child;
}

ms_value *ms_value_add_string(ms_value *parent, const char *key, const char *string) {
    ms_value *child = string == NULL ? NULL : ms_value_add(parent, key, MS_VALUE_STRING);
    if (child != NULL) {
        child->as.string = ms_arena_strdup(parent->arena, string);
        if (child->as.string == NULL) {
            child->type = MS_VALUE_NULL;
            return NULL;
        }
    }
    return child;
}

ms_value *ms_value_add_leaf(ms_value *parent, const char *key, const ms_value *leaf) {
    switch (leaf == NULL ? MS_VALUE_NULL : leaf->type) {
    case MS_VALUE_BOOL:
        return ms_value_add_bool(parent, key, leaf->as.boolean);
    case MS_VALUE_INT:
        return ms_value_add_int(parent, key, leaf->as.integer);
    case MS_VALUE_DOUBLE:
        return ms_value_add_double(parent, key, leaf->as.number);
    case MS_VALUE_STRING:
        return ms_value_add_string(parent, key, leaf->as.string);
    default:
        return ms_value_add(parent, key, MS_VALUE_NULL);
    }
}

/* Add copies of all children of `from` to `to`. Returns false when memory runs out, or where `to`
 * is NULL for that reason. */
static bool copy_children(const ms_value *from, ms_value *to) {
    bool is_whole = to != NULL;
    for (const ms_value *child = from->first; child != NULL && is_whole; child = child->next) {
        bool is_leaf = child->type != MS_VALUE_ARRAY && child->type != MS_VALUE_OBJECT;
        ms_value *copy = is_leaf ? ms_value_add_leaf(to, child->key, child)
                                 : ms_value_add(to, child->key, child->type);
        is_whole = copy != NULL && copy_children(child, copy);
    }
    return is_whole;
}

ms_value *ms_value_copy(const ms_value *object, ms_arena *arena) {
    ms_value *copy = ms_value_new_object(arena);
    return copy_children(object, copy) ? copy : NULL;
}

/* The child of an object whose key is the first `length` bytes of `key`; NULL: there is none. */
static const ms_value *get_span(const ms_value *object, const char *key, size_t length) {
    if (object == NULL || object->type != MS_VALUE_OBJECT) {
        return NULL;
    }
    for (const ms_value *child = object->first; child != NULL; child = child->next) {
        if (strncmp(child->key, key, length) == 0 && child->key[length] == '\0') {
            return child;
        }
    }
    return NULL;
}

const ms_value *ms_value_get(const ms_value *object, const char *key) {
    return get_span(object, key, strlen(key));
}

/* Each part of the path up to the next dot names a child; keys with dots cannot be reached. */
double ms_value_number(const ms_value *object, const char *path, double fallback) {
    const ms_value *at = object;
    while (at != NULL) {
        size_t length = strcspn(path, ".");
        at = get_span(at, path, length);
        if (path[length] == '\0') {
            break;
        }
        path += length + 1;
    }
    if (at == NULL) {
        return fallback;
    }
    if (at->type == MS_VALUE_INT) {
        return (double)at->as.integer;
    }
    return at->type == MS_VALUE_DOUBLE ? at->as.number : fallback;
}

/* Decode character by character: visible ones are copied, others escaped. */
void ms_json_write_string(ms_buffer *out, const char *text) {
    ms_buffer_puts(out, "\"");
    while (*text != '\0') {
        uint32_t code = 0;
        size_t length = ms_text_decode(text, SIZE_MAX, &code);
        if (length == 0) {
            ms_buffer_puts(out, "\\ufffd");
        } else if (code == '"' || code == '\\') {
            ms_buffer_printf(out, "\\%c", (int)code);
        } else if (ms_text_is_visible(code)) {
            ms_buffer_add(out, text, length);
        } else if (code < 0x10000) {
            ms_buffer_printf(out, "\\u%04x", (unsigned)code);
        } else { /* as a surrogate pair: RFC 8259, section 7; 0xD7C0 = 0xD800 - (0x10000 >> 10) */
            ms_buffer_printf(out, "\\u%04x\\u%04x", (unsigned)(0xD7C0 + (code >> 10)),
                             (unsigned)(0xDC00 + (code & 0x3FF)));
        }
        text += length == 0 ? 1 : length;
    }
    ms_buffer_puts(out, "\"");
}

/* Invisible characters and bytes that are not UTF-8 (length 0) become '?'. */
void ms_xml_write_text(ms_buffer *out, const char *text) {
    while (*text != '\0') {
        uint32_t code = 0;
        size_t length = ms_text_decode(text, SIZE_MAX, &code);
        const char *escaped = *text == '<'   ? "&lt;"
                              : *text == '>' ? "&gt;"
                              : *text == '&' ? "&amp;"
                              : *text == '"' ? "&quot;"
                                             : NULL;
        if (escaped != NULL || length == 0 || !ms_text_is_visible(code)) {
            ms_buffer_puts(out, escaped != NULL ? escaped : "?");
        } else {
            ms_buffer_add(out, text, length);
        }
        text += length == 0 ? 1 : length;
    }
}

void ms_terminal_write_text(ms_buffer *out, const char *text) {
    while (*text != '\0') {
        uint32_t code = 0;
        size_t length = ms_text_decode(text, SIZE_MAX, &code);
        if (length > 0 && (ms_text_is_visible(code) || code == '\n' || code == '\t')) {
            ms_buffer_add(out, text, length);
        } else {
            ms_buffer_puts(out, "?");
        }
        text += length == 0 ? 1 : length;
    }
}

/* Begin a new line at a depth of the tree, unless indent is 0: then everything is written on one
 * line. */
static void new_line(ms_buffer *out, int indent, int depth) {
    if (indent > 0) {
        ms_buffer_printf(out, "\n%*s", indent * depth, "");
    }
}

/* Write a double with the fewest digits that strtod reads back as the same number: 15 digits keep
 * every decimal number of up to 15 digits as it was written, and 17 digits suffice for any double.
 * Source: C11, 5.2.4.2.2 (DBL_DIG, DBL_DECIMAL_DIG). Numbers below DBL_MIN have fewer bits, so for
 * them the search begins at one digit. */
static void write_double(double number, ms_buffer *out) {
    char text[32];
    int digits = fabs(number) < DBL_MIN ? 1 : DBL_DIG;
    snprintf(text, sizeof text, "%.*g", digits, number);
    while (digits < DBL_DECIMAL_DIG && strtod(text, NULL) != number) {
        digits++;
        snprintf(text, sizeof text, "%.*g", digits, number);
    }
    ms_buffer_puts(out, text);
}

static void write_value(const ms_value *value, int indent, int depth, ms_buffer *out);

/* Write an array or object.  indent: spaces per level.  depth: levels above the value. */
static void write_children(const ms_value *value, int indent, int depth, ms_buffer *out) {
    bool is_object = value->type == MS_VALUE_OBJECT;
    ms_buffer_puts(out, is_object ? "{" : "[");
    for (const ms_value *child = value->first; child != NULL; child = child->next) {
        new_line(out, indent, depth + 1);
        if (is_object) {
            ms_json_write_string(out, child->key);
            ms_buffer_puts(out, indent > 0 ? ": " : ":");
        }
        write_value(child, indent, depth + 1, out);
        if (child->next != NULL) {
            ms_buffer_puts(out, ",");
        }
    }
    if (value->first != NULL) {
        new_line(out, indent, depth);
    }
    ms_buffer_puts(out, is_object ? "}" : "]");
}

/* Write a value of any type; indent and depth as in write_children. */
static void write_value(const ms_value *value, int indent, int depth, ms_buffer *out) {
    switch (value->type) {
    case MS_VALUE_NULL:
        ms_buffer_puts(out, "null");
        break;
    case MS_VALUE_BOOL:
        ms_buffer_puts(out, value->as.boolean ? "true" : "false");
        break;
    case MS_VALUE_INT:
        ms_buffer_printf(out, "%lld", (long long)value->as.integer);
        break;
    case MS_VALUE_DOUBLE:
        write_double(value->as.number, out);
        break;
    case MS_VALUE_STRING:
        ms_json_write_string(out, value->as.string);
        break;
    case MS_VALUE_ARRAY:
    case MS_VALUE_OBJECT:
        write_children(value, indent, depth, out);
        break;
    }
}

void ms_value_write_json(const ms_value *value, int indent, ms_buffer *out) {
    write_value(value, indent, 0, out);
}
