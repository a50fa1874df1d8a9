/**
 * @file
 * Lists of jobs for `meshsim runs`. Each job is a workload, in a file or as a text, and gets the
 * result that `meshsim run` gives it. Several jobs run at the same time.
 */
#ifndef MESHSIM_JOB_LIST_H
#define MESHSIM_JOB_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/config/config.h"
#include "base/diag.h"
#include "base/status.h"

/** One job of a list. */
typedef struct ms_listed_job {
    const char *workload; /**< file or name, as in ms_job_request */
    const char *text;     /**< text of the workload; NULL: it is in the file */
    const char *platform; /**< file or name; NULL: the workload's own */
    ms_words sets;        /**< overrides of this job, "key.path=value" */
} ms_listed_job;

/** A list of jobs.  In the arena of ms_job_list_read. */
typedef struct ms_job_list {
    ms_listed_job *items; /**< [count] */
    size_t count;
} ms_job_list;

/** The outcome of a job. */
typedef struct ms_listed_outcome {
    size_t index;       /**< of the job in the list */
    ms_status status;   /**< of reading, building and running it */
    bool is_read;       /**< its workload, platform and overrides could be read */
    bool blames_sets;   /**< they could not be read, but can without the overrides of all jobs */
    const char *said;   /**< all messages that were reported; "": none */
    const char *reason; /**< the first fault in one line, without its place; NULL if MS_OK */
    const char *result; /**< what `run --json --passes` prints, on one line; NULL if not MS_OK */
} ms_listed_outcome;

/** The parameters of ms_job_list_run.  All is borrowed. */
typedef struct ms_job_list_study {
    const ms_job_list *list;
    ms_words sets;           /**< overrides of all jobs, applied after the jobs' own */
    const char *data_folder; /**< as in ms_job_request */
    int jobs;                /**< simulations at once, >= 1 */
    /** Called when a job has ended, in the order in which they end.  outcome: valid during the
     * call. Anything but MS_OK (reported) ends the study. */
    ms_status (*tell)(void *context, const ms_listed_outcome *outcome);
    void *context; /**< its first argument */
} ms_job_list_study;

/** Read a list of jobs: JSON, `{"jobs": [{"workload": ..., "text": ..., "platform": ..., "set":
 * [...]}, ...]}`.
 *  path: of the file. *list_out: in `arena`. Returns MS_OK; MS_E_INPUT with every fault reported;
 * MS_E_IO; MS_E_NOMEM. */
ms_status ms_job_list_read(const char *path, ms_arena *arena, ms_diag *diag, ms_job_list *list_out);

/** Simulate the jobs of a list, operation by operation, whether or not they fit in memory.
 *  Returns MS_OK when the outcome of each job was passed to `tell`; MS_E_INTERRUPTED; what `tell`
 * returned; as ms_workers_stream. */
ms_status ms_job_list_run(const ms_job_list_study *study, ms_arena *arena, ms_diag *diag);

#endif
