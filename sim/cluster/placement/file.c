/* Reads a CSV file with a line "rank,gpu" for every rank of a job (file.h): the placement of a job
 * whose ranks were distributed by a scheduler, for example. */
#include "cluster/placement/file.h"

#include <string.h>

#include "base/config/csv_cells.h"
#include "base/config/ranges.h"

/* NUMBER_MAX: ranks and GPUs are below it. CELLS: cells of a line. NUMBER_SIZE: room for the text
 * of a number, with its NUL [B]. */
enum { NUMBER_MAX = 1 << 24, CELLS = 2, NUMBER_SIZE = 24 };

/* The state of reading a file. */
typedef struct file_reader {
    ms_csv_file file;
    const ms_platform *platform;
    int ranks;
    int *gpus;    /* [ranks] GPU of each rank, -1: not placed yet */
    int *line_of; /* [ranks] the line that placed the rank */
    int *rank_on; /* [GPUs] the rank on each GPU; -1: none yet */
} file_reader;

/* Whether the text of a cell is `word`. */
static bool is_word(const ms_cell *cell, const char *word) {
    size_t length = (size_t)(cell->text.to - cell->text.from);
    return length == strlen(word) && memcmp(cell->text.from, word, length) == 0;
}

/* The number in a cell; -1 if it contains no number, or one that is too large. */
static int number_of(const ms_cell *cell) {
    char text[NUMBER_SIZE];
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

/* Put a rank on a GPU. Numbers that do not exist, and ranks or GPUs that an earlier line has, are
 * reported at the current line. */
static void assign_gpu(file_reader *reader, int rank, int gpu) {
    int gpus = ms_platform_gpus(reader->platform);
    if (rank >= reader->ranks) {
        ms_csv_file_fault(&reader->file, NULL, "no rank %d: the mesh has 0 to %d", rank,
                          reader->ranks - 1);
    } else if (gpu >= gpus) {
        ms_csv_file_fault(&reader->file, NULL, "no GPU %d: the platform '%s' has 0 to %d", gpu,
                          reader->platform->name, gpus - 1);
    } else if (reader->gpus[rank] >= 0) {
        ms_csv_file_fault(&reader->file, NULL, "rank %d stands in line %d already", rank,
                          reader->line_of[rank]);
    } else if (reader->rank_on[gpu] >= 0) {
        ms_csv_file_fault(&reader->file, NULL, "GPU %d has rank %d already, by line %d", gpu,
                          reader->rank_on[gpu], reader->line_of[reader->rank_on[gpu]]);
    } else {
        reader->gpus[rank] = gpu;
        reader->line_of[rank] = reader->file.line;
        reader->rank_on[gpu] = rank;
    }
}

/* Read a line with cells.  cells: [CELLS + 1].  count: cells of the line, at most CELLS + 1. */
static void read_line(file_reader *reader, const ms_cell *cells, int count) {
    if (count == CELLS && is_word(&cells[0], "rank") && is_word(&cells[1], "gpu")) {
        return; /* the header */
    }
    int rank = number_of(&cells[0]);
    int gpu = number_of(&cells[1]);
    if (count != CELLS || rank < 0 || gpu < 0) {
        ms_csv_file_fault(&reader->file, NULL, "expected a rank and its GPU, such as 0,8");
        return;
    }
    assign_gpu(reader, rank, gpu);
}

/* Report ranks without a GPU, as a fault of the file as a whole. */
static void check_complete(file_reader *reader) {
    int missing = 0;
    int first = -1;
    for (int rank = reader->ranks - 1; rank >= 0; rank--) {
        missing += reader->gpus[rank] < 0;
        first = reader->gpus[rank] < 0 ? rank : first;
    }
    reader->file.line = 0;
    if (missing > 0) {
        ms_csv_file_fault(&reader->file, NULL, "%d of %d ranks stand nowhere, the first is rank %d",
                          missing, reader->ranks, first);
    }
}

/* Allocate the tables, with no rank placed.  Returns MS_OK; MS_E_NOMEM. */
static ms_status allocate_tables(file_reader *reader, ms_arena *arena) {
    int gpus = ms_platform_gpus(reader->platform);
    reader->line_of = MS_NEW(arena, int, reader->ranks);
    reader->rank_on = MS_NEW(arena, int, gpus);
    if (reader->line_of == NULL || reader->rank_on == NULL) {
        return MS_E_NOMEM;
    }
    memset(reader->gpus, -1, (size_t)reader->ranks * sizeof *reader->gpus);
    memset(reader->rank_on, -1, (size_t)gpus * sizeof *reader->rank_on);
    return MS_OK;
}

/* Read all lines; if none has a fault, check that every rank has a GPU. */
static void read_body(file_reader *reader) {
    ms_cell cells[CELLS + 1];
    for (int count = ms_csv_file_next(&reader->file, cells, CELLS); count > 0;
         count = ms_csv_file_next(&reader->file, cells, CELLS)) {
        read_line(reader, cells, count);
    }
    if (reader->file.status == MS_OK) {
        check_complete(reader);
    }
}

/* Read the whole file, then parse it line by line; the text is kept for the trace of the run. */
ms_status ms_placement_file(const ms_rank_placement_choice *choice, const ms_platform *platform,
                            int ranks, ms_arena *arena, ms_diag *diag, int *gpus_out,
                            const char **text_out) {
    bool is_relative = choice->file[0] != '/' && choice->folder != NULL;
    file_reader reader = {.platform = platform, .ranks = ranks, .file = {.diag = diag}};
    reader.gpus = gpus_out;
    reader.file.path =
        is_relative ? ms_arena_printf(arena, "%s/%s", choice->folder, choice->file) : choice->file;
    ms_status status = reader.file.path == NULL ? MS_E_NOMEM : allocate_tables(&reader, arena);
    if (status != MS_OK) {
        return status;
    }
    ms_buffer text;
    ms_buffer_init(&text);
    status = ms_file_read(reader.file.path, MS_FILE_CSV, &text, diag);
    if (status == MS_OK) {
        ms_csv_file_begin(&reader.file, ms_buffer_text(&text), text.length);
        read_body(&reader);
        status = reader.file.status;
    }
    if (status == MS_OK) {
        *text_out = ms_arena_strdup(arena, ms_buffer_text(&text));
        status = *text_out == NULL ? MS_E_NOMEM : MS_OK;
    }
    ms_buffer_release(&text);
    return status;
}
