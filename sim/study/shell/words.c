/* Words of shell scripts: letters, quotes, brackets. */
#include <string.h>

#include "study/shell/parts.h"

bool ms_shell_is_live(const ms_shell_reader *r) {
    return !r->is_dead && r->state.stop == MS_SHELL_GOES_ON;
}

ms_mark ms_shell_mark_here(const ms_shell_reader *r) {
    const ms_shell_cursor *c = &r->cursor;
    int column = 1;
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

/* A bracket or a quote that nothing closes. */
static void fail_open(ms_shell_reader *r, const ms_mark *opening, char closing) {
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

void ms_shell_skip_comment(ms_shell_reader *r) {
    static const char BATCH[] = "#SBATCH";
    const ms_shell_cursor *c = &r->cursor;
    bool is_batch = c->at == c->line_start && (size_t)(c->end - c->at) > sizeof BATCH &&
                    memcmp(c->at, BATCH, sizeof BATCH - 1) == 0;
    if (is_batch && ms_shell_is_live(r)) {
        ms_shell_read_batch(r);
    }
    while (r->cursor.at < r->cursor.end && *r->cursor.at != '\n') {
        r->cursor.at++;
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
    ms_shell_put(r, text, strlen(text));
}

static const char *draft_text(ms_shell_reader *r) {
    const ms_buffer *text = &r->draft.text;
    if (text->failed) {
        return NULL;
    }
    return text->length == 0 ? "" : ms_arena_strndup(r->arena, ms_buffer_text(text), text->length);
}

void ms_shell_end_word(ms_shell_reader *r) {
    if (!r->draft.has_word) {
        return;
    }
    r->draft.has_word = false;
    if (r->draft.is_dropped || !ms_shell_is_live(r)) {
        r->draft.is_dropped = false;
        return;
    }
    if (r->into->count >= MS_SHELL_WORDS_MAX) {
        ms_shell_fail(r, "expected a script of at most 20000 words");
        return;
    }
    const ms_shell_word word = {.text = draft_text(r),
                                .mark = r->draft.mark,
                                .is_quoted = r->draft.is_quoted,
                                .is_open = r->draft.is_open};
    if (word.text == NULL || ms_vector_add(r->into, &word, 1) == NULL) {
        ms_shell_lack_memory(r);
    }
}

/* ---- pieces ---- */

/* A backslash: joins lines, or takes the next letter as it is. */
static void read_escape(ms_shell_reader *r, bool is_in_quotes) {
    const char *end = r->cursor.end, *next = r->cursor.at + 1;
    bool is_return = next + 1 < end && next[0] == '\r' && next[1] == '\n';
    if (is_return || (next < end && *next == '\n')) {
        ms_shell_skip_to(r, next + (is_return ? 2 : 1));
        return;
    }
    bool is_kept = is_in_quotes && (next >= end || strchr("$`\"\\", *next) == NULL);
    if (is_kept || next >= end) {
        ms_shell_put(r, r->cursor.at, 1);
        r->cursor.at++;
        return;
    }
    ms_shell_put(r, next, 1);
    r->cursor.at += 2;
}

/* What a command would print. */
static void read_backquotes(ms_shell_reader *r) {
    const char *at = r->cursor.at;
    const char *end = memchr(at + 1, '`', (size_t)(r->cursor.end - at - 1));
    end = end == NULL ? r->cursor.end : end + 1;
    ms_shell_put(r, at, (size_t)(end - at));
    r->draft.is_open = true;
    ms_shell_skip_to(r, end);
}

static void read_quotes(ms_shell_reader *r) {
    char quote = *r->cursor.at;
    ms_shell_begin_word(r);
    r->draft.is_quoted = true;
    ms_mark opening = ms_shell_mark_here(r);
    for (r->cursor.at++;
         r->cursor.at < r->cursor.end && *r->cursor.at != quote && r->status == MS_OK;) {
        char letter = quote == '"' ? *r->cursor.at : 'x'; /* in single quotes all are alike */
        if (letter == '\\') {
            read_escape(r, true);
        } else if (letter == '$') {
            ms_shell_read_dollar(r, true);
            ms_shell_begin_word(r);
        } else if (letter == '`') {
            read_backquotes(r);
        } else {
            ms_shell_put(r, r->cursor.at, 1);
            ms_shell_skip_to(r, r->cursor.at + 1);
        }
    }
    if (r->cursor.at >= r->cursor.end) {
        fail_open(r, &opening, quote);
    }
    r->cursor.at += r->cursor.at < r->cursor.end;
}

bool ms_shell_read_piece(ms_shell_reader *r) {
    switch (*r->cursor.at) {
    case '\\':
        read_escape(r, false);
        return true;
    case '"':
    case '\'':
        read_quotes(r);
        return true;
    case '$':
        ms_shell_read_dollar(r, false);
        return true;
    case '`':
        read_backquotes(r);
        return true;
    default:
        if (strchr(" \t\r\n;|&()<>", *r->cursor.at) != NULL) { /* or '\0' */
            return false;
        }
        ms_shell_put(r, r->cursor.at, 1);
        r->cursor.at++;
        return true;
    }
}

/* ---- parts ---- */

/* Pieces up to a place; what ends words elsewhere is a letter here. */
static void read_pieces(ms_shell_reader *r, const char *to) {
    const char *end = r->cursor.end;
    r->cursor.end = to;
    while (r->cursor.at < to && r->status == MS_OK) {
        bool is_plain = r->defaults > MS_SHELL_DEFAULTS_MAX || *r->cursor.at == '\'';
        if (is_plain || !ms_shell_read_piece(r)) {
            ms_shell_put(r, r->cursor.at, 1);
            ms_shell_skip_to(r, r->cursor.at + 1);
        }
    }
    r->cursor.end = end;
}

void ms_shell_read_part(ms_shell_reader *r, const char *from, const char *to,
                        ms_shell_word *word_out) {
    const ms_shell_draft outer = r->draft;
    ms_vector *into = r->into;
    ms_vector spare; /* words before the last one, of a list in the place of a number */
    ms_vector_init(&spare, sizeof(ms_shell_word));
    r->draft = (ms_shell_draft){.has_word = false};
    ms_buffer_init(&r->draft.text);
    r->into = &spare;
    r->defaults++;
    ms_shell_skip_to(r, from);
    ms_shell_begin_word(r);
    read_pieces(r, to);
    r->defaults--;
    const char *text = draft_text(r);
    *word_out = (ms_shell_word){.text = text == NULL ? "" : text,
                                .mark = r->draft.mark,
                                .is_open = r->draft.is_open || spare.count > 0};
    if (text == NULL) {
        ms_shell_lack_memory(r);
    }
    ms_buffer_release(&r->draft.text);
    ms_vector_release(&spare);
    r->draft = outer;
    r->into = into;
}
