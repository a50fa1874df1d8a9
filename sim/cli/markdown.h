/* Tables in Markdown, as code hosts show them, of the tree that --json prints.
 *
 * A command says once which parts of its tree are worth a table; what is printed is then the tree's
 * own, and a table whose rows the tree lacks is left out, as is a column that no row has. */
#ifndef MS_CLI_MARKDOWN_H
#define MS_CLI_MARKDOWN_H

#include "cli/cli.h"

/* Row of a command's option table, and how it says what is printed. */
#define MS_OPTION_MARKDOWN                                                                         \
    { .name = "markdown", .help = "print tables in Markdown, as code hosts show them" }

/* How a cell shows what stands in the tree. */
typedef enum ms_markdown_kind {
    MS_MARKDOWN_TEXT, /* of a list its words; of an object "pp 2, dp 4" */
    MS_MARKDOWN_COUNT,
    MS_MARKDOWN_NUMBER, /* with four digits */
    MS_MARKDOWN_SHARE,  /* in percent */
    MS_MARKDOWN_TIME,
    MS_MARKDOWN_BYTES,
    MS_MARKDOWN_RATE,
    MS_MARKDOWN_ENERGY,
} ms_markdown_kind;

/* A column, or of a table of facts a row. */
typedef struct ms_markdown_field {
    const char *path; /* keys from the row with '/' between; "@": the key of the row, or its number
                         from 1; "": the row itself; NULL ends the fields */
    const char *heading;
    ms_markdown_kind kind;
} ms_markdown_field;

/* What the rows of a table are. */
typedef enum ms_markdown_rows {
    MS_MARKDOWN_OF_LIST,  /* what a list or object of the tree holds */
    MS_MARKDOWN_OF_FACTS, /* the fields themselves: a heading and a value each */
    MS_MARKDOWN_OF_LISTS, /* the places of several lists: the first key of a path is its list */
} ms_markdown_rows;

/* A table. */
typedef struct ms_markdown_table {
    const char *title; /* NULL behind the last table; "": none */
    ms_markdown_rows rows;
    const char *path; /* of a list: its key in the tree */
    const ms_markdown_field *fields;
    bool skips_zero;     /* leave out rows whose second field is 0 */
    const char *dust_of; /* dotted path of a number of which less than 1e-12 is shown as 0; NULL:
                            none is */
} ms_markdown_table;

/* Append a text as it is: without line ends, and without markup of its own. */
void ms_markdown_write_text(const char *text, ms_buffer *out);

/* Append a table's two first lines.  headings: [count].  is_number: [count] columns that stand at
 * the right. */
void ms_markdown_write_head(const char *const *headings, const bool *is_number, size_t count,
                            ms_buffer *out);

/* Whether --json or --markdown stands on the command line, so that the tree is printed in the place
 * of the page. */
bool ms_cli_wants_tree(const ms_invocation *call);

/* Print the tree as the command line asks: as JSON, or its tables under a heading.  name: what it
 * is about; NULL: nothing.  tree: NULL when memory ran out.  Returns as ms_cli_print_json. */
ms_status ms_cli_print_tree(const ms_invocation *call, const char *name,
                            const ms_markdown_table *tables, const ms_value *tree);

/* Print the tables of a tree.  heading: what made it and what it is about, such as "run: tiny".
 * Returns likewise. */
ms_status ms_cli_print_markdown(const ms_invocation *call, const char *heading,
                                const ms_markdown_table *tables, const ms_value *tree);

#endif
