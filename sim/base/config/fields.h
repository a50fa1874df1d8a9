/* Declarations that the files which read or walk field tables share: key paths, the state of a
 * reading, and single values (values.c). */
#ifndef MESHSIM_CONFIG_FIELDS_H
#define MESHSIM_CONFIG_FIELDS_H

#include "base/config/internal.h"

/* A key path as a linked list: its last part, which points to the part before it. The first part is
 * the key path that the caller gave. */
typedef struct ms_path {
    const struct ms_path *parent;
    const char *key; /* NULL: an entry of a list, number `index` */
    size_t index;    /* from 0 */
} ms_path;

/* The state of one call of ms_config_read. */
typedef struct ms_reading {
    ms_arena *arena;
    ms_diag *diag;
    bool has_fault;
    bool has_no_memory;
    bool has_bad_table; /* a fallback does not fit its own field */
} ms_reading;

enum { MS_PATH_MAX = 512 };

/* Write a path as text, such as "mesh.order[2]".  out: [MS_PATH_MAX], longer ones are cut.  Returns
 * out. */
const char *ms_path_text(const ms_path *path, char *out);

/* Report a fault of a key, and record it in the reading.  mark: NULL: without a place. */
void ms_reading_fault(ms_reading *reading, const ms_mark *mark, const ms_path *path,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The row of a key; NULL: the table has none. */
const ms_field *ms_field_find(const ms_field *fields, const char *key);

/* The table of the mapping below a row; where the row has several, the one that the mapping's key
 * `kind` names; NULL: the mapping has no table and may have any keys. */
const ms_field *ms_field_table_of(const ms_field *row, const ms_node *mapping);

/* Whether a table has keys that must be given. */
bool ms_field_has_required(const ms_field *fields);

/* Whether a member holds a value that was given. By convention a member that was not given is a
 * text that is NULL, a list without entries, a number below its range, or a switch or enumeration
 * below 0. */
bool ms_field_is_given(const ms_field *field, const void *member);

enum { MS_WORD_LIST_MAX = 600 };

/* The words of a field, such as "none, full or selective". out: [size]. */
void ms_field_words(const ms_field *field, char *out, size_t size);

/* Whether a number is within the range of its field. */
bool ms_field_has_number(const ms_field *field, double number);

/* Read a field's default into a member of the field's type. A default that does not fit is a fault
 * of the table, recorded in has_bad_table. */
void ms_field_read_fallback(ms_reading *reading, const ms_field *field, const ms_path *path,
                            void *member);

/* Read one value of any type but MAP into the member of its field. Faults are reported and recorded
 * in the reading; the member is then unchanged. */
void ms_field_read(ms_reading *reading, const ms_field *field, const ms_node *node,
                   const ms_path *path, void *member);

#endif
