/* Manual pages, generated from the command and option tables. */
#ifndef MS_CLI_MAN_PAGES_H
#define MS_CLI_MAN_PAGES_H

#include "cli/cli.h"

/** Append meshsim(1), in the man(7) macros of roff: commands and exit codes. */
void ms_cli_man_program(ms_buffer *out);
/** Append meshsim-COMMAND(1): all that `meshsim COMMAND --help` says. */
void ms_cli_man_command(const ms_command *command, ms_buffer *out);

#endif
