/* Logs of nccl-tests: what a benchmark of collectives prints.
 *
 * Comments tell how many GPUs of which hosts take part and, since version 2.13.7, which collective
 * it is; a line of results has size, count, type, and out of place and in place each time [us],
 * algbw, busbw and the number of wrong results. Source: NVIDIA/nccl-tests, src/common.cu. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meshsim/cells.h"
#include "study/cases_file.h"

enum { LINE_MAX_B = 512, WORDS_MAX = 24, HOSTS_MAX = 4096, BLOCK = 4, RESULTS_MIN = 11 };

static const double US_IN_S = 1e-6;

/* Programs of nccl-tests. */
static const struct {
    const char *program; /* part of its name, and of the names that users give logs */
    ms_coll_kind kind;
} PROGRAMS[] = {{"all_reduce", MS_COLL_ALL_REDUCE},         {"all_gather", MS_COLL_ALL_GATHER},
                {"reduce_scatter", MS_COLL_REDUCE_SCATTER}, {"alltoall", MS_COLL_ALL_TO_ALL},
                {"all_to_all", MS_COLL_ALL_TO_ALL},         {"allreduce", MS_COLL_ALL_REDUCE}};

/* A log while it is read. */
typedef struct log_reader {
    const ms_cases_reading *reading;
    const ms_text *text;
    ms_span body;
    int line;
    ms_coll_kind kind; /* MS_COLL_NONE: not told yet */
    int ranks, threads_gpus;
    const char *system;
    const char *hosts[HOSTS_MAX];
    int nodes, results;
} log_reader;

static ms_status fault_at(const log_reader *r, int line, const char *what, const char *word) {
    const ms_mark mark = {.file = r->text->name,
                          .source = r->body.from,
                          .source_B = (size_t)(r->body.to - r->body.from),
                          .line = line};
    ms_diag_at(r->reading->diag, &mark, NULL, "%s%s%s%s", what, word == NULL ? "" : " '",
               word == NULL ? "" : word, word == NULL ? "" : "'");
    return MS_E_INPUT;
}

static ms_coll_kind kind_in(const char *text) {
    for (size_t i = 0; i < sizeof PROGRAMS / sizeof PROGRAMS[0]; i++) {
        if (strstr(text, PROGRAMS[i].program) != NULL) {
            return PROGRAMS[i].kind;
        }
    }
    return MS_COLL_NONE;
}

/* ---- comments ---- */

/* A host that takes part, once. */
static ms_status add_host(log_reader *r, const char *name) {
    for (int i = 0; i < r->nodes; i++) {
        if (strcmp(r->hosts[i], name) == 0) {
            return MS_OK;
        }
    }
    if (r->nodes == HOSTS_MAX) {
        return fault_at(r, r->line, "more hosts than are read", NULL);
    }
    r->hosts[r->nodes] = ms_arena_strdup(r->reading->arena, name);
    return r->hosts[r->nodes++] == NULL ? ms_diag_no_memory(r->reading->diag) : MS_OK;
}

/* "#  Rank  0 Group  0 Pid  7 on   node1 device  0 [0x07] NVIDIA A100-SXM4-80GB" */
static ms_status read_rank(log_reader *r, const char *text) {
    char host[128];
    const char *on = strstr(text, " on ");
    const char *gpu = strchr(text, ']');
    if (on == NULL || gpu == NULL || sscanf(on + 4, "%127s", host) != 1) {
        return fault_at(r, r->line, "expected '# Rank N ... on HOST device N [BUS] GPU'", NULL);
    }
    r->ranks++;
    gpu += 1 + strspn(gpu + 1, " \t");
    if (r->system == NULL) {
        r->system = ms_arena_strdup(r->reading->arena, gpu);
    } else if (strcmp(r->system, gpu) != 0) {
        return fault_at(r, r->line, "another GPU than the ranks before:", gpu);
    }
    return r->system == NULL ? ms_diag_no_memory(r->reading->diag) : add_host(r, host);
}

static ms_status read_comment(log_reader *r, const char *text) {
    int threads = 0, gpus = 0;
    const char *test = strstr(text, "Collective test starting:");
    const char *rank = text + 1 + strspn(text + 1, " \t");
    if (test != NULL) {
        r->kind = kind_in(test);
        return r->kind == MS_COLL_NONE ? fault_at(r, r->line, "a collective that is not read", NULL)
                                       : MS_OK;
    }
    if (sscanf(rank, "nThread %d nGpus %d", &threads, &gpus) == 2) {
        r->threads_gpus = threads * gpus;
    }
    return strncmp(rank, "Rank ", 5) == 0 ? read_rank(r, rank) : MS_OK;
}

/* ---- results ---- */

static int split(char *text, char *words[WORDS_MAX]) {
    int count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(text, " \t", &rest); word != NULL && count < WORDS_MAX;
         word = strtok_r(NULL, " \t", &rest)) {
        words[count++] = word;
    }
    return count;
}

static bool read_number(const char *word, double *value_out) {
    char *end = NULL;
    *value_out = strtod(word, &end);
    return end != word && *end == '\0';
}

/* An all-reduce is told by its bus bandwidth, 2 (n - 1) / n of the other one; the rest look alike.
 */
static ms_coll_kind guess_kind(int ranks, double algbw, double busbw) {
    double factor = 2.0 * (ranks - 1) / ranks;
    bool is_reduce =
        algbw > 1 && busbw > (factor - 0.05) * algbw && busbw < (factor + 0.05) * algbw;
    return is_reduce ? MS_COLL_ALL_REDUCE : MS_COLL_NONE;
}

/* Size, and the first block of results: out of place. */
static ms_status read_result(log_reader *r, char *text) {
    char *words[WORDS_MAX];
    double size_B = 0, block[BLOCK - 1];
    int count = split(text, words);
    if (count < RESULTS_MIN) {
        return fault_at(r, r->line,
                        "expected size, count, type and twice time, algbw, busbw and wrong results",
                        NULL);
    }
    char **out_of_place = &words[count - 2 * BLOCK];
    bool is_sound = read_number(words[0], &size_B);
    for (int i = 0; i < BLOCK - 1 && is_sound; i++) {
        is_sound = read_number(out_of_place[i], &block[i]);
    }
    if (!is_sound || size_B < 0 || block[0] <= 0) {
        return fault_at(r, r->line, "expected a size and a time above 0", NULL);
    }
    double wrong = 0;
    if (read_number(out_of_place[BLOCK - 1], &wrong) && wrong != 0) {
        return fault_at(r, r->line, "a benchmark with wrong results:", out_of_place[BLOCK - 1]);
    }
    int ranks = r->ranks > 0 ? r->ranks : r->threads_gpus;
    if (ranks < 2) {
        return fault_at(r, r->line,
                        "results without '# Rank' lines before them that tell of 2 GPUs or more",
                        NULL);
    }
    ms_coll_kind kind = r->kind != MS_COLL_NONE ? r->kind : guess_kind(ranks, block[1], block[2]);
    r->results++;
    if (size_B == 0) {
        return MS_OK;
    }
    const ms_case_collective point = {.system = r->system == NULL ? "unknown" : r->system,
                                      .kind = kind,
                                      .ranks = ranks,
                                      .nodes = r->nodes == 0 ? 1 : r->nodes,
                                      .size_B = size_B};
    ms_cases_add_collective(r->reading, point, block[0] * US_IN_S, 0);
    return MS_OK;
}

/* Points whose kind no line told are of the kind that a later one showed. */
static ms_status settle_kind(log_reader *r, size_t first) {
    ms_vector *points = &r->reading->out->collectives;
    ms_coll_kind kind = r->kind;
    for (size_t i = first; i < points->count && kind == MS_COLL_NONE; i++) {
        kind = MS_AT(points, ms_case_collective, i).kind;
    }
    if (kind == MS_COLL_NONE) {
        return fault_at(
            r, 0,
            "which collective it is, is told neither in the log nor by the file's name, such as",
            "all_gather.log");
    }
    for (size_t i = first; i < points->count; i++) {
        MS_AT(points, ms_case_collective, i).kind = kind;
    }
    return MS_OK;
}

static ms_status read_line(log_reader *r, ms_span line) {
    char text[LINE_MAX_B];
    line = ms_span_trim(line);
    size_t length = (size_t)(line.to - line.from);
    if (length == 0 || length >= sizeof text) {
        return MS_OK; /* messages of the library may be longer than any line of results */
    }
    memcpy(text, line.from, length);
    text[length] = '\0';
    if (text[0] == '#') {
        return read_comment(r, text);
    }
    char first[LINE_MAX_B];
    bool is_result =
        sscanf(text, "%511s", first) == 1 && strspn(first, "0123456789") == strlen(first);
    return is_result ? read_result(r, text) : MS_OK;
}

bool ms_cases_is_nccl_log(const ms_text *text) {
    static const char HEAD[] = "# nThread ";
    ms_span body = ms_cells_body(text->data, text->length_B), line;
    for (int i = 0; i < 10000 && ms_cells_take_line(&body, &line); i++) {
        bool is_long = line.from != NULL && (size_t)(line.to - line.from) >= sizeof HEAD - 1;
        if (is_long && memcmp(line.from, HEAD, sizeof HEAD - 1) == 0) {
            return true;
        }
    }
    return false;
}

ms_status ms_cases_read_nccl_log(const ms_cases_reading *reading, const ms_text *text) {
    const char *slash = strrchr(text->name, '/');
    log_reader *r = MS_NEW(reading->arena, log_reader, 1);
    if (r == NULL) {
        return ms_diag_no_memory(reading->diag);
    }
    *r = (log_reader){.reading = reading,
                      .text = text,
                      .body = ms_cells_body(text->data, text->length_B),
                      .kind = kind_in(slash == NULL ? text->name : slash)};
    size_t first = reading->out->collectives.count;
    ms_span body = r->body, line;
    ms_status status = MS_OK;
    while (ms_cells_take_line(&body, &line)) {
        r->line++;
        ms_status one = line.from == NULL ? MS_OK : read_line(r, line);
        if (one == MS_E_NOMEM) {
            return one;
        }
        status = status == MS_OK ? one : status;
    }
    if (status == MS_OK && r->results == 0) {
        status = fault_at(r, 0, "a log of nccl-tests without a line of results", NULL);
    }
    return status == MS_OK ? settle_kind(r, first) : status;
}
