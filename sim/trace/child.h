/* HDF5 in a process of its own.
 *
 * HDF5 crashes on some damaged files (its global heap has no checksum), runs in an endless loop on
 * others, and crashes or ends the program where memory runs out, at about one failed allocation in
 * three. So a child process writes each trace, and a child process reads a trace completely before
 * this process reads it. */
#ifndef MS_TRACE_CHILD_H
#define MS_TRACE_CHILD_H

#include <sys/resource.h>

#include "meshsim/status.h"

enum { MS_CHILD_CAUSE_B = 512 };

/* The work of a child: returns MS_OK, or another status with its cause in words. */
typedef ms_status ms_child_work(void *context, char cause_out[MS_CHILD_CAUSE_B]);

/* What the child may use; 0: as much as this process may. */
typedef struct ms_child_limits {
    rlim_t cpu_s;
    rlim_t memory_B; /* of address space, beyond what this process has */
} ms_child_limits;

/* Do some work with HDF5 in a child process, and wait for its end. Memory that the work changes
 * stays as it was in this process.
 *  cause_out: in words unless MS_OK.  Returns what the work returned; MS_E_NOMEM where memory ran
 * out; MS_E_INTERRUPTED; MS_E_IO where the system starts no process; MS_E_BUG where HDF5 crashed or
 * needed more than cpu_s. */
ms_status ms_child_run(ms_child_work *work, void *context, const ms_child_limits *limits,
                       char cause_out[MS_CHILD_CAUSE_B]);

#endif
