/**
 * @file
 * Worker processes: many jobs, each simulated in a process of its own, several at once.
 *
 * A simulation runs on one core, so many simulations on all cores are many child processes. The
 * jobs may be a list (ms_workers_run), or be chosen one by one while others run
 * (ms_workers_stream).
 */
#ifndef MESHSIM_WORKERS_H
#define MESHSIM_WORKERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/status.h"
#include "simulate/run/job.h"

/** How simulations run. The `index` of a job is its index in the list of specs, or the ticket that
 * a feed gave it. */
typedef struct ms_workers_options {
    int jobs; /**< processes at once, >= 1 */
    /** Called in the child when simulation `index` is done, to keep its result, such as in a trace.
     * Its status and messages become those of the simulation.  NULL: not called. */
    ms_status (*keep)(void *context, size_t index, const ms_result *result, ms_diag *diag);
    void *keep_context;    /**< its first argument */
    bool needs_operations; /**< `keep` or `describe` looks at single operations of a run, so all of
                              them must be simulated (see ms_result.fast_forwarded) */
    /** Called in the child after `keep`, to append a text about the result, which the parent gets
     * in the outcome.  arena: of the child.  Returns MS_OK; MS_E_NOMEM.  NULL: there is no text. */
    ms_status (*describe)(const ms_result *result, ms_arena *arena, ms_buffer *text);
    /** Called by ms_workers_run in the parent when a simulation has ended.  NULL: not called. */
    void (*progress)(void *context, size_t done, size_t count);
    void *progress_context; /**< its first argument */
} ms_workers_options;

/** The outcome of one simulation. */
typedef struct ms_worker_outcome {
    ms_status status;       /**< of building, running and keeping; MS_E_BUG after a crash,
                               MS_E_NOMEM when the system killed the child */
    const char *talk;       /**< all messages that were reported; "": none */
    const char *reason;     /**< the first fault in one line, without its place; NULL if MS_OK */
    ms_run_figures figures; /**< meaningful if MS_OK */
    const char *text;       /**< from `describe`; NULL if not MS_OK, or without `describe` */
} ms_worker_outcome;

/** The source of the jobs of ms_workers_stream and the destination of their outcomes: functions
 * that are called in the parent. */
typedef struct ms_worker_feed {
    /** The next job, called whenever a process is free.  *ticket_out: a number of the feed's
     * choice, by which `done` knows the job again.  Returns a spec, which is read before any
     * function of the feed is called again; NULL: there is no job now. It is then called again
     * after a running job ends. */
    const ms_job_spec *(*next)(void *context, size_t *ticket_out);
    /** Called when a job has ended; later calls of `next` may depend on the outcome.  outcome:
     * contents in the arena of ms_workers_stream.  A status other than MS_OK (reported) ends all
     * jobs that run, and is returned by ms_workers_stream. */
    ms_status (*done)(void *context, size_t ticket, const ms_worker_outcome *outcome);
    /** Called when `done` was called for all jobs that had ended, and new jobs run in their places:
     * for slow work, such as writing to a disk, that is done once for several outcomes while other
     * jobs run.  *wait_s_out: time after which it wants to be called again at the latest [s]; 0:
     * after the next job has ended.  wait_s_out NULL: nothing runs any more, and this is the last
     * call, also after an interrupt or a failure.  Returns as `done`.  NULL: not called. */
    ms_status (*settle)(void *context, double *wait_s_out);
    void *context; /**< their first argument */
} ms_worker_feed;

/** Build and run the jobs of a feed, each in a child process, until the feed has no more and none
 * runs. Children end with their parent, and remove the files that they were writing.
 *  An interrupt (interrupt.h) ends the children, but not the caller, who can keep the results so
 * far. arena: gets the texts of the outcomes. Returns MS_OK when every child has answered or its
 * bad end is in its outcome; MS_E_INTERRUPTED; what a function of the feed returned; MS_E_IO
 * (reported) when the system starts no process; MS_E_NOMEM (reported). */
ms_status ms_workers_stream(const ms_worker_feed *feed, const ms_workers_options *options,
                            ms_arena *arena, ms_diag *diag);

/** Build and run a list of jobs, as ms_workers_stream does.
 *  specs: [count]. outcomes_out: [count], in the order of the specs, texts in `arena`; the outcome
 * of a job that did not end is zero. Returns as ms_workers_stream. */
ms_status ms_workers_run(const ms_job_spec *specs, size_t count, const ms_workers_options *options,
                         ms_arena *arena, ms_diag *diag, ms_worker_outcome *outcomes_out);

#endif
