/* Commands of shell scripts that are no branches or loops: their words, where they end, and what
 * the few that change a reading do. */
#include <string.h>

#include "study/shell/parts.h"

/* ---- assignments in front ---- */

/* The length of a "[key]" behind a name; 0: there is none. */
static size_t subscript_length(const ms_shell_cursor *c, size_t length) {
    const char *open = c->at + length;
    if (length == 0 || open >= c->end || *open != '[') {
        return 0;
    }
    const char *close = open;
    while (close < c->end && *close != ']' && *close != '\n') {
        close++;
    }
    return close < c->end && *close == ']' ? (size_t)(close + 1 - open) : 0;
}

/* The length of a name that is assigned here; 0: none is. */
static size_t assignment_length(const ms_shell_reader *r, bool *adds_out) {
    const ms_shell_cursor *c = &r->cursor;
    size_t length = 0;
    while (c->at + length < c->end && ms_shell_is_name(c->at[length])) {
        length++;
    }
    length += subscript_length(c, length);
    const char *next = c->at + length;
    *adds_out = next + 1 < c->end && next[0] == '+' && next[1] == '=';
    bool is_first_digit = *c->at >= '0' && *c->at <= '9';
    bool is_one = *adds_out || (next < c->end && *next == '=');
    return is_one && !is_first_digit ? length : 0;
}

static bool is_any(const char *text, const char *const *words) {
    for (; *words != NULL; words++) {
        if (strcmp(text, *words) == 0) {
            return true;
        }
    }
    return false;
}

/* Commands that assignments stand behind. */
static const char *const SETTERS[] = {"export",   "declare", "local", "env",
                                      "readonly", "typeset", NULL};

/* Whether a command may still begin with assignments. */
static bool is_at_start(const ms_vector *words) {
    for (size_t i = 0; i < words->count; i++) {
        const char *word = MS_AT(words, ms_shell_word, i).text;
        bool is_option = i > 0 && word[0] == '-' && word[1] != '-';
        if (!is_any(word, SETTERS) && !is_option) {
            return false;
        }
    }
    return true;
}

/* ---- what is between words ---- */

/* The file's number before a redirection, as in "2>&1", is no word. */
static void drop_number(ms_shell_reader *r) {
    ms_shell_draft *draft = &r->draft;
    bool is_number = draft->has_word && !draft->is_quoted && draft->text.length > 0;
    for (size_t i = 0; is_number && i < draft->text.length; i++) {
        is_number = draft->text.data[i] >= '0' && draft->text.data[i] <= '9';
    }
    draft->has_word = draft->has_word && !is_number;
}

/* A bracket behind a command's words, closed on the same line: no shell takes it without quotes, so
 * it is a list or a layout that was pasted without them. */
static bool read_pasted(ms_shell_reader *r, const ms_vector *words) {
    const ms_shell_cursor *c = &r->cursor;
    const char *end = ms_shell_bracket_end(r, c->at, '(', ')');
    bool is_closed =
        end > c->at && end[-1] == ')' && memchr(c->at, '\n', (size_t)(end - c->at)) == NULL;
    if (!is_closed || (!r->draft.has_word && is_at_start(words))) {
        return false;
    }
    ms_shell_put(r, c->at, (size_t)(end - c->at));
    ms_shell_skip_to(r, end);
    return true;
}

/* "<<END": the lines behind this one up to END are what the command reads. */
static void read_here_document(ms_shell_reader *r) {
    ms_shell_cursor *c = &r->cursor;
    c->at += 2 + (c->at + 2 < c->end && c->at[2] == '-');
    ms_shell_skip_spaces(c);
    c->at += c->at < c->end && *c->at == '\\';
    char quote = c->at < c->end && (*c->at == '"' || *c->at == '\'') ? *c->at : '\0';
    c->at += quote != '\0';
    size_t length = 0;
    while (c->at + length < c->end && ms_shell_is_name(c->at[length])) {
        length++;
    }
    r->state.input_end = c->at;
    r->state.input_end_B = length;
    c->at += length;
    c->at += quote != '\0' && c->at < c->end && *c->at == quote;
}

static void read_redirection(ms_shell_reader *r) {
    const ms_shell_cursor *c = &r->cursor;
    bool is_twice = c->at + 1 < c->end && c->at[0] == '<' && c->at[1] == '<';
    bool is_text = is_twice && c->at + 2 < c->end && c->at[2] == '<'; /* "<<< word" */
    drop_number(r);
    ms_shell_end_word(r);
    if (is_twice && !is_text) {
        read_here_document(r);
        return;
    }
    while (c->at < c->end && (*c->at == '<' || *c->at == '>' || *c->at == '&')) {
        r->cursor.at++;
    }
    ms_shell_skip_spaces(&r->cursor);
    r->draft.is_dropped = true;
    r->draft.is_input = is_text;
}

/* Read what stands between words.  Returns false where the command ends. */
static bool read_between(ms_shell_reader *r, const ms_vector *words) {
    const ms_shell_cursor *c = &r->cursor;
    switch (*c->at) {
    case '(':
        return read_pasted(r, words);
    case '&':
        if (c->at + 1 < c->end && c->at[1] == '>') { /* "&> file" */
            read_redirection(r);
            return true;
        }
        return false;
    case '<':
    case '>':
        read_redirection(r);
        return true;
    case '\n':
    case ';':
    case '|':
    case ')':
        return false;
    default:
        ms_shell_end_word(r);
        r->cursor.at++;
        return true;
    }
}

/* ---- what a command does ---- */

/* Commands that print, or change what is printed. */
static const char *const SILENT[] = {"echo", "printf", "set", NULL};

static void keep_command(ms_shell_reader *r, const ms_vector *words) {
    const ms_shell_command command = {.first = r->out->words.count, .count = words->count};
    if (r->out->words.count + words->count > MS_SHELL_WORDS_MAX) {
        ms_shell_fail(r, "expected a script of at most 20000 words");
    } else if (ms_vector_add(&r->out->words, words->data, words->count) == NULL ||
               ms_vector_add(&r->out->commands, &command, 1) == NULL) {
        ms_shell_lack_memory(r);
    }
}

static void note_source(ms_shell_reader *r, const ms_vector *words) {
    const ms_shell_word *first = words->data;
    const ms_shell_note note = {.mark = first->mark,
                                .what =
                                    ms_arena_printf(r->arena, "%s %s", first->text, first[1].text),
                                .why = "another file is not read unless it is given, too"};
    if (note.what == NULL || ms_vector_add(&r->out->notes, &note, 1) == NULL) {
        ms_shell_lack_memory(r);
    }
}

/* Commands that change what is read behind them. */
static bool run_builtin(ms_shell_reader *r, const ms_vector *words) {
    static const char *const SOURCES[] = {"source", ".", NULL};
    const char *name = MS_AT(words, ms_shell_word, 0).text;
    if (strcmp(name, "exit") == 0) {
        r->state.stop = MS_SHELL_EXITS;
    } else if (strcmp(name, "return") == 0 && r->state.calls > 0) {
        r->state.stop = MS_SHELL_RETURNS;
    } else if (strcmp(name, "break") == 0) {
        r->state.stop = MS_SHELL_BREAKS;
    } else if (strcmp(name, "continue") == 0) {
        r->state.stop = MS_SHELL_CONTINUES;
    } else if (strcmp(name, "shift") == 0) {
        long long count = 1;
        if (words->count > 1) {
            ms_shell_read_number(MS_AT(words, ms_shell_word, 1).text, &count);
        }
        bool is_sound = count >= 0 && count <= MS_SHELL_WORDS_MAX;
        r->state.shifted += is_sound ? (size_t)count : 0;
    } else if (is_any(name, SOURCES) && words->count > 1) {
        if (!ms_shell_include(r, words, false)) {
            note_source(r, words);
        }
    } else {
        return false;
    }
    return true;
}

/* "eval": its words are read again as commands. */
static void evaluate(ms_shell_reader *r, const ms_vector *words) {
    const ms_shell_cursor here = r->cursor;
    ms_buffer text;
    ms_buffer_init(&text);
    for (size_t i = 1; i < words->count; i++) {
        ms_buffer_printf(&text, "%s%s", i == 1 ? "" : " ", MS_AT(words, ms_shell_word, i).text);
    }
    size_t length = text.length;
    ms_mark *mark = MS_NEW(r->arena, ms_mark, 1);
    const char *script = ms_buffer_keep(&text, r->arena);
    if (script == NULL || mark == NULL) {
        ms_shell_lack_memory(r);
        return;
    }
    *mark = MS_AT(words, ms_shell_word, words->count > 1 ? 1 : 0).mark;
    r->total_B += length;
    if (r->state.passes++ >= MS_SHELL_PASSES_MAX || r->total_B > MS_SHELL_TOTAL_MAX_B) {
        return;
    }
    r->cursor = (ms_shell_cursor){.text = here.text,
                                  .at = script,
                                  .line_start = script,
                                  .end = script + length,
                                  .line = here.line,
                                  .whole = mark};
    ms_shell_read_all(r);
    r->cursor = here;
    r->state.input_end = NULL;
}

/* What a command answers: of one that is not run, nothing but that it works. */
static ms_shell_truth run(ms_shell_reader *r, const ms_vector *words) {
    static const char *const SHELLS[] = {"sbatch", "bash", "sh", "ssh", "salloc", "srun", NULL};
    if (words->count == 0) {
        return MS_SHELL_YES; /* assignments alone */
    }
    const char *name = MS_AT(words, ms_shell_word, 0).text;
    if (strcmp(name, "true") == 0 || strcmp(name, ":") == 0) {
        return MS_SHELL_YES;
    }
    if (strcmp(name, "false") == 0) {
        return MS_SHELL_NO;
    }
    if (strcmp(name, "eval") == 0) {
        evaluate(r, words);
        return MS_SHELL_YES;
    }
    if (ms_shell_set_variables(r, words)) {
        return MS_SHELL_YES;
    }
    if (r->output != NULL) {
        if (!run_builtin(r, words) && !ms_shell_call(r, words)) {
            ms_shell_print(r, words);
        }
        return MS_SHELL_YES;
    }
    r->state.is_input_script = is_any(name, SHELLS);
    if (strcmp(name, "sbatch") == 0) {
        ms_shell_take_batch(r, words);
    }
    if (r->state.is_input_script && ms_shell_include(r, words, true)) {
        return MS_SHELL_YES;
    }
    if (!run_builtin(r, words) && !ms_shell_call(r, words) && !is_any(name, SILENT)) {
        r->state.changes++;
        keep_command(r, words);
    }
    if (r->state.asks && !is_any(name, SILENT)) {
        ms_shell_keep_doubt(r, "", 0);
        return MS_SHELL_OPEN;
    }
    return MS_SHELL_YES;
}

/* ---- reading one ---- */

/* The word that a command begins with, as it is written. */
static bool begins_with(const ms_shell_reader *r, const char *word) {
    const ms_shell_cursor *c = &r->cursor;
    size_t length = strlen(word);
    return (size_t)(c->end - c->at) > length && memcmp(c->at, word, length) == 0 &&
           strchr(MS_SHELL_BLANKS "\n;", c->at[length]) != NULL;
}

static bool begins_with_any(const ms_shell_reader *r, const char *const *words) {
    bool is_found = false;
    for (; *words != NULL && !is_found; words++) {
        is_found = begins_with(r, *words);
    }
    return is_found;
}

/* Whether a command ends the script, or the function that it stands in. */
static bool is_end(const ms_shell_reader *r) {
    bool is_found = begins_with(r, "exit") || (begins_with(r, "return") && r->state.calls > 0);
    for (size_t i = 0; i < r->state.functions.count && !is_found; i++) {
        const ms_shell_function *one = &MS_AT(&r->state.functions, ms_shell_function, i);
        is_found = one->ends_script && begins_with(r, one->name);
    }
    return is_found;
}

/* Whether nothing that is read depends on a command. */
static bool is_silent(const ms_shell_reader *r) {
    static const char *const TURNS[] = {"return", "break", "continue", "shift", NULL};
    return begins_with_any(r, TURNS) || begins_with_any(r, SILENT) || is_end(r) ||
           r->cursor.at >= r->cursor.end || *r->cursor.at == '\n';
}

static void read_words(ms_shell_reader *r, const ms_vector *words) {
    const ms_shell_cursor *c = &r->cursor;
    bool is_start = true, is_setter = begins_with_any(r, SETTERS);
    while (c->at < c->end && r->status == MS_OK) {
        bool adds = false;
        is_start = is_start && is_at_start(words);
        size_t length = r->draft.has_word || !ms_shell_is_name(*c->at) || !is_start
                            ? 0
                            : assignment_length(r, &adds);
        if (length > 0) {
            ms_shell_read_assignment(r, length, adds);
        } else if (*c->at == '#' && !r->draft.has_word) {
            ms_shell_skip_comment(r);
        } else if (ms_shell_read_piece(r)) {
            is_start = is_start && (ms_shell_is_live(r) || is_setter); /* no words are kept there */
        } else if (!read_between(r, words)) {
            break;
        }
    }
    ms_shell_end_word(r);
    r->draft.is_dropped = false;
}

/* "[ ... ]" and "test ...", whose words may be empty. */
static ms_shell_truth finish_test(ms_shell_reader *r, ms_vector *words) {
    ms_shell_word *first = words->data;
    bool is_bracket = words->count > 0 && strcmp(first->text, "[") == 0;
    if (words->count == 0) {
        return MS_SHELL_OPEN;
    }
    if (is_bracket && strcmp(first[words->count - 1].text, "]") == 0) {
        words->count--;
    }
    words->count--;
    memmove(first, first + 1, words->count * sizeof *first);
    return ms_shell_test(r, words, false);
}

/* "[[ ... ]]": signs are words. */
static ms_shell_truth read_double_test(ms_shell_reader *r, ms_vector *words) {
    const ms_shell_cursor *c = &r->cursor;
    r->cursor.at += 2;
    while (c->at < c->end && r->status == MS_OK) {
        bool is_end = !r->draft.has_word && c->end - c->at >= 2 && memcmp(c->at, "]]", 2) == 0;
        if (is_end) {
            r->cursor.at += 2;
            break;
        }
        if (ms_shell_read_piece(r)) {
            continue;
        }
        ms_shell_end_word(r);
        if (strchr("&|()<>", *c->at) != NULL && *c->at != '\0') {
            bool is_double =
                c->at + 1 < c->end && strchr("&|", *c->at) != NULL && c->at[1] == *c->at;
            ms_shell_put(r, c->at, 1 + is_double);
            r->cursor.at += is_double;
            ms_shell_end_word(r);
        }
        ms_shell_skip_to(r, c->at + 1);
    }
    ms_shell_end_word(r);
    return ms_shell_is_live(r) ? ms_shell_test(r, words, true) : MS_SHELL_YES;
}

/* "((...))" as a command: whether it is not 0. */
static ms_shell_truth read_sum(ms_shell_reader *r) {
    const ms_mark mark = ms_shell_mark_here(r);
    const char *from = r->cursor.at;
    const char *end = ms_shell_bracket_end(r, from, '(', ')');
    ms_shell_word part = {.is_open = true};
    if (ms_shell_is_live(r) && end - from >= 4) {
        ms_shell_read_part(r, from + 2, end - 2, &part);
    }
    ms_shell_skip_to(r, end);
    long long value = 0;
    if (!ms_shell_is_live(r) || part.is_open || !ms_shell_compute(r, part.text, &mark, &value)) {
        ms_shell_keep_doubt(r, "", 0);
        return MS_SHELL_OPEN;
    }
    return value != 0 ? MS_SHELL_YES : MS_SHELL_NO;
}

ms_shell_truth ms_shell_read_simple(ms_shell_reader *r) {
    bool is_double = begins_with(r, "[[");
    bool is_test = is_double || begins_with(r, "[") || begins_with(r, "test");
    const ms_shell_cursor *c = &r->cursor;
    if (c->end - c->at >= 2 && memcmp(c->at, "((", 2) == 0) {
        return read_sum(r);
    }
    ms_vector words;
    ms_vector *into = r->into;
    ms_vector_init(&words, sizeof(ms_shell_word));
    r->into = &words;
    bool is_told = !is_test && !is_silent(r);
    r->state.has_exit = r->state.has_exit || (r->is_dead && is_end(r));
    r->tests = r->is_whole = is_test;
    r->state.input = NULL;
    ms_shell_truth truth = MS_SHELL_YES;
    if (is_double) {
        truth = read_double_test(r, &words);
    } else {
        read_words(r, &words);
    }
    r->tests = r->is_whole = false;
    r->into = into;
    if (r->status == MS_OK && ms_shell_is_live(r) && !is_double) {
        truth = is_test ? finish_test(r, &words) : run(r, &words);
    } else if (!ms_shell_is_live(r)) {
        r->state.changes += is_told;
    }
    ms_vector_release(&words);
    return truth;
}

/* ---- between commands ---- */

/* Behind the end of a line: what a command on it reads. Commands for another shell are read, too;
 * all else is passed over. */
static void skip_input(ms_shell_reader *r) {
    ms_shell_cursor *c = &r->cursor;
    const char *word = r->state.input_end, *line = c->at;
    size_t length = r->state.input_end_B;
    r->state.input_end = NULL;
    const char *next = c->end;
    for (; line < c->end; line = next) {
        const char *stop = memchr(line, '\n', (size_t)(c->end - line));
        next = stop == NULL ? c->end : stop + 1;
        const char *text = line + strspn(line, "\t");
        size_t rest = (size_t)((stop == NULL ? c->end : stop) - text);
        rest -= rest > 0 && text[rest - 1] == '\r';
        if (rest == length && memcmp(text, word, length) == 0) {
            break;
        }
    }
    bool is_script =
        r->state.is_input_script || (line - c->at > 2 && c->at[0] == '#' && c->at[1] == '!');
    if (is_script && r->state.depth < MS_SHELL_NESTED_MAX) {
        const char *end = c->end;
        c->end = line;
        ms_shell_read_all(r);
        c->end = end;
    }
    ms_shell_skip_to(r, line < c->end ? next : c->end);
}

void ms_shell_skip_blanks(ms_shell_reader *r, bool has_ends) {
    ms_shell_cursor *c = &r->cursor;
    while (c->at < c->end && r->status == MS_OK) {
        bool is_return = c->at + 2 < c->end && c->at[1] == '\r' && c->at[2] == '\n';
        bool is_joined = *c->at == '\\' && c->at + 1 < c->end && (c->at[1] == '\n' || is_return);
        bool is_blank = strchr(MS_SHELL_BLANKS, *c->at) != NULL && *c->at != '\0';
        bool is_end = has_ends && *c->at == ';' && (c->at + 1 == c->end || c->at[1] != ';');
        if (is_blank || is_end) {
            c->at++;
        } else if (is_joined) {
            ms_shell_skip_to(r, c->at + (is_return ? 3 : 2));
        } else if (*c->at == '#') {
            ms_shell_skip_comment(r);
        } else if (has_ends && *c->at == '\n') {
            ms_shell_skip_to(r, c->at + 1);
            if (r->state.input_end != NULL) {
                skip_input(r);
            }
        } else {
            break;
        }
    }
}
