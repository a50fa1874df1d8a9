/**
 * @file
 * Stores: files that keep what simulations found, one row per simulated job.
 *
 * A row is found by its key, which says what was simulated and by which program, so that nothing is
 * simulated twice, however often a study is interrupted or asked for again, and no row is taken for
 * another. A store is an SQLite database with one table, `points`, whose columns are named as in
 * `--json`: any SQLite or Python reads it.
 */
#ifndef MESHSIM_STORE_H
#define MESHSIM_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/checksum.h"
#include "base/diag.h"
#include "base/status.h"
#include "job/spec.h"
#include "search/table.h"
#include "simulate/run/job.h"

/** Version of the layout written by this program; a reader refuses any other. 2: a digest of each
 * row's cells. */
#define MS_STORE_FORMAT_VERSION 2

/** What a row's status may be. */
#define MS_POINT_SIMULATED "simulated" /**< it has figures */
#define MS_POINT_REFUSED   "refused"   /**< no such job can be, as its reason says */
#define MS_POINT_FAILED    "failed" /**< the simulation crashed or lacked memory; never in a store */

/** What is known of one simulated job.  Strings are borrowed. */
typedef struct ms_store_row {
    char key[MS_SHA256_HEX]; /**< of ms_store_key; "" where there is none */
    const char *program;     /**< that simulated it; NULL: not known yet */
    const char *workload;    /**< its name */
    const char *platform;    /**< name of the cluster */
    int64_t gpus;            /**< ranks of the job */
    const char *settings;    /**< what makes it of the workload: a JSON object on one line */
    const char *status;      /**< MS_POINT_ */
    const char *reason;      /**< why there are no figures; NULL: there are */
    ms_run_figures figures;  /**< zero where there is a reason; in the file they are NULL then */
} ms_store_row;

/** Columns of a row, by which it is stored, printed and written as CSV and JSON; `settings` is not
 * among them. */
extern const ms_table_column MS_STORE_COLUMNS[];

/** The key of a job: a digest of its workload, its platform, the files that these name, and the
 * program.  spec: as it was read; its name, its description and the names of its files do not
 * count. program: version of the program that simulates it; what changes results changes this text.
 *  Returns MS_OK; MS_E_INPUT or MS_E_IO (reported) when a file that it names cannot be read;
 * MS_E_NOMEM.  O(size of the spec and its files). */
ms_status ms_store_key(const ms_job_spec *spec, const char *program, ms_diag *diag,
                       char key_out[MS_SHA256_HEX]);

/** How a store is opened. */
typedef struct ms_store_options {
    bool is_fresh; /**< rows that were there before are not found, and a row that is put replaces
                      them */
    bool is_read_only; /**< nothing is put, and nothing created */
} ms_store_options;

/** An open store. It is used by the process that opened it alone, not by its children. */
typedef struct ms_store ms_store;

/** Open a store, and create it where there is none. Whether it can be written to is found out here:
 * a read-only store is opened, too, and a search for a row that it lacks returns MS_E_IO. An
 * untrusted file does no harm: its schema must be what this version writes, its pages must be those
 * of an undamaged database, and SQLite runs no code in it.
 *  *store_out: in `arena`; given to ms_store_close.  Returns MS_OK; MS_E_INPUT when the file is no
 * store, is damaged, or has another format version; MS_E_IO when the system refuses to read or
 * write it or another process holds it; MS_E_NOMEM (all reported), the file is as it was. O(size of
 * the file). */
ms_status ms_store_open(const char *path, const ms_store_options *options, ms_arena *arena,
                        ms_diag *diag, ms_store **store_out);

/** Find a row by its key, and check each cell's type and range and the digest of all.
 *  row_out: its texts in `arena`; unchanged where there is none.  Returns MS_OK; MS_E_INPUT when
 * the row is damaged, with its number and column named; MS_E_IO when the file cannot be read, or is
 * read-only and has no such row; MS_E_NOMEM (all reported).  O(log rows). */
ms_status ms_store_find(ms_store *store, const char *key, ms_arena *arena, ms_store_row *row_out,
                        bool *is_found_out);

/** Put a row, which is on the disk when this returns. Of two with one key the first stays, except
 * in a fresh store.  row: with its key, program and settings.  Returns MS_OK; MS_E_IO when the
 * system refuses, such as for a full disk: the rows of before are as they were; MS_E_INPUT when the
 * file is damaged; MS_E_NOMEM (all reported). */
ms_status ms_store_put(ms_store *store, const ms_store_row *row);

/** Keep a row in memory until ms_store_settle puts it.  row: copied.  Returns MS_OK; MS_E_NOMEM
 * (reported). */
ms_status ms_store_hold(ms_store *store, const ms_store_row *row);

/** How long the rows that are held should wait for others [s], so that other processes get at the
 * file between two transactions, and on a slow disk most of the time does not go into them: until
 * as long has passed as the last one took, at most a second.  0: no longer, or none is held. store:
 * may be NULL.  O(1).
 */
double ms_store_wait_s(const ms_store *store);

/** Put the rows that are held, in one transaction: what takes long on a slow disk is done once for
 * all of them. They are on the disk when this returns.  Returns as ms_store_put; after a failure
 * none of them is put, and none is held.  Without any, or without a store, it does nothing. */
ms_status ms_store_settle(ms_store *store);

/** Put the rows that come now together, on the disk with ms_store_commit; all of them or, where the
 * store is closed or the process ends before, none.  Returns as ms_store_put. */
ms_status ms_store_begin(ms_store *store);

/** End what ms_store_begin has begun.  Returns as ms_store_put. */
ms_status ms_store_commit(ms_store *store);

/** Visit all rows in the order of their keys.  Returns MS_OK; the first status of `visit` that is
 * not, which ends it; else as ms_store_find.  O(rows). */
ms_status ms_store_each(ms_store *store, ms_arena *arena,
                        ms_status (*visit)(void *context, const ms_store_row *row), void *context);

/** Rows in the store.  Returns as ms_store_find.  O(rows). */
ms_status ms_store_count(ms_store *store, size_t *count_out);

/** Close a store; NULL does nothing. */
void ms_store_close(ms_store *store);

#endif
