/* What-ifs: the step time that a job would have if one property of its cluster were better. */
#ifndef MS_CLI_RUN_WHATIF_H
#define MS_CLI_RUN_WHATIF_H

#include "cli/cli.h"
#include "search/whatif.h"

/* The simulated what-ifs. */
typedef struct ms_cli_whatif {
    ms_whatif *rows; /* [count] */
    size_t count;
    bool is_asked; /* --whatif was given; else there are no rows */
} ms_cli_whatif;

/* Simulate the what-ifs of a job whose own step is not simulated yet; nothing without --whatif. It
 * has to come before any simulation in this process. The command has --whatif and --jobs.  request:
 * by which the job was read.  *whatif_out: rows in the call's arena, in the order of
 * ms_whatif_list, without gains.  Returns MS_OK; MS_E_USAGE (reported) where other options exclude
 * --whatif; else as ms_whatif_run. */
ms_status ms_cli_simulate_whatifs(const ms_invocation *call, const ms_job_request *request,
                                  const ms_job *job, ms_cli_whatif *whatif_out);

/* Simulate the what-ifs of a job whose step time is known; nothing without --whatif.  request,
 * settings: the job is that of the request with `settings` behind the request's own overrides.
 * step_time_s: of that job [s].  *whatif_out: rows in the call's arena, largest gain first.
 * Returns as ms_job_load and ms_whatif_run. */
ms_status ms_cli_simulate_whatifs_of(const ms_invocation *call, const ms_job_request *request,
                                     const ms_words *settings, double step_time_s,
                                     ms_cli_whatif *whatif_out);

#endif
