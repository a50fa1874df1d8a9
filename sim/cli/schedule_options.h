/* Reading what `schedule` is told: kind, sizes, costs. */
#ifndef MS_CLI_SCHEDULE_OPTIONS_H
#define MS_CLI_SCHEDULE_OPTIONS_H

#include "cli/cli.h"
#include "schedule/schedule.h"
#include "schedule/schedule_search.h"
#include "search/schedules.h"

/** A schedule of the command line: built by kind, read from a file, or found by search. */
typedef struct ms_cli_schedule {
    ms_opened_schedule opened;
    const ms_search_result *search; /**< NULL: not found by search */
    const char *workload;           /**< whose sizes and times it has; NULL: none */
} ms_cli_schedule;

/** Sizes and options of the command line, without a kind; 0 for those not given.  MS_E_USAGE
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

#endif
