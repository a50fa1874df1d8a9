/* Reads and writes schedule files in PyTorch's CSV format (schedule_csv.h): text to a table of
 * cells and back, one line per rank. Two dialects differ in the names of backward passes. The
 * current one has I (input gradient), W (weight gradient) and B (both); the legacy one of 2024 has
 * B, W and BW for the same. Which of them a file is in is known only at its end. Also locates
 * faults in the file (ms_csv_fault). */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/config/config.h"
#include "base/config/csv_cells.h"
#include "schedule/csv/table.h"

/* SHOWN_CELL_MAX: characters of a faulty cell that a message shows. TYPE_MAX: longest type read,
 * with its end. GUESSED_MIN: shorter types get no "did you mean", as they are equally close to
 * several names. CELLS_MAX: 1e8 cells take 0.8 GB; a schedule of MS_ACTIONS_MAX passes may have as
 * many idle steps again. */
enum { SHOWN_CELL_MAX = 32, TYPE_MAX = 24, GUESSED_MIN = 4, CELLS_MAX = 2 * MS_ACTIONS_MAX };

/* Names of the operations that are no passes. */
static const char *const OP_NAMES[MS_CSV_OP_COUNT] = {
    [MS_CSV_UNSHARD] = "UNSHARD",         [MS_CSV_RESHARD] = "RESHARD",
    [MS_CSV_REDUCE_GRAD] = "REDUCE_GRAD", [MS_CSV_SEND_F] = "SEND_F",
    [MS_CSV_RECV_F] = "RECV_F",           [MS_CSV_SEND_B] = "SEND_B",
    [MS_CSV_RECV_B] = "RECV_B",           [MS_CSV_BLANK] = "",
};
static const char PAIR_END[] = ")OVERLAP_F_B";
static const char LEGACY_WHOLE[] = "BW"; /* the whole backward pass in the legacy dialect */

const char *ms_csv_op_name(ms_csv_op op) {
    return (int)op < MS_PASS_COUNT ? ms_pass_name((ms_pass)op) : OP_NAMES[op];
}

bool ms_csv_is_pass(const ms_csv_cell *cell) {
    return cell->op < MS_PASS_COUNT;
}

/* Whether a cell of this operation names a microbatch; operations on parameters do not. */
static bool has_mb(ms_csv_op op) {
    return op != MS_CSV_UNSHARD && op != MS_CSV_RESHARD && op != MS_CSV_REDUCE_GRAD;
}

/* Split off the part of a text up to the next character `end`, or all of the text if it has none.
 * *rest: the text; becomes the text behind `end`, or gets NULL as its start. */
static ms_span split_off(ms_span *rest, char end) {
    const char *found = memchr(rest->from, end, (size_t)(rest->to - rest->from));
    ms_span taken = {rest->from, found == NULL ? rest->to : found};
    rest->from = found == NULL ? NULL : found + 1;
    return taken;
}

/* Locate a cell in the file, for a message: line, column and width. number: of the cell in its
 * line, from 0; negative: the line as a whole. Reads the text again from its start, as tables keep
 * no columns. */
static ms_mark mark_of(const ms_csv_table *table, int rank, long number) {
    ms_span body = ms_cells_body(table->text, table->length_B);
    ms_mark mark = {.file = table->name,
                    .source = body.from,
                    .source_B = (size_t)(body.to - body.from),
                    .line = rank + 1};
    ms_span line = {0};
    for (int i = 0; i <= rank && ms_cells_next_line(&body, &line); i++) {
    }
    const char *begin = line.from;
    ms_cell cell;
    bool exists = false;
    for (long i = 0; i <= number; i++) {
        exists = ms_cells_next(&line, &cell);
    }
    if (exists) {
        mark.column = (int)(cell.span.from - begin) + 1;
        mark.width = cell.span.to > cell.span.from ? (int)(cell.span.to - cell.span.from) : 1;
    }
    return mark;
}

/* Number of a cell in its line, from 1. An overlapped pair is two entries of the table and one
 * cell. */
long ms_csv_cell_number(const ms_csv_table *table, int rank, size_t index) {
    long number = 1;
    for (size_t i = table->first[rank]; i < index; i++) {
        number += table->cells[i].is_paired == 0;
    }
    return number;
}

/* Report a fault of a cell, or of a line (index SIZE_MAX), at its place in the file. Tables that a
 * program made have no text to point at, so only the rank is reported. */
ms_status ms_csv_fault(const ms_csv_table *table, int rank, size_t index, ms_diag *diag,
                       const char *format, ...) {
    char what[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (table->text == NULL) {
        return ms_diag_error(diag, "rank %d: %s", rank, what);
    }
    if (index == SIZE_MAX) {
        ms_mark mark = mark_of(table, rank, -1);
        return ms_diag_at(diag, &mark, NULL, "rank %d: %s", rank, what);
    }
    long number = ms_csv_cell_number(table, rank, index);
    ms_mark mark = mark_of(table, rank, number - 1);
    return ms_diag_at(diag, &mark, NULL, "rank %d, cell %ld: %s", rank, number, what);
}

/* ---- reading ---- */

/* A file being read. */
typedef struct cell_reader {
    ms_csv_table *table;
    ms_diag *diag;
    ms_vector cells; /* of ms_csv_cell */
    ms_vector rows;  /* of size_t: cells before each row */
    long number;     /* of the current cell in its line, from 0 */
    size_t whole;    /* numbers of BW, I and W cells, which tell the dialect */
    size_t inputs;
    size_t weights;
} cell_reader;

/* Whether so many faults have been printed that the next one is only counted. Its text and place,
 * which take time to find, are then not needed. */
static bool is_only_counted(const cell_reader *r) {
    return r->diag->errors >= r->diag->limit;
}

/* Report a fault of the current cell. text: the part of the cell to show; unprintable characters
 * become '?', and a long text is cut. what: the second half of the message. */
static void report_fault(cell_reader *r, ms_span text, const char *what) {
    if (is_only_counted(r)) {
        r->diag->errors++;
        return;
    }
    char shown[SHOWN_CELL_MAX + 4];
    size_t length = (size_t)(text.to - text.from);
    size_t count = length > SHOWN_CELL_MAX ? SHOWN_CELL_MAX : length;
    for (size_t i = 0; i < count; i++) {
        shown[i] = isprint((unsigned char)text.from[i]) ? text.from[i] : '?';
    }
    snprintf(shown + count, sizeof shown - count, "%s", length > SHOWN_CELL_MAX ? "..." : "");
    int rank = (int)r->rows.count - 1;
    ms_mark mark = mark_of(r->table, rank, r->number);
    ms_diag_at(r->diag, &mark, NULL, "rank %d, cell %ld: '%s' %s", rank, r->number + 1, shown,
               what);
}

/* Digits at the start of `text`; -1 if there are none, -2 if the number exceeds `limit`. */
static int64_t take_number(ms_span *text, int64_t limit) {
    int64_t value = -1;
    while (text->from < text->to && isdigit((unsigned char)text->from[0])) {
        value = (value < 0 ? 0 : value) * 10 + (text->from[0] - '0');
        value = value > limit ? limit + 1 : value;
        text->from++;
    }
    return value > limit ? -2 : value;
}

/* The operation name that a mistyped type most likely means: the same in other letter case, or a
 * name that differs little. NULL: no good guess, or the type is right and something else is wrong.
 */
static const char *find_meant(const char *type) {
    for (int op = 0; op < MS_CSV_BLANK; op++) {
        const char *name = ms_csv_op_name((ms_csv_op)op);
        if (strcasecmp(type, name) == 0) {
            return strcmp(type, name) == 0 ? NULL : name;
        }
    }
    return strlen(type) < GUESSED_MIN ? NULL : ms_nearest_word(type, OP_NAMES, MS_CSV_BLANK);
}

/* Report a cell that is no action, with a guess at the type that was meant. */
static void report_type(cell_reader *r, ms_span text, const char *type) {
    char what[160] = "";
    if (!is_only_counted(r)) {
        const char *meant = find_meant(type);
        snprintf(what, sizeof what,
                 "is no action; expected a stage, a type and a microbatch such as 2F0%s%s%s",
                 meant == NULL ? "" : "; did you mean the type '", meant == NULL ? "" : meant,
                 meant == NULL ? "" : "'?");
    }
    report_fault(r, text, what);
}

/* Read one action `<stage><type><microbatch>`, without the parentheses of a pair. *cell: the
 * action; its operation is MS_CSV_OP_COUNT for BW. Returns false, with a fault reported, if the
 * text is no valid action. */
static bool read_action(cell_reader *r, ms_span text, ms_csv_cell *cell) {
    ms_span whole = text;
    int64_t stage = take_number(&text, MS_STAGES_MAX - 1);
    char type[TYPE_MAX] = "";
    size_t length = 0;
    while (text.from < text.to && (isalpha((unsigned char)text.from[0]) || text.from[0] == '_') &&
           length + 1 < sizeof type) {
        type[length++] = *text.from++;
    }
    int64_t mb = take_number(&text, INT32_MAX - 1);
    int op = 0;
    bool is_whole = strcmp(type, LEGACY_WHOLE) == 0;
    while (op < MS_CSV_BLANK && strcmp(is_whole ? "B" : type, ms_csv_op_name((ms_csv_op)op)) != 0) {
        op++;
    }
    if (stage == -1 || op == MS_CSV_BLANK || text.from != text.to) {
        report_type(r, whole, type);
        return false;
    }
    if (stage == -2 || mb == -2) {
        report_fault(r, whole,
                     stage == -2 ? "names a stage above the limit of 32766"
                                 : "names a microbatch above the limit of 2147483646");
        return false;
    }
    if (has_mb((ms_csv_op)op) != (mb >= 0)) {
        report_fault(r, whole,
                     mb >= 0 ? "has a microbatch, and its type takes none"
                             : "has no microbatch, and its type needs one");
        return false;
    }
    r->whole += is_whole;
    r->inputs += op == MS_CSV_I;
    r->weights += op == MS_CSV_W;
    r->table->has_comms = r->table->has_comms || op >= MS_PASS_COUNT;
    /* until the dialect is known, MS_CSV_OP_COUNT stands for BW */
    *cell = (ms_csv_cell){.op = (uint8_t)(is_whole ? MS_CSV_OP_COUNT : op),
                          .stage = (int16_t)stage,
                          .mb = (int32_t)mb};
    return true;
}

/* Read an overlapped pair, `(<action>;<action>)OVERLAP_F_B`, and append its two cells. Whether
 * these are a forward and a backward pass is checked later, with the program. */
static void read_pair(cell_reader *r, ms_span text) {
    size_t end = sizeof PAIR_END - 1;
    size_t length = (size_t)(text.to - text.from);
    if (length < end + 1 || memcmp(text.to - end, PAIR_END, end) != 0) {
        report_fault(r, text, "is no pair; expected (2F4;1B0)OVERLAP_F_B");
        return;
    }
    ms_span rest = {text.from + 1, text.to - end};
    ms_span members[2];
    for (int i = 0; i < 2; i++) {
        if (rest.from == NULL) {
            report_fault(r, text, "has one member; a pair is one forward and one backward pass");
            return;
        }
        members[i] = split_off(&rest, ';');
    }
    if (rest.from != NULL) {
        report_fault(r, text,
                     "has more than two members; a pair is one forward and one backward pass");
        return;
    }
    ms_csv_cell cells[2];
    if (!read_action(r, ms_span_trim(members[0]), &cells[0]) ||
        !read_action(r, ms_span_trim(members[1]), &cells[1])) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        if (!ms_csv_is_pass(&cells[i]) && cells[i].op != MS_CSV_OP_COUNT) {
            report_fault(r, text,
                         "overlaps communication; a pair is one forward and one backward pass");
            return;
        }
    }
    cells[0].is_paired = 1;
    ms_vector_add(&r->cells, cells, 2);
}

/* Read one cell of a line: empty, an action or an overlapped pair. Appends nothing if it has a
 * fault. */
static void read_cell(cell_reader *r, const ms_cell *read) {
    ms_csv_cell cell = {.op = MS_CSV_BLANK, .stage = -1, .mb = -1};
    ms_span text = read->text;
    if (read->fault != NULL) {
        report_fault(r, read->span, read->fault);
    } else if (text.from < text.to && text.from[0] == '(') {
        read_pair(r, text);
    } else if (text.from == text.to || read_action(r, text, &cell)) {
        ms_vector_add(&r->cells, &cell, 1);
    }
}

/* Check the numbers of lines and cells read so far against the limits, before more memory is used.
 * Returns false after reporting an excess. */
static bool is_within_limits(cell_reader *r) {
    const char *what = r->rows.count > MS_STAGES_MAX ? "lines" : "cells";
    int limit = r->rows.count > MS_STAGES_MAX ? MS_STAGES_MAX : CELLS_MAX;
    if (r->rows.count <= MS_STAGES_MAX && r->cells.count <= CELLS_MAX) {
        return true;
    }
    ms_mark mark = {.file = r->table->name, .line = (int)r->rows.count};
    ms_diag_at(r->diag, &mark, NULL, "the file has more %s than the limit of %d", what, limit);
    return false;
}

/* Read the cells of one line. Returns false if reading cannot go on: over the limits, or out of
 * memory. */
static bool read_line(cell_reader *r, ms_span line) {
    ms_vector_add(&r->rows, &r->cells.count, 1);
    r->number = 0;
    ms_cell cell;
    while (is_within_limits(r) && !r->cells.failed) {
        if (!ms_cells_next(&line, &cell)) {
            return true;
        }
        read_cell(r, &cell);
        r->number++;
    }
    return false;
}

/* Find the dialect, and replace the operations of the legacy one by those of the current one. A
 * file is legacy if it has BW, or if it has weight gradients W without I: then its B can only be
 * the input gradient. */
static void resolve_dialect(cell_reader *r) {
    ms_csv_table *table = r->table;
    table->is_legacy = r->whole > 0 || (r->weights > 0 && r->inputs == 0);
    ms_csv_cell *cells = r->cells.data;
    for (size_t i = 0; i < r->cells.count; i++) {
        if (cells[i].op == MS_CSV_OP_COUNT) {
            cells[i].op = MS_CSV_B;
        } else if (cells[i].op == MS_CSV_B && table->is_legacy) {
            cells[i].op = MS_CSV_I;
        }
    }
}

/* Move the cells read into the table, in `arena`. */
static ms_status move_to_table(cell_reader *r, ms_arena *arena) {
    ms_csv_table *table = r->table;
    table->ranks = (int)r->rows.count;
    ms_vector_add(&r->rows, &r->cells.count, 1); /* first[ranks], the number of cells */
    table->first = ms_vector_keep(&r->rows, arena);
    table->cells = ms_vector_keep(&r->cells, arena);
    bool has_all = table->first != NULL && table->cells != NULL;
    return has_all ? MS_OK : ms_diag_no_memory(r->diag);
}

/* Read all lines of the table's text and fill in its cells. Returns MS_E_INPUT if any fault was
 * reported. */
static ms_status read_text(cell_reader *r, ms_arena *arena) {
    const ms_csv_table *table = r->table;
    ms_span body = ms_cells_body(table->text, table->length_B);
    ms_mark whole = {.file = table->name};
    if (body.from == body.to) {
        return ms_diag_at(r->diag, &whole, NULL,
                          "expected one line per pipeline rank, got an empty file");
    }
    int errors = r->diag->errors;
    ms_span line;
    while (ms_cells_next_line(&body, &line) && read_line(r, line)) {
    }
    if (r->whole > 0 && r->inputs > 0) {
        ms_diag_at(r->diag, &whole, NULL,
                   "mixes the types I and BW; expected I, W and B, or B, W and BW (legacy)");
    }
    resolve_dialect(r);
    return r->diag->errors > errors ? MS_E_INPUT : move_to_table(r, arena);
}

/* Read the text of a schedule file into a table of cells. */
ms_status ms_csv_read(const char *text, size_t length_B, const char *name, ms_arena *arena,
                      ms_diag *diag, ms_csv_table *table_out) {
    ms_csv_table table = {.name = name, .text = text, .length_B = length_B};
    cell_reader r = {.table = &table, .diag = diag};
    ms_vector_init(&r.cells, sizeof(ms_csv_cell));
    ms_vector_init(&r.rows, sizeof(size_t));
    ms_status status = read_text(&r, arena);
    ms_vector_release(&r.cells);
    ms_vector_release(&r.rows);
    if (status == MS_OK) {
        *table_out = table;
    }
    return status;
}

/* Read a schedule file by its path. The table keeps pointers into the text, so the text is copied
 * to the arena. */
ms_status ms_csv_load(const char *path, ms_arena *arena, ms_diag *diag, ms_csv_table *table_out) {
    ms_buffer bytes;
    ms_buffer_init(&bytes);
    const char *text = NULL;
    ms_status status = ms_file_read(path, MS_FILE_CSV, &bytes, diag);
    if (status == MS_OK) {
        text = ms_arena_strndup(arena, ms_buffer_text(&bytes), bytes.length);
        status = text == NULL ? MS_E_NOMEM : MS_OK;
    }
    size_t length_B = bytes.length;
    ms_buffer_release(&bytes);
    if (status == MS_E_NOMEM) {
        ms_diag_error(diag, "out of memory while reading '%s'", path);
    }
    status = status == MS_OK ? ms_csv_read(text, length_B, path, arena, diag, table_out) : status;
    return status;
}

/* ---- writing ---- */

/* Append the text of one cell, in the dialect of the table. */
static void put_cell(const ms_csv_table *table, const ms_csv_cell *cell, ms_buffer *out) {
    const char *type = ms_csv_op_name(cell->op);
    if (table->is_legacy && cell->op == MS_CSV_B) {
        type = LEGACY_WHOLE;
    } else if (table->is_legacy && cell->op == MS_CSV_I) {
        type = "B";
    }
    ms_buffer_printf(out, "%d%s", cell->stage, type);
    if (cell->mb >= 0) {
        ms_buffer_printf(out, "%d", cell->mb);
    }
}

/* Append a table as the text of a schedule file. A table that was read is written as its text,
 * which keeps blanks and quotes; any other table is written cell by cell. */
void ms_csv_write(const ms_csv_table *table, ms_buffer *out) {
    if (table->text != NULL) {
        ms_buffer_add(out, table->text, table->length_B);
        return;
    }
    for (int rank = 0; rank < table->ranks; rank++) {
        bool is_second = false;
        for (size_t i = table->first[rank]; i < table->first[rank + 1]; i++) {
            const ms_csv_cell *cell = &table->cells[i];
            if (i > table->first[rank]) {
                ms_buffer_puts(out, is_second ? ";" : ",");
            }
            ms_buffer_puts(out, cell->is_paired != 0 ? "(" : "");
            put_cell(table, cell, out);
            ms_buffer_puts(out, is_second ? PAIR_END : "");
            is_second = cell->is_paired != 0;
        }
        ms_buffer_puts(out, "\n");
    }
}
