/* The renderer of results. A result is a tree of named values (ms_value); a command's tables say
 * which values are shown, and the forms (text, Markdown, JSON, CSV) are made here; see renderer.md.
 * A path leads from a value to one below it, by keys with '/' between them. */
#ifndef MS_CLI_RENDER_H
#define MS_CLI_RENDER_H

#include "cli/cli.h"

#define MS_OPTION_MARKDOWN "markdown", .help = "print tables in Markdown, as code hosts show them"

/* How a cell shows a value of the tree. */
typedef enum ms_shown_kind {
    MS_SHOWN_TEXT,         /* a text; a list as "a, b", an object as "pp 2, dp 4" */
    MS_SHOWN_COUNT,        /* a number with up to ten digits */
    MS_SHOWN_NUMBER,       /* a number with four digits */
    MS_SHOWN_LARGE,        /* a count with four digits and a word, such as "174.6 billion" */
    MS_SHOWN_SHARE,        /* a share, in percent */
    MS_SHOWN_CHANGE,       /* a share, in percent with its sign */
    MS_SHOWN_TIME,         /* a time in seconds, with a unit that suits its size; likewise below */
    MS_SHOWN_TIME_OF_STEP, /* a share of the tree's `step_time_s`, as a time */
    MS_SHOWN_BYTES,
    MS_SHOWN_RATE, /* bytes per second; shown in bits where the row's `in_bits` is true */
    MS_SHOWN_FLOP_RATE,
    MS_SHOWN_ENERGY,
    MS_SHOWN_POWER,
    MS_SHOWN_BAR, /* a share as a bar; in text only */
    /* From here on the text is printed below its row, not in it. */
    MS_SHOWN_BELOW,   /* a text */
    MS_SHOWN_COMMAND, /* a command line: the words of a list, or "--set key=value" for each entry of
                         an object; its lines end with a backslash, so that a shell joins them */
} ms_shown_kind;

/* A column of a table; in a table of facts a row. */
typedef struct ms_shown_column {
    const char *path; /* from the row to the value; "@": the key of the row, or in a list its number
                         from 1; "": the row itself; "varied/@": a column for each key of the
                         object `varied`, headed by the last two words of the key; NULL ends the
                         columns */
    const char *heading;
    ms_shown_kind kind;
} ms_shown_column;

/* Where the rows of a table come from. */
typedef enum ms_shown_form {
    MS_SHOWN_OF_LIST,   /* the entries of a list or object of the tree */
    MS_SHOWN_OF_FACTS,  /* the columns: each is a row with its heading and its value in the tree */
    MS_SHOWN_OF_NOTES,  /* a paragraph for each text of a list */
    MS_SHOWN_OF_GROUPS, /* no rows: further tables for each object of a list, whose text
                           `group_title`, such as "dense.h5: ", is put before their titles */
    MS_SHOWN_OF_TEXT,   /* no rows: a text that is printed as it is; not in Markdown */
} ms_shown_form;

/* A table: which values of a tree are shown, and how. */
typedef struct ms_shown_table {
    const char *title; /* NULL behind the last table; "": no title */
    ms_shown_form rows;
    const char *path; /* from the root of the tree to the list, object or text with the rows */
    const ms_shown_column *columns;
    const char *needs; /* path from a row to a value; rows without the value are left out; NULL: no
                          row is */
    bool skips_zero;   /* leave out rows whose second column is 0 */
    const char *dust_of; /* dotted path, in a row or in the tree, of a reference number: numbers
                            below 1e-12 times it are shown as 0; NULL: there is none */
    const struct ms_shown_table *tables; /* of groups: the tables of each */
} ms_shown_table;

/* Print a command's result in the form that the command line asks for: as JSON, or its tables as
 * text or in Markdown under a heading.  name: subject of the result, behind the command's name in
 * the heading; NULL: none.  tables: a row without a title behind the last.  tree: NULL when memory
 * ran out.  Returns as ms_cli_print_json. */
ms_status ms_cli_show(const ms_invocation *call, const char *name, const ms_shown_table *tables,
                      const ms_value *tree);

/* Print the tables of a tree as text or in Markdown.  heading: the command and the subject of the
 * result, such as "run: tiny".  Returns as ms_cli_show. */
ms_status ms_cli_print_tables(const ms_invocation *call, const char *heading,
                              const ms_shown_table *tables, const ms_value *tree, bool is_markdown);

/* Append a result tree as CSV: a row for each entry of its lists `results`, `rows` and `left_out`.
 * A key below another key is a column such as "gap.order"; the keys of `settings` are whole paths,
 * and are columns by themselves. Columns are in the order in which rows first have them; a cell is
 * empty where the row has no such key, or null. Numbers are written as in JSON, texts are quoted as
 * RFC 4180 says, and the texts of a list have "; " between them.  O(rows * columns^2). */
void ms_show_csv(const ms_value *tree, ms_buffer *out);

/* Write a result tree as CSV to the file that an option names; nothing without the option.  tree:
 * NULL when memory ran out.  Returns as ms_cli_write_option. */
ms_status ms_cli_write_csv(const ms_invocation *call, const char *option, const ms_value *tree);

#endif
