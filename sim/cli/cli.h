/* The command line. Each command has one table of options, and the program has one table of
 * commands (commands.h). The parser, --help, the manual pages and completion are all made from
 * these tables. A command is one file cmd_NAME.c that defines `const ms_command ms_cmd_NAME`.
 * Functions that read an option by its name, all but ms_cli_knows, end the program if the command's
 * table has no such option, which is a bug. */
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

/** Most options of a command; room for the options that a mode is chosen by or needs, and the NULL
 * behind them. */
enum { MS_OPTION_COUNT_MAX = 40, MS_MODE_OPTIONS_MAX = 3 };

/** What an option's argument is, for completion. */
typedef enum ms_option_takes {
    MS_TAKES_NAMED,        /**< follows from `argument`: "a|b": one of these words; "FILE", "DIR",
                                "TRACE.h5": a file or folder; "P.yaml": a platform's file or name */
    MS_TAKES_WORKLOAD_KEY, /**< a key of a workload and its value */
    MS_TAKES_PLATFORM_KEY, /**< a key of a platform and its value */
} ms_option_takes;

/** One option of one command. */
typedef struct ms_option {
    const char *name;      /**< long name without dashes; a row with NULL ends the table */
    const char *argument;  /**< name of its argument in --help, such as "FILE"; two names, as in
                                "A B": it takes two; NULL: it is a flag */
    char letter;           /**< short name, 0 if none */
    bool is_repeatable;    /**< may be given several times */
    const char *fallback;  /**< default shown in --help, NULL if none */
    const char *help;      /**< one line, lower case */
    const char *writes;    /**< endings of the output file that the argument names, such as ".svg or
                                .json"; "/": it names a folder; NULL: it names no output */
    const char *no_stdout; /**< why its output cannot go to the standard output; NULL: '-' sends it
                              there, or it names no output */
    const char *section;   /**< heading that --help prints above this option; NULL: the section of
                                the option before continues */
    unsigned modes;        /**< the command's modes that take the option: bit i for modes[i]; 0: all
                                modes */
    ms_option_takes takes; /**< type of the argument */
    const char *(*word)(int index); /**< the words that the argument may be, by index, where a table
                                         has them; returns NULL behind the last; NULL: no table */
} ms_option;

/** The values that the user gave for one option. */
typedef struct ms_given {
    const char **values; /**< [count * arguments of the option], in the order of the command line */
    size_t count;        /**< how often the option was given */
} ms_given;

/** A parsed command line. */
typedef struct ms_invocation {
    const struct ms_command *command;
    ms_given given[MS_OPTION_COUNT_MAX]; /**< by index into the command's option table */
    const char **positionals;            /**< [positional_count] */
    size_t positional_count;
    ms_arena *arena; /**< lives as long as the program run */
    ms_diag *diag;
    const char *const *words; /**< [word_count] as typed behind the program's name */
    size_t word_count;
    ms_vector *results; /**< of ms_cli_result: the command's results, kept until the command has
                           ended; NULL: each result is written at once */
} ms_invocation;

/** A result of a command, which is kept and not written yet. */
typedef struct ms_cli_result {
    const char *path; /**< of its file; "-": the standard output; NULL: the standard error */
    ms_buffer text;
} ms_cli_result;

/** A rule about two options of a mode: they exclude each other, or one needs the other. */
typedef struct ms_option_rule {
    const char *option; /**< NULL ends the rules */
    const char *other;
    bool is_exclusive; /**< not both may be given; else `option` needs `other` */
    const char *why;   /**< end of the message, behind both names if exclusive, else behind the name
                            of `option` */
} ms_option_rule;

/** One of several operations of a command, chosen by the argument and the options on the command
 * line. */
typedef struct ms_mode {
    const char *usage;    /**< the mode's words behind the command's name, as --help prints them,
                               first its argument if the mode takes one; NULL ends the modes */
    const char *summary;  /**< what the mode does, for --help */
    const char *argument; /**< the argument that the mode takes: a word such as "search"; a prefix,
                               if it ends in ':'; "": any argument; NULL: no argument */
    const char *chosen_by[MS_MODE_OPTIONS_MAX]; /**< options that choose the mode, all of them
                                                     together; NULL behind the last */
    const char *needs[MS_MODE_OPTIONS_MAX];     /**< options that it requires besides */
    const ms_option_rule *rules;                /**< NULL: none */
    const char *writes;  /**< endings of the file of '--output' in this mode, in place of those in
                              the option's row; NULL: those of the option's row */
    const char *refusal; /**< end of the message for an option that the first mode takes and this
                              one does not, such as "is for one schedule"; NULL: the message names
                              the modes that take the option */
    ms_status (*run)(const ms_invocation *call); /**< returns the status of the command */
} ms_mode;

/** A command: a row of the table of commands. */
typedef struct ms_command {
    const char *name;
    const char *summary;            /**< one line */
    const char *positional_help;    /**< names of the positional arguments, such as "WORKLOAD.yaml";
                                         NULL: none */
    size_t positionals[2];          /**< how many positional arguments at least, and at most */
    const ms_option *options;       /**< ended by a row without a name */
    const char *description;        /**< paragraphs for --help and the man page */
    const char *example;            /**< a command line that works in a checkout */
    const ms_mode *modes;           /**< ended by a row without a usage; NULL: the command has no
                                         modes */
    const char *(*word)(int index); /**< the words that KIND in `positional_help` may be, by index;
                                         returns NULL behind the last; NULL: no table has them */
    ms_status (*run)(const ms_invocation *call); /**< returns the status of the command */
} ms_command;

/** Whether a word is in a list.  words: NULL behind the last. */
bool ms_cli_is_among(const char *word, const char *const *words);
/** How many arguments an option takes: 0, 1 or 2. */
size_t ms_cli_argument_count(const ms_option *option);
/** The option of a command whose long name is the first `length` bytes of `name`; NULL: the command
 * has no such option. */
const ms_option *ms_cli_find_option(const ms_command *command, const char *name, size_t length);
/** The option of a command with a letter; NULL: the command has no such option. */
const ms_option *ms_cli_find_letter(const ms_command *command, char letter);
/** Value of an option, the last one given; `fallback` where the option is not given, or is a flag.
 * Of an option with two arguments, the first. */
const char *ms_cli_value(const ms_invocation *call, const char *name, const char *fallback);
/** Whether an option was given. */
bool ms_cli_has(const ms_invocation *call, const char *name);
/** Whether the command has an option of that name, given or not. */
bool ms_cli_knows(const ms_invocation *call, const char *name);
/** All values of an option.  Borrowed from the call. */
ms_given ms_cli_all(const ms_invocation *call, const char *name);
/** Read an option as a whole number in [low, high].  *out: `fallback` without the option. Returns
 * MS_OK; MS_E_USAGE (reported) for any other value. */
ms_status ms_cli_int(const ms_invocation *call, const char *name, long fallback, long low,
                     long high, long *out);
/** Read an option as a finite number without a unit.  *out: `fallback` without the option. Returns
 * MS_OK; MS_E_USAGE (reported) for any other value. */
ms_status ms_cli_number(const ms_invocation *call, const char *name, double fallback, double *out);
/** Read an option as one of some words.  words: NULL behind the last, at least one.  *index_out:
 * index of the word; 0 without the option.  Returns MS_OK; MS_E_USAGE (reported) for any other
 * value. */
ms_status ms_cli_choice(const ms_invocation *call, const char *name, const char *const *words,
                        int *index_out);
/** Find the mode that the command line asks for, check that all options that were given belong to
 * it, and run the mode.  Returns MS_OK; MS_E_USAGE (reported), else as the mode. */
ms_status ms_cli_run_mode(const ms_invocation *call);
/** Check that at most one of some options writes to the standard output. A flag, such as --json,
 * does if it is given; an option with an argument does if its file is '-'.  options: names, NULL
 * behind the last.  Returns MS_OK; MS_E_USAGE (reported). */
ms_status ms_cli_check_stdout(const ms_invocation *call, const char *const *options);
/** Print a page for people on the standard output, and release it. Characters that would control a
 * terminal become '?' (see ms_terminal_write_text). Every page is printed by this function; data
 * that a user asked for ('-') keeps its bytes, see ms_cli_write_file.  Returns as
 * ms_cli_write_file. */
ms_status ms_cli_print_page(const ms_invocation *call, ms_buffer *page);
/** Print a result tree as one JSON object and a line feed on the standard output.  root: NULL when
 * memory ran out.  Returns as ms_cli_write_file. */
ms_status ms_cli_print_json(const ms_invocation *call, const ms_value *root);
/** Write and release the kept results of a command: files first, then the standard streams; if a
 * file cannot be written, nothing is printed.  status: with which the command ended; results are
 * written only after MS_OK, MS_E_NO and MS_E_INTERRUPTED.  Returns `status`, or the status of a
 * write that failed (reported). */
ms_status ms_cli_write_results(const ms_invocation *call, ms_status status);
/** Write a message to the standard error, behind the results that are kept so far.  results: as in
 * ms_invocation. */
void ms_cli_write_message(ms_vector *results, const char *text);
/** Flush the standard output, and check that no earlier write to it failed. Every command ends with
 * this.  Returns MS_OK; MS_E_IO (reported). */
ms_status ms_cli_finish_stdout(const ms_invocation *call);
/** Check, before a long computation, that results can be written: at most one of them, --json and
 * --markdown included, to the standard output, and the others to files that can be written.  files:
 * names of options whose argument is an output file, at most 7, NULL behind the last.  Returns
 * MS_OK; MS_E_USAGE (reported); as ms_target_check. */
ms_status ms_cli_check_targets(const ms_invocation *call, const char *const *files);
/** Whether one of the options `files` (as in ms_cli_check_targets) writes to the standard output,
 * so that no page may follow. */
bool ms_cli_uses_stdout(const ms_invocation *call, const char *const *files);
/** Write a text to the file that an option names; nothing without the option.  text: released here.
 * Returns as ms_cli_write_file. */
ms_status ms_cli_write_option(const ms_invocation *call, const char *option, ms_buffer *text);
/** Write a result to a file, or keep it until the command has ended (ms_invocation.results). A file
 * appears as a whole or not at all.  path: "-": the standard output; copied.  text: released here.
 * Returns MS_OK; MS_E_IO (reported), where an older file stays as it was; MS_E_NOMEM (reported),
 * also when memory ran out while the text was made. */
ms_status ms_cli_write_file(const ms_invocation *call, const char *path, ms_buffer *text);

/* ---- parsing of the command line ---- */

/** Parse the words behind the command's name.
 *
 * call: `command`, `arena` and `diag` are set; options and positionals are filled in.  words:
 * [count] borrowed, they outlive `call`.  *wants_help_out: --help or -h is among them; then nothing
 * else is parsed.  Returns MS_OK; MS_E_USAGE (reported); MS_E_NOMEM (reported); MS_E_BUG if the
 * option table is too long.  O(words * options). */
ms_status ms_cli_parse(ms_invocation *call, size_t count, const char *const *words,
                       bool *wants_help_out);

/** Refuse output files whose names end like another format than the one that would be written, and
 * unknown endings where the ending chooses the format, as of pictures. The message names what
 * writes the other format, or the known endings.  Returns MS_OK; MS_E_USAGE (reported). */
ms_status ms_cli_check_endings(const ms_invocation *call);

/** As ms_cli_check_endings, for '--output' alone, in a mode that writes fewer formats than the
 * option's row has.  given: values of the option.  writes: endings, as in ms_option. */
ms_status ms_cli_check_output_ending(const ms_invocation *call, const ms_given *given,
                                     const char *writes);

#endif
