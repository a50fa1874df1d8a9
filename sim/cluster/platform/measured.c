/* Tables of measured kernels of a GPU type: reads them from CSV lines such as
 * "gemm,4096x4096x8192,163 us", and computes by which factor the measured times differ from those
 * of the cost model (ms_measured_ratio). */
#include "cluster/platform/measured.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/config/csv_cells.h"
#include "base/units.h"

/* CELLS: cells of a line. TEXT_MAX: room for the text of a cell, with its NUL [B]. */
enum { CELLS = 3, TEXT_MAX = 96 };

/* Names of the kernels, how many numbers a shape of each has, and the form of the shape. */
static const struct {
    const char *name;
    int fewest, most;
    const char *shape;
} KERNELS[MS_MEASURED_COUNT] = {
    [MS_MEASURED_GEMM] = {"gemm", 3, 4, "MxNxK or MxNxKxBATCH"},
    [MS_MEASURED_GEMM_ACCUMULATE] = {"gemm_accumulate", 3, 4, "MxNxK or MxNxKxBATCH"},
    [MS_MEASURED_ATTENTION] = {"attention", 6, 6, "BATCHxSEQUENCExHEADSxKV_HEADSxQUERYxVALUE"},
    [MS_MEASURED_ATTENTION_BACKWARD] = {"attention_backward", 6, 6,
                                        "BATCHxSEQUENCExHEADSxKV_HEADSxQUERYxVALUE"},
    [MS_MEASURED_MEMORY] = {"memory", 1, 1, "BYTES"},
};

/* The state of reading a file. */
typedef struct table_reader {
    ms_csv_file file;
    ms_vector rows[MS_MEASURED_COUNT]; /* of ms_measured_row, by kernel */
} table_reader;

/* Copy the text of a cell; "" where it is too long or the cell has a fault. */
static void copy_text(const ms_cell *cell, char text[TEXT_MAX]) {
    size_t length = (size_t)(cell->text.to - cell->text.from);
    text[0] = '\0';
    if (cell->fault == NULL && length < TEXT_MAX) {
        memcpy(text, cell->text.from, length);
        text[length] = '\0';
    }
}

/* Read a shape such as "4096x4096x8192", of whole numbers from 1 to 1e15; sizes that it leaves out
 * are 1. Returns the number of sizes; 0 where the text is no shape. */
static int read_sizes(const char *text, double sizes[MS_MEASURED_SIZES]) {
    int count = 0;
    for (int i = 0; i < MS_MEASURED_SIZES; i++) {
        sizes[i] = 1;
    }
    while (count < MS_MEASURED_SIZES && *text >= '0' && *text <= '9') {
        char *end = NULL;
        sizes[count] = (double)strtoull(text, &end, 10);
        if (sizes[count++] < 1 || sizes[count - 1] > 1e15) {
            return 0;
        }
        if (*end == '\0') {
            return count;
        }
        text = *end == 'x' ? end + 1 : "";
    }
    return 0;
}

/* The kernel of a name; MS_MEASURED_COUNT: there is none. */
static int find_kernel(const char *name) {
    int kernel = 0;
    while (kernel < MS_MEASURED_COUNT && strcmp(KERNELS[kernel].name, name) != 0) {
        kernel++;
    }
    return kernel;
}

/* Read a line into the rows of its kernel; faults are reported at the line. */
static void read_row(table_reader *reader, const ms_cell cells[CELLS]) {
    char name[TEXT_MAX], shape[TEXT_MAX], time[TEXT_MAX];
    copy_text(&cells[0], name);
    copy_text(&cells[1], shape);
    copy_text(&cells[2], time);
    ms_measured_row row;
    const char *why = "";
    int kernel = find_kernel(name);
    if (kernel == MS_MEASURED_COUNT) {
        ms_csv_file_fault(
            &reader->file, NULL,
            "no kernel '%s': expected gemm, gemm_accumulate, attention, attention_backward "
            "or memory",
            name);
        return;
    }
    int sizes = read_sizes(shape, row.sizes);
    if (sizes < KERNELS[kernel].fewest || sizes > KERNELS[kernel].most) {
        ms_csv_file_fault(&reader->file, NULL, "expected a shape %s, got '%s'",
                          KERNELS[kernel].shape, shape);
        return;
    }
    if (ms_unit_parse(time, MS_DIM_TIME, &row.time_s, &why) != MS_OK || !(row.time_s > 0)) {
        ms_csv_file_fault(&reader->file, NULL,
                          "expected a time with its unit, such as '163 us', got '%s'", time);
        return;
    }
    ms_vector_add(&reader->rows[kernel], &row, 1);
}

/* Read all lines; a line whose first cell is "kernel" is a header. */
static void read_body(table_reader *reader) {
    ms_cell cells[CELLS + 1];
    char first[TEXT_MAX];
    for (int count = ms_csv_file_next(&reader->file, cells, CELLS); count > 0;
         count = ms_csv_file_next(&reader->file, cells, CELLS)) {
        copy_text(&cells[0], first);
        if (count != CELLS) {
            ms_csv_file_fault(&reader->file, NULL, "expected kernel, shape and time");
        } else if (strcmp(first, "kernel") != 0) { /* else the header */
            read_row(reader, cells);
        }
    }
}

/* Move the rows of all kernels to the arena as a table.  Returns MS_OK; MS_E_NOMEM. */
static ms_status make_table(table_reader *reader, ms_arena *arena,
                            const ms_kernel_table **table_out) {
    ms_kernel_table *table = MS_NEW(arena, ms_kernel_table, 1);
    bool has_no_memory = table == NULL;
    for (int kernel = 0; kernel < MS_MEASURED_COUNT && !has_no_memory; kernel++) {
        table->counts[kernel] = (int)reader->rows[kernel].count;
        table->rows[kernel] = ms_vector_keep(&reader->rows[kernel], arena);
        has_no_memory = table->rows[kernel] == NULL;
    }
    if (has_no_memory) {
        return MS_E_NOMEM;
    }
    *table_out = table;
    return MS_OK;
}

/* The path that a node's text means: relative to the folder of the file that has the node. NULL
 * when memory runs out. */
static const char *path_beside(const ms_node *node, ms_arena *arena) {
    const char *file = node->mark.file != NULL ? node->mark.file : "";
    const char *slash = strrchr(file, '/');
    if (slash == NULL || node->text[0] == '/') {
        return node->text;
    }
    return ms_arena_printf(arena, "%.*s/%s", (int)(slash - file), file, node->text);
}

ms_status ms_measured_read(const char *text, size_t length_B, const char *name, ms_arena *arena,
                           ms_diag *diag, const ms_kernel_table **table_out) {
    table_reader reader = {.file = {.path = name, .diag = diag}};
    for (int kernel = 0; kernel < MS_MEASURED_COUNT; kernel++) {
        ms_vector_init(&reader.rows[kernel], sizeof(ms_measured_row));
    }
    ms_csv_file_begin(&reader.file, text, length_B);
    read_body(&reader);
    ms_status status = reader.file.status;
    status = status == MS_OK ? make_table(&reader, arena, table_out) : status;
    for (int kernel = 0; kernel < MS_MEASURED_COUNT; kernel++) {
        ms_vector_release(&reader.rows[kernel]);
    }
    return status;
}

ms_status ms_measured_load(const ms_node *node, ms_arena *arena, ms_diag *diag,
                           const ms_kernel_table **table_out) {
    ms_buffer text;
    const char *path = path_beside(node, arena);
    if (path == NULL) {
        return MS_E_NOMEM;
    }
    ms_buffer_init(&text);
    ms_status status = ms_file_read(path, MS_FILE_CSV, &text, diag);
    status = status == MS_OK ? ms_measured_read(ms_buffer_text(&text), text.length, path, arena,
                                                diag, table_out)
                             : status;
    ms_buffer_release(&text);
    return status;
}

/* The distance of two shapes is the vector of the logarithms (base 2) of their sizes' quotients. A
 * row that was measured at the very sizes excludes all other rows. */
double ms_measured_ratio(const ms_kernel_table *table, ms_measured_kernel kernel,
                         const double *sizes, ms_measured_curve curve, const void *context) {
    const double REACH = 1; /* largest distance in each size: a factor of two */
    double weight_sum = 0, log_sum = 0;
    bool has_same = false;
    for (int i = 0; table != NULL && i < table->counts[kernel]; i++) {
        const ms_measured_row *row = &table->rows[kernel][i];
        double farthest = 0, distance = 0;
        for (int j = 0; j < KERNELS[kernel].most; j++) {
            double step = fabs(log2(sizes[j] / row->sizes[j]));
            farthest = fmax(farthest, step);
            distance += step * step;
        }
        bool is_same = farthest <= 0;
        if (farthest > REACH || (has_same && !is_same)) {
            continue;
        }
        if (is_same && !has_same) { /* the neighbours so far do not count any more */
            weight_sum = log_sum = 0;
            has_same = true;
        }
        double weight = is_same ? 1 : 1 / distance;
        weight_sum += weight;
        log_sum += weight * log(row->time_s / curve(context, row->sizes));
    }
    return weight_sum > 0 ? exp(log_sum / weight_sum) : 0;
}
