/* Which words of a script are a run's arguments. */
#include <string.h>

#include "study/import/megatron_parts.h"

typedef struct command_choice {
    const ms_shell *shell;
    ms_arena *arena;
    bool has_no_memory;
} command_choice;

static const ms_shell_word *words_of(const command_choice *c, const ms_shell_command *command) {
    return (const ms_shell_word *)c->shell->words.data + command->first;
}

static const ms_shell_command *command_at(const command_choice *c, size_t i) {
    return &MS_AT(&c->shell->commands, ms_shell_command, i);
}

static void add(command_choice *c, ms_shell_word word, ms_vector *out) {
    if (word.text == NULL || ms_vector_add(out, &word, 1) == NULL) {
        c->has_no_memory = true;
    }
}

static const char BLANKS[] = " \t\n\r";

/* A word that holds a whole command in quotes, as for `sh -c`. */
static bool is_whole(const char *text) {
    const char *flag = strstr(text, "--");
    return flag != NULL &&
           (flag > text ? flag[-1] == ' ' || flag[-1] == '\n' : strchr(text, ' ') != NULL);
}

/* A word of a whole command, without the quotes around it. */
static const char *unquoted(const command_choice *c, const char *text, size_t length) {
    bool is_quoted =
        length > 1 && (text[0] == '\'' || text[0] == '"') && text[length - 1] == text[0];
    return ms_arena_strndup(c->arena, text + is_quoted, length - 2 * (size_t)is_quoted);
}

static bool is_any(const char *text, const char *const *words) {
    for (; *words != NULL; words++) {
        if (strcmp(text, *words) == 0) {
            return true;
        }
    }
    return false;
}

/* How far a word of a whole command goes: what a command would print is a part of it. */
static size_t word_length(const char *at) {
    size_t length = 0;
    int depth = 0;
    for (; at[length] != '\0' && (depth > 0 || strchr(" \t\n\r", at[length]) == NULL); length++) {
        depth += at[length] == '(' && (depth > 0 || (length > 0 && at[length - 1] == '$'));
        depth -= at[length] == ')' && depth > 0;
    }
    return length;
}

/* Add words up to what ends a command, which stands among them where a shell would read them again
 * ("eval $RUN"); whole commands are cut at their blanks. */
static void take(command_choice *c, const ms_shell_word *words, size_t count, ms_vector *out) {
    static const char *const ENDS[] = {"|", "||", "&&", ";", "|&", "&", NULL};
    static const char *const REDIRECTIONS[] = {"2>&1", ">", ">>", "&>", "2>", NULL};
    for (size_t i = 0; i < count && !c->has_no_memory; i++) {
        const char *at = words[i].text;
        if (!is_whole(at)) {
            bool is_end = is_any(at, ENDS) || is_any(at, REDIRECTIONS);
            if (is_end) {
                return;
            }
            add(c, words[i], out);
            continue;
        }
        for (at += strspn(at, BLANKS); *at != '\0' && !c->has_no_memory; at += strspn(at, BLANKS)) {
            size_t length = word_length(at);
            const char *text = unquoted(c, at, length);
            if (text != NULL && (is_any(text, ENDS) || is_any(text, REDIRECTIONS))) {
                return;
            }
            add(c, (ms_shell_word){.text = text, .mark = words[i].mark}, out);
            at += length;
        }
    }
}

static bool is_argument(const char *text) {
    return strncmp(text, "--", 2) == 0;
}

static size_t count_arguments(const ms_vector *words) {
    size_t found = 0;
    for (size_t i = 0; i < words->count; i++) {
        const char *text = MS_AT(words, ms_shell_word, i).text;
        ms_megatron_flag flag;
        char name[96];
        size_t length = strcspn(text, "=");
        if (length < sizeof name && is_argument(text)) {
            memcpy(name, text, length);
            name[length] = '\0';
            found += ms_megatron_find_flag(name, &flag);
        }
    }
    return found;
}

/* The last one of those commands that hold the most arguments.  *loose_out: how many stand on lines
 * that are nothing else, as where arguments alone were pasted. */
static size_t find_best(command_choice *c, size_t *best_out, size_t *loose_out) {
    size_t most = 0;
    ms_vector trial;
    ms_vector_init(&trial, sizeof(ms_shell_word));
    *loose_out = *best_out = 0;
    for (size_t i = 0; i < c->shell->commands.count && !c->has_no_memory; i++) {
        const ms_shell_command *command = command_at(c, i);
        trial.count = 0;
        take(c, words_of(c, command), command->count, &trial);
        size_t found = count_arguments(&trial);
        if (is_argument(words_of(c, command)->text)) {
            *loose_out += found;
        } else if (found > 0 && found >= most) {
            most = found;
            *best_out = i;
        }
    }
    ms_vector_release(&trial);
    return most;
}

/* All variables, of each its last value. */
static void take_variables(command_choice *c, ms_vector *words) {
    const ms_vector *variables = &c->shell->variables;
    for (size_t i = 0; i < variables->count; i++) {
        const ms_shell_variable *variable = &MS_AT(variables, ms_shell_variable, i);
        bool is_last = true;
        for (size_t j = i + 1; j < variables->count && is_last; j++) {
            is_last = strcmp(MS_AT(variables, ms_shell_variable, j).name, variable->name) != 0;
        }
        if (is_last) {
            take(c, variable->words, variable->count, words);
        }
    }
}

ms_status ms_megatron_choose_command(const ms_shell *shell, ms_arena *arena, ms_diag *diag,
                                     ms_vector *words) {
    command_choice c = {.shell = shell, .arena = arena};
    size_t best = 0, loose = 0;
    size_t most = find_best(&c, &best, &loose);
    if (most + loose == 0) {
        take_variables(&c, words);
    }
    for (size_t i = 0; i < shell->commands.count && most + loose > 0; i++) {
        const ms_shell_command *command = command_at(&c, i);
        bool is_loose = is_argument(words_of(&c, command)->text);
        if (loose > most ? is_loose : i == best) {
            take(&c, words_of(&c, command), command->count, words);
        }
    }
    return c.has_no_memory ? ms_diag_no_memory(diag) : MS_OK;
}
