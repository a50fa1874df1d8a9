/* Branches and loops of shell scripts: which of their commands would be run, as far as the script
 * says it, and what is taken where it does not. */
#include <string.h>

#include "study/shell/flow.h"

/* Read a part that is run if a condition holds: what it is taken for. A part that ends the script
 * is not taken on a doubt, for it stands there for a script without what it needs. ends: as
 * read_list; 0: a pipeline.  Returns whether it was taken. */
static bool read_part(ms_shell_reader *r, ms_shell_truth truth, const ms_shell_doubt *doubt,
                      unsigned ends, unsigned *end_out) {
    bool is_sure = truth == MS_SHELL_YES && !doubt->is_presumed;
    if (!ms_shell_is_live(r) || truth == MS_SHELL_NO) {
        ms_shell_pass(r, ends, end_out);
        return false;
    }
    if (!is_sure) {
        const ms_shell_cursor here = r->cursor;
        const ms_shell_state before = r->state;
        if (ms_shell_pass(r, ends, end_out)) {
            return false;
        }
        r->cursor = here;
        r->state.changes = before.changes;
        r->state.passed_over.count = before.passed_over.count;
        r->state.input_end = before.input_end;
    }
    ms_shell_truth inner;
    if (ends == 0) {
        ms_shell_read_pipeline(r);
    } else {
        *end_out = ms_shell_read_list(r, ends, &inner);
    }
    return true;
}

/* ---- telling ---- */

/* A line of the source, up to what ends a condition. */
static const char *line_of(ms_shell_reader *r, const ms_mark *mark, const char *from) {
    const char *end = mark->source + mark->source_B;
    size_t length = 0;
    while (from + length < end && length < 80 && strchr("\n\r", from[length]) == NULL &&
           strncmp(from + length, "; then", 6) != 0 && strncmp(from + length, ";then", 5) != 0 &&
           strncmp(from + length, "; do", 4) != 0) {
        length++;
    }
    return ms_arena_strndup(r->arena, from, length);
}

ms_shell_branch ms_shell_begin_branch(ms_shell_reader *r, const ms_shell_cursor *start) {
    const ms_shell_cursor here = r->cursor;
    r->cursor = *start;
    const ms_shell_branch b = {.mark = ms_shell_mark_here(r),
                               .from = start->at,
                               .changes = r->state.changes,
                               .outer = r->state.doubt};
    r->cursor = here;
    r->state.doubt = (ms_shell_doubt){.is_presumed = false};
    return b;
}

static void add_note(ms_shell_reader *r, const ms_shell_note *note) {
    if (note->what == NULL || note->why == NULL || ms_vector_add(&r->out->notes, note, 1) == NULL) {
        ms_shell_lack_memory(r);
    }
}

/* Tell what was taken on a doubt, where it makes a difference. */
void ms_shell_end_branch(ms_shell_reader *r, const ms_shell_branch *b) {
    bool is_told = b->doubt.reason != NULL && ms_shell_is_live(r) &&
                   r->state.changes > b->changes && r->status == MS_OK;
    if (is_told) {
        const char *took = b->first == 0 ? NULL
                           : b->first < b->last
                               ? ms_arena_printf(r->arena, "lines %d to %d", b->first, b->last)
                               : ms_arena_printf(r->arena, "line %d", b->first);
        add_note(r, &(ms_shell_note){.mark = b->mark,
                                     .what = line_of(r, &b->mark, b->from),
                                     .took = took,
                                     .why = b->doubt.reason});
    }
    r->state.doubt = b->outer;
}

/* Keep why a condition is in doubt, and read the part behind it. */
void ms_shell_take_part(ms_shell_reader *r, ms_shell_branch *b, ms_shell_truth truth, unsigned ends,
                        unsigned *end_out) {
    bool is_doubt = truth == MS_SHELL_OPEN || r->state.doubt.is_presumed;
    const ms_shell_doubt doubt = r->state.doubt;
    if (is_doubt && b->doubt.reason == NULL) {
        b->doubt = doubt;
    }
    b->doubt.is_presumed = b->doubt.is_presumed || is_doubt;
    int first = r->cursor.line;
    first += r->cursor.at < r->cursor.end && *r->cursor.at == '\n';
    const ms_shell_doubt all = b->doubt;
    if (read_part(r, b->is_taken ? MS_SHELL_NO : truth, &all, ends, end_out)) {
        b->is_taken = true;
        b->first = first;
        b->last = r->cursor.line - (r->cursor.line > first);
    }
    r->state.doubt = (ms_shell_doubt){.is_presumed = false};
}

/* ---- branches ---- */

static ms_shell_truth read_condition(ms_shell_reader *r, bool is_idle, unsigned end) {
    bool is_dead = r->is_dead, asks = r->state.asks;
    ms_shell_truth truth;
    r->is_dead = is_dead || is_idle;
    r->state.asks = true;
    r->state.doubt = (ms_shell_doubt){.is_presumed = false};
    ms_shell_read_list(r, end, &truth);
    r->is_dead = is_dead;
    r->state.asks = asks;
    return truth;
}

void ms_shell_read_if(ms_shell_reader *r, const ms_shell_cursor *start) {
    ms_shell_branch b = ms_shell_begin_branch(r, start);
    bool asks = r->state.asks;
    unsigned end = MS_SHELL_AT_ELIF;
    while (end == MS_SHELL_AT_ELIF && r->status == MS_OK) {
        ms_shell_truth truth = read_condition(r, b.is_taken, MS_SHELL_AT_THEN);
        r->state.asks = false;
        ms_shell_take_part(r, &b, truth, MS_SHELL_AT_ELIF | MS_SHELL_AT_ELSE | MS_SHELL_AT_FI,
                           &end);
        r->state.asks = asks;
    }
    if (end == MS_SHELL_AT_ELSE) {
        r->state.asks = false;
        ms_shell_take_part(r, &b, MS_SHELL_YES, MS_SHELL_AT_FI, &end);
        r->state.asks = asks;
    }
    ms_shell_end_branch(r, &b);
}

/* Patterns of a clause, up to ')'. */
static ms_shell_truth read_patterns(ms_shell_reader *r, const ms_shell_word *word) {
    ms_shell_truth truth = MS_SHELL_NO;
    const ms_shell_cursor *c = &r->cursor;
    ms_vector patterns;
    ms_vector *into = r->into;
    ms_vector_init(&patterns, sizeof(ms_shell_word));
    r->into = &patterns;
    while (c->at < c->end && *c->at != ')' && r->status == MS_OK) {
        if (!ms_shell_read_piece(r)) {
            ms_shell_end_word(r);
            ms_shell_skip_to(r, c->at + 1);
        }
    }
    ms_shell_end_word(r);
    r->cursor.at += c->at < c->end;
    for (size_t i = 0; i < patterns.count && truth == MS_SHELL_NO; i++) {
        truth = ms_shell_match(r, word, &MS_AT(&patterns, ms_shell_word, i));
    }
    r->into = into;
    ms_vector_release(&patterns);
    return truth;
}

/* The word behind "case", up to "in". */
static ms_shell_word read_subject(ms_shell_reader *r) {
    const ms_shell_cursor *c = &r->cursor;
    ms_vector words;
    ms_vector *into = r->into;
    ms_vector_init(&words, sizeof(ms_shell_word));
    r->into = &words;
    r->tests = r->is_whole = true;
    ms_shell_skip_blanks(r, true);
    while (c->at < c->end && r->status == MS_OK && ms_shell_read_piece(r)) {
    }
    ms_shell_end_word(r);
    r->tests = r->is_whole = false;
    r->into = into;
    ms_shell_word word = {.text = "", .is_open = true};
    if (words.count > 0) {
        word = MS_AT(&words, ms_shell_word, 0);
    }
    ms_vector_release(&words);
    ms_shell_skip_blanks(r, true);
    r->cursor.at += c->end - c->at >= 2 && memcmp(c->at, "in", 2) == 0 ? 2 : 0;
    return word;
}

void ms_shell_read_case(ms_shell_reader *r, const ms_shell_cursor *start) {
    ms_shell_branch b = ms_shell_begin_branch(r, start);
    bool asks = r->state.asks;
    r->state.asks = false;
    const ms_shell_word word = read_subject(r);
    const ms_shell_doubt of_word = r->state.doubt;
    unsigned end = MS_SHELL_AT_CLAUSE_END;
    while (end == MS_SHELL_AT_CLAUSE_END && r->status == MS_OK) {
        ms_shell_skip_blanks(r, true);
        if (r->cursor.at >= r->cursor.end || ms_shell_peek(r) == MS_SHELL_AT_ESAC) {
            end = ms_shell_take(r);
            break;
        }
        r->cursor.at += *r->cursor.at == '(';
        r->state.doubt = of_word;
        ms_shell_truth truth = read_patterns(r, &word);
        ms_shell_take_part(r, &b, truth, MS_SHELL_AT_CLAUSE_END | MS_SHELL_AT_ESAC, &end);
    }
    r->state.asks = asks;
    ms_shell_end_branch(r, &b);
}

/* ---- loops ---- */

/* A loop is read once: its first value, told where there are more. */
static void tell_first(ms_shell_reader *r, const ms_shell_branch *b, const char *name,
                       const char *value, size_t count) {
    if (count == 1 || !ms_shell_is_live(r) || r->state.changes == b->changes) {
        return;
    }
    add_note(r, &(ms_shell_note){.mark = b->mark,
                                 .what = line_of(r, &b->mark, b->from),
                                 .took = ms_arena_printf(r->arena, "%s = %s", name, value),
                                 .why = "a loop is read once, for its first value"});
}

/* A loop over what is not set here is not read. */
static void tell_none(ms_shell_reader *r, const ms_shell_branch *b, const char *reason) {
    if (ms_shell_is_live(r) && r->state.changes != b->changes) {
        add_note(r, &(ms_shell_note){.mark = b->mark,
                                     .what = line_of(r, &b->mark, b->from),
                                     .took = "nothing",
                                     .why = reason});
    }
}

/* The words behind "in", up to the end of the line. */
static void read_values(ms_shell_reader *r, ms_vector *values) {
    const ms_shell_cursor *c = &r->cursor;
    ms_vector *into = r->into;
    r->into = values;
    while (c->at < c->end && *c->at != '\n' && *c->at != ';' && r->status == MS_OK) {
        if (!ms_shell_read_piece(r)) {
            ms_shell_end_word(r);
            ms_shell_skip_to(r, c->at + 1);
        }
    }
    ms_shell_end_word(r);
    r->into = into;
}

/* Words that a shell would not see: of variables that are empty, or that nothing sets. */
static void drop_empty(ms_vector *values) {
    size_t kept = 0;
    for (size_t i = 0; i < values->count; i++) {
        const ms_shell_word word = MS_AT(values, ms_shell_word, i);
        if (word.text[0] != '\0' || word.is_quoted) {
            MS_AT(values, ms_shell_word, kept++) = word;
        }
    }
    values->count = kept;
}

/* What a loop's variable is first; NULL: nothing, and its commands are not run.  *has_list_out:
 * whether there is "in". */
static const ms_shell_word *first_value(ms_shell_reader *r, const char *name, ms_vector *values,
                                        bool *has_list_out) {
    static const char IN[] = "in";
    ms_shell_skip_blanks(r, false);
    bool has_list = r->cursor.end - r->cursor.at > 2 && memcmp(r->cursor.at, IN, 2) == 0;
    *has_list_out = has_list;
    if (!has_list) { /* all positional parameters */
        return NULL;
    }
    r->cursor.at += 2;
    r->state.doubt = (ms_shell_doubt){.reason = NULL};
    r->tests = true;
    read_values(r, values);
    r->tests = false;
    drop_empty(values);
    const ms_shell_word *first = values->data;
    if (values->count > 0 && ms_shell_is_live(r)) {
        ms_shell_set(r, name, first);
    }
    return values->count > 0 ? first : NULL;
}

static void read_body(ms_shell_reader *r, bool is_run) {
    bool is_dead = r->is_dead;
    ms_shell_truth truth;
    ms_shell_skip_blanks(r, true);
    unsigned bit = ms_shell_peek(r);
    if ((bit & (MS_SHELL_AT_DO | MS_SHELL_AT_OPEN)) != 0) {
        ms_shell_take(r);
    }
    r->is_dead = is_dead || !is_run;
    ms_shell_read_list(r, bit == MS_SHELL_AT_OPEN ? MS_SHELL_AT_CLOSE : MS_SHELL_AT_DONE, &truth);
    r->is_dead = is_dead;
}

/* "break" and "continue" end no more than a loop. */
static void end_loop(ms_shell_reader *r) {
    bool is_loops = r->state.stop == MS_SHELL_BREAKS || r->state.stop == MS_SHELL_CONTINUES;
    r->state.stop = is_loops ? MS_SHELL_GOES_ON : r->state.stop;
}

/* The first of the three parts of "for ((i = 0; ...; ...))". */
static void begin_count(ms_shell_reader *r) {
    const char *from = r->cursor.at + 2;
    const char *end =
        from < r->cursor.end ? memchr(from, ';', (size_t)(r->cursor.end - from)) : NULL;
    const char *text = end == NULL ? NULL : ms_arena_strndup(r->arena, from, (size_t)(end - from));
    const ms_mark mark = ms_shell_mark_here(r);
    long long value = 0;
    if (text != NULL && ms_shell_is_live(r) && strchr(text, '$') == NULL) {
        (void)ms_shell_compute(r, text, &mark, &value);
    }
}

void ms_shell_read_for(ms_shell_reader *r, const ms_shell_cursor *start) {
    ms_shell_branch b = ms_shell_begin_branch(r, start);
    ms_shell_skip_blanks(r, false);
    const ms_shell_cursor *c = &r->cursor;
    ms_vector values;
    ms_vector_init(&values, sizeof(ms_shell_word));
    if (c->at < c->end && *c->at == '(') { /* counted */
        begin_count(r);
        ms_shell_skip_to(r, ms_shell_bracket_end(r, c->at, '(', ')'));
        read_body(r, true);
        tell_first(r, &b, "its counter", "where it begins", 0);
    } else {
        size_t length = 0;
        while (c->at + length < c->end && ms_shell_is_name(c->at[length])) {
            length++;
        }
        const char *name = ms_arena_strndup(r->arena, c->at, length);
        r->cursor.at += length;
        if (name == NULL) {
            ms_shell_lack_memory(r);
        } else {
            bool has_list = false;
            const ms_shell_word *first = first_value(r, name, &values, &has_list);
            const char *reason = r->state.doubt.reason; /* a variable that is not set here */
            read_body(r, first != NULL);
            if (first == NULL && reason != NULL) {
                tell_none(r, &b, reason);
            } else if (first != NULL || !has_list) {
                tell_first(r, &b, name, first == NULL ? "nothing" : first->text, values.count);
            }
        }
    }
    ms_vector_release(&values);
    end_loop(r);
    r->state.doubt = b.outer;
}

/* One pass of "while".  Returns whether there is another: the script says so, and something changed
 * that could end it. */
static bool read_pass(ms_shell_reader *r, ms_shell_branch *b, bool is_until) {
    size_t variables = r->out->variables.count, shifted = r->state.shifted;
    ms_shell_truth truth = read_condition(r, false, MS_SHELL_AT_DO);
    const ms_shell_doubt doubt = r->state.doubt;
    bool is_run = ms_shell_is_live(r) && truth == (is_until ? MS_SHELL_NO : MS_SHELL_YES) &&
                  !doubt.is_presumed && r->state.passes < MS_SHELL_PASSES_MAX;
    bool asks = r->state.asks;
    b->doubt = is_run ? b->doubt : doubt;
    r->state.passes++;
    r->state.asks = false;
    read_body(r, is_run);
    r->state.asks = asks;
    bool is_over = r->state.stop != MS_SHELL_GOES_ON && r->state.stop != MS_SHELL_CONTINUES;
    end_loop(r);
    return is_run && !is_over &&
           (r->out->variables.count > variables || r->state.shifted != shifted);
}

/* Again and again while the script says so; not at all where it does not say it. */
void ms_shell_read_while(ms_shell_reader *r, const ms_shell_cursor *start) {
    ms_shell_branch b = ms_shell_begin_branch(r, start);
    const ms_shell_cursor condition = r->cursor;
    while (read_pass(r, &b, *start->at == 'u') && r->status == MS_OK) {
        r->cursor = condition;
    }
    ms_shell_end_branch(r, &b);
}
