/* Commands that the Python package beside the program answers, as it describes them itself
 * (scripts/python/meshsim/tools/_describe.py). */
#ifndef MS_CLI_TOOL_COMMANDS_H
#define MS_CLI_TOOL_COMMANDS_H

#include "cli/cli.h"

/** The commands of the package, NULL behind the last; read once from the tools.json that the build
 * makes, and static from then on. Without that file they have their names alone, and running one
 * says what is missing. */
const ms_command *const *ms_cli_tool_commands(void);

#endif
