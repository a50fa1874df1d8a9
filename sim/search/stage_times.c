/* Reads times per pipeline stage from a CSV file, for schedules on paper (schedules.h): a header
 * line with the names of the columns, then one line per stage. All faults of the file are reported,
 * each with its line and column. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config/config.h"
#include "base/config/csv_cells.h"
#include "base/text.h"
#include "search/schedules.h"

/* Columns that a file may have, in any order; P2P is the latency of a message to the next stage. */
enum { COLUMNS_MAX = 16, STAGE = 0, FORWARD, INPUT_GRADIENT, WEIGHT_GRADIENT, P2P, NAMES };

static const char *const NAME[NAMES] = {"stage", "forward", "input_gradient", "weight_gradient",
                                        "p2p"};

/* The state of reading a file, `p` in this file. */
typedef struct profile {
    ms_arena *arena;
    ms_csv_file file;
    int columns[COLUMNS_MAX]; /* [column_count] what each column of the file is: STAGE and so on */
    int column_count;
    bool has_stages;       /* a column says which stage a line is of */
    int stages;            /* that the schedule has */
    int read;              /* lines of stages so far */
    bool *is_given;        /* [stages] */
    double *values[NAMES]; /* [stages] each */
} profile;

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
    int column = ms_word_index(word, NAME, NAMES);
    if (column >= 0 && (*seen & (1U << column)) == 0 && p->column_count < COLUMNS_MAX) {
        *seen |= 1U << column;
        p->columns[p->column_count++] = column;
        return;
    }
    ms_csv_file_fault(&p->file, cell, "'%s' is no column that can stand here%s", word,
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
            ms_csv_file_fault(&p->file, &cell, "the cell %s", cell.fault);
        }
    }
    p->has_stages = (seen & (1U << STAGE)) != 0;
    for (int column = FORWARD; column <= WEIGHT_GRADIENT; column++) {
        if ((seen & (1U << column)) == 0) {
            ms_csv_file_fault(&p->file, NULL, "column '%s' is missing", NAME[column]);
        }
    }
}

/* Read a number from 0 to MS_SCHEDULE_COST_MAX. Returns false (reported) for anything else. */
static bool read_number(profile *p, const ms_cell *cell, double *out) {
    char word[64];
    copy_word(cell, word, sizeof word);
    char *end = NULL;
    double value = strtod(word, &end); /* also reads hexadecimal, "inf" and "nan" */
    bool is_number = word[0] != '\0' && *end == '\0' && isfinite(value) && value >= 0 &&
                     strspn(word, "+-.0123456789eE") == strlen(word);
    if (!is_number || value > MS_SCHEDULE_COST_MAX) {
        ms_csv_file_fault(&p->file, cell, "expected a number from 0 to %g, got '%s'",
                          MS_SCHEDULE_COST_MAX, word);
        return false;
    }
    *out = value;
    return true;
}

/* The stage of a line: the number in its column `stage`; without such a column the number of lines
 * before. cells: [column_count]. Returns -1 (reported) for a stage that does not exist or was read
 * before. */
static int read_stage(profile *p, const ms_cell *cells) {
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
        ms_csv_file_fault(&p->file, cell, "expected a stage from 0 to %d", p->stages - 1);
        return -1;
    }
    if (p->is_given[(int)stage]) {
        ms_csv_file_fault(&p->file, cell, "stage %d stands twice", (int)stage);
        return -1;
    }
    return (int)stage;
}

/* Check the p2p cell of the last stage, which has no next stage: it must be empty or 0. */
static void read_last_p2p(profile *p, const ms_cell *cell) {
    double value = 0;
    if (cell->text.from != cell->text.to && read_number(p, cell, &value) && value != 0) {
        ms_csv_file_fault(
            &p->file, cell,
            "stage %d is the last one and has no boundary behind it; leave its p2p empty",
            p->stages - 1);
    }
}

/* Split a line into as many cells as the header has columns. Returns false (reported) for another
 * number of cells, or for faulty quotes. */
static bool split_line(profile *p, ms_span line, ms_cell cells[COLUMNS_MAX]) {
    int count = 0;
    ms_cell cell;
    for (; ms_cells_next(&line, &cell); count++) {
        if (count == p->column_count) {
            ms_csv_file_fault(&p->file, &cell, "the header has %d columns, and this is one more",
                              p->column_count);
            return false;
        }
        if (cell.fault != NULL) {
            ms_csv_file_fault(&p->file, &cell, "the cell %s", cell.fault);
            return false;
        }
        cells[count] = cell;
    }
    if (count < p->column_count) {
        ms_csv_file_fault(&p->file, NULL, "expected %d columns, got %d", p->column_count, count);
    }
    return count == p->column_count;
}

/* Read the times of one stage from a line. In a file without the column `stage` the lines are
 * stages 0, 1, ..., so a line beyond the schedule's stages is a fault. Faults are reported; the
 * caller counts them. */
static void read_times(profile *p, ms_span line) {
    ms_cell cells[COLUMNS_MAX];
    if (!p->has_stages && p->read >= p->stages) {
        ms_csv_file_fault(&p->file, NULL, "the schedule has %d stages, and this line is one more",
                          p->stages);
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
    p->file.line = 0;
    if (!p->has_stages && p->read < p->stages) {
        ms_csv_file_fault(&p->file, NULL, "expected a header and %d stages, got %d", p->stages,
                          p->read);
    }
    for (int stage = 0; p->has_stages && stage < p->stages; stage++) {
        if (!p->is_given[stage]) {
            ms_csv_file_fault(&p->file, NULL, "stage %d is missing", stage);
        }
    }
}

/* Read the header and all lines of stages. Returns MS_OK; MS_E_INPUT after reporting every
 * fault. */
static ms_status read_lines(profile *p) {
    ms_span line;
    bool has_header = false;
    while (ms_cells_next_line(&p->file.rest, &line)) {
        p->file.line++;
        if (is_empty(line)) {
            continue;
        }
        if (has_header) {
            read_times(p, line);
            continue;
        }
        has_header = true;
        read_header(p, line);
        if (p->file.status != MS_OK) {
            return p->file.status; /* without columns the numbers have no meaning */
        }
    }
    if (p->file.status == MS_OK) {
        check_complete(p);
    }
    return p->file.status;
}

/* Read the file into p->file. Returns MS_OK; as ms_file_read; MS_E_NOMEM (reported). */
static ms_status read_text(profile *p) {
    ms_buffer text;
    ms_buffer_init(&text);
    ms_status status = ms_file_read(p->file.path, MS_FILE_CSV, &text, p->file.diag);
    if (status == MS_OK) {
        const char *copy = ms_arena_strndup(p->arena, ms_buffer_text(&text), text.length);
        status = copy == NULL ? MS_E_NOMEM : MS_OK;
        p->file.body = ms_cells_body(copy == NULL ? "" : copy, copy == NULL ? 0 : text.length);
        p->file.rest = p->file.body;
    }
    ms_buffer_release(&text);
    return status == MS_E_NOMEM ? ms_diag_no_memory(p->file.diag) : status;
}

/* The lists of columns that the file lacks stay 0. */
ms_status ms_stage_times_read(const char *path, int stages, ms_arena *arena, ms_diag *diag,
                              ms_schedule_costs *costs_out) {
    profile p = {.arena = arena,
                 .file = {.path = path, .diag = diag},
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
