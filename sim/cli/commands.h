/* The table of commands. A command is one file cmd_NAME.c, declared here and listed in commands.c.
 * tool_commands.c finds the commands that the Python package answers. */
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
extern const ms_command ms_cmd_replay;
extern const ms_command ms_cmd_schema;

/** All commands in the order of the help page, NULL-terminated; static storage. */
const ms_command *const *ms_cli_commands(void);
/** Command of a name, NULL if there is none.  O(commands). */
const ms_command *ms_cli_find_command(const char *name);
/** Report a command that does not exist, with the nearest one.  Returns MS_E_USAGE. */
ms_status ms_cli_unknown_command(const char *name, ms_diag *diag);

/** The commands that the Python package beside the program answers, as it describes them itself
 * (scripts/python/meshsim/tools/_describe.py); NULL behind the last. They are read from tools.json,
 * which the build makes, at the first call, and are static from then on. Where that file is
 * missing, only their names are known, and running one reports that the package is not
 * installed. */
const ms_command *const *ms_cli_tool_commands(void);

#endif
