/* The tables of `schedule --compare` as CSV. */
#ifndef MS_CLI_SHOW_CSV_H
#define MS_CLI_SHOW_CSV_H

#include "cli/cli.h"

/** Whether the page (or --json) goes to the standard output, and neither --csv-table nor --gantt.
 */
bool ms_show_has_page(const ms_invocation *call);

/** Write the rows of a result to the file of --csv-table: its lists `rows` and `left_out`, one line
 * per row, a column for each key that some row has, "time_share.compute" for keys inside a key;
 * empty where a row has none.  Numbers as in JSON, texts quoted as RFC 4180 says.
 *  root: as --json prints it.  Returns MS_OK, also where the option was not given; MS_E_IO and
 * MS_E_NOMEM (reported).  O(cells * columns). */
ms_status ms_show_csv_table(const ms_invocation *call, const ms_value *root);

#endif
