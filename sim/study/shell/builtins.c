/* Commands that set variables in other ways than by assignments.
 * Source: POSIX, Shell Command Language, Special Built-In Utilities; read; GNU Bash manual. */
#include <string.h>

#include "study/shell/parts.h"

static const ms_shell_word *word_at(const ms_vector *words, size_t i) {
    return &MS_AT(words, ms_shell_word, i);
}

static bool is_option(const char *text) {
    return text[0] == '-' && text[1] != '\0';
}

/* "let": each word is computed. */
static void compute_all(ms_shell_reader *r, const ms_vector *words) {
    for (size_t i = 1; i < words->count && r->status == MS_OK; i++) {
        long long value = 0;
        if (!word_at(words, i)->is_open) {
            (void)ms_shell_compute(r, word_at(words, i)->text, &word_at(words, i)->mark, &value);
        }
    }
}

/* "unset": it is empty, and a default counts. */
static void unset_all(ms_shell_reader *r, const ms_vector *words) {
    for (size_t i = 1; i < words->count && r->status == MS_OK; i++) {
        const char *name = word_at(words, i)->text;
        const ms_shell_variable variable = {.name = name};
        if (!is_option(name) && r->out->variables.count < MS_SHELL_WORDS_MAX &&
            ms_vector_add(&r->out->variables, &variable, 1) == NULL) {
            ms_shell_lack_memory(r);
        }
    }
}

/* "set -- WORDS": positional parameters. */
static void set_given(ms_shell_reader *r, const ms_vector *words) {
    ms_vector *given = MS_NEW(r->arena, ms_vector, 1);
    size_t count = words->count - 2;
    ms_shell_word *kept = MS_NEW(r->arena, ms_shell_word, count + 1);
    if (given == NULL || kept == NULL) {
        ms_shell_lack_memory(r);
        return;
    }
    if (count > 0) {
        memcpy(kept, word_at(words, 2), count * sizeof *kept);
    }
    ms_vector_init(given, sizeof *kept);
    given->data = kept; /* in the arena: nothing is added, nothing released */
    given->count = count;
    r->state.given = given;
    r->state.shifted = 0;
}

/* A part of what "read" reads: up to a separator, or all that is left. */
static ms_shell_word take_part(ms_shell_reader *r, const char **at, const char *separators,
                               bool is_last) {
    bool is_blank = strchr(separators, ' ') != NULL;
    *at += is_blank ? strspn(*at, separators) : 0;
    size_t length = is_last ? strlen(*at) : strcspn(*at, separators);
    const char *from = *at;
    while (is_last && is_blank && length > 0 && strchr(separators, from[length - 1]) != NULL) {
        length--;
    }
    const ms_shell_word part = {.text = ms_arena_strndup(r->arena, from, length),
                                .mark = r->state.input->mark};
    *at += length;
    *at += **at != '\0' && !is_blank;
    if (part.text == NULL) {
        ms_shell_lack_memory(r);
    }
    return part;
}

/* "read NAMES <<< TEXT", "read -a NAME <<< TEXT", by IFS. */
static void read_input(ms_shell_reader *r, const ms_vector *words) {
    const ms_shell_variable *ifs = ms_shell_find(r, "IFS", 3);
    bool has_ifs = ifs != NULL && ifs->count == 1 && !ifs->words[0].is_open;
    const char *separators = has_ifs ? ifs->words[0].text : " \t\n";
    const char *at = r->state.input->text;
    bool is_list = false;
    size_t first = 1;
    for (; first < words->count && is_option(word_at(words, first)->text); first++) {
        is_list = is_list || strchr(word_at(words, first)->text, 'a') != NULL;
    }
    if (is_list && first < words->count) {
        ms_vector parts;
        ms_vector_init(&parts, sizeof(ms_shell_word));
        while (*at != '\0' && r->status == MS_OK && parts.count < MS_SHELL_WORDS_MAX) {
            const ms_shell_word part = take_part(r, &at, separators, false);
            bool is_rest = part.text != NULL && part.text[0] == '\0' && *at == '\0';
            if (!is_rest && ms_vector_add(&parts, &part, 1) == NULL) {
                ms_shell_lack_memory(r);
            }
        }
        ms_shell_assign(r, word_at(words, first)->text, &parts, true, NULL);
        ms_vector_release(&parts);
        return;
    }
    for (size_t i = first; i < words->count && r->status == MS_OK; i++) {
        const ms_shell_word part = take_part(r, &at, separators, i + 1 == words->count);
        ms_shell_set(r, word_at(words, i)->text, &part);
    }
}

/* "printf -v NAME FORMAT WORDS". */
static void print_into(ms_shell_reader *r, const ms_vector *words) {
    ms_shell_output output = {.is_open = false};
    ms_shell_output *outer = r->output;
    ms_vector rest = *words;
    ms_shell_word *first = rest.data;
    const char *name = first[2].text;
    ms_buffer_init(&output.text);
    first[2].text = first[0].text; /* the words behind are those of a printf without -v */
    rest.data = first + 2;
    rest.count -= 2;
    r->output = &output;
    ms_shell_print(r, &rest);
    r->output = outer;
    const ms_shell_word word = {.text = ms_buffer_keep(&output.text, r->arena),
                                .mark = first[0].mark};
    if (!output.is_open && word.text != NULL) {
        ms_shell_set(r, name, &word);
    }
}

bool ms_shell_set_variables(ms_shell_reader *r, const ms_vector *words) {
    const char *name = word_at(words, 0)->text;
    const char *first = words->count > 1 ? word_at(words, 1)->text : "";
    if (strcmp(name, "let") == 0) {
        compute_all(r, words);
    } else if (strcmp(name, "unset") == 0) {
        unset_all(r, words);
    } else if (strcmp(name, "set") == 0 && strcmp(first, "--") == 0) {
        set_given(r, words);
    } else if (strcmp(name, "read") == 0 && r->state.input != NULL) {
        read_input(r, words);
    } else if (strcmp(name, "printf") == 0 && strcmp(first, "-v") == 0 && words->count > 3) {
        print_into(r, words);
    } else {
        return false;
    }
    r->state.changes++;
    return true;
}
