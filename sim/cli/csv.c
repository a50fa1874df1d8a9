/* Writes a result as CSV from the tree that --json prints, so that a figure has one name in all
 * forms (render.h). */
#include <string.h>

#include "cli/render.h"

/* Keys of the lists whose entries become rows. */
static const char *const LISTS[] = {"results", "rows", "left_out"};

/* A cell of a row: the name of its column, and its value. A cell without a name ends its row. */
typedef struct csv_cell {
    const char *name;
    const ms_value *value;
} csv_cell;

/* ---- cells ---- */

/* Append the cells of an object, nested objects included. Keys of `settings` are whole paths, and
 * get no prefix.  before: prefix of the names of its columns, such as "gap."; "": none.  cells: of
 * csv_cell. */
static void add_cells(const ms_value *object, const char *before, ms_vector *cells) {
    for (const ms_value *child = object->first; child != NULL; child = child->next) {
        const char *name = ms_arena_printf(object->arena, "%s%s", before, child->key);
        if (name != NULL && child->type == MS_VALUE_OBJECT) {
            bool has_paths = strcmp(name, "settings") == 0;
            const char *below = has_paths ? "" : ms_arena_printf(object->arena, "%s.", name);
            add_cells(child, below == NULL ? "" : below, cells);
        } else if (name != NULL) {
            const csv_cell cell = {name, child};
            ms_vector_add(cells, &cell, 1);
        }
    }
}

/* The value of a column in the row that begins at cell `from`; NULL: the row has no such cell. In a
 * list without end marks, the whole list is searched. */
static const ms_value *find(const ms_vector *cells, size_t from, const char *name) {
    for (; from < cells->count && MS_AT(cells, csv_cell, from).name != NULL; from++) {
        if (strcmp(MS_AT(cells, csv_cell, from).name, name) == 0) {
            return MS_AT(cells, csv_cell, from).value;
        }
    }
    return NULL;
}

/* ---- text ---- */

/* Append a text, in quotes where it has a comma, a quote or a line end (RFC 4180). */
static void add_text(const char *text, ms_buffer *out) {
    if (strpbrk(text, ",\"\r\n") == NULL) {
        ms_buffer_puts(out, text);
        return;
    }
    ms_buffer_puts(out, "\"");
    for (const char *at = text; *at != '\0'; at++) {
        ms_buffer_puts(out, *at == '"' ? "\"" : "");
        ms_buffer_add(out, at, 1);
    }
    ms_buffer_puts(out, "\"");
}

/* Append a value without quotes: a text, a list with "; " between its entries, or a number as in
 * JSON. For null nothing is appended. */
static void add_plain(const ms_value *value, ms_buffer *out) {
    if (value->type == MS_VALUE_STRING) {
        ms_buffer_puts(out, value->as.string);
    } else if (value->type == MS_VALUE_ARRAY) {
        for (const ms_value *entry = value->first; entry != NULL; entry = entry->next) {
            add_plain(entry, out);
            ms_buffer_puts(out, entry->next == NULL ? "" : "; ");
        }
    } else if (value->type != MS_VALUE_NULL) {
        ms_value_write_json(value, 0, out);
    }
}

/* Append the row that begins at cell `from`.  columns: of csv_cell, in the order of the file. */
static void add_row(const ms_vector *cells, size_t from, const ms_vector *columns, ms_buffer *out) {
    for (size_t i = 0; i < columns->count; i++) {
        const ms_value *value = find(cells, from, MS_AT(columns, csv_cell, i).name);
        ms_buffer text = {0};
        if (value != NULL) {
            add_plain(value, &text);
        }
        ms_buffer_puts(out, i == 0 ? "" : ",");
        add_text(ms_buffer_text(&text), out);
        ms_buffer_release_part(&text, out);
    }
    ms_buffer_puts(out, "\n");
}

/* The cells of all rows are collected first, each row followed by an end mark. A column is made for
 * each cell name, in the order in which the names first occur; then the rows are written. */
void ms_show_csv(const ms_value *tree, ms_buffer *out) {
    static const csv_cell END = {NULL, NULL};
    ms_vector cells = {.item_B = sizeof(csv_cell)};   /* of all rows */
    ms_vector columns = {.item_B = sizeof(csv_cell)}; /* the first cell of each name */
    for (size_t list = 0; list < sizeof LISTS / sizeof LISTS[0]; list++) {
        const ms_value *rows = ms_value_get(tree, LISTS[list]);
        for (const ms_value *row = rows == NULL ? NULL : rows->first; row != NULL;
             row = row->next) {
            add_cells(row, "", &cells);
            ms_vector_add(&cells, &END, 1);
        }
    }
    for (size_t i = 0; i < cells.count; i++) {
        const csv_cell *cell = &MS_AT(&cells, csv_cell, i);
        if (cell->name != NULL && find(&columns, 0, cell->name) == NULL) {
            ms_vector_add(&columns, cell, 1);
            ms_buffer_puts(out, columns.count == 1 ? "" : ",");
            add_text(cell->name, out);
        }
    }
    ms_buffer_puts(out, "\n");
    bool is_begin = true; /* of a row: the first cell, and each cell behind an end mark */
    for (size_t i = 0; i < cells.count; i++) {
        if (is_begin) {
            add_row(&cells, i, &columns, out);
        }
        is_begin = MS_AT(&cells, csv_cell, i).name == NULL;
    }
    out->failed = out->failed || cells.failed || columns.failed;
    ms_vector_release(&cells);
    ms_vector_release(&columns);
}

ms_status ms_cli_write_csv(const ms_invocation *call, const char *option, const ms_value *tree) {
    ms_buffer text = {0};
    if (ms_cli_has(call, option) && tree != NULL) {
        ms_show_csv(tree, &text);
    }
    text.failed = text.failed || tree == NULL;
    return ms_cli_write_option(call, option, &text);
}
