/* Many schedules in one table, and the search for a new one. */
#ifndef MS_CLI_SCHEDULE_STUDIES_H
#define MS_CLI_SCHEDULE_STUDIES_H

#include "cli/cli.h"
#include "cli/schedule_options.h"

/** `schedule --compare`: evaluate, sort and print.  All faults reported. */
ms_status ms_cli_schedule_compare(const ms_invocation *call);

/** `schedule search`: what was found, and the costs it was found for.  All faults reported. */
ms_status ms_cli_schedule_search(const ms_invocation *call, ms_cli_schedule *schedule_out,
                                 ms_schedule_costs *costs_out);

#endif
