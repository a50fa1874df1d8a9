/* Shapes as a table of measured kernels (sim/platform/measured.c reads it). */
#include <stddef.h>

#include "meshsim/kineto.h"

/* A line of it. */
typedef struct measured_row {
    const char *kernel, *shape, *time; /* `time` with its unit */
} measured_row;

#define OF(member) offsetof(measured_row, member)

static const ms_table_column COLUMNS[] = {
    {"kernel", MS_COLUMN_TEXT, .offset = OF(kernel)},
    {"shape", MS_COLUMN_TEXT, .offset = OF(shape)},
    {"time", MS_COLUMN_TEXT, .offset = OF(time)},
    {0},
};

ms_status ms_kineto_measured(const ms_kineto_trace *trace, ms_arena *arena, ms_table *table_out) {
    ms_table table = {.columns = COLUMNS, .reason_offset = MS_TABLE_KEEPS_ALL};
    measured_row *rows = MS_NEW(arena, measured_row, trace->shape_count);
    size_t count = 0;
    for (size_t i = 0; i < trace->shape_count && rows != NULL; i++) {
        const ms_kineto_shape *shape = &trace->shapes[i];
        if (shape->why == NULL) {
            rows[count++] = (measured_row){
                .kernel = shape->kernel,
                .shape = shape->shape,
                .time = ms_arena_printf(arena, "%.6g us", shape->mean_s * 1e6),
            };
        }
    }
    if (rows == NULL || arena->has_failed) {
        return MS_E_NOMEM;
    }
    ms_status status = ms_table_fill(&table, rows, sizeof *rows, count, arena);
    if (status == MS_OK) {
        *table_out = table;
    }
    return status;
}

ms_status ms_kineto_check_measured(const ms_kineto_trace *trace, const ms_table *table,
                                   ms_diag *diag) {
    const ms_mark mark = {.file = trace->ranks[0].file};
    if (table->count > 0) {
        return MS_OK;
    }
    if (trace->shape_count == 0) {
        ms_diag_at(diag, &mark, NULL,
                   "no measured kernels to write: expected matrix products or attentions with "
                   "their sizes, which the profiler records with record_shapes=True, got none");
    } else {
        const ms_kineto_shape *first = &trace->shapes[0];
        ms_diag_at(diag, &mark, NULL,
                   "no measured kernels to write: all %zu shapes are left out, the longest, %s "
                   "%.60s: %s",
                   trace->shape_count, first->kernel, first->shape, first->why);
    }
    return MS_E_INPUT;
}
