/* Completion of an unfinished command line, for the scripts in scripts/completion. */
#ifndef MS_CLI_COMPLETE_H
#define MS_CLI_COMPLETE_H

#include "cli/cli.h"

/** Append the words that may take the place of the last word of an unfinished command line. Each
 * line has the whole word, a tab, and its meaning. A word that ends in '=', '.' or ':' is to be
 * continued without a blank. A line ":file", tab, PREFIX, tab, ENDINGS asks the shell to offer
 * files in the part of the word behind PREFIX: those with one of the ENDINGS, or all where there
 * are none. ":folder" asks for folders likewise.
 *
 * words: [count] behind "meshsim", the last one as far as it is typed; no words count as one empty
 * word.  Returns MS_OK; MS_E_NOMEM (not reported). */
ms_status ms_cli_complete(size_t count, const char *const *words, ms_arena *arena, ms_buffer *out);

#endif
