/* Words of shell scripts: letters and quotes, with variables, sums and defaults put in, which are
 * made of words again. */
#include <ctype.h>
#include <string.h>

#include "study/shell/parts.h"

/* ---- putting in ---- */

/* Put a text in as an unquoted variable is: cut at blanks. */
static void put_split(ms_shell_reader *r, const ms_shell_word *word) {
    static const char BLANKS[] = " \t\n\r";
    for (const char *at = word->text; *at != '\0';) {
        size_t blanks = strspn(at, BLANKS);
        if (blanks > 0) {
            ms_shell_end_word(r);
            at += blanks;
        }
        size_t length = strcspn(at, BLANKS);
        if (length > 0) {
            bool is_new = !r->draft.has_word;
            ms_shell_put(r, at, length);
            r->draft.mark = is_new ? word->mark : r->draft.mark;
            r->draft.is_open = r->draft.is_open || word->is_open;
            at += length;
        }
    }
}

static void put_variable(ms_shell_reader *r, const ms_shell_variable *variable, bool is_in_quotes) {
    const ms_shell_variable kept = *variable; /* looking another up writes over it */
    for (size_t i = 0; i < kept.count; i++) {
        const ms_shell_word *word = &kept.words[i];
        if (i > 0) {
            ms_shell_end_word(r);
        }
        if (is_in_quotes || kept.is_array || r->is_whole) {
            bool is_new = !r->draft.has_word;
            ms_shell_put_text(r, word->text);
            r->draft.mark = is_new ? word->mark : r->draft.mark;
            r->draft.is_quoted = r->draft.is_quoted || word->is_quoted;
            r->draft.is_open = r->draft.is_open || word->is_open;
        } else {
            put_split(r, word);
        }
    }
    if (r->tests) {
        ms_shell_begin_word(r); /* an empty one is one side of a condition, too */
    }
}

/* An array by its name alone is its first word. */
static void put_first(ms_shell_reader *r, const ms_shell_variable *variable, bool is_in_quotes) {
    ms_shell_variable first = *variable;
    first.count = first.is_array && first.count > 1 ? 1 : first.count;
    put_variable(r, &first, is_in_quotes);
}

/* What nothing sets: in a condition it is empty, as in the shell; elsewhere it stays as it is
 * written. */
static void put_unknown(ms_shell_reader *r, const char *from, const char *to, const char *name,
                        size_t length) {
    bool is_empty = r->tests && length > 0 && !ms_shell_is_number(name, length);
    ms_shell_begin_word(r);
    if (is_empty && ms_shell_is_live(r)) {
        r->state.doubt.is_presumed = true;
        ms_shell_keep_doubt(r, name, length);
        return;
    }
    ms_shell_put(r, from, (size_t)(to - from));
    r->draft.is_open = true;
}

/* ---- braces ---- */

/* "${NAME...}" taken apart. */
typedef struct braced {
    const char *from, *name, *rest, *end; /* end: behind the closing brace */
    size_t length;                        /* of the name */
    bool counts;                          /* "${#NAME}" */
    const ms_shell_variable *variable;    /* NULL: nothing sets it */
} braced;

static bool is_empty(const ms_shell_variable *variable) {
    return variable == NULL || variable->count == 0 ||
           (variable->count == 1 && variable->words[0].text[0] == '\0');
}

/* A default or an alternative, which has quotes, variables and defaults of its own: in the place of
 * its own value, or cut at blanks where it is not quoted. */
static void put_default(ms_shell_reader *r, const char *from, const char *to, bool is_in_quotes) {
    const char *end = r->cursor.end;
    ms_shell_skip_to(r, from);
    r->cursor.end = to;
    r->defaults++;
    while (r->cursor.at < to && r->status == MS_OK) {
        bool is_plain =
            r->defaults > MS_SHELL_DEFAULTS_MAX || (is_in_quotes && *r->cursor.at == '\'');
        bool is_blank = strchr(" \t\n", *r->cursor.at) != NULL && !is_in_quotes && !r->is_whole;
        if (is_blank) {
            ms_shell_end_word(r);
            ms_shell_skip_to(r, r->cursor.at + 1);
        } else if (is_plain || !ms_shell_read_piece(r)) {
            ms_shell_put(r, r->cursor.at, 1);
            ms_shell_skip_to(r, r->cursor.at + 1);
        }
    }
    r->defaults--;
    r->cursor.end = end;
}

/* "${#NAME}": letters of a variable, or words of an array. */
static bool put_count(ms_shell_reader *r, const braced *b) {
    const ms_shell_variable *v = b->variable;
    bool is_list = b->rest[0] == '[';
    bool is_plain = !is_list && b->rest + 1 == b->end;
    bool is_known = v != NULL && (is_list || (is_plain && v->count == 1 && !v->words[0].is_open));
    if (is_known) {
        size_t count = is_list ? v->count : strlen(v->words[0].text);
        ms_shell_put_text(r, ms_arena_printf(r->arena, "%zu", count));
    }
    return is_known;
}

/* "${NAME^^}" and "${NAME,,}". */
static bool put_cased(ms_shell_reader *r, const braced *b, char sign) {
    const ms_shell_variable *v = b->variable;
    if (v == NULL || v->count != 1 || v->words[0].is_open || b->end - b->rest != 3 ||
        b->rest[1] != sign) {
        return false;
    }
    ms_shell_begin_word(r);
    for (const char *at = v->words[0].text; *at != '\0'; at++) {
        char letter =
            (char)(sign == '^' ? toupper((unsigned char)*at) : tolower((unsigned char)*at));
        ms_shell_put(r, &letter, 1);
    }
    return true;
}

/* "${NAME[@]}", "${NAME[2]}". */
static bool put_subscript(ms_shell_reader *r, const braced *b, bool is_in_quotes) {
    size_t digits = strspn(b->rest + 1, "0123456789");
    const char *close = b->rest + 1 + (digits == 0 ? 1 : digits);
    bool is_all = b->rest[1] == '@' || b->rest[1] == '*';
    if (b->variable == NULL || close + 2 != b->end || *close != ']' || (digits == 0 && !is_all) ||
        digits > 5) {
        return false;
    }
    ms_shell_variable some = *b->variable;
    if (!is_all) {
        size_t index = 0;
        for (size_t i = 0; i < digits; i++) {
            index = index * 10 + (size_t)(b->rest[1 + i] - '0');
        }
        some.words = index < some.count ? some.words + index : NULL;
        some.count = some.words != NULL;
        some.is_array = false;
    }
    put_variable(r, &some, is_in_quotes);
    return true;
}

/* "${NAME:=default}". */
static void set_default(ms_shell_reader *r, const braced *b, const char *from) {
    ms_shell_word word;
    const char *name = ms_arena_strndup(r->arena, b->name, b->length);
    ms_shell_read_part(r, from, b->end - 1, &word);
    ms_shell_put_text(r, word.text);
    r->draft.is_open = r->draft.is_open || word.is_open;
    ms_shell_set(r, name, &word);
}

/* Values by operators behind the name.  Returns false for what is not read here. */
static bool put_operated(ms_shell_reader *r, const braced *b, bool is_in_quotes) {
    bool has_colon = *b->rest == ':';
    const char *sign = b->rest + has_colon;
    bool is_set =
        has_colon ? !is_empty(b->variable) : b->variable != NULL && b->variable->words != NULL;
    switch (*sign) {
    case '-':
    case '=':
    case '?':
        if (is_set) {
            put_variable(r, b->variable, is_in_quotes);
        } else if (*sign == '?') {
            return false;
        } else if (*sign == '=') {
            set_default(r, b, sign + 1);
        } else {
            put_default(r, sign + 1, b->end - 1, is_in_quotes);
        }
        return true;
    case '+':
        if (is_set) {
            put_default(r, sign + 1, b->end - 1, is_in_quotes);
        }
        return true;
    case '^':
    case ',':
        return !has_colon && put_cased(r, b, *sign);
    case '[':
        return !has_colon && put_subscript(r, b, is_in_quotes);
    default:
        return false;
    }
}

static void put_braced(ms_shell_reader *r, bool is_in_quotes) {
    const char *from = r->cursor.at;
    braced b = {.from = from, .end = ms_shell_bracket_end(r, from + 1, '{', '}')};
    b.counts = from + 2 < b.end && from[2] == '#';
    b.name = from + 2 + b.counts;
    while (b.name + b.length < b.end && ms_shell_is_name(b.name[b.length])) {
        b.length++;
    }
    b.rest = b.name + b.length;
    bool is_closed = b.end > b.rest && b.end[-1] == '}';
    if (!ms_shell_is_live(r) || b.length == 0 || !is_closed) {
        put_unknown(r, from, b.end, b.name, 0);
        ms_shell_skip_to(r, b.end);
        return;
    }
    b.variable = ms_shell_find(r, b.name, b.length);
    bool is_plain = !b.counts && b.rest + 1 == b.end;
    bool is_done = false;
    if (b.counts) {
        is_done = put_count(r, &b);
    } else if (is_plain && b.variable != NULL) {
        put_first(r, b.variable, is_in_quotes);
        is_done = true;
    } else if (!is_plain) {
        is_done = put_operated(r, &b, is_in_quotes);
    }
    if (!is_done) {
        put_unknown(r, from, b.end, b.name, b.variable == NULL && is_plain ? b.length : 0);
    }
    ms_shell_skip_to(r, b.end);
}

/* ---- what begins with '$' ---- */

/* "$((...))": what is not known of it leaves it as it is written. */
static void put_sum(ms_shell_reader *r, const char *end) {
    const char *from = r->cursor.at;
    const ms_mark mark = ms_shell_mark_here(r);
    ms_shell_word part;
    bool tests = r->tests;
    r->tests = false;
    ms_shell_read_part(r, from + 3, end - 2, &part);
    r->tests = tests;
    long long value = 0;
    bool is_known =
        !part.is_open && r->status == MS_OK && ms_shell_compute(r, part.text, &mark, &value);
    ms_shell_skip_to(r, end);
    if (is_known) {
        ms_shell_put_text(r, ms_arena_printf(r->arena, "%lld", value));
    } else {
        put_unknown(r, from, end, NULL, 0);
    }
}

/* What a command would print. */
static void put_output(ms_shell_reader *r) {
    const char *from = r->cursor.at;
    const char *end = ms_shell_bracket_end(r, from + 1, '(', ')');
    bool is_sum = end - from >= 5 && from[2] == '(' && end[-1] == ')' && end[-2] == ')';
    if (is_sum && ms_shell_is_live(r)) {
        put_sum(r, end);
        return;
    }
    put_unknown(r, from, end, NULL, 0);
    ms_shell_skip_to(r, end);
}

/* "$@", "$*", "$#". */
static bool put_given(ms_shell_reader *r, char sign, bool is_in_quotes) {
    const ms_shell_variable *all = ms_shell_find_all_given(r);
    if (all == NULL) {
        return false;
    }
    if (sign == '#') {
        ms_shell_put_text(r, ms_arena_printf(r->arena, "%zu", all->count));
    } else {
        put_variable(r, all, is_in_quotes);
    }
    return true;
}

static void read_dollar(ms_shell_reader *r, bool is_in_quotes) {
    const char *from = r->cursor.at, *next = from + 1, *end = r->cursor.end;
    if (next < end && *next == '{') {
        put_braced(r, is_in_quotes);
        return;
    }
    if (next < end && *next == '(') {
        put_output(r);
        return;
    }
    size_t length = 0;
    bool is_given = next < end && *next >= '0' && *next <= '9';
    while (next + length < end && ms_shell_is_name(next[length]) && (!is_given || length == 0)) {
        length++;
    }
    bool is_special = length == 0 && next < end && strchr("@*#?$!", *next) != NULL;
    bool is_list = is_special && strchr("@*#", *next) != NULL;
    const ms_shell_variable *variable = length == 0 ? NULL : ms_shell_find(r, next, length);
    const char *behind = next + length + is_special;
    if (!ms_shell_is_live(r)) {
        ms_shell_begin_word(r);
    } else if (variable != NULL) {
        put_first(r, variable, is_in_quotes);
    } else if (is_list && put_given(r, *next, is_in_quotes)) {
        /* done */
    } else if (length > 0 || is_special) {
        put_unknown(r, from, behind, next, is_special ? 0 : length);
    } else {
        ms_shell_put(r, from, 1);
    }
    ms_shell_skip_to(r, behind);
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
            read_dollar(r, true);
            ms_shell_begin_word(r);
        } else if (letter == '`') {
            read_backquotes(r);
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
        read_dollar(r, false);
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
