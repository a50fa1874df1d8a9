/* "$((...))": numbers, variables and what shells compute of them, by precedence.
 * Source: POSIX, Shell Command Language, Arithmetic Expansion (64 bits, as in bash); ** is bash's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "study/shell/parts.h"

enum { NESTED_MAX = 64 };

/* One computation. */
typedef struct sum_reading {
    ms_shell_reader *reader;
    const ms_mark *mark;
    const char *text, *at;
    int depth;
    bool is_idle; /* what is read decides nothing: the side of "||" that is not asked */
    bool is_open; /* the script does not say it, or it is nothing that is read here */
} sum_reading;

/* Operators with two sides, the later the row the closer they bind. */
static const struct {
    const char *sign;
    int level;
} OPERATORS[] = {
    {"||", 1}, {"&&", 2}, {"==", 3}, {"!=", 3}, {"<=", 4}, {">=", 4}, {"<", 4},
    {">", 4},  {"+", 5},  {"-", 5},  {"**", 7}, {"*", 6},  {"/", 6},  {"%", 6},
};
enum { LEVEL_OR = 1, LEVEL_AND = 2, LEVEL_POWER = 7, OPERATOR_COUNT = 14 };

static long long read_choice(sum_reading *s);

static void skip_blanks(sum_reading *s) {
    s->at += strspn(s->at, " \t\r\n");
}

static void fault(sum_reading *s, const char *message) {
    ms_shell_reader *r = s->reader;
    if (!s->is_idle && !s->is_open && r->status == MS_OK) {
        ms_diag_at(r->diag, s->mark, NULL, "%s in '%s'", message, s->text);
        r->status = MS_E_INPUT;
    }
}

static const char OVERFLOWS[] = "expected numbers of at most 64 bits, got more";

bool ms_shell_read_number(const char *text, long long *value_out) {
    char *end = NULL;
    text += strspn(text, MS_SHELL_BLANKS "\n");
    size_t sign = *text == '-' || *text == '+';
    if (text[sign] < '0' || text[sign] > '9') {
        return false;
    }
    errno = 0;
    *value_out = strtoll(text, &end, 0);
    return errno == 0 && end[strspn(end, MS_SHELL_BLANKS "\n")] == '\0';
}

/* ---- what stands alone ---- */

static long long value_of_name(sum_reading *s) {
    size_t length = 0;
    while (ms_shell_is_name(s->at[length])) {
        length++;
    }
    long long value = 0;
    const ms_shell_variable *found = ms_shell_find(s->reader, s->at, length);
    bool is_number = found != NULL && found->count == 1 && !found->words[0].is_open &&
                     ms_shell_read_number(found->words[0].text, &value);
    s->is_open = s->is_open || (!is_number && !s->is_idle);
    s->at += length;
    return value;
}

static long long read_digits(sum_reading *s) {
    char *end = NULL;
    errno = 0;
    long long value = strtoll(s->at, &end, 0);
    if (errno != 0) {
        fault(s, OVERFLOWS);
    }
    s->is_open = s->is_open || ms_shell_is_name(*end) || *end == '#'; /* "16#ff" */
    s->at = end;
    return value;
}

static long long read_value(sum_reading *s) {
    skip_blanks(s);
    char sign = *s->at;
    s->is_open = s->is_open || ++s->depth > NESTED_MAX;
    long long value = 0;
    if (s->is_open) {
        /* nothing more is to be found */
    } else if (sign == '(') {
        s->at++;
        value = read_choice(s);
        skip_blanks(s);
        s->is_open = s->is_open || *s->at != ')';
        s->at += *s->at == ')';
    } else if ((sign == '-' || sign == '+') && s->at[1] != sign) {
        s->at++;
        value = read_value(s);
        if (sign == '-' && __builtin_sub_overflow(0LL, value, &value)) {
            fault(s, OVERFLOWS);
        }
    } else if (sign == '!' && s->at[1] != '=') {
        s->at++;
        value = read_value(s) == 0;
    } else if (sign >= '0' && sign <= '9') {
        value = read_digits(s);
    } else if (ms_shell_is_name(sign)) {
        value = value_of_name(s);
    } else {
        s->is_open = true;
    }
    s->depth--;
    return value;
}

/* ---- two sides ---- */

static long long power(sum_reading *s, long long base, long long times) {
    long long value = 1;
    if (times < 0) {
        fault(s, "expected an exponent of 0 or more");
        return 0;
    }
    if (base >= -1 && base <= 1 && times > 2) {
        times = 1 + (times - 1) % 2; /* 0, 1 and -1 come back */
    }
    for (; times > 0; times--) {
        if (__builtin_mul_overflow(value, base, &value)) {
            fault(s, OVERFLOWS);
            return 0;
        }
    }
    return value;
}

static long long divide(sum_reading *s, char sign, long long left, long long right) {
    if (right == 0) {
        fault(s, "division by zero");
        return 0;
    }
    if (right == -1) { /* the least number has no counterpart */
        long long value = 0;
        if (sign == '/' && __builtin_sub_overflow(0LL, left, &value)) {
            fault(s, OVERFLOWS);
        }
        return value;
    }
    return sign == '/' ? left / right : left % right;
}

static long long combine(sum_reading *s, const char *sign, long long left, long long right) {
    long long value = 0;
    bool is_over = false;
    switch (sign[0]) {
    case '|':
        return left != 0 || right != 0;
    case '&':
        return left != 0 && right != 0;
    case '=':
        return left == right;
    case '!':
        return left != right;
    case '<':
        return sign[1] == '=' ? left <= right : left < right;
    case '>':
        return sign[1] == '=' ? left >= right : left > right;
    case '+':
        is_over = __builtin_add_overflow(left, right, &value);
        break;
    case '-':
        is_over = __builtin_sub_overflow(left, right, &value);
        break;
    case '*':
        if (sign[1] == '*') {
            return power(s, left, right);
        }
        is_over = __builtin_mul_overflow(left, right, &value);
        break;
    default:
        return divide(s, sign[0], left, right);
    }
    if (is_over) {
        fault(s, OVERFLOWS);
    }
    return value;
}

/* The operator here that binds at least so close; -1: none. */
static int find_operator(const sum_reading *s, int level) {
    for (int i = 0; i < OPERATOR_COUNT; i++) {
        size_t length = strlen(OPERATORS[i].sign);
        if (strncmp(s->at, OPERATORS[i].sign, length) == 0) {
            bool is_other = strchr("=<>", s->at[length]) != NULL && s->at[length] != '\0';
            return OPERATORS[i].level >= level && !is_other ? i : -1; /* "+=", "<<" are not read */
        }
    }
    return -1;
}

static long long read_sides(sum_reading *s, int level) {
    s->is_open = s->is_open || ++s->depth > NESTED_MAX;
    long long left = read_value(s);
    skip_blanks(s);
    for (int i = find_operator(s, level); i >= 0 && !s->is_open; i = find_operator(s, level)) {
        int found = OPERATORS[i].level;
        bool is_idle = s->is_idle;
        s->at += strlen(OPERATORS[i].sign);
        s->is_idle =
            is_idle || (found == LEVEL_OR && left != 0) || (found == LEVEL_AND && left == 0);
        long long right = read_sides(s, found == LEVEL_POWER ? found : found + 1);
        s->is_idle = is_idle;
        left = s->is_open ? 0 : combine(s, OPERATORS[i].sign, left, right);
        skip_blanks(s);
    }
    s->depth--;
    return left;
}

/* "condition ? this : that". */
static long long read_choice(sum_reading *s) {
    long long asked = read_sides(s, LEVEL_OR);
    if (*s->at != '?' || s->is_open) {
        return asked;
    }
    bool is_idle = s->is_idle;
    s->at++;
    s->is_idle = is_idle || asked == 0;
    long long first = read_choice(s);
    skip_blanks(s);
    s->is_open = s->is_open || *s->at != ':';
    s->at += *s->at == ':';
    s->is_idle = is_idle || asked != 0;
    s->is_open = s->is_open || ++s->depth > NESTED_MAX; /* "a ? b : c ? d : e" */
    long long second = s->is_open ? 0 : read_choice(s);
    s->is_idle = is_idle;
    return asked != 0 ? first : second;
}

bool ms_shell_compute(ms_shell_reader *r, const char *text, const ms_mark *at,
                      long long *value_out) {
    sum_reading s = {.reader = r, .mark = at, .text = text, .at = text};
    long long value = read_choice(&s);
    skip_blanks(&s);
    bool is_known = !s.is_open && *s.at == '\0' && r->status == MS_OK;
    if (is_known) {
        *value_out = value;
    }
    return is_known;
}
