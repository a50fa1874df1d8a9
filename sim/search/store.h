/**
 * @file
 * Stores: files that keep the results of simulations, one row per simulated job.
 *
 * A row is found by its key, a digest of the job and of the program that simulated it. So no job is
 * simulated twice, however often a study is interrupted or repeated, and no row is mistaken for
 * that of another job. A store is an SQLite database with one table, `points`. Its columns have the
 * names of the keys of `--json`, so SQLite or Python can read it without meshsim.
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

/** Version of the layout that this program writes; a store of any other version is refused. Version
 * 2 added a digest of each row's cells. */
#define MS_STORE_FORMAT_VERSION 2

/** The status of a row. */
#define MS_POINT_SIMULATED "simulated" /**< it has figures */
#define MS_POINT_REFUSED   "refused"   /**< no such job is possible; it has a reason */
#define MS_POINT_FAILED    "failed" /**< the simulation crashed or lacked memory; never in a store */

/** A row: one simulated or refused job.  Strings are borrowed. */
typedef struct ms_store_row {
    char key[MS_SHA256_HEX]; /**< of ms_store_key; "": it has no key */
    const char *program;     /**< version that simulated it; NULL: not known yet */
    const char *workload;    /**< name of the workload */
    const char *platform;    /**< name of the cluster */
    int64_t gpus;            /**< ranks of the job */
    const char *settings;    /**< overrides of the workload: a JSON object on one line */
    const char *status;      /**< MS_POINT_SIMULATED and so on */
    const char *reason;      /**< why it has no figures; NULL: it has figures */
    ms_run_figures figures;  /**< zero where it has a reason; NULL in the file then */
} ms_store_row;

/** Columns of a row, in the database, in printed tables, CSV and JSON. The database has `key`,
 * `program`, `settings` and a digest besides. */
extern const ms_table_column MS_STORE_COLUMNS[];

/** The key of a job: a digest of its workload, its platform, the files that these name, and the
 * program.
 *  spec: as it was read; its name, its description and the names of its files do not count.
 * program: version of the program that simulates the job; every change that changes results changes
 * this text. key_out: hexadecimal, NUL-terminated. Returns MS_OK; MS_E_INPUT or MS_E_IO (reported)
 * when a file that the job names cannot be read; MS_E_NOMEM. O(size of the spec and its files). */
ms_status ms_store_key(const ms_job_spec *spec, const char *program, ms_diag *diag,
                       char key_out[MS_SHA256_HEX]);

/** Options of opening a store. */
typedef struct ms_store_options {
    bool is_fresh;     /**< no row is found, and a row that is put replaces one with the same key */
    bool is_read_only; /**< no row is put, and no file is created */
} ms_store_options;

/** An open store. Only the process that opened it may use it, not a child of this process. */
typedef struct ms_store ms_store;

/** Open a store, or create it where there is no file. The file is written once, so that a file that
 * cannot be written is known now. A read-only file is opened, too; a search for a row that it lacks
 * then returns MS_E_IO. An untrusted file does no harm: its schema must be what this version
 * writes, its pages must be those of an undamaged database, and SQLite runs no code in it.
 *  path: of the file. *store_out: in `arena`; to be closed with ms_store_close. Returns MS_OK;
 * MS_E_INPUT when the file is no store, is damaged, or has another format version; MS_E_IO when the
 * system refuses to read or write it or another process holds it; MS_E_NOMEM (all reported; the
 * file is as it was). O(size of the file). */
ms_status ms_store_open(const char *path, const ms_store_options *options, ms_arena *arena,
                        ms_diag *diag, ms_store **store_out);

/** Find a row by its key, and check each cell's type and range and the digest of all cells.
 *  *row_out: its texts in `arena`; unchanged where no row is found. *is_found_out: whether there is
 * such a row; always false in a fresh store. Returns MS_OK; MS_E_INPUT when the row is damaged,
 * with its number and column named; MS_E_IO when the file cannot be read, or is read-only and has
 * no such row; MS_E_NOMEM (all reported). O(log rows). */
ms_status ms_store_find(ms_store *store, const char *key, ms_arena *arena, ms_store_row *row_out,
                        bool *is_found_out);

/** Put a row, which is on the disk when this returns (inside ms_store_begin: after
 * ms_store_commit). Of two rows with one key the first stays; in a fresh store the last. row: with
 * its key, program and settings. Returns MS_OK; MS_E_IO when the system refuses, such as for a full
 * disk, the rows of before are as they were; MS_E_INPUT when the file is damaged; MS_E_NOMEM (all
 * reported). */
ms_status ms_store_put(ms_store *store, const ms_store_row *row);

/** Keep a row in memory until ms_store_flush puts it.  row: copied.  Returns MS_OK; MS_E_NOMEM
 * (reported). */
ms_status ms_store_queue(ms_store *store, const ms_store_row *row);

/** How long the rows that are held should wait for more rows [s]: after a transaction as long as
 * that transaction took, at most a second. So other processes get access to the file in between,
 * and a slow disk does not take most of the time. 0: the rows need not wait, or none is held.
 * store: may be NULL. O(1). */
double ms_store_flush_delay_s(const ms_store *store);
/** Whether the rows that are held are to be put now: `settle` of a feed of workers asks
 * (workers.h). *wait_s_out: ms_store_flush_delay_s; NULL: the feed ends, and no row may wait. */
bool ms_store_is_due(const ms_store *store, double *wait_s_out);

/** Put the rows that are held, in one transaction: on a slow disk the flush takes long, and is done
 * once for all rows. They are on the disk when this returns. store: NULL does nothing. Returns as
 * ms_store_put; after a failure none of the rows is put, and none is held any more. */
ms_status ms_store_flush(ms_store *store);

/** Begin a transaction: rows that are put from now on are on the disk after ms_store_commit, all or
 * none; none if the store is closed or the process ends before. Returns as ms_store_put. */
ms_status ms_store_begin(ms_store *store);

/** End the transaction that ms_store_begin has begun. Returns as ms_store_put. */
ms_status ms_store_commit(ms_store *store);

/** Visit all rows in the order of their keys. arena: gets the texts of the rows. visit: a status
 * other than MS_OK ends the visit and is returned; context: its first argument. Returns MS_OK; else
 * as ms_store_find. O(rows). */
ms_status ms_store_each(ms_store *store, ms_arena *arena,
                        ms_status (*visit)(void *context, const ms_store_row *row), void *context);

/** Count the rows of a store. Returns as ms_store_find. O(rows). */
ms_status ms_store_count(ms_store *store, size_t *count_out);

/** Close a store; NULL does nothing. */
void ms_store_close(ms_store *store);

#endif
