/* Logs of nccl-tests: what a benchmark of collectives prints.
 *
 * Comments tell how many GPUs of which hosts take part and, since version 2.13.7, which collective
 * it is; a line of results has size, count, type, and out of place and in place each time [us],
 * algbw, busbw and the number of wrong results. A file may hold several runs, and each line may
 * begin with what mpirun or srun puts before it. Source: NVIDIA/nccl-tests, src/common.cu. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meshsim/cells.h"
#include "study/cases_file.h"

enum { LINE_MAX_B = 512, WORDS_MAX = 24, HOSTS_MAX = 4096, BLOCK = 4, RESULTS_MIN = 11 };

static const double US_IN_S = 1e-6, MS_IN_US = 1e3;

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
    /* of the run */
    ms_coll_kind kind; /* MS_COLL_NONE: not told yet */
    bool is_starting;  /* its collective is told, its settings are not yet */
    int ranks, threads_gpus, group;
    const char *system;
    const char *hosts[HOSTS_MAX];
    int nodes, results;
    size_t first; /* of its points */
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

/* ---- runs ---- */

/* Points whose collective no line told are of the kind that a later one showed. */
static ms_status settle_run(log_reader *r) {
    ms_vector *points = &r->reading->out->collectives;
    ms_coll_kind kind = r->kind;
    for (size_t i = r->first; i < points->count && kind == MS_COLL_NONE; i++) {
        kind = MS_AT(points, ms_case_collective, i).kind;
    }
    if (kind == MS_COLL_NONE && points->count > r->first) {
        return fault_at(
            r, 0,
            "which collective it is, is told neither in the log nor by the file's name, such as",
            "all_gather.log");
    }
    for (size_t i = r->first; i < points->count; i++) {
        MS_AT(points, ms_case_collective, i).kind = kind;
    }
    r->first = points->count;
    return MS_OK;
}

/* Another run begins: nothing of the one before holds for it. */
static ms_status start_run(log_reader *r, ms_coll_kind kind) {
    ms_status status = settle_run(r);
    r->kind = kind;
    r->ranks = r->threads_gpus = r->nodes = 0;
    r->group = -1;
    r->system = NULL;
    return status;
}

static ms_coll_kind kind_of_name(const log_reader *r) {
    const char *slash = strrchr(r->text->name, '/');
    return kind_in(slash == NULL ? r->text->name : slash);
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

/* All ranks that are listed share one communicator: NCCL_TESTS_SPLIT makes several, of which each
 * is a group, and the times are those of all of them at once. */
static ms_status check_group(log_reader *r, const char *text) {
    int group = 0;
    const char *at = strstr(text, " Group ");
    if (at == NULL || sscanf(at, " Group %d", &group) != 1) {
        return MS_OK; /* versions before groups */
    }
    r->group = r->ranks == 0 ? group : r->group;
    return group == r->group ? MS_OK
                             : fault_at(r, r->line,
                                        "ranks of several groups, whose collectives run at once; "
                                        "expected all of one",
                                        NULL);
}

/* "#  Rank  0 Group  0 Pid  7 on   node1 device  0 [0x07] NVIDIA A100-SXM4-80GB" */
static ms_status read_rank(log_reader *r, const char *text) {
    char host[128];
    const char *on = strstr(text, " on ");
    const char *gpu = strchr(text, ']');
    if (on == NULL || gpu == NULL || sscanf(on + 4, "%127s", host) != 1) {
        return fault_at(r, r->line, "expected '# Rank N ... on HOST device N [BUS] GPU'", NULL);
    }
    ms_status status = check_group(r, text);
    r->ranks++;
    gpu += 1 + strspn(gpu + 1, " \t");
    if (r->system == NULL) {
        r->system = ms_arena_strdup(r->reading->arena, gpu);
    } else if (strcmp(r->system, gpu) != 0) {
        return fault_at(r, r->line, "another GPU than the ranks before:", gpu);
    }
    if (r->system == NULL) {
        return ms_diag_no_memory(r->reading->diag);
    }
    return status == MS_OK ? add_host(r, host) : status;
}

static ms_status read_settings(log_reader *r, const char *text) {
    int threads = 0, gpus = 0;
    ms_status status = start_run(r, r->is_starting ? r->kind : kind_of_name(r));
    r->is_starting = false;
    bool is_sound = sscanf(text, "nThread %d nGpus %d", &threads, &gpus) == 2 && threads >= 0 &&
                    gpus >= 0 && threads <= HOSTS_MAX && gpus <= HOSTS_MAX;
    r->threads_gpus = is_sound ? threads * gpus : 0;
    return status;
}

static ms_status read_starting(log_reader *r, const char *text) {
    ms_status status = start_run(r, kind_in(text));
    r->is_starting = true;
    return r->kind == MS_COLL_NONE ? fault_at(r, r->line, "a collective that is not read", NULL)
                                   : status;
}

static bool begins(const char *text, const char *beginning) {
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

static ms_status read_comment(log_reader *r, const char *text) {
    const char *comment = text + strspn(text, "# \t");
    return begins(comment, "nThread ")                    ? read_settings(r, comment)
           : begins(comment, "Rank ")                     ? read_rank(r, comment)
           : begins(comment, "Collective test starting:") ? read_starting(r, comment)
                                                          : MS_OK;
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

/* One of the two blocks of a line: time [us], algbw, busbw.  Returns false where it is none. */
static bool read_block(char **words, double block[BLOCK - 1]) {
    bool is_sound = true;
    for (int i = 0; i < BLOCK - 1 && is_sound; i++) {
        is_sound = read_number(words[i], &block[i]);
    }
    return is_sound && block[0] > 0;
}

/* Whether a time is in milliseconds, as in logs of version 1: its bandwidth says so. */
static bool is_in_ms(double size_B, const double *block) {
    double GBps = size_B / (block[0] * US_IN_S) * 1e-9;
    return block[1] > 0.1 && GBps > 900 * block[1] && GBps < 1100 * block[1];
}

/* Wrong results of both blocks; "N/A" where nobody looked. Before version 2.12 the column was the
 * largest deviation, "5e-07". Source of what is allowed: NVIDIA/nccl-tests, src/common.cu,
 * DeltaMaxValue, of half precision, the least exact type. */
static const char *find_wrong(char **blocks) {
    static const double DEVIATION_MAX = 1e-2;
    for (int i = 0; i < 2; i++) {
        const char *word = blocks[(i + 1) * BLOCK - 1];
        double wrong = 0;
        double allowed = strchr(word, 'e') != NULL ? DEVIATION_MAX : 0;
        if (read_number(word, &wrong) && !(fabs(wrong) <= allowed)) {
            return word;
        }
    }
    return NULL;
}

static void add_point(log_reader *r, double size_B, const double *block) {
    int ranks = r->ranks > 0 ? r->ranks : r->threads_gpus;
    ms_coll_kind kind = r->kind != MS_COLL_NONE ? r->kind : guess_kind(ranks, block[1], block[2]);
    const ms_case_collective point = {.system = r->system == NULL ? "unknown" : r->system,
                                      .kind = kind,
                                      .ranks = ranks,
                                      .nodes = r->nodes == 0 ? 1 : r->nodes,
                                      .size_B = size_B};
    ms_cases_add_collective(r->reading, point, block[0] * US_IN_S, 0);
}

/* Size, and the two blocks of results: out of place, and in place. */
static ms_status read_result(log_reader *r, char *text) {
    char *words[WORDS_MAX];
    double size_B = 0, block[BLOCK - 1];
    int words_count = split(text, words);
    if (words_count < RESULTS_MIN) {
        return fault_at(r, r->line,
                        "expected size, count, type and twice time, algbw, busbw and wrong results",
                        NULL);
    }
    char **blocks = &words[words_count - 2 * BLOCK];
    if (!read_number(words[0], &size_B) || size_B < 0 || !read_block(blocks, block)) {
        return fault_at(r, r->line, "expected a size and a time above 0", NULL);
    }
    block[0] *= is_in_ms(size_B, block) ? MS_IN_US : 1;
    const char *wrong = find_wrong(blocks);
    if (wrong != NULL) {
        return fault_at(r, r->line, "a benchmark with wrong results:", wrong);
    }
    if ((r->ranks > 0 ? r->ranks : r->threads_gpus) < 2) {
        return fault_at(r, r->line,
                        "results without '# Rank' lines before them that tell of 2 GPUs or more",
                        NULL);
    }
    r->results++;
    if (size_B > 0) {
        add_point(r, size_B, block);
    }
    return MS_OK;
}

/* ---- lines ---- */

/* Whether a line is one of nccl-tests: empty, a comment, or one that begins with two whole numbers.
 */
static bool is_own(ms_span line) {
    const char *at = line.from;
    int numbers = 0;
    for (; at < line.to && numbers < 2; numbers++) {
        const char *first = at;
        while (at < line.to && isdigit((unsigned char)*at)) {
            at++;
        }
        if (at == first || at == line.to || *at != ' ') {
            break;
        }
        while (at < line.to && *at == ' ') {
            at++;
        }
    }
    return line.from >= line.to || *line.from == '#' || numbers == 2;
}

/* The end of what stands before a line: "[1,0]<stdout>:" of mpirun, "0:" of srun, "[pod]" and
 * "pod:" of what shows several logs, "service  |", and a time, "2026-01-31T12:00:00Z".  NULL: none
 * is there. */
static const char *label_end(ms_span line) {
    const char *at = line.from;
    bool is_bracket = at < line.to && *at == '[';
    if (is_bracket) {
        const char *close = memchr(at, ']', (size_t)(line.to - at));
        at = close == NULL ? line.to : close + 1;
        bool is_stream = line.to - at > 5 && memcmp(at, "<std", 4) == 0;
        const char *colon = is_stream ? memchr(at, ':', (size_t)(line.to - at)) : NULL;
        return colon != NULL ? colon + 1 : close == NULL ? NULL : at;
    }
    while (at < line.to && *at != ' ' && *at != '#') {
        at++;
    }
    bool is_word = at > line.from && (at == line.to || *at == ' ');
    const char *bar = at;
    while (is_word && bar < line.to && *bar == ' ') {
        bar++;
    }
    bool has_bar = is_word && bar < line.to && *bar == '|';
    bool has_colon = is_word && at[-1] == ':';
    bool is_time = is_word && at - line.from > 18 && line.from[4] == '-' && line.from[10] == 'T';
    return has_bar ? bar + 1 : has_colon || is_time ? at : NULL;
}

/* A line without what launchers and tools that collect logs put before it. */
static ms_span take_label(ms_span line) {
    ms_span rest = line;
    for (int i = 0; i < 3 && !is_own(rest); i++) {
        const char *end = label_end(rest);
        if (end == NULL) {
            break;
        }
        rest = ms_span_trim((ms_span){end, rest.to});
    }
    return is_own(rest) ? rest : line;
}

/* A line of results; messages of the library and of others say nothing. */
static ms_status read_other(log_reader *r, char *text) {
    char first[LINE_MAX_B];
    bool is_result =
        sscanf(text, "%511s", first) == 1 && strspn(first, "0123456789") == strlen(first);
    return is_result ? read_result(r, text) : MS_OK;
}

static ms_status read_line(log_reader *r, ms_span line) {
    char text[LINE_MAX_B];
    line = take_label(ms_span_trim(line));
    size_t length = (size_t)(line.to - line.from);
    if (length >= sizeof text) { /* messages of the library are longer than any line of results */
        return MS_OK;
    }
    memcpy(text, line.from, length);
    text[length] = '\0';
    if (length == 0) {
        return MS_OK;
    }
    return text[0] == '#' ? read_comment(r, text) : read_other(r, text);
}

bool ms_cases_is_nccl_log(const ms_text *text) {
    static const char HEAD[] = "# nThread ";
    ms_span body = ms_cells_body(text->data, text->length_B), line;
    for (int i = 0; i < 10000 && ms_cells_take_line(&body, &line); i++) {
        if (line.from == NULL) {
            continue;
        }
        line = take_label(ms_span_trim(line));
        bool is_long = (size_t)(line.to - line.from) >= sizeof HEAD - 1;
        if (is_long && memcmp(line.from, HEAD, sizeof HEAD - 1) == 0) {
            return true;
        }
    }
    return false;
}

ms_status ms_cases_read_nccl_log(const ms_cases_reading *reading, const ms_text *text) {
    log_reader *r = MS_NEW(reading->arena, log_reader, 1);
    if (r == NULL) {
        return ms_diag_no_memory(reading->diag);
    }
    *r = (log_reader){.reading = reading,
                      .text = text,
                      .body = ms_cells_body(text->data, text->length_B),
                      .first = reading->out->collectives.count};
    r->kind = kind_of_name(r);
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
    return status == MS_OK ? settle_run(r) : status;
}
