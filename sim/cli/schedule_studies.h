/* Many schedules in one table, and the search for a new one. */
#ifndef MS_CLI_SCHEDULE_STUDIES_H
#define MS_CLI_SCHEDULE_STUDIES_H

#include "cli/cli.h"
#include "cli/schedule_options.h"
#include "simulate/run/job.h"

/** `schedule --compare`: evaluate, sort and print.  MS_E_NO when no row is left; all faults
 *  reported. */
ms_status ms_cli_schedule_compare(const ms_invocation *call);

/** `schedule KIND --workload`: a schedule with the sizes of the workload, and the times that its
 * passes compute.  All faults reported. */
ms_status ms_cli_schedule_of_workload(const ms_invocation *call, const ms_schedule_choice *choice,
                                      ms_job *job_out, ms_schedule_costs *costs_out);

/** `schedule --compare --workload`: simulate each schedule in a process of its own, sort and print.
 *  MS_E_NO when none fits in memory; else as the worst of them; all faults reported. */
ms_status ms_cli_schedule_compare_on_platform(const ms_invocation *call);

/** `schedule search`: what was found, and the costs it was found for.  All faults reported. */
ms_status ms_cli_schedule_search(const ms_invocation *call, ms_cli_schedule *schedule_out,
                                 ms_schedule_costs *costs_out);

#endif
