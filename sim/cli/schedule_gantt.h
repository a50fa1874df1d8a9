/* A schedule as a picture. */
#ifndef MS_CLI_SCHEDULE_GANTT_H
#define MS_CLI_SCHEDULE_GANTT_H

#include "cli/cli.h"
#include "meshsim/schedule.h"

/** A schedule to draw. */
typedef struct ms_cli_drawn {
    const ms_program *program;
    const ms_schedule_result *result;
    const char *unit; /**< of what is in flight: "per stage", or one that several have in common */
    double share;     /**< what one unit of work on one stage counts in it */
} ms_cli_drawn;

/** Write the Gantt pictures of evaluated schedules, stacked in this order, as SVG to `path` ("-":
 * stdout).  drawn: [count].  MS_E_IO, MS_E_NOMEM, MS_E_USAGE when a schedule takes no time or there
 * are more than can be stacked, MS_E_NO when there is none, all reported. */
ms_status ms_cli_schedule_gantt(const ms_invocation *call, const ms_cli_drawn *drawn, size_t count,
                                const char *path);

#endif
