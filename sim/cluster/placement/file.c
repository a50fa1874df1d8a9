#include "cluster/placement/file.h"

#include <string.h>

#include "base/config/csv_cells.h"
#include "base/config/ranges.h"

enum { NUMBER_MAX = 1 << 24, CELLS = 2, SHOWN_MAX = 24 };

/* A file while it is read. */
typedef struct reader {
    const char *path;
    ms_span body; /* the whole text */
    int line;     /* under way, from 1 */
    const ms_platform *platform;
    int ranks;
    int *gpus;    /* [ranks] GPU of each rank, -1: not placed yet */
    int *line_of; /* [ranks] the line that placed it */
    int *rank_on; /* [GPUs] -1: none yet */
    ms_diag *diag;
    ms_status status;
} reader;

static ms_mark mark_of(const reader *r) {
    return (ms_mark){.file = r->path,
                     .source = r->body.from,
                     .source_B = (size_t)(r->body.to - r->body.from),
                     .line = r->line};
}

/* Report at the line under way. */
#define FAULT(r, ...)                                                                              \
    do {                                                                                           \
        ms_mark mark = mark_of(r);                                                                 \
        ms_diag_at((r)->diag, &mark, NULL, __VA_ARGS__);                                           \
        (r)->status = MS_E_INPUT;                                                                  \
    } while (0)

static bool is_word(const ms_cell *cell, const char *word) {
    size_t length = (size_t)(cell->text.to - cell->text.from);
    return length == strlen(word) && memcmp(cell->text.from, word, length) == 0;
}

/* The number of a cell; -1: it holds no number, or too large a one. */
static int number_of(const ms_cell *cell) {
    char text[SHOWN_MAX];
    size_t length = (size_t)(cell->text.to - cell->text.from);
    int number = -1;
    if (cell->fault != NULL || length == 0 || length >= sizeof text ||
        strspn(cell->text.from, "0123456789") < length) {
        return -1;
    }
    memcpy(text, cell->text.from, length);
    text[length] = '\0';
    return ms_ranges_read(text, NUMBER_MAX, &number) == 1 ? number : -1;
}

static void place(reader *r, int rank, int gpu) {
    int gpus = ms_platform_gpus(r->platform);
    if (rank >= r->ranks) {
        FAULT(r, "no rank %d: the mesh has 0 to %d", rank, r->ranks - 1);
    } else if (gpu >= gpus) {
        FAULT(r, "no GPU %d: the platform '%s' has 0 to %d", gpu, r->platform->name, gpus - 1);
    } else if (r->gpus[rank] >= 0) {
        FAULT(r, "rank %d stands in line %d already", rank, r->line_of[rank]);
    } else if (r->rank_on[gpu] >= 0) {
        FAULT(r, "GPU %d has rank %d already, by line %d", gpu, r->rank_on[gpu],
              r->line_of[r->rank_on[gpu]]);
    } else {
        r->gpus[rank] = gpu;
        r->line_of[rank] = r->line;
        r->rank_on[gpu] = rank;
    }
}

static bool says_nothing(ms_span line) {
    if (line.from == NULL) {
        return true; /* without any character */
    }
    line = ms_span_trim(line);
    return line.from == line.to || line.from[0] == '#';
}

static void read_line(reader *r, ms_span line) {
    ms_cell cells[CELLS + 1] = {{.fault = NULL}};
    int count = 0;
    if (says_nothing(line)) {
        return;
    }
    while (count <= CELLS && ms_cells_take(&line, &cells[count])) {
        count++;
    }
    bool is_head = count == CELLS && is_word(&cells[0], "rank") && is_word(&cells[1], "gpu");
    if (is_head) {
        return;
    }
    int rank = number_of(&cells[0]);
    int gpu = number_of(&cells[1]);
    if (count != CELLS || rank < 0 || gpu < 0) {
        FAULT(r, "expected a rank and its GPU, such as 0,8");
        return;
    }
    place(r, rank, gpu);
}

/* Every rank has a GPU. */
static void check_complete(reader *r) {
    int missing = 0;
    int first = -1;
    for (int rank = r->ranks - 1; rank >= 0; rank--) {
        missing += r->gpus[rank] < 0;
        first = r->gpus[rank] < 0 ? rank : first;
    }
    r->line = 0;
    if (missing > 0) {
        FAULT(r, "%d of %d ranks stand nowhere, the first is rank %d", missing, r->ranks, first);
    }
}

static ms_status prepare(reader *r, ms_arena *arena) {
    int gpus = ms_platform_gpus(r->platform);
    r->line_of = MS_NEW(arena, int, r->ranks);
    r->rank_on = MS_NEW(arena, int, gpus);
    if (r->line_of == NULL || r->rank_on == NULL) {
        return MS_E_NOMEM;
    }
    memset(r->gpus, -1, (size_t)r->ranks * sizeof *r->gpus);
    memset(r->rank_on, -1, (size_t)gpus * sizeof *r->rank_on);
    return MS_OK;
}

static void read_body(reader *r) {
    ms_span rest = r->body;
    ms_span line;
    if (memchr(rest.from, '\0', (size_t)(rest.to - rest.from)) != NULL) {
        FAULT(r, "holds a NUL character, which is no text");
        return;
    }
    for (r->line = 1; ms_cells_take_line(&rest, &line); r->line++) {
        read_line(r, line);
    }
    if (r->status == MS_OK) {
        check_complete(r);
    }
}

ms_status ms_placement_file(const ms_rank_placement_choice *choice, const ms_platform *platform,
                            int ranks, ms_arena *arena, ms_diag *diag, int *gpus_out,
                            const char **text_out) {
    bool is_relative = choice->file[0] != '/' && choice->folder != NULL;
    reader r = {.platform = platform, .ranks = ranks, .diag = diag};
    r.gpus = gpus_out;
    r.path =
        is_relative ? ms_arena_printf(arena, "%s/%s", choice->folder, choice->file) : choice->file;
    ms_status status = r.path == NULL ? MS_E_NOMEM : prepare(&r, arena);
    if (status != MS_OK) {
        return status;
    }
    ms_buffer text;
    ms_buffer_init(&text);
    status = ms_file_read(r.path, MS_FILE_CSV, &text, diag);
    if (status == MS_OK) {
        r.body = ms_cells_body(ms_buffer_text(&text), text.length);
        read_body(&r);
        status = r.status;
    }
    if (status == MS_OK) {
        *text_out = ms_arena_strdup(arena, ms_buffer_text(&text));
        status = *text_out == NULL ? MS_E_NOMEM : MS_OK;
    }
    ms_buffer_release(&text);
    return status;
}
