/* Variables of shell scripts: set, put in, left as they are written. */
#include <ctype.h>
#include <string.h>

#include "study/shell/parts.h"

/* ---- looking up ---- */

static bool is_number(const char *name, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (name[i] < '0' || name[i] > '9') {
            return false;
        }
    }
    return length > 0;
}

/* A positional parameter; behind the last one that is given there is an empty one. */
static const ms_shell_variable *find_given(ms_shell_reader *r, const char *name, size_t length) {
    ms_shell_state *state = &r->state;
    size_t index = 0;
    for (size_t i = 0; i < length && index < MS_SHELL_WORDS_MAX; i++) {
        index = index * 10 + (size_t)(name[i] - '0');
    }
    if (state->given == NULL || index == 0) {
        return NULL;
    }
    index += state->shifted - 1;
    const ms_shell_word *words = state->given->data;
    bool is_there = index < state->given->count;
    state->looked_up = (ms_shell_variable){
        .name = "", .words = is_there ? words + index : NULL, .count = is_there};
    return &state->looked_up;
}

/* All positional parameters, for "$@". */
static const ms_shell_variable *find_all_given(ms_shell_reader *r) {
    ms_shell_state *state = &r->state;
    if (state->given == NULL) {
        return NULL;
    }
    size_t shifted = state->shifted < state->given->count ? state->shifted : state->given->count;
    state->looked_up = (ms_shell_variable){
        .name = "",
        .words = state->given->count == 0 ? NULL : (ms_shell_word *)state->given->data + shifted,
        .count = state->given->count - shifted,
        .is_array = true};
    return &state->looked_up;
}

static bool is_called(const char *name, size_t length, const char *other) {
    return strlen(other) == length && strncmp(other, name, length) == 0;
}

const ms_shell_variable *ms_shell_find(ms_shell_reader *r, const char *name, size_t length) {
    if (is_number(name, length)) {
        return find_given(r, name, length);
    }
    for (size_t i = r->out->variables.count; i-- > 0;) {
        const ms_shell_variable *variable = &MS_AT(&r->out->variables, ms_shell_variable, i);
        if (is_called(name, length, variable->name)) {
            return variable;
        }
    }
    for (size_t i = 0; i < r->state.passed_over.count; i++) {
        if (is_called(name, length, MS_AT(&r->state.passed_over, const char *, i))) {
            r->state.looked_up = (ms_shell_variable){.name = ""}; /* the script would set it */
            return &r->state.looked_up;
        }
    }
    return NULL;
}

void ms_shell_keep_doubt(ms_shell_reader *r, const char *name, size_t length) {
    if (r->state.doubt.reason == NULL) {
        r->state.doubt.reason =
            length == 0 ? "only running the script would tell"
                        : ms_arena_printf(r->arena, "%.*s is not set here (--define %.*s=VALUE)",
                                          (int)length, name, (int)length, name);
    }
}

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
    bool is_empty = r->tests && length > 0 && !is_number(name, length);
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
    const ms_shell_variable *all = find_all_given(r);
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

void ms_shell_read_dollar(ms_shell_reader *r, bool is_in_quotes) {
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

/* ---- setting ---- */

static bool is_defined(const ms_shell_reader *r, const char *name) {
    for (size_t i = 0; i < r->defined; i++) {
        if (strcmp(MS_AT(&r->out->variables, ms_shell_variable, i).name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Keep what was assigned; "+=" adds words to an array, and text to a variable. */
static void assign(ms_shell_reader *r, const char *name, ms_vector *words, bool is_array,
                   const ms_shell_variable *before) {
    size_t count = words->count + (before == NULL ? 0 : before->count);
    bool is_text =
        before != NULL && !before->is_array && !is_array && before->count == 1 && words->count == 1;
    if (is_text) {
        ms_shell_word *word = &MS_AT(words, ms_shell_word, 0);
        r->total_B += strlen(before->words[0].text);
        if (r->total_B > MS_SHELL_TOTAL_MAX_B) {
            ms_shell_fail(r, "expected less than 4 MiB of words");
            return;
        }
        word->text = ms_arena_printf(r->arena, "%s%s", before->words[0].text, word->text);
        word->is_open = word->is_open || before->words[0].is_open;
        before = NULL;
        count = 1;
    }
    ms_shell_word *kept = MS_NEW(r->arena, ms_shell_word, count + 1);
    if (count > MS_SHELL_WORDS_MAX || r->out->variables.count >= MS_SHELL_WORDS_MAX) {
        ms_shell_fail(r, "expected a script of at most 20000 variables and words");
        return;
    }
    if (kept == NULL || name == NULL) {
        ms_shell_lack_memory(r);
        return;
    }
    size_t old = before == NULL ? 0 : before->count;
    if (old > 0) {
        memcpy(kept, before->words, old * sizeof *kept);
    }
    if (words->count > 0) {
        memcpy(kept + old, words->data, words->count * sizeof *kept);
    }
    if (is_defined(r, name) && count > 0 && kept[count - 1].is_open) {
        return; /* what is said from outside is better than what nobody knows */
    }
    const ms_shell_variable variable = {.name = name,
                                        .words = kept,
                                        .count = count,
                                        .is_array =
                                            is_array || (before != NULL && before->is_array)};
    if (ms_vector_add(&r->out->variables, &variable, 1) == NULL) {
        ms_shell_lack_memory(r);
    }
}

void ms_shell_set(ms_shell_reader *r, const char *name, const ms_shell_word *word) {
    ms_vector words;
    ms_vector_init(&words, sizeof(ms_shell_word));
    if (ms_vector_add(&words, word, 1) == NULL || word->text == NULL) {
        ms_shell_lack_memory(r);
    } else {
        assign(r, name, &words, false, NULL);
    }
    ms_vector_release(&words);
}

/* Variables that libraries read, and with them a job's kernels. */
static bool is_librarys(const char *name) {
    static const char *const PREFIXES[] = {"NCCL_",  "NVTE_",  "CUDA_",         "PYTORCH_",
                                           "TORCH_", "CUBLAS", "TORCHINDUCTOR_"};
    for (size_t i = 0; i < sizeof PREFIXES / sizeof PREFIXES[0]; i++) {
        if (strncmp(name, PREFIXES[i], strlen(PREFIXES[i])) == 0) {
            return true;
        }
    }
    return false;
}

static void keep_environment(ms_shell_reader *r, const char *name, const ms_vector *words,
                             const ms_mark *mark) {
    if (!is_librarys(name) || words->count == 0) {
        return;
    }
    const ms_shell_word word = {
        .text = ms_arena_printf(r->arena, "%s %s", name, MS_AT(words, ms_shell_word, 0).text),
        .mark = *mark};
    if (word.text == NULL || ms_vector_add(&r->out->environment, &word, 1) == NULL) {
        ms_shell_lack_memory(r);
    }
}

/* The words between the brackets of an array. */
static void read_array(ms_shell_reader *r) {
    ms_mark opening = ms_shell_mark_here(r);
    ms_shell_cursor *c = &r->cursor;
    for (c->at++; c->at < c->end && *c->at != ')' && r->status == MS_OK;) {
        if (*c->at == '#' && !r->draft.has_word) {
            ms_shell_skip_comment(r);
        } else if (!ms_shell_read_piece(r)) {
            ms_shell_end_word(r);
            ms_shell_skip_to(r, c->at + 1);
        }
    }
    ms_shell_end_word(r);
    if (c->at >= c->end && r->status == MS_OK) {
        ms_diag_at(r->diag, &opening, NULL, "expected a closing ), got the end of the text");
        r->status = MS_E_INPUT;
    }
    c->at += c->at < c->end;
}

/* What stands behind '=': one word, also where it is empty; blanks of variables do not cut it. */
static bool read_assigned(ms_shell_reader *r) {
    bool is_array = r->cursor.at < r->cursor.end && *r->cursor.at == '(';
    if (is_array) {
        read_array(r);
        return true;
    }
    bool is_whole = r->is_whole;
    r->is_whole = true;
    ms_shell_begin_word(r);
    while (r->cursor.at < r->cursor.end && r->status == MS_OK && ms_shell_read_piece(r)) {
    }
    ms_shell_begin_word(r); /* an empty list ends none */
    ms_shell_end_word(r);
    r->is_whole = is_whole;
    return false;
}

/* A variable that is set where nothing is run is empty unless something else sets it. */
static void pass_over(ms_shell_reader *r, const char *name) {
    bool is_full = r->state.passed_over.count >= MS_SHELL_WORDS_MAX / 10;
    if (!is_full && ms_vector_add(&r->state.passed_over, &name, 1) == NULL) {
        ms_shell_lack_memory(r);
    }
}

void ms_shell_read_assignment(ms_shell_reader *r, size_t length, bool adds) {
    ms_mark mark = ms_shell_mark_here(r);
    ms_vector words;
    ms_vector *into = r->into;
    const char *name = ms_arena_strndup(r->arena, r->cursor.at, length);
    const ms_shell_variable *found = adds && name != NULL ? ms_shell_find(r, name, length) : NULL;
    const ms_shell_variable before = found == NULL ? (ms_shell_variable){.name = NULL} : *found;
    ms_vector_init(&words, sizeof(ms_shell_word));
    r->into = &words;
    r->cursor.at += length + (adds ? 2 : 1);
    bool is_array = read_assigned(r);
    r->into = into;
    r->state.changes++;
    if (name == NULL) {
        ms_shell_lack_memory(r);
    } else if (r->status == MS_OK && ms_shell_is_live(r)) {
        keep_environment(r, name, &words, &mark);
        assign(r, name, &words, is_array, found == NULL ? NULL : &before);
    } else if (r->status == MS_OK) {
        pass_over(r, name);
    }
    ms_vector_release(&words);
}
