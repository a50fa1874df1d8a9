/* The page for a browser that commands write whose results are worth handing on. */
#ifndef MS_CLI_HTML_OPTION_H
#define MS_CLI_HTML_OPTION_H

#include "base/config/config.h"
#include "cli/cli.h"
#include "trace/report/report.h"

/* Row of such a command's option table. */
#define MS_OPTION_HTML                                                                             \
    "html", "FILE",                                                                                \
        .help = "write a page that a browser opens from disk, with pictures and tables to sort",   \
        .writes = ".html"

/* What is on it besides the tree of --json. */
typedef struct ms_cli_page {
    const char *title;
    ms_words files; /* that were read, and are kept in the page; what stands twice is kept once */
} ms_cli_page;

/* Write the page that --html asks for; nothing without it.  tree: what --json prints; NULL when
 * memory ran out.  Returns as ms_cli_write_file; MS_E_NOMEM (reported). */
ms_status ms_cli_write_html(const ms_invocation *call, const ms_cli_page *page,
                            const ms_value *tree);

/* Write a page of results to the file that an option names.  results: without inputs.  files: that
 * were read.  Returns likewise. */
ms_status ms_cli_write_results_page(const ms_invocation *call, const char *option,
                                    ms_page_results *results, const ms_words *files);

#endif
