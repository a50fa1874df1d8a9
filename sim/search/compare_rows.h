/* Names of the rows of lists, so that a row is compared with the one that is the same thing. */
#ifndef MS_STUDY_COMPARE_ROWS_H
#define MS_STUDY_COMPARE_ROWS_H

#include "search/compare.h"

/* The rows of a list. */
typedef struct ms_rows {
    const ms_value **items; /* [count] */
    const char **names;     /* [count], each once */
    size_t count;
} ms_rows;

/* Name the rows of two lists by as many columns as tell the rows apart on both sides; rows that no
 * column tells apart get a number behind the name, and rows without such columns are named by their
 * position.
 *  key: path of both lists. rows_out: [2], in `arena`. Returns false when memory ran out.
 * O(rows^2). */
bool ms_rows_name(const char *key, const ms_value *const lists[2], ms_arena *arena,
                  ms_rows rows_out[2]);

/* Index of the row with a name; rows->count if there is none. near: index that is tried first. */
size_t ms_rows_find(const ms_rows *rows, const char *name, size_t near);

#endif
