/* CSV from the tree that --json prints, so that a figure has one name in all forms. */
#include "cli/render.h"

#include <string.h>

static const char *const LISTS[] = {"results", "rows", "left_out"};

enum { LIST_COUNT = sizeof LISTS / sizeof LISTS[0] };

/* A cell of a row: the name of its column, and its value. */
typedef struct csv_cell {
    const char *name;
    const ms_value *value;
} csv_cell;

/* ---- columns ---- */

/* Add the cells of an object.  before: what stands before its keys, with a dot at its end. */
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

static const ms_value *find(const ms_vector *cells, const char *name) {
    for (size_t i = 0; i < cells->count; i++) {
        if (strcmp(MS_AT(cells, csv_cell, i).name, name) == 0) {
            return MS_AT(cells, csv_cell, i).value;
        }
    }
    return NULL;
}

/* Add the columns that a row has and no row before it has. */
static void add_columns(const ms_value *row, ms_vector *columns) {
    ms_vector cells = {.item_B = sizeof(csv_cell)};
    add_cells(row, "", &cells);
    for (size_t i = 0; i < cells.count; i++) {
        const csv_cell *cell = &MS_AT(&cells, csv_cell, i);
        if (find(columns, cell->name) == NULL) {
            ms_vector_add(columns, cell, 1);
        }
    }
    columns->failed = columns->failed || cells.failed;
    ms_vector_release(&cells);
}

/* ---- text ---- */

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

static void add_row(const ms_value *row, const ms_vector *columns, ms_buffer *out) {
    ms_buffer text = {0};
    ms_vector cells = {.item_B = sizeof(csv_cell)};
    add_cells(row, "", &cells);
    for (size_t i = 0; i < columns->count; i++) {
        const ms_value *value = find(&cells, MS_AT(columns, csv_cell, i).name);
        text.length = 0;
        if (value != NULL) {
            add_plain(value, &text);
        }
        ms_buffer_puts(out, i == 0 ? "" : ",");
        add_text(text.length == 0 ? "" : ms_buffer_text(&text), out);
    }
    ms_buffer_puts(out, "\n");
    out->failed = out->failed || text.failed || cells.failed;
    ms_buffer_release(&text);
    ms_vector_release(&cells);
}

/* First row of the tree's n-th list; NULL: it has none. */
static const ms_value *first_row(const ms_value *tree, size_t list) {
    const ms_value *rows = ms_value_get(tree, LISTS[list]);
    return rows == NULL ? NULL : rows->first;
}

void ms_show_csv(const ms_value *tree, ms_buffer *out) {
    ms_vector columns = {.item_B = sizeof(csv_cell)};
    for (size_t list = 0; list < LIST_COUNT; list++) {
        for (const ms_value *row = first_row(tree, list); row != NULL; row = row->next) {
            add_columns(row, &columns);
        }
    }
    for (size_t i = 0; i < columns.count; i++) {
        ms_buffer_puts(out, i == 0 ? "" : ",");
        add_text(MS_AT(&columns, csv_cell, i).name, out);
    }
    ms_buffer_puts(out, "\n");
    for (size_t list = 0; list < LIST_COUNT; list++) {
        for (const ms_value *row = first_row(tree, list); row != NULL; row = row->next) {
            add_row(row, &columns, out);
        }
    }
    out->failed = out->failed || columns.failed;
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
