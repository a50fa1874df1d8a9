/* The command line: one table of commands, one table of options per command. It feeds parsing,
 * --help and the man page. A command is one file cmd_NAME.c that defines `const ms_command
 * ms_cmd_NAME`. */
#ifndef MS_CLI_H
#define MS_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/diag.h"
#include "base/status.h"
#include "base/value.h"

enum { MS_OPTION_COUNT_MAX = 40, MS_MODE_OPTIONS_MAX = 3 };

/** What an option's argument is, for completion. */
typedef enum ms_option_takes {
    MS_TAKES_NAMED,        /**< what `argument` says: "a|b": one of these words, "FILE", "DIR",
                                "TRACE.h5", "P.yaml" (a platform by its name, too): a file */
    MS_TAKES_WORKLOAD_KEY, /**< a key of a workload and its value */
    MS_TAKES_PLATFORM_KEY, /**< a key of a platform and its value */
} ms_option_takes;

/** One option of one command. */
typedef struct ms_option {
    const char *name;     /**< long name without dashes; a row with NULL ends the table */
    const char *argument; /**< name of its argument in --help, such as "FILE"; two names, as in
                               "A B": it takes two; NULL: it is a flag */
    char letter;          /**< short name, 0 if none */
    bool is_repeatable;   /**< may stand several times */
    const char *fallback; /**< default shown in --help, NULL if none */
    const char *help;     /**< one line, lower case */
    const char *writes;   /**< endings of the file it names and writes, such as ".svg or .json"; "/"
                               for a folder; NULL: it writes none */
    const char *no_stdout; /**< why its output cannot go to the standard output; NULL: '-' sends it
                              there, or it names no output */
    const char *section;   /**< heading that --help prints above it; NULL: it goes on */
    unsigned modes;        /**< which of the command's modes take it, a bit each, the first mode the
                                lowest one; 0: all */
    ms_option_takes takes;
    const char *(*word)(int index); /**< words that its argument may be, where a table has them;
                                         NULL behind the last */
} ms_option;

/** What the user gave for one option. */
typedef struct ms_given {
    const char **values; /**< [count * arguments] */
    size_t count;        /**< times it stood on the command line */
} ms_given;

/** A parsed command line. */
typedef struct ms_invocation {
    const struct ms_command *command;
    ms_given given[MS_OPTION_COUNT_MAX]; /**< by index into the command's option table */
    const char **positionals;            /**< [positional_count] */
    size_t positional_count;
    ms_arena *arena; /**< lives as long as the run */
    ms_diag *diag;
    const char *const *words; /**< [word_count] as typed behind the program's name */
    size_t word_count;
    ms_vector *results; /**< of ms_cli_result: the command's results, kept until it has ended; NULL:
                           each is written at once */
} ms_invocation;

/** A result of a command that is not written yet. */
typedef struct ms_cli_result {
    const char *path; /**< of its file; "-": the standard output; NULL: the standard error */
    ms_buffer text;
} ms_cli_result;

/** Two options of a mode. */
typedef struct ms_option_rule {
    const char *option; /**< NULL ends the rules */
    const char *other;
    bool is_exclusive; /**< not both; else the first needs the other one */
    const char *why;   /**< said behind both names, or behind the first one that needs the other */
} ms_option_rule;

/** One of several things that a command does, chosen by what stands on its command line. */
typedef struct ms_mode {
    const char *usage;    /**< the mode's words behind the command's name, as --help prints them,
                               first its argument if the mode takes one; NULL ends the modes */
    const char *summary;  /**< what it does, for --help */
    const char *argument; /**< a word such as "search"; one that ends in ':' is how the argument
                               begins; "": any argument; NULL: it takes none */
    const char *chosen_by[MS_MODE_OPTIONS_MAX]; /**< options that choose it, all of them together;
                                                     NULL behind the last */
    const char *needs[MS_MODE_OPTIONS_MAX];     /**< options that must stand there besides */
    const ms_option_rule *rules;                /**< NULL: none */
    const char *writes;  /**< endings of what '--output' writes in this mode, in the place of those
                              in the option's row; NULL: those of the option's row */
    const char *refusal; /**< what is said of an option that the first mode takes and this one does
                              not, such as "is for one schedule"; NULL: which modes take it */
    ms_status (*run)(const ms_invocation *call);
} ms_mode;

typedef struct ms_command {
    const char *name;
    const char *summary;         /**< one line */
    const char *positional_help; /**< such as "WORKLOAD.yaml" */
    size_t positionals[2];       /**< how many at least, and at most */
    const ms_option *options;
    const char *description;        /**< paragraphs for --help and the man page */
    const char *example;            /**< a command line that works in a checkout */
    const ms_mode *modes;           /**< NULL: it does one thing */
    const char *(*word)(int index); /**< words that KIND may be in `positional_help`, NULL behind
                                         the last; NULL: no table has them */
    ms_status (*run)(const ms_invocation *call);
} ms_command;

/** Whether a word is among others.  words: NULL behind the last. */
bool ms_cli_is_among(const char *word, const char *const *words);
/** How many arguments an option takes: 0, 1 or 2. */
size_t ms_cli_argument_count(const ms_option *option);
/** The option of a command with a long name of `length` bytes, or with a letter; NULL: the command
 * has none. */
const ms_option *ms_cli_find_option(const ms_command *command, const char *name, size_t length);
const ms_option *ms_cli_find_letter(const ms_command *command, char letter);
/** Value of an option by name: the last one given, or `fallback`. An unknown name is a bug and
 * aborts. */
const char *ms_cli_value(const ms_invocation *call, const char *name, const char *fallback);
/** Whether a flag or option was given. */
bool ms_cli_has(const ms_invocation *call, const char *name);
/** Whether the command has an option at all. */
bool ms_cli_knows(const ms_invocation *call, const char *name);
/** All values of a repeatable option. */
ms_given ms_cli_all(const ms_invocation *call, const char *name);
/** Option as a whole number in [low, high]; `fallback` when absent. Reports and returns MS_E_USAGE
 * when it is none. */
ms_status ms_cli_int(const ms_invocation *call, const char *name, long fallback, long low,
                     long high, long *out);
/** Option as a pure number.  Returns as ms_cli_int. */
ms_status ms_cli_number(const ms_invocation *call, const char *name, double fallback, double *out);
/** Option as one of some words, NULL behind the last: its place among them; the first when absent.
 * MS_E_USAGE (reported). */
ms_status ms_cli_choice(const ms_invocation *call, const char *name, const char *const *words,
                        int *index_out);
/** Find the mode that the command line asks for, check that its options go with it, and run it.
 * MS_E_USAGE (reported), else as the mode. */
ms_status ms_cli_run_mode(const ms_invocation *call);
/** Check that one thing at most goes to the standard output: of options without an argument those
 * that were given, of others those that name '-'.  options: names, NULL behind the last.
 *  MS_E_USAGE (reported). */
ms_status ms_cli_check_stdout(const ms_invocation *call, const char *const *options);
/** Print a page for people on stdout, with '?' for what would give a terminal orders (see
 * ms_terminal_write_text), and release it.  Every page goes out here; data that a user asked for
 * ('-') keeps its bytes, see ms_cli_write_file. MS_E_NOMEM, also when a part of the page found no
 * memory; MS_E_IO if stdout cannot take it (both reported). */
ms_status ms_cli_print_page(const ms_invocation *call, ms_buffer *page);
/** Print a result tree as one JSON object and a line feed on stdout. MS_E_IO if stdout cannot take
 * it. */
ms_status ms_cli_print_json(const ms_invocation *call, const ms_value *root);
/** Write and release a command's results, files first; if a file cannot be written, nothing is
 * printed.  status: with which the command ended; results are written only after MS_OK, MS_E_NO and
 * MS_E_INTERRUPTED.  Returns `status`, or the status of a write that failed (reported). */
ms_status ms_cli_write_results(const ms_invocation *call, ms_status status);
/** Write a message to the standard error, after the results that are kept so far.  results: as in
 * ms_invocation. */
void ms_cli_tell(ms_vector *results, const char *text);
/** Flush stdout and check it. Every command ends with this; MS_E_IO (reported) if anything was
 * lost. */
ms_status ms_cli_finish_stdout(const ms_invocation *call);
/** Check, before anything takes long, that results can go where the command line wants them: one
 * thing at most, --json and --markdown among them, to the standard output, and the others to files
 * that can be written.  files: names of options that name one, at most 7, NULL behind the last.
 * MS_E_USAGE (reported), else as ms_target_check. */
ms_status ms_cli_check_targets(const ms_invocation *call, const char *const *files);
/** Whether one of the options `files` names '-', so that no page may follow. */
bool ms_cli_takes_stdout(const ms_invocation *call, const char *const *files);
/** Write what an option asks for; nothing without it.  text: of the file; released here.  Returns
 * as ms_cli_write_file. */
ms_status ms_cli_write_option(const ms_invocation *call, const char *option, ms_buffer *text);
/** Write a whole text to a file through a temporary name beside it, then rename ("-" is stdout).
 *  text: released here.  Returns MS_OK; MS_E_IO (reported), an older file stays as it was;
 * MS_E_NOMEM (reported), also when a part of the text found no memory. */
ms_status ms_cli_write_file(const ms_invocation *call, const char *path, ms_buffer *text);

/* ---- parsing of the command line ---- */

/** Parse the words after the command's name.
 *  call: `command`, `arena` and `diag` are set; options and positionals are filled in.
 *  words: [count] borrowed, they outlive `call`.  *wants_help_out: --help or -h stood among them,
 * and nothing else counts then.  Returns MS_OK; MS_E_USAGE (reported); MS_E_NOMEM (reported);
 * MS_E_BUG if the table is too long.  O(words * options). */
ms_status ms_cli_parse(ms_invocation *call, size_t count, const char *const *words,
                       bool *wants_help_out);

/** Refuse output files whose names end like another format than the one that would be written, and
 * say what writes that.  Returns MS_OK; MS_E_USAGE (reported). */
ms_status ms_cli_check_endings(const ms_invocation *call);

/** The same of '--output' alone, where a mode writes less than the option's row says.
 *  given: its values.  writes: endings, as ms_option has them.  Returns as ms_cli_check_endings. */
ms_status ms_cli_check_output_ending(const ms_invocation *call, const ms_given *given,
                                     const char *writes);

#endif
