/* Writes diagnostics (diag.h): puts the message together with its place, the source line and a
 * caret below the fault, and passes it to the sink. Also finds the known word that a misspelt one
 * probably means. */
#include "base/diag.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "base/value.h"

/* FAULT_LIMIT: faults printed at most. QUOTE_COLUMNS: columns of a quoted line that are shown, so
 * that they fit into 80 with the 8 columns of the line's number and a caret behind them.
 * QUOTE_BEFORE: columns shown before the fault in the middle of a longer line. WORD_MAX: letters of
 * a word that are compared. */
enum { FAULT_LIMIT = 20, QUOTE_COLUMNS = 71, QUOTE_BEFORE = 30, WORD_MAX = 64 };

static void write_stderr(void *context, const char *text) {
    (void)context;
    fputs(text, stderr);
}

void ms_diag_init(ms_diag *diag, void (*write)(void *, const char *), void *context) {
    *diag = (ms_diag){.write = write, .context = context, .limit = FAULT_LIMIT};
}

void ms_diag_init_stderr(ms_diag *diag) {
    ms_diag_init(diag, write_stderr, NULL);
}

static void discard(void *context, const char *text) {
    (void)context;
    (void)text;
}

void ms_diag_init_mute(ms_diag *diag) {
    ms_diag_init(diag, discard, NULL);
}

/* Append a formatted message and a line feed. */
static void add_formatted(ms_buffer *text, const char *format, va_list args) {
    char message[2048];
    vsnprintf(message, sizeof message, format, args);
    ms_buffer_puts(text, message);
    ms_buffer_puts(text, "\n");
}

/* Pass a whole message to the sink, with invisible characters replaced, and release `text`. */
static void emit(ms_diag *diag, ms_buffer *text) {
    ms_buffer shown;
    ms_buffer_init(&shown);
    ms_terminal_write_text(&shown, ms_buffer_text(text));
    if (!text->failed && !shown.failed) {
        diag->write(diag->context, ms_buffer_text(&shown));
    } else if (!diag->has_no_memory) { /* reported once */
        diag->has_no_memory = true;
        diag->write(diag->context, "meshsim: error: out of memory\n");
    }
    ms_buffer_release(&shown);
    ms_buffer_release(text);
}

/* Copy the first fault to diag->reason, as one line, for callers that report it in other words.
 * head_B: where key path and message begin in `text`, behind the place [B]. */
static void keep_reason(ms_diag *diag, const ms_buffer *text, size_t head_B) {
    ms_buffer *reason = diag->reason;
    if (reason == NULL || reason->length > 0 || text->failed) {
        return;
    }
    const char *fault = ms_buffer_text(text) + head_B;
    ms_buffer line;
    ms_buffer_init(&line);
    ms_buffer_add(&line, fault, strcspn(fault, "\n"));
    ms_terminal_write_text(reason, ms_buffer_text(&line));
    ms_buffer_release_part(&line, reason);
}

/* Find line mark->line of the source.  *length_out: length of the line without LF or CR LF [B]; 0
 * where the source has fewer lines. */
static const char *find_line(const ms_mark *mark, size_t *length_out) {
    const char *at = mark->source;
    const char *end = mark->source + mark->source_B;
    for (int line = 1; line < mark->line && at < end; line++) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        at = feed == NULL ? end : feed + 1;
    }
    const char *feed = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    *length_out = (size_t)((feed == NULL ? end : feed) - at);
    if (*length_out > 0 && at[*length_out - 1] == '\r') {
        (*length_out)--;
    }
    return at;
}

/* Append the columns `first` to `first` + QUOTE_COLUMNS - 1 of a line; where more of the line is
 * left out, its end is "...". */
static void add_quote(ms_buffer *text, const char *line, size_t length, int first, int columns) {
    const int last = first + QUOTE_COLUMNS;
    int column = -1;
    for (size_t i = 0; i < length; i++) {
        bool is_inside = ms_text_is_continuation(line[i]);
        column += is_inside ? 0 : 1;
        bool is_cut = (first > 0 && column < first + 3) || (last < columns && column >= last - 3);
        char shown = is_cut ? '.' : (unsigned char)line[i] < 32 ? ' ' : line[i];
        if (column >= first && column < last && !(is_cut && is_inside)) {
            ms_buffer_add(text, &shown, 1);
        }
    }
}

/* Append the source line of a mark, or the part of a long line around the value, and below it a
 * caret with tildes under the marked characters. Of a long line the beginning is shown where the
 * value fits in it, else the part from QUOTE_BEFORE columns before the value on. Nothing is
 * appended for a line that is unknown or empty, and no caret where the column is unknown. */
static void add_caret(ms_buffer *text, const ms_mark *mark) {
    if (mark->source == NULL || mark->line <= 0) {
        return;
    }
    size_t length = 0;
    const char *line = find_line(mark, &length);
    if (length == 0) {
        return;
    }
    int columns = 0;
    for (size_t i = 0; i < length; i++) {
        columns += ms_text_is_continuation(line[i]) ? 0 : 1;
    }
    bool is_near = mark->column + mark->width <= QUOTE_COLUMNS - 2; /* also beside "..." */
    int first = is_near ? 0 : mark->column - QUOTE_BEFORE;          /* column 0 is the first */
    first = first > columns - QUOTE_COLUMNS ? columns - QUOTE_COLUMNS : first;
    first = first < 0 ? 0 : first;
    ms_buffer_printf(text, "%5d | ", mark->line);
    add_quote(text, line, length, first, columns);
    ms_buffer_puts(text, "\n");
    if (mark->column <= 0 || mark->column > columns + 1) { /* + 1: behind the end of the line */
        return;
    }
    const int end = columns < first + QUOTE_COLUMNS ? columns : first + QUOTE_COLUMNS;
    const int room = end - mark->column + 1;
    const int width = mark->width < room ? mark->width : room;
    ms_buffer_printf(text, "      | %*s^", mark->column - 1 - first, "");
    for (int i = 1; i < width; i++) {
        ms_buffer_puts(text, "~");
    }
    ms_buffer_puts(text, "\n");
}

void ms_diag_warning(ms_diag *diag, const char *format, ...) {
    ms_buffer text;
    ms_buffer_init(&text);
    ms_buffer_puts(&text, "meshsim: warning: ");
    va_list args;
    va_start(args, format);
    add_formatted(&text, format, args);
    va_end(args);
    emit(diag, &text);
}

/* Append "file:line:column", without the parts that are not known. */
static void add_mark(ms_buffer *text, const ms_mark *mark) {
    ms_buffer_puts(text, mark->file);
    if (mark->line > 0) {
        ms_buffer_printf(text, ":%d", mark->line);
        if (mark->column > 0) {
            ms_buffer_printf(text, ":%d", mark->column);
        }
    }
}

/* Append "file:line:column: error: key.path: ", or "meshsim: error: key.path: " without a file.
 * word: "error" or "note".  Returns where the key path begins in `text` [B]. */
static size_t add_head(ms_buffer *text, const ms_mark *mark, const char *word,
                       const char *key_path) {
    if (mark != NULL && mark->file != NULL) {
        add_mark(text, mark);
    } else {
        ms_buffer_puts(text, "meshsim");
    }
    ms_buffer_printf(text, ": %s: ", word);
    size_t head_B = text->length;
    if (key_path != NULL && key_path[0] != '\0') {
        ms_buffer_printf(text, "%s: ", key_path);
    }
    return head_B;
}

void ms_diag_note(ms_diag *diag, const ms_mark *mark, const char *key_path, const char *format,
                  ...) {
    ms_buffer text;
    ms_buffer_init(&text);
    (void)add_head(&text, mark, "note", key_path);
    va_list args;
    va_start(args, format);
    add_formatted(&text, format, args);
    va_end(args);
    emit(diag, &text);
}

/* Count a fault, and write it unless `limit` faults were written before. */
static void report(ms_diag *diag, const ms_mark *mark, const char *key_path, const char *format,
                   va_list args) {
    if (diag->errors++ >= diag->limit) {
        return;
    }
    ms_buffer text;
    ms_buffer_init(&text);
    size_t head_B = add_head(&text, mark, "error", key_path);
    add_formatted(&text, format, args);
    keep_reason(diag, &text, head_B);
    if (mark != NULL && mark->file != NULL) {
        add_caret(&text, mark);
    }
    emit(diag, &text);
}

ms_status ms_diag_at(ms_diag *diag, const ms_mark *mark, const char *key_path, const char *format,
                     ...) {
    va_list args;
    va_start(args, format);
    report(diag, mark, key_path, format, args);
    va_end(args);
    return MS_E_INPUT;
}

ms_status ms_diag_error(ms_diag *diag, const char *format, ...) {
    va_list args;
    va_start(args, format);
    report(diag, NULL, NULL, format, args);
    va_end(args);
    return MS_E_INPUT;
}

ms_status ms_diag_usage(ms_diag *diag, const char *format, ...) {
    va_list args;
    va_start(args, format);
    report(diag, NULL, NULL, format, args);
    va_end(args);
    return MS_E_USAGE;
}

void ms_diag_finish(ms_diag *diag) {
    if (diag->errors > diag->limit) {
        char text[64];
        snprintf(text, sizeof text, "meshsim: ... and %d more faults\n",
                 diag->errors - diag->limit);
        diag->write(diag->context, text);
    }
}

static bool is_same_letter(char a, char b) {
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* The fewest slips that make one word of the other: letters put in, left out, replaced, or swapped
 * with the next (optimal string alignment distance). Case is ignored; both words are cut at
 * WORD_MAX. rows[i % 3][j] is the distance between the first i letters of `a` and the first j of
 * `b`; swaps look two rows back, so three rows are kept. */
static size_t edit_distance(const char *a, const char *b) {
    size_t rows[3][WORD_MAX + 1];
    size_t a_length = strnlen(a, WORD_MAX);
    size_t b_length = strnlen(b, WORD_MAX);
    for (size_t j = 0; j <= b_length; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i - 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t best = above[j - 1] + (is_same_letter(a[i - 1], b[j - 1]) ? 0 : 1);
            best = above[j] + 1 < best ? above[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            bool is_swap = i > 1 && j > 1 && is_same_letter(a[i - 1], b[j - 2]) &&
                           is_same_letter(a[i - 2], b[j - 1]);
            size_t swapped = is_swap ? rows[(i - 2) % 3][j - 2] + 1 : best;
            row[j] = swapped < best ? swapped : best;
        }
    }
    return rows[a_length % 3][b_length];
}

/* The most slips by which a word may differ from the one that was meant: a third of its letters,
 * and one for two letters. With more, different words would be taken for each other: 'fp8' is not
 * meant to be 'fp16'. */
static size_t max_slips(const char *word) {
    enum { LETTERS_PER_SLIP = 3 };
    size_t length = strlen(word);
    return length == 2 ? 1 : length / LETTERS_PER_SLIP;
}

/* Whether `word` is a whole part of `name`, whose parts have '-', '.' or '_' between them: "h100"
 * is one of "dgx-h100". */
static bool is_part(const char *name, const char *word) {
    static const char BETWEEN[] = "-._";
    size_t length = strlen(word);
    for (const char *part = name; length > 1; part += strspn(part, BETWEEN)) {
        size_t part_length = strcspn(part, BETWEEN);
        if (part_length == 0) {
            return false;
        }
        if (part_length == length && strncasecmp(part, word, length) == 0) {
            return true;
        }
        part += part_length;
    }
    return false;
}

/* The shortest candidate of which the word is a part; NULL: none. */
static const char *shortest_whole(const char *word, const char *const *candidates, size_t count) {
    const char *shortest = NULL;
    for (size_t i = 0; i < count; i++) {
        bool is_whole = candidates[i] != NULL && is_part(candidates[i], word);
        if (is_whole && (shortest == NULL || strlen(candidates[i]) < strlen(shortest))) {
            shortest = candidates[i];
        }
    }
    return shortest;
}

const char *ms_nearest_word(const char *word, const char *const *candidates, size_t count) {
    const char *nearest = shortest_whole(word, candidates, count);
    if (nearest != NULL) {
        return nearest;
    }
    size_t least = max_slips(word) + 1;
    for (size_t i = 0; i < count; i++) {
        if (candidates[i] != NULL) {
            size_t distance = edit_distance(word, candidates[i]);
            if (distance < least) {
                least = distance;
                nearest = candidates[i];
            }
        }
    }
    return nearest;
}

ms_hint ms_nearest_hint(const char *word, const char *const *candidates, size_t count) {
    const char *nearest = word == NULL ? NULL : ms_nearest_word(word, candidates, count);
    ms_hint hint = {""};
    if (nearest != NULL) {
        snprintf(hint.text, sizeof hint.text, "; did you mean '%.100s'?", nearest);
    }
    return hint;
}

void ms_diag_unknown(ms_diag *diag, const char *what, const char *word, const char *const *known,
                     size_t count) {
    ms_buffer list;
    ms_buffer_init(&list);
    for (size_t i = 0; i < count; i++) {
        ms_buffer_printf(&list, "%s%s", i == 0 ? "" : ", ", known[i]);
    }
    ms_diag_error(diag, "unknown %s '%s'%s (known: %s)", what, word,
                  ms_nearest_hint(word, known, count).text, ms_buffer_text(&list));
    ms_buffer_release(&list);
}
