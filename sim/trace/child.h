/* HDF5 in a process of its own.
 *
 * HDF5 crashes on some damaged files (its global heap has no checksum), goes round in circles on
 * others, and where memory runs out it crashes or ends the program, at about one allocation in
 * three. None of that may take down who called us, so whatever reads a file with HDF5 runs in a
 * child, which answers in shared memory. What writes does without HDF5 (h5.md). */
#ifndef MS_TRACE_CHILD_H
#define MS_TRACE_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "meshsim/status.h"

/* What came of the work. */
typedef struct ms_child_verdict {
    bool has_begun;   /* HDF5 is up: a crash before has no cause but lack of memory */
    ms_status status; /* MS_E_BUG: HDF5 crashed, and not for lack of memory */
    char cause[512];  /* in words unless MS_OK; "": nobody said */
} ms_child_verdict;

/* What the child may use; 0: as much as there is. */
typedef struct ms_child_limits {
    rlim_t cpu_s;
    rlim_t memory_B; /* of address space, beyond what this process has */
} ms_child_limits;

/* Zeroed memory that a child shares; NULL when there is none. */
void *ms_child_share(size_t size);
void ms_child_unshare(void *shared, size_t size);

/* Start work(context, verdict) in a child.
 *  work: what is to come back lies in shared memory, in files or goes through a pipe.  verdict: in
 * shared memory; work sets it, a crash overrules it.  Returns the child, to be given to
 * ms_child_wait; < 0: the system starts none, errno says why. */
pid_t ms_child_start(void (*work)(void *context, ms_child_verdict *verdict), void *context,
                     const ms_child_limits *limits, ms_child_verdict *verdict);

/* Wait for its end, which stands in its verdict. */
void ms_child_wait(pid_t child, ms_child_verdict *verdict);

/* Set the verdict, unless there is a fault already. */
void ms_child_verdict_fail(ms_child_verdict *verdict, ms_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
