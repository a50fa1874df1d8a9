/* The option --html: a page of results that a browser opens from disk. */
#ifndef MS_CLI_HTML_OPTION_H
#define MS_CLI_HTML_OPTION_H

#include "base/config/config.h"
#include "cli/cli.h"
#include "trace/report/report.h"

/* Row of the option for the tables of commands that have it. */
#define MS_OPTION_HTML                                                                             \
    "html", "FILE",                                                                                \
        .help = "write a page that a browser opens from disk, with pictures and tables to sort",   \
        .writes = ".html"

/* Contents of the page beside the tree of --json. */
typedef struct ms_cli_page {
    const char *title;
    ms_words files; /* input files that the page keeps; a file that is listed twice is kept once */
} ms_cli_page;

/* Write the page of --html; nothing without the option.  tree: the tree that --json prints; NULL
 * when memory ran out.  Returns as ms_cli_write_file; MS_E_NOMEM (reported). */
ms_status ms_cli_write_html(const ms_invocation *call, const ms_cli_page *page,
                            const ms_value *tree);

/* Write a page of results to the file that an option names; nothing without the option.  results:
 * its inputs are set here.  files: input files to keep in the page.  Returns as
 * ms_cli_write_html. */
ms_status ms_cli_write_results_page(const ms_invocation *call, const char *option,
                                    ms_page_results *results, const ms_words *files);

#endif
