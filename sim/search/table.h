/**
 * @file
 * Result tables: rows of one type, described by one list of columns.
 *
 * A column has the name of a quantity, the field of a row that holds it, and the order by which a
 * table is sorted. The printed table and `--json` follow from the list of columns, and CSV from
 * `--json`, so that a quantity has the same name and meaning in all of them.
 *
 * A row whose job was refused or has failed is left out of the table: it has a reason instead of
 * numbers, and comes behind the other rows.
 */
#ifndef MESHSIM_TABLE_H
#define MESHSIM_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/status.h"
#include "base/value.h"

/** The type of the field of a row that a column shows. */
typedef enum ms_column_type {
    MS_COLUMN_TEXT,   /**< const char *; NULL: the row has none */
    MS_COLUMN_INT,    /**< int64_t */
    MS_COLUMN_NUMBER, /**< double; NAN: the row has none */
    MS_COLUMN_BOOL    /**< bool */
} ms_column_type;

/** Which row comes first in a table that is sorted by the column. */
typedef enum ms_column_sort {
    MS_SORT_NEVER,  /**< a table cannot be sorted by it */
    MS_SORT_LOWEST, /**< the least number, or the first text of the alphabet */
    MS_SORT_HIGHEST /**< the largest number */
} ms_column_sort;

/** A column. */
typedef struct ms_table_column {
    const char *name;    /**< key in --json; the part before a dot is the object that has the key
                              ("gap.order"); NULL ends a list of columns */
    ms_column_type type; /**< of the field */
    size_t offset;       /**< of the field in a row [B] */
    ms_column_sort sort; /**< a user sorts by the last word of `name` */
    bool is_optional; /**< a row without a value has no such key in --json; else the key is null */
    bool is_of_left_out; /**< rows that are left out have a value, too */
} ms_table_column;

/** Value of ms_table.reason_offset for rows that have no reason, because none is ever left out. */
#define MS_TABLE_KEEPS_ALL SIZE_MAX

/** A table.  All is borrowed. */
typedef struct ms_table {
    const ms_table_column *columns; /**< ended by one without a name; the first is a row's name */
    size_t reason_offset;           /**< offset in a row [B] of a const char *: the reason why the
                                       row is left out, or NULL; or MS_TABLE_KEEPS_ALL */
    const void **rows;              /**< [count] */
    size_t count;
    const ms_table_column *sorted_by; /**< one of `columns` */
} ms_table;

/** Give a table its rows, in their order.
 *  rows: [count] structs of `size` bytes each, borrowed. *table: `rows` and `count` are set; the
 * list of pointers is in `arena`. Returns MS_OK; MS_E_NOMEM (not reported). */
ms_status ms_table_fill(ms_table *table, const void *rows, size_t size, size_t count,
                        ms_arena *arena);

/** The column that a user sorts by as `word`, the last word of its name; NULL: there is none that
 * can be sorted by. columns: as in ms_table. O(columns). */
const ms_table_column *ms_table_find_column(const ms_table_column *columns, const char *word);

/** Append the words that a table can be sorted by, separated by commas. columns: as in ms_table. */
void ms_table_list_columns(const ms_table_column *columns, ms_buffer *out);

/** The word for a column on the command line: the last word of its name. */
const char *ms_table_word(const ms_table_column *column);

/** Sort the rows by the column sorted_by. Numbers that differ by at most 1e-12 of themselves count
 * as equal, because of rounding, and keep their order. A row without such a number comes behind
 * those that have one; rows that are left out come last, in their order. O(count^2). */
void ms_table_sort(ms_table *table);

/** The value of a row in a column; null where the row has none, or where its number is not finite.
 * A text is borrowed from the row. */
ms_value ms_table_leaf(const ms_table_column *column, const void *row);

/** Number of rows that are not left out. */
size_t ms_table_kept(const ms_table *table);

/** The reason why a row is left out; NULL: it is in the table. index: of the row, below
 * table->count. */
const char *ms_table_reason(const ms_table *table, size_t index);

/** Add a row's keys to an object. columns: as in ms_table. is_left_out: the row is left out of the
 * table; only the columns with is_of_left_out are added. A lack of memory shows in the tree's
 * arena. */
void ms_table_add_row(const ms_table_column *columns, const void *row, bool is_left_out,
                      ms_value *object);

/** Add the list "rows" and, unless the table keeps all rows, the list "left_out" to an object. A
 * lack of memory shows in the tree's arena. */
void ms_table_add_rows(const ms_table *table, ms_value *object);

#endif
