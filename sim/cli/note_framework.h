/* The note on a job that names no framework. */
#ifndef MS_CLI_NOTE_FRAMEWORK_H
#define MS_CLI_NOTE_FRAMEWORK_H

#include "cli/cli.h"
#include "meshsim/spec.h"

/* Note of a job that names no framework what Megatron Core's profile would assume where the
 * workload's file is silent.  Says nothing of a job with a framework, or of given costs, which no
 * framework changes.  Returns MS_OK; MS_E_NOMEM (reported). */
ms_status ms_cli_note_framework(const ms_invocation *call, const ms_job_spec *spec,
                                const char *data_folder);

#endif
