/* Measured runs from three CSV tables: steps on one node, all-reduces by size, and collectives of
 * any kind by size, as `import nccl-tests` writes them. */
#include <math.h>
#include <string.h>

#include "meshsim/cells.h"
#include "meshsim/units.h"
#include "study/cases_file.h"

enum {
    CELLS_MAX = 16,
    NAMES_MAX = 2,
    CELL_LENGTH_MAX = 128,
    GPT_MATRICES = 2,
    GPT_FFN = 4,
    COUNT_MAX = 1 << 24
};

static const double MS_IN_S = 1e-3;
static const double US_IN_S = 1e-6;

/* Columns of the table of steps. */
typedef enum step_column {
    STEP_GPUS,
    STEP_BATCH,
    STEP_MICRO,
    STEP_HIDDEN,
    STEP_HEADS,
    STEP_LAYERS,
    STEP_SEQUENCE,
    STEP_TP,
    STEP_DP,
    STEP_PP,
    STEP_TIME_MS,
    STEP_COLUMNS,
} step_column;

/* Columns of the table of all-reduces; those behind are not compared. */
typedef enum reduce_column {
    REDUCE_GPU,
    REDUCE_RANKS,
    REDUCE_SIZE,
    REDUCE_TIME_US,
    REDUCE_COLUMNS,
} reduce_column;

/* Columns of a table of collectives; those behind are not compared. */
typedef enum point_column {
    POINT_SYSTEM,
    POINT_OP,
    POINT_RANKS,
    POINT_NODES,
    POINT_SIZE,
    POINT_TIME_US,
    POINT_COLUMNS,
} point_column;

static const char STEP_HEAD[] = "# GPUs,global batch,micro batch,hidden size,attention heads,"
                                "# layers,sequence length,tensor parallelism,data parallelism,"
                                "pipeline parallelism,iteration time (ms)";
static const char OWN_HEAD[] = "id,workload,";
static const char REDUCE_HEAD[] = "gpu,ranks,bytes,time_us_out_of_place";
static const char POINT_HEAD[] = "system,op,ranks,nodes,bytes,time_us";

/* What the comment on the table of steps says of all of them.
 * Source: VIA-Research/vTrain, ground truth of single nodes. */
static const char STEP_GPU[] = "A100-SXM4-80GB";
enum { STEP_VOCAB = 50257 };

/* A line of numbers. */
typedef struct row {
    ms_mark mark;
    double numbers[CELLS_MAX];
    const char *names[NAMES_MAX]; /* texts of its first cells */
} row;

/* One file. */
typedef struct table {
    const ms_cases_reading *reading;
    const ms_text *text;
    int columns; /* that are read */
    int names;   /* so many of them, in front, hold a text */
    ms_status (*add)(struct table *t, const row *line);
} table;

static ms_status fault(const table *t, const ms_mark *mark, const char *why) {
    ms_diag_at(t->reading->diag, mark, NULL, "%s", why);
    return MS_E_INPUT;
}

static ms_status no_memory_if(const ms_vector *vector, ms_diag *diag) {
    return vector->failed ? ms_diag_no_memory(diag) : MS_OK;
}

/* ---- steps ---- */

static ms_case_model model_of(const row *line) {
    const double *n = line->numbers;
    int hidden = (int)n[STEP_HIDDEN];
    int heads = (int)n[STEP_HEADS];
    return (ms_case_model){.type = "gpt",
                           .layers = (int)n[STEP_LAYERS],
                           .hidden = hidden,
                           .heads = heads,
                           .kv_heads = heads,
                           .ffn = GPT_FFN * hidden,
                           .ffn_mats = GPT_MATRICES,
                           .vocab = STEP_VOCAB,
                           .sequence = (int)n[STEP_SEQUENCE],
                           .traits = {.is_tied = MS_CASE_UNKNOWN,
                                      .has_bias = MS_CASE_UNKNOWN,
                                      .is_rms_norm = MS_CASE_UNKNOWN,
                                      .has_learned_positions = MS_CASE_UNKNOWN}};
}

static ms_status add_step(table *t, const row *line) {
    const double *n = line->numbers;
    const ms_cases_reading *reading = t->reading;
    for (int i = 0; i < STEP_COLUMNS; i++) {
        bool is_whole = i == STEP_TIME_MS || n[i] == floor(n[i]);
        if (!(n[i] > 0) || !is_whole || n[i] > COUNT_MAX) {
            return fault(t, &line->mark, "expected counts above 0, and a time above 0");
        }
    }
    ms_case c = {
        .id = ms_arena_printf(reading->arena, "single_node_%d", line->mark.line),
        .group = "single_node",
        .source = "vTrain, single-node measurements",
        .mark = line->mark,
        .use = MS_CASE_APART,
        .gpus = (int)n[STEP_GPUS],
        .system = {.gpu = STEP_GPU},
        .model = model_of(line),
        .parallel = {.tp = (int)n[STEP_TP],
                     .pp = (int)n[STEP_PP],
                     .dp = (int)n[STEP_DP],
                     .vpp = 1,
                     .cp = 1,
                     .ep = 1,
                     .has_sequence_parallel = 0,
                     .zero = 0,
                     .reshards = MS_CASE_UNKNOWN},
        .schedule = {.kind = "1f1b",
                     .recompute = "full",
                     .precision = "fp16",
                     .micro_batch = (int)n[STEP_MICRO],
                     .global_batch = (int)n[STEP_BATCH]},
        .measured = ms_case_measured_step(n[STEP_TIME_MS] * MS_IN_S),
    };
    c.mark.source = NULL; /* the text is gone when the mark is shown */
    ms_vector_add(&reading->out->cases, &c, 1);
    return c.id == NULL ? ms_diag_no_memory(reading->diag)
                        : no_memory_if(&reading->out->cases, reading->diag);
}

/* ---- all-reduces ---- */

static ms_status add_reduce(table *t, const row *line) {
    const double *n = line->numbers;
    const ms_cases_reading *reading = t->reading;
    bool is_sound = n[REDUCE_RANKS] >= 2 && n[REDUCE_RANKS] == floor(n[REDUCE_RANKS]) &&
                    n[REDUCE_RANKS] < 1e6 && n[REDUCE_SIZE] > 0 && n[REDUCE_TIME_US] > 0;
    if (!is_sound) {
        return fault(t, &line->mark, "expected 2 ranks or more, a size and a time above 0");
    }
    /* its source names no launcher; below 3 MiB times stand at 11 to 12 us for each of 5 to 8 GPUs,
     * whatever the size, as they do where one thread launches */
    const ms_case_collective point = {.system = line->names[0],
                                      .timing = MS_TIMING_ONE_THREAD,
                                      .kind = MS_COLL_ALL_REDUCE,
                                      .ranks = (int)n[REDUCE_RANKS],
                                      .nodes = 1,
                                      .size_B = n[REDUCE_SIZE]};
    ms_cases_add_collective(reading, point, n[REDUCE_TIME_US] * US_IN_S, 0);
    return no_memory_if(&reading->out->collectives, reading->diag);
}

/* ---- collectives ---- */

static ms_status add_collective(table *t, const row *line) {
    const double *n = line->numbers;
    const ms_cases_reading *reading = t->reading;
    ms_coll_kind kind = ms_cases_coll_kind(line->names[POINT_OP]);
    bool is_sound = n[POINT_RANKS] >= 2 && n[POINT_RANKS] == floor(n[POINT_RANKS]) &&
                    n[POINT_RANKS] <= COUNT_MAX && n[POINT_NODES] >= 1 &&
                    n[POINT_NODES] == floor(n[POINT_NODES]) && n[POINT_NODES] <= n[POINT_RANKS];
    if (kind == MS_COLL_NONE) {
        return fault(t, &line->mark,
                     "expected all_reduce, all_gather, reduce_scatter or all_to_all as op");
    }
    if (!is_sound || !(n[POINT_SIZE] > 0) || !(n[POINT_TIME_US] > 0)) {
        return fault(t, &line->mark,
                     "expected 2 ranks or more on 1 node or more, a size and a time above 0");
    }
    const ms_case_collective point = {.system = line->names[POINT_SYSTEM],
                                      .kind = kind,
                                      .ranks = (int)n[POINT_RANKS],
                                      .nodes = (int)n[POINT_NODES],
                                      .size_B = n[POINT_SIZE]};
    ms_cases_add_collective(reading, point, n[POINT_TIME_US] * US_IN_S, 0);
    return no_memory_if(&reading->out->collectives, reading->diag);
}

/* ---- lines ---- */

/* The cells of a line; false where one is no number. */
static bool read_cells(const table *t, ms_span line, row *out) {
    int count = 0;
    ms_cell cell;
    while (ms_cells_take(&line, &cell)) {
        size_t length = (size_t)(cell.text.to - cell.text.from);
        char text[CELL_LENGTH_MAX];
        if (cell.fault != NULL || length >= sizeof text || count == CELLS_MAX) {
            return false;
        }
        memcpy(text, cell.text.from, length);
        text[length] = '\0';
        bool is_name = count < t->names;
        if (is_name) {
            out->names[count] = ms_arena_strdup(t->reading->arena, text);
        }
        bool is_number =
            is_name || count >= t->columns || ms_number_parse(text, &out->numbers[count]) == MS_OK;
        if (!is_number || (is_name && out->names[count] == NULL)) {
            return false;
        }
        count++;
    }
    return count >= t->columns;
}

static bool says_nothing(ms_span line) {
    if (line.from == NULL) {
        return true; /* without any character */
    }
    line = ms_span_trim(line);
    return line.from == line.to || line.from[0] == '#';
}

static ms_status read_lines(table *t, ms_span body, int line) {
    ms_span text;
    ms_status status = MS_OK;
    const ms_mark place = {
        .file = t->text->name, .source = body.from, .source_B = (size_t)(body.to - body.from)};
    bool is_head = t->names > 0;
    for (; ms_cells_take_line(&body, &text); line++) {
        row found = {.mark = place};
        found.mark.line = line;
        if (says_nothing(text) || is_head) {
            is_head = is_head && says_nothing(text);
            continue;
        }
        ms_status one = read_cells(t, text, &found)
                            ? t->add(t, &found)
                            : fault(t, &found.mark, "expected the numbers of the table's head");
        if (one == MS_E_NOMEM) {
            return one;
        }
        status = status == MS_OK ? one : status;
    }
    return status;
}

/* Whether the first line that says something, or a comment before it, begins as a head does. */
static bool has_head(ms_span body, const char *head) {
    ms_span line;
    size_t length = strlen(head);
    while (ms_cells_take_line(&body, &line)) {
        bool is_it = line.from != NULL && (size_t)(line.to - line.from) >= length &&
                     memcmp(line.from, head, length) == 0;
        if (is_it || (line.from != NULL && line.from[0] != '#')) {
            return is_it;
        }
    }
    return false;
}

ms_status ms_cases_read_csv(const ms_cases_reading *reading, const ms_text *text) {
    ms_span body = ms_cells_body(text->data, text->length_B);
    table t = {.reading = reading, .text = text};
    if (has_head(body, STEP_HEAD)) {
        t.columns = STEP_COLUMNS;
        t.add = add_step;
    } else if (has_head(body, REDUCE_HEAD)) {
        t.columns = REDUCE_COLUMNS;
        t.names = 1;
        t.add = add_reduce;
    } else if (has_head(body, POINT_HEAD)) {
        t.columns = POINT_COLUMNS;
        t.names = NAMES_MAX;
        t.add = add_collective;
    } else if (has_head(body, OWN_HEAD)) {
        return ms_cases_read_own(reading, text);
    } else {
        const ms_mark mark = {.file = text->name, .line = 1};
        ms_diag_at(reading->diag, &mark, NULL,
                   "a CSV file without a known head; expected '%s', '%s', '%s' or '%s'", STEP_HEAD,
                   REDUCE_HEAD, POINT_HEAD, OWN_HEAD);
        return MS_E_INPUT;
    }
    return read_lines(&t, body, 1);
}
