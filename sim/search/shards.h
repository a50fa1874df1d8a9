/**
 * @file
 * Shards: a study shared among processes that may run on many machines, without one that directs
 * them.
 *
 * Of N shards, number I has the points I, I + N, I + 2 N, ... of the study. Each process writes one
 * file of a folder that all of them see, a store of its own: DIR/shard-I-of-N.db.part while it
 * works, beside a lock by which a second process for the same shard waits; DIR/shard-I-of-N.db once
 * all its points are there. Started again, it goes on with what its file has. Merging makes one
 * store of them, DIR/study.db.
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

/** A shard from "I/N".  Returns MS_OK; MS_E_USAGE (reported). */
ms_status ms_shard_read(const char *text, ms_diag *diag, ms_study_shard *shard_out);

/** How many points of a study are a shard's.  points: of the whole study.  O(1). */
size_t ms_shard_size(const ms_study_shard *shard, size_t points);

/** Number, in the whole study, of a shard's point.  O(1). */
size_t ms_shard_point(const ms_study_shard *shard, size_t index);

/** A shard's file, open. */
typedef struct ms_shard_file {
    ms_store *store;
    const char *folder, *part, *whole, *lock; /**< paths */
    int lock_file;                            /**< descriptor; < 0: closed */
} ms_shard_file;

/** Open a shard's store for writing, alone, and make the folder where there is none. A process that
 * works on the same shard, such as one whose manager believes it dead, is waited for. In a
 * read-only folder a complete shard is opened for reading.
 *  is_fresh: as in ms_store_options. wait_s: at most so long.  *file_out: in `arena`, given to
 * ms_shard_close, also after a failure. Returns as ms_store_open; MS_E_IO (reported) also when
 * another process still works on it. */
ms_status ms_shard_open(const char *folder, const ms_study_shard *shard, bool is_fresh,
                        double wait_s, ms_arena *arena, ms_diag *diag, ms_shard_file *file_out);

/** Close a shard's store.  is_complete: all its points are there, so that it gets the name of a
 * complete one.  Returns MS_OK; MS_E_IO (reported), its rows are in the file all the same. */
ms_status ms_shard_close(ms_shard_file *file, bool is_complete, ms_diag *diag);

/** The best values of a search that its shards tell each other through their folder, so that each
 * can leave out more. What one does not hear of, because a file is old, gone or could not be
 * written, costs time and nothing else. */
typedef struct ms_shared_best {
    const char *folder;
    ms_study_shard shard;
    char study[MS_SHA256_HEX]; /**< what is searched: files of another study do not count */
    size_t top;                /**< how many of the best are wanted */
    double *heard;             /**< [heard_count] rising: the others' best, at most `top` */
    size_t heard_count;
    double next_s; /**< when the others' files are read again, on the clock of ms_wall_s */
} ms_shared_best;

/** Begin to share.
 *  study: [length] bytes, the same in all shards of a search and in no other search.  top: >= 1.
 *  *best_out: in `arena`; borrows the folder.  Returns MS_OK; MS_E_NOMEM (not reported). */
ms_status ms_shared_best_open(const char *folder, const ms_study_shard *shard, const void *study,
                              size_t length, size_t top, ms_arena *arena, ms_shared_best *best_out);

/** Tell the other shards the best scores of this shard, of which the first values count.
 *  scores: [count] rising, those of distinct candidates that were simulated.  O(count). */
void ms_shared_best_tell(const ms_shared_best *best, const ms_search_score *scores, size_t count);

/** The value that no wanted candidate can be above: the `top`-th lowest value of this shard and the
 * others; INFINITY while fewer than `top` are known.
 *  scores: [count] rising, as in ms_shared_best_tell.  O(top), and O(shards) files at most five
 * times a second. */
double ms_shared_best_limit(ms_shared_best *best, const ms_search_score *scores, size_t count);

/** A job that several shards have simulated. It is one row of the merged store. */
typedef struct ms_shards_double {
    char key[MS_SHA256_HEX];
    int first, second; /**< the shards that have it, of more the first two */
} ms_shards_double;

/** What merging found.  All in the arena of ms_shards_merge. */
typedef struct ms_shards_report {
    int count;         /**< shards of the study */
    const char *store; /**< path of the merged store */
    size_t rows;       /**< that it has */
    int *missing;      /**< [missing_count] shards that are not complete, ascending */
    int missing_count;
    ms_shards_double *doubles; /**< [double_count] by key */
    size_t double_count;
    ms_words programs; /**< versions that simulated the rows of the shards; more than one: each will
                          simulate again what the others have found */
} ms_shards_report;

/** Put the rows of all complete shards of a folder into DIR/study.db, all or none; what it has
 * already stays.
 *  Returns MS_OK, whether or not shards are missing; MS_E_INPUT when the folder has no shards, has
 * those of several counts, or one is no store; MS_E_IO; MS_E_NOMEM (all reported). */
ms_status ms_shards_merge(const char *folder, ms_arena *arena, ms_diag *diag,
                          ms_shards_report *report_out);

#endif
