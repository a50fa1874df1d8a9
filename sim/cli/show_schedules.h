/* Printing tables of many schedules. */
#ifndef MS_CLI_SHOW_SCHEDULES_H
#define MS_CLI_SHOW_SCHEDULES_H

#include "cli/cli.h"
#include "search/schedules.h"

/** A table of schedules on paper, and what stands above it. */
typedef struct ms_shown_paper {
    ms_table table; /**< of ms_paper_row, sorted */
    int ranks, microbatches;
    double cap; /**< 0: none */
} ms_shown_paper;

/** A table of simulated schedules, and what stands above it. */
typedef struct ms_shown_simulated {
    ms_table table;    /**< of ms_simulated_row, sorted */
    const ms_job *job; /**< the workload with its own schedule */
    double cap_B;      /**< 0: none */
} ms_shown_simulated;

/** Column of --sort, which is `fallback` where it was not given.
 *  kind: what the known columns are known with, such as " with --workload".  MS_E_USAGE (reported,
 * with the known ones). */
ms_status ms_cli_sort_column(const ms_invocation *call, const ms_table_column *columns,
                             const char *fallback, const char *kind,
                             const ms_table_column **column_out);

/** Print a table: to the file of --csv-table, if that was given, then as a page or with --json
 * where the standard output is free.  MS_E_IO, MS_E_NOMEM (reported). */
ms_status ms_cli_show_paper(const ms_invocation *call, const ms_shown_paper *shown);
ms_status ms_cli_show_simulated(const ms_invocation *call, const ms_shown_simulated *shown);

#endif
