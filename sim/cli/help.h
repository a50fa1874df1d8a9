/* Help pages and manual pages, generated from the tables of commands and options, and the command
 * `meshsim help`. That command has no row in the table of commands, because it reads that table. */
#ifndef MS_CLI_HELP_H
#define MS_CLI_HELP_H

#include "cli/cli.h"

/** Append the page of the whole program, 80 columns: usage, commands, exit codes. */
void ms_cli_help_program(ms_buffer *out);
/** Append the page of one command, 80 columns: usage, description, options with defaults,
 * example. */
void ms_cli_help_command(const ms_command *command, ms_buffer *out);

/** The row of the option --help, which every command has. It has the letter -h unless the command
 * has an option -h of its own. */
ms_option ms_cli_help_option(const ms_command *command);

/** Append the manual page meshsim(1), in the man(7) macros of roff: commands and exit codes. */
void ms_cli_man_program(ms_buffer *out);
/** Append the manual page meshsim-COMMAND(1), with the contents of `meshsim COMMAND --help`. */
void ms_cli_man_command(const ms_command *command, ms_buffer *out);

/* Run `meshsim help WORDS...`: print a help page, with --man a manual page, with --complete the
 * words that complete a command line.  words: [count] behind "help".  Returns MS_OK; MS_E_USAGE
 * (reported), else as ms_cli_print_page. */
ms_status ms_cli_run_help(const ms_invocation *call, size_t count, const char *const *words);

/* Print the help page of a command.  command: NULL: the page of the program.  is_man: print the
 * manual page instead.  Returns as ms_cli_print_page. */
ms_status ms_cli_print_help(const ms_invocation *call, const ms_command *command, bool is_man);

#endif
