/* Conditions of shell scripts: "[ ... ]", "[[ ... ]]", patterns of "case".
 * Source: POSIX, test; GNU Bash manual, Bash Conditional Expressions. */
#include <fnmatch.h>
#include <string.h>

#include "study/shell/parts.h"

enum { PATTERN_MAX_B = 256, NESTED_MAX = 64 };

/* One test. */
typedef struct test_reading {
    ms_shell_reader *reader;
    const ms_shell_word *words;
    size_t count, at;
    int depth;
    bool is_double; /* "[[ ... ]]" */
    bool is_broken; /* not of a form that is read here */
} test_reading;

static ms_shell_truth truth_of(bool is_true) {
    return is_true ? MS_SHELL_YES : MS_SHELL_NO;
}

static ms_shell_truth negated(ms_shell_truth truth) {
    return truth == MS_SHELL_OPEN ? MS_SHELL_OPEN : truth_of(truth == MS_SHELL_NO);
}

/* Note what leaves a word open: the first variable in it, or what a command prints. */
static ms_shell_truth leave_open(ms_shell_reader *r, const ms_shell_word *word) {
    const char *name = strchr(word->text, '$');
    size_t length = 0;
    if (name != NULL) {
        name += 1 + (name[1] == '{');
        while (ms_shell_is_name(name[length])) {
            length++;
        }
        bool is_count = *name == '#' || *name == '@' || *name == '*';
        length = is_count ? 0 : length;
        if (is_count && r->state.given == NULL) {
            ms_shell_keep_doubt(r, "1", 1); /* of how many parameters nothing is known */
        }
    }
    ms_shell_keep_doubt(r, name, length);
    return MS_SHELL_OPEN;
}

ms_shell_truth ms_shell_match(ms_shell_reader *r, const ms_shell_word *word,
                              const ms_shell_word *pattern) {
    if (word->is_open) {
        return leave_open(r, word);
    }
    if (pattern->is_open) {
        return leave_open(r, pattern);
    }
    if (pattern->is_quoted || strlen(pattern->text) > PATTERN_MAX_B) {
        return truth_of(strcmp(word->text, pattern->text) == 0);
    }
    return truth_of(fnmatch(pattern->text, word->text, 0) == 0);
}

/* ---- tests of one word, and of two ---- */

/* "-v NAME". */
static ms_shell_truth test_set(ms_shell_reader *r, const ms_shell_word *word) {
    size_t length = strlen(word->text);
    const ms_shell_variable *found = ms_shell_find(r, word->text, length);
    if (word->is_open) {
        return leave_open(r, word);
    }
    if (found == NULL) {
        r->state.doubt.is_presumed = true;
        ms_shell_keep_doubt(r, word->text, length);
    }
    return truth_of(found != NULL && found->words != NULL);
}

/* has_sign: the sign is written there. */
static ms_shell_truth test_one(const test_reading *t, char sign, const ms_shell_word *word,
                               bool has_sign) {
    ms_shell_reader *r = t->reader;
    if (sign == 'v') {
        return test_set(r, word);
    }
    if (sign != 'z' && sign != 'n') { /* files */
        ms_shell_keep_doubt(r, "", 0);
        return MS_SHELL_OPEN;
    }
    if (word->is_open) {
        return leave_open(r, word);
    }
    if (word->text[0] == '\0' && !word->is_quoted && !t->is_double && sign == 'n' && has_sign) {
        return MS_SHELL_YES; /* nothing stands there, and "-n" alone is a text */
    }
    return truth_of((word->text[0] == '\0') == (sign == 'z'));
}

/* Comparisons of numbers; the last two letters are the sign. */
static ms_shell_truth compare(ms_shell_reader *r, const char *sign, const ms_shell_word *left,
                              const ms_shell_word *right) {
    static const char *const SIGNS[] = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge"};
    long long a = 0, b = 0;
    if (left->is_open || !ms_shell_read_number(left->text, &a)) {
        return leave_open(r, left);
    }
    if (right->is_open || !ms_shell_read_number(right->text, &b)) {
        return leave_open(r, right);
    }
    const bool answers[] = {a == b, a != b, a<b, a <= b, a> b, a >= b};
    for (size_t i = 0; i < sizeof SIGNS / sizeof SIGNS[0]; i++) {
        if (strcmp(sign, SIGNS[i]) == 0) {
            return truth_of(answers[i]);
        }
    }
    return MS_SHELL_OPEN;
}

static bool is_any(const char *text, const char *const *words) {
    for (; *words != NULL; words++) {
        if (strcmp(text, *words) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- all of a test ---- */

static const char *const BINARY[] = {"=",   "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt",
                                     "-ge", "=~", "<",  ">",   "-nt", "-ot", NULL};

static bool is_sign(const test_reading *t, size_t at, const char *const *signs) {
    return at < t->count && !t->words[at].is_quoted && is_any(t->words[at].text, signs);
}

static bool takes(test_reading *t, const char *const *signs) {
    bool is_it = is_sign(t, t->at, signs);
    t->at += is_it;
    return is_it;
}

static ms_shell_truth read_either(test_reading *t);

static ms_shell_truth read_two(test_reading *t) {
    const ms_shell_word *left = &t->words[t->at], *right = left + 2;
    const char *sign = left[1].text;
    t->at += 3;
    if (strcmp(sign, "=") == 0 || strcmp(sign, "==") == 0) {
        return ms_shell_match(t->reader, left, right);
    }
    if (strcmp(sign, "!=") == 0) {
        return negated(ms_shell_match(t->reader, left, right));
    }
    if (sign[0] == '-' && sign[2] != 't') {
        return compare(t->reader, sign, left, right);
    }
    if (strcmp(sign, "-lt") == 0 || strcmp(sign, "-gt") == 0) {
        return compare(t->reader, sign, left, right);
    }
    ms_shell_keep_doubt(t->reader, "", 0);
    return MS_SHELL_OPEN;
}

static ms_shell_truth read_one(test_reading *t) {
    static const char *const NOT[] = {"!", NULL};
    static const char *const OPEN[] = {"(", NULL}, *const CLOSE[] = {")", NULL};
    if (t->at >= t->count || ++t->depth > NESTED_MAX) {
        t->is_broken = true;
        return MS_SHELL_OPEN;
    }
    ms_shell_truth truth = MS_SHELL_OPEN;
    const ms_shell_word *word = &t->words[t->at];
    bool is_unary = !word->is_quoted && word->text[0] == '-' && word->text[1] != '\0' &&
                    word->text[2] == '\0' && t->at + 1 < t->count;
    if (is_sign(t, t->at + 1, BINARY) && t->at + 2 < t->count) {
        truth = read_two(t);
    } else if (takes(t, NOT)) {
        truth = negated(read_one(t));
    } else if (takes(t, OPEN)) {
        truth = read_either(t);
        t->is_broken = t->is_broken || !takes(t, CLOSE);
    } else if (is_unary) {
        t->at += 2;
        truth = test_one(t, word->text[1], word + 1, true);
    } else {
        t->at++;
        truth = test_one(t, 'n', word, false);
    }
    t->depth--;
    return truth;
}

static ms_shell_truth read_both(test_reading *t) {
    static const char *const AND[] = {"-a", "&&", NULL};
    ms_shell_truth truth = read_one(t);
    while (!t->is_broken && takes(t, AND)) {
        ms_shell_truth next = read_one(t);
        truth = truth == MS_SHELL_NO || next == MS_SHELL_NO ? MS_SHELL_NO
                : truth == MS_SHELL_YES                     ? next
                                                            : MS_SHELL_OPEN;
    }
    return truth;
}

static ms_shell_truth read_either(test_reading *t) {
    static const char *const OR[] = {"-o", "||", NULL};
    ms_shell_truth truth = read_both(t);
    while (!t->is_broken && takes(t, OR)) {
        ms_shell_truth next = read_both(t);
        truth = truth == MS_SHELL_YES || next == MS_SHELL_YES ? MS_SHELL_YES
                : truth == MS_SHELL_NO                        ? next
                                                              : MS_SHELL_OPEN;
    }
    return truth;
}

ms_shell_truth ms_shell_test(ms_shell_reader *r, const ms_vector *words, bool is_double) {
    if (words->count == 0) {
        return MS_SHELL_NO;
    }
    test_reading t = {
        .reader = r, .words = words->data, .count = words->count, .is_double = is_double};
    ms_shell_truth truth = read_either(&t);
    if (t.is_broken || t.at < t.count) {
        ms_shell_keep_doubt(r, "", 0);
        return MS_SHELL_OPEN;
    }
    return truth;
}
