/* The table of commands. A command is one file cmd_NAME.c, declared here and named in commands.c;
 * those that the Python package answers are found by tool_commands.c. */
#ifndef MS_CLI_COMMANDS_H
#define MS_CLI_COMMANDS_H

#include "cli/cli.h"

extern const ms_command ms_cmd_new;
extern const ms_command ms_cmd_run;
extern const ms_command ms_cmd_runs;
extern const ms_command ms_cmd_check;
extern const ms_command ms_cmd_mesh;
extern const ms_command ms_cmd_schedule;
extern const ms_command ms_cmd_search;
extern const ms_command ms_cmd_sweep;
extern const ms_command ms_cmd_merge;
extern const ms_command ms_cmd_platform;
extern const ms_command ms_cmd_textbook;
extern const ms_command ms_cmd_collective;
extern const ms_command ms_cmd_times;
extern const ms_command ms_cmd_compare;
extern const ms_command ms_cmd_report;
extern const ms_command ms_cmd_schema;

/** All commands in the order of the help page, NULL-terminated; static storage. */
const ms_command *const *ms_cli_commands(void);
/** Command of a name, NULL if there is none.  O(commands). */
const ms_command *ms_cli_find_command(const char *name);
/** Report a command that there is not, with the nearest one, and return MS_E_USAGE. */
ms_status ms_cli_unknown_command(const char *name, ms_diag *diag);

/** The commands that the Python package beside the program answers, as it describes them itself
 * (scripts/python/meshsim/tools/_describe.py), NULL behind the last; read once from the tools.json
 * that the build makes, and static from then on. Without that file they have their names alone, and
 * running one says what is missing. */
const ms_command *const *ms_cli_tool_commands(void);

#endif
