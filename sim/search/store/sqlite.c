/* Stores in SQLite (store.h): opens a store, checks that an untrusted file is one, finds and puts
 * rows. Only sqlite_row.c, which converts rows, uses SQLite's library too. `code` is a result code
 * of SQLite; SQLITE_ROW: a row was returned, SQLITE_DONE: no more rows.
 *
 * Stores use a rollback journal. A write-ahead log needs memory that all processes share, which
 * network file systems lack, and keeps rows in a second file, which a copy of the first alone would
 * miss. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/target.h"
#include "base/usage.h"
#include "search/store.h"
#include "search/store/journal.h"
#include "search/store/sqlite_row.h"

/* "mesh" as a number: the application id in the header of every store. */
enum { APPLICATION_ID = 0x6d657368 };
/* Longest wait [ms] for other processes that write; each write takes some milliseconds. */
enum { BUSY_MS = 60000 };
/* Maximum size of a cell that is read: that of an input file. */
enum { CELL_MAX_B = 16 * 1024 * 1024 };
/* Maximum steps of SQLite's virtual machine per statement until the schema is checked. */
enum { SCHEMA_STEPS_MAX = 100 * 1000 };
/* Maximum time for which rows that are held wait for more rows. */
static const double PAUSE_MAX_S = 1.0;

struct ms_store {
    sqlite3 *base;      /* NULL: closed */
    sqlite3_stmt *find; /* selects a row by its key */
    sqlite3_stmt *put;  /* inserts a row; NULL: opened for reading */
    const char *path;
    ms_store_options options;
    bool is_frozen; /* it was opened for writing but is read-only */
    ms_diag *diag;
    ms_arena texts; /* of the rows that are held */
    ms_vector held; /* of ms_store_row */
    double next_s;  /* when the held rows may be put, on the clock of ms_wall_s */
};

/* ---- faults ---- */

/* The errno behind SQLite's error; 0: none. After a failed read SQLite may report a damaged file,
 * and only its file object has the errno. */
static int system_error(const ms_store *store) {
    int error = store->base == NULL ? 0 : sqlite3_system_errno(store->base);
    if (store->base != NULL && error == 0) {
        sqlite3_file_control(store->base, "main", SQLITE_FCNTL_LAST_ERRNO, &error);
    }
    return error;
}

/* Report why SQLite failed. code: of SQLite. doing: such as "read". Returns MS_E_INPUT if the file
 * is no store or is damaged; MS_E_IO if the system refused or another process holds the file;
 * MS_E_NOMEM. */
static ms_status report_failure(const ms_store *store, int code, const char *doing) {
    const char *path = store->path;
    int primary = code & 0xff;
    if (primary == SQLITE_NOMEM) {
        return ms_diag_no_memory(store->diag);
    }
    if (primary == SQLITE_NOTADB) {
        return ms_diag_error(store->diag, "'%s' is no store of meshsim: it is no SQLite database",
                             path);
    }
    int error = system_error(store);
    /* statements are meshsim's own, so an error in one comes from the contents of the file */
    if ((primary == SQLITE_CORRUPT && error == 0) || primary == SQLITE_ERROR ||
        primary == SQLITE_TOOBIG || primary == SQLITE_INTERRUPT) {
        return ms_diag_error(store->diag, "the store '%s' is damaged", path);
    }
    /* if SQLite cannot open a file for writing, it tries to read it, and then only knows that it
     * could not: ms_target_check reports the cause */
    if (primary == SQLITE_CANTOPEN && !store->options.is_read_only &&
        ms_target_check(path, MS_TARGET_FILE, store->diag) != MS_OK) {
        return MS_E_IO;
    }
    bool is_held = primary == SQLITE_BUSY || primary == SQLITE_LOCKED;
    bool has_cause = error != 0 && (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN ||
                                    primary == SQLITE_CORRUPT);
    ms_diag_error(store->diag, "cannot %s the store '%s': %s", doing, path,
                  is_held     ? "another process holds it"
                  : has_cause ? strerror(error)
                              : sqlite3_errstr(code));
    return MS_E_IO;
}

/* Report that a store is read-only. more: appended to the message. Returns MS_E_IO. */
static ms_status report_frozen(const ms_store *store, const char *more) {
    ms_diag_error(store->diag, "cannot write the store '%s': it may only be read%s", store->path,
                  more);
    return MS_E_IO;
}

/* Run statements that return no rows. Returns SQLite's code. */
static int run(const ms_store *store, const char *sql) {
    return sqlite3_exec(store->base, sql, NULL, NULL, NULL);
}

/* Run a statement that returns one number, 0 without a row. Returns SQLite's code. */
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

/* ---- statements, made from the list of columns ---- */

static void add_names(ms_buffer *sql) {
    ms_buffer_puts(sql, MS_STORE_OWN_COLUMNS);
    for (const ms_table_column *column = MS_STORE_COLUMNS; column->name != NULL; column++) {
        ms_buffer_printf(sql, ", \"%s\"", column->name);
    }
}

/* Append a SELECT of all columns and the rowid. tail: what follows the table's name. */
static void add_find(ms_buffer *sql, const char *tail) {
    ms_buffer_puts(sql, "SELECT ");
    add_names(sql);
    ms_buffer_printf(sql, ", rowid FROM points %s", tail);
}

/* Append an INSERT of all columns. replaces: a row of the same key is replaced, else it stays. */
static void add_put(ms_buffer *sql, bool replaces) {
    ms_buffer_printf(sql, "INSERT OR %s INTO points (", replaces ? "REPLACE" : "IGNORE");
    add_names(sql);
    ms_buffer_puts(sql, ") VALUES (?, ?, ?, ?");
    for (const ms_table_column *column = MS_STORE_COLUMNS; column->name != NULL; column++) {
        ms_buffer_puts(sql, ", ?");
    }
    ms_buffer_puts(sql, ")");
}

/* Compile a statement, and release its text. Returns SQLite's code. */
static int prepare(const ms_store *store, ms_buffer *sql, sqlite3_stmt **statement_out) {
    int code = sql->failed
                   ? SQLITE_NOMEM
                   : sqlite3_prepare_v2(store->base, ms_buffer_text(sql), -1, statement_out, NULL);
    ms_buffer_release(sql);
    return code;
}

/* Compile the statements that find and put a row. Returns MS_OK; as report_failure. */
static ms_status prepare_both(ms_store *store) {
    ms_buffer sql;
    ms_buffer_init(&sql);
    add_find(&sql, "WHERE key = ?");
    int code = prepare(store, &sql, &store->find);
    if (code == SQLITE_OK && !store->options.is_read_only) {
        add_put(&sql, store->options.is_fresh);
        code = prepare(store, &sql, &store->put);
    }
    return code == SQLITE_OK ? MS_OK : report_failure(store, code, "read");
}

/* ---- the table ---- */

/* Append CREATE TABLE as each store has it, word for word (check_schema). */
static void add_table(ms_buffer *sql) {
    static const char *const TYPES[] = {[MS_COLUMN_TEXT] = "TEXT",
                                        [MS_COLUMN_INT] = "INTEGER",
                                        [MS_COLUMN_NUMBER] = "REAL",
                                        [MS_COLUMN_BOOL] = "INTEGER"};
    ms_buffer_puts(
        sql, "CREATE TABLE points (key TEXT PRIMARY KEY, program TEXT, settings TEXT, digest TEXT");
    for (const ms_table_column *column = MS_STORE_COLUMNS; column->name != NULL; column++) {
        ms_buffer_printf(sql, ", \"%s\" %s", column->name, TYPES[column->type]);
    }
    ms_buffer_puts(sql, ")");
}

/* If the file is new, create the table and mark the file as a store. Write the format's version
 * into any file, new or not: whether SQLite can do that shows whether the file can be written.
 * Returns SQLite's code. */
static int prepare_table(const ms_store *store, bool is_new) {
    ms_buffer sql;
    ms_buffer_init(&sql);
    if (is_new) {
        add_table(&sql);
        ms_buffer_printf(&sql, "; PRAGMA application_id = %d; ", APPLICATION_ID);
    }
    ms_buffer_printf(&sql, "PRAGMA user_version = %d", MS_STORE_FORMAT_VERSION);
    int code = sql.failed ? SQLITE_NOMEM : run(store, ms_buffer_text(&sql));
    ms_buffer_release(&sql);
    return code;
}

/* ---- checking that a file is a store ---- */

/* Whether a row of sqlite_master (type, name, sql) is the table of table_sql or its index. */
static bool is_own_object(sqlite3_stmt *object, const char *table_sql) {
    bool is_table = ms_sqlite_is_text(object, 0, "table") &&
                    ms_sqlite_is_text(object, 1, "points") &&
                    ms_sqlite_is_text(object, 2, table_sql);
    bool is_index = ms_sqlite_is_text(object, 0, "index") &&
                    ms_sqlite_is_text(object, 1, "sqlite_autoindex_points_1") &&
                    ms_sqlite_is_text(object, 2, NULL);
    return is_table || is_index;
}

/* Check that the schema is word for word what this version writes. Such a schema has no view,
 * trigger, generated column or index expression, which could run code. */
static ms_status check_schema(const ms_store *store) {
    ms_buffer sql;
    sqlite3_stmt *objects = NULL;
    ms_buffer_init(&sql);
    add_table(&sql);
    int code = sql.failed
                   ? SQLITE_NOMEM
                   : sqlite3_prepare_v2(store->base, "SELECT type, name, sql FROM sqlite_master",
                                        -1, &objects, NULL);
    ms_status status = MS_OK;
    int count = 0;
    while (code == SQLITE_OK && status == MS_OK) {
        code = sqlite3_step(objects);
        if (code == SQLITE_ROW && is_own_object(objects, ms_buffer_text(&sql))) {
            code = SQLITE_OK;
            count++;
        } else if (code == SQLITE_ROW) {
            const unsigned char *type = sqlite3_column_text(objects, 0);
            const unsigned char *name = sqlite3_column_text(objects, 1);
            status = ms_diag_error(
                store->diag, "the store '%s' has a %.20s '%.60s' that is not as meshsim makes it",
                store->path, type == NULL ? (const unsigned char *)"thing" : type,
                name == NULL ? (const unsigned char *)"" : name);
        }
    }
    enum { OBJECTS = 2 }; /* the table and its index */
    if (code == SQLITE_DONE && count != OBJECTS) {
        code = SQLITE_CORRUPT;
    }
    sqlite3_finalize(objects);
    ms_buffer_release(&sql);
    return code == SQLITE_DONE || status != MS_OK ? status : report_failure(store, code, "read");
}

/* Check the pages of the file: each is used once, and no row is missing in the table or its index.
 * O(size of the file). */
static ms_status check_pages(const ms_store *store) {
    sqlite3_stmt *check = NULL;
    ms_status status = MS_OK;
    int code = sqlite3_prepare_v2(store->base, "PRAGMA integrity_check(1)", -1, &check, NULL);
    code = code == SQLITE_OK ? sqlite3_step(check) : code;
    if (code == SQLITE_ROW && system_error(store) != 0) {
        code = SQLITE_CORRUPT; /* SQLite reports a page that it could not read as a damaged one */
    } else if (code == SQLITE_ROW && !ms_sqlite_is_text(check, 0, "ok")) {
        const unsigned char *fault = sqlite3_column_text(check, 0);
        status = ms_diag_error(store->diag, "the store '%s' is damaged: %.200s", store->path,
                               fault == NULL ? (const unsigned char *)"" : fault);
    }
    sqlite3_finalize(check);
    return code == SQLITE_ROW ? status : report_failure(store, code, "read");
}

/* Check the two numbers in a database's header: the id of the application that wrote it, and the
 * version of the format. Returns MS_OK; MS_E_INPUT (reported). */
static ms_status check_kind(const ms_store *store, int64_t application, int64_t version) {
    if (application != APPLICATION_ID) {
        return ms_diag_error(store->diag,
                             "'%s' is no store of meshsim: it is another program's database",
                             store->path);
    }
    if (version != MS_STORE_FORMAT_VERSION) {
        bool is_later = version > MS_STORE_FORMAT_VERSION;
        return ms_diag_error(
            store->diag,
            "the store '%s' was written by %s version of meshsim (format %lld; this one "
            "reads format %d, and would simulate its points again): name another file",
            store->path, is_later ? "a later" : "an earlier", (long long)version,
            MS_STORE_FORMAT_VERSION);
    }
    return MS_OK;
}

/* Check that the open file is a store, or empty. *is_new_out: the file is empty, as SQLite has just
 * created it. Lifts the limit on SQLite's steps that set_up has set, once the schema is known to be
 * sound. Returns MS_OK; MS_E_INPUT for any other file; as report_failure. */
static ms_status identify(const ms_store *store, bool *is_new_out) {
    int64_t application = 0, version = 0, objects = 0;
    int code = ask_number(store, "SELECT count(*) FROM sqlite_master", &objects);
    code = code == SQLITE_OK ? ask_number(store, "PRAGMA application_id", &application) : code;
    code = code == SQLITE_OK ? ask_number(store, "PRAGMA user_version", &version) : code;
    if (code != SQLITE_OK) {
        return report_failure(store, code, "read");
    }
    *is_new_out = objects == 0 && application == 0 && version == 0;
    if (*is_new_out) {
        return MS_OK;
    }
    ms_status status = check_kind(store, application, version);
    status = status == MS_OK ? check_schema(store) : status;
    sqlite3_progress_handler(store->base, 0, NULL, NULL); /* no limit for check_pages */
    return status == MS_OK ? check_pages(store) : status;
}

/* ---- opening ---- */

/* Whether SQLite failed because the file or the folder of its journal is read-only. */
static bool is_forbidden(const ms_store *store, int code) {
    int error = system_error(store);
    return (code & 0xff) == SQLITE_READONLY ||
           ((code & 0xff) == SQLITE_CANTOPEN &&
            (error == EROFS || error == EACCES || error == EPERM));
}

/* Lock the file, identify it, and make it a store if it is new, in one transaction: a process that
 * is killed in between leaves the file as it was. *is_frozen_out: the file is read-only, and set_up
 * opens it for reading. */
static ms_status open_for_writing(ms_store *store, bool *is_frozen_out) {
    bool is_new = false;
    *is_frozen_out = sqlite3_db_readonly(store->base, "main") == 1;
    if (*is_frozen_out) {
        return MS_OK;
    }
    int code = run(store, "BEGIN IMMEDIATE");
    if (code != SQLITE_OK) {
        return report_failure(store, code, "write");
    }
    ms_status status = identify(store, &is_new);
    if (status == MS_OK) {
        code = prepare_table(store, is_new);
        code = code == SQLITE_OK ? run(store, "COMMIT") : code;
        *is_frozen_out = !is_new && is_forbidden(store, code);
        status = code == SQLITE_OK || *is_frozen_out ? MS_OK : report_failure(store, code, "write");
    }
    if (!sqlite3_get_autocommit(store->base)) {
        run(store, "ROLLBACK");
    }
    return status;
}

/* Identify a file that is only read; an empty one is no store. Returns as identify. */
static ms_status open_for_reading(ms_store *store) {
    bool is_new = false;
    ms_status status = identify(store, &is_new);
    if (status == MS_OK && is_new) {
        return ms_diag_error(store->diag, "'%s' is no store of meshsim: it is empty", store->path);
    }
    return status;
}

/* Make SQLite treat the file as untrusted: no code in its schema runs, and a cell has a maximum
 * size. Returns SQLite's code. Source: sqlite.org/security.html, "Untrusted SQLite Database
 * Files". */
static int distrust(sqlite3 *base) {
    static const struct {
        int option, is_on;
    } SETTINGS[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},
                    {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                    {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                    {SQLITE_DBCONFIG_ENABLE_VIEW, 0}};
    int code = SQLITE_OK;
    for (size_t i = 0; i < sizeof SETTINGS / sizeof SETTINGS[0] && code == SQLITE_OK; i++) {
        code = sqlite3_db_config(base, SETTINGS[i].option, SETTINGS[i].is_on, NULL);
    }
    sqlite3_limit(base, SQLITE_LIMIT_LENGTH, CELL_MAX_B);
    return code == SQLITE_OK ? sqlite3_exec(base, "PRAGMA cell_size_check = ON", NULL, NULL, NULL)
                             : code;
}

/* SQLite's progress handler: ends a statement after SCHEMA_STEPS_MAX steps. */
static int stop_statement(void *unused) {
    (void)unused;
    return 1;
}

/* Set up an open database: make it distrust the file, identify the file, and compile the
 * statements. A store that is read-only is opened too, unless it shall be fresh, which would have
 * to replace rows. */
static ms_status set_up(ms_store *store) {
    sqlite3_extended_result_codes(store->base, 1);
    sqlite3_busy_timeout(store->base, BUSY_MS);
    /* checking the schema takes a few hundred steps; identify lifts the limit afterwards */
    sqlite3_progress_handler(store->base, SCHEMA_STEPS_MAX, stop_statement, NULL);
    int code = distrust(store->base);
    code = code == SQLITE_OK ? run(store, "PRAGMA synchronous = FULL") : code;
    if (code != SQLITE_OK) {
        return report_failure(store, code, "open");
    }
    bool is_to_write = !store->options.is_read_only;
    ms_status status = is_to_write ? open_for_writing(store, &store->is_frozen) : MS_OK;
    if (status == MS_OK && store->is_frozen && store->options.is_fresh) {
        return report_frozen(store, "");
    }
    if (status == MS_OK && (!is_to_write || store->is_frozen)) {
        status = open_for_reading(store);
    }
    sqlite3_progress_handler(store->base, 0, NULL, NULL);
    return status == MS_OK ? prepare_both(store) : status;
}

/* A journal beside the file is checked before SQLite opens the file, because SQLite would apply
 * it. */
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
    ms_status status = ms_store_check_journal(copy, arena, diag);
    if (status == MS_OK) {
        int code = sqlite3_open_v2(copy, &store->base, flags, NULL);
        status = code == SQLITE_OK ? set_up(store) : report_failure(store, code, "open");
    }
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

/* Read and check the row that a statement is at. *row_out: texts in `arena`. Returns as
 * ms_sqlite_read_row. */
static ms_status read_row(const ms_store *store, sqlite3_stmt *found, ms_arena *arena,
                          ms_store_row *row_out) {
    const ms_sqlite_row reader = {store->path, found, arena, store->diag};
    return ms_sqlite_read_row(&reader, row_out);
}

/* Look for a key with store->find, which the caller resets. A store that may only be read has to
 * have it. Returns MS_OK; MS_E_IO (reported); as report_failure. */
static ms_status find_row(const ms_store *store, const char *key, bool *is_found_out) {
    int code = sqlite3_bind_text(store->find, 1, key, -1, SQLITE_STATIC);
    code = code == SQLITE_OK ? sqlite3_step(store->find) : code;
    *is_found_out = code == SQLITE_ROW;
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
        return report_failure(store, code, "read");
    }
    return *is_found_out || !store->is_frozen
               ? MS_OK
               : report_frozen(store, ", and lacks a point of the study");
}

/* With the option is_fresh no stored row is used. In a store that turned out to be read-only
 * (is_frozen), a missing row is a failure, because the point cannot be added. */
ms_status ms_store_find(ms_store *store, const char *key, ms_arena *arena, ms_store_row *row_out,
                        bool *is_found_out) {
    *is_found_out = false;
    if (store->options.is_fresh) {
        return MS_OK;
    }
    ms_status status = find_row(store, key, is_found_out);
    if (*is_found_out) {
        status = read_row(store, store->find, arena, row_out);
        *is_found_out = status == MS_OK;
    }
    sqlite3_reset(store->find);
    return status;
}

/* A read-only store takes the rows that it has already. */
ms_status ms_store_put(ms_store *store, const ms_store_row *row) {
    if (store->is_frozen) {
        bool is_found = false;
        ms_status found = find_row(store, row->key, &is_found);
        sqlite3_reset(store->find);
        return found;
    }
    int code = ms_sqlite_bind_row(store->put, row);
    code = code == SQLITE_OK ? sqlite3_step(store->put) : code;
    ms_status status = code == SQLITE_DONE ? MS_OK : report_failure(store, code, "write");
    sqlite3_reset(store->put);
    sqlite3_clear_bindings(store->put);
    return status;
}

ms_status ms_store_begin(ms_store *store) {
    int code = run(store, store->is_frozen ? "BEGIN" : "BEGIN IMMEDIATE");
    return code == SQLITE_OK ? MS_OK : report_failure(store, code, "write");
}

ms_status ms_store_commit(ms_store *store) {
    int code = run(store, "COMMIT");
    return code == SQLITE_OK ? MS_OK : report_failure(store, code, "write");
}

/* Copy a text of a held row. text: NULL stays NULL. *failed: set if memory ran out. */
static const char *keep_text(ms_store *store, const char *text, bool *failed) {
    const char *copy = text == NULL ? NULL : ms_arena_strdup(&store->texts, text);
    *failed = *failed || (text != NULL && copy == NULL);
    return copy;
}

ms_status ms_store_queue(ms_store *store, const ms_store_row *row) {
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

double ms_store_flush_delay_s(const ms_store *store) {
    return store == NULL || store->held.count == 0 ? 0 : fmax(0, store->next_s - ms_wall_s());
}

bool ms_store_is_due(const ms_store *store, double *wait_s_out) {
    if (wait_s_out != NULL) {
        *wait_s_out = ms_store_flush_delay_s(store);
    }
    return wait_s_out == NULL || *wait_s_out <= 0;
}

/* All rows are written in one transaction, or none of them. The next flush waits for about as long
 * as this one took, so that at most half of the time is spent on writing. */
ms_status ms_store_flush(ms_store *store) {
    if (store == NULL || store->held.count == 0) {
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

/* The rows come in the order of their keys. */
ms_status ms_store_each(ms_store *store, ms_arena *arena,
                        ms_status (*visit)(void *context, const ms_store_row *row), void *context) {
    sqlite3_stmt *all = NULL;
    ms_buffer sql;
    ms_buffer_init(&sql);
    add_find(&sql, "ORDER BY key");
    int code = prepare(store, &sql, &all);
    ms_status status = code == SQLITE_OK ? MS_OK : report_failure(store, code, "read");
    for (bool is_over = false; status == MS_OK && !is_over;) {
        code = sqlite3_step(all);
        is_over = code == SQLITE_DONE;
        if (code == SQLITE_ROW) {
            ms_store_row row;
            status = read_row(store, all, arena, &row);
            status = status == MS_OK ? visit(context, &row) : status;
        } else if (!is_over) {
            status = report_failure(store, code, "read");
        }
    }
    sqlite3_finalize(all);
    return status;
}

ms_status ms_store_count(ms_store *store, size_t *count_out) {
    int64_t count = 0;
    int code = ask_number(store, "SELECT count(*) FROM points", &count);
    *count_out = (size_t)count;
    return code == SQLITE_OK ? MS_OK : report_failure(store, code, "read");
}
