/**
 * @file
 * Work with a foreign library in a process of its own.
 *
 * HDF5 crashes on some damaged files, runs in an endless loop on others, and crashes or ends the
 * program where memory runs out. SimGrid ends the program where memory runs out, too, and supports
 * one simulation in a process only. So a child process calls them, and the way in which the child
 * ends shows what happened.
 */
#ifndef MESHSIM_CHILD_H
#define MESHSIM_CHILD_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/** Room for the cause of a failure in words, with its NUL [B]. */
enum { MS_CHILD_CAUSE_B = 512 };

/** The work of a child: returns MS_OK, or another status with its cause in words. */
typedef ms_status ms_child_work(void *context, char cause_out[MS_CHILD_CAUSE_B]);

/** The library that the child calls, and the limits of the child; a limit of 0 is the limit of this
 * process. */
typedef struct ms_child_options {
    const char *library; /**< name for messages about a crash of the child, such as "HDF5" */
    int64_t cpu_s;       /**< processor time [s] */
    int64_t memory_B;    /**< address space, in addition to what this process uses [B] */
} ms_child_options;

/** Run `work` in a child process, and wait until the child has ended. What the work changes in
 * memory is lost, except in memory of ms_child_share. While the child runs, this process passes the
 * child's progress on to ms_progress_done.
 *  cause_out: the reason in words, unless MS_OK is returned.  Returns what the work returned;
 * MS_E_NOMEM where memory ran out; MS_E_INTERRUPTED; MS_E_IO where the system starts no process;
 * MS_E_BUG where the library crashed or needed more than cpu_s. */
ms_status ms_child_run(ms_child_work *work, void *context, const ms_child_options *options,
                       char cause_out[MS_CHILD_CAUSE_B]);

/** Map memory that this process shares with the children that it starts afterwards; all bytes are
 * 0. Returns NULL where there is no memory.  Release it with ms_child_unshare. */
void *ms_child_share(size_t size_B);

/** Release memory of ms_child_share; NULL does nothing. */
void ms_child_unshare(void *memory, size_t size_B);

#endif
