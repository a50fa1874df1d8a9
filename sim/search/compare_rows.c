/* Names the rows of two lists, so that rows which are about the same thing are compared with each
 * other, whatever their positions. A name is the values of some columns of the row, such as
 * "tp.all_gather.16777216": as few columns as tell the rows apart on both sides. */
#include "search/compare_rows.h"

#include <string.h>

enum { COLUMNS_MAX = 5 }; /* of a row's name */

/* The columns that identify the rows of a list. */
typedef struct identity {
    const char *list;                 /* its key */
    const char *columns[COLUMNS_MAX]; /* NULL behind the last */
    size_t least; /* number of columns in every name; more where these do not tell rows apart */
    size_t most;  /* columns that there are */
} identity;

/* The lists of a result whose rows are not identified by a column `name` alone. */
static const identity IDENTITIES[] = {
    {"collectives", {"axis", "kind", "size_B", "tier", "algorithm"}, 3, 5},
    {"kernels", {"name", "shape"}, 1, 2},
    {"stages", {"pp_rank"}, 1, 1},
};
static const identity BY_NAME = {"", {"name"}, 1, 1};

/* The identity of a list by the last word of its path; any other list is identified by the column
 * `name`. */
static const identity *identity_of(const char *key) {
    const char *dot = strrchr(key, '.');
    const char *list = dot == NULL ? key : dot + 1;
    for (size_t i = 0; i < sizeof IDENTITIES / sizeof IDENTITIES[0]; i++) {
        if (strcmp(IDENTITIES[i].list, list) == 0) {
            return &IDENTITIES[i];
        }
    }
    return &BY_NAME;
}

/* Append a column's value to a name. Returns false where the row has no such text or number. */
static bool add_column(const ms_value *row, const char *column, ms_buffer *name) {
    const ms_value *value = ms_value_get(row, column);
    ms_buffer_puts(name, name->length == 0 ? "" : ".");
    switch (value == NULL ? MS_VALUE_NULL : value->type) {
    case MS_VALUE_STRING:
        ms_buffer_puts(name, value->as.string);
        return true;
    case MS_VALUE_INT:
        ms_buffer_printf(name, "%lld", (long long)value->as.integer);
        return true;
    case MS_VALUE_DOUBLE: /* a size; that of an uneven exchange is a mean */
        ms_buffer_printf(name, "%.0f", value->as.number);
        return true;
    default:
        return false;
    }
}

/* The name of a row by its first columns, or its index if the row lacks one of them. index: of the
 * row in the list. columns: number of columns. The name is in `arena`; NULL: no memory. */
static const char *name_row(const ms_value *row, size_t index, const identity *what, size_t columns,
                            ms_arena *arena) {
    ms_buffer name;
    ms_buffer_init(&name);
    bool has_name = row->type == MS_VALUE_OBJECT;
    for (size_t i = 0; i < columns && has_name; i++) {
        has_name = add_column(row, what->columns[i], &name);
    }
    const char *text =
        has_name ? ms_buffer_keep(&name, arena) : ms_arena_printf(arena, "%zu", index);
    ms_buffer_release(&name);
    return text;
}

/* Number of rows with a name. */
static size_t count_name(const ms_rows *rows, const char *name) {
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++) {
        count += strcmp(rows->names[i], name) == 0;
    }
    return count;
}

/* Collect the rows of a list, without names. Returns false when memory ran out. */
static bool list_rows(const ms_value *list, ms_arena *arena, ms_rows *rows) {
    rows->items = MS_NEW(arena, const ms_value *, list->count);
    rows->names = MS_NEW(arena, const char *, list->count);
    if (rows->items == NULL || rows->names == NULL) {
        return false;
    }
    for (const ms_value *row = list->first; row != NULL; row = row->next) {
        rows->items[rows->count++] = row;
    }
    return true;
}

/* Name the rows that have no final name yet by their first columns. A name is final if no two rows
 * of either side have it: then the same thing has the same name on both sides. is_done: [2][rows]
 * whether a row's name is final, updated. Returns false when memory ran out. */
static bool name_by(const identity *what, size_t columns, ms_arena *arena, ms_rows rows[2],
                    bool *is_done[2]) {
    for (size_t side = 0; side < 2; side++) {
        for (size_t i = 0; i < rows[side].count; i++) {
            if (!is_done[side][i]) {
                rows[side].names[i] = name_row(rows[side].items[i], i, what, columns, arena);
                if (rows[side].names[i] == NULL) {
                    return false;
                }
            }
        }
    }
    for (size_t side = 0; side < 2; side++) {
        for (size_t i = 0; i < rows[side].count; i++) {
            is_done[side][i] = is_done[side][i] || (count_name(&rows[0], rows[side].names[i]) < 2 &&
                                                    count_name(&rows[1], rows[side].names[i]) < 2);
        }
    }
    return true;
}

/* Number the rows whose columns are all equal, from the second row on: "name", "name#2", "name#3".
 * is_done: [rows->count] whether a row's name is unique already. Returns false when memory ran
 * out. */
static bool number_equals(ms_arena *arena, ms_rows *rows, const bool *is_done) {
    const char **plain = MS_NEW(arena, const char *, rows->count);
    if (plain == NULL) {
        return false;
    }
    memcpy(plain, rows->names, rows->count * sizeof *plain);
    for (size_t i = 0; i < rows->count; i++) {
        size_t before = 0;
        for (size_t j = 0; j < i && !is_done[i]; j++) {
            before += strcmp(plain[j], plain[i]) == 0;
        }
        if (before > 0) {
            rows->names[i] = ms_arena_printf(arena, "%s#%zu", plain[i], before + 1);
        }
        if (rows->names[i] == NULL) {
            return false;
        }
    }
    return true;
}

/* Rows are first named by the least number of columns of their list. Rows whose names are not
 * unique then get one column more, as long as there are columns. Rows that are still equal are
 * numbered. */
bool ms_rows_name(const char *key, const ms_value *const lists[2], ms_arena *arena,
                  ms_rows rows_out[2]) {
    const identity *what = identity_of(key);
    ms_rows rows[2] = {{0}, {0}};
    bool *is_done[2];
    for (size_t side = 0; side < 2; side++) {
        is_done[side] = MS_NEW(arena, bool, lists[side]->count);
        if (is_done[side] == NULL || !list_rows(lists[side], arena, &rows[side])) {
            return false;
        }
    }
    for (size_t columns = what->least; columns <= what->most; columns++) {
        if (!name_by(what, columns, arena, rows, is_done)) {
            return false;
        }
    }
    for (size_t side = 0; side < 2; side++) {
        if (!number_equals(arena, &rows[side], is_done[side])) {
            return false;
        }
        rows_out[side] = rows[side];
    }
    return true;
}

size_t ms_rows_find(const ms_rows *rows, const char *name, size_t near) {
    if (near < rows->count && strcmp(rows->names[near], name) == 0) {
        return near;
    }
    for (size_t i = 0; i < rows->count; i++) {
        if (strcmp(rows->names[i], name) == 0) {
            return i;
        }
    }
    return rows->count;
}
