/* Parsing of a command's arguments from its option table. */
#ifndef MS_CLI_PARSE_H
#define MS_CLI_PARSE_H

#include "cli/cli.h"

/** Parse the words after the command's name.
 *  call: `command`, `arena` and `diag` are set; options and positionals are filled in.
 *  words: [count] borrowed, they outlive `call`.  *wants_help_out: --help or -h stood among them,
 * and nothing else counts then.  Returns MS_OK; MS_E_USAGE (reported); MS_E_NOMEM (reported);
 * MS_E_BUG if the table is too long.  O(words * options). */
ms_status ms_cli_parse(ms_invocation *call, size_t count, const char *const *words,
                       bool *wants_help_out);

/** Refuse output files whose names end like another format than the one that would be written, and
 * say what writes that.  Returns MS_OK; MS_E_USAGE (reported). */
ms_status ms_cli_check_endings(const ms_invocation *call);

/** The same of '--output' alone, where a mode writes less than the option's row says.
 *  given: its values.  writes: endings, as ms_option has them.  Returns as ms_cli_check_endings. */
ms_status ms_cli_check_output_ending(const ms_invocation *call, const ms_given *given,
                                     const char *writes);

#endif
