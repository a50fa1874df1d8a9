/* What commands print that a script puts in ("$(...)"), of the few that need no running.
 * Source: POSIX, echo, printf, expr, basename, dirname; GNU coreutils, seq. */
#include <string.h>

#include "study/shell/parts.h"

enum { SEQUENCE_MAX = 1000 };

static const ms_shell_word *word_at(const ms_vector *words, size_t i) {
    return &MS_AT(words, ms_shell_word, i);
}

static bool leave_open(ms_shell_reader *r) {
    r->output->is_open = true;
    return true;
}

/* echo, with -n and -e as words that are not printed. */
static void print_words(ms_shell_reader *r, const ms_vector *words) {
    ms_buffer *out = &r->output->text;
    size_t at = 1;
    bool has_end = true;
    for (; at < words->count; at++) {
        const char *text = word_at(words, at)->text;
        bool is_quiet = strcmp(text, "-n") == 0;
        if (!is_quiet && strcmp(text, "-e") != 0) {
            break;
        }
        has_end = has_end && !is_quiet;
    }
    for (size_t i = at; i < words->count; i++) {
        ms_buffer_printf(out, "%s%s", i == at ? "" : " ", word_at(words, i)->text);
    }
    ms_buffer_puts(out, has_end ? "\n" : "");
}

/* printf with %s, %d and %%, each word once. */
static bool print_format(ms_shell_reader *r, const ms_vector *words) {
    ms_buffer *out = &r->output->text;
    size_t next = 2;
    for (const char *at = words->count < 2 ? "" : word_at(words, 1)->text; *at != '\0'; at++) {
        bool is_value = at[0] == '%' && (at[1] == 's' || at[1] == 'd');
        bool is_known = is_value || strncmp(at, "%%", 2) == 0 || strncmp(at, "\\n", 2) == 0;
        if (is_value) {
            ms_buffer_puts(out, next < words->count ? word_at(words, next)->text : "");
            next++;
        } else if (is_known) {
            ms_buffer_puts(out, *at == '%' ? "%" : "\n");
        } else if (*at == '%' || *at == '\\') {
            return leave_open(r);
        } else {
            ms_buffer_add(out, at, 1);
        }
        at += is_known;
    }
    return next < words->count ? leave_open(r) : true;
}

/* expr: what it computes is what "$((...))" does, of words. */
static bool print_sum(ms_shell_reader *r, const ms_vector *words) {
    ms_buffer text;
    long long value = 0;
    ms_buffer_init(&text);
    for (size_t i = 1; i < words->count; i++) {
        const char *word = word_at(words, i)->text;
        bool is_number = ms_shell_read_number(word, &value);
        if (!is_number && (strlen(word) != 1 || strchr("+-*/%()", *word) == NULL)) {
            ms_buffer_release(&text);
            return leave_open(r);
        }
        ms_buffer_printf(&text, "%s ", word);
    }
    const ms_mark mark = word_at(words, 0)->mark;
    const char *sum = ms_buffer_keep(&text, r->arena);
    if (sum == NULL || !ms_shell_compute(r, sum, &mark, &value)) {
        return leave_open(r);
    }
    ms_buffer_printf(&r->output->text, "%lld\n", value);
    return true;
}

/* basename, which drops an ending, too, and dirname. */
static bool print_path(ms_shell_reader *r, const ms_vector *words, bool is_folder) {
    if (words->count < 2 || words->count > 3) {
        return leave_open(r);
    }
    const char *path = word_at(words, 1)->text, *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    const char *ending = words->count == 3 ? word_at(words, 2)->text : "";
    size_t length = strlen(name), cut = strlen(ending);
    if (name[0] == '\0' || (is_folder && (slash == NULL || slash == path))) {
        return leave_open(r);
    }
    bool is_cut = cut < length && strcmp(name + length - cut, ending) == 0;
    ms_buffer_printf(&r->output->text, "%.*s\n",
                     is_folder ? (int)(slash - path) : (int)(length - (is_cut ? cut : 0)),
                     is_folder ? path : name);
    return true;
}

static bool print_sequence(ms_shell_reader *r, const ms_vector *words) {
    long long ends[3] = {1, 1, 0};
    size_t count = words->count - 1;
    for (size_t i = 0; i < count && count <= 3; i++) {
        size_t at = count == 1 ? 2 : i == count - 1 ? 2 : i;
        if (!ms_shell_read_number(word_at(words, i + 1)->text, &ends[at])) {
            return leave_open(r);
        }
    }
    bool is_short = ends[1] > 0 && ends[0] > -1000000 && ends[2] < 1000000 &&
                    (ends[2] - ends[0]) / ends[1] < SEQUENCE_MAX;
    if (count < 1 || count > 3 || !is_short) {
        return leave_open(r);
    }
    for (long long i = ends[0]; i <= ends[2]; i += ends[1]) {
        ms_buffer_printf(&r->output->text, "%lld\n", i);
    }
    return true;
}

void ms_shell_print(ms_shell_reader *r, const ms_vector *words) {
    const char *name = word_at(words, 0)->text;
    for (size_t i = 0; i < words->count; i++) {
        if (word_at(words, i)->is_open) {
            leave_open(r);
            return;
        }
    }
    if (strcmp(name, "echo") == 0) {
        print_words(r, words);
    } else if (strcmp(name, "printf") == 0) {
        print_format(r, words);
    } else if (strcmp(name, "expr") == 0) {
        print_sum(r, words);
    } else if (strcmp(name, "basename") == 0 || strcmp(name, "dirname") == 0) {
        print_path(r, words, name[0] == 'd');
    } else if (strcmp(name, "seq") == 0) {
        print_sequence(r, words);
    } else if (strcmp(name, "local") != 0 && strcmp(name, "export") != 0 &&
               strcmp(name, "declare") != 0 && strcmp(name, "set") != 0) {
        leave_open(r);
    }
    if (r->output->text.length > MS_SHELL_WORD_MAX_B) {
        leave_open(r);
    }
}

/* ---- putting it in ---- */

/* Go on where a reading was before it read something aside; what it counted stays counted. */
static void restore(ms_shell_reader *r, const ms_shell_reader *outer) {
    const ms_shell_state met = r->state;
    r->cursor = outer->cursor;
    r->draft = outer->draft;
    r->output = outer->output;
    r->tests = outer->tests;
    r->is_whole = outer->is_whole;
    r->state = outer->state;
    r->state.functions = met.functions;
    r->state.passed_over = met.passed_over;
    r->state.passes = met.passes;
}

/* Read commands aside from the word that they stand in, and keep what they print.  What they set,
 * and what would be told of them, is gone behind them, as of another shell. */
static bool read_aside(ms_shell_reader *r, const char *from, const char *to,
                       ms_shell_word *word_out) {
    const ms_shell_reader outer = *r;
    const size_t variables = r->out->variables.count, notes = r->out->notes.count;
    const ms_mark mark = ms_shell_mark_here(r);
    ms_shell_output output = {.is_open = false};
    ms_buffer_init(&output.text);
    r->draft = (ms_shell_draft){.has_word = false};
    ms_buffer_init(&r->draft.text);
    r->output = &output;
    r->tests = r->is_whole = false;
    r->state.asks = false;
    r->state.input_end = NULL;
    r->state.doubt = (ms_shell_doubt){.reason = NULL};
    r->state.calls++;
    r->state.passes++;
    ms_shell_skip_to(r, from);
    r->cursor.end = to;
    r->read_all(r);
    bool is_known = !output.is_open && r->status == MS_OK && r->state.doubt.reason == NULL &&
                    r->out->notes.count == notes;
    size_t length = output.text.length;
    while (length > 0 && ms_buffer_text(&output.text)[length - 1] == '\n') {
        length--;
    }
    *word_out = (ms_shell_word){
        .text = ms_arena_strndup(r->arena, ms_buffer_text(&output.text), length), .mark = mark};
    bool has_text = !output.text.failed && word_out->text != NULL;
    ms_buffer_release(&output.text);
    ms_buffer_release(&r->draft.text);
    restore(r, &outer);
    r->out->variables.count = variables;
    r->out->notes.count = notes;
    if (!has_text) {
        ms_shell_lack_memory(r);
    }
    return is_known && has_text;
}

/* Whether a function of the script is called. */
static bool is_call(const ms_shell_reader *r, const char *from, const char *to) {
    while (from < to && strchr(" \t\n", *from) != NULL && *from != '\0') {
        from++;
    }
    for (size_t i = 0; i < r->state.functions.count; i++) {
        const char *name = MS_AT(&r->state.functions, ms_shell_function, i).name;
        size_t length = strlen(name);
        bool is_name = (size_t)(to - from) >= length && strncmp(from, name, length) == 0;
        if (is_name && (from + length == to || strchr(" \t\n", from[length]) != NULL)) {
            return true;
        }
    }
    return false;
}

/* Commands whose output is put in: of a list of others nothing is read. */
static bool may_print(const char *from, const char *to) {
    static const char *const NAMES[] = {"echo", "printf", "expr", "basename", "dirname", "seq"};
    while (from < to && strchr(" \t\n", *from) != NULL && *from != '\0') {
        from++;
    }
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        size_t length = strlen(NAMES[i]);
        if ((size_t)(to - from) > length && strncmp(from, NAMES[i], length) == 0 &&
            strchr(" \t", from[length]) != NULL) {
            return true;
        }
    }
    return false;
}

bool ms_shell_capture(ms_shell_reader *r, const char *from, const char *to,
                      ms_shell_word *word_out) {
    bool is_bounded = r->state.calls < MS_SHELL_CALLS_MAX && r->state.passes < MS_SHELL_PASSES_MAX;
    bool is_asked = ms_shell_is_live(r) && from <= to && is_bounded &&
                    (may_print(from, to) || is_call(r, from, to));
    return is_asked && read_aside(r, from, to, word_out);
}
