/* Rows of a store as cells of an SQL statement: how a row is bound to a statement that inserts it,
 * and what is checked when a row is read back. `index` is the index of a column in the statement:
 * the columns of MS_STORE_OWN_COLUMNS, those of MS_STORE_COLUMNS, then the rowid. */
#include "search/store/sqlite_row.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"

/* The columns before those of MS_STORE_COLUMNS, in the order of MS_STORE_OWN_COLUMNS. */
enum { KEY_INDEX, PROGRAM_INDEX, SETTINGS_INDEX, DIGEST_INDEX, FIRST_INDEX };
/* Amount by which a figure may be below 0, since differences of rounded times may be. */
static const double ROUNDING = 1e-9;

bool ms_sqlite_is_text(sqlite3_stmt *from, int index, const char *wanted) {
    const unsigned char *text = sqlite3_column_text(from, index);
    return text == NULL ? wanted == NULL
                        : wanted != NULL && strcmp((const char *)text, wanted) == 0;
}

/* Append a cell to the text that a row's digest is taken of. text: NULL: the cell is NULL and is
 * left out. */
static void add_cell(ms_buffer *cells, const char *name, const char *text) {
    if (text != NULL) {
        ms_buffer_printf(cells, "%s %zu\n%s\n", name, strlen(text), text);
    }
}

/* The value of a row in a column as the database stores it: a refused job, which has a reason, has
 * NULL for its figures. */
static ms_value cell_of(const ms_table_column *column, const ms_store_row *row) {
    return row->reason != NULL && !column->is_of_left_out ? (ms_value){.type = MS_VALUE_NULL}
                                                          : ms_table_leaf(column, row);
}

/* Compute the digest of a row: SHA-256 over its cells that are not NULL, each as "NAME
 * LENGTH\nVALUE\n" in the order of the columns, LENGTH in bytes; numbers as "%.17g".  Returns
 * MS_OK; MS_E_NOMEM. */
static ms_status digest_row(const ms_store_row *row, char digest_out[MS_SHA256_HEX]) {
    ms_buffer cells;
    ms_buffer_init(&cells);
    add_cell(&cells, "key", row->key);
    add_cell(&cells, "program", row->program);
    add_cell(&cells, "settings", row->settings);
    for (const ms_table_column *c = MS_STORE_COLUMNS; c->name != NULL; c++) {
        const ms_value cell = cell_of(c, row);
        char number[32];
        const char *text = cell.type == MS_VALUE_STRING ? cell.as.string : number;
        if (cell.type == MS_VALUE_INT) {
            snprintf(number, sizeof number, "%lld", (long long)cell.as.integer);
        } else if (cell.type == MS_VALUE_BOOL) {
            snprintf(number, sizeof number, "%d", cell.as.boolean);
        } else if (cell.type == MS_VALUE_DOUBLE) { /* SQLite keeps -0 as 0 */
            snprintf(number, sizeof number, "%.17g", cell.as.number == 0 ? 0 : cell.as.number);
        }
        add_cell(&cells, c->name, cell.type == MS_VALUE_NULL ? NULL : text);
    }
    ms_status status = cells.failed ? MS_E_NOMEM : MS_OK;
    if (status == MS_OK) {
        ms_sha256_hex(ms_buffer_text(&cells), cells.length, digest_out);
    }
    ms_buffer_release(&cells);
    return status;
}

/* Whether a cell is a text without a NUL character inside, where C would cut the text. */
static bool is_whole_text(sqlite3_stmt *from, int index) {
    bool is_text = sqlite3_column_type(from, index) == SQLITE_TEXT;
    const unsigned char *text = is_text ? sqlite3_column_text(from, index) : NULL;
    return text != NULL && strlen((const char *)text) == (size_t)sqlite3_column_bytes(from, index);
}

/* Index, in the statement, of the column whose field of ms_store_row is at `offset` [B]. One of
 * MS_STORE_COLUMNS must have this field, since the search has no other end. */
static int index_of(size_t offset) {
    int index = FIRST_INDEX;
    while (MS_STORE_COLUMNS[index - FIRST_INDEX].offset != offset) {
        index++;
    }
    return index;
}

/* Check the type and the range of a cell. has_figures: the row is of a simulated job. Returns NULL
 * if the cell is right, else what was expected of the cell, for a message. */
static const char *cell_fault(sqlite3_stmt *from, int index, const ms_table_column *column,
                              bool has_figures) {
    int type = sqlite3_column_type(from, index);
    if (!has_figures && !column->is_of_left_out) {
        return type == SQLITE_NULL ? NULL : "NULL, for the row has a reason";
    }
    if (column->type == MS_COLUMN_TEXT) {
        bool is_right = (type == SQLITE_NULL && column->is_optional) || is_whole_text(from, index);
        return is_right ? NULL : "a text";
    }
    if (column->type == MS_COLUMN_NUMBER) {
        double value = sqlite3_column_double(from, index);
        bool is_step = column->offset == offsetof(ms_store_row, figures.step_time_s);
        bool is_right = (type == SQLITE_FLOAT && isfinite(value) && value >= -ROUNDING) ||
                        (type == SQLITE_NULL && !is_step);
        return is_right ? NULL : "a finite number of at least 0";
    }
    int64_t value = sqlite3_column_int64(from, index);
    bool is_bool = column->type == MS_COLUMN_BOOL;
    bool is_right = type == SQLITE_INTEGER && value >= 0 && (!is_bool || value <= 1);
    return is_right ? NULL : is_bool ? "0 or 1" : "a whole number of at least 0";
}

/* Report a cell that is not as expected, by the row's rowid and the column's name. Returns
 * MS_E_INPUT. */
static ms_status refuse_cell(const ms_sqlite_row *r, int index, const char *expected) {
    const unsigned char *text = sqlite3_column_text(r->from, index);
    return ms_diag_error(
        r->diag, "the store '%s' is damaged: expected %s as '%s' of row %lld, got '%.60s'", r->path,
        expected, sqlite3_column_name(r->from, index),
        (long long)sqlite3_column_int64(r->from, sqlite3_column_count(r->from) - 1),
        text == NULL ? (const unsigned char *)"NULL" : text);
}

/* Check all cells of a row: texts in its own columns, a status that goes with its reason, and each
 * other cell by its column. Returns MS_OK; MS_E_INPUT (reported). */
static ms_status check_cells(const ms_sqlite_row *r) {
    for (int index = 0; index < FIRST_INDEX; index++) {
        if (!is_whole_text(r->from, index)) {
            return refuse_cell(r, index, "a text");
        }
    }
    if (sqlite3_column_bytes(r->from, KEY_INDEX) >= MS_SHA256_HEX) {
        return refuse_cell(r, KEY_INDEX, "64 digits at most");
    }
    int status_index = index_of(offsetof(ms_store_row, status));
    int reason_index = index_of(offsetof(ms_store_row, reason));
    bool has_figures = sqlite3_column_type(r->from, reason_index) == SQLITE_NULL;
    const char *status = has_figures ? MS_POINT_SIMULATED : MS_POINT_REFUSED;
    if (!ms_sqlite_is_text(r->from, status_index, status)) {
        return refuse_cell(r, status_index, has_figures ? "'simulated'" : "'refused'");
    }
    int index = FIRST_INDEX;
    for (const ms_table_column *c = MS_STORE_COLUMNS; c->name != NULL; c++, index++) {
        const char *expected = cell_fault(r->from, index, c, has_figures);
        if (expected != NULL) {
            return refuse_cell(r, index, expected);
        }
    }
    return MS_OK;
}

/* Copy a cell's text to the arena; NULL for SQL's NULL. A lack of memory shows in the arena. */
static const char *copy_text(const ms_sqlite_row *r, int index) {
    const unsigned char *text = sqlite3_column_text(r->from, index);
    return text == NULL ? NULL : ms_arena_strdup(r->arena, (const char *)text);
}

/* Read a cell into the field of its column. A number that is NULL becomes NAN. */
static void read_cell(const ms_sqlite_row *r, int index, const ms_table_column *column,
                      ms_store_row *row) {
    void *field = (char *)row + column->offset;
    bool is_null = sqlite3_column_type(r->from, index) == SQLITE_NULL;
    if (column->type == MS_COLUMN_TEXT) {
        *(const char **)field = copy_text(r, index);
    } else if (is_null && column->type == MS_COLUMN_NUMBER) {
        *(double *)field = NAN;
    } else if (column->type == MS_COLUMN_INT) {
        *(int64_t *)field = sqlite3_column_int64(r->from, index);
    } else if (column->type == MS_COLUMN_NUMBER) {
        *(double *)field = sqlite3_column_double(r->from, index);
    } else {
        *(bool *)field = sqlite3_column_int(r->from, index) != 0;
    }
}

/* Check all cells first, so that each can be read by the type of its column. The digest of the row
 * that was read must then be equal to the stored digest. */
ms_status ms_sqlite_read_row(const ms_sqlite_row *r, ms_store_row *row_out) {
    ms_store_row row;
    char digest[MS_SHA256_HEX] = "";
    memset(&row, 0, sizeof row); /* the bytes between fields, too */
    ms_status status = check_cells(r);
    if (status != MS_OK) {
        return status;
    }
    const char *key = copy_text(r, KEY_INDEX);
    snprintf(row.key, sizeof row.key, "%s", key == NULL ? "" : key);
    row.program = copy_text(r, PROGRAM_INDEX);
    row.settings = copy_text(r, SETTINGS_INDEX);
    row.reason = copy_text(r, index_of(offsetof(ms_store_row, reason)));
    int index = FIRST_INDEX;
    for (const ms_table_column *c = MS_STORE_COLUMNS; c->name != NULL; c++, index++) {
        if (row.reason == NULL || c->is_of_left_out) { /* else it has no figures */
            read_cell(r, index, c, &row);
        }
    }
    const char *stored = copy_text(r, DIGEST_INDEX);
    if (r->arena->has_failed || stored == NULL || digest_row(&row, digest) != MS_OK) {
        return ms_diag_no_memory(r->diag);
    }
    if (strcmp(stored, digest) != 0) {
        return refuse_cell(r, DIGEST_INDEX, "the digest of its other cells");
    }
    *row_out = row;
    return MS_OK;
}

/* ---- writing ---- */

/* Bind a text to a parameter; NULL becomes SQL's NULL. SQLite numbers parameters from 1. */
static int bind_text(sqlite3_stmt *to, int index, const char *text) {
    return sqlite3_bind_text(to, index + 1, text, -1, SQLITE_STATIC);
}

/* Bind the value that a row has in a column to the statement's parameter of this column. index: of
 * the column, from 0; SQLite counts parameters from 1. Returns SQLite's code. */
static int bind_cell(sqlite3_stmt *to, int index, const ms_table_column *column,
                     const ms_store_row *row) {
    const ms_value cell = cell_of(column, row);
    switch (cell.type) {
    case MS_VALUE_STRING:
        return bind_text(to, index, cell.as.string);
    case MS_VALUE_INT:
        return sqlite3_bind_int64(to, index + 1, cell.as.integer);
    case MS_VALUE_DOUBLE:
        return sqlite3_bind_double(to, index + 1, cell.as.number);
    case MS_VALUE_BOOL:
        return sqlite3_bind_int(to, index + 1, cell.as.boolean);
    default:
        return sqlite3_bind_null(to, index + 1);
    }
}

/* Binds the store's own columns with the digest, then those of MS_STORE_COLUMNS, in the order of
 * the INSERT statement. */
int ms_sqlite_bind_row(sqlite3_stmt *to, const ms_store_row *row) {
    char digest[MS_SHA256_HEX];
    int code = digest_row(row, digest) == MS_OK ? SQLITE_OK : SQLITE_NOMEM;
    code = code == SQLITE_OK ? bind_text(to, KEY_INDEX, row->key) : code;
    code = code == SQLITE_OK ? bind_text(to, PROGRAM_INDEX, row->program) : code;
    code = code == SQLITE_OK ? bind_text(to, SETTINGS_INDEX, row->settings) : code;
    code = code == SQLITE_OK ? sqlite3_bind_text(to, DIGEST_INDEX + 1, digest, -1, SQLITE_TRANSIENT)
                             : code;
    int index = FIRST_INDEX;
    for (const ms_table_column *c = MS_STORE_COLUMNS; code == SQLITE_OK && c->name != NULL; c++) {
        code = bind_cell(to, index++, c, row);
    }
    return code;
}
