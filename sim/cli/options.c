/* Parses the command line of a command by its option table, and gives commands the values of their
 * options (cli.h). A word is one argument as the shell passes it; options have long names
 * ("--set"), and some a letter ("-p"). */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* State of the parser. */
typedef struct parser {
    ms_invocation *call;
    const char *const *words; /* [count] behind the command's name */
    size_t count;
    size_t at; /* index of the next word */
} parser;

/* Number of rows in the option table of a command. */
static size_t option_count(const ms_command *command) {
    size_t count = 0;
    while (command->options != NULL && command->options[count].name != NULL) {
        count++;
    }
    return count;
}

bool ms_cli_is_among(const char *word, const char *const *words) {
    while (*words != NULL && strcmp(word, *words) != 0) {
        words++;
    }
    return *words != NULL;
}

size_t ms_cli_argument_count(const ms_option *option) {
    return option->argument == NULL ? 0 : strchr(option->argument, ' ') == NULL ? 1 : 2;
}

const ms_option *ms_cli_find_option(const ms_command *command, const char *name, size_t length) {
    for (const ms_option *option = command->options; option != NULL && option->name != NULL;
         option++) {
        if (strlen(option->name) == length && memcmp(option->name, name, length) == 0) {
            return option;
        }
    }
    return NULL;
}

const ms_option *ms_cli_find_letter(const ms_command *command, char letter) {
    for (const ms_option *option = command->options; option != NULL && option->name != NULL;
         option++) {
        if (option->letter == letter) {
            return option;
        }
    }
    return NULL;
}

/* Whether a word can only be an option of this command, so that it is not the argument of the
 * option before it. "-3" is one only where the command has an option -3. */
static bool is_option_word(const ms_command *command, const char *word) {
    if (word[0] != '-' || word[1] == '\0') {
        return false;
    }
    return word[1] == '-' || ms_cli_find_letter(command, word[1]) != NULL;
}

/* The long option nearest to the first `length` bytes of `name`; NULL if none is near. */
static const char *nearest_option(const ms_invocation *call, const char *name, size_t length) {
    const char *names[MS_OPTION_COUNT_MAX + 1];
    size_t count = option_count(call->command);
    for (size_t i = 0; i < count; i++) {
        names[i] = call->command->options[i].name;
    }
    names[count] = "help";
    const char *word = ms_arena_strndup(call->arena, name, length);
    return word == NULL ? NULL : ms_nearest_word(word, names, count + 1);
}

/* Report an unknown option with the nearest known one.  word: as typed, with its dashes.  Returns
 * MS_E_USAGE. */
static ms_status report_unknown(const ms_invocation *call, const char *word) {
    const char *name = word + strspn(word, "-");
    const char *nearest = nearest_option(call, name, strcspn(name, "="));
    int width = (int)strcspn(word, "=");
    if (nearest != NULL) {
        ms_diag_error(call->diag, "unknown option '%.*s'; did you mean '--%s'?", width, word,
                      nearest);
    } else {
        ms_diag_error(call->diag, "unknown option '%.*s'", width, word);
    }
    return MS_E_USAGE;
}

/* Store an option with its arguments, which follow in the next words.  attached: the first argument
 * where it stands in the option's own word, behind '=' or the letter; NULL: none does.  Returns
 * MS_E_USAGE (reported) where the option is given twice or has too few arguments. */
static ms_status read_option(parser *cursor, const ms_option *option, const char *attached) {
    ms_invocation *call = cursor->call;
    size_t count = ms_cli_argument_count(option);
    ms_given *given = &call->given[option - call->command->options];
    if (given->count > 0 && !option->is_repeatable) {
        return ms_diag_usage(call->diag, "option '--%s' stands twice", option->name);
    }
    if (given->values == NULL) {
        given->values = MS_NEW(call->arena, const char *, cursor->count + 1);
        if (given->values == NULL) {
            return ms_diag_no_memory(call->diag);
        }
    }
    const char **values = given->values + given->count * count;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 && attached != NULL) {
            values[i] = attached;
        } else if (cursor->at < cursor->count &&
                   !is_option_word(call->command, cursor->words[cursor->at])) {
            values[i] = cursor->words[cursor->at++];
        } else {
            return ms_diag_usage(call->diag, "option '--%s' needs %s %s", option->name,
                                 count == 1 ? "an argument," : "two arguments,", option->argument);
        }
    }
    given->count++;
    return MS_OK;
}

/* Read a long option, "--name" or "--name=VALUE". */
static ms_status read_long(parser *cursor, const char *word) {
    const ms_invocation *call = cursor->call;
    const char *name = word + 2;
    size_t length = strcspn(name, "=");
    const ms_option *option = ms_cli_find_option(call->command, name, length);
    if (option == NULL) {
        return report_unknown(call, word);
    }
    const char *attached = name[length] == '=' ? name + length + 1 : NULL;
    if (attached != NULL && ms_cli_argument_count(option) == 0) {
        return ms_diag_usage(call->diag, "option '--%s' takes no argument, got '%s'", option->name,
                             attached);
    }
    return read_option(cursor, option, attached);
}

/* Read short options: "-p 4", "-p4", and flags in one word such as "-jv". */
static ms_status read_letters(parser *cursor, const char *word) {
    const ms_command *command = cursor->call->command;
    for (const char *letter = word + 1; *letter != '\0'; letter++) {
        const ms_option *option = ms_cli_find_letter(command, *letter);
        if (option == NULL) {
            return report_unknown(cursor->call, word);
        }
        if (ms_cli_argument_count(option) > 0) {
            return read_option(cursor, option, letter[1] == '\0' ? NULL : letter + 1);
        }
        ms_status status = read_option(cursor, option, NULL);
        if (status != MS_OK) {
            return status;
        }
    }
    return MS_OK;
}

/* Store a positional argument.  Returns MS_OK; MS_E_USAGE (reported): the command takes no further
 * one. */
static ms_status read_positional(ms_invocation *call, const char *word) {
    if (call->positional_count == call->command->positionals[1]) {
        return ms_diag_usage(call->diag, "superfluous argument '%s'", word);
    }
    call->positionals[call->positional_count++] = word;
    return MS_OK;
}

/* Whether --help or -h is among the words before "--". -h counts only where the command has no
 * option -h of its own. */
static bool asks_for_help(const parser *cursor) {
    bool has_own_h = ms_cli_find_letter(cursor->call->command, 'h') != NULL;
    for (size_t i = 0; i < cursor->count && strcmp(cursor->words[i], "--") != 0; i++) {
        if (strcmp(cursor->words[i], "--help") == 0 ||
            (!has_own_h && strcmp(cursor->words[i], "-h") == 0)) {
            return true;
        }
    }
    return false;
}

/* Read all words: options, positional arguments ("-" is one), and "--", behind which all words are
 * positional. */
static ms_status parse_words(parser *cursor) {
    bool has_ended = false;
    while (cursor->at < cursor->count) {
        const char *word = cursor->words[cursor->at++];
        ms_status status = MS_OK;
        if (has_ended || word[0] != '-' || word[1] == '\0') {
            status = read_positional(cursor->call, word);
        } else if (strcmp(word, "--") == 0) {
            has_ended = true;
        } else if (word[1] == '-') {
            status = read_long(cursor, word);
        } else {
            status = read_letters(cursor, word);
        }
        if (status != MS_OK) {
            return status;
        }
    }
    return MS_OK;
}

bool ms_cli_knows(const ms_invocation *call, const char *name) {
    return ms_cli_find_option(call->command, name, strlen(name)) != NULL;
}

/* --help comes before all checks, so that it is answered on a faulty command line, too. */
ms_status ms_cli_parse(ms_invocation *call, size_t count, const char *const *words,
                       bool *wants_help_out) {
    static const char *const FORMS[] = {"json", "markdown", NULL}; /* not both */
    parser cursor = {.call = call, .words = words, .count = count};
    if (option_count(call->command) > MS_OPTION_COUNT_MAX) {
        ms_diag_error(call->diag, "the option table of '%s' is too long", call->command->name);
        return MS_E_BUG;
    }
    *wants_help_out = asks_for_help(&cursor);
    if (*wants_help_out) {
        return MS_OK;
    }
    call->positionals = MS_NEW(call->arena, const char *, count + 1);
    if (call->positionals == NULL) {
        return ms_diag_no_memory(call->diag);
    }
    ms_status status = parse_words(&cursor);
    if (status == MS_OK && call->positional_count < call->command->positionals[0]) {
        status = ms_diag_usage(call->diag, "missing argument: %s", call->command->positional_help);
    }
    if (status == MS_OK && ms_cli_knows(call, FORMS[0]) && ms_cli_knows(call, FORMS[1])) {
        status = ms_cli_check_stdout(call, FORMS);
    }
    return status;
}

/* Index of an option in the table of the command. An unknown name is a bug of the command and ends
 * the program. */
static size_t own_option(const ms_invocation *call, const char *name) {
    const ms_option *option = ms_cli_find_option(call->command, name, strlen(name));
    if (option == NULL) {
        ms_diag_error(call->diag,
                      "bug: command '%s' asks for option '--%s', which is not in its table",
                      call->command->name, name);
        exit(ms_status_exit_code(MS_E_BUG));
    }
    return (size_t)(option - call->command->options);
}

ms_given ms_cli_all(const ms_invocation *call, const char *name) {
    return call->given[own_option(call, name)];
}

bool ms_cli_has(const ms_invocation *call, const char *name) {
    return ms_cli_all(call, name).count > 0;
}

const char *ms_cli_value(const ms_invocation *call, const char *name, const char *fallback) {
    size_t index = own_option(call, name);
    const ms_given *given = &call->given[index];
    size_t arguments = ms_cli_argument_count(&call->command->options[index]);
    return given->count == 0 || arguments == 0 ? fallback
                                               : given->values[(given->count - 1) * arguments];
}

/* Whether an option was given that writes to the standard output: a flag such as --json, or an
 * option with the file '-'.  option: index into the table. */
static bool wants_stdout(const ms_invocation *call, size_t option) {
    const ms_given *given = &call->given[option];
    bool is_flag = ms_cli_argument_count(&call->command->options[option]) == 0;
    return given->count > 0 && (is_flag || strcmp(given->values[given->count - 1], "-") == 0);
}

/* The first option that wants the standard output is remembered, and a second one is refused. */
ms_status ms_cli_check_stdout(const ms_invocation *call, const char *const *options) {
    const ms_option *first = NULL;
    for (size_t i = 0; options[i] != NULL; i++) {
        size_t index = own_option(call, options[i]);
        const ms_option *option = &call->command->options[index];
        if (!wants_stdout(call, index)) {
            continue;
        }
        if (first != NULL) {
            return ms_diag_usage(call->diag, "'--%s%s' and '--%s%s' both want the standard output",
                                 first->name, ms_cli_argument_count(first) == 0 ? "" : " -",
                                 option->name, ms_cli_argument_count(option) == 0 ? "" : " -");
        }
        first = option;
    }
    return MS_OK;
}

ms_status ms_cli_int(const ms_invocation *call, const char *name, long fallback, long low,
                     long high, long *out) {
    const char *text = ms_cli_value(call, name, NULL);
    if (text == NULL) {
        *out = fallback;
        return MS_OK;
    }
    char *end = NULL;
    errno = 0;
    long value = strtol(text, &end, 10);
    bool is_clean = strspn(text, "+-0123456789") == strlen(text) && end != text && *end == '\0';
    if (!is_clean || errno != 0 || value < low || value > high) {
        return ms_diag_usage(call->diag,
                             "option '--%s' takes a whole number from %ld to %ld, got '%s'", name,
                             low, high, text);
    }
    *out = value;
    return MS_OK;
}

ms_status ms_cli_number(const ms_invocation *call, const char *name, double fallback, double *out) {
    const char *text = ms_cli_value(call, name, NULL);
    if (text == NULL) {
        *out = fallback;
        return MS_OK;
    }
    char *end = NULL;
    double value = strtod(text, &end);
    bool is_clean = strspn(text, "+-.0123456789eE") == strlen(text) && end != text && *end == '\0';
    if (!is_clean || !isfinite(value)) {
        return ms_diag_usage(call->diag, "option '--%s' takes a number, got '%s'", name, text);
    }
    *out = value;
    return MS_OK;
}

ms_status ms_cli_choice(const ms_invocation *call, const char *name, const char *const *words,
                        int *index_out) {
    const char *given = ms_cli_value(call, name, words[0]);
    ms_buffer list = {0};
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(given, words[i]) == 0) {
            *index_out = i;
            ms_buffer_release(&list);
            return MS_OK;
        }
        const char *between = i == 0 ? "" : words[i + 1] == NULL ? " or " : ", ";
        ms_buffer_printf(&list, "%s%s", between, words[i]);
    }
    ms_diag_error(call->diag, "option '--%s' is %s, got '%s'", name, ms_buffer_text(&list), given);
    ms_buffer_release(&list);
    return MS_E_USAGE;
}
