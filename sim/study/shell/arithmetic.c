/* "$((...))": numbers, variables and what shells compute of them, by precedence.
 * Source: POSIX, Shell Command Language, Arithmetic Expansion (64 bits, as in bash); ** is bash's.
 */
#include <errno.h>
#include <limits.h>
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

/* Operators with two sides: the higher the level, the closer they bind. Of two that begin alike the
 * longer one stands first. */
static const struct {
    const char *sign;
    int level;
} OPERATORS[] = {
    {"||", 1}, {"&&", 2},  {"==", 6}, {"!=", 6}, {"<<", 8}, {">>", 8}, {"<=", 7},
    {">=", 7}, {"<", 7},   {">", 7},  {"|", 3},  {"^", 4},  {"&", 5},  {"+", 9},
    {"-", 9},  {"**", 11}, {"*", 10}, {"/", 10}, {"%", 10},
};
enum { LEVEL_OR = 1, LEVEL_AND = 2, LEVEL_POWER = 11, OPERATOR_COUNT = 19 };

static long long read_choice(sum_reading *s);
static long long combine(sum_reading *s, const char *sign, long long left, long long right);

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

/* ---- what stands alone ---- */

/* What stands in a variable; of one that is empty 0, as in a shell. */
static long long look_up(sum_reading *s, const char *name, size_t length) {
    long long value = 0;
    const ms_shell_variable *found = ms_shell_find(s->reader, name, length);
    bool is_empty = found != NULL && (found->count == 0 || found->words[0].text[0] == '\0');
    bool is_number = found != NULL && found->count == 1 && !found->words[0].is_open &&
                     ms_shell_read_number(found->words[0].text, &value);
    s->is_open = s->is_open || (!is_number && !is_empty && !s->is_idle);
    return value;
}

static void assign(sum_reading *s, const char *name, size_t length, long long value) {
    ms_shell_reader *r = s->reader;
    const char *own = ms_arena_strndup(r->arena, name, length);
    const ms_shell_word word = {.text = ms_arena_printf(r->arena, "%lld", value), .mark = *s->mark};
    if (s->is_idle || s->is_open || r->status != MS_OK) {
        return;
    }
    if (own == NULL || word.text == NULL) {
        ms_shell_lack_memory(r);
    } else {
        ms_shell_set(r, own, &word);
    }
}

/* A name, with what is assigned to it: "n", "n = 2", "n += 2", "n++". */
static long long value_of_name(sum_reading *s) {
    const char *name = s->at;
    size_t length = 0;
    while (ms_shell_is_name(name[length])) {
        length++;
    }
    s->at += length;
    skip_blanks(s);
    char sign = *s->at, next = sign == '\0' ? '\0' : s->at[1];
    if (sign == '=' && next != '=') {
        s->at++;
        long long value = read_choice(s);
        assign(s, name, length, value);
        return value;
    }
    long long before = look_up(s, name, length);
    if ((sign == '+' || sign == '-') && next == sign) {
        s->at += 2;
        assign(s, name, length,
               sign == '+' ? before + (before < LLONG_MAX) : before - (before > LLONG_MIN));
        return before;
    }
    if (next == '=' && sign != '\0' && strchr("+-*/%", sign) != NULL) {
        const char combined[] = {sign, '\0'};
        s->at += 2;
        long long by = read_choice(s);
        long long value = s->is_open || s->is_idle ? 0 : combine(s, combined, before, by);
        assign(s, name, length, value);
        return value;
    }
    return before;
}

static long long read_digits(sum_reading *s) {
    char *end = NULL;
    errno = 0;
    long long value = strtoll(s->at, &end, 0);
    if (errno != 0) {
        fault(s, OVERFLOWS);
    }
    if (*end == '#' && value >= 2 && value <= 36 && ms_shell_is_name(end[1])) { /* "16#ff" */
        value = strtoll(end + 1, &end, (int)value);
    }
    s->is_open = s->is_open || ms_shell_is_name(*end) || *end == '#';
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
    } else if (sign == '~') {
        s->at++;
        value = ~read_value(s);
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

static long long shift(sum_reading *s, long long left, long long by, bool is_left) {
    if (by < 0 || by > 62 || left < 0) {
        fault(s, "expected a shift of 0 to 62 bits of a number of 0 or more");
        return 0;
    }
    return is_left ? (long long)((unsigned long long)left << by) : left >> by;
}

static long long combine(sum_reading *s, const char *sign, long long left, long long right) {
    long long value = 0;
    bool is_over = false;
    switch (sign[0]) {
    case '|':
        return sign[1] == '|' ? left != 0 || right != 0 : (left | right);
    case '&':
        return sign[1] == '&' ? left != 0 && right != 0 : (left & right);
    case '^':
        return left ^ right;
    case '=':
        return left == right;
    case '!':
        return left != right;
    case '<':
        if (sign[1] == '<') {
            return shift(s, left, right, true);
        }
        return sign[1] == '=' ? left <= right : left < right;
    case '>':
        if (sign[1] == '>') {
            return shift(s, left, right, false);
        }
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
            bool is_other = s->at[length] == '='; /* "<<=" is not read */
            return OPERATORS[i].level >= level && !is_other ? i : -1;
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
    while (*s.at == ',' && !s.is_open) {
        s.at++;
        value = read_choice(&s);
        skip_blanks(&s);
    }
    bool is_known = !s.is_open && *s.at == '\0' && r->status == MS_OK;
    if (is_known) {
        *value_out = value;
    }
    return is_known;
}
