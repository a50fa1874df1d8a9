/**
 * @file
 * Search: the best candidates of a space, without simulating most of them.
 *
 * Every candidate is checked, and bounded from below by the time of its computations. Candidates
 * whose bounds leave them a chance are estimated, with their memory. Those that fit in memory are
 * simulated, the best estimates first, until the bound of every remaining candidate is above the
 * worst of the `top` results that are wanted. A bound is never above the result of a simulation, so
 * no candidate that is left out could have been among the best.
 *
 * Nouns of this room, and what the same word means elsewhere:
 * - candidate: one job of a space, known by its number; point: one job of a sweep or another study.
 * - space: all candidates: a cluster, sizes of the mesh's axes, their order, and values of keys.
 * - axis (space_axis): a key with the values that it takes. Elsewhere an axis is one of the mesh.
 * - setting: a key with one value, as `--set` takes it; value (space_value): one or several
 * settings that change together.
 * - shape: a cluster, the sizes of the mesh's axes and their order. A tensor has a shape in model.
 * - template: a spec that was read from the workload file with all settings of a candidate; other
 *   candidates start from a copy of it and set only what differs.
 * - goal: one or two objectives, quantities to be minimised, and limits of quantities.
 * - store: figures of simulated jobs on disk, each found by a key.
 * - shard: one of several processes that divide a study among them. An FSDP shard is a part of the
 *   parameters.
 * - settle: to write the rows that a store holds in memory to the disk.
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

/** The phases of a search, in their order; estimating may begin once more after simulating. */
typedef enum ms_search_phase {
    MS_SEARCH_BOUNDING,
    MS_SEARCH_ESTIMATING,
    MS_SEARCH_SIMULATING,
} ms_search_phase;

/** The progress of a search. */
typedef struct ms_search_progress {
    ms_search_phase phase;
    int64_t done, count; /**< candidates that the phase has bounded, estimated or simulated, or left
                            out, and all candidates of the phase */
    int64_t simulated;   /**< results so far; where there is a store, rows that are on the disk */
} ms_search_progress;

/** The parameters of a search. All is borrowed. */
typedef struct ms_search_study {
    ms_space *space;
    const ms_search_goal *goal;
    int top;                     /**< number of best candidates that are wanted, >= 1 */
    bool is_by_platform;         /**< the best candidates of each platform are wanted */
    int rest_max;                /**< maximum number of other candidates that are listed; 0: none */
    int jobs;                    /**< simulations at once, >= 1; changes no result */
    bool is_exhaustive;          /**< simulate all candidates that fit in memory, prune none */
    const char *program;         /**< version of the program, as in ms_store_key */
    ms_store *store;             /**< where results are found and kept; NULL: there is no store */
    const ms_study_shard *shard; /**< NULL: the search has all candidates; else every N-th of them
                                    in the order of their bounds */
    const char *share; /**< folder where shards exchange their best results, with which each can
                            prune more; NULL: they exchange nothing */
    /** Called with the progress at least every 256 candidates.  NULL: not called. */
    void (*progress)(void *context, const ms_search_progress *now);
    void *context; /**< its first argument */
} ms_search_study;

/** Numbers of candidates by their fate; when the search is complete, all but the first add up to
 * the first. */
typedef struct ms_search_counts {
    int64_t enumerated;
    int64_t illegal;       /**< no such job is possible */
    int64_t does_not_fit;  /**< in memory */
    int64_t beyond_limits; /**< of the goal */
    int64_t pruned;    /**< their bounds are above the results that are wanted; not all of them were
                          checked in every respect */
    int64_t simulated; /**< fit and keep the limits; found in the store or simulated now */
    int64_t failed;    /**< simulations that crashed or lacked memory */
    int64_t of_others; /**< belong to other shards */
} ms_search_counts;

/** Candidates that are illegal, or whose simulation failed, for one reason. */
typedef struct ms_search_reason {
    const char *text;  /**< message of the first of these candidates, with its numbers */
    int64_t count;     /**< of candidates */
    ms_words settings; /**< of the first candidate, "key.path=value" */
} ms_search_reason;

/** A candidate that fits in memory. */
typedef struct ms_search_row {
    int64_t index;     /**< number of the candidate in the space */
    ms_words settings; /**< "key.path=value": `run WORKLOAD --set ...` simulates the same job */
    ms_job_spec spec;
    bool is_simulated; /**< false: it was only estimated, and of the figures only `peak_B` and
                          `chunks` are known */
    ms_run_figures figures;
    ms_search_score score;  /**< of the goal, by which simulated rows are sorted */
    int equal_orders;       /**< simulated candidates that differ only in the order of the axes and
                                 have the same figures; they have no rows */
    double estimate_s;      /**< estimated time of a step [s] */
    double bound_s;         /**< lower bound of the time of a step [s] */
    const char *limited_by; /**< largest part of the step: "compute", "bubble", "tp over nvlink";
                               NULL: not simulated */
    double limit_share;     /**< share of the step that this part takes */
} ms_search_row;

/** The result of a search. All in the arena of ms_search_run. */
typedef struct ms_search_findings {
    ms_search_counts counts;
    const ms_search_row *rows; /**< [row_count] best first, equal scores by settings. With two
                                    objectives the Pareto front, sorted by the first objective */
    size_t row_count;
    const ms_search_row *rest; /**< [rest_count] others: first simulated candidates, best first,
                                  then estimated ones by their estimates */
    size_t rest_count;
    int64_t equal_orders;            /**< sum of those of all simulated candidates */
    int64_t estimated;               /**< candidates that were estimated and not simulated */
    const ms_search_reason *illegal; /**< [illegal_count] most frequent first */
    size_t illegal_count;
    const ms_search_reason *failed; /**< [failed_count] likewise */
    size_t failed_count;
    double smallest_B; /**< smallest memory that a candidate needs which does not fit [B]; 0: all
                          fit */
    ms_search_miss nearest; /**< of the candidates beyond the limits of the goal, the one that
 misses them least, by its estimate or simulation; ratio 0: there is none */
    bool is_partial;        /**< the search was interrupted, and better candidates may be left */
    const ms_search_row *expected; /**< if it was interrupted before any simulation ended: the
                                      candidate with the best estimate so far; else NULL */
    ms_status failure;             /**< of the first simulation that failed; MS_OK: none failed */
} ms_search_findings;

/** Search a space. The rows are the same for any number of jobs, and whether or not candidates are
 * pruned; counts of pruned and simulated candidates may differ.
 *  *result_out: in `arena`. Returns MS_OK, also when nothing is found; MS_E_INTERRUPTED with what
 * was found by then; MS_E_INPUT (reported) if candidates lack what the goal asks for
 * (ms_search_goal_check); as ms_store_put and ms_workers_stream; MS_E_NOMEM (reported).
 * O(candidates). */
ms_status ms_search_run(const ms_search_study *study, ms_arena *arena, ms_diag *diag,
                        ms_search_findings *result_out);

#endif
