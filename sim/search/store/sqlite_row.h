/* Rows of a store: read from and bound to statements of SQLite. */
#ifndef MESHSIM_STUDY_STORE_SQLITE_ROW_H
#define MESHSIM_STUDY_STORE_SQLITE_ROW_H

#include <sqlite3.h>

#include "search/store.h"

/** The columns before those of MS_STORE_COLUMNS. */
#define MS_STORE_OWN_COLUMNS "key, program, settings, digest"

/** A statement whose current row is read: MS_STORE_OWN_COLUMNS, MS_STORE_COLUMNS, and the rowid. */
typedef struct ms_sqlite_row {
    const char *path; /**< of the store, for messages */
    sqlite3_stmt *from;
    ms_arena *arena; /**< gets the texts */
    ms_diag *diag;
} ms_sqlite_row;

/** Whether a cell of the current row is a text. index: index of the column. wanted: the text; NULL
 * for SQL's NULL. */
bool ms_sqlite_is_text(sqlite3_stmt *from, int index, const char *wanted);

/** Read the current row, and check the type and range of each cell and the digest of all.
 *  *row_out: texts in the reader's arena; unchanged after a failure. Returns MS_OK; MS_E_INPUT with
 * the row and the column named; MS_E_NOMEM (both reported). O(bytes of the row). */
ms_status ms_sqlite_read_row(const ms_sqlite_row *reader, ms_store_row *row_out);

/** Bind all but the rowid of a row, with its digest, to the parameters of a statement.
 *  row: borrowed until the bindings are cleared.  Returns SQLite's code. */
int ms_sqlite_bind_row(sqlite3_stmt *to, const ms_store_row *row);

#endif
