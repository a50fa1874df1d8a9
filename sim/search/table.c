/* Result tables (table.h): the value of a row in a column, sorting by a column, and rows as JSON.
 * Rows are structs of one type; a column knows the offset of its field. */
#include "search/table.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Share of a number by which another may differ and count as equal, because of rounding. */
static const double ROUNDING = 1e-12;

/* ---- cells ---- */

/* The text field of a row at an offset [B]. */
static const char *text_at(const void *row, size_t offset) {
    return *(const char *const *)((const char *)row + offset);
}

/* Read the field of the row by the type of the column; a NULL text and a number that is not finite
 * become null. */
ms_value ms_table_leaf(const ms_table_column *column, const void *row) {
    const void *field = (const char *)row + column->offset;
    const char *text = column->type == MS_COLUMN_TEXT ? text_at(row, column->offset) : NULL;
    double number = column->type == MS_COLUMN_NUMBER ? *(const double *)field : NAN;
    if (column->type == MS_COLUMN_INT) {
        return (ms_value){.type = MS_VALUE_INT, .as.integer = *(const int64_t *)field};
    }
    if (column->type == MS_COLUMN_BOOL) {
        return (ms_value){.type = MS_VALUE_BOOL, .as.boolean = *(const bool *)field};
    }
    if (text != NULL) {
        return (ms_value){.type = MS_VALUE_STRING, .as.string = text};
    }
    return isfinite(number) ? (ms_value){.type = MS_VALUE_DOUBLE, .as.number = number}
                            : (ms_value){.type = MS_VALUE_NULL};
}

/* The number of a row in a column of numbers; NAN where the row has none. */
static double number_at(const ms_table_column *column, const void *row) {
    const ms_value leaf = ms_table_leaf(column, row);
    return leaf.type == MS_VALUE_DOUBLE ? leaf.as.number
           : leaf.type == MS_VALUE_INT  ? (double)leaf.as.integer
                                        : NAN;
}

const char *ms_table_reason(const ms_table *table, size_t index) {
    return table->reason_offset == MS_TABLE_KEEPS_ALL
               ? NULL
               : text_at(table->rows[index], table->reason_offset);
}

size_t ms_table_kept(const ms_table *table) {
    size_t kept = 0;
    for (size_t i = 0; i < table->count; i++) {
        kept += ms_table_reason(table, i) == NULL;
    }
    return kept;
}

ms_status ms_table_fill(ms_table *table, const void *rows, size_t size, size_t count,
                        ms_arena *arena) {
    table->rows = MS_NEW(arena, const void *, count);
    table->count = table->rows == NULL ? 0 : count;
    for (size_t i = 0; i < table->count; i++) {
        table->rows[i] = (const char *)rows + i * size;
    }
    return table->rows == NULL ? MS_E_NOMEM : MS_OK;
}

/* ---- columns by their words ---- */

const char *ms_table_word(const ms_table_column *column) {
    const char *dot = strrchr(column->name, '.');
    return dot == NULL ? column->name : dot + 1;
}

const ms_table_column *ms_table_find_column(const ms_table_column *columns, const char *word) {
    for (; columns->name != NULL; columns++) {
        if (columns->sort != MS_SORT_NEVER && strcmp(ms_table_word(columns), word) == 0) {
            return columns;
        }
    }
    return NULL;
}

void ms_table_list_columns(const ms_table_column *columns, ms_buffer *out) {
    const char *before = "";
    for (; columns->name != NULL; columns++) {
        if (columns->sort != MS_SORT_NEVER) {
            ms_buffer_printf(out, "%s%s", before, ms_table_word(columns));
            before = ", ";
        }
    }
}

/* ---- order ---- */

/* Whether one number comes before another one. A NAN comes behind all numbers. */
static bool is_less(double one, double other) {
    return isnan(other) ? !isnan(one) : one < other - ROUNDING * fabs(other);
}

/* Whether the column's value of one row comes before that of the other, by the column's order. */
static bool comes_before(const ms_table_column *column, const void *one, const void *other) {
    if (column->type == MS_COLUMN_TEXT) {
        return strcmp(text_at(one, column->offset), text_at(other, column->offset)) < 0;
    }
    double sign = column->sort == MS_SORT_HIGHEST ? -1 : 1;
    return is_less(sign * number_at(column, one), sign * number_at(column, other));
}

/* Whether row `at` and the row before it are in the wrong order. Rows that are left out (they have
 * a reason) come last, in their own order. at: index, >= 1. */
static bool is_out_of_order(const ms_table *table, size_t at) {
    bool is_left_out = ms_table_reason(table, at) != NULL;
    bool was_left_out = ms_table_reason(table, at - 1) != NULL;
    if (is_left_out || was_left_out) {
        return was_left_out && !is_left_out;
    }
    return comes_before(table->sorted_by, table->rows[at], table->rows[at - 1]);
}

/* Insertion sort. Equality up to rounding is not transitive, so qsort must not be used; here equal
 * neighbours keep their order. */
void ms_table_sort(ms_table *table) {
    for (size_t i = 1; i < table->count; i++) {
        for (size_t at = i; at > 0 && is_out_of_order(table, at); at--) {
            const void *row = table->rows[at];
            table->rows[at] = table->rows[at - 1];
            table->rows[at - 1] = row;
        }
    }
}

/* ---- JSON ---- */

/* The object that a column's key lies in: the row's own, or, for a name such as "gap.order", the
 * object "gap" in the row, which is added unless it is the row's last key. So columns of one object
 * must follow each other. */
static ms_value *object_of(ms_value *row, const char *name) {
    char key[32];
    const char *dot = strchr(name, '.');
    if (dot == NULL || row == NULL) {
        return row;
    }
    snprintf(key, sizeof key, "%.*s", (int)(dot - name), name);
    bool is_last = row->last != NULL && strcmp(row->last->key, key) == 0;
    return is_last ? row->last : ms_value_add(row, key, MS_VALUE_OBJECT);
}

void ms_table_add_row(const ms_table_column *columns, const void *row, bool is_left_out,
                      ms_value *object) {
    for (const ms_table_column *column = columns; column->name != NULL; column++) {
        const ms_value leaf = ms_table_leaf(column, row);
        bool may_lack = column->is_optional && leaf.type == MS_VALUE_NULL;
        if ((column->is_of_left_out || !is_left_out) && !may_lack) {
            ms_value_add_leaf(object_of(object, column->name), ms_table_word(column), &leaf);
        }
    }
}

/* Add the rows that are in the table, or the rows that are left out, as a list under `key`. */
static void add_list(const ms_table *table, bool are_left_out, const char *key, ms_value *object) {
    ms_value *list = ms_value_add(object, key, MS_VALUE_ARRAY);
    for (size_t i = 0; i < table->count; i++) {
        if ((ms_table_reason(table, i) != NULL) == are_left_out) {
            ms_table_add_row(table->columns, table->rows[i], are_left_out,
                             ms_value_add(list, NULL, MS_VALUE_OBJECT));
        }
    }
}

void ms_table_add_rows(const ms_table *table, ms_value *object) {
    add_list(table, false, "rows", object);
    if (table->reason_offset != MS_TABLE_KEEPS_ALL) {
        add_list(table, true, "left_out", object);
    }
}
