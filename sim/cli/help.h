/* Help pages, generated from the command and option tables, and what manual pages share with them.
 */
#ifndef MS_CLI_HELP_H
#define MS_CLI_HELP_H

#include "cli/cli.h"

/** What the program is, in a line. */
extern const char MS_CLI_SUMMARY[];

/** An exit code and what it means. */
typedef struct ms_cli_exit {
    const char *code; /**< NULL ends the rows */
    const char *meaning;
} ms_cli_exit;

extern const ms_cli_exit MS_CLI_EXITS[];

/** Append the page of the whole program, 80 columns: usage, commands, exit codes. */
void ms_cli_help_program(ms_buffer *out);
/** Append the page of one command, 80 columns: usage, description, options with defaults, example.
 */
void ms_cli_help_command(const ms_command *command, ms_buffer *out);

/** The row of --help, which every command has; its letter is -h where the command has no -h. */
ms_option ms_cli_help_option(const ms_command *command);
/** Append an option as it is typed: "-p, --ranks P". */
void ms_cli_help_option_words(const ms_option *option, ms_buffer *out);
/** Append what an option does: its help with default, repetition and modes. */
void ms_cli_help_option_text(const ms_command *command, const ms_option *option, ms_buffer *out);
/** Append a command line, broken as a shell allows it, with its line feed. */
void ms_cli_help_example(const char *text, ms_buffer *out);

#endif
