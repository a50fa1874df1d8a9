/* Times per stage from a CSV file: a header line with the names of the columns, one line per stage.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/schedule_options.h"
#include "meshsim/config.h"

enum { COLUMNS_MAX = 16, STAGE = 0, FORWARD, INPUT_GRADIENT, WEIGHT_GRADIENT, P2P, NAMES };

static const char *const NAME[NAMES] = {"stage", "forward", "input_gradient", "weight_gradient",
                                        "p2p"};

typedef struct profile {
    const ms_invocation *call;
    const char *path;
    char *text;
    size_t length;
    int line;                 /* 1-based */
    int columns[COLUMNS_MAX]; /* what each column of the file is */
    int column_count;
    int stages;
    double *values[NAMES]; /* [stages] each */
} profile;

static ms_status fault(const profile *p, const char *at, const char *line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static ms_status fault(const profile *p, const char *at, const char *line, const char *format,
                       ...) {
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    ms_mark mark = {.file = p->path,
                    .source = p->text,
                    .source_B = p->length,
                    .line = p->line,
                    .column = at == NULL ? 0 : (int)(at - line) + 1,
                    .width = at == NULL ? 1 : (int)strcspn(at, ",\r\n")};
    ms_diag_at(p->call->diag, &mark, NULL, "%s", what);
    return MS_E_INPUT;
}

/* The word of a cell without blanks around it, cut at `size`. */
static void copy_cell(const char *at, char *out, size_t size) {
    size_t length = strcspn(at, ",\r\n");
    while (length > 0 && (*at == ' ' || *at == '\t')) {
        at++;
        length--;
    }
    while (length > 0 && (at[length - 1] == ' ' || at[length - 1] == '\t')) {
        length--;
    }
    snprintf(out, size, "%.*s", (int)length, at);
}

/* Start of the next cell of a line; NULL at its end. */
static const char *next_cell(const char *at) {
    at += strcspn(at, ",\r\n");
    return *at == ',' ? at + 1 : NULL;
}

static ms_status read_header(profile *p, const char *line) {
    unsigned seen = 0;
    for (const char *at = line; at != NULL; at = next_cell(at)) {
        char word[64];
        copy_cell(at, word, sizeof word);
        int column = 0;
        while (column < NAMES && strcmp(word, NAME[column]) != 0) {
            column++;
        }
        if (column == NAMES || p->column_count == COLUMNS_MAX || (seen & (1U << column)) != 0) {
            const char *nearest = ms_nearest_word(word, NAME, NAMES);
            return fault(p, at, line, "'%s' is no column that can stand here%s%s%s", word,
                         nearest == NULL ? "" : "; did you mean '", nearest == NULL ? "" : nearest,
                         nearest == NULL ? "" : "'?");
        }
        seen |= 1U << column;
        p->columns[p->column_count++] = column;
    }
    for (int column = FORWARD; column <= WEIGHT_GRADIENT; column++) {
        if ((seen & (1U << column)) == 0) {
            return fault(p, NULL, line, "column '%s' is missing", NAME[column]);
        }
    }
    return MS_OK;
}

static ms_status read_number(const profile *p, const char *at, const char *line, double *out) {
    char word[64];
    copy_cell(at, word, sizeof word);
    char *end = NULL;
    double value = strtod(word, &end);
    if (word[0] == '\0' || *end != '\0' || !isfinite(value) || value < 0 ||
        strspn(word, "+-.0123456789eE") != strlen(word)) {
        return fault(p, at, line, "expected a number >= 0, got '%s'", word);
    }
    *out = value;
    return MS_OK;
}

static ms_status read_stage(profile *p, const char *line, int stage) {
    if (stage >= p->stages) {
        return fault(p, NULL, line, "the schedule has %d stages, and this line is one more",
                     p->stages);
    }
    int count = 0;
    for (const char *at = line; at != NULL; at = next_cell(at), count++) {
        if (count == p->column_count) {
            return fault(p, at, line, "the header has %d columns, and this is one more",
                         p->column_count);
        }
        double value = 0;
        ms_status status = read_number(p, at, line, &value);
        if (status != MS_OK) {
            return status;
        }
        if (p->columns[count] == STAGE && value != stage) {
            return fault(p, at, line, "expected stage %d here", stage);
        }
        p->values[p->columns[count]][stage] = value;
    }
    return count == p->column_count
               ? MS_OK
               : fault(p, NULL, line, "expected %d columns, got %d", p->column_count, count);
}

static ms_status read_lines(profile *p) {
    int stage = -1; /* the header */
    const char *line = p->text;
    while (*line != '\0') {
        p->line++;
        bool is_empty = line[strspn(line, " \t\r")] == '\n';
        if (!is_empty) {
            ms_status status = stage < 0 ? read_header(p, line) : read_stage(p, line, stage);
            if (status != MS_OK) {
                return status;
            }
            stage++;
        }
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    if (stage == p->stages) {
        return MS_OK;
    }
    p->line = 0;
    return fault(p, NULL, p->text, "expected a header and %d stages, got %d", p->stages,
                 stage < 0 ? 0 : stage);
}

static ms_status report_no_memory(const ms_invocation *call) {
    ms_diag_error(call->diag, "out of memory");
    return MS_E_NOMEM;
}

static ms_status read_text(profile *p) {
    ms_buffer text;
    ms_buffer_init(&text);
    ms_status status = ms_file_read(p->path, MS_FILE_CSV, &text, p->call->diag);
    if (status == MS_OK) {
        p->length = text.length;
        p->text = ms_arena_strndup(p->call->arena, ms_buffer_text(&text), text.length);
    }
    ms_buffer_release(&text);
    if (status == MS_E_NOMEM || (status == MS_OK && p->text == NULL)) {
        return report_no_memory(p->call);
    }
    return status;
}

ms_status ms_cli_schedule_read_costs(const ms_invocation *call, const char *path, int stages,
                                     ms_schedule_costs *costs_out) {
    profile p = {.call = call, .path = path, .stages = stages};
    for (int column = 0; column < NAMES; column++) {
        p.values[column] = MS_NEW(call->arena, double, stages);
        if (p.values[column] == NULL) {
            return report_no_memory(call);
        }
    }
    ms_status status = read_text(&p);
    if (status == MS_OK) {
        status = read_lines(&p);
    }
    if (status == MS_OK) {
        costs_out->forward = p.values[FORWARD];
        costs_out->input_grad = p.values[INPUT_GRADIENT];
        costs_out->weight_grad = p.values[WEIGHT_GRADIENT];
        costs_out->p2p = p.values[P2P];
    }
    return status;
}
