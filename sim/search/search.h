/**
 * @file
 * Search: the best candidates of a space, without simulating most of them.
 *
 * Every candidate is checked, and bounded by what it computes. Those that this leaves a hope are
 * estimated, with their memory, and those of them that fit are simulated, the best by their
 * estimates first, until no bound of the others is below what the last of the wanted ones takes. A
 * bound is never above what a simulation gives, so what is left out could not have been among the
 * best.
 *
 * Nouns of this room, and what the same word means elsewhere:
 * - candidate: one job of a space, by its number; point: one job of a sweep or of another study.
 * - space: all candidates: a cluster, sizes of the mesh's axes, their order, and values of keys.
 * - axis (space_axis): a key with the values that it takes. Elsewhere an axis is one of the mesh.
 * - setting: a key with one value, as `--set` takes it; value (space_value): one or several
 * settings that change together.
 * - shape: a cluster, the sizes of the mesh's axes and their order. A tensor has a shape in model.
 * - template: a spec that was read with all settings that cannot be set afterwards.
 * - goal: objectives, of which the least is sought, and limits of quantities.
 * - store: figures of simulated jobs on disk, by a key; shard: one of several processes that divide
 *   a study among them. An FSDP shard is a part of the parameters.
 * - row, column: of a result's table (table.h).
 * - key: of a workload file; in the store, the hash that identifies a job.
 */
#ifndef MESHSIM_SEARCH_H
#define MESHSIM_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/config/config.h"
#include "base/diag.h"
#include "base/status.h"
#include "job/spec.h"
#include "search/search_goal.h"
#include "search/shards.h"
#include "search/space.h"
#include "search/store.h"
#include "simulate/run/job.h"

/** What a search does with candidates, one behind the other; to the second it may come back. */
typedef enum ms_search_phase {
    MS_SEARCH_BOUNDING,
    MS_SEARCH_ESTIMATING,
    MS_SEARCH_SIMULATING,
} ms_search_phase;

/** How far a search is. */
typedef struct ms_search_progress {
    ms_search_phase phase;
    int64_t done, count; /**< candidates bounded; estimated or left out; simulated or left out */
    int64_t simulated;   /**< of those done */
} ms_search_progress;

/** What is asked of a search. All is borrowed. */
typedef struct ms_search_study {
    ms_space *space;
    const ms_search_goal *goal;  /**< what is looked for */
    int top;                     /**< how many of the best are wanted, >= 1 */
    int rest_max;                /**< how many of the others are listed at most; 0: none */
    int jobs;                    /**< simulations at once, >= 1; changes no result */
    bool is_exhaustive;          /**< simulate all that fit */
    const char *program;         /**< as in ms_store_key */
    ms_store *store;             /**< NULL: none */
    const ms_study_shard *shard; /**< NULL: all candidates are simulated here; else every N-th of
                                    them, by their bounds, and what the others find
                                    through `share` lets it leave out more */
    const char *share;           /**< folder of the shards; NULL: they do not hear of each other */
    /** Called now and then.  NULL: nobody asks. */
    void (*progress)(void *context, const ms_search_progress *now);
    void *context; /**< its first argument */
} ms_search_study;

/** What became of the candidates; all but the first sum up to it when the search is complete. */
typedef struct ms_search_counts {
    int64_t enumerated;
    int64_t illegal;       /**< no such job can be */
    int64_t does_not_fit;  /**< in memory */
    int64_t beyond_limits; /**< of the goal */
    int64_t pruned; /**< their bounds are above what the wanted ones take; whether they fit, and can
                       be in every respect, was not asked of all */
    int64_t simulated; /**< and fit; found in the store or simulated now */
    int64_t failed;    /**< simulations that crashed or lacked memory */
    int64_t of_others; /**< left to other shards */
} ms_search_counts;

/** Candidates that cannot be, or whose simulation failed, for one reason. */
typedef struct ms_search_reason {
    const char *text; /**< of the first of them, with its numbers */
    int64_t count;
    ms_words settings; /**< of the first of them */
} ms_search_reason;

/** A candidate that fits in memory. */
typedef struct ms_search_row {
    int64_t index;     /**< in the space */
    ms_words settings; /**< what makes `run WORKLOAD --set ...` the same job */
    ms_job_spec spec;
    bool is_simulated; /**< else it is estimated, and of the figures only `peak_B` and `chunks`
                            are known */
    ms_run_figures figures;
    ms_search_score score;  /**< by which it is where it is */
    double estimate_s;      /**< of its step */
    double bound_s;         /**< that its step could not be below */
    const char *limited_by; /**< "compute", "bubble", "tp over nvlink"; NULL: not simulated */
    double limit_share;     /**< of the step */
} ms_search_row;

/** What a search found. All in the arena of ms_search_run. */
typedef struct ms_search_findings {
    ms_search_counts counts;
    const ms_search_row *rows; /**< [row_count] best first; equal ones by their settings. Of two
                                    objectives all that none has less of both than, by the first */
    size_t row_count;
    const ms_search_row *rest; /**< [rest_count] others: first those that were simulated, best
                                  first, then those that were estimated, by their estimates */
    size_t rest_count;
    int64_t estimated;               /**< candidates that were estimated and not simulated */
    const ms_search_reason *illegal; /**< [illegal_count] most frequent first */
    size_t illegal_count;
    const ms_search_reason *failed; /**< [failed_count] likewise */
    size_t failed_count;
    double smallest_B; /**< the least memory that a candidate needs among those that do not fit; 0:
                          all fit */
    ms_search_miss nearest; /**< of the candidates beyond the goal's limits the one that misses
                               them least, by its estimate or simulation; ratio 0: none */
    bool is_partial;        /**< it was interrupted: better ones may be among the rest */
    const ms_search_row *expected; /**< where it was interrupted before any was simulated: the best
                                      by its estimate so far, without figures; else NULL */
    ms_status failure;             /**< of the first simulation that failed; MS_OK: none */
} ms_search_findings;

/** Search a space.
 *  The rows are the same for any number of jobs, and whether or not candidates are pruned; counts
 * of those pruned and simulated may differ.
 *  Returns MS_OK, also when nothing is found; MS_E_INTERRUPTED with what was found by then; as
 * ms_store_put and ms_workers_stream; MS_E_NOMEM (reported).  O(candidates). */
ms_status ms_search_run(const ms_search_study *study, ms_arena *arena, ms_diag *diag,
                        ms_search_findings *result_out);

#endif
