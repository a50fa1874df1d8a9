/* Commands that the Python package beside the program answers. */
#ifndef MS_CLI_TOOL_H
#define MS_CLI_TOOL_H

#include "cli/cli.h"

/** Run a command in the Python package that stands beside the program: as installed
 * (share/meshsim/python) or in the source tree (scripts/python). Never from PATH, the current
 * folder or what PYTHONPATH says. Its words are those that were parsed, with long names. Does not
 * return where it can start Python; else MS_E_IO, MS_E_NOMEM (both reported). */
ms_status ms_cli_run_tool(const ms_invocation *call);

#endif
