/* Commands that the Python package beside the program answers. */
#ifndef MS_CLI_TOOL_H
#define MS_CLI_TOOL_H

#include "cli/cli.h"

/** Replace this process by a command of the Python package, which is looked for beside the program
 * only: as installed (share/meshsim/python) or in the source tree (scripts/python); never in PATH,
 * the current folder or PYTHONPATH. Its arguments are those that were parsed, with the long names
 * of options. Returns only where Python cannot be started: MS_E_IO, MS_E_NOMEM (both reported). */
ms_status ms_cli_run_tool(const ms_invocation *call);

/** Draw the picture that an option asks for, and write it to the option's file; nothing without the
 * option. The tool `plot` draws, as a child process that receives a result tree as JSON on its
 * standard input and ends when this program does.
 *
 * words: further arguments of the tool such as "--of=mesh", NULL behind the last; NULL: none.
 * tree: as --json prints it; lack of memory shows in the call's arena.  Returns as
 * ms_cli_write_option; or the status that the tool ended with and has reported, such as MS_E_IO
 * where a package is missing. */
ms_status ms_cli_draw(const ms_invocation *call, const char *option, const char *const *words,
                      const ms_value *tree);

/* Row of the option --pareto for the tables of commands that have it.  what: quantities, one
 * against the other. */
#define MS_OPTION_PARETO(what)                                                                     \
    "pareto", "FILE", .help = "draw " what ", with those that no other one beats both ways",       \
                      .writes = ".svg, .png or .pdf"

/** Draw the picture of --pareto; nothing without the option.  As ms_cli_draw. */
ms_status ms_cli_draw_pareto(const ms_invocation *call, const ms_value *tree);

#endif
