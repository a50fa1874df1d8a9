/* The one renderer: a result is a tree of named values, a command's tables name what of it is
 * shown, and the forms (text, Markdown, JSON) are made here; see renderer.md. */
#ifndef MS_CLI_RENDER_H
#define MS_CLI_RENDER_H

#include "cli/cli.h"

#define MS_OPTION_MARKDOWN "markdown", .help = "print tables in Markdown, as code hosts show them"

/* How a cell shows what stands in the tree. */
typedef enum ms_shown_kind {
    MS_SHOWN_TEXT,   /* a text; a list as its words, an object as "pp 2, dp 4" */
    MS_SHOWN_COUNT,  /* a number with up to ten digits */
    MS_SHOWN_NUMBER, /* with four digits */
    MS_SHOWN_LARGE,  /* with four digits and a word, such as "174.6 billion" */
    MS_SHOWN_SHARE,  /* in percent */
    MS_SHOWN_CHANGE, /* in percent, with its sign */
    MS_SHOWN_TIME,
    MS_SHOWN_TIME_OF_STEP, /* a share of the tree's `step_time_s`, as a time */
    MS_SHOWN_BYTES,
    MS_SHOWN_RATE, /* in bytes a second; in bits where the row's `in_bits` is true */
    MS_SHOWN_FLOP_RATE,
    MS_SHOWN_ENERGY,
    MS_SHOWN_POWER,
    MS_SHOWN_BAR,     /* a share as a bar; in text only */
    MS_SHOWN_BELOW,   /* a text that stands below its row */
    MS_SHOWN_COMMAND, /* a command below its row: the words of a list, or "--set key=value" for each
                         entry of an object, broken so that a shell reads the lines as one */
} ms_shown_kind;

/* A column of a table; a row of a table of facts. */
typedef struct ms_shown_column {
    const char *path; /* keys from the row with '/' between; "@": the key of the row, or its number
                         from 1; "": the row itself; "varied/@": a column for each key of that
                         object, headed by the last two words of the key; NULL ends the columns */
    const char *heading;
    ms_shown_kind kind;
} ms_shown_column;

/* What the rows of a table are. */
typedef enum ms_shown_form {
    MS_SHOWN_OF_LIST,  /* what a list or object of the tree holds */
    MS_SHOWN_OF_FACTS, /* the columns themselves: a heading and a value each */
    MS_SHOWN_OF_NOTES, /* a paragraph for each text of a list */
    MS_SHOWN_OF_LINES, /* a text that has lines already; in text only */
} ms_shown_form;

/* A table. */
typedef struct ms_shown_table {
    const char *title; /* NULL behind the last table; "": none */
    ms_shown_form rows;
    const char *path; /* keys with '/' between that lead from the tree to the rows */
    const ms_shown_column *columns;
    const char *needs; /* path from a row to a value; rows without it are left out; NULL: none is */
    bool skips_zero;   /* leave out rows whose second column is 0 */
    const char *dust_of; /* dotted path, in a row or in the tree, of a reference number: numbers
                            below 1e-12 times it are shown as 0; NULL: there is none */
} ms_shown_table;

/* Print a command's result in the form that the command line asks for: as JSON, or its tables under
 * a heading.  name: what the result is about; NULL: nothing.  tree: NULL when memory ran out.
 * Returns as ms_cli_print_json. */
ms_status ms_cli_show(const ms_invocation *call, const char *name, const ms_shown_table *tables,
                      const ms_value *tree);

/* Print the tables of a tree as text or in Markdown.  heading: what made the tree and what it is
 * about, such as "run: tiny".  Returns as ms_cli_show. */
ms_status ms_cli_print_tables(const ms_invocation *call, const char *heading,
                              const ms_shown_table *tables, const ms_value *tree, bool is_markdown);

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
