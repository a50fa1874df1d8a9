/* Help pages and manual pages, generated from the command and option tables, and `meshsim help`.
 * That command is no row of the table of commands, because it reads that table. */
#ifndef MS_CLI_HELP_H
#define MS_CLI_HELP_H

#include "cli/cli.h"

/** Append the page of the whole program, 80 columns: usage, commands, exit codes. */
void ms_cli_help_program(ms_buffer *out);
/** Append the page of one command, 80 columns: usage, description, options with defaults,
 * example. */
void ms_cli_help_command(const ms_command *command, ms_buffer *out);

/** The row of --help, which every command has; its letter is -h where the command has no -h. */
ms_option ms_cli_help_option(const ms_command *command);

/** Append meshsim(1), in the man(7) macros of roff: commands and exit codes. */
void ms_cli_man_program(ms_buffer *out);
/** Append meshsim-COMMAND(1): all that `meshsim COMMAND --help` says. */
void ms_cli_man_command(const ms_command *command, ms_buffer *out);

/* Run `meshsim help WORDS...`: [count] without "help" itself.  MS_E_USAGE (reported), else as
 * ms_cli_print_page. */
ms_status ms_cli_run_help(const ms_invocation *call, size_t count, const char *const *words);

/* Print the help page of a command, or its manual page; NULL: that of the program. Returns as
 * ms_cli_print_page. */
ms_status ms_cli_print_help(const ms_invocation *call, const ms_command *command, bool is_man);

#endif
