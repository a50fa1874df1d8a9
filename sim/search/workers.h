/**
 * @file
 * Worker processes: many jobs, each simulated in a process of its own, several at once.
 *
 * A simulation runs on one core, so code that wants many results on all cores forks a child for
 * each. Which jobs these are may be known before (ms_workers_run), or be decided while others run
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

/** How simulations run. `index` is a job's place among the specs, or the ticket that a feed gave
 * it. */
typedef struct ms_workers_options {
    int jobs; /**< processes at once, >= 1 */
    /** Called in the child when simulation `index` is done; what it reports counts as the child's.
     *  NULL: nothing is kept. */
    ms_status (*keep)(void *context, size_t index, const ms_result *result, ms_diag *diag);
    void *keep_context;    /**< its first argument */
    bool needs_operations; /**< `keep` or `describe` looks at the operations of a run: none may be
                              counted in place of being simulated (ms_result.fast_forwarded) */
    /** Called in the child when the simulation is done and kept: append a text about it.  arena: of
     * the child.  Returns MS_OK; MS_E_NOMEM.  NULL: there is no text. */
    ms_status (*describe)(const ms_result *result, ms_arena *arena, ms_buffer *text);
    /** Of ms_workers_run: called in the parent whenever one has ended.  NULL: nobody asks. */
    void (*progress)(void *context, size_t done, size_t count);
    void *progress_context; /**< its first argument */
} ms_workers_options;

/** The outcome of one simulation. */
typedef struct ms_worker_outcome {
    ms_status status;       /**< of building, running and keeping; MS_E_BUG after a crash,
                               MS_E_NOMEM when the system killed it */
    const char *talk;       /**< what was reported on the way, whole messages; "" if nothing */
    const char *reason;     /**< the first fault in one line, without its place; NULL if MS_OK */
    ms_run_figures figures; /**< meaningful if MS_OK */
    const char *text;       /**< that `describe` made; NULL if not MS_OK or nobody asked */
} ms_worker_outcome;

/** Where the jobs of ms_workers_stream come from and what comes of them goes to, both in the
 * parent.
 */
typedef struct ms_worker_feed {
    /** The next job, asked for whenever a process is free.  *ticket_out: by which `done` knows it
     * again.  Returns a spec, read before the next call of either; NULL: none now. It is asked
     * again after each end of one that still runs. */
    const ms_job_spec *(*next)(void *context, size_t *ticket_out);
    /** A job has ended; called in the order in which they end, and what `next` gives from then on
     * may depend on it.  outcome: contents in the arena of ms_workers_stream.  Anything but MS_OK
     * (reported) ends what runs, and is returned. */
    ms_status (*done)(void *context, size_t ticket, const ms_worker_outcome *outcome);
    /** All that had ended are told, and their places are taken again: called before the wait for
     * others, so that what takes long for each is done for all of them at once, while others run.
     * NULL: nobody asks.  *wait_s_out: it is called again after so long at the latest; 0: whenever
     * one has ended; NULL: nothing runs any more, so this is the last call, also after an interrupt
     * or a failure.  Returns as `done`. */
    ms_status (*settle)(void *context, double *wait_s_out);
    void *context; /**< their first argument */
} ms_worker_feed;

/** Build and run jobs that a feed gives, each in a child, until it gives none and none runs.
 * Children end with their parent, and remove the files that they were writing.
 *  An interrupt (interrupt.h) ends the children, not the caller, who can keep what is done.
 *  Returns MS_OK when every child has answered or its end is told in its outcome; MS_E_INTERRUPTED;
 * what `done` returned; MS_E_IO (reported) when the system starts none; MS_E_NOMEM (reported). */
ms_status ms_workers_stream(const ms_worker_feed *feed, const ms_workers_options *options,
                            ms_arena *arena, ms_diag *diag);

/** Build and run jobs that are known before, as ms_workers_stream.
 *  specs: [count].  outcomes_out: [count], in the order of the specs, contents in `arena`; those of
 * jobs that did not end are zero.  Returns as ms_workers_stream. */
ms_status ms_workers_run(const ms_job_spec *specs, size_t count, const ms_workers_options *options,
                         ms_arena *arena, ms_diag *diag, ms_worker_outcome *outcomes_out);

#endif
