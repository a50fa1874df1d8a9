/* What a step of a job would take if one thing of its cluster were better. */
#ifndef MS_CLI_RUN_WHATIF_H
#define MS_CLI_RUN_WHATIF_H

#include "cli/cli.h"
#include "search/whatif.h"

/* The rows of --whatif; none without it. */
typedef struct ms_cli_whatif {
    ms_whatif *rows; /* [count] */
    size_t count;
    bool is_asked;
} ms_cli_whatif;

/* Simulate what --whatif asks for, before anything else is: the call has --whatif and --jobs.
 *  MS_E_USAGE (reported) where they do not go with the call's other options. */
ms_status ms_cli_find_whatif(const ms_invocation *call, const ms_job_request *request,
                             const ms_job *job, ms_cli_whatif *whatif_out);

/* Simulate what --whatif asks for, of a job whose step time is known; nothing without --whatif.
 *  request: by which the job was read, but for `settings`, which stand behind its own. step_time_s:
 * of the job. Rows come by gain. */
ms_status ms_cli_find_whatif_of(const ms_invocation *call, const ms_job_request *request,
                                const ms_words *settings, double step_time_s,
                                ms_cli_whatif *whatif_out);

#endif
