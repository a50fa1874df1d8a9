/* Printing an evaluated schedule. */
#ifndef MS_CLI_SHOW_SCHEDULE_H
#define MS_CLI_SHOW_SCHEDULE_H

#include "cli/cli.h"
#include "schedule/schedule.h"
#include "schedule/schedule_search.h"
#include "schedule/schedule_study.h"

/** All that is shown of one schedule. */
typedef struct ms_cli_shown {
    const ms_program *program;
    const ms_schedule_result *result;
    ms_schedule_gap gap;
    double period;                  /**< per microbatch, 0: unknown */
    const ms_search_result *search; /**< NULL: not found by search */
    const char *workload;           /**< whose times it has; NULL: none */
} ms_cli_shown;

/** Print a schedule in the form that is asked for; its text has a picture in characters as wide as
 * the terminal. Returns as ms_cli_show. */
ms_status ms_cli_show_schedule(const ms_invocation *call, const ms_cli_shown *shown);

#endif
