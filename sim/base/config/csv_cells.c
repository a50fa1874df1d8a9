/* Splits CSV texts into lines and cells (csv_cells.h), for files of placements, measured kernels
 * and schedules. Lines and cells are spans of the text; nothing is copied. */
#include "base/config/csv_cells.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char MARK[] = "\xEF\xBB\xBF"; /* byte order mark of UTF-8 */

ms_span ms_cells_body(const char *text, size_t length_B) {
    size_t skipped = sizeof MARK - 1;
    bool has_mark = length_B >= skipped && memcmp(text, MARK, skipped) == 0;
    return (ms_span){has_mark ? text + skipped : text, text + length_B};
}

ms_span ms_span_trim(ms_span text) {
    while (text.from < text.to && isspace((unsigned char)text.from[0])) {
        text.from++;
    }
    while (text.from < text.to && isspace((unsigned char)text.to[-1])) {
        text.to--;
    }
    return text;
}

/* The first character `what` in a text; NULL: the text lacks it. */
static const char *find(const char *from, const char *to, char what) {
    return from < to ? memchr(from, what, (size_t)(to - from)) : NULL;
}

/* Split the body at its next line feed, and take a carriage return off the line. */
bool ms_cells_next_line(ms_span *body, ms_span *line_out) {
    if (body->from == body->to) {
        return false;
    }
    const char *feed = find(body->from, body->to, '\n');
    ms_span line = {body->from, feed == NULL ? body->to : feed};
    body->from = feed == NULL ? body->to : feed + 1;
    if (line.to > line.from && line.to[-1] == '\r') {
        line.to--;
    }
    if (line.from == line.to) {
        line.from = NULL; /* an empty line has no cell, see ms_cells_next */
    }
    *line_out = line;
    return true;
}

/* The quote that ends a quoted cell; NULL if there is none. Doubled quotes belong to the cell.  at:
 * behind the opening quote. */
static const char *find_closing(const char *at, const char *to) {
    const char *quote = find(at, to, '"');
    while (quote != NULL && quote + 1 < to && quote[1] == '"') {
        quote = find(quote + 2, to, '"');
    }
    return quote;
}

/* line->from is NULL where no further cell follows; a line that ends in a comma leaves an empty
 * span that is not NULL, so that its last, empty cell is found. */
bool ms_cells_next(ms_span *line, ms_cell *cell_out) {
    if (line->from == NULL) {
        return false;
    }
    const char *at = line->from;
    while (at < line->to && (*at == ' ' || *at == '\t')) {
        at++;
    }
    bool is_quoted = at < line->to && *at == '"';
    const char *closing = is_quoted ? find_closing(at + 1, line->to) : NULL;
    /* the comma that ends the cell; a quote that does not close takes in the rest of the line */
    const char *comma =
        is_quoted && closing == NULL ? NULL : find(is_quoted ? closing : line->from, line->to, ',');
    ms_span whole = {line->from, comma == NULL ? line->to : comma};
    ms_cell cell = {.span = ms_span_trim(whole), .text = ms_span_trim(whole)};
    if (is_quoted && closing == NULL) {
        cell.fault = "has a quote that does not close on its line";
    } else if (is_quoted && cell.span.to != closing + 1) {
        cell.fault = "has more behind its closing quote";
    } else if (is_quoted) {
        cell.text = ms_span_trim((ms_span){at + 1, closing});
    }
    line->from = comma == NULL ? NULL : comma + 1;
    *cell_out = cell;
    return true;
}

void ms_csv_file_begin(ms_csv_file *file, const char *text, size_t length_B) {
    file->body = file->rest = ms_cells_body(text, length_B);
    if (memchr(file->body.from, '\0', (size_t)(file->body.to - file->body.from)) != NULL) {
        ms_csv_file_fault(file, NULL, "holds a NUL character, which is no text");
        file->rest.from = file->rest.to;
    }
}

void ms_csv_file_fault(ms_csv_file *file, const ms_cell *cell, const char *format, ...) {
    char what[512];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    ms_mark mark = {.file = file->path,
                    .source = file->body.from,
                    .source_B = (size_t)(file->body.to - file->body.from),
                    .line = file->line};
    if (cell != NULL) {
        const char *start = cell->span.from;
        while (start > file->body.from && start[-1] != '\n') {
            start--;
        }
        size_t width = (size_t)(cell->span.to - cell->span.from);
        mark.column = (int)(cell->span.from - start) + 1;
        mark.width = width == 0 ? 1 : (int)width;
    }
    file->status = ms_diag_at(file->diag, &mark, NULL, "%s", what);
}

/* Blank lines and lines that begin with '#' are skipped. A line with more than `most` cells gives
 * most + 1, so that the caller can tell. */
int ms_csv_file_next(ms_csv_file *file, ms_cell *cells, int most) {
    ms_span line;
    while (ms_cells_next_line(&file->rest, &line)) {
        file->line++;
        ms_span text = line.from != NULL ? ms_span_trim(line) : (ms_span){NULL, NULL};
        if (text.from == text.to || text.from[0] == '#') {
            continue;
        }
        int count = 0;
        memset(cells, 0, (size_t)(most + 1) * sizeof *cells);
        while (count <= most && ms_cells_next(&line, &cells[count])) {
            count++;
        }
        return count;
    }
    return 0;
}
