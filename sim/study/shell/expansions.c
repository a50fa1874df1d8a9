/* What stands behind '$' in a word: variables, sums and defaults, which are made of words again. */
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

void ms_shell_put_variable(ms_shell_reader *r, const ms_shell_variable *variable,
                           bool is_in_quotes) {
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
    ms_shell_put_variable(r, &first, is_in_quotes);
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

/* The one word of what is no array; NULL: it has none, or several. */
static const ms_shell_word *only_word(const ms_shell_variable *variable) {
    return variable != NULL && variable->count == 1 ? variable->words : NULL;
}

static bool is_empty(const ms_shell_variable *variable) {
    const ms_shell_word *word = only_word(variable);
    return variable == NULL || variable->count == 0 || (word != NULL && word->text[0] == '\0');
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
    const ms_shell_word *word = only_word(b->variable);
    if (word == NULL || word->is_open || b->end - b->rest != 3 || b->rest[1] != sign) {
        return false;
    }
    ms_shell_begin_word(r);
    for (const char *at = word->text; *at != '\0'; at++) {
        char letter =
            (char)(sign == '^' ? toupper((unsigned char)*at) : tolower((unsigned char)*at));
        ms_shell_put(r, &letter, 1);
    }
    return true;
}

/* A number in a part of braces.  Returns false where the script does not say it. */
static bool compute_part(ms_shell_reader *r, const char *from, const char *to, long long *out) {
    const ms_mark mark = ms_shell_mark_here(r);
    const ms_shell_cursor here = r->cursor;
    ms_shell_word part;
    r->cursor.at = from;
    ms_shell_read_part(r, from, to, &part);
    r->cursor = here;
    return !part.is_open && r->status == MS_OK && part.text[0] != '\0' &&
           ms_shell_compute(r, part.text, &mark, out);
}

/* "offset:length" behind a colon, of so many letters or words. */
static bool read_slice(ms_shell_reader *r, const char *from, const char *to, size_t count,
                       size_t *first_out, size_t *count_out) {
    const char *colon = from;
    for (int depth = 0; colon < to && (depth > 0 || *colon != ':'); colon++) {
        depth += *colon == '{' || *colon == '(';
        depth -= *colon == '}' || *colon == ')';
    }
    long long offset = 0, length = 0;
    bool has_length = colon < to;
    return compute_part(r, from, colon, &offset) &&
           (!has_length || compute_part(r, colon + 1, to, &length)) &&
           ms_shell_slice(count, offset, has_length ? &length : NULL, first_out, count_out);
}

/* "${NAME[@]}", "${NAME[@]:1:2}". */
static bool put_all(ms_shell_reader *r, const braced *b, const char *behind, bool is_in_quotes) {
    if (b->variable == NULL) {
        return false;
    }
    ms_shell_variable some = *b->variable;
    size_t first = 0, count = some.count;
    bool is_slice = *behind == ':';
    if (behind + 1 != b->end && !is_slice) {
        return false;
    }
    if (is_slice && !read_slice(r, behind + 1, b->end - 1, some.count, &first, &count)) {
        return false;
    }
    some.words = count == 0 ? some.words : some.words + first;
    some.count = count;
    ms_shell_put_variable(r, &some, is_in_quotes);
    return true;
}

/* "${NAME[2]}", "${NAME[-1]}", "${NAME[$i]}", "${NAME[key]}"; behind the last one it is empty. */
static bool put_element(ms_shell_reader *r, const braced *b, const char *close, bool is_in_quotes) {
    const ms_shell_cursor here = r->cursor;
    ms_shell_word key, found = {.text = ""};
    const char *name = ms_arena_strndup(r->arena, b->name, b->length);
    r->cursor.at = b->rest + 1;
    ms_shell_read_part(r, b->rest + 1, close, &key);
    r->cursor = here;
    if (name == NULL || key.is_open || close + 2 != b->end || r->status != MS_OK) {
        return false;
    }
    long long index = 0;
    bool is_there = ms_shell_find_element(r, name, key.text, &found);
    if (!is_there && compute_part(r, b->rest + 1, close, &index)) {
        const char *text = ms_arena_printf(r->arena, "%lld", index);
        is_there = text != NULL && ms_shell_find_element(r, name, text, &found);
    } else if (!is_there) {
        return false;
    }
    if (!is_there && ms_shell_find(r, name, b->length) == NULL) {
        return false;
    }
    const ms_shell_variable one = {.name = "", .words = &found, .count = is_there};
    ms_shell_put_variable(r, &one, is_in_quotes);
    return true;
}

static bool put_subscript(ms_shell_reader *r, const braced *b, bool is_in_quotes) {
    const char *close = ms_shell_bracket_end(r, b->rest, '[', ']') - 1;
    bool is_all = close == b->rest + 2 && (b->rest[1] == '@' || b->rest[1] == '*');
    if (close >= b->end || *close != ']') {
        return false;
    }
    return is_all ? put_all(r, b, close + 1, is_in_quotes) : put_element(r, b, close, is_in_quotes);
}

/* A text that is made of a variable's, in its place. */
static bool put_made(ms_shell_reader *r, const braced *b, const char *text, bool is_in_quotes) {
    if (text == NULL) {
        return false;
    }
    const ms_shell_word word = {.text = text, .mark = b->variable->words[0].mark};
    const ms_shell_variable made = {.name = "", .words = &word, .count = 1};
    ms_shell_put_variable(r, &made, is_in_quotes);
    return true;
}

/* The words of a part of braces, as a pattern or what takes its place. */
static bool read_operand(ms_shell_reader *r, const char *from, const char *to,
                         const char **text_out) {
    const ms_shell_cursor here = r->cursor;
    ms_shell_word part;
    r->cursor.at = from;
    ms_shell_read_part(r, from, to, &part);
    r->cursor = here;
    *text_out = part.text;
    return !part.is_open && r->status == MS_OK;
}

/* "${NAME%pattern}", "${NAME#pattern}", "${NAME/pattern/text}", "${NAME:1:2}". */
static bool put_changed(ms_shell_reader *r, const braced *b, bool is_in_quotes) {
    const ms_shell_variable *v = b->variable;
    const char *from = b->rest + 1, *to = b->end - 1, *pattern = "", *by = "";
    char sign = *b->rest, which = from < to ? *from : '\0';
    if (is_empty(v)) {
        return v != NULL;
    }
    const ms_shell_word *word = only_word(v);
    if (word == NULL || v->is_array || word->is_open) {
        return false;
    }
    const char *text = word->text;
    if (sign == ':') {
        size_t first = 0, count = 0;
        return read_slice(r, from, to, strlen(text), &first, &count) &&
               put_made(r, b, ms_arena_strndup(r->arena, text + first, count), is_in_quotes);
    }
    if (sign != '/') {
        from += which == sign;
        return read_operand(r, from, to, &pattern) &&
               put_made(r, b, ms_shell_trimmed(r->arena, text, pattern, sign, which == sign),
                        is_in_quotes);
    }
    bool has_which = which == '/' || which == '#' || which == '%';
    from += has_which;
    const char *slash = from;
    while (slash < to && *slash != '/') {
        slash += *slash == '\\' && slash + 1 < to ? 2 : 1;
    }
    return read_operand(r, from, slash, &pattern) &&
           (slash >= to || read_operand(r, slash + 1, to, &by)) &&
           put_made(r, b, ms_shell_replaced(r->arena, text, pattern, by, has_which ? which : ' '),
                    is_in_quotes);
}

/* "${!NAME}": the variable whose name another one holds. */
static bool put_named(ms_shell_reader *r, const char *from, const char *end, bool is_in_quotes) {
    const char *name = from + 3;
    size_t length = 0;
    while (name + length < end && ms_shell_is_name(name[length])) {
        length++;
    }
    const ms_shell_variable *holder = length == 0 ? NULL : ms_shell_find(r, name, length);
    if (name + length + 1 != end || holder == NULL || holder->count != 1 ||
        holder->words[0].is_open) {
        return false;
    }
    const char *held = holder->words[0].text;
    const ms_shell_variable *found = ms_shell_find(r, held, strlen(held));
    if (found != NULL) {
        put_first(r, found, is_in_quotes);
    }
    return found != NULL;
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
            ms_shell_put_variable(r, b->variable, is_in_quotes);
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
        return (has_colon || strchr("%#/", *sign) != NULL) && put_changed(r, b, is_in_quotes);
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
        bool is_put = ms_shell_is_live(r) && is_closed && from[2] == '!' &&
                      put_named(r, from, b.end, is_in_quotes);
        if (!is_put) {
            put_unknown(r, from, b.end, b.name, 0);
        }
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
static void put_output(ms_shell_reader *r, bool is_in_quotes) {
    const char *from = r->cursor.at;
    const char *end = ms_shell_bracket_end(r, from + 1, '(', ')');
    bool is_sum = end - from >= 5 && from[2] == '(' && end[-1] == ')' && end[-2] == ')';
    if (is_sum && ms_shell_is_live(r)) {
        put_sum(r, end);
        return;
    }
    ms_shell_word printed;
    if (end[-1] == ')' && ms_shell_capture(r, from + 2, end - 1, &printed)) {
        const ms_shell_variable one = {.name = "", .words = &printed, .count = 1};
        ms_shell_put_variable(r, &one, is_in_quotes);
    } else {
        put_unknown(r, from, end, NULL, 0);
    }
    ms_shell_skip_to(r, end);
}

/* "$[...]", as "$((...))" was written once. */
static bool put_old_sum(ms_shell_reader *r) {
    const char *from = r->cursor.at;
    const char *end = ms_shell_bracket_end(r, from + 1, '[', ']');
    long long value = 0;
    if (!ms_shell_is_live(r) || end[-1] != ']' || !compute_part(r, from + 2, end - 1, &value)) {
        return false;
    }
    ms_shell_skip_to(r, end);
    ms_shell_put_text(r, ms_arena_printf(r->arena, "%lld", value));
    return true;
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
        ms_shell_put_variable(r, all, is_in_quotes);
    }
    return true;
}

void ms_shell_read_dollar(ms_shell_reader *r, bool is_in_quotes) {
    const char *from = r->cursor.at, *next = from + 1, *end = r->cursor.end;
    if (next < end && *next == '{') {
        put_braced(r, is_in_quotes);
        return;
    }
    if (next < end && *next == '(') {
        put_output(r, is_in_quotes);
        return;
    }
    if (next < end && *next == '[' && put_old_sum(r)) {
        return;
    }
    if (next < end && *next == '\'' && !is_in_quotes) { /* quotes with escapes, which stay */
        r->cursor.at++;
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
