/* Reading what `schedule` is told: kind, sizes, costs. */
#ifndef MS_CLI_SCHEDULE_OPTIONS_H
#define MS_CLI_SCHEDULE_OPTIONS_H

#include "cli/cli.h"
#include "meshsim/schedule.h"

/** Sizes and options of the command line, without a kind.  MS_E_USAGE (reported). */
ms_status ms_cli_schedule_sizes(const ms_invocation *call, ms_schedule_spec *spec_out);
/** Kind of the first positional.  MS_E_USAGE (reported, with the nearest name). */
ms_status ms_cli_schedule_kind(const ms_invocation *call, const char *name,
                               ms_schedule_kind *kind_out);
/** Costs per stage of a program with `stages` model stages; lists in the call's arena.
 *  MS_E_USAGE, MS_E_INPUT (a --costs file), MS_E_IO, MS_E_NOMEM, all reported. */
ms_status ms_cli_schedule_costs(const ms_invocation *call, int stages,
                                ms_schedule_costs *costs_out);

#endif
