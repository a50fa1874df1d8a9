/* Commands of shell scripts in their order: lists, groups, pipelines, functions. */
#include <string.h>

#include "study/shell/flow.h"

static const struct {
    const char *word;
    unsigned bit;
    bool is_sign; /* needs no blank behind */
} WORDS[] = {
    {"if", MS_SHELL_AT_IF, false},
    {"then", MS_SHELL_AT_THEN, false},
    {"elif", MS_SHELL_AT_ELIF, false},
    {"else", MS_SHELL_AT_ELSE, false},
    {"fi", MS_SHELL_AT_FI, false},
    {"case", MS_SHELL_AT_CASE, false},
    {"esac", MS_SHELL_AT_ESAC, false},
    {"for", MS_SHELL_AT_FOR, false},
    {"select", MS_SHELL_AT_FOR, false},
    {"while", MS_SHELL_AT_WHILE, false},
    {"until", MS_SHELL_AT_WHILE, false},
    {"do", MS_SHELL_AT_DO, false},
    {"done", MS_SHELL_AT_DONE, false},
    {"{", MS_SHELL_AT_OPEN, false},
    {"}", MS_SHELL_AT_CLOSE, false},
    {"!", MS_SHELL_AT_NOT, false},
    {"function", MS_SHELL_AT_FUNCTION, false},
    {";;&", MS_SHELL_AT_CLAUSE_END, true},
    {";;", MS_SHELL_AT_CLAUSE_END, true},
    {";&", MS_SHELL_AT_CLAUSE_END, true},
    {"(", MS_SHELL_AT_SHELL, true},
    {")", MS_SHELL_AT_SHELL_END, true},
};
enum { WORD_COUNT = sizeof WORDS / sizeof WORDS[0] };

ms_shell_truth ms_shell_read_pipeline(ms_shell_reader *r);

/* The row of the word that stands here; -1: another. */
static int find_word(const ms_shell_reader *r) {
    const ms_shell_cursor *c = &r->cursor;
    size_t left = (size_t)(c->end - c->at);
    for (int i = 0; i < WORD_COUNT; i++) {
        size_t length = strlen(WORDS[i].word);
        if (left >= length && memcmp(c->at, WORDS[i].word, length) == 0 &&
            (WORDS[i].is_sign || left == length ||
             strchr(MS_SHELL_BLANKS "\n;|&()<>", c->at[length]) != NULL)) {
            return i;
        }
    }
    return -1;
}

unsigned ms_shell_peek(const ms_shell_reader *r) {
    int row = find_word(r);
    return row < 0 ? 0 : WORDS[row].bit;
}

unsigned ms_shell_take(ms_shell_reader *r) {
    int row = find_word(r);
    r->cursor.at += row < 0 ? 0 : strlen(WORDS[row].word);
    return row < 0 ? 0 : WORDS[row].bit;
}

/* ---- lists ---- */

static ms_shell_truth read_and_or(ms_shell_reader *r);

/* Read commands up to a word of `ends`, which is taken.  *truth_out: what the last one answers.
 * Returns the word; 0 where the text ends before. */
unsigned ms_shell_read_list(ms_shell_reader *r, unsigned ends, ms_shell_truth *truth_out) {
    unsigned end = 0;
    if (++r->state.depth > MS_SHELL_NESTED_MAX) {
        ms_shell_fail(r, "expected commands of at most 100 in each other");
    }
    *truth_out = MS_SHELL_YES;
    for (;;) {
        ms_shell_skip_blanks(r, true);
        if (r->cursor.at >= r->cursor.end || r->status != MS_OK) {
            break;
        }
        if ((ms_shell_peek(r) & ends) != 0) {
            end = ms_shell_take(r);
            break;
        }
        const char *before = r->cursor.at;
        *truth_out = read_and_or(r);
        if (r->cursor.at == before) {
            r->cursor.at++; /* what nothing here begins with */
        }
    }
    r->state.depth--;
    return end;
}

/* Read a part as if nothing of it was run.  Returns whether it would end the script. */
bool ms_shell_pass(ms_shell_reader *r, unsigned ends, unsigned *end_out) {
    bool is_dead = r->is_dead, has_exit = r->state.has_exit;
    ms_shell_truth truth;
    r->is_dead = true;
    r->state.has_exit = false;
    unsigned end = 0;
    if (ends == 0) {
        ms_shell_read_pipeline(r);
    } else {
        end = ms_shell_read_list(r, ends, &truth);
    }
    bool is_found = r->state.has_exit;
    r->is_dead = is_dead;
    r->state.has_exit = has_exit; /* of a part inside another one it is not that one's */
    *end_out = end;
    return is_found;
}

/* ---- functions ---- */

static void define(ms_shell_reader *r, const char *name) {
    ms_shell_function function = {.name = name, .body = r->cursor};
    unsigned end = 0;
    function.ends_script = ms_shell_pass(r, MS_SHELL_AT_CLOSE, &end);
    if (name == NULL ||
        (ms_shell_is_live(r) && ms_vector_add(&r->state.functions, &function, 1) == NULL)) {
        ms_shell_lack_memory(r);
    }
}

/* "NAME() {", "function NAME {".  Returns false where it is another command. */
static bool read_definition(ms_shell_reader *r, bool has_word) {
    const ms_shell_cursor here = r->cursor;
    ms_shell_cursor *c = &r->cursor;
    if (has_word) {
        ms_shell_skip_spaces(c);
    }
    const char *name = c->at;
    while (c->at < c->end && (ms_shell_is_name(*c->at) || strchr("-.:", *c->at) != NULL) &&
           *c->at != '\0') {
        c->at++;
    }
    size_t length = (size_t)(c->at - name);
    ms_shell_skip_spaces(c);
    bool has_brackets = c->at < c->end && *c->at == '(';
    if (has_brackets) {
        c->at++;
        ms_shell_skip_spaces(c);
        has_brackets = c->at < c->end && *c->at == ')';
        c->at += has_brackets;
    }
    if (length > 0 && (has_brackets || has_word)) {
        ms_shell_skip_blanks(r, true);
        if (c->at < c->end && *c->at == '{') {
            c->at++;
            define(r, ms_arena_strndup(r->arena, name, length));
            return true;
        }
    }
    r->cursor = here;
    return false;
}

/* Read commands that stand elsewhere, with words of their own as positional parameters.  ends: as
 * ms_shell_read_list.  words: from the first one on; NULL: those outside stay. */
static void read_elsewhere(ms_shell_reader *r, ms_shell_cursor body, unsigned ends,
                           const ms_vector *words, size_t first) {
    const ms_shell_cursor here = r->cursor;
    const ms_shell_state outer = r->state;
    ms_vector given; /* which goes on when the command's words are gone */
    ms_shell_truth truth;
    ms_vector_init(&given, sizeof(ms_shell_word));
    if (words != NULL && words->count > first &&
        ms_vector_add(&given, &MS_AT(words, ms_shell_word, first), words->count - first) == NULL) {
        ms_shell_lack_memory(r);
    }
    r->cursor = body;
    r->state.given = words == NULL ? outer.given : &given;
    r->state.shifted = words == NULL ? outer.shifted : 0;
    r->state.asks = false;
    r->state.calls++;
    r->state.passes++;
    ms_shell_read_list(r, ends, &truth);
    r->state.calls--;
    r->state.given = outer.given;
    r->state.shifted = words == NULL ? r->state.shifted : outer.shifted;
    r->state.asks = outer.asks;
    r->state.input_end = outer.input_end;
    r->state.stop = r->state.stop == MS_SHELL_RETURNS ? MS_SHELL_GOES_ON : r->state.stop;
    r->cursor = here;
    ms_vector_release(&given);
}

static bool is_too_deep(const ms_shell_reader *r) {
    return r->state.calls >= MS_SHELL_CALLS_MAX || r->state.passes >= MS_SHELL_PASSES_MAX;
}

bool ms_shell_call(ms_shell_reader *r, const ms_vector *words) {
    const char *name = MS_AT(words, ms_shell_word, 0).text;
    const ms_shell_function *found = NULL;
    for (size_t i = 0; i < r->state.functions.count; i++) {
        const ms_shell_function *one = &MS_AT(&r->state.functions, ms_shell_function, i);
        found = strcmp(one->name, name) == 0 ? one : found; /* the last of a name */
    }
    if (found != NULL && !is_too_deep(r)) {
        read_elsewhere(r, found->body, MS_SHELL_AT_CLOSE, words, 1);
    }
    return found != NULL;
}

/* ---- files ---- */

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* The text that a word names; -1: none. */
static int find_text(const ms_shell_reader *r, const char *word) {
    for (size_t i = 0; i < r->source->count; i++) {
        const ms_text *text = &r->source->texts[i];
        if (text != r->cursor.text && strcmp(last_part(text->name), last_part(word)) == 0) {
            return (int)i;
        }
    }
    return -1;
}

bool ms_shell_include(ms_shell_reader *r, const ms_vector *words, bool is_own) {
    int found = -1;
    size_t at = 0;
    while (found < 0 && ++at < words->count) {
        found = find_text(r, MS_AT(words, ms_shell_word, at).text);
    }
    if (found < 0 || is_too_deep(r)) {
        return found >= 0;
    }
    const ms_text *text = &r->source->texts[found];
    const ms_shell_cursor body = {.text = text,
                                  .at = text->data,
                                  .line_start = text->data,
                                  .end = text->data + text->length_B,
                                  .line = 1};
    bool has_words = is_own || at + 1 < words->count;
    r->is_read[found] = true;
    read_elsewhere(r, body, 0, has_words ? words : NULL, at + 1);
    if (is_own && r->state.stop == MS_SHELL_EXITS) {
        r->state.stop = MS_SHELL_GOES_ON; /* another shell ended */
    }
    return true;
}

/* ---- commands ---- */

/* "(...)" and "{...}". */
static ms_shell_truth read_group(ms_shell_reader *r, unsigned end) {
    ms_shell_truth truth;
    bool was_live = ms_shell_is_live(r);
    size_t variables = r->out->variables.count;
    ms_shell_read_list(r, end, &truth);
    if (end == MS_SHELL_AT_SHELL_END && was_live) {
        r->state.stop = MS_SHELL_GOES_ON;    /* another shell ended, */
        r->out->variables.count = variables; /* and what it set is gone */
    }
    return truth;
}

/* start: where the word stands that was taken. */
static ms_shell_truth read_word(ms_shell_reader *r, unsigned bit, const ms_shell_cursor *start) {
    switch (bit) {
    case MS_SHELL_AT_IF:
        ms_shell_read_if(r, start);
        break;
    case MS_SHELL_AT_CASE:
        ms_shell_read_case(r, start);
        break;
    case MS_SHELL_AT_FOR:
        ms_shell_read_for(r, start);
        break;
    case MS_SHELL_AT_WHILE:
        ms_shell_read_while(r, start);
        break;
    case MS_SHELL_AT_FUNCTION:
        read_definition(r, true);
        break;
    case MS_SHELL_AT_OPEN:
        return read_group(r, MS_SHELL_AT_CLOSE);
    case MS_SHELL_AT_SHELL:
        return read_group(r, MS_SHELL_AT_SHELL_END);
    default:
        break; /* it ends what did not begin, as in a part of a script */
    }
    return MS_SHELL_YES;
}

static ms_shell_truth negated(ms_shell_truth truth) {
    return truth == MS_SHELL_OPEN ? truth : truth == MS_SHELL_YES ? MS_SHELL_NO : MS_SHELL_YES;
}

static ms_shell_truth read_command(ms_shell_reader *r) {
    bool is_not = false;
    while (ms_shell_peek(r) == MS_SHELL_AT_NOT) {
        ms_shell_take(r);
        ms_shell_skip_blanks(r, false);
        is_not = !is_not;
    }
    const ms_shell_cursor start = r->cursor;
    bool is_sum = start.end - start.at >= 2 && memcmp(start.at, "((", 2) == 0;
    ms_shell_truth truth = MS_SHELL_YES;
    if (ms_shell_peek(r) != 0 && !is_sum) {
        truth = read_word(r, ms_shell_take(r), &start);
    } else if (!read_definition(r, false)) {
        truth = ms_shell_read_simple(r);
    }
    return is_not ? negated(truth) : truth;
}

/* Redirections behind a loop or a group. */
static void skip_rest(ms_shell_reader *r) {
    bool is_dead = r->is_dead;
    ms_shell_skip_blanks(r, false);
    if (r->cursor.at < r->cursor.end && (*r->cursor.at == '<' || *r->cursor.at == '>')) {
        r->is_dead = true;
        ms_shell_read_simple(r);
        r->is_dead = is_dead;
    }
}

/* Commands with '|' between them; what is answered is the last one's. */
ms_shell_truth ms_shell_read_pipeline(ms_shell_reader *r) {
    const ms_shell_cursor *c = &r->cursor;
    ms_shell_truth truth = MS_SHELL_YES;
    for (;;) {
        ms_shell_skip_blanks(r, false);
        truth = read_command(r);
        skip_rest(r);
        bool is_pipe = c->end - c->at >= 2 && c->at[0] == '|' && c->at[1] != '|';
        if (!is_pipe || r->status != MS_OK) {
            return truth;
        }
        r->cursor.at += 1 + (c->at[1] == '&');
        if (r->output != NULL) {
            r->output->is_open = true; /* what another command makes of it */
        }
        ms_shell_skip_blanks(r, true);
    }
}

/* Whether "&&" or "||" stands here, which is taken. */
static bool takes_sign(ms_shell_reader *r, char sign) {
    ms_shell_cursor *c = &r->cursor;
    bool is_it = c->end - c->at >= 2 && c->at[0] == sign && c->at[1] == sign;
    c->at += is_it ? 2 : 0;
    return is_it;
}

/* The other side of "&&" or "||" in a condition: it counts unless the first decides. */
static ms_shell_truth ask_other(ms_shell_reader *r, ms_shell_truth truth, bool is_or) {
    ms_shell_truth decides = is_or ? MS_SHELL_YES : MS_SHELL_NO;
    unsigned end = 0;
    if (truth == decides) {
        ms_shell_pass(r, 0, &end);
        return truth;
    }
    ms_shell_truth other = ms_shell_read_pipeline(r);
    return other == decides || truth != MS_SHELL_OPEN ? other : MS_SHELL_OPEN;
}

/* The other side where it is a command of its own: it is a branch. */
static ms_shell_truth take_other(ms_shell_reader *r, ms_shell_branch *b, ms_shell_truth truth,
                                 bool is_or) {
    unsigned end = 0;
    b->is_taken = false;
    ms_shell_take_part(r, b, is_or ? negated(truth) : truth, 0, &end);
    if (b->is_taken) {
        return MS_SHELL_YES;
    }
    return is_or ? MS_SHELL_YES : MS_SHELL_NO;
}

/* Pipelines with "&&" and "||" between them. */
static ms_shell_truth read_and_or(ms_shell_reader *r) {
    const ms_shell_cursor start = r->cursor;
    ms_shell_branch b = ms_shell_begin_branch(r, &start);
    ms_shell_truth truth = ms_shell_read_pipeline(r);
    for (;;) {
        bool is_or = takes_sign(r, '|');
        if ((!is_or && !takes_sign(r, '&')) || r->status != MS_OK) {
            break;
        }
        ms_shell_skip_blanks(r, true);
        truth = r->state.asks ? ask_other(r, truth, is_or) : take_other(r, &b, truth, is_or);
    }
    if (r->state.asks) {
        const ms_shell_doubt *own = &r->state.doubt;
        r->state.doubt.is_presumed = own->is_presumed || b.outer.is_presumed;
        r->state.doubt.reason = own->reason == NULL ? b.outer.reason : own->reason;
    } else {
        ms_shell_end_branch(r, &b);
    }
    return truth;
}

void ms_shell_read_all(ms_shell_reader *r) {
    ms_shell_truth truth;
    ms_shell_read_list(r, 0, &truth);
}
