/* Many schedules in one table, and the search for a new one. */
#ifndef MS_CLI_SCHEDULE_STUDIES_H
#define MS_CLI_SCHEDULE_STUDIES_H

#include "cli/cli.h"
#include "cli/schedule_options.h"
#include "meshsim/job.h"

/** `schedule --compare`: evaluate, sort and print.  MS_E_NO when no row is left; all faults
 *  reported. */
ms_status ms_cli_schedule_compare(const ms_invocation *call);

/** Names of --compare: all kinds, or those of the comma list.
 *  *names_out: [*count_out] in the call's arena.  MS_E_USAGE, MS_E_NOMEM (reported). */
ms_status ms_cli_schedule_names(const ms_invocation *call, const char ***names_out, int *count_out);

/** Whether options that need each other stand together: --workload and what goes with it.
 *  MS_E_USAGE (reported). */
ms_status ms_cli_schedule_check_workload(const ms_invocation *call);

/** `schedule KIND --workload`: a schedule by name with the sizes of the workload, and the times
 * that its passes compute.  All faults reported. */
ms_status ms_cli_schedule_of_workload(const ms_invocation *call, const char *name, ms_job *job_out,
                                      ms_schedule_costs *costs_out);

/** `schedule --compare --workload`: simulate each schedule in a process of its own, sort and print.
 *  MS_E_NO when none fits in memory; else as the worst of them; all faults reported. */
ms_status ms_cli_schedule_compare_on_platform(const ms_invocation *call);

/** `schedule search`: what was found, and the costs it was found for.  All faults reported. */
ms_status ms_cli_schedule_search(const ms_invocation *call, ms_cli_schedule *schedule_out,
                                 ms_schedule_costs *costs_out);

#endif
