/**
 * @file
 * Result tables: rows of one type, described by one list of columns.
 *
 * A column says once what a quantity is called, which field of a row holds it and which row comes
 * first when a table is sorted by it. `--json` follows from that list, and CSV from `--json`, so
 * that a quantity has one name and one meaning wherever it is read.
 *
 * A row whose job is refused or failed is left out of the table: it has a reason in the place of
 * its numbers and comes behind the others.
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

/** The field of a row that a column stands for. */
typedef enum ms_column_type {
    MS_COLUMN_TEXT,   /**< const char *; NULL: the row has none */
    MS_COLUMN_INT,    /**< int64_t */
    MS_COLUMN_NUMBER, /**< double; NAN: the row has none */
    MS_COLUMN_BOOL    /**< bool */
} ms_column_type;

/** Which row comes first in a table that is sorted by the column. */
typedef enum ms_column_sort {
    MS_SORT_NEVER,  /**< nobody sorts by it */
    MS_SORT_LOWEST, /**< the least number, or the first text of the alphabet */
    MS_SORT_HIGHEST /**< the largest number */
} ms_column_sort;

/** A column. */
typedef struct ms_table_column {
    const char *name;    /**< key in --json; what stands before a dot is the
                              object that it lies in ("gap.order"); NULL ends a list of columns */
    ms_column_type type; /**< of the field */
    size_t offset;       /**< of the field in a row [B] */
    ms_column_sort sort; /**< the last word of `name` is what a user sorts by */
    bool is_optional;    /**< a row that has none has no such key; else the key is null */
    bool is_of_left_out; /**< rows that are left out have it, too */
} ms_table_column;

/** In the place of ms_table.reason_offset: rows have no reasons, for none is ever left out. */
#define MS_TABLE_KEEPS_ALL SIZE_MAX

/** A table.  All is borrowed. */
typedef struct ms_table {
    const ms_table_column *columns; /**< ended by one without a name; the first is a row's name */
    size_t reason_offset;           /**< of a const char * [B]: why a row is left out, or NULL; or
                                       MS_TABLE_KEEPS_ALL */
    const void **rows;              /**< [count] */
    size_t count;
    const ms_table_column *sorted_by; /**< one of `columns` */
} ms_table;

/** Let a table have rows, in their order.
 *  rows: [count] of `size` bytes each, borrowed.  *table: `rows` and `count` are set, the list in
 * `arena`.  Returns MS_OK; MS_E_NOMEM, not reported. */
ms_status ms_table_fill(ms_table *table, const void *rows, size_t size, size_t count,
                        ms_arena *arena);

/** Column that a user sorts by as `word`: the last word of its name.  NULL if there is none.
 *  columns: as in ms_table.  O(columns). */
const ms_table_column *ms_table_find_column(const ms_table_column *columns, const char *word);

/** Append the words that a table can be sorted by, with commas. */
void ms_table_list_columns(const ms_table_column *columns, ms_buffer *out);

/** What a user calls a column: the last word of its name. */
const char *ms_table_word(const ms_table_column *column);

/** Put the rows in the order of sorted_by.  Numbers that are no further than 1e-12 of themselves
 * apart, which is rounding, keep their order; a row that has no such number comes behind those that
 * have one, and rows that are left out come last, in their order.  O(count^2). */
void ms_table_sort(ms_table *table);

/** The value of a row in a column: null where the row has none, or where its number is not finite.
 * A text is borrowed from the row. */
ms_value ms_table_leaf(const ms_table_column *column, const void *row);

/** Rows that are in the table, not left out. */
size_t ms_table_kept(const ms_table *table);

/** Why a row is left out; NULL: it is in the table.  index: below table->count. */
const char *ms_table_reason(const ms_table *table, size_t index);

/** Add a row's keys to an object.  columns: as in ms_table.  is_left_out: only those that such rows
 * have. */
void ms_table_add_row(const ms_table_column *columns, const void *row, bool is_left_out,
                      ms_value *object);

/** Add the lists "rows" and, unless the table keeps all, "left_out" to an object.  Lack of memory
 * shows in the tree's arena. */
void ms_table_add_rows(const ms_table *table, ms_value *object);

#endif
