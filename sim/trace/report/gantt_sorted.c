/* Sorts the boxes of a Gantt picture and measures it (gantt_sorted.h), before gantt.c chooses its
 * look and gantt_panel.c draws it. */
#include "trace/report/gantt_sorted.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Comparison for qsort: boxes by row, start, passes before parts, upper half before lower. */
static int by_position(const void *left, const void *right) {
    const ms_gantt_box *a = left;
    const ms_gantt_box *b = right;
    if (a->row != b->row) {
        return a->row < b->row ? -1 : 1;
    }
    if (a->start != b->start) {
        return a->start < b->start ? -1 : 1;
    }
    if (a->is_part != b->is_part) {
        return a->is_part ? 1 : -1;
    }
    return (a->half > b->half) - (a->half < b->half);
}

/* Comparison for qsort: numbers, ascending. */
static int by_number(const void *left, const void *right) {
    double a = *(const double *)left;
    double b = *(const double *)right;
    return a < b ? -1 : a > b ? 1 : 0;
}

/* Whether all levels and times of a picture's memory are finite and not negative. */
static bool has_sound_memory(const ms_gantt *gantt) {
    const ms_gantt_memory *memory = gantt->memory;
    for (size_t i = 0; memory != NULL && i < memory->row_first[gantt->rows]; i++) {
        const ms_gantt_level *at = &memory->levels[i];
        if (!(at->level >= 0.0) || !isfinite(at->level) || !(at->start >= 0.0)) {
            return false;
        }
    }
    return true;
}

/* Whether a picture can be drawn: it takes time, and its boxes and levels have rows and sound
 * times. The negated comparisons also refuse NAN. */
static bool is_sound(const ms_gantt *gantt) {
    if (gantt->rows < 1 || !(gantt->end > 0.0)) {
        return false;
    }
    for (size_t i = 0; i < gantt->box_count; i++) {
        const ms_gantt_box *box = &gantt->boxes[i];
        if (box->half > 2 || box->row < 0 || box->row >= gantt->rows || !(box->start >= 0.0) ||
            !(box->end >= box->start) || !isfinite(box->end)) {
            return false;
        }
    }
    return has_sound_memory(gantt);
}

/* Find median and first quartile of the lengths of passes; the picture's end where it has none. */
static ms_status measure_passes(const ms_gantt *gantt, ms_arena *arena, ms_gantt_sorted *sorted) {
    double *lengths = MS_NEW(arena, double, gantt->box_count);
    if (lengths == NULL) {
        return MS_E_NOMEM;
    }
    size_t count = 0;
    for (size_t i = 0; i < gantt->box_count; i++) {
        if (ms_gantt_is_pass(&gantt->boxes[i])) {
            lengths[count++] = gantt->boxes[i].end - gantt->boxes[i].start;
        }
    }
    qsort(lengths, count, sizeof lengths[0], by_number);
    sorted->median = count == 0 ? gantt->end : lengths[count / 2];
    sorted->quartile = count == 0 ? gantt->end : lengths[count / 4];
    return MS_OK;
}

/* Extend the phases of a step by a pass. Until bound_phases has seen all passes, `start` is the
 * first start of a backward pass, `end` the end of the last forward pass and `to` the end of the
 * last pass. */
static void add_to_phases(ms_gantt_steady *steady, const ms_gantt_box *box) {
    if (box->kind == MS_OP_FORWARD) {
        steady->end = fmax(steady->end, box->end);
    } else {
        steady->start = fmin(steady->start, box->start);
    }
    steady->to = fmax(steady->to, box->end);
}

/* Bound the phases of the steps of a row, which add_to_phases has extended. A step without passes
 * is steady as a whole; a step without backward passes has no warm-up.  end: of the picture. */
static void bound_phases(ms_gantt_steady *phases, int32_t steps, double end) {
    double from = 0.0;
    for (int32_t step = 0; step < steps; step++) {
        ms_gantt_steady *steady = &phases[step];
        bool is_empty = steady->to == 0.0;
        double last = fmax(from, steady->to);
        steady->from = from;
        steady->start = steady->start == INFINITY ? from : steady->start;
        steady->to = step == steps - 1 ? end : last;
        steady->end = is_empty ? steady->to : fmax(steady->start, steady->end);
        from = last;
    }
}

ms_status ms_gantt_find_steady(const ms_gantt *gantt, ms_arena *arena, ms_gantt_steady **steady_out,
                               int32_t *steps_out) {
    if (!is_sound(gantt)) {
        return MS_E_RANGE;
    }
    int32_t steps = 1;
    for (size_t i = 0; i < gantt->box_count; i++) {
        steps = gantt->boxes[i].step >= steps ? gantt->boxes[i].step + 1 : steps;
    }
    ms_gantt_steady *steady = MS_NEW(arena, ms_gantt_steady, gantt->rows * steps);
    if (steady == NULL) {
        return MS_E_NOMEM;
    }
    for (int32_t i = 0; i < gantt->rows * steps; i++) {
        steady[i].start = INFINITY;
    }
    for (size_t i = 0; i < gantt->box_count; i++) {
        if (ms_gantt_is_pass(&gantt->boxes[i])) {
            add_to_phases(&steady[gantt->boxes[i].row * steps + gantt->boxes[i].step],
                          &gantt->boxes[i]);
        }
    }
    for (int32_t row = 0; row < gantt->rows; row++) {
        bound_phases(&steady[row * steps], steps, gantt->end);
    }
    *steady_out = steady;
    *steps_out = steps;
    return MS_OK;
}

/* Find the length of the longest number in a box: "31", or "31.1" with slices. */
static void measure_numbers(ms_gantt_sorted *sorted) {
    const ms_gantt *gantt = sorted->gantt;
    int32_t most = 0;
    for (size_t i = 0; i < gantt->box_count; i++) {
        most = gantt->boxes[i].mb > most ? gantt->boxes[i].mb : most;
    }
    sorted->slices = gantt->slices < 1 ? 1 : gantt->slices;
    sorted->number_length = snprintf(NULL, 0, "%d", most / sorted->slices);
    if (sorted->slices > 1) {
        sorted->number_length += snprintf(NULL, 0, ".%d", sorted->slices - 1);
    }
}

/* Choose the unit of the time axis: the largest one in which its end is at least 2, or
 * microseconds. */
static void choose_unit(ms_gantt_sorted *sorted, double axis_end) {
    sorted->unit = 1.0;
    sorted->unit_name = "";
    if (sorted->gantt->has_seconds) {
        bool has_s = axis_end >= 2.0;
        bool has_ms = axis_end >= 2e-3;
        sorted->unit = has_s ? 1.0 : has_ms ? 1e-3 : 1e-6;
        sorted->unit_name = has_s ? "s" : has_ms ? "ms" : "us";
    }
}

/* ---- what repeats in the steady phase ---- */

/* Maximum number of passes that are compared: a sequence of half as many is far more than an
 * excerpt can show. */
enum { PASSES_MAX = 2048 };
/* Minimum share of passes that must be like the pass one sequence later: at a stray bubble some
 * passes may change their order. */
static const double ALIKE_LEAST = 0.9;

/* Kind, chunk or direction, and half of a pass as one number: equal for passes that are alike. */
static uint32_t sort_of(const ms_gantt_box *box) {
    return (uint32_t)box->kind << 24 | (uint32_t)box->half << 16 | (uint16_t)box->chunk;
}

/* Whether passes repeat after `shift` passes.  sorts: [count] numbers of sort_of. */
static bool repeats_after(const uint32_t *sorts, int32_t count, int32_t shift) {
    int32_t alike = 0;
    for (int32_t i = 0; i + shift < count; i++) {
        alike += sorts[i] == sorts[i + shift] ? 1 : 0;
    }
    return alike >= ALIKE_LEAST * (count - shift);
}

/* Collect the first PASSES_MAX passes of a row that start within `range`.  sorts, starts:
 * [PASSES_MAX] number of sort_of and start of each.  Returns how many. */
static int32_t collect_passes(const ms_gantt_sorted *sorted, int32_t row,
                              const ms_gantt_period *range, uint32_t *sorts, double *starts) {
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

/* Find the period of a picture whose boxes are sorted and whose steady phases are known: the
 * smallest number of passes, from 2 on, after which the passes of the middle row repeat.
 *  *period_out: written on success only.  O(boxes of a row + PASSES_MAX^2). */
static ms_status find_period(const ms_gantt_sorted *sorted, ms_arena *arena,
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
    int32_t count = collect_passes(sorted, rows / 2, &period, sorts, starts);
    for (int32_t shift = 2; 2 * shift <= count && period.passes == 0; shift++) {
        if (repeats_after(sorts, count, shift)) {
            int32_t whole = (count - 1) / shift; /* number of sequences, whose mean length counts */
            period.passes = shift;
            period.length = (starts[whole * shift] - starts[0]) / whole;
        }
    }
    *period_out = period;
    return MS_OK;
}

/* ---- the whole ---- */

void ms_gantt_show_rows(ms_gantt_sorted *sorted, int32_t rows_max) {
    int32_t rows = sorted->gantt->rows;
    sorted->row_step = (rows + rows_max - 1) / rows_max;
    sorted->rows_shown = (rows + sorted->row_step - 1) / sorted->row_step;
}

/* The boxes are copied and sorted by row and start; everything else is measured from the sorted
 * boxes. */
ms_status ms_gantt_sort(const ms_gantt *gantt, double axis_end, ms_arena *arena,
                        ms_gantt_sorted *sorted_out) {
    ms_gantt_sorted sorted = {.gantt = gantt};
    ms_status status = ms_gantt_find_steady(gantt, arena, &sorted.steady, &sorted.steps);
    if (status != MS_OK) {
        return status;
    }
    ms_gantt_box *boxes = MS_NEW(arena, ms_gantt_box, gantt->box_count);
    size_t *first = MS_NEW(arena, size_t, (size_t)gantt->rows + 1);
    if (boxes == NULL || first == NULL) {
        return MS_E_NOMEM;
    }
    if (gantt->box_count > 0) {
        memcpy(boxes, gantt->boxes, gantt->box_count * sizeof boxes[0]);
        qsort(boxes, gantt->box_count, sizeof boxes[0], by_position);
    }
    for (size_t i = 0; i < gantt->box_count; i++) {
        first[boxes[i].row + 1]++;
    }
    for (int32_t row = 0; row < gantt->rows; row++) {
        first[row + 1] += first[row];
    }
    sorted.boxes = boxes;
    sorted.row_first = first;
    measure_numbers(&sorted);
    choose_unit(&sorted, axis_end);
    ms_gantt_show_rows(&sorted, gantt->rows);
    status = measure_passes(gantt, arena, &sorted);
    status = status == MS_OK ? find_period(&sorted, arena, &sorted.period) : status;
    if (status == MS_OK) {
        *sorted_out = sorted;
    }
    return status;
}
