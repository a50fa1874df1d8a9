/* Which word of a command line is being typed: a command, an option, an argument of one. */
#include "cli/complete.h"

#include <string.h>

#include "cli/commands.h"
#include "cli/complete_argument.h"
#include "cli/help.h"

/* How far a command line is before the word that is being typed. */
typedef struct line_state {
    const ms_command *command;
    bool given[MS_OPTION_COUNT_MAX];
    const ms_option *open; /* whose argument comes next; NULL: none's */
    size_t open_count;     /* arguments of it that are to come */
    size_t positionals;
    bool has_ended; /* "--" stood there: no more options */
} line_state;

static void take(line_state *state, const ms_option *option, bool has_argument) {
    if (option == NULL) {
        return;
    }
    state->given[option - state->command->options] = true;
    size_t count = ms_cli_argument_count(option);
    state->open_count = has_argument && count > 0 ? count - 1 : count;
    state->open = state->open_count > 0 ? option : NULL;
}

/* "-jp4": flags in one word, up to the first option that takes an argument. */
static void take_letters(line_state *state, const char *word) {
    for (const char *letter = word + 1; *letter != '\0'; letter++) {
        const ms_option *option = ms_cli_find_letter(state->command, *letter);
        take(state, option, letter[1] != '\0');
        if (option == NULL || ms_cli_argument_count(option) > 0) {
            return;
        }
    }
}

static void take_word(line_state *state, const char *word) {
    if (state->open != NULL) {
        state->open = --state->open_count > 0 ? state->open : NULL;
    } else if (state->has_ended || word[0] != '-' || word[1] == '\0') {
        state->positionals++;
    } else if (strcmp(word, "--") == 0) {
        state->has_ended = true;
    } else if (word[1] == '-') {
        size_t length = strcspn(word + 2, "=");
        take(state, ms_cli_find_option(state->command, word + 2, length), word[2 + length] == '=');
    } else {
        take_letters(state, word);
    }
}

static void offer_options(ms_completion *c, const line_state *state) {
    const ms_command *command = state->command;
    for (const ms_option *option = command->options; option != NULL && option->name != NULL;
         option++) {
        if (!state->given[option - command->options] || option->is_repeatable) {
            const char *word = ms_arena_printf(c->arena, "--%s", option->name);
            ms_completion_offer(c, word, "", option->help);
        }
    }
    ms_completion_offer(c, "--help", "", ms_cli_help_option(command).help);
}

static void offer_commands(ms_completion *c) {
    for (const ms_command *const *command = ms_cli_commands(); *command != NULL; command++) {
        ms_completion_offer(c, (*command)->name, "", (*command)->summary);
    }
}

static void complete_command(ms_completion *c) {
    offer_commands(c);
    ms_completion_offer(c, "help", "", "print the program's page, or that of a command");
    if (c->typed[0] == '-') {
        ms_completion_offer(c, "--help", "", "print the program's page");
        ms_completion_offer(c, "--version", "", "print the version");
    }
}

/* The word being typed is behind a command's name. */
static void complete_line(ms_completion *c, const line_state *state) {
    const char *word = c->typed;
    size_t name = word[0] == '-' && word[1] == '-' ? strcspn(word, "=") : 0;
    if (state->open != NULL) {
        ms_completion_argument(c, state->open);
    } else if (!state->has_ended && word[0] == '-' && word[name] == '=') {
        const ms_option *option = ms_cli_find_option(state->command, word + 2, name - 2);
        ms_completion_keep(c, name + 1);
        if (option != NULL && ms_cli_argument_count(option) == 1) {
            ms_completion_argument(c, option);
        }
    } else if (!state->has_ended && word[0] == '-') {
        offer_options(c, state);
    } else {
        ms_completion_positional(c, state->command, state->positionals);
    }
}

ms_status ms_cli_complete(size_t count, const char *const *words, ms_arena *arena, ms_buffer *out) {
    const char *last = count == 0 ? "" : words[count - 1];
    ms_completion c = {.word = last, .typed = last, .arena = arena, .out = out};
    line_state state = {.command = count < 2 ? NULL : ms_cli_find_command(words[0])};
    if (count < 2) {
        complete_command(&c);
    } else if (strcmp(words[0], "help") == 0 && count == 2) {
        offer_commands(&c);
    } else if (state.command != NULL) {
        for (size_t i = 1; i + 1 < count; i++) {
            take_word(&state, words[i]);
        }
        complete_line(&c, &state);
    }
    return out->failed || arena->has_failed ? MS_E_NOMEM : MS_OK;
}
