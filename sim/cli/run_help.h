/* meshsim help: pages, manual pages, and what a shell may complete. It is no row of the table of
 * commands, because it reads that table. */
#ifndef MS_CLI_RUN_HELP_H
#define MS_CLI_RUN_HELP_H

#include "cli/cli.h"

/* Run `meshsim help WORDS...`: [count] without "help" itself.  MS_E_USAGE (reported), else as
 * ms_cli_print_page. */
ms_status ms_cli_run_help(const ms_invocation *call, size_t count, const char *const *words);

/* Print the page of a command; NULL: of the program. Returns as ms_cli_print_page. */
ms_status ms_cli_print_help(const ms_invocation *call, const ms_command *command);

#endif
