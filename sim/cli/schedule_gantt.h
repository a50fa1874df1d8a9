/* A schedule as a picture. */
#ifndef MS_CLI_SCHEDULE_GANTT_H
#define MS_CLI_SCHEDULE_GANTT_H

#include "cli/cli.h"
#include "trace/report/report.h"

/** Write the Gantt pictures of evaluated schedules, stacked in this order, as SVG to `path` ("-":
 * stdout).  drawn: [count].  MS_E_IO, MS_E_NOMEM, MS_E_USAGE when a schedule takes no time or there
 * are more than can be stacked, MS_E_NO when there is none, all reported. */
ms_status ms_cli_schedule_gantt(const ms_invocation *call, const ms_drawn_schedule *drawn,
                                size_t count, const char *path);

#endif
