#include "cli/show_csv.h"

#include <string.h>

/* Columns in the order in which rows first have them. */
typedef struct csv_columns {
    ms_arena *arena;
    ms_vector names; /* const char * */
    bool failed;
} csv_columns;

/* Does something with a cell; path: dotted. */
typedef void (*cell_visitor)(csv_columns *columns, const char *path, const ms_value *cell,
                             void *context);

static void visit_cells(csv_columns *columns, const char *above, const ms_value *object,
                        cell_visitor visit, void *context) {
    for (const ms_value *child = object->first; child != NULL; child = child->next) {
        const char *path = above[0] == '\0'
                               ? child->key
                               : ms_arena_printf(columns->arena, "%s.%s", above, child->key);
        if (path == NULL) {
            columns->failed = true;
        } else if (child->type == MS_VALUE_OBJECT) {
            visit_cells(columns, path, child, visit, context);
        } else {
            visit(columns, path, child, context);
        }
    }
}

static void add_column(csv_columns *columns, const char *path, const ms_value *cell,
                       void *context) {
    (void)cell;
    (void)context;
    for (size_t i = 0; i < columns->names.count; i++) {
        if (strcmp(MS_AT(&columns->names, const char *, i), path) == 0) {
            return;
        }
    }
    columns->failed = columns->failed || ms_vector_add(&columns->names, &path, 1) == NULL;
}

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

/* A cell that is looked for by its column. */
typedef struct wanted_cell {
    const char *path;
    const ms_value *found;
} wanted_cell;

static void take_cell(csv_columns *columns, const char *path, const ms_value *cell, void *context) {
    wanted_cell *wanted = context;
    (void)columns;
    if (strcmp(path, wanted->path) == 0) {
        wanted->found = cell;
    }
}

static void add_cell(const ms_value *cell, ms_buffer *out) {
    switch (cell == NULL ? MS_VALUE_NULL : cell->type) {
    case MS_VALUE_NULL:
        break;
    case MS_VALUE_STRING:
        add_text(cell->as.string, out);
        break;
    default:
        ms_value_write_json(cell, 0, out);
    }
}

static void add_row(csv_columns *columns, const ms_value *row, ms_buffer *out) {
    for (size_t i = 0; i < columns->names.count; i++) {
        wanted_cell wanted = {.path = MS_AT(&columns->names, const char *, i)};
        visit_cells(columns, "", row, take_cell, &wanted);
        ms_buffer_puts(out, i == 0 ? "" : ",");
        add_cell(wanted.found, out);
    }
    ms_buffer_puts(out, "\n");
}

static void add_table(csv_columns *columns, const ms_value *const lists[2], ms_buffer *out) {
    for (int list = 0; list < 2; list++) {
        for (const ms_value *row = lists[list]->first; row != NULL; row = row->next) {
            visit_cells(columns, "", row, add_column, NULL);
        }
    }
    for (size_t i = 0; i < columns->names.count; i++) {
        ms_buffer_puts(out, i == 0 ? "" : ",");
        add_text(MS_AT(&columns->names, const char *, i), out);
    }
    ms_buffer_puts(out, "\n");
    for (int list = 0; list < 2; list++) {
        for (const ms_value *row = lists[list]->first; row != NULL; row = row->next) {
            add_row(columns, row, out);
        }
    }
}

bool ms_show_has_page(const ms_invocation *call) {
    return strcmp(ms_cli_value(call, "csv-table", ""), "-") != 0 &&
           strcmp(ms_cli_value(call, "gantt", ""), "-") != 0;
}

ms_status ms_show_csv_table(const ms_invocation *call, const ms_value *root) {
    const char *path = ms_cli_value(call, "csv-table", NULL);
    const ms_value *const lists[2] = {ms_value_get(root, "rows"), ms_value_get(root, "left_out")};
    if (path == NULL) {
        return MS_OK;
    }
    csv_columns columns = {.arena = call->arena};
    ms_buffer text;
    ms_vector_init(&columns.names, sizeof(const char *));
    ms_buffer_init(&text);
    bool has_lists = lists[0] != NULL && lists[1] != NULL;
    if (has_lists) {
        add_table(&columns, lists, &text);
    }
    ms_status status = MS_E_NOMEM;
    if (!has_lists || columns.failed || text.failed) {
        ms_diag_error(call->diag, "out of memory");
    } else {
        status = ms_cli_write_file(call, path, ms_buffer_text(&text), text.length);
    }
    ms_buffer_release(&text);
    ms_vector_release(&columns.names);
    return status;
}
