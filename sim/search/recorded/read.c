/* Reads the rows of a table of operations (table.h), each checked for itself. The file is read line
 * by line, so that its size is not limited; zlib's gzgets also reads compressed files. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/config/csv_cells.h"

#include "search/recorded/table.h"

/* Most cells of a line; most characters of a cell that a message shows; largest whole number of a
 * cell; picoseconds of a second; longest time from the first row's start [s], so that 64 bits hold
 * it; lowest power of ten of a number of seconds. */
enum { CELLS_MAX = 64, SHOWN_MAX = 40, WHOLE_MAX = 1 << 24, TIME_MAX_S = 4000000 };
/* The longest line, and zlib's buffer [B]. */
enum { LINE_MAX_B = 1 << 16, BUFFER_B = 1 << 18 };
static const int64_t PS_PER_S = 1000000000000;

#define LONELY                  .is_lonely = true
#define MEAN                    .has_mean = true
#define ACROSS                  .is_across_dp = true
#define ROW(kind, n, g, f, ...) [kind] = {.name = n, .group = g, .first = f, __VA_ARGS__}
#define KIND(kind, own, ...)    ROW(kind, own, own, kind, __VA_ARGS__)
const ms_recorded_kind_row MS_RECORDED_KINDS[MS_RECORDED_KIND_COUNT] = {
    KIND(MS_RECORDED_FORWARD, "forward-compute", LONELY, MEAN),
    KIND(MS_RECORDED_BACKWARD, "backward-compute", LONELY, MEAN),
    KIND(MS_RECORDED_INPUT_GRAD, "input-gradient-compute", LONELY, MEAN),
    KIND(MS_RECORDED_WEIGHT_GRAD, "weight-gradient-compute", LONELY, MEAN),
    ROW(MS_RECORDED_FORWARD_SEND, "forward-send", "forward-pp-comm", MS_RECORDED_FORWARD_SEND),
    ROW(MS_RECORDED_FORWARD_RECV, "forward-recv", "forward-pp-comm", MS_RECORDED_FORWARD_SEND),
    ROW(MS_RECORDED_BACKWARD_SEND, "backward-send", "backward-pp-comm", MS_RECORDED_BACKWARD_SEND),
    ROW(MS_RECORDED_BACKWARD_RECV, "backward-recv", "backward-pp-comm", MS_RECORDED_BACKWARD_SEND),
    KIND(MS_RECORDED_PARAMS, "params-all-gather", ACROSS),
    KIND(MS_RECORDED_GC, "gc", LONELY, MEAN),
    KIND(MS_RECORDED_LAYERNORM, "layernorm-grads-all-reduce", LONELY),
    KIND(MS_RECORDED_EMBEDDING, "embedding-grads-all-reduce"),
    KIND(MS_RECORDED_SEPARATE, "separate-grads-all-reduce", LONELY),
    KIND(MS_RECORDED_GRADS, "grads-reduce-scatter", ACROSS),
    KIND(MS_RECORDED_CLIP, "optimizer-clip-main-grad", ACROSS),
    KIND(MS_RECORDED_OPTIMIZER, "optimizer", LONELY, MEAN),
};

/* Columns of the table, and the fields of the whole numbers among them. Those before COLUMN_NEEDED
 * are compulsory. */
enum { COLUMN_KIND = 3, COLUMN_START, COLUMN_LENGTH, COLUMN_NEEDED, COLUMN_COUNT = 11 };
static const char *const COLUMNS[COLUMN_COUNT] = {"dp_rank",  "stage",    "step",   "optype",
                                                  "start_ts", "duration", "seq_id", "mc",
                                                  "mb_id",    "gmc",      "pair"};
#define AT(field) offsetof(ms_recorded_node, field)
static const size_t FIELDS[COLUMN_COUNT] = {AT(dp),  AT(stage), AT(step), 0,       0,       0,
                                            AT(seq), AT(mc),    AT(mb),   AT(gmc), AT(pair)};

/* The file that is being read. */
typedef struct row_reader {
    gzFile file;
    char *text; /* [LINE_MAX_B] the current line */
    const char *path;
    ms_diag *diag;
    uint32_t line;
    int places[CELLS_MAX]; /* column of each cell; -1: none of ours */
    int cells;             /* of a line */
    int64_t origin_s;      /* start of the first row, in whole seconds; INT64_MIN: none */
    ms_status status;      /* MS_E_INPUT once a fault was reported */
} row_reader;

/* The place of the current line of a reader. */
#define LINE_OF(r) (&(ms_mark){.file = (r)->path, .line = (int)(r)->line})

/* Report that a cell is not what its column holds. */
static void fault(row_reader *r, int column, const ms_span *cell, const char *expected) {
    int length = (int)(cell->to - cell->from);
    r->status = ms_diag_at(r->diag, LINE_OF(r), COLUMNS[column], "expected %s, got '%.*s'",
                           expected, length > SHOWN_MAX ? SHOWN_MAX : length, cell->from);
}

/* Read a whole number from `low` to WHOLE_MAX. */
static int32_t read_whole(row_reader *r, int column, ms_span text, int low) {
    const char *at = text.from;
    bool is_negative = at < text.to && *at == '-';
    int64_t value = 0;
    at += is_negative;
    bool is_valid = at < text.to;
    for (; at < text.to && is_valid; at++) {
        is_valid = *at >= '0' && *at <= '9' && value <= WHOLE_MAX;
        value = value * 10 + (*at - '0');
    }
    value = is_negative ? -value : value;
    if (!is_valid || value < low || value > WHOLE_MAX) {
        fault(r, column, &text,
              low < 0 ? "a whole number of at least -1" : "a whole number of at least 0");
        return 0;
    }
    return (int32_t)value;
}

/* Read a number of seconds as written, to the picosecond: digits with a point by hand, so that no
 * digit of a clock that counts from 1970 is lost; other forms as the library reads them.  *ps_out:
 * from 0 to below PS_PER_S. Returns whether the text is such a number. */
static bool read_seconds(ms_span text, int64_t *seconds_out, int64_t *ps_out) {
    const char *at = text.from;
    bool is_negative = at < text.to && *at == '-';
    int64_t seconds = 0;
    int64_t ps = 0;
    int64_t unit = PS_PER_S;
    at += is_negative;
    const char *digits = at;
    for (; at < text.to && *at >= '0' && *at <= '9' && seconds < INT64_MAX / 100; at++) {
        seconds = seconds * 10 + (*at - '0');
    }
    bool has_digits = at > digits;
    if (at < text.to && *at == '.') {
        for (at++; at < text.to && *at >= '0' && *at <= '9'; at++) {
            has_digits = true;
            ps += unit > 1 ? (*at - '0') * (unit / 10) : unit == 1 && *at >= '5';
            unit /= 10;
        }
    }
    if (!has_digits || at != text.to) { /* such as 1.5e-05 */
        char *end = NULL;
        double value = text.from == text.to ? NAN : strtod(text.from, &end);
        if (end != text.to || !(fabs(value) < TIME_MAX_S)) {
            return false;
        }
        double whole = floor(value);
        seconds = (int64_t)whole;
        ps = llround((value - whole) * 1e12);
        is_negative = false;
    }
    *seconds_out = is_negative ? -seconds - (ps > 0) : seconds;
    *ps_out = is_negative && ps > 0 ? PS_PER_S - ps : ps;
    return true;
}

/* Read a time: a start, which counts from the whole second in which the first row starts, or a
 * duration. */
static int64_t read_time(row_reader *r, int column, ms_span text) {
    int64_t seconds = 0;
    int64_t ps = 0;
    bool is_valid = read_seconds(text, &seconds, &ps);
    if (is_valid && column == COLUMN_START) {
        r->origin_s = r->origin_s == INT64_MIN ? seconds : r->origin_s;
        seconds -= r->origin_s;
    }
    if (!is_valid || seconds > TIME_MAX_S || seconds < (column == COLUMN_START ? -TIME_MAX_S : 0)) {
        fault(r, column, &text, "a number of seconds, of less than 4,000,000");
        return 0;
    }
    return seconds * PS_PER_S + ps;
}

/* Read a kind of operation.  last: the kind of the row before, which is often the same. */
static uint8_t read_kind(row_reader *r, ms_span text, uint8_t last) {
    size_t length = (size_t)(text.to - text.from);
    for (int i = 0; i < MS_RECORDED_KIND_COUNT; i++) {
        int kind = (last + i) % MS_RECORDED_KIND_COUNT;
        const char *name = MS_RECORDED_KINDS[kind].name;
        if (strncmp(name, text.from, length) == 0 && name[length] == '\0') {
            return (uint8_t)kind;
        }
    }
    const char *names[MS_RECORDED_KIND_COUNT];
    char word[SHOWN_MAX + 1] = "";
    memcpy(word, text.from, length < SHOWN_MAX ? length : SHOWN_MAX);
    for (int kind = 0; kind < MS_RECORDED_KIND_COUNT; kind++) {
        names[kind] = MS_RECORDED_KINDS[kind].name;
    }
    r->status = ms_diag_at(r->diag, LINE_OF(r), COLUMNS[COLUMN_KIND], "unknown kind '%s'%s", word,
                           ms_nearest_hint(word, names, MS_RECORDED_KIND_COUNT).text);
    return 0;
}

/* Write a cell to its field of a row. */
static void take_cell(row_reader *r, int column, ms_span text, ms_recorded_node *row) {
    int32_t *whole = (int32_t *)(void *)((char *)row + FIELDS[column]);
    if (column == COLUMN_START || column == COLUMN_LENGTH) {
        *(column == COLUMN_START ? &row->start_ps : &row->length_ps) = read_time(r, column, text);
    } else if (column == COLUMN_KIND) {
        row->kind = read_kind(r, text, row->kind);
    } else if (column < COLUMN_NEEDED || text.from < text.to) { /* an empty cell: none */
        *whole = read_whole(r, column, text, column < COLUMN_NEEDED ? 0 : -1);
    }
}

/* Read the line with the names of the columns. */
static void read_head(row_reader *r, ms_span line) {
    bool has[COLUMN_COUNT] = {false};
    ms_cell cell;
    while (ms_cells_next(&line, &cell) && r->cells < CELLS_MAX) {
        int column = -1;
        for (int i = 0; i < COLUMN_COUNT; i++) {
            size_t length = (size_t)(cell.text.to - cell.text.from);
            if (strncmp(COLUMNS[i], cell.text.from, length) == 0 && COLUMNS[i][length] == '\0') {
                column = i;
            }
        }
        if (column >= 0 && has[column]) {
            fault(r, column, &cell.text, "every column once");
        }
        r->places[r->cells++] = column;
        has[column < 0 ? COLUMN_START : column] |= column >= 0;
    }
    for (int i = 0; i < COLUMN_NEEDED; i++) {
        if (!has[i]) {
            r->status = ms_diag_at(r->diag, LINE_OF(r), NULL,
                                   "the column '%s' is missing in the first line", COLUMNS[i]);
        }
    }
}

/* Read a line of a row.  row: of the line before. */
static void read_row(row_reader *r, ms_span line, ms_recorded_node *row) {
    int count = 0;
    ms_cell cell;
    *row = (ms_recorded_node){
        .seq = -1, .mc = -1, .gmc = -1, .mb = -1, .pair = -1, .line = r->line, .kind = row->kind};
    while (ms_cells_next(&line, &cell)) {
        if (count < r->cells && r->places[count] >= 0) {
            take_cell(r, r->places[count], cell.text, row);
        }
        count++;
    }
    if (count != r->cells) {
        r->status = ms_diag_at(r->diag, LINE_OF(r), NULL,
                               "the line has another number of cells than the first line");
    }
}

/* Report that the file cannot be read, with errno; 0: the library has no memory. */
static ms_status cannot_read(const row_reader *r) {
    if (errno == 0 || errno == ENOMEM) {
        return ms_diag_no_memory(r->diag);
    }
    ms_diag_error(r->diag, "cannot read '%s': %s", r->path, strerror(errno));
    return MS_E_IO;
}

/* Get the next line of a file, which may be compressed. Returns false behind the last one, and
 * after a fault (reported). */
static bool next_line(row_reader *r, ms_span *line_out) {
    const ms_mark mark = {.file = r->path};
    if (gzgets(r->file, r->text, LINE_MAX_B) == NULL) {
        int code = Z_OK;
        const char *why = gzerror(r->file, &code);
        if (code == Z_ERRNO || code == Z_MEM_ERROR) {
            r->status = cannot_read(r);
        } else if (code != Z_OK && code != Z_STREAM_END) {
            why = code == Z_BUF_ERROR ? "the compressed text ends early" : why;
            r->status = ms_diag_at(r->diag, &mark, NULL, "is damaged: %s", why);
        }
        return false;
    }
    size_t length = strlen(r->text);
    if (length + 1 == LINE_MAX_B && r->text[length - 1] != '\n') {
        r->status = ms_diag_at(r->diag, &mark, NULL, "has a line of 64 KiB and more");
        return false;
    }
    r->line++;
    *line_out = ms_span_trim((ms_span){r->text, r->text + length});
    return true;
}

ms_status ms_recorded_rows_read(const char *path, ms_arena *arena, ms_diag *diag,
                                ms_vector *rows_out) {
    row_reader r = {
        .path = path, .diag = diag, .origin_s = INT64_MIN, .text = MS_NEW(arena, char, LINE_MAX_B)};
    ms_recorded_node row = {0};
    ms_span line;
    errno = 0;
    r.file = r.text == NULL ? NULL : gzopen(path, "rb");
    if (r.file == NULL || gzbuffer(r.file, BUFFER_B) != 0) {
        return cannot_read(&r);
    }
    while (diag->errors < diag->limit && !rows_out->failed && next_line(&r, &line)) {
        if (line.from < line.to && *line.from != '#' && r.cells > 0) {
            read_row(&r, line, &row);
            ms_vector_add(rows_out, &row, 1);
        } else if (line.from < line.to && *line.from != '#') {
            read_head(&r, ms_cells_body(line.from, (size_t)(line.to - line.from)));
            if (r.status != MS_OK) {
                break;
            }
        }
    }
    (void)gzclose(r.file);
    if (r.status == MS_OK && rows_out->failed) {
        return ms_diag_no_memory(diag);
    }
    if (r.status == MS_OK && rows_out->count == 0) {
        return ms_diag_at(diag, &(ms_mark){.file = path}, NULL, "has no rows of operations");
    }
    return r.status;
}
