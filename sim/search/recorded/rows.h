/* The rows of a table of operations (workloads/events.md) before they become a job. */
#ifndef MS_RECORDED_ROWS_H
#define MS_RECORDED_ROWS_H

#include "search/recorded/table.h"

/* A row of the table. */
typedef struct ms_recorded_row {
    int64_t start_ps, length_ps;
    int32_t step, dp, stage;
    int32_t seq, mc, gmc, mb, pair; /* -1: none */
    uint32_t line;                  /* of the file, from 1 */
    uint8_t kind;                   /* ms_recorded_kind */
} ms_recorded_row;

/* Read the rows of a file.  *rows_out: of ms_recorded_row, released by the caller; empty after a
 * fault.  Returns MS_OK; MS_E_INPUT, MS_E_IO, MS_E_NOMEM (reported). */
ms_status ms_recorded_rows_read(const char *path, ms_arena *arena, ms_diag *diag,
                                ms_vector *rows_out);

/* Make a job of the rows: check that all steps and data-parallel ranks have the same operations,
 * and put their times beside each other.  rows: sorted here.  job: `path` is set; the rest is
 * written, with starts in delay_ps and durations in own_ps.  Returns MS_OK; MS_E_INPUT (reported
 * with the line); MS_E_NOMEM (reported).  O(rows log rows). */
ms_status ms_recorded_arrange(ms_vector *rows, ms_arena *arena, ms_diag *diag, ms_recorded *job);

#endif
