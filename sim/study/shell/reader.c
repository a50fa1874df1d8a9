/* Where a reading of a script is, and the word that it builds. */
#include <string.h>

#include "study/shell/parts.h"

bool ms_shell_is_live(const ms_shell_reader *r) {
    return !r->is_dead && r->state.stop == MS_SHELL_GOES_ON;
}

ms_mark ms_shell_mark_here(const ms_shell_reader *r) {
    const ms_shell_cursor *c = &r->cursor;
    int column = 1;
    if (c->whole != NULL) {
        return *c->whole;
    }
    for (const char *at = c->line_start; at < c->at; at++) {
        column += ((unsigned char)*at & 0xC0) != 0x80; /* characters, not bytes */
    }
    return (ms_mark){.file = c->text->name,
                     .source = c->text->data,
                     .source_B = c->text->length_B,
                     .line = c->line,
                     .column = column,
                     .width = 1};
}

void ms_shell_fail(ms_shell_reader *r, const char *message) {
    if (r->status == MS_OK) {
        ms_mark mark = ms_shell_mark_here(r);
        ms_diag_at(r->diag, &mark, NULL, "%s", message);
        r->status = MS_E_INPUT;
    }
}

void ms_shell_lack_memory(ms_shell_reader *r) {
    if (r->status != MS_E_NOMEM) {
        r->status = ms_diag_no_memory(r->diag);
    }
}

void ms_shell_fail_open(ms_shell_reader *r, const ms_mark *opening, char closing) {
    if (r->status == MS_OK) {
        ms_diag_at(r->diag, opening, NULL, "expected a closing %c, got the end of the text",
                   closing);
        r->status = MS_E_INPUT;
    }
}

/* ---- moving on ---- */

void ms_shell_skip_to(ms_shell_reader *r, const char *to) {
    ms_shell_cursor *c = &r->cursor;
    for (; c->at < to; c->at++) {
        if (*c->at == '\n') {
            c->line++;
            c->line_start = c->at + 1;
        }
    }
}

const char *ms_shell_bracket_end(const ms_shell_reader *r, const char *at, char open, char close) {
    int depth = 0;
    for (; at < r->cursor.end; at++) {
        depth += *at == open;
        depth -= *at == close;
        if (depth == 0) {
            return at + 1;
        }
    }
    return r->cursor.end;
}

bool ms_shell_is_name(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_';
}

/* ---- building a word ---- */

void ms_shell_begin_word(ms_shell_reader *r) {
    ms_shell_draft *draft = &r->draft;
    if (!draft->has_word) {
        draft->has_word = true;
        draft->is_quoted = draft->is_open = false;
        draft->mark = ms_shell_mark_here(r);
        draft->text.length = 0;
    }
}

void ms_shell_put(ms_shell_reader *r, const char *text, size_t length) {
    ms_shell_begin_word(r);
    if (!ms_shell_is_live(r)) {
        return;
    }
    if (r->draft.text.length + length > MS_SHELL_WORD_MAX_B ||
        r->total_B + length > MS_SHELL_TOTAL_MAX_B) {
        ms_shell_fail(r,
                      "expected words of less than 64 KiB, 4 MiB of them together; variables put "
                      "in here make more");
        return;
    }
    r->total_B += length;
    ms_buffer_add(&r->draft.text, text, length);
}

void ms_shell_put_text(ms_shell_reader *r, const char *text) {
    if (text == NULL) {
        ms_shell_lack_memory(r); /* it was to be made */
    } else {
        ms_shell_put(r, text, strlen(text));
    }
}

const char *ms_shell_draft_text(ms_shell_reader *r) {
    const ms_buffer *text = &r->draft.text;
    if (text->failed) {
        return NULL;
    }
    return text->length == 0 ? "" : ms_arena_strndup(r->arena, ms_buffer_text(text), text->length);
}

/* What a command reads behind "<<<". */
static void keep_input(ms_shell_reader *r) {
    ms_shell_word *word = MS_NEW(r->arena, ms_shell_word, 1);
    const char *text = ms_shell_draft_text(r);
    if (word == NULL || text == NULL) {
        ms_shell_lack_memory(r);
        return;
    }
    *word = (ms_shell_word){.text = text, .mark = r->draft.mark};
    r->state.input = word;
}

void ms_shell_end_word(ms_shell_reader *r) {
    if (!r->draft.has_word) {
        return;
    }
    r->draft.has_word = false;
    if (r->draft.is_dropped || !ms_shell_is_live(r)) {
        bool is_input = r->draft.is_input && ms_shell_is_live(r) && !r->draft.is_open;
        r->draft.is_dropped = r->draft.is_input = false;
        if (is_input) {
            keep_input(r);
        }
        return;
    }
    if (r->into->count >= MS_SHELL_WORDS_MAX) {
        ms_shell_fail(r, "expected a script of at most 20000 words");
        return;
    }
    const ms_shell_word word = {.text = ms_shell_draft_text(r),
                                .mark = r->draft.mark,
                                .is_quoted = r->draft.is_quoted,
                                .is_open = r->draft.is_open};
    if (word.text == NULL || ms_vector_add(r->into, &word, 1) == NULL) {
        ms_shell_lack_memory(r);
    }
}
