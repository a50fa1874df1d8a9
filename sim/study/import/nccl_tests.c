/* `import nccl-tests`: logs of nccl-tests as one table of points, which `calibrate` and `validate`
 * read as they read the logs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meshsim/collective.h"
#include "study/cases_file.h"
#include "study/import/kinds.h"

/* A line of the table. */
typedef struct log_point {
    const char *system, *op;
    int64_t ranks, nodes, size_B;
    double time_us, busbw_gb_s, in_place_us, in_place_gb_s; /* NAN: not measured */
} log_point;

#define OF(member) offsetof(log_point, member)

/* The first six are those by which the reader of tables knows it. */
static const ms_table_column COLUMNS[] = {
    {"system", MS_COLUMN_TEXT, .offset = OF(system)},
    {"op", MS_COLUMN_TEXT, .offset = OF(op)},
    {"ranks", MS_COLUMN_INT, .offset = OF(ranks)},
    {"nodes", MS_COLUMN_INT, .offset = OF(nodes)},
    {"bytes", MS_COLUMN_INT, .offset = OF(size_B)},
    {"time_us", MS_COLUMN_NUMBER, .offset = OF(time_us)},
    {"busbw_gb_s", MS_COLUMN_NUMBER, .offset = OF(busbw_gb_s)},
    {"in_place_time_us", MS_COLUMN_NUMBER, .offset = OF(in_place_us)},
    {"in_place_busbw_gb_s", MS_COLUMN_NUMBER, .offset = OF(in_place_gb_s)},
    {0},
};

static const double US_IN_S = 1e-6;

/* A figure with the digits that a log has of it, without those of the way through seconds. */
static double rounded(double value) {
    char text[40];
    snprintf(text, sizeof text, "%.9g", value);
    return isfinite(value) ? strtod(text, NULL) : NAN;
}

static double busbw_gb_s(const ms_case_collective *point, double time_s) {
    return rounded(ms_coll_busbw_Bps(point->kind, point->ranks, point->size_B, time_s) /
                   MS_GB_S_IN_BPS);
}

static log_point row_of(const ms_case_collective *point) {
    bool has_in_place = point->in_place_s > 0;
    return (log_point){
        .system = point->system,
        .op = ms_coll_kind_name(point->kind),
        .ranks = point->ranks,
        .nodes = point->nodes,
        .size_B = (int64_t)point->size_B,
        .time_us = rounded(point->measured_s / US_IN_S),
        .busbw_gb_s = busbw_gb_s(point, point->measured_s),
        .in_place_us = has_in_place ? rounded(point->in_place_s / US_IN_S) : NAN,
        .in_place_gb_s = has_in_place ? busbw_gb_s(point, point->in_place_s) : NAN,
    };
}

/* Whether two points are of one benchmark. */
static bool is_same_run(const ms_case_collective *a, const ms_case_collective *b) {
    return a->kind == b->kind && a->ranks == b->ranks && a->nodes == b->nodes &&
           strcmp(a->system, b->system) == 0;
}

/* A line for each benchmark, with its points and the largest bus bandwidth. */
static const char *sum_up(const ms_vector *points, ms_arena *arena) {
    ms_buffer text;
    ms_buffer_init(&text);
    for (size_t i = 0; i < points->count;) {
        const ms_case_collective *first = &MS_AT(points, ms_case_collective, i);
        size_t start = i;
        double best = 0;
        for (; i < points->count && is_same_run(first, &MS_AT(points, ms_case_collective, i));
             i++) {
            const ms_case_collective *point = &MS_AT(points, ms_case_collective, i);
            best = fmax(best, busbw_gb_s(point, point->measured_s));
        }
        ms_buffer_printf(&text,
                         "%-10s %s, %d ranks on %d node%s of '%s': %zu points, at most %.4g "
                         "GB/s bus bandwidth\n",
                         start == 0 ? "points" : "", ms_coll_kind_name(first->kind), first->ranks,
                         first->nodes, first->nodes == 1 ? "" : "s", first->system, i - start,
                         best);
    }
    return ms_buffer_keep(&text, arena);
}

static ms_status read_log(const ms_cases_reading *reading, const char *path) {
    ms_buffer bytes;
    ms_buffer_init(&bytes);
    ms_status status = ms_file_read(path, MS_FILE_TEXT, &bytes, reading->diag);
    if (status == MS_OK) {
        const ms_text text = {path, ms_buffer_text(&bytes), bytes.length};
        status = ms_cases_read_nccl_log(reading, &text);
    } else if (status == MS_E_NOMEM) {
        ms_diag_no_memory(reading->diag);
    }
    ms_buffer_release(&bytes);
    return status;
}

/* All logs, also those behind a faulty one. */
static ms_status read_logs(const ms_cases_reading *reading, const ms_import_source *source) {
    ms_status status = MS_OK;
    for (size_t i = 0; i < source->file_count; i++) {
        ms_status one = read_log(reading, source->files[i]);
        if (one == MS_E_NOMEM) {
            return one;
        }
        status = status == MS_OK ? one : status;
    }
    return reading->out->collectives.failed ? ms_diag_no_memory(reading->diag) : status;
}

static ms_status fill_table(const ms_vector *points, ms_arena *arena, ms_imported *out) {
    log_point *rows = MS_NEW(arena, log_point, points->count);
    out->summary = sum_up(points, arena);
    if (rows == NULL || out->summary == NULL) {
        return MS_E_NOMEM;
    }
    for (size_t i = 0; i < points->count; i++) {
        rows[i] = row_of(&MS_AT(points, ms_case_collective, i));
    }
    out->table = (ms_table){.columns = COLUMNS, .reason_offset = MS_TABLE_KEEPS_ALL};
    return ms_table_fill(&out->table, rows, sizeof *rows, points->count, arena);
}

static ms_status read_nccl_tests(const ms_import_source *source, ms_arena *arena, ms_diag *diag,
                                 ms_imported *out) {
    ms_measurements found;
    ms_measurements_init(&found);
    const ms_cases_reading reading = {
        .arena = arena, .diag = diag, .out = &found, .keys = &out->keys};
    ms_status status = read_logs(&reading, source);
    if (status == MS_OK && fill_table(&found.collectives, arena, out) != MS_OK) {
        status = ms_diag_no_memory(diag);
    }
    ms_measurements_release(&found);
    return status;
}

const ms_import_kind ms_import_nccl_tests = {
    .name = "nccl-tests",
    .product = MS_IMPORT_TABLE,
    .read = read_nccl_tests,
};
