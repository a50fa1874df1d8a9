/* The note on a job that names no framework. */
#ifndef MS_CLI_NOTE_FRAMEWORK_H
#define MS_CLI_NOTE_FRAMEWORK_H

#include "cli/cli.h"
#include "job/spec.h"

/* Write a note for a job that names no framework: what Megatron Core's profile would assume for
 * keys that the workload's file does not set. There is no note for a job with a framework, or with
 * given costs, which no framework changes.  Returns MS_OK; MS_E_NOMEM (reported). */
ms_status ms_cli_note_framework(const ms_invocation *call, const ms_job_spec *spec,
                                const char *data_folder);

#endif
