/* Words of shell scripts: letters and quotes. */
#include <string.h>

#include "study/shell/parts.h"

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
static void read_backquotes(ms_shell_reader *r, bool is_in_quotes) {
    const char *at = r->cursor.at;
    const char *end = memchr(at + 1, '`', (size_t)(r->cursor.end - at - 1));
    bool is_closed = end != NULL;
    end = end == NULL ? r->cursor.end : end + 1;
    ms_shell_word printed;
    if (is_closed && ms_shell_capture(r, at + 1, end - 1, &printed)) {
        const ms_shell_variable one = {.name = "", .words = &printed, .count = 1};
        ms_shell_put_variable(r, &one, is_in_quotes);
        ms_shell_skip_to(r, end);
        return;
    }
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
            read_backquotes(r, true);
        } else {
            ms_shell_put(r, r->cursor.at, 1);
            ms_shell_skip_to(r, r->cursor.at + 1);
        }
    }
    if (r->cursor.at >= r->cursor.end) {
        ms_shell_fail_open(r, &opening, quote);
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
        read_backquotes(r, false);
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
    const char *text = ms_shell_draft_text(r);
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
