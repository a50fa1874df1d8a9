/**
 * @file
 * How far a long run has come, for whoever shows it: written by the layers that work, read by
 * another thread. One state per process, or for it and one that it waits for; nothing that is
 * simulated depends on it.
 */
#ifndef MESHSIM_PROGRESS_H
#define MESHSIM_PROGRESS_H

#include <stdint.h>

#include "meshsim/decls.h"

MS_BEGIN_DECLS

/** What the process is at. */
typedef struct ms_progress {
    const char *phase; /**< such as "simulating"; NULL: nothing that takes long */
    int64_t done;      /**< operations of this phase so far */
    int64_t total;     /**< operations of it; 0: not known */
    double began_s;    /**< when it began, on the clock of ms_wall_s() [s] */
} ms_progress;

/** A phase begins.
 *  phase: static text, NULL when all is over.  total: operations of it, 0 if that is not known.
 *  O(1). */
void ms_progress_begin(const char *phase, int64_t total);

/** So many of its operations are done.  O(1), a store. */
void ms_progress_done(int64_t done);

/** Before a fork: what the other process tells is what both are at, until ms_progress_unshare.
 * Where memory is lacking, each tells its own.  O(1). */
void ms_progress_share(void);

/** The other process has ended.  O(1). */
void ms_progress_unshare(void);

/** What the process is at; from any thread.  Returns a copy, whose members may be of two phases for
 * an instant.  O(1). */
ms_progress ms_progress_now(void);

MS_END_DECLS

#endif
