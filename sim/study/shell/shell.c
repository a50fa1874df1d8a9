/* Scripts taken apart as a whole. */
#include "study/shell/shell.h"

#include <string.h>

#include "study/shell/parts.h"

void ms_shell_release(ms_shell *shell) {
    ms_vector_release(&shell->variables);
    ms_vector_release(&shell->words);
    ms_vector_release(&shell->commands);
    ms_vector_release(&shell->environment);
    ms_vector_release(&shell->batch);
    ms_vector_release(&shell->notes);
}

/* A definition of a positional parameter, which has its place. */
static void define_given(ms_shell_reader *r, const ms_shell_word *word, long long index,
                         ms_vector *given) {
    const ms_shell_word empty = {.text = ""};
    while (given->count < (size_t)index && ms_vector_add(given, &empty, 1) != NULL) {
    }
    if (given->failed) {
        ms_shell_lack_memory(r);
        return;
    }
    MS_AT(given, ms_shell_word, index - 1) = *word;
    r->state.given = given;
}

/* "NAME=VALUE" of the script's surroundings. */
static void define_one(ms_shell_reader *r, const char *text, ms_vector *given) {
    enum { GIVEN_MAX = 1000 };
    long long index = 0;
    const char *equals = strchr(text, '=');
    size_t length = equals == NULL ? 0 : (size_t)(equals - text);
    const char *name = ms_arena_strndup(r->arena, text, length);
    bool is_name = length > 0;
    for (size_t i = 0; i < length; i++) {
        is_name = is_name && ms_shell_is_name(text[i]);
    }
    bool is_number = is_name && text[0] >= '0' && text[0] <= '9';
    if (name == NULL) {
        ms_shell_lack_memory(r);
        return;
    }
    if (!is_name ||
        (is_number && (!ms_shell_read_number(name, &index) || index < 1 || index > GIVEN_MAX))) {
        ms_diag_error(r->diag,
                      "expected NAME=VALUE of a variable, or of a parameter by its number from 1 "
                      "to %d, got '%s'",
                      GIVEN_MAX, text);
        r->status = MS_E_INPUT;
        return;
    }
    const ms_shell_word word = {.text = equals + 1};
    if (is_number) {
        define_given(r, &word, index, given);
    } else {
        ms_shell_set(r, name, &word);
    }
}

static void read_texts(ms_shell_reader *r, const ms_shell_source *source) {
    for (size_t i = 0; i < source->count && r->status == MS_OK; i++) {
        if (r->is_read[i]) {
            continue; /* where another one named it */
        }
        const ms_text *text = &source->texts[i];
        r->cursor = (ms_shell_cursor){.text = text,
                                      .at = text->data,
                                      .line_start = text->data,
                                      .end = text->data + text->length_B,
                                      .line = 1};
        r->state.stop = MS_SHELL_GOES_ON;
        r->state.input_end = NULL;
        ms_shell_read_all(r);
    }
}

ms_status ms_shell_read(const ms_shell_source *source, ms_arena *arena, ms_diag *diag,
                        ms_shell *shell) {
    ms_shell_reader r = {.arena = arena,
                         .diag = diag,
                         .out = shell,
                         .source = source,
                         .is_read = MS_NEW(arena, bool, source->count + 1),
                         .into = &shell->words,
                         .read_all = ms_shell_read_all};
    ms_vector given;
    ms_vector_init(&shell->variables, sizeof(ms_shell_variable));
    ms_vector_init(&shell->words, sizeof(ms_shell_word));
    ms_vector_init(&shell->commands, sizeof(ms_shell_command));
    ms_vector_init(&shell->environment, sizeof(ms_shell_word));
    ms_vector_init(&shell->batch, sizeof(ms_shell_word));
    ms_vector_init(&shell->notes, sizeof(ms_shell_note));
    ms_vector_init(&given, sizeof(ms_shell_word));
    ms_vector_init(&r.state.functions, sizeof(ms_shell_function));
    ms_vector_init(&r.state.passed_over, sizeof(const char *));
    ms_buffer_init(&r.draft.text);
    for (size_t i = 0; source->defines != NULL && i < source->defines->count && r.status == MS_OK;
         i++) {
        define_one(&r, source->defines->items[i], &given);
    }
    r.defined = shell->variables.count;
    if (r.is_read == NULL) {
        ms_shell_lack_memory(&r);
    } else {
        read_texts(&r, source);
    }
    ms_buffer_release(&r.draft.text);
    ms_vector_release(&r.state.functions);
    ms_vector_release(&r.state.passed_over);
    ms_vector_release(&given);
    return r.status;
}
