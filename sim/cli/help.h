/* Help pages and the man page, generated from the command and option tables. */
#ifndef MS_CLI_HELP_H
#define MS_CLI_HELP_H

#include "cli/cli.h"

/** Append the page of the whole program, 80 columns: usage, commands, exit codes. */
void ms_cli_help_program(ms_buffer *out);
/** Append the page of one command, 80 columns: usage, description, options with defaults, example.
 */
void ms_cli_help_command(const ms_command *command, ms_buffer *out);
/** Append the manual page of the whole program, in the man(7) macros of roff. */
void ms_cli_help_man(ms_buffer *out);

#endif
