/* Reads times per pipeline stage from a CSV file, for schedules on paper (schedules.h): a header
 * line with the names of the columns, then one line per stage. All faults of the file are reported,
 * each with its line and column. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config/config.h"
#include "base/config/csv_cells.h"
#include "search/schedules.h"

/* Columns that a file may have, in any order; P2P is the latency of a message to the next stage. */
enum { COLUMNS_MAX = 16, STAGE = 0, FORWARD, INPUT_GRADIENT, WEIGHT_GRADIENT, P2P, NAMES };

static const char *const NAME[NAMES] = {"stage", "forward", "input_gradient", "weight_gradient",
                                        "p2p"};

/* The state of reading a file, `p` in this file. */
typedef struct profile {
    ms_arena *arena;
    ms_diag *diag;
    const char *path;
    ms_span body;             /* the whole text */
    int line;                 /* that is read, from 1; 0: the file as a whole */
    const char *line_start;   /* of that line */
    int columns[COLUMNS_MAX]; /* [column_count] what each column of the file is: STAGE and so on */
    int column_count;
    bool has_stages;       /* a column says which stage a line is of */
    int stages;            /* that the schedule has */
    int read;              /* lines of stages so far */
    bool *is_given;        /* [stages] */
    double *values[NAMES]; /* [stages] each */
} profile;

/* Report a fault of a cell; of the whole line if `cell` is NULL; of the file if p->line is 0. */
__attribute__((format(printf, 3, 4))) static void fault(const profile *p, const ms_cell *cell,
                                                        const char *format, ...) {
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    ms_mark mark = {.file = p->path,
                    .source = p->body.from,
                    .source_B = (size_t)(p->body.to - p->body.from),
                    .line = p->line};
    if (cell != NULL) {
        size_t width = (size_t)(cell->span.to - cell->span.from);
        mark.column = (int)(cell->span.from - p->line_start) + 1;
        mark.width = width == 0 ? 1 : (int)width;
    }
    ms_diag_at(p->diag, &mark, NULL, "%s", what);
}

/* Copy the text of a cell. word: [size] bytes, NUL-terminated; a longer text is cut. */
static void copy_word(const ms_cell *cell, char *word, size_t size) {
    size_t length = (size_t)(cell->text.to - cell->text.from);
    length = length < size ? length : size - 1;
    memcpy(word, cell->text.from, length);
    word[length] = '\0';
}

/* Read the name of a column. seen: bit i is set if the column i of NAME was read before;
 * updated. */
static void read_name(profile *p, const ms_cell *cell, unsigned *seen) {
    char word[64];
    copy_word(cell, word, sizeof word);
    int column = 0;
    while (column < NAMES && strcmp(word, NAME[column]) != 0) {
        column++;
    }
    if (column < NAMES && (*seen & (1U << column)) == 0 && p->column_count < COLUMNS_MAX) {
        *seen |= 1U << column;
        p->columns[p->column_count++] = column;
        return;
    }
    fault(p, cell, "'%s' is no column that can stand here%s", word,
          ms_nearest_hint(word, NAME, NAMES).text);
}

/* Read the header line. Faults are reported; the caller counts them. */
static void read_header(profile *p, ms_span line) {
    unsigned seen = 0;
    ms_cell cell;
    while (ms_cells_next(&line, &cell)) {
        if (cell.fault == NULL) {
            read_name(p, &cell, &seen);
        } else {
            fault(p, &cell, "the cell %s", cell.fault);
        }
    }
    p->has_stages = (seen & (1U << STAGE)) != 0;
    for (int column = FORWARD; column <= WEIGHT_GRADIENT; column++) {
        if ((seen & (1U << column)) == 0) {
            fault(p, NULL, "column '%s' is missing", NAME[column]);
        }
    }
}

/* Read a number from 0 to MS_SCHEDULE_COST_MAX. Returns false (reported) for anything else. */
static bool read_number(const profile *p, const ms_cell *cell, double *out) {
    char word[64];
    copy_word(cell, word, sizeof word);
    char *end = NULL;
    double value = strtod(word, &end); /* also reads hexadecimal, "inf" and "nan" */
    bool is_number = word[0] != '\0' && *end == '\0' && isfinite(value) && value >= 0 &&
                     strspn(word, "+-.0123456789eE") == strlen(word);
    if (!is_number || value > MS_SCHEDULE_COST_MAX) {
        fault(p, cell, "expected a number from 0 to %g, got '%s'", MS_SCHEDULE_COST_MAX, word);
        return false;
    }
    *out = value;
    return true;
}

/* The stage of a line: the number in its column `stage`; without such a column the number of lines
 * before. cells: [column_count]. Returns -1 (reported) for a stage that does not exist or was read
 * before. */
static int read_stage(const profile *p, const ms_cell *cells) {
    if (!p->has_stages) {
        return p->read;
    }
    const ms_cell *cell = cells;
    for (int i = 0; p->columns[i] != STAGE; i++) {
        cell++;
    }
    double stage = 0;
    if (!read_number(p, cell, &stage)) {
        return -1;
    }
    if (stage != floor(stage) || stage >= p->stages) {
        fault(p, cell, "expected a stage from 0 to %d", p->stages - 1);
        return -1;
    }
    if (p->is_given[(int)stage]) {
        fault(p, cell, "stage %d stands twice", (int)stage);
        return -1;
    }
    return (int)stage;
}

/* Check the p2p cell of the last stage, which has no next stage: it must be empty or 0. */
static void read_last_p2p(const profile *p, const ms_cell *cell) {
    double value = 0;
    if (cell->text.from != cell->text.to && read_number(p, cell, &value) && value != 0) {
        fault(p, cell,
              "stage %d is the last one and has no boundary behind it; leave its p2p empty",
              p->stages - 1);
    }
}

/* Split a line into as many cells as the header has columns. Returns false (reported) for another
 * number of cells, or for faulty quotes. */
static bool split_line(const profile *p, ms_span line, ms_cell cells[COLUMNS_MAX]) {
    int count = 0;
    ms_cell cell;
    for (; ms_cells_next(&line, &cell); count++) {
        if (count == p->column_count) {
            fault(p, &cell, "the header has %d columns, and this is one more", p->column_count);
            return false;
        }
        if (cell.fault != NULL) {
            fault(p, &cell, "the cell %s", cell.fault);
            return false;
        }
        cells[count] = cell;
    }
    if (count < p->column_count) {
        fault(p, NULL, "expected %d columns, got %d", p->column_count, count);
    }
    return count == p->column_count;
}

/* Read the times of one stage from a line. Faults are reported; the caller counts them. */
static void read_times(profile *p, ms_span line) {
    ms_cell cells[COLUMNS_MAX];
    if (!p->has_stages && p->read >= p->stages) {
        fault(p, NULL, "the schedule has %d stages, and this line is one more", p->stages);
        p->read++;
        return;
    }
    int stage = split_line(p, line, cells) ? read_stage(p, cells) : -1;
    p->read++;
    if (stage < 0) {
        return;
    }
    p->is_given[stage] = true;
    for (int i = 0; i < p->column_count; i++) {
        if (p->columns[i] == P2P && stage == p->stages - 1) {
            read_last_p2p(p, &cells[i]);
        } else if (p->columns[i] != STAGE) {
            read_number(p, &cells[i], &p->values[p->columns[i]][stage]);
        }
    }
}

/* Whether no cell of a line has anything in it. Spreadsheets write lines of commas alone. A cell of
 * two quotes is not empty. */
static bool is_empty(ms_span line) {
    ms_cell cell;
    while (ms_cells_next(&line, &cell)) {
        if (cell.span.from != cell.span.to) {
            return false;
        }
    }
    return true;
}

/* Report stages without a line. */
static void check_complete(profile *p) {
    p->line = 0;
    if (!p->has_stages && p->read < p->stages) {
        fault(p, NULL, "expected a header and %d stages, got %d", p->stages, p->read);
    }
    for (int stage = 0; p->has_stages && stage < p->stages; stage++) {
        if (!p->is_given[stage]) {
            fault(p, NULL, "stage %d is missing", stage);
        }
    }
}

/* Read the header and all lines of stages. Returns MS_OK; MS_E_INPUT after reporting every
 * fault. */
static ms_status read_lines(profile *p) {
    int errors = p->diag->errors;
    ms_span rest = p->body;
    ms_span line;
    bool has_header = false;
    while (ms_cells_next_line(&rest, &line)) {
        p->line++;
        p->line_start = line.from;
        if (is_empty(line)) {
            continue;
        }
        if (has_header) {
            read_times(p, line);
            continue;
        }
        has_header = true;
        read_header(p, line);
        if (p->diag->errors > errors) {
            return MS_E_INPUT; /* without columns the numbers have no meaning */
        }
    }
    if (p->diag->errors == errors) {
        check_complete(p);
    }
    return p->diag->errors > errors ? MS_E_INPUT : MS_OK;
}

/* Read the file into p->body. Returns MS_OK; as ms_file_read; MS_E_NOMEM (reported). */
static ms_status read_text(profile *p) {
    ms_buffer text;
    ms_buffer_init(&text);
    ms_status status = ms_file_read(p->path, MS_FILE_CSV, &text, p->diag);
    if (status == MS_OK) {
        const char *copy = ms_arena_strndup(p->arena, ms_buffer_text(&text), text.length);
        status = copy == NULL ? MS_E_NOMEM : MS_OK;
        p->body = ms_cells_body(copy == NULL ? "" : copy, copy == NULL ? 0 : text.length);
    }
    ms_buffer_release(&text);
    return status == MS_E_NOMEM ? ms_diag_no_memory(p->diag) : status;
}

/* The lists of columns that the file lacks stay 0. */
ms_status ms_stage_times_read(const char *path, int stages, ms_arena *arena, ms_diag *diag,
                              ms_schedule_costs *costs_out) {
    profile p = {.arena = arena,
                 .diag = diag,
                 .path = path,
                 .stages = stages,
                 .is_given = MS_NEW(arena, bool, stages)};
    bool has_failed = p.is_given == NULL;
    for (int column = 0; column < NAMES; column++) {
        p.values[column] = MS_NEW(arena, double, stages);
        has_failed = has_failed || p.values[column] == NULL;
    }
    if (has_failed) {
        return ms_diag_no_memory(diag);
    }
    ms_status status = read_text(&p);
    status = status == MS_OK ? read_lines(&p) : status;
    if (status == MS_OK) {
        costs_out->forward = p.values[FORWARD];
        costs_out->input_grad = p.values[INPUT_GRADIENT];
        costs_out->weight_grad = p.values[WEIGHT_GRADIENT];
        costs_out->p2p = p.values[P2P];
    }
    return status;
}
