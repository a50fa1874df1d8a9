/* Scripts taken apart without being run: words, quotes, comments, continued lines, variables and
 * arrays. Nothing else of a shell is followed: conditions and loops count as if every line was run
 * once, and what a command would print ("$(...)") stays as it is written. */
#include <string.h>

#include "study/import/megatron_parts.h"

/* Words of one command at most, variables put in: keeps what puts itself in again and again from
 * filling the memory. */
enum { WORDS_MAX = 20000, WORD_MAX_B = 1 << 16, TOTAL_MAX_B = 1 << 22, DEPTH_MAX = 16 };

typedef struct shell_reading {
    const ms_text *text;
    const char *at, *end, *line_start;
    int line;
    ms_arena *arena;
    ms_diag *diag;
    ms_shell *out;
    size_t total_B; /* of all words, so far */
    int depth;      /* of defaults in defaults */
    /* the word under construction */
    ms_buffer word;
    ms_mark mark;
    bool has_word, is_quoted;
    bool drops_word; /* behind a redirection */
    ms_vector *into;
    ms_status status;
} shell_reading;

static ms_mark mark_here(const shell_reading *r) {
    int column = 1;
    for (const char *at = r->line_start; at < r->at; at++) {
        column += ((unsigned char)*at & 0xC0) != 0x80; /* characters, not bytes */
    }
    return (ms_mark){.file = r->text->name,
                     .source = r->text->data,
                     .source_B = r->text->length_B,
                     .line = r->line,
                     .column = column,
                     .width = 1};
}

static void fail(shell_reading *r, const char *message) {
    if (r->status == MS_OK) {
        ms_mark mark = mark_here(r);
        ms_diag_at(r->diag, &mark, NULL, "%s", message);
        r->status = MS_E_INPUT;
    }
}

static void lack_memory(shell_reading *r) {
    if (r->status == MS_OK) {
        r->status = ms_diag_no_memory(r->diag);
    }
}

/* ---- words ---- */

static void begin_word(shell_reading *r) {
    if (!r->has_word) {
        r->has_word = true;
        r->is_quoted = false;
        r->mark = mark_here(r);
        r->word.length = 0;
    }
}

static void put(shell_reading *r, const char *text, size_t length) {
    begin_word(r);
    if (r->word.length + length > WORD_MAX_B || r->total_B + length > TOTAL_MAX_B) {
        fail(r, "expected words of less than 64 KiB, 4 MiB of them together; variables put in here "
                "make more");
        return;
    }
    r->total_B += length;
    ms_buffer_add(&r->word, text, length);
}

static void add_word(shell_reading *r, ms_shell_word word) {
    if (r->into->count >= WORDS_MAX) {
        fail(r, "expected a script of at most 20000 words");
        return;
    }
    if (word.text == NULL || ms_vector_add(r->into, &word, 1) == NULL) {
        lack_memory(r);
    }
}

static void end_word(shell_reading *r) {
    if (!r->has_word) {
        return;
    }
    r->has_word = false;
    if (r->drops_word) {
        r->drops_word = false;
        return;
    }
    const char *text = r->word.length == 0
                           ? ""
                           : ms_arena_strndup(r->arena, ms_buffer_text(&r->word), r->word.length);
    add_word(r, (ms_shell_word){text, r->mark, r->is_quoted});
    if (r->word.failed) {
        lack_memory(r);
    }
}

/* ---- variables ---- */

static const ms_shell_variable *find_variable(const shell_reading *r, const char *name,
                                              size_t length) {
    for (size_t i = r->out->variables.count; i-- > 0;) {
        const ms_shell_variable *variable = &MS_AT(&r->out->variables, ms_shell_variable, i);
        if (strlen(variable->name) == length && strncmp(variable->name, name, length) == 0) {
            return variable;
        }
    }
    return NULL;
}

/* Put a text in as an unquoted variable is: cut at blanks. */
static void put_split(shell_reading *r, const char *text, const ms_mark *mark) {
    static const char BLANKS[] = " \t\n\r";
    for (const char *at = text; *at != '\0';) {
        size_t blanks = strspn(at, BLANKS);
        if (blanks > 0) {
            end_word(r);
            at += blanks;
        }
        size_t length = strcspn(at, BLANKS);
        if (length > 0) {
            bool is_new = !r->has_word;
            put(r, at, length);
            r->mark = is_new ? *mark : r->mark;
            at += length;
        }
    }
}

static void put_variable(shell_reading *r, const ms_shell_variable *variable, bool is_in_quotes) {
    for (size_t i = 0; i < variable->count; i++) {
        const ms_shell_word *word = &variable->words[i];
        if (i > 0) {
            end_word(r);
        }
        if (is_in_quotes || variable->is_array) {
            bool is_new = !r->has_word;
            put(r, word->text, strlen(word->text));
            r->mark = is_new ? word->mark : r->mark;
            r->is_quoted = r->is_quoted || word->is_quoted;
        } else {
            put_split(r, word->text, &word->mark);
        }
    }
}

static bool is_name(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_';
}

/* The end of a bracket that opens at `at`; the text's end where it is not closed. */
static const char *bracket_end(const shell_reading *r, const char *at, char open, char close) {
    int depth = 0;
    for (; at < r->end; at++) {
        depth += *at == open;
        depth -= *at == close;
        if (depth == 0) {
            return at + 1;
        }
    }
    return r->end;
}

static void skip_to(shell_reading *r, const char *to) {
    for (; r->at < to; r->at++) {
        if (*r->at == '\n') {
            r->line++;
            r->line_start = r->at + 1;
        }
    }
}

static bool read_piece(shell_reading *r);

/* A default, which has quotes, variables and defaults of its own. */
static void put_default(shell_reading *r, const char *from, const char *to, bool is_in_quotes) {
    const char *end = r->end;
    skip_to(r, from);
    r->end = to;
    r->depth++;
    while (r->at < r->end && r->status == MS_OK) {
        bool is_plain = r->depth > DEPTH_MAX || (is_in_quotes && *r->at == '\'');
        if (is_plain || !read_piece(r)) {
            put(r, r->at, 1);
            skip_to(r, r->at + 1);
        }
    }
    r->depth--;
    r->end = end;
}

/* "${NAME}", "${NAME[@]}", "${NAME:-default}": its variable, or the default where it has one. */
static void put_braced(shell_reading *r, bool is_in_quotes) {
    const char *from = r->at;
    const char *end = bracket_end(r, r->at + 1, '{', '}');
    const char *name = from + 2;
    size_t length = 0;
    while (name + length < end && is_name(name[length])) {
        length++;
    }
    const char *rest = name + length;
    const ms_shell_variable *variable = length == 0 ? NULL : find_variable(r, name, length);
    bool has_default =
        rest < end &&
        (*rest == '-' || (*rest == ':' && rest + 1 < end && (rest[1] == '-' || rest[1] == '=')));
    if (variable != NULL) {
        put_variable(r, variable, is_in_quotes);
    } else if (has_default) {
        rest += *rest == ':' ? 2 : 1;
        put_default(r, rest, end - 1, is_in_quotes);
    } else {
        put(r, from, (size_t)(end - from));
    }
    skip_to(r, end);
}

/* What begins with '$'. What is not known stays as it is written. */
static void read_dollar(shell_reading *r, bool is_in_quotes) {
    const char *next = r->at + 1;
    if (next < r->end && *next == '{') {
        put_braced(r, is_in_quotes);
        return;
    }
    if (next < r->end && *next == '(') {
        const char *end = bracket_end(r, next, '(', ')');
        put(r, r->at, (size_t)(end - r->at));
        skip_to(r, end);
        return;
    }
    size_t length = 0;
    while (next + length < r->end && is_name(next[length])) {
        length++;
    }
    const ms_shell_variable *variable = length == 0 ? NULL : find_variable(r, next, length);
    if (variable != NULL) {
        put_variable(r, variable, is_in_quotes);
    } else {
        put(r, r->at, length + 1);
    }
    r->at += length + 1;
}

/* ---- quotes ---- */

/* A backslash: joins lines, or takes the next letter as it is. */
static void read_escape(shell_reading *r, bool is_in_quotes) {
    const char *next = r->at + 1;
    bool is_return = next + 1 < r->end && next[0] == '\r' && next[1] == '\n';
    if (is_return || (next < r->end && *next == '\n')) {
        skip_to(r, next + (is_return ? 2 : 1));
        return;
    }
    bool is_kept = is_in_quotes && (next >= r->end || strchr("$`\"\\", *next) == NULL);
    if (is_kept || next >= r->end) {
        put(r, r->at, 1);
        r->at++;
        return;
    }
    put(r, next, 1);
    r->at += 2;
}

static void read_quotes(shell_reading *r) {
    char quote = *r->at;
    begin_word(r);
    r->is_quoted = true;
    ms_mark opening = mark_here(r);
    for (r->at++; r->at < r->end && *r->at != quote && r->status == MS_OK;) {
        if (quote == '"' && *r->at == '\\') {
            read_escape(r, true);
        } else if (quote == '"' && *r->at == '$') {
            read_dollar(r, true);
            begin_word(r);
        } else {
            put(r, r->at, 1);
            skip_to(r, r->at + 1);
        }
    }
    if (r->at >= r->end && r->status == MS_OK) {
        ms_diag_at(r->diag, &opening, NULL, "expected a closing %c, got the end of the text",
                   quote);
        r->status = MS_E_INPUT;
    }
    r->at++;
}

/* ---- commands ---- */

/* A piece of a word. Returns false where the word ends. */
static bool read_piece(shell_reading *r) {
    switch (*r->at) {
    case '\\':
        read_escape(r, false);
        return true;
    case '"':
    case '\'':
        read_quotes(r);
        return true;
    case '$':
        read_dollar(r, false);
        return true;
    case '`': {
        const char *end = memchr(r->at + 1, '`', (size_t)(r->end - r->at - 1));
        end = end == NULL ? r->end : end + 1;
        put(r, r->at, (size_t)(end - r->at));
        skip_to(r, end);
        return true;
    }
    default:
        if (strchr(" \t\r\n;|&()<>", *r->at) != NULL) { /* or '\0' */
            return false;
        }
        put(r, r->at, 1);
        r->at++;
        return true;
    }
}

/* Whether the word that begins here is an assignment; the length of its name. */
static size_t assignment_length(const shell_reading *r, bool *adds_out) {
    size_t length = 0;
    while (r->at + length < r->end && is_name(r->at[length])) {
        length++;
    }
    const char *next = r->at + length;
    *adds_out = next + 1 < r->end && next[0] == '+' && next[1] == '=';
    bool is_first_digit = *r->at >= '0' && *r->at <= '9';
    bool is_one = *adds_out || (next < r->end && *next == '=');
    return is_one && !is_first_digit ? length : 0;
}

static void skip_comment(shell_reading *r) {
    while (r->at < r->end && *r->at != '\n') {
        r->at++;
    }
}

/* The words between the brackets of an array. */
static void read_array(shell_reading *r) {
    ms_mark opening = mark_here(r);
    for (r->at++; r->at < r->end && *r->at != ')' && r->status == MS_OK;) {
        if (*r->at == '#' && !r->has_word) {
            skip_comment(r);
        } else if (!read_piece(r)) {
            end_word(r);
            skip_to(r, r->at + 1);
        }
    }
    end_word(r);
    if (r->at >= r->end && r->status == MS_OK) {
        ms_diag_at(r->diag, &opening, NULL, "expected a closing ), got the end of the text");
        r->status = MS_E_INPUT;
    }
    r->at++;
}

/* Keep what was assigned; "+=" adds words to an array, and text to a variable. */
static void assign(shell_reading *r, const char *name, ms_vector *words, bool is_array,
                   const ms_shell_variable *before) {
    ms_shell_word *kept = NULL;
    size_t count = words->count + (before == NULL ? 0 : before->count);
    if (before != NULL && !before->is_array && !is_array && before->count == 1 &&
        words->count == 1) {
        ms_shell_word *word = &MS_AT(words, ms_shell_word, 0);
        r->total_B += strlen(before->words[0].text);
        if (r->total_B > TOTAL_MAX_B) {
            fail(r, "expected less than 4 MiB of words");
            return;
        }
        word->text = ms_arena_printf(r->arena, "%s%s", before->words[0].text, word->text);
        before = NULL;
        count = 1;
    }
    kept = MS_NEW(r->arena, ms_shell_word, count + 1);
    if (count > WORDS_MAX || r->out->variables.count >= WORDS_MAX) {
        fail(r, "expected a script of at most 20000 variables and words");
        return;
    }
    if (kept == NULL || name == NULL) {
        lack_memory(r);
        return;
    }
    size_t old = before == NULL ? 0 : before->count;
    if (old > 0) {
        memcpy(kept, before->words, old * sizeof *kept);
    }
    if (words->count > 0) {
        memcpy(kept + old, words->data, words->count * sizeof *kept);
    }
    const ms_shell_variable variable = {name, kept, count,
                                        is_array || (before != NULL && before->is_array)};
    if (ms_vector_add(&r->out->variables, &variable, 1) == NULL) {
        lack_memory(r);
    }
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

static void keep_environment(shell_reading *r, const char *name, const ms_vector *words,
                             const ms_mark *mark) {
    if (!is_librarys(name) || words->count == 0 || r->status != MS_OK) {
        return;
    }
    const char *value = MS_AT(words, ms_shell_word, 0).text;
    const ms_shell_word word = {ms_arena_printf(r->arena, "%s %s", name, value), *mark, false};
    if (word.text == NULL || ms_vector_add(&r->out->environment, &word, 1) == NULL) {
        lack_memory(r);
    }
}

static void read_assignment(shell_reading *r, size_t length, bool adds) {
    ms_mark mark = mark_here(r);
    ms_vector words;
    ms_vector *into = r->into;
    const char *name = ms_arena_strndup(r->arena, r->at, length);
    const ms_shell_variable *found = adds && name != NULL ? find_variable(r, name, length) : NULL;
    const ms_shell_variable before = found == NULL ? (ms_shell_variable){.name = NULL} : *found;
    ms_vector_init(&words, sizeof(ms_shell_word));
    r->into = &words;
    r->at += length + (adds ? 2 : 1);
    bool is_array = r->at < r->end && *r->at == '(';
    if (is_array) {
        read_array(r);
    } else {
        begin_word(r); /* an empty one is one, too */
        r->is_quoted = true;
        while (r->at < r->end && r->status == MS_OK && read_piece(r)) {
        }
        end_word(r);
    }
    r->into = into;
    if (r->status == MS_OK && name != NULL) {
        keep_environment(r, name, &words, &mark);
    }
    if (r->status == MS_OK) {
        assign(r, name, &words, is_array, found == NULL ? NULL : &before);
    }
    ms_vector_release(&words);
}

static void end_command(shell_reading *r) {
    end_word(r);
    r->drops_word = false;
    size_t first = 0;
    if (r->out->commands.count > 0) {
        const ms_shell_command *last =
            &MS_AT(&r->out->commands, ms_shell_command, r->out->commands.count - 1);
        first = last->first + last->count;
    }
    const ms_shell_command command = {first, r->out->words.count - first};
    if (command.count > 0 && ms_vector_add(&r->out->commands, &command, 1) == NULL) {
        lack_memory(r);
    }
}

/* Whether a command may still begin with assignments. */
static bool is_at_start(const shell_reading *r) {
    size_t first = 0;
    if (r->out->commands.count > 0) {
        const ms_shell_command *last =
            &MS_AT(&r->out->commands, ms_shell_command, r->out->commands.count - 1);
        first = last->first + last->count;
    }
    for (size_t i = first; i < r->out->words.count; i++) {
        const char *word = MS_AT(&r->out->words, ms_shell_word, i).text;
        if (strcmp(word, "export") != 0 && strcmp(word, "declare") != 0 &&
            strcmp(word, "local") != 0 && strcmp(word, "env") != 0) {
            return false;
        }
    }
    return true;
}

/* The file's number before a redirection, as in "2>&1", is no word. */
static void drop_number(shell_reading *r) {
    bool is_number = r->has_word && !r->is_quoted && r->word.length > 0;
    for (size_t i = 0; is_number && i < r->word.length; i++) {
        is_number = r->word.data[i] >= '0' && r->word.data[i] <= '9';
    }
    r->has_word = r->has_word && !is_number;
}

/* A bracket behind a command's words, closed on the same line: no shell takes it without quotes, so
 * it is a list or a layout that was pasted without them. */
static bool read_pasted(shell_reading *r) {
    const char *end = bracket_end(r, r->at, '(', ')');
    bool is_closed =
        end > r->at && end[-1] == ')' && memchr(r->at, '\n', (size_t)(end - r->at)) == NULL;
    if (!is_closed || (!r->has_word && is_at_start(r))) {
        return false;
    }
    put(r, r->at, (size_t)(end - r->at));
    skip_to(r, end);
    return true;
}

/* What stands between words. */
static void read_separator(shell_reading *r) {
    if (*r->at == '(' && read_pasted(r)) {
        return;
    }
    if (*r->at == '>' || *r->at == '<') {
        drop_number(r);
    }
    end_word(r);
    switch (*r->at) {
    case '\n':
    case ';':
    case '|':
    case '(':
    case ')':
        end_command(r);
        break;
    case '&':
        if (r->at == r->text->data || r->at[-1] != '>') { /* not of "2>&1" */
            end_command(r);
        }
        break;
    case '<':
    case '>':
        r->drops_word = true;
        break;
    default:
        break;
    }
    skip_to(r, r->at + 1);
}

static void read_text(shell_reading *r, const ms_text *text) {
    r->text = text;
    r->at = r->line_start = text->data;
    r->end = text->data + text->length_B;
    r->line = 1;
    while (r->at < r->end && r->status == MS_OK) {
        bool adds = false;
        size_t length =
            r->has_word || !is_name(*r->at) || !is_at_start(r) ? 0 : assignment_length(r, &adds);
        if (length > 0) {
            read_assignment(r, length, adds);
        } else if (*r->at == '#' && !r->has_word) {
            skip_comment(r);
        } else if (!read_piece(r)) {
            read_separator(r);
        }
    }
    if (r->status == MS_OK) {
        end_command(r);
    }
}

void ms_shell_release(ms_shell *shell) {
    ms_vector_release(&shell->variables);
    ms_vector_release(&shell->words);
    ms_vector_release(&shell->commands);
    ms_vector_release(&shell->environment);
}

ms_status ms_shell_read(const ms_text *texts, size_t count, ms_arena *arena, ms_diag *diag,
                        ms_shell *shell) {
    shell_reading r = {.arena = arena, .diag = diag, .out = shell};
    ms_vector_init(&shell->variables, sizeof(ms_shell_variable));
    ms_vector_init(&shell->words, sizeof(ms_shell_word));
    ms_vector_init(&shell->commands, sizeof(ms_shell_command));
    ms_vector_init(&shell->environment, sizeof(ms_shell_word));
    ms_buffer_init(&r.word);
    r.into = &shell->words;
    for (size_t i = 0; i < count && r.status == MS_OK; i++) {
        read_text(&r, &texts[i]);
    }
    ms_buffer_release(&r.word);
    return r.status;
}
