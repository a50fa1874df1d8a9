/* What a shell may complete a command line with. */
#ifndef MS_CLI_COMPLETE_H
#define MS_CLI_COMPLETE_H

#include "cli/cli.h"

/** Append what may stand for the last word of an unfinished command line, for the scripts in
 * scripts/completion: a line each of the whole word, a tab and what it means. A word that ends in
 * '=', '.' or ':' goes on. A line ":file", tab, PREFIX, tab, ENDINGS asks the shell for files
 * behind PREFIX of the word, of any ending where there are none; ":folder" for folders. words:
 * [count] behind "meshsim", the last one as far as it is typed; none is an empty one. Returns
 * MS_OK; MS_E_NOMEM (not reported). */
ms_status ms_cli_complete(size_t count, const char *const *words, ms_arena *arena, ms_buffer *out);

#endif
