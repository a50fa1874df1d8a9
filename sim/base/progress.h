/**
 * @file
 * How far a long run has come. The layers that work write it, and another thread reads it to show
 * it. There is one state per process; nothing that is simulated depends on it.
 */
#ifndef MESHSIM_PROGRESS_H
#define MESHSIM_PROGRESS_H

#include <stdint.h>

/** The phase that the process is in. */
typedef struct ms_progress {
    const char *phase; /**< such as "simulating"; NULL: no long phase is running */
    int64_t done;      /**< operations of this phase so far */
    int64_t total;     /**< operations of the whole phase; 0: not known */
    double began_s;    /**< when it began, on the clock of ms_wall_s() [s] */
} ms_progress;

/** A phase begins.
 *  phase: static text, NULL when all is over.  total: operations of it, 0 if that is not known.
 *  O(1). */
void ms_progress_begin(const char *phase, int64_t total);

/** Store how many operations of the phase are done.  O(1), a store. */
void ms_progress_done(int64_t done);

/** From now on ms_progress_done stores its number at `copy`, too. A child process calls this with
 * memory that its parent reads (child.h).  copy: borrowed until the process ends.  O(1). */
void ms_progress_copy_to(int64_t *copy);

/** The phase that the process is in; may be called from any thread.  Returns a copy, whose members
 * may belong to two phases for an instant.  O(1). */
ms_progress ms_progress_now(void);

#endif
