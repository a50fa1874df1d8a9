/* What commands that run many simulations share: how many at once, and how far they are. */
#ifndef MS_CLI_WORKER_OPTIONS_H
#define MS_CLI_WORKER_OPTIONS_H

#include "cli/cli.h"

#define MS_OPTION_JOBS(text) "jobs", "J", .fallback = "processors, at most 4", .help = (text)

/* Value of --jobs, which the command has; as many as there are processors, at most 4, without it.
 *  MS_E_USAGE (reported). */
ms_status ms_cli_jobs(const ms_invocation *call, int *jobs_out);

/* Tell on a terminal how far the workers are, where they take longer than two seconds.
 *  start_s: const double *, when they began on the clock of ms_wall_s. */
void ms_cli_show_progress(void *start_s, size_t done, size_t count);

/* Leave the line that it may have begun, for what is said after an interrupt. */
void ms_cli_leave_progress(const double *start_s);

#endif
