/* Completion of an unfinished command line, for shells. First the words before the last one are
 * read (line_state), which tells whether the last word is a command, an option, an argument of an
 * option or a positional argument; then the words that may stand there are offered, as far as the
 * tables of commands, options and keys tell (complete.h). */
#include "cli/complete.h"

#include <ctype.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/help.h"
#include "cli/job_options.h"
#include "job/spec.h"

/* ---- the word that is typed ---- */

/* The last word of the line. Its first part may be complete already, such as "--set=mesh.": offers
 * repeat that part, and only the text behind it is compared. */
typedef struct completion {
    const char *word;  /* the whole word */
    const char *typed; /* inside `word`: the part that offers have to begin with */
    ms_arena *arena;
    ms_buffer *out;
} completion;

/* Offer a word for completion if it begins with the part that is typed.  word: NULL, where memory
 * ran out, offers nothing.  end: appended to the word, "=" or "." where a further part follows,
 * else "".  text: the meaning of the word, or "". */
static void offer(completion *last, const char *word, const char *end, const char *text) {
    if (word != NULL && strncmp(word, last->typed, strlen(last->typed)) == 0) {
        ms_buffer_add(last->out, last->word, (size_t)(last->typed - last->word));
        ms_buffer_printf(last->out, "%s%s\t%s\n", word, end, text);
    }
}

/* Treat the items of a comma list before its last comma as complete: only the item behind the comma
 * is compared. */
static void skip_list_items(completion *last) {
    const char *comma = strrchr(last->typed, ',');
    last->typed += comma == NULL ? 0 : (size_t)(comma + 1 - last->typed);
}

/* Offer the names of installed files.  folder: below the data folder, such as "platforms".
 * text: the meaning of these names. */
static void offer_installed(completion *last, const char *folder, const char *text) {
    const char *names = ms_cli_installed_names(folder, last->arena);
    while (names[0] != '\0') {
        size_t length = strcspn(names, ",");
        offer(last, ms_arena_strndup(last->arena, names, length), "", text);
        names += length;
        names += strspn(names, ", ");
    }
}

/* ---- keys of workloads and platforms, as --set and --vary take them ---- */

/* Tables of keys that may hold at one level of a key path. */
enum { TABLES_MAX = 8 };

/* The keys that may stand at one level of a key path such as "mesh.tp". */
typedef struct key_level {
    const ms_field *tables[TABLES_MAX]; /* [count] */
    int count;
    const ms_field *each; /* row of any key that the tables lack; NULL: no other key is allowed */
} key_level;

/* Add a table of keys to a level, unless `fields` is NULL or the level has TABLES_MAX tables
 * already. */
static void add_table(key_level *level, const ms_field *fields) {
    if (fields != NULL && level->count < TABLES_MAX) {
        level->tables[level->count++] = fields;
    }
}

/* The keys below a row of a table; where the mapping has several kinds, such as shapes of a fabric,
 * those of all kinds. */
static key_level level_below(const ms_field *row) {
    key_level level = {.count = 0};
    add_table(&level, row->fields);
    if (row->shape != NULL) {
        ms_field_variant variant;
        add_table(&level, row->shape->changes);
        for (int i = 0; row->shape->variant != NULL && row->shape->variant(i, &variant); i++) {
            add_table(&level, variant.fields);
        }
        level.each = row->shape->each;
    }
    return level;
}

/* Whether keys may follow below the key of a row. */
static bool has_level_below(const ms_field *row) {
    const key_level level = level_below(row);
    return level.count > 0 || level.each != NULL;
}

/* The row of a key at a level: the row of the first table that has the key, else level->each, the
 * row of any other key (NULL: there is none). key: `length` bytes, not terminated. */
static const ms_field *find_row(const key_level *level, const char *key, size_t length) {
    for (int i = 0; i < level->count; i++) {
        for (const ms_field *row = level->tables[i]; row->key != NULL; row++) {
            if (strlen(row->key) == length && strncmp(row->key, key, length) == 0) {
                return row;
            }
        }
    }
    return level->each;
}

/* Offer all keys of a level, each followed by "." where keys follow below it, else by "=". */
static void offer_rows(completion *last, const key_level *level) {
    for (int i = 0; i < level->count; i++) {
        for (const ms_field *row = level->tables[i]; row->key != NULL; row++) {
            if (find_row(level, row->key, strlen(row->key)) ==
                row) { /* offer a key that two kinds share once */
                offer(last, row->key, has_level_below(row) ? "." : "=",
                      row->help == NULL ? "" : row->help);
            }
        }
    }
}

/* The folder of installed files whose names a key takes as its value; NULL: the key takes no file
 * name.  path: key path, `length` bytes; a leading "platform." is ignored, so that keys of a
 * workload and of a platform are found alike. */
static const char *folder_of(const char *path, size_t length) {
    static const char OF_PLATFORM[] = "platform.";
    static const struct {
        const char *key, *folder;
    } FOLDERS[] = {{"framework", "workloads/frameworks"},
                   {"framework.name", "workloads/frameworks"},
                   {"platform", "platforms"},
                   {"file", "platforms"},
                   {"base", "platforms"},
                   {"gpu", "platforms/gpus"},
                   {"gpu.type", "platforms/gpus"},
                   {"library", "platforms/libraries"},
                   {"library.file", "platforms/libraries"}};
    size_t before = sizeof OF_PLATFORM - 1;
    if (length > before && strncmp(path, OF_PLATFORM, before) == 0) {
        path += before;
        length -= before;
    }
    for (size_t i = 0; i < sizeof FOLDERS / sizeof FOLDERS[0]; i++) {
        const char *key = FOLDERS[i].key;
        if (strlen(key) == length && strncmp(path, key, length) == 0) {
            return FOLDERS[i].folder;
        }
    }
    return NULL;
}

/* Offer the values of a key, behind "=": its words, or the names of files in `folder` (NULL: none).
 * A value may be a comma list. */
static void offer_values(completion *last, const ms_field *row, const char *folder) {
    static const char *const BOOLS[] = {"true", "false", NULL};
    bool is_bool = row->type == MS_FIELD_BOOL || row->type == MS_FIELD_SWITCH;
    const char *const *word = is_bool ? BOOLS : row->words;
    const char *(*name)(int index) = row->shape == NULL ? NULL : row->shape->name;
    skip_list_items(last);
    if (folder != NULL) {
        offer_installed(last, folder, "");
    }
    for (; word != NULL && *word != NULL; word++) {
        offer(last, *word, "", "");
    }
    for (int i = 0; name != NULL && name(i) != NULL; i++) {
        offer(last, name(i), "", "");
    }
}

/* Complete "key.path=value", as --set and --vary take it: offer the keys of the level that is being
 * typed, or behind "=" the values of the key.  takes: whether keys are those of a workload or of a
 * platform. */
static void complete_key(completion *last, ms_option_takes takes) {
    const char *path = last->typed;
    key_level level = {.count = 0};
    add_table(&level, takes == MS_TAKES_WORKLOAD_KEY ? MS_WORKLOAD_FIELDS : MS_PLATFORM_FIELDS);
    for (;;) {
        size_t length = strcspn(last->typed, ".=");
        char end = last->typed[length];
        /* The last part of the path is still being typed. */
        if (end == '\0') {
            offer_rows(last, &level);
            return;
        }
        const ms_field *row = find_row(&level, last->typed, length);
        last->typed += length + 1;
        if (row == NULL || end == '=') {
            if (row != NULL) {
                offer_values(last, row, folder_of(path, (size_t)(last->typed - path) - 1));
            }
            return;
        }
        level = level_below(row);
    }
}

/* ---- arguments of options and commands ---- */

/* Ask the shell to offer files or folders, as it knows best which there are, how they are quoted,
 * and what '~' is.  what: "file" or "folder".  endings: a text with the endings of the files, such
 * as ".svg or .json"; "": any. The line that is written is described at ms_cli_complete. */
static void ask_for_files(completion *last, const char *what, const char *endings) {
    const char *before = "\t";
    ms_buffer_printf(last->out, ":%s\t", what);
    ms_buffer_add(last->out, last->word, (size_t)(last->typed - last->word));
    for (const char *at = strchr(endings, '.'); at != NULL; at = strchr(at, ' ')) {
        at += strspn(at, " ");
        size_t length = strcspn(at, ", ");
        if (at[0] == '.') { /* of ".svg or .json" the endings alone */
            ms_buffer_puts(last->out, before);
            ms_buffer_add(last->out, at, length);
            before = " ";
        }
    }
    ms_buffer_puts(last->out, before[0] == '\t' ? "\t\n" : "\n");
}

/* Offer installed files of a kind by their names, and ask the shell for the user's own YAML files.
 * folder, text: as for offer_installed. */
static void offer_files(completion *last, const char *folder, const char *text) {
    offer_installed(last, folder, text);
    ask_for_files(last, "file", ".yaml");
}

/* Complete an argument by its name in the help page, such as "FILE" or "P.yaml": the tables have no
 * other sign of its type. */
static void complete_named(completion *last, const char *name) {
    static const char *const PLATFORMS[] = {"P.yaml", "PLATFORM.yaml", "P1,P2", NULL};
    static const char *const WORKLOADS[] = {"WORKLOAD.yaml", "WORKLOAD", NULL};
    static const char *const FILES[] = {"FILE", "CSV", "LOG", "A", "B", NULL};
    static const char *const FOLDERS[] = {"DIR", "FOLDER", NULL};
    const char *ending = strrchr(name, '.');
    if (ms_cli_is_among(name, PLATFORMS)) {
        skip_list_items(last);
        offer_files(last, "platforms", "platform");
    } else if (ms_cli_is_among(name, WORKLOADS)) {
        offer_files(last, "workloads", "workload");
    } else if (strcmp(name, "MODEL") == 0) {
        offer_installed(last, MS_CLI_MODELS, "model");
        offer_installed(last, "workloads", "model of the workload");
    } else if (ending != NULL && islower((unsigned char)ending[1]) != 0) {
        ask_for_files(last, "file", ending);
    } else if (ms_cli_is_among(name, FILES)) {
        ask_for_files(last, "file", "");
    } else if (ms_cli_is_among(name, FOLDERS)) {
        ask_for_files(last, "folder", "");
    }
}

/* Offer words by number.  word: returns NULL behind the last one. */
static void offer_words(completion *last, const char *(*word)(int index)) {
    for (int i = 0; word(i) != NULL; i++) {
        offer(last, word(i), "", "");
    }
}

/* Complete one alternative of an argument: a word ("auto"), a word that a value follows
 * ("makeflow=FILE", "csv:FILE"), or in capitals a placeholder ("KIND").  word: the words that a
 * placeholder stands for; NULL: they are not in a table. */
static void complete_choice(completion *last, const char *choice, const char *(*word)(int index)) {
    size_t head = strcspn(choice, "=:");
    if (isupper((unsigned char)choice[0]) != 0) {
        if (word != NULL) {
            offer_words(last, word);
        }
        complete_named(last, choice);
    } else if (choice[head] == '\0') {
        offer(last, choice, "", "");
    } else if (strncmp(last->typed, choice, head + 1) == 0) {
        completion behind = *last;
        behind.typed += head + 1;
        complete_named(&behind, choice + head + 1);
    } else {
        offer(last, ms_arena_strndup(last->arena, choice, head + 1), "", "");
    }
}

/* Complete an argument that is one of several alternatives, such as "a|b=FILE|KIND".  word: as for
 * complete_choice. */
static void complete_choices(completion *last, const char *choices, const char *(*word)(int)) {
    while (choices[0] != '\0') {
        size_t length = strcspn(choices, "|");
        const char *choice = ms_arena_strndup(last->arena, choices, length);
        if (choice == NULL) {
            return;
        }
        complete_choice(last, choice, word);
        choices += length + (choices[length] == '|');
    }
}

/* Complete the argument of an option: a key, an output file, or the alternatives in the option's
 * row. */
static void complete_argument(completion *last, const ms_option *option) {
    if (option->takes != MS_TAKES_NAMED) {
        complete_key(last, option->takes);
        return;
    }
    if (option->writes != NULL) {
        bool is_folder = strcmp(option->writes, "/") == 0;
        ask_for_files(last, is_folder ? "folder" : "file", is_folder ? "" : option->writes);
        return;
    }
    if (strchr(option->argument, ',') != NULL) {
        skip_list_items(last);
    }
    complete_choices(last, option->argument, option->word);
}

/* Complete a positional argument of a command.  index: of the argument, from 0. */
static void complete_positional(completion *last, const ms_command *command, size_t index) {
    const char *help = command->positional_help;
    if (help == NULL || index >= command->positionals[1]) {
        return;
    }
    for (; index > 0 && strchr(help, ' ') != NULL; index--) {
        help = strchr(help, ' ') + 1; /* the last name holds for all further arguments */
    }
    help += help[0] == '['; /* "[KIND]": an optional argument */
    const char *name = ms_arena_strndup(last->arena, help, strcspn(help, " ]"));
    if (name == NULL) {
        return;
    }
    const char *dots = strstr(name, "..."); /* "TRACE.h5...": may be repeated */
    name = dots == NULL ? name : ms_arena_strndup(last->arena, name, (size_t)(dots - name));
    /* The kinds of a tool are its modes. */
    bool is_kind = name != NULL && strcmp(name, "KIND") == 0;
    for (const ms_mode *mode = command->modes; is_kind && mode != NULL && mode->usage != NULL;
         mode++) {
        offer(last, mode->argument, "", mode->summary);
    }
    if (name != NULL) {
        complete_choices(last, name, strstr(name, "KIND") == NULL ? NULL : command->word);
    }
}

/* ---- the command line ---- */

/* What the words before the last one say about it. */
typedef struct line_state {
    const ms_command *command;
    bool given[MS_OPTION_COUNT_MAX]; /* by index into the option table: given already */
    const ms_option *open;           /* the option whose argument comes next; NULL: no option's */
    size_t open_count;               /* arguments of `open` that are still to come */
    size_t positionals;              /* positional arguments so far */
    bool has_ended;                  /* "--" was read: no options follow */
} line_state;

/* Note that an option was given, and how many of its arguments are still to come.  option: NULL: an
 * unknown option, which is ignored.  has_argument: its first argument is in the same word, as in
 * "--set=K" or "-p4". */
static void read_option(line_state *state, const ms_option *option, bool has_argument) {
    if (option == NULL) {
        return;
    }
    state->given[option - state->command->options] = true;
    size_t count = ms_cli_argument_count(option);
    state->open_count = has_argument && count > 0 ? count - 1 : count;
    state->open = state->open_count > 0 ? option : NULL;
}

/* Read short options in one word, such as "-jp4": flags up to the first option that takes an
 * argument. */
static void read_letters(line_state *state, const char *word) {
    for (const char *letter = word + 1; *letter != '\0'; letter++) {
        const ms_option *option = ms_cli_find_letter(state->command, *letter);
        read_option(state, option, letter[1] != '\0');
        if (option == NULL || ms_cli_argument_count(option) > 0) {
            return;
        }
    }
}

/* Read a word before the last one: an argument of the open option, a positional argument, or an
 * option. */
static void read_word(line_state *state, const char *word) {
    if (state->open != NULL) {
        state->open = --state->open_count > 0 ? state->open : NULL;
    } else if (state->has_ended || word[0] != '-' || word[1] == '\0') {
        state->positionals++;
    } else if (strcmp(word, "--") == 0) {
        state->has_ended = true;
    } else if (word[1] == '-') {
        size_t length = strcspn(word + 2, "=");
        read_option(state, ms_cli_find_option(state->command, word + 2, length),
                    word[2 + length] == '=');
    } else {
        read_letters(state, word);
    }
}

/* Offer the options that may still be given, and --help. */
static void offer_options(completion *last, const line_state *state) {
    const ms_command *command = state->command;
    for (const ms_option *option = command->options; option != NULL && option->name != NULL;
         option++) {
        if (!state->given[option - command->options] || option->is_repeatable) {
            const char *word = ms_arena_printf(last->arena, "--%s", option->name);
            offer(last, word, "", option->help);
        }
    }
    offer(last, "--help", "", ms_cli_help_option(command).help);
}

/* Offer the names of all commands. */
static void offer_commands(completion *last) {
    for (const ms_command *const *command = ms_cli_commands(); *command != NULL; command++) {
        offer(last, (*command)->name, "", (*command)->summary);
    }
}

/* Complete the first word: a command, or an option of the program itself. */
static void complete_command(completion *last) {
    offer_commands(last);
    offer(last, "help", "", "print the program's page, or that of a command");
    if (last->typed[0] == '-') {
        offer(last, "--help", "", "print the program's page");
        offer(last, "--version", "", "print the version");
    }
}

/* Complete the last word of a line whose command is known: an argument of the open option, the
 * value behind "--option=", an option, or a positional argument. */
static void complete_line(completion *last, const line_state *state) {
    const char *word = last->typed;
    size_t name = word[0] == '-' && word[1] == '-' ? strcspn(word, "=") : 0;
    if (state->open != NULL) {
        complete_argument(last, state->open);
    } else if (!state->has_ended && word[0] == '-' && word[name] == '=') {
        const ms_option *option = ms_cli_find_option(state->command, word + 2, name - 2);
        last->typed += name + 1;
        if (option != NULL && ms_cli_argument_count(option) == 1) {
            complete_argument(last, option);
        }
    } else if (!state->has_ended && word[0] == '-') {
        offer_options(last, state);
    } else {
        complete_positional(last, state->command, state->positionals);
    }
}

/* A command is completed if no other word precedes the last one; else the words before the last one
 * are read, as they decide what may follow. */
ms_status ms_cli_complete(size_t count, const char *const *words, ms_arena *arena, ms_buffer *out) {
    const char *word = count == 0 ? "" : words[count - 1];
    completion last = {.word = word, .typed = word, .arena = arena, .out = out};
    line_state state = {.command = count < 2 ? NULL : ms_cli_find_command(words[0])};
    /* words[0] is the command; the words between it and the last one are read first. */
    if (count < 2) {
        complete_command(&last);
    } else if (strcmp(words[0], "help") == 0 && count == 2) {
        offer_commands(&last);
    } else if (state.command != NULL) {
        for (size_t i = 1; i + 1 < count; i++) {
            read_word(&state, words[i]);
        }
        complete_line(&last, &state);
    }
    return out->failed || arena->has_failed ? MS_E_NOMEM : MS_OK;
}
