/* Stores in SQLite: the only file that knows its library.
 *
 * A rollback journal, not a write-ahead log: a log needs memory that all processes share, which no
 * network file system has, and leaves rows in a second file that a copy of the first one lacks. */
#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "meshsim/store.h"
#include "meshsim/target.h"
#include "meshsim/usage.h"

/* "mesh" as a number: what `file` and SQLite call the application of a database. */
enum { APPLICATION_ID = 0x6d657368 };
/* How long a process waits for others that write, which takes each of them some milliseconds. */
enum { BUSY_MS = 60000 };
/* How long rows that are held wait for others at most. */
static const double PAUSE_MAX_S = 1.0;
/* Columns that MS_STORE_COLUMNS has not: the key first, then the program and the settings. */
enum { KEY_PLACE, PROGRAM_PLACE, SETTINGS_PLACE, FIRST_PLACE };

struct ms_store {
    sqlite3 *base;
    sqlite3_stmt *find;
    sqlite3_stmt *put;
    const char *path;
    ms_store_options options;
    ms_diag *diag;
    ms_arena texts; /* of the rows that are held */
    ms_vector held; /* of ms_store_row */
    double next_s;  /* when they may be put, on the clock of ms_wall_s */
};

/* ---- faults ---- */

/* Tell why SQLite refused.  doing: such as "read". */
static ms_status fail(const ms_store *store, int code, const char *doing) {
    const char *path = store->path;
    int primary = code & 0xff;
    if (primary == SQLITE_NOMEM) {
        return ms_diag_no_memory(store->diag);
    }
    if (primary == SQLITE_NOTADB) {
        ms_diag_error(store->diag, "'%s' is no store of meshsim: it is no SQLite database", path);
        return MS_E_INPUT;
    }
    if (primary == SQLITE_CORRUPT) {
        ms_diag_error(store->diag, "the store '%s' is damaged", path);
        return MS_E_INPUT;
    }
    if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED) {
        ms_diag_error(store->diag, "cannot %s the store '%s': another process holds it", doing,
                      path);
        return MS_E_IO;
    }
    /* SQLite tries to read what it cannot write, and then knows no more than that there is no such
     * file */
    if (primary == SQLITE_CANTOPEN && !store->options.is_read_only &&
        ms_target_check(path, MS_TARGET_FILE, store->diag) != MS_OK) {
        return MS_E_IO;
    }
    int error = store->base == NULL ? 0 : sqlite3_system_errno(store->base);
    bool has_cause = error != 0 && (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN);
    ms_diag_error(store->diag, "cannot %s the store '%s': %s", doing, path,
                  has_cause ? strerror(error) : sqlite3_errstr(code));
    return MS_E_IO;
}

/* Run statements that answer nothing. */
static int run(const ms_store *store, const char *sql) {
    return sqlite3_exec(store->base, sql, NULL, NULL, NULL);
}

/* A statement that answers one number. */
static int ask_number(const ms_store *store, const char *sql, int64_t *number_out) {
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(store->base, sql, -1, &statement, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_step(statement);
        *number_out = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
        code = code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
    }
    sqlite3_finalize(statement);
    return code;
}

/* ---- statements, made of the columns ---- */

static const char *sql_type(const ms_table_column *column) {
    static const char *const TYPES[] = {[MS_COLUMN_TEXT] = "TEXT",
                                        [MS_COLUMN_INT] = "INTEGER",
                                        [MS_COLUMN_NUMBER] = "REAL",
                                        [MS_COLUMN_BOOL] = "INTEGER"};
    return TYPES[column->type];
}

static void add_names(ms_buffer *sql) {
    ms_buffer_puts(sql, "key, program, settings");
    for (const ms_table_column *column = MS_STORE_COLUMNS; column->name != NULL; column++) {
        ms_buffer_printf(sql, ", \"%s\"", column->name);
    }
}

static void add_find(ms_buffer *sql, const char *tail) {
    ms_buffer_puts(sql, "SELECT ");
    add_names(sql);
    ms_buffer_printf(sql, " FROM points %s", tail);
}

static void add_put(ms_buffer *sql, bool replaces) {
    ms_buffer_printf(sql, "INSERT OR %s INTO points (", replaces ? "REPLACE" : "IGNORE");
    add_names(sql);
    ms_buffer_puts(sql, ") VALUES (?, ?, ?");
    for (const ms_table_column *column = MS_STORE_COLUMNS; column->name != NULL; column++) {
        ms_buffer_puts(sql, ", ?");
    }
    ms_buffer_puts(sql, ")");
}

static int prepare(const ms_store *store, ms_buffer *sql, sqlite3_stmt **statement_out) {
    return sql->failed
               ? SQLITE_NOMEM
               : sqlite3_prepare_v2(store->base, ms_buffer_text(sql), -1, statement_out, NULL);
}

static ms_status prepare_both(ms_store *store) {
    ms_buffer find;
    ms_buffer put;
    ms_buffer_init(&find);
    ms_buffer_init(&put);
    add_find(&find, "WHERE key = ?");
    add_put(&put, store->options.is_fresh);
    int code = prepare(store, &find, &store->find);
    if (code == SQLITE_OK && !store->options.is_read_only) {
        code = prepare(store, &put, &store->put);
    }
    ms_buffer_release(&find);
    ms_buffer_release(&put);
    return code == SQLITE_OK ? MS_OK : fail(store, code, "read");
}

/* ---- the table ---- */

static int create_table(const ms_store *store) {
    ms_buffer sql;
    ms_buffer_init(&sql);
    ms_buffer_puts(&sql, "CREATE TABLE points (key TEXT PRIMARY KEY, program TEXT, settings TEXT");
    for (const ms_table_column *column = MS_STORE_COLUMNS; column->name != NULL; column++) {
        ms_buffer_printf(&sql, ", \"%s\" %s", column->name, sql_type(column));
    }
    ms_buffer_printf(&sql, "); PRAGMA application_id = %d; ", APPLICATION_ID);
    int code = sql.failed ? SQLITE_NOMEM : run(store, ms_buffer_text(&sql));
    ms_buffer_release(&sql);
    return code;
}

/* A store of a program that knew fewer figures gets their columns; its rows have none of them. */
static int add_column(const ms_store *store, const ms_table_column *column) {
    ms_buffer sql;
    int64_t count = 0;
    ms_buffer_init(&sql);
    ms_buffer_printf(&sql, "SELECT count(*) FROM pragma_table_info('points') WHERE name = '%s'",
                     column->name);
    int code = sql.failed ? SQLITE_NOMEM : ask_number(store, ms_buffer_text(&sql), &count);
    ms_buffer_release(&sql);
    if (code == SQLITE_OK && count == 0) {
        ms_buffer_printf(&sql, "ALTER TABLE points ADD COLUMN \"%s\" %s", column->name,
                         sql_type(column));
        code = sql.failed ? SQLITE_NOMEM : run(store, ms_buffer_text(&sql));
        ms_buffer_release(&sql);
    }
    return code;
}

/* Make the table, or see to it that it has all columns; and find out by writing whether one can. */
static int prepare_table(const ms_store *store, bool is_new) {
    char version[64];
    int code = is_new ? create_table(store) : SQLITE_OK;
    for (const ms_table_column *c = MS_STORE_COLUMNS; code == SQLITE_OK && c->name != NULL; c++) {
        code = is_new ? SQLITE_OK : add_column(store, c);
    }
    snprintf(version, sizeof version, "PRAGMA user_version = %d", MS_STORE_FORMAT_VERSION);
    return code == SQLITE_OK ? run(store, version) : code;
}

/* ---- opening ---- */

/* What a file is. */
typedef struct database_kind {
    int64_t application, version, objects;
} database_kind;

static ms_status identify(const ms_store *store, bool *is_new_out) {
    database_kind found = {0, 0, 0};
    int code = ask_number(store, "SELECT count(*) FROM sqlite_master", &found.objects);
    code =
        code == SQLITE_OK ? ask_number(store, "PRAGMA application_id", &found.application) : code;
    code = code == SQLITE_OK ? ask_number(store, "PRAGMA user_version", &found.version) : code;
    if (code != SQLITE_OK) {
        return fail(store, code, "read");
    }
    *is_new_out = found.objects == 0 && found.application == 0 && found.version == 0;
    if (!*is_new_out && found.application != APPLICATION_ID) {
        ms_diag_error(store->diag, "'%s' is no store of meshsim: it is another program's database",
                      store->path);
        return MS_E_INPUT;
    }
    if (found.version > MS_STORE_FORMAT_VERSION) {
        ms_diag_error(store->diag,
                      "the store '%s' was written by a later version of meshsim (format %lld; this "
                      "one reads up to %d)",
                      store->path, (long long)found.version, MS_STORE_FORMAT_VERSION);
        return MS_E_INPUT;
    }
    return MS_OK;
}

/* Take the lock, look at what is there, and make it a store. All or nothing: a process that is
 * killed in between leaves the file as it was. */
static ms_status begin(ms_store *store) {
    bool is_new = false;
    if (sqlite3_db_readonly(store->base, "main") == 1) {
        ms_diag_error(store->diag, "cannot write the store '%s': it may only be read", store->path);
        return MS_E_IO;
    }
    int code = run(store, "BEGIN IMMEDIATE");
    if (code != SQLITE_OK) {
        return fail(store, code, "write");
    }
    ms_status status = identify(store, &is_new);
    if (status == MS_OK) {
        code = prepare_table(store, is_new);
        code = code == SQLITE_OK ? run(store, "COMMIT") : code;
        status = code == SQLITE_OK ? MS_OK : fail(store, code, "write");
    }
    if (status != MS_OK && !sqlite3_get_autocommit(store->base)) {
        run(store, "ROLLBACK");
    }
    return status;
}

static ms_status look(ms_store *store) {
    bool is_new = false;
    ms_status status = identify(store, &is_new);
    if (status == MS_OK && is_new) {
        ms_diag_error(store->diag, "'%s' is no store of meshsim: it is empty", store->path);
        return MS_E_INPUT;
    }
    return status;
}

static ms_status set_up(ms_store *store) {
    sqlite3_extended_result_codes(store->base, 1);
    sqlite3_busy_timeout(store->base, BUSY_MS);
    int code = run(store, "PRAGMA synchronous = FULL");
    if (code != SQLITE_OK) {
        return fail(store, code, "open");
    }
    ms_status status = store->options.is_read_only ? look(store) : begin(store);
    return status == MS_OK ? prepare_both(store) : status;
}

ms_status ms_store_open(const char *path, const ms_store_options *options, ms_arena *arena,
                        ms_diag *diag, ms_store **store_out) {
    ms_store *store = MS_NEW(arena, ms_store, 1);
    const char *copy = ms_arena_strdup(arena, path);
    if (store == NULL || copy == NULL) {
        return ms_diag_no_memory(diag);
    }
    *store = (ms_store){.path = copy, .options = *options, .diag = diag};
    ms_arena_init(&store->texts);
    ms_vector_init(&store->held, sizeof(ms_store_row));
    int flags =
        options->is_read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    int code = sqlite3_open_v2(copy, &store->base, flags, NULL);
    ms_status status = code == SQLITE_OK ? set_up(store) : fail(store, code, "open");
    if (status != MS_OK) {
        ms_store_close(store);
        return status;
    }
    *store_out = store;
    return MS_OK;
}

void ms_store_close(ms_store *store) {
    if (store != NULL) {
        sqlite3_finalize(store->find);
        sqlite3_finalize(store->put);
        sqlite3_close(store->base);
        store->find = store->put = NULL;
        store->base = NULL;
        ms_vector_release(&store->held);
        ms_arena_release(&store->texts);
    }
}

/* ---- rows ---- */

/* A column's text in the arena, NULL for SQL's NULL; *failed: memory ran out. */
static const char *take_text(sqlite3_stmt *from, int place, ms_arena *arena, bool *failed) {
    const unsigned char *text = sqlite3_column_text(from, place);
    if (text == NULL) {
        *failed = *failed || sqlite3_column_type(from, place) != SQLITE_NULL;
        return NULL;
    }
    const char *copy = ms_arena_strdup(arena, (const char *)text);
    *failed = *failed || copy == NULL;
    return copy;
}

static void take_cell(sqlite3_stmt *from, int place, const ms_table_column *column,
                      ms_store_row *row) {
    char *field = (char *)row + column->offset;
    bool is_null = sqlite3_column_type(from, place) == SQLITE_NULL;
    if (column->type == MS_COLUMN_INT) {
        *(int64_t *)(void *)field = sqlite3_column_int64(from, place);
    } else if (column->type == MS_COLUMN_NUMBER) {
        *(double *)(void *)field = is_null ? NAN : sqlite3_column_double(from, place);
    } else if (column->type == MS_COLUMN_BOOL) {
        *(bool *)(void *)field = sqlite3_column_int(from, place) != 0;
    }
}

/* false: memory ran out */
static bool take_row(sqlite3_stmt *from, ms_arena *arena, ms_store_row *row) {
    bool failed = false;
    memset(row, 0, sizeof *row);
    const char *key = take_text(from, KEY_PLACE, arena, &failed);
    snprintf(row->key, sizeof row->key, "%s", key == NULL ? "" : key);
    row->program = take_text(from, PROGRAM_PLACE, arena, &failed);
    row->settings = take_text(from, SETTINGS_PLACE, arena, &failed);
    int place = FIRST_PLACE;
    for (const ms_table_column *column = MS_STORE_COLUMNS; column->name != NULL; column++) {
        if (column->type == MS_COLUMN_TEXT) {
            const char *text = take_text(from, place, arena, &failed);
            *(const char **)(void *)((char *)row + column->offset) = text;
        } else if (row->reason == NULL || column->is_of_left_out) { /* else it has no figures */
            take_cell(from, place, column, row);
        }
        place++;
    }
    return !failed;
}

static int bind_text(sqlite3_stmt *to, int place, const char *text) {
    return sqlite3_bind_text(to, place + 1, text, -1, SQLITE_STATIC); /* NULL is SQL's NULL */
}

static int bind_cell(sqlite3_stmt *to, int place, const ms_table_column *column,
                     const ms_store_row *row) {
    if (row->reason != NULL && !column->is_of_left_out) {
        return sqlite3_bind_null(to, place + 1); /* a job that cannot be has no figures */
    }
    const char *field = (const char *)row + column->offset;
    switch (column->type) {
    case MS_COLUMN_TEXT:
        return bind_text(to, place, *(const char *const *)(const void *)field);
    case MS_COLUMN_INT:
        return sqlite3_bind_int64(to, place + 1, *(const int64_t *)(const void *)field);
    case MS_COLUMN_NUMBER: /* NAN becomes SQL's NULL */
        return sqlite3_bind_double(to, place + 1, *(const double *)(const void *)field);
    case MS_COLUMN_BOOL:
        return sqlite3_bind_int(to, place + 1, *(const bool *)(const void *)field);
    }
    return SQLITE_MISUSE;
}

ms_status ms_store_find(ms_store *store, const char *key, ms_arena *arena, ms_store_row *row_out,
                        bool *is_found_out) {
    *is_found_out = false;
    if (store->options.is_fresh) {
        return MS_OK;
    }
    int code = bind_text(store->find, KEY_PLACE, key);
    code = code == SQLITE_OK ? sqlite3_step(store->find) : code;
    bool has_room = true;
    if (code == SQLITE_ROW) {
        *is_found_out = true;
        has_room = take_row(store->find, arena, row_out);
    }
    sqlite3_reset(store->find);
    if (!has_room) {
        return ms_diag_no_memory(store->diag);
    }
    return code == SQLITE_ROW || code == SQLITE_DONE ? MS_OK : fail(store, code, "read");
}

ms_status ms_store_put(ms_store *store, const ms_store_row *row) {
    int code = bind_text(store->put, KEY_PLACE, row->key);
    code = code == SQLITE_OK ? bind_text(store->put, PROGRAM_PLACE, row->program) : code;
    code = code == SQLITE_OK ? bind_text(store->put, SETTINGS_PLACE, row->settings) : code;
    int place = FIRST_PLACE;
    for (const ms_table_column *c = MS_STORE_COLUMNS; code == SQLITE_OK && c->name != NULL; c++) {
        code = bind_cell(store->put, place++, c, row);
    }
    code = code == SQLITE_OK ? sqlite3_step(store->put) : code;
    ms_status status = code == SQLITE_DONE ? MS_OK : fail(store, code, "write");
    sqlite3_reset(store->put);
    sqlite3_clear_bindings(store->put);
    return status;
}

ms_status ms_store_begin(ms_store *store) {
    int code = run(store, "BEGIN IMMEDIATE");
    return code == SQLITE_OK ? MS_OK : fail(store, code, "write");
}

ms_status ms_store_commit(ms_store *store) {
    int code = run(store, "COMMIT");
    return code == SQLITE_OK ? MS_OK : fail(store, code, "write");
}

/* A text of a row for as long as it is held; *failed: memory ran out. */
static const char *keep_text(ms_store *store, const char *text, bool *failed) {
    const char *copy = text == NULL ? NULL : ms_arena_strdup(&store->texts, text);
    *failed = *failed || (text != NULL && copy == NULL);
    return copy;
}

ms_status ms_store_hold(ms_store *store, const ms_store_row *row) {
    ms_store_row copy = *row;
    bool failed = false;
    copy.program = keep_text(store, row->program, &failed);
    copy.settings = keep_text(store, row->settings, &failed);
    for (const ms_table_column *c = MS_STORE_COLUMNS; c->name != NULL; c++) {
        const char **text = (const char **)(void *)((char *)&copy + c->offset);
        if (c->type == MS_COLUMN_TEXT) {
            *text = keep_text(store, *text, &failed);
        }
    }
    failed = failed || ms_vector_add(&store->held, &copy, 1) == NULL;
    return failed ? ms_diag_no_memory(store->diag) : MS_OK;
}

double ms_store_wait_s(const ms_store *store) {
    return store->held.count == 0 ? 0 : fmax(0, store->next_s - ms_wall_s());
}

ms_status ms_store_settle(ms_store *store) {
    if (store->held.count == 0) {
        return MS_OK;
    }
    double start_s = ms_wall_s();
    ms_status status = ms_store_begin(store);
    for (size_t i = 0; i < store->held.count && status == MS_OK; i++) {
        status = ms_store_put(store, &MS_AT(&store->held, ms_store_row, i));
    }
    status = status == MS_OK ? ms_store_commit(store) : status;
    if (status != MS_OK && !sqlite3_get_autocommit(store->base)) {
        run(store, "ROLLBACK");
    }
    store->held.count = 0;
    ms_arena_clear(&store->texts);
    double end_s = ms_wall_s();
    store->next_s = end_s + fmin(PAUSE_MAX_S, end_s - start_s);
    return status;
}

ms_status ms_store_each(ms_store *store, ms_arena *arena,
                        ms_status (*visit)(void *context, const ms_store_row *row), void *context) {
    sqlite3_stmt *all = NULL;
    ms_buffer sql;
    ms_buffer_init(&sql);
    add_find(&sql, "ORDER BY key");
    int code = prepare(store, &sql, &all);
    ms_buffer_release(&sql);
    ms_status status = code == SQLITE_OK ? MS_OK : fail(store, code, "read");
    for (bool is_over = false; status == MS_OK && !is_over;) {
        code = sqlite3_step(all);
        is_over = code == SQLITE_DONE;
        if (code == SQLITE_ROW) {
            ms_store_row row;
            status =
                take_row(all, arena, &row) ? visit(context, &row) : ms_diag_no_memory(store->diag);
        } else if (!is_over) {
            status = fail(store, code, "read");
        }
    }
    sqlite3_finalize(all);
    return status;
}

ms_status ms_store_count(ms_store *store, size_t *count_out) {
    int64_t count = 0;
    int code = ask_number(store, "SELECT count(*) FROM points", &count);
    *count_out = (size_t)count;
    return code == SQLITE_OK ? MS_OK : fail(store, code, "read");
}
