#include "cli/search_files.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/failure.h"
#include "base/units.h"
#include "search/table.h"

/* ---- rows ---- */

/* A row of the files. */
typedef struct found_line {
    const char *mesh, *order, *settings;
    ms_candidate_words words;
    int64_t rank, gpus, v, micro_batch, zero;
    ms_run_figures figures;
    double bound_s;
    const char *limited_by;
    double limit_share;
} found_line;

#define LINE_TEXT(name_, member)                                                                   \
    { .name = (name_), .type = MS_COLUMN_TEXT, .offset = offsetof(found_line, member) }
#define LINE_INT(name_, member)                                                                    \
    { .name = (name_), .type = MS_COLUMN_INT, .offset = offsetof(found_line, member) }
#define LINE_NUMBER(name_, member)                                                                 \
    { .name = (name_), .type = MS_COLUMN_NUMBER, .offset = offsetof(found_line, member) }

static const ms_table_column COLUMNS[] = {
    LINE_TEXT("mesh", mesh),
    LINE_INT("rank", rank),
    LINE_TEXT("order", order),
    LINE_INT("gpus", gpus),
    LINE_TEXT("platform", words.platform),
    LINE_TEXT("schedule", words.schedule),
    LINE_INT("v", v),
    LINE_INT("micro_batch", micro_batch),
    LINE_TEXT("recompute", words.recompute),
    LINE_INT("zero", zero),
    LINE_NUMBER("step_time_s", figures.step_time_s),
    LINE_NUMBER("bound_s", bound_s),
    LINE_NUMBER("tokens_per_s", figures.tokens_per_s),
    LINE_NUMBER("mfu", figures.mfu),
    LINE_NUMBER("cost", figures.cost_USD),
    LINE_NUMBER("cost_per_million_tokens", figures.cost_USD_per_million_tokens),
    LINE_NUMBER("energy_J", figures.energy_J),
    LINE_NUMBER("peak_B", figures.peak_B),
    LINE_NUMBER("bubble_fraction", figures.bubble_fraction),
    LINE_NUMBER("exposed_fraction", figures.exposed_fraction),
    LINE_TEXT("limited_by", limited_by),
    LINE_NUMBER("limit_share", limit_share),
    LINE_TEXT("settings", settings),
    {0},
};

/* Words with something between them, in `arena`. */
static const char *join(const char *const *words, size_t count, const char *between,
                        ms_arena *arena) {
    ms_buffer text;
    ms_buffer_init(&text);
    for (size_t i = 0; i < count; i++) {
        ms_buffer_printf(&text, "%s%s", i == 0 ? "" : between, words[i]);
    }
    return ms_buffer_keep(&text, arena);
}

static void fill_line(const ms_search_row *row, size_t rank, ms_arena *arena, found_line *line) {
    const ms_job_spec *spec = &row->spec;
    const ms_run_figures *figures = &row->figures;
    const char *sizes[MS_MESH_AXES_MAX];
    *line = (found_line){.rank = (int64_t)rank + 1,
                         .words = ms_show_candidate_words(spec),
                         .gpus = ms_spec_ranks(spec),
                         .v = figures->chunks,
                         .micro_batch = spec->batch.micro,
                         .zero = spec->data.zero,
                         .figures = *figures,
                         .bound_s = row->bound_s,
                         .limited_by = row->limited_by,
                         .limit_share = row->limit_share};
    for (int axis = 0; axis < spec->mesh.axes; axis++) {
        sizes[axis] =
            ms_arena_printf(arena, "%s=%d", spec->mesh.names[axis], spec->mesh.sizes[axis]);
    }
    if (!arena->has_failed) {
        line->mesh = join(sizes, (size_t)spec->mesh.axes, " ", arena);
        line->order = join(spec->mesh.names, (size_t)spec->mesh.axes, " ", arena);
        line->settings = join(row->settings.items, row->settings.count, "; ", arena);
    }
}

static found_line *make_lines(const ms_shown_search *shown, ms_arena *arena) {
    const ms_search_findings *result = shown->result;
    found_line *lines = MS_NEW(arena, found_line, result->row_count + 1);
    for (size_t i = 0; i < result->row_count && lines != NULL; i++) {
        fill_line(&result->rows[i], i, arena, &lines[i]);
    }
    return arena->has_failed ? NULL : lines;
}

void ms_show_search_csv(const ms_shown_search *shown, ms_arena *arena, ms_buffer *out) {
    ms_table table = {.columns = COLUMNS, .reason_offset = MS_TABLE_KEEPS_ALL};
    found_line *lines = make_lines(shown, arena);
    bool has_all = lines != NULL && ms_table_fill(&table, lines, sizeof *lines,
                                                  shown->result->row_count, arena) == MS_OK;
    if (has_all) {
        ms_table_write_csv(&table, out);
    }
    out->failed = out->failed || !has_all;
}

/* ---- the winner ---- */

/* A file that stands in a folder by its whole path; any other name as it is. */
static const char *make_absolute(const char *folder, const char *name, ms_arena *arena) {
    static const char *const ENDINGS[] = {"", ".yaml"};
    for (size_t i = 0; name != NULL && name[0] != '/' && i < 2; i++) {
        const char *path = ms_arena_printf(arena, "%s/%s%s", folder, name, ENDINGS[i]);
        char *real = path == NULL ? NULL : realpath(path, NULL);
        if (real != NULL) {
            const char *copy = ms_arena_strdup(arena, real);
            (free)(real); /* realpath's own */
            return copy;
        }
        if (path != NULL) {
            ms_failure_note_file(path, errno);
        }
    }
    return name;
}

void ms_show_search_workload(const ms_search_row *row, ms_arena *arena, ms_buffer *out) {
    ms_job_spec spec = row->spec;
    const char *folder = spec.folder == NULL ? "." : spec.folder;
    spec.platform.file = make_absolute(folder, spec.platform.file, arena);
    spec.schedule.csv = make_absolute(folder, spec.schedule.csv, arena);
    spec.placement.file = make_absolute(folder, spec.placement.file, arena);
    out->failed = out->failed || ms_job_spec_write(&spec, out) != MS_OK || arena->has_failed;
}
