/* What operators behind a variable's name make of its text.
 * Source: POSIX, Shell Command Language, Parameter Expansion; GNU Bash manual, Shell Parameter
 * Expansion. */
#include <fnmatch.h>
#include <string.h>

#include "study/shell/parts.h"

/* Longer ones are left alone: a search tries each part of a text, and a star each place. */
enum { TEXT_MAX_B = 512, PATTERN_MAX_B = 64, STARS_MAX = 4 };

/* A search: the text, of which a part ends where `copy` is cut. */
typedef struct pattern_search {
    const char *pattern;
    char copy[TEXT_MAX_B + 1];
    size_t length;
    bool is_plain; /* the pattern matches itself alone */
} pattern_search;

static bool begin_search(const char *text, const char *pattern, pattern_search *s) {
    int stars = 0;
    for (const char *at = pattern; *at != '\0'; at++) {
        stars += *at == '*';
    }
    s->pattern = pattern;
    s->length = strlen(text);
    s->is_plain = strpbrk(pattern, "*?[\\") == NULL;
    if (s->length > TEXT_MAX_B || strlen(pattern) > PATTERN_MAX_B || stars > STARS_MAX) {
        return false;
    }
    memcpy(s->copy, text, s->length + 1);
    return true;
}

/* Whether the letters from `from` to `to` match. */
static bool matches(pattern_search *s, size_t from, size_t to) {
    if (s->is_plain) {
        return strlen(s->pattern) == to - from &&
               memcmp(s->copy + from, s->pattern, to - from) == 0;
    }
    char kept = s->copy[to];
    s->copy[to] = '\0';
    bool is_it = fnmatch(s->pattern, s->copy + from, 0) == 0;
    s->copy[to] = kept;
    return is_it;
}

const char *ms_shell_trimmed(ms_arena *arena, const char *text, const char *pattern, char sign,
                             bool is_longest) {
    pattern_search s;
    if (!begin_search(text, pattern, &s)) {
        return NULL;
    }
    for (size_t i = 0; i <= s.length; i++) {
        size_t taken = is_longest ? s.length - i : i;
        bool is_it = sign == '#' ? matches(&s, 0, taken) : matches(&s, s.length - taken, s.length);
        if (is_it) {
            return ms_arena_strndup(arena, sign == '#' ? text + taken : text, s.length - taken);
        }
    }
    return text;
}

/* The end of the longest part that matches from a place; that place where none does. */
static size_t end_of_match(pattern_search *s, size_t from, char which) {
    for (size_t to = s->length; to > from; to--) {
        if (matches(s, from, to)) {
            return to;
        }
        if (which == '%') {
            break; /* the end alone */
        }
    }
    return from;
}

const char *ms_shell_replaced(ms_arena *arena, const char *text, const char *pattern,
                              const char *by, char which) {
    pattern_search s;
    ms_buffer out;
    bool is_done = false;
    if (!begin_search(text, pattern, &s)) {
        return NULL;
    }
    ms_buffer_init(&out);
    for (size_t at = 0; at < s.length;) {
        size_t end = is_done || (which == '#' && at > 0) ? at : end_of_match(&s, at, which);
        if (end > at) {
            ms_buffer_puts(&out, by);
            is_done = which != '/';
            at = end;
        } else {
            ms_buffer_add(&out, text + at, 1);
            at++;
        }
    }
    return ms_buffer_keep(&out, arena);
}

bool ms_shell_slice(size_t count, long long offset, const long long *length, size_t *first_out,
                    size_t *count_out) {
    long long whole = (long long)count;
    long long first = offset < 0 ? whole + offset : offset;
    if (offset < -whole || first > whole) {
        *first_out = *count_out = 0; /* nothing is there */
        return true;
    }
    long long end = whole;
    if (length != NULL && *length < 0) {
        end = *length < -whole ? -1 : whole + *length;
    } else if (length != NULL && *length < whole - first) {
        end = first + *length;
    }
    *first_out = (size_t)first;
    *count_out = end < first ? 0 : (size_t)(end - first);
    return end >= first;
}
