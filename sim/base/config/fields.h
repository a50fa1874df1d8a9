/*
 * Reading fields: what fields.c (tables) and values.c (single values) share.
 */
#ifndef MESHSIM_CONFIG_FIELDS_H
#define MESHSIM_CONFIG_FIELDS_H

#include "base/config/internal.h"

/* A key path, linked from its end; the first part is the key path the caller gave. */
typedef struct ms_path {
    const struct ms_path *parent;
    const char *key; /* NULL: an entry of a list */
    size_t index;
} ms_path;

/* One call of ms_config_read. */
typedef struct ms_reading {
    ms_arena *arena;
    ms_diag *diag;
    bool has_fault;
    bool has_no_memory;
    bool has_bad_table; /* a fallback does not fit its own field */
} ms_reading;

enum { MS_PATH_MAX = 512 };

/* The dotted path as text. out: [MS_PATH_MAX]. Returns out. */
const char *ms_path_text(const ms_path *path, char *out);

/* Reports a fault at a mark, or without a place when NULL. */
void ms_reading_fault(ms_reading *reading, const ms_mark *mark, const ms_path *path,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The row of a key; NULL: the table has none. */
const ms_field *ms_field_find(const ms_field *fields, const char *key);

/* The table that a row's mapping follows, of several the one that its key `kind` names; NULL: any
 * key may stand there. */
const ms_field *ms_field_table_of(const ms_field *row, const ms_node *mapping);

/* Whether a table has keys that must be given. */
bool ms_field_has_required(const ms_field *fields);

/* Whether a member says something: what is left out has no text, no entries, or a number below its
 * range. */
bool ms_field_is_given(const ms_field *field, const void *member);

enum { MS_WORD_LIST_MAX = 600 };

/* The words of a field, such as "none, full or selective". out: [size]. */
void ms_field_words(const ms_field *field, char *out, size_t size);

/* Whether a number is within the range of its field. */
bool ms_field_has_number(const ms_field *field, double number);

/* Reads a field's fallback into a member of its type. */
void ms_field_read_fallback(ms_reading *reading, const ms_field *field, const ms_path *path,
                            void *member);

/* Reads one value of any type but MAP into the member it belongs to. */
void ms_field_read(ms_reading *reading, const ms_field *field, const ms_node *node,
                   const ms_path *path, void *member);

#endif
