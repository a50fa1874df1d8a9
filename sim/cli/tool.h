/* Commands that the Python package beside the program answers. */
#ifndef MS_CLI_TOOL_H
#define MS_CLI_TOOL_H

#include "cli/cli.h"

/** Run a command in the Python package that stands beside the program: as installed
 * (share/meshsim/python) or in the source tree (scripts/python). Never from PATH, the current
 * folder or what PYTHONPATH says. Its words are those that were parsed, with long names. Does not
 * return where it can start Python; else MS_E_IO, MS_E_NOMEM (both reported). */
ms_status ms_cli_run_tool(const ms_invocation *call);

/** Draw what an option asks for, by the tool `plot`, which gets a result tree as JSON on its
 * standard input; nothing without the option. Waits for it; it ends when this program does.
 *  words: further ones such as "--of=mesh", up to a NULL; NULL: none.  tree: as --json prints it;
 * lack of memory shows in the call's arena.  Returns as ms_cli_write_option; or as the tool ended,
 * which has said why, such as MS_E_IO where a package is missing. */
ms_status ms_cli_draw(const ms_invocation *call, const char *option, const char *const *words,
                      const ms_value *tree);

#endif
