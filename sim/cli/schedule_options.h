/* What the modes of `meshsim schedule` share: reading kinds, sizes and costs from options, CSV
 * files, pictures, tables of many schedules, and the search for a new one. */
#ifndef MS_CLI_SCHEDULE_OPTIONS_H
#define MS_CLI_SCHEDULE_OPTIONS_H

#include "cli/cli.h"
#include "schedule/schedule_search.h"
#include "search/schedules.h"
#include "simulate/run/job.h"
#include "trace/report/report.h"

/** Ending of the names of schedules whose passes are moved into earlier gaps, as by --reorder. */
#define MS_CLI_REORDERED "-reordered"

/** A schedule of the command line: built by kind, read from a file, or found by search. */
typedef struct ms_cli_schedule {
    ms_opened_schedule opened;
    const ms_search_result *search; /**< how it was found; NULL: not by search */
    const char *workload; /**< name of the workload whose sizes and times it has; NULL: none */
} ms_cli_schedule;

/** Read the sizes of the command line (P, V, M, group, slices) and --reorder.  *spec_out: a size
 * that is not given is 0, and no kind is set.  Returns MS_OK; MS_E_USAGE (reported). */
ms_status ms_cli_schedule_sizes(const ms_invocation *call, ms_schedule_spec *spec_out);
/** Check that --ranks and --microbatches were given.  Returns MS_OK; MS_E_USAGE (reported). */
ms_status ms_cli_schedule_need_sizes(const ms_invocation *call);
/** Find the schedule that a name stands for: a kind, a kind that takes --reorder with
 * MS_CLI_REORDERED, or "csv:FILE".  *choice_out: borrows `name`.
 * Returns MS_OK; MS_E_USAGE (reported, with the nearest kind). */
ms_status ms_cli_schedule_choice(const ms_invocation *call, const char *name,
                                 ms_schedule_choice *choice_out);
/** Build or read the schedule that the first positional argument names, with the sizes of the
 * command line.  *schedule_out: in the arena of the call.  Returns MS_OK; MS_E_USAGE for options,
 * MS_E_INPUT for a file, MS_E_IO, MS_E_NOMEM, all reported. */
ms_status ms_cli_schedule_load(const ms_invocation *call, ms_cli_schedule *schedule_out);
/** Write the schedule to the file of --csv, in the form of --csv-form, --csv-dialect and
 * --merge-bw; does nothing without --csv. A schedule from a file keeps its form where no form is
 * asked for.  Returns MS_OK; MS_E_USAGE, MS_E_INPUT (its lists deadlock), MS_E_IO, MS_E_NOMEM, all
 * reported. */
ms_status ms_cli_schedule_write(const ms_invocation *call, const ms_cli_schedule *schedule);
/** Read --memory-cap as a number of microbatches in flight per rank, > 0.  *cap_out: 0 without the
 * option.  Returns MS_OK; MS_E_USAGE (reported), also for a size in bytes. */
ms_status ms_cli_schedule_cap(const ms_invocation *call, double *cap_out);
/** Read the costs of a program: times per stage, latencies per boundary, and how pairs and sends
 * run. stages: virtual stages of the whole model.  *costs_out: its lists are [stages], and p2p
 * [stages - 1], in the arena of the call.  Returns MS_OK; MS_E_USAGE, MS_E_INPUT (a --costs file),
 * MS_E_IO, MS_E_NOMEM, all reported. */
ms_status ms_cli_schedule_costs(const ms_invocation *call, int stages,
                                ms_schedule_costs *costs_out);

/** Write the Gantt pictures of evaluated schedules, stacked in the order of `drawn`, as SVG, PNG or
 * PDF by the ending of `path` ("-": SVG to the standard output).  drawn: [count].  Returns MS_OK;
 * MS_E_IO; MS_E_NOMEM; MS_E_USAGE when a schedule takes no time or there are more than can be
 * stacked; MS_E_NO when `count` is 0; all reported. */
ms_status ms_cli_schedule_gantt(const ms_invocation *call, const ms_drawn_schedule *drawn,
                                size_t count, const char *path);

/** `schedule --compare`: evaluate the schedules, sort their table and print it.  Returns MS_E_NO
 * when no row is left in the table; all faults reported. */
ms_status ms_cli_schedule_compare(const ms_invocation *call);

/** `schedule KIND --workload`: build a schedule with the sizes of the workload.  *job_out: the
 * workload with that schedule.  *costs_out: the computing times of its passes per stage [s].  Both
 * in the arena of the call.  All faults reported. */
ms_status ms_cli_schedule_of_workload(const ms_invocation *call, const ms_schedule_choice *choice,
                                      ms_job *job_out, ms_schedule_costs *costs_out);

/** `schedule --compare --workload`: simulate each schedule in a process of its own, sort the table
 * and print it.  Returns as ms_schedules_verdict: MS_E_NO when no schedule fits in memory; else the
 * worst status of a simulation.  All faults reported. */
ms_status ms_cli_schedule_compare_on_platform(const ms_invocation *call);

/** `schedule search`: find a schedule.  *costs_out: the costs it was found for.  Both results are
 * in the arena of the call.  All faults reported. */
ms_status ms_cli_schedule_search(const ms_invocation *call, ms_cli_schedule *schedule_out,
                                 ms_schedule_costs *costs_out);

#endif
