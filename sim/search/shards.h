/**
 * @file
 * Shards: a study that is shared among processes, which may run on many machines; no process
 * directs the others.
 *
 * Of N shards, number I has the points I, I + N, I + 2 N, ... of the study. Each process writes a
 * store of its own in a folder that all of them see: DIR/shard-I-of-N.db.part while it works, and
 * DIR/shard-I-of-N.db once all points of the shard are in it. A lock file makes a second process
 * for the same shard wait. A process that is started again continues with the rows in its store.
 * Merging makes one store of all shards, DIR/study.db.
 */
#ifndef MESHSIM_SHARDS_H
#define MESHSIM_SHARDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/checksum.h"
#include "base/config/config.h"
#include "base/diag.h"
#include "base/status.h"
#include "search/search_goal.h"
#include "search/store.h"

/** More shards than this are refused: each has its file. */
enum { MS_SHARDS_MAX = 100000 };

/** A share of a study: 0 <= index < count. */
typedef struct ms_study_shard {
    int index, count;
} ms_study_shard;

/** Read a shard from "I/N". Returns MS_OK; MS_E_USAGE (reported). */
ms_status ms_shard_read(const char *text, ms_diag *diag, ms_study_shard *shard_out);

/** Number of points of a shard. points: number of points of the whole study. O(1). */
size_t ms_shard_size(const ms_study_shard *shard, size_t points);

/** Index in the whole study of a shard's point. index: of the point in the shard. O(1). */
size_t ms_shard_point(const ms_study_shard *shard, size_t index);

/** A shard's file, open. */
typedef struct ms_shard_file {
    ms_store *store;
    const char *folder;       /**< path of the folder of all shards */
    const char *part, *whole; /**< paths of the file while it is incomplete, and when complete */
    const char *lock;         /**< path of the lock file */
    int lock_file;            /**< descriptor of the lock file; < 0: closed */
} ms_shard_file;

/** Lock a shard and open its store for writing; the folder is made if there is none. Another
 * process that works on the same shard, such as one whose manager believes it dead, is waited for.
 * In a read-only folder a complete shard is opened for reading.
 *  is_fresh: as in ms_store_options. wait_s: longest wait [s]. *file_out: in `arena`; to be closed
 * with ms_shard_close, also after a failure. Returns as ms_store_open; MS_E_IO (reported) also when
 * another process still works on the shard. */
ms_status ms_shard_open(const char *folder, const ms_study_shard *shard, bool is_fresh,
                        double wait_s, ms_arena *arena, ms_diag *diag, ms_shard_file *file_out);

/** Close a shard's store. is_complete: the store has all points of the shard, so the file gets the
 * name of a complete one. Returns MS_OK; MS_E_IO (reported) if it cannot be renamed; its rows are
 * on the disk all the same. */
ms_status ms_shard_close(ms_shard_file *file, bool is_complete, ms_diag *diag);

/** The best values of a search, which its shards exchange through files in their folder, so that
 * each can prune more. A file that is old, missing or could not be written costs time, but changes
 * no result. */
typedef struct ms_shared_best {
    const char *folder;
    ms_study_shard shard;      /**< of this process */
    char study[MS_SHA256_HEX]; /**< digest of the search: files of another search are ignored */
    size_t top;                /**< number of best candidates that are wanted */
    double *heard;             /**< [heard_count] rising: best values of the other shards, at most
                                  `top` */
    size_t heard_count;
    double next_s; /**< when the other shards' files are read again, on the clock of ms_wall_s */
} ms_shared_best;

/** Begin to exchange best values.
 *  study: [length] bytes that identify the search: the same in all its shards and in no other
 * search. top: >= 1. *best_out: in `arena`; borrows the folder. Returns MS_OK; MS_E_NOMEM (not
 * reported). */
ms_status ms_shared_best_open(const char *folder, const ms_study_shard *shard, const void *study,
                              size_t length, size_t top, ms_arena *arena, ms_shared_best *best_out);

/** Write the best values of this shard for the other shards. scores: [count] rising, of distinct
 * candidates that were simulated; the first value of each is written. O(count). */
void ms_shared_best_tell(const ms_shared_best *best, const ms_search_score *scores, size_t count);

/** The value that no wanted candidate is above: the `top`-th lowest value of all shards, as far as
 * they are known; INFINITY while fewer than `top` are known. The other shards' files are read at
 * most five times a second.
 *  scores: [count] of this shard, as in ms_shared_best_tell. O(top), and O(shards) files. */
double ms_shared_best_limit(ms_shared_best *best, const ms_search_score *scores, size_t count);

/** A job that several shards have simulated. The merged store has it once. */
typedef struct ms_shards_double {
    char key[MS_SHA256_HEX];
    int first, second; /**< indices of the first two shards that have it */
} ms_shards_double;

/** The result of merging.  All in the arena of ms_shards_merge. */
typedef struct ms_shards_report {
    int count;         /**< shards of the study */
    const char *store; /**< path of the merged store */
    size_t rows;       /**< rows of the merged store */
    int *missing;      /**< [missing_count] shards that are not complete, ascending */
    int missing_count;
    ms_shards_double *doubles; /**< [double_count] by key */
    size_t double_count;
    ms_words programs; /**< versions of the program that simulated the rows. If there are several,
                          each version simulates the rows of the others again (ms_store_key) */
} ms_shards_report;

/** Put the rows of all complete shards of a folder into DIR/study.db, all or none. Rows that this
 * store has already stay.
 *  *report_out: in `arena`. Returns MS_OK, whether or not shards are missing; MS_E_INPUT when the
 * folder has no shards, has shards of different numbers N, or a file is no store; MS_E_IO;
 * MS_E_NOMEM (all reported). */
ms_status ms_shards_merge(const char *folder, ms_arena *arena, ms_diag *diag,
                          ms_shards_report *report_out);

#endif
