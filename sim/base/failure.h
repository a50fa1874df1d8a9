/**
 * @file
 * Failures of the operating system: memory that it did not give, files that it could not read.
 *
 * Such a failure is no fault of the input. But code that skips faulty input, such as a search that
 * leaves out illegal candidates, would mistake it for one, and its result would be wrong. So code
 * that meets a failure records it here, and code that writes a result or skips faulty input asks
 * whether a failure was recorded since it began.
 */
#ifndef MESHSIM_FAILURE_H
#define MESHSIM_FAILURE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/** Record that memory ran out.  O(1). */
void ms_failure_note_memory(void);

/** Record that a file could not be read. Errors that are about the file, such as ENOENT and EACCES,
 * are ignored.  path: its name.  error: an errno.  O(1). */
void ms_failure_note_file(const char *path, int error);

/** Failures of this process so far.  O(1). */
size_t ms_failure_count(void);

/** The status of work during which the system may have failed, and which ended with `status`.
 * Returns MS_E_NOMEM or MS_E_IO, by the last failure since the work began; `status` if there was no
 * failure since, or if `status` is MS_E_NOMEM, MS_E_IO or MS_E_INTERRUPTED already.
 *  before: ms_failure_count() when the work began.  O(1). */
ms_status ms_failure_since(size_t before, ms_status status);

/** The last failure as a message, such as "cannot read 'a.yaml': Input/output error"; "" without
 * one. Static storage, valid until the next failure. */
const char *ms_failure_text(void);

/** Whether a file or folder exists. If the system cannot tell, the failure is recorded and the
 * answer is no.  path: any text. */
bool ms_file_is_there(const char *path);

#endif
