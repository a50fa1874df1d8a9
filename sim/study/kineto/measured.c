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
