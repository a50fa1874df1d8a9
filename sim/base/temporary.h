/* Temporary files that tell whether whoever made them still lives.
 *
 * A writer holds a lock on its file for as long as it lives, whatever ends it, so a file
 * that can be locked belongs to nobody any more. Process ids cannot tell: every container counts
 * its own. Locks can be trusted between processes of one kernel only (some network file systems
 * keep them on each machine), so the name holds a piece of the kernel's boot id and others' files
 * are left alone. */
#ifndef MS_BASE_TEMPORARY_H
#define MS_BASE_TEMPORARY_H

#include <stddef.h>

/* Create a file in `folder`, empty, for its owner only, locked and guarded against interrupts.
 * path_out: [size] its name, of 25 bytes behind the folder.  Returns its descriptor; < 0: errno
 * says why. */
int ms_temporary_create(const char *folder, char *path_out, size_t size);

/* Remove what dead processes of this user and this kernel left in `folder`; what cannot be removed
 * stays, and nothing is said. */
void ms_temporary_sweep(const char *folder);

#endif
