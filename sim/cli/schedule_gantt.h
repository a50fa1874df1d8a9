/* A schedule as a picture. */
#ifndef MS_CLI_SCHEDULE_GANTT_H
#define MS_CLI_SCHEDULE_GANTT_H

#include "cli/cli.h"
#include "meshsim/schedule.h"

/** Write the Gantt picture of an evaluated schedule as SVG to `path` ("-": stdout).  MS_E_IO,
 * MS_E_NOMEM, MS_E_USAGE when the schedule takes no time, all reported. */
ms_status ms_cli_schedule_gantt(const ms_invocation *call, const ms_program *program,
                                const ms_schedule_result *result, const char *path);

#endif
