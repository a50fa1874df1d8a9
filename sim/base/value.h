/**
 * @file
 * Result trees: the output of `--json` and the group /summary of a trace are made from one tree.
 *
 * A value is null, a boolean, an integer, a double, a string, an array or an object. Keys keep the
 * order in which they were added. All storage comes from one arena. Where memory runs out,
 * functions that add a value return NULL, and they accept NULL as parent, so that one check of the
 * arena's `has_failed` at the end is enough.
 */
#ifndef MESHSIM_VALUE_H
#define MESHSIM_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"

/** What a value is. */
typedef enum ms_value_type {
    MS_VALUE_NULL,
    MS_VALUE_BOOL,
    MS_VALUE_INT,
    MS_VALUE_DOUBLE,
    MS_VALUE_STRING,
    MS_VALUE_ARRAY,
    MS_VALUE_OBJECT,
} ms_value_type;

/** A value of a result tree. */
typedef struct ms_value {
    ms_value_type type;
    const char *key; /**< inside an object, else NULL */
    union {
        bool boolean;
        int64_t integer;
        double number;
        const char *string;
    } as;
    struct ms_value *first; /**< children of an array or object, in order */
    struct ms_value *last;
    struct ms_value *next; /**< next sibling */
    size_t count;          /**< children */
    ms_arena *arena;
} ms_value;

/** A new empty object in `arena`; NULL when memory runs out. */
ms_value *ms_value_new_object(ms_arena *arena);

/** Add a value to an object (with a key) or to an array (key NULL). Strings and keys are copied.
 *  Returns the new child, or NULL when `parent` is NULL or memory runs out. */
ms_value *ms_value_add(ms_value *parent, const char *key, ms_value_type type);
ms_value *ms_value_add_int(ms_value *parent, const char *key, int64_t integer);
/** Add a double. One that is not finite is stored as null, because JSON has no such numbers. */
ms_value *ms_value_add_double(ms_value *parent, const char *key, double number);
ms_value *ms_value_add_bool(ms_value *parent, const char *key, bool boolean);
/** Add a copy of a text. Nothing is added where string is NULL, as after memory ran out. */
ms_value *ms_value_add_string(ms_value *parent, const char *key, const char *string);
/** Add a copy of a value that has no children. Null is added in place of an array or object, or
 * where `leaf` is NULL. */
ms_value *ms_value_add_leaf(ms_value *parent, const char *key, const ms_value *leaf);

/** Child of an object by key, NULL if there is none or `object` is NULL. */
const ms_value *ms_value_get(const ms_value *object, const char *key);
/** The number (integer or double) at a dotted path such as "time_share.compute"; `fallback` where
 * there is none. */
double ms_value_number(const ms_value *object, const char *path, double fallback);

/** Append `value` as JSON (RFC 8259). Doubles have as many significant digits as they need to read
 * back equal, 17 at most: 24.36, not 24.359999999999999. indent: spaces per level, 0 writes
 * everything on one line. */
void ms_value_write_json(const ms_value *value, int indent, ms_buffer *out);

/** A copy of an object, with all below it, in another arena; NULL when memory runs out. */
ms_value *ms_value_copy(const ms_value *object, ms_arena *arena);

/** Append `text` as a JSON string with its quotes: quotes, backslashes and invisible characters
 * (base/text.h) are escaped; bytes that are not UTF-8 become U+FFFD.  Source: RFC 8259,
 * section 7. */
void ms_json_write_string(ms_buffer *out, const char *text);

/** Append `text` for XML 1.0, as element text or inside double quotes: reserved characters are
 * escaped; invisible characters (base/text.h), line feeds too, and bytes that are not UTF-8
 * become '?'. */
void ms_xml_write_text(ms_buffer *out, const char *text);

/** Append a text for people to read: invisible characters (base/text.h) except tab and line
 * feed, and bytes that are not UTF-8, become '?', so that no name from a file or a command line
 * controls the terminal or looks like another name.  O(length). */
void ms_terminal_write_text(ms_buffer *out, const char *text);

#endif
