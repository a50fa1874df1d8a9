/* What the modes of `schedule` share: kind, sizes and costs from options, files, pictures, many
 * schedules in one table, and the search for a new one. */
#ifndef MS_CLI_SCHEDULE_OPTIONS_H
#define MS_CLI_SCHEDULE_OPTIONS_H

#include "cli/cli.h"
#include "schedule/schedule_search.h"
#include "search/schedules.h"
#include "simulate/run/job.h"
#include "trace/report/report.h"

/** A schedule of the command line: built by kind, read from a file, or found by search. */
typedef struct ms_cli_schedule {
    ms_opened_schedule opened;
    const ms_search_result *search; /**< NULL: not found by search */
    const char *workload;           /**< whose sizes and times it has; NULL: none */
} ms_cli_schedule;

/** Sizes of the command line, without a kind; a size that is not given is 0.  MS_E_USAGE
 * (reported). */
ms_status ms_cli_schedule_sizes(const ms_invocation *call, ms_schedule_spec *spec_out);
/** P and M must have been given.  MS_E_USAGE (reported). */
ms_status ms_cli_schedule_need_sizes(const ms_invocation *call);
/** The schedule that a name stands for: a kind's, or csv:FILE.  MS_E_USAGE (reported, with the
 * nearest kind). */
ms_status ms_cli_schedule_choice(const ms_invocation *call, const char *name,
                                 ms_schedule_choice *choice_out);
/** The schedule that the first positional names, with the sizes of the command line.  MS_E_USAGE
 * for options, MS_E_INPUT for a file, MS_E_IO, MS_E_NOMEM, all reported. */
ms_status ms_cli_schedule_load(const ms_invocation *call, ms_cli_schedule *schedule_out);
/** Write the schedule to --csv, if that was given, in the form the other options say. */
ms_status ms_cli_schedule_write(const ms_invocation *call, const ms_cli_schedule *schedule);
/** The cap of --memory-cap, > 0; 0 when not given.  MS_E_USAGE (reported). */
ms_status ms_cli_schedule_cap(const ms_invocation *call, double *cap_out);
/** Costs per stage of a program with `stages` model stages; lists in the call's arena.
 *  MS_E_USAGE, MS_E_INPUT (a --costs file), MS_E_IO, MS_E_NOMEM, all reported. */
ms_status ms_cli_schedule_costs(const ms_invocation *call, int stages,
                                ms_schedule_costs *costs_out);

/** Write the Gantt pictures of evaluated schedules, stacked in this order, as SVG to `path` ("-":
 * stdout).  drawn: [count].  MS_E_IO, MS_E_NOMEM, MS_E_USAGE when a schedule takes no time or there
 * are more than can be stacked, MS_E_NO when there is none, all reported. */
ms_status ms_cli_schedule_gantt(const ms_invocation *call, const ms_drawn_schedule *drawn,
                                size_t count, const char *path);

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
