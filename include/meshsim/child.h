/**
 * @file
 * Work with a foreign library in a process of its own.
 *
 * HDF5 crashes on some damaged files, runs in an endless loop on others, and crashes or ends the
 * program where memory runs out; SimGrid does the latter, too, and has one simulation in a process.
 * So a child process does such work, and its end says what became of it.
 */
#ifndef MESHSIM_CHILD_H
#define MESHSIM_CHILD_H

#include <stddef.h>
#include <stdint.h>

#include "meshsim/decls.h"
#include "meshsim/status.h"

MS_BEGIN_DECLS

enum { MS_CHILD_CAUSE_B = 512 };

/** The work of a child: returns MS_OK, or another status with its cause in words. */
typedef ms_status ms_child_work(void *context, char cause_out[MS_CHILD_CAUSE_B]);

/** What the child works with, and what it may use; 0: as much as this process may. */
typedef struct ms_child_options {
    const char *library; /**< whose crash the work's crash is, such as "HDF5" */
    int64_t cpu_s;
    int64_t memory_B; /**< of address space, beyond what this process has */
} ms_child_options;

/** Do some work in a child process, and wait for its end. Memory that the work changes stays as it
 * was in this process, unless both share it; how far it has come is told by ms_progress_done.
 *  cause_out: in words unless MS_OK.  Returns what the work returned; MS_E_NOMEM where memory ran
 * out; MS_E_INTERRUPTED; MS_E_IO where the system starts no process; MS_E_BUG where the library
 * crashed or needed more than cpu_s. */
ms_status ms_child_run(ms_child_work *work, void *context, const ms_child_options *options,
                       char cause_out[MS_CHILD_CAUSE_B]);

/** Memory that this process shares with the children that it starts from now on, zeroed; NULL where
 * there is none.  To be given back by ms_child_unshare. */
void *ms_child_share(size_t size_B);

/** Give shared memory back; NULL is none. */
void ms_child_unshare(void *memory, size_t size_B);

MS_END_DECLS

#endif
