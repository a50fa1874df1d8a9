/* Rows of a result as CSV: the columns are the keys that --json prints. */
#ifndef MS_CLI_CSV_H
#define MS_CLI_CSV_H

#include "cli/cli.h"

/* Append the rows of a result tree, which are those of its lists `results`, `rows` and `left_out`.
 * A key below another one is a column "gap.order"; the keys of `settings`, which are whole paths,
 * stand for themselves.  Columns stand in the order in which rows first have them; a cell is empty
 * where the row has no such key or null.  Numbers as in JSON, texts quoted as RFC 4180 says, the
 * texts of a list with "; " between.  O(rows * columns^2). */
void ms_show_csv(const ms_value *tree, ms_buffer *out);

/* Write the rows to the file that an option names; nothing without it.  tree: NULL when memory ran
 * out.  Returns as ms_cli_write_option. */
ms_status ms_cli_write_csv(const ms_invocation *call, const char *option, const ms_value *tree);

#endif
