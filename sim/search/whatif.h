/**
 * @file
 * What-ifs: what a job's step would take if one thing about its cluster were better, by simulating
 * it again. The change with the largest gain shows what limits the job.
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
    ms_words settings;  /**< "key.path=value": what `run` takes as --set behind the job's own */
    double step_time_s; /**< 0 before ms_whatif_run */
    double gain; /**< share of the step that it saves; < 0: slower.  0 before ms_whatif_rank */
} ms_whatif;

/** What is asked. All borrowed. */
typedef struct ms_whatif_study {
    const ms_job *job;             /**< whose step it is */
    const ms_job_request *request; /**< that the job was read by */
    int jobs;                      /**< simulations at once, >= 1 */
    /** Called whenever one has ended.  NULL: nobody asks. */
    void (*progress)(void *context, size_t done, size_t count);
    void *progress_context; /**< its first argument */
} ms_whatif_study;

/** The changes that a job's platform has a place for: bandwidth x 2 and latency 0 of every tier
 * that limits them, of the library's latencies 0, the GPU's peaks x 2, its memory's bandwidth x 2,
 * no time for any communication (what no overlap exceeds), GPUs that are equally fast, memory x 2
 * with less recomputation. *changes_out: [*count_out] in `arena`.  Returns MS_OK; MS_E_NOMEM
 * (reported).  O(tiers). */
ms_status ms_whatif_list(const ms_job *job, ms_arena *arena, ms_diag *diag, ms_whatif **changes_out,
                         size_t *count_out);

/** Simulate the job with each change of ms_whatif_list, folded, in processes of their own
 * (workers.h: no engine may have run in this process). Left out are changes that make no job, and
 * less recomputation that does not fit; where it fits into the memory that the GPU has, memory is
 * not among its settings. *rows_out: [*count_out] in `arena`, in the order of ms_whatif_list.
 * Returns MS_OK; what the first simulation that failed came to (reported); MS_E_INTERRUPTED;
 * MS_E_NOMEM (reported). */
ms_status ms_whatif_run(const ms_whatif_study *study, ms_arena *arena, ms_diag *diag,
                        ms_whatif **rows_out, size_t *count_out);

/** Set the gain of every row, and sort them by it, largest first; equal ones keep their order.
 *  step_time_s: of the job as it is, > 0.  O(count^2). */
void ms_whatif_rank(double step_time_s, ms_whatif *rows, size_t count);

/** The rows as a list of objects: change, settings, step_time_s, gain.  parent, key: where it is
 * added, as to ms_value_add.  Lack of memory shows in the tree's arena. */
void ms_whatif_add(const ms_whatif *rows, size_t count, ms_value *parent, const char *key);

#endif
