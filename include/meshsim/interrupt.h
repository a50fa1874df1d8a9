/**
 * @file
 * Ctrl-C: an interrupted program removes its temporary file and exits 130 (SIGINT) or 143
 * (SIGTERM), leaving older results intact.
 */
#ifndef MESHSIM_INTERRUPT_H
#define MESHSIM_INTERRUPT_H

#include "meshsim/decls.h"

MS_BEGIN_DECLS

/** Handle SIGINT and SIGTERM as above, and ignore SIGPIPE so that writing to a closed pipe fails
 * with EPIPE instead. May be called again.  O(1), no allocation. */
void ms_interrupt_install(void);

/** From now on an interrupt removes this file first; one file at a time, the last one named.
 *  path: copied; one of 4,096 bytes or more cannot be opened and is not guarded either.  Forked
 * children do not remove it.  O(length), no allocation. */
void ms_interrupt_guard_file(const char *path);

/** The guarded file, if any, stays from now on (it has been renamed or removed). */
void ms_interrupt_unguard_file(void);

MS_END_DECLS

#endif
