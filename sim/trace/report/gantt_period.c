#include "trace/report/gantt_period.h"

#include <math.h>

/* Passes that are looked at: a sequence of half as many is far more than an excerpt could show. */
enum { PASSES_MAX = 2048 };
/* Pairs of passes, a sequence apart, that are of a sort: all but those of a stray bubble. */
static const double ALIKE_LEAST = 0.9;

/* What tells passes apart: kind, chunk or direction, half of the row. */
static uint32_t sort_of(const ms_gantt_box *box) {
    return (uint32_t)box->kind << 24 | (uint32_t)box->half << 16 | (uint16_t)box->chunk;
}

static bool repeats_after(const uint32_t *sorts, int32_t count, int32_t shift) {
    int32_t alike = 0;
    for (int32_t i = 0; i + shift < count; i++) {
        alike += sorts[i] == sorts[i + shift] ? 1 : 0;
    }
    return alike >= ALIKE_LEAST * (count - shift);
}

/* Collect the passes of a row that start in the period's range, the first ones of them. */
static int32_t collect(const ms_gantt_sorted *sorted, int32_t row, const ms_gantt_period *range,
                       uint32_t *sorts, double *starts) {
    int32_t count = 0;
    for (size_t i = sorted->row_first[row]; i < sorted->row_first[row + 1] && count < PASSES_MAX;
         i++) {
        const ms_gantt_box *box = &sorted->boxes[i];
        if (ms_gantt_is_pass(box) && box->start >= range->from && box->start < range->to) {
            sorts[count] = sort_of(box);
            starts[count++] = box->start;
        }
    }
    return count;
}

ms_status ms_gantt_find_period(const ms_gantt_sorted *sorted, ms_arena *arena,
                               ms_gantt_period *period_out) {
    ms_gantt_period period = {.to = sorted->gantt->end};
    int32_t rows = sorted->gantt->rows;
    for (int32_t row = 0; row < rows; row++) {
        const ms_gantt_steady *steady = &sorted->steady[row * sorted->steps + sorted->steps / 2];
        period.from = fmax(period.from, steady->start);
        period.to = fmin(period.to, steady->end);
    }
    uint32_t *sorts = MS_NEW(arena, uint32_t, PASSES_MAX);
    double *starts = MS_NEW(arena, double, PASSES_MAX);
    if (sorts == NULL || starts == NULL) {
        return MS_E_NOMEM;
    }
    int32_t count = collect(sorted, rows / 2, &period, sorts, starts);
    for (int32_t shift = 2; 2 * shift <= count && period.passes == 0; shift++) {
        if (repeats_after(sorts, count, shift)) {
            int32_t whole = (count - 1) / shift; /* sequences between the first pass and its like */
            period.passes = shift;
            period.length = (starts[whole * shift] - starts[0]) / whole;
        }
    }
    *period_out = period;
    return MS_OK;
}
