/* Text to cells and back. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "meshsim/config.h"
#include "schedule/csv_table.h"

enum { SHOWN_CELL_MAX = 32, TYPE_MAX = 24 };

static const char *const OP_NAMES[MS_CSV_OP_COUNT] = {
    [MS_CSV_F] = "F",
    [MS_CSV_I] = "I",
    [MS_CSV_W] = "W",
    [MS_CSV_B] = "B",
    [MS_CSV_UNSHARD] = "UNSHARD",
    [MS_CSV_RESHARD] = "RESHARD",
    [MS_CSV_REDUCE_GRAD] = "REDUCE_GRAD",
    [MS_CSV_SEND_F] = "SEND_F",
    [MS_CSV_RECV_F] = "RECV_F",
    [MS_CSV_SEND_B] = "SEND_B",
    [MS_CSV_RECV_B] = "RECV_B",
    [MS_CSV_BLANK] = "",
};
static const char PAIR_END[] = ")OVERLAP_F_B";
static const char LEGACY_WHOLE[] = "BW";

const char *ms_csv_op_name(ms_csv_op op) {
    return OP_NAMES[op];
}

bool ms_csv_is_pass(const ms_csv_cell *cell) {
    return cell->op < MS_PASS_COUNT;
}

static bool has_mb(ms_csv_op op) {
    return op != MS_CSV_UNSHARD && op != MS_CSV_RESHARD && op != MS_CSV_REDUCE_GRAD;
}

/* Text from `from` to before `to`. */
typedef struct span {
    const char *from;
    const char *to;
} span;

static span trim(span text) {
    while (text.from < text.to && isspace((unsigned char)text.from[0])) {
        text.from++;
    }
    while (text.from < text.to && isspace((unsigned char)text.to[-1])) {
        text.to--;
    }
    return text;
}

/* Up to the next `end`, or the rest; `rest` goes behind the end, to NULL if there was none. */
static span take(span *rest, char end) {
    const char *found = memchr(rest->from, end, (size_t)(rest->to - rest->from));
    span taken = {rest->from, found == NULL ? rest->to : found};
    rest->from = found == NULL ? NULL : found + 1;
    return taken;
}

/* Where the `number`-th cell (from 0) of a row stands; the whole row if `number` is negative. */
static ms_mark mark_of(const ms_csv_table *table, int rank, long number) {
    ms_mark mark = {
        .file = table->name, .source = table->text, .source_B = table->length_B, .line = rank + 1};
    span rest = {table->text, table->text + table->length_B};
    span line = {0};
    for (int i = 0; i <= rank && rest.from != NULL; i++) {
        line = take(&rest, '\n');
    }
    const char *begin = line.from;
    span cell = {0};
    for (long i = 0; i <= number && line.from != NULL; i++) {
        cell = take(&line, ',');
    }
    if (number >= 0 && begin != NULL && cell.from != NULL) {
        cell = trim(cell);
        mark.column = (int)(cell.from - begin) + 1;
        mark.width = cell.to > cell.from ? (int)(cell.to - cell.from) : 1;
    }
    return mark;
}

ms_status ms_csv_fault(const ms_csv_table *table, int rank, size_t index, const char *what,
                       ms_diag *diag) {
    if (table->text == NULL) {
        ms_diag_error(diag, "rank %d: %s", rank, what);
        return MS_E_INPUT;
    }
    if (index == SIZE_MAX) {
        ms_mark mark = mark_of(table, rank, -1);
        ms_diag_at(diag, &mark, NULL, "rank %d: %s", rank, what);
        return MS_E_INPUT;
    }
    long number = 0;
    for (size_t i = table->first[rank]; i < index; i++) {
        number += table->cells[i].is_paired == 0;
    }
    ms_mark mark = mark_of(table, rank, number);
    ms_diag_at(diag, &mark, NULL, "rank %d, cell %ld: %s", rank, number + 1, what);
    return MS_E_INPUT;
}

/* ---- reading ---- */

typedef struct reader {
    ms_csv_table *table;
    ms_diag *diag;
    ms_vector cells; /* of ms_csv_cell */
    ms_vector rows;  /* of size_t: cells before each row */
    long number;     /* of the cell in its row, from 0 */
    size_t whole;    /* BW cells, and I cells: the dialect */
    size_t inputs;
    size_t weights;
} reader;

static void fault(reader *r, span text, const char *what) {
    if (r->diag->errors >= r->diag->limit) {
        r->diag->errors++; /* only counted, so its place need not be found */
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
static int64_t take_number(span *text, int64_t limit) {
    int64_t value = -1;
    while (text->from < text->to && isdigit((unsigned char)text->from[0])) {
        value = (value < 0 ? 0 : value) * 10 + (text->from[0] - '0');
        value = value > limit ? limit + 1 : value;
        text->from++;
    }
    return value > limit ? -2 : value;
}

static void report_type(reader *r, span text, const char *type) {
    const char *nearest = ms_nearest_word(type, OP_NAMES, MS_CSV_BLANK);
    char what[160];
    snprintf(what, sizeof what,
             "is no action; expected a stage, a type and a microbatch such as 2F0%s%s%s",
             nearest == NULL ? "" : "; did you mean the type '", nearest == NULL ? "" : nearest,
             nearest == NULL ? "" : "'?");
    fault(r, text, what);
}

/* One action, without the parentheses of a pair. */
static bool read_action(reader *r, span text, ms_csv_cell *cell) {
    span whole = text;
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
    while (op < MS_CSV_BLANK && strcmp(is_whole ? "B" : type, OP_NAMES[op]) != 0) {
        op++;
    }
    if (stage == -1 || op == MS_CSV_BLANK || text.from != text.to) {
        report_type(r, whole, type);
        return false;
    }
    if (stage == -2 || mb == -2) {
        fault(r, whole,
              stage == -2 ? "names a stage above the limit of 32766"
                          : "names a microbatch above the limit of 2147483646");
        return false;
    }
    if (has_mb((ms_csv_op)op) != (mb >= 0)) {
        fault(r, whole,
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

/* (<forward>;<backward>)OVERLAP_F_B. */
static void read_pair(reader *r, span text) {
    size_t end = sizeof PAIR_END - 1;
    size_t length = (size_t)(text.to - text.from);
    if (length < end + 1 || memcmp(text.to - end, PAIR_END, end) != 0) {
        fault(r, text, "is no pair; expected (2F4;1B0)OVERLAP_F_B");
        return;
    }
    span rest = {text.from + 1, text.to - end};
    span members[2];
    for (int i = 0; i < 2; i++) {
        if (rest.from == NULL) {
            fault(r, text, "has one member; a pair is one forward and one backward pass");
            return;
        }
        members[i] = take(&rest, ';');
    }
    if (rest.from != NULL) {
        fault(r, text, "has more than two members; a pair is one forward and one backward pass");
        return;
    }
    ms_csv_cell cells[2];
    if (!read_action(r, trim(members[0]), &cells[0]) ||
        !read_action(r, trim(members[1]), &cells[1])) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        if (!ms_csv_is_pass(&cells[i]) && cells[i].op != MS_CSV_OP_COUNT) {
            fault(r, text, "overlaps communication; a pair is one forward and one backward pass");
            return;
        }
    }
    cells[0].is_paired = 1;
    ms_vector_add(&r->cells, cells, 2);
}

static void read_cell(reader *r, span text) {
    ms_csv_cell cell = {.op = MS_CSV_BLANK, .stage = -1, .mb = -1};
    text = trim(text);
    if (text.from < text.to && text.from[0] == '(') {
        read_pair(r, text);
    } else if (text.from == text.to || read_action(r, text, &cell)) {
        ms_vector_add(&r->cells, &cell, 1);
    }
}

static void read_line(reader *r, span line) {
    ms_vector_add(&r->rows, &r->cells.count, 1);
    if (line.to > line.from && line.to[-1] == '\r') {
        line.to--;
    }
    r->number = 0;
    while (line.from != NULL && (r->number > 0 || line.from < line.to)) {
        read_cell(r, take(&line, ','));
        r->number++;
    }
}

/* Any BW, or W without I, says that B is the input gradient. */
static void settle_dialect(reader *r) {
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

static ms_status keep(reader *r, ms_arena *arena) {
    ms_csv_table *table = r->table;
    table->ranks = (int)r->rows.count;
    table->first = MS_NEW(arena, size_t, r->rows.count + 1);
    table->cells = MS_NEW(arena, ms_csv_cell, r->cells.count);
    if (r->rows.failed || r->cells.failed || table->first == NULL || table->cells == NULL) {
        ms_diag_error(r->diag, "out of memory");
        return MS_E_NOMEM;
    }
    memcpy(table->first, r->rows.data, r->rows.count * sizeof *table->first);
    table->first[r->rows.count] = r->cells.count;
    if (r->cells.count > 0) {
        memcpy(table->cells, r->cells.data, r->cells.count * sizeof *table->cells);
    }
    return MS_OK;
}

static ms_status read_text(reader *r, ms_arena *arena) {
    ms_csv_table *table = r->table;
    span rest = {table->text, table->text + table->length_B};
    if (rest.from == rest.to) {
        ms_mark mark = {.file = table->name};
        ms_diag_at(r->diag, &mark, NULL, "expected one line per pipeline rank, got an empty file");
        return MS_E_INPUT;
    }
    const char *end = memchr(rest.from, '\n', table->length_B);
    table->has_crlf = end != NULL && end > rest.from && end[-1] == '\r';
    table->has_last_end = rest.to[-1] == '\n';
    int errors = r->diag->errors;
    while (rest.from != NULL && rest.from < rest.to) {
        read_line(r, take(&rest, '\n'));
    }
    if (r->whole > 0 && r->inputs > 0) {
        ms_mark mark = {.file = table->name};
        ms_diag_at(r->diag, &mark, NULL,
                   "mixes the types I and BW; expected I, W and B, or B, W and BW (legacy)");
    }
    settle_dialect(r);
    return r->diag->errors > errors ? MS_E_INPUT : keep(r, arena);
}

ms_status ms_csv_read(const char *text, size_t length_B, const char *name, ms_arena *arena,
                      ms_diag *diag, ms_csv_table *table_out) {
    ms_csv_table table = {.name = name, .text = text, .length_B = length_B};
    reader r = {.table = &table, .diag = diag};
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

ms_status ms_csv_load(const char *path, ms_arena *arena, ms_diag *diag, ms_csv_table *table_out) {
    ms_buffer bytes;
    ms_buffer_init(&bytes);
    const char *text = NULL;
    ms_status status = ms_file_read(path, &bytes, diag);
    if (status == MS_OK) {
        text = ms_arena_strndup(arena, ms_buffer_text(&bytes), bytes.length);
        status = text == NULL ? MS_E_NOMEM : MS_OK;
    }
    size_t length_B = bytes.length;
    ms_buffer_release(&bytes);
    if (status == MS_E_NOMEM) {
        ms_diag_error(diag, "out of memory while reading '%s'", path);
    }
    if (status == MS_OK) {
        status = ms_csv_read(text, length_B, path, arena, diag, table_out);
    }
    return status;
}

/* ---- writing ---- */

void ms_csv_put_cell(const ms_csv_table *table, const ms_csv_cell *cell, ms_buffer *out) {
    if (cell->op == MS_CSV_BLANK) {
        return;
    }
    const char *type = OP_NAMES[cell->op];
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

void ms_csv_write(const ms_csv_table *table, ms_buffer *out) {
    for (int rank = 0; rank < table->ranks; rank++) {
        bool is_second = false;
        for (size_t i = table->first[rank]; i < table->first[rank + 1]; i++) {
            const ms_csv_cell *cell = &table->cells[i];
            if (i > table->first[rank]) {
                ms_buffer_puts(out, is_second ? ";" : ",");
            }
            ms_buffer_puts(out, cell->is_paired != 0 ? "(" : "");
            ms_csv_put_cell(table, cell, out);
            ms_buffer_puts(out, is_second ? PAIR_END : "");
            is_second = cell->is_paired != 0;
        }
        if (rank + 1 < table->ranks || table->has_last_end) {
            ms_buffer_puts(out, table->has_crlf ? "\r\n" : "\n");
        }
    }
}
