/**
 * @file
 * What-ifs: the step of a job if one part of its cluster were better, found by simulating the job
 * again with that change. The change with the largest gain shows what limits the job.
 */
#ifndef MESHSIM_WHATIF_H
#define MESHSIM_WHATIF_H

#include <stddef.h>

#include "base/arena.h"
#include "base/config/config.h"
#include "base/diag.h"
#include "base/status.h"
#include "base/value.h"
#include "job/spec.h"
#include "simulate/run/job.h"

/** One change. */
typedef struct ms_whatif {
    const char *change; /**< for people, such as "rail bandwidth x 2" */
    ms_words settings;  /**< "key.path=value", as `run` takes them with --set after the job's own */
    double step_time_s; /**< 0 before ms_whatif_run */
    double gain;        /**< share of the step saved; < 0: slower; 0 before ms_whatif_rank */
} ms_whatif;

/** The parameters of a study. All is borrowed. */
typedef struct ms_whatif_study {
    const ms_job *job;             /**< the job without changes */
    const ms_job_request *request; /**< from which the job was read */
    int jobs;                      /**< simulations at once, >= 1 */
    /** Called whenever a simulation has ended.  NULL: not called. */
    void (*progress)(void *context, size_t done, size_t count);
    void *progress_context; /**< its first argument */
} ms_whatif_study;

/** The changes that make sense for a job's platform: twice the bandwidth and no latency of each
 * network tier, no latencies of the library, twice the GPU's peak rates, twice the bandwidth of its
 * memory, communication that takes no time (no overlap can gain more), GPUs that are equally fast,
 * twice the memory with less recomputation.
 *  *changes_out: [*count_out] in `arena`. Returns MS_OK; MS_E_NOMEM (reported). O(tiers). */
ms_status ms_whatif_list(const ms_job *job, ms_arena *arena, ms_diag *diag, ms_whatif **changes_out,
                         size_t *count_out);

/** Simulate the job with each change of ms_whatif_list, folded, each in a process of its own
 * (workers.h: no engine may have run in this process). Changes that make no job are left out, and
 * so is less recomputation that does not fit in memory. If it fits in the GPU's present memory, the
 * setting of the memory is removed.
 *  *rows_out: [*count_out] in `arena`, in the order of ms_whatif_list. Returns MS_OK; the status of
 * the first simulation that failed (reported); MS_E_INTERRUPTED; MS_E_NOMEM (reported). */
ms_status ms_whatif_run(const ms_whatif_study *study, ms_arena *arena, ms_diag *diag,
                        ms_whatif **rows_out, size_t *count_out);

/** Set the gain of every row, and sort the rows by it, largest first; rows of equal gain keep their
 * order.
 *  step_time_s: step of the job without changes [s], > 0. rows: [count]. O(count^2). */
void ms_whatif_rank(double step_time_s, ms_whatif *rows, size_t count);

/** Add rows to a tree as a list of objects with the keys change, settings, step_time_s and gain.
 * rows: [count]. parent, key: of the list, as for ms_value_add. A lack of memory shows in the
 * tree's arena. */
void ms_whatif_add(const ms_whatif *rows, size_t count, ms_value *parent, const char *key);

#endif
