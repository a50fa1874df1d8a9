/**
 * @file
 * Calls that the operating system has failed: memory that it did not give, files that it could not
 * read.
 *
 * Such a failure says nothing about the input. Code that expects faults of its input, such as a
 * search that leaves out what cannot be, would take it for one of these, and its result would be
 * wrong. So whoever meets a failure notes it here as well, and whoever writes a result, or passes
 * over a fault, asks whether something has failed since it began.
 */
#ifndef MESHSIM_FAILURE_H
#define MESHSIM_FAILURE_H

#include <stdbool.h>
#include <stddef.h>

#include "meshsim/decls.h"
#include "meshsim/status.h"

MS_BEGIN_DECLS

/** Note that memory ran out.  O(1). */
void ms_failure_note_memory(void);

/** Note that a file could not be read, unless that says something of the file, as ENOENT and EACCES
 * do.  path: its name.  error: an errno.  O(1). */
void ms_failure_note_file(const char *path, int error);

/** Failures of this process so far.  O(1). */
size_t ms_failure_count(void);

/** What a status becomes where something has failed: MS_E_NOMEM or MS_E_IO, as the last failure
 * was; `status` where nothing has, and where it says so already.
 *  before: what ms_failure_count said when the work began.  O(1). */
ms_status ms_failure_since(size_t before, ms_status status);

/** The last failure in words, such as "'a.yaml': cannot read: Input/output error"; "" without one.
 * Static storage, until the next one. */
const char *ms_failure_text(void);

/** Whether a file or folder of that name is there. Where the system cannot say, that is noted, and
 * the answer is no.  path: any text. */
bool ms_file_is_there(const char *path);

MS_END_DECLS

#endif
