/* The table of commands. A command is one file cmd_NAME.c, declared here and named in commands.c;
 * those that Python answers describe themselves (tool_commands.h). */
#ifndef MS_CLI_COMMANDS_H
#define MS_CLI_COMMANDS_H

#include "cli/cli.h"

extern const ms_command ms_cmd_new;
extern const ms_command ms_cmd_run;
extern const ms_command ms_cmd_check;
extern const ms_command ms_cmd_mesh;
extern const ms_command ms_cmd_schedule;
extern const ms_command ms_cmd_search;
extern const ms_command ms_cmd_sweep;
extern const ms_command ms_cmd_merge;
extern const ms_command ms_cmd_platform;
extern const ms_command ms_cmd_textbook;
extern const ms_command ms_cmd_collective;
extern const ms_command ms_cmd_compare;
extern const ms_command ms_cmd_validate;
extern const ms_command ms_cmd_calibrate;
extern const ms_command ms_cmd_report;
extern const ms_command ms_cmd_schema;

/** All commands in the order of the help page, NULL-terminated; static storage. */
const ms_command *const *ms_cli_commands(void);
/** Command of a name, NULL if there is none.  O(commands). */
const ms_command *ms_cli_find_command(const char *name);
/** Nearest command (or "help") to a mistyped name, NULL if none is near. */
const char *ms_cli_nearest_command(const char *name);

#endif
