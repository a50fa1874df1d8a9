/* Temporary files that show whether the process that made them still runs.
 *
 * A process holds a lock on its temporary file for as long as it lives, however it ends. So a file
 * that can be locked has lost its process, and may be removed. Process ids would not show this:
 * every container counts its own. A lock is reliable between processes of one kernel only, because
 * some network file systems keep locks on each machine. So the name of a file contains a part of
 * the kernel's boot id, and files of other kernels are left alone. */
#ifndef MS_BASE_TEMPORARY_H
#define MS_BASE_TEMPORARY_H

#include <stddef.h>

/* Create an empty file in `folder`. Only its owner can read it; it is locked and guarded against
 * interrupts (interrupt.h).
 *  path_out: [size] its path: the folder and 25 more bytes.  Returns its descriptor; < 0: errno
 * says why. */
int ms_temporary_create(const char *folder, char *path_out, size_t size);

/* Remove the temporary files in `folder` that dead processes of this user and this kernel have
 * left. A file that cannot be removed stays, without a report. */
void ms_temporary_sweep(const char *folder);

#endif
