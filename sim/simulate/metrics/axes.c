/* Communication of each axis on a rank: how long it runs, and whether the rank computes meanwhile
 * (overlapped), waits for that axis (exposed) or waits for something else (in idle). The
 * communications of an axis are merged into busy intervals, which are compared with the spans of
 * the rank's time (idle.c). */
#include <stdlib.h>

#include "simulate/metrics/internal.h"

/* Order of intervals for qsort: by start. */
static int compare_starts(const void *left, const void *right) {
    double a = ((const ms_interval *)left)->start_s;
    double b = ((const ms_interval *)right)->start_s;
    return (a > b) - (a < b);
}

/* List the intervals in which a rank's communications run, cut to the rank's window.  counts:
 * [MS_AXIS_COUNT] zeros; the number of intervals of each axis is added. */
static void collect_intervals(const ms_rank_ops *ops, int32_t rank, ms_vector *intervals,
                              size_t *counts) {
    const ms_window *window = &ops->measured.ranks[rank];
    intervals->count = 0;
    for (int32_t i = ops->comm_first[rank]; i < ops->comm_first[rank + 1]; i++) {
        int32_t op = ops->comm_ops[i];
        double start_s = ops->timeline->start_s[op];
        double end_s = ops->timeline->end_s[op];
        ms_interval part = {.start_s = start_s > window->from_s ? start_s : window->from_s,
                            .end_s = end_s < window->to_s ? end_s : window->to_s,
                            .axis = ms_op_axis(ops->dag, op)};
        ms_interval *slot = part.end_s > part.start_s ? ms_vector_next(intervals) : NULL;
        if (slot != NULL) {
            *slot = part;
            counts[part.axis]++;
        }
    }
}

/* Append sorted copies of the intervals to the vector: by axis, then by start.
 *  counts: [MS_AXIS_COUNT] number of intervals of each axis.  Returns the first copy; NULL when
 * memory runs out. */
static ms_interval *sort_by_axis(ms_vector *intervals, const size_t *counts) {
    size_t count = intervals->count;
    if (ms_vector_add(intervals, NULL, count) == NULL) {
        return NULL;
    }
    const ms_interval *from = intervals->data;
    ms_interval *sorted = (ms_interval *)intervals->data + count;
    size_t next[MS_AXIS_COUNT] = {0};
    for (int axis = 1; axis < MS_AXIS_COUNT; axis++) {
        next[axis] = next[axis - 1] + counts[axis - 1];
    }
    for (size_t i = 0; i < count; i++) {
        sorted[next[from[i].axis]++] = from[i];
    }
    for (int axis = 0; axis < MS_AXIS_COUNT; axis++) {
        qsort(sorted + next[axis] - counts[axis], counts[axis], sizeof *sorted, compare_starts);
    }
    return sorted;
}

/* The sums of one axis, and how far its intervals have been compared with the spans. */
typedef struct cursor {
    const ms_vector *spans;
    const ms_steady *repeat;
    size_t at;            /* index of the span reached */
    ms_time_category own; /* category of waiting for this axis */
    ms_sum busy, exposed, overlapped, in_idle;
} cursor;

/* Add a busy interval of the axis, from `from_s` to `to_s`, to the sums: overlapped, exposed or in
 * idle according to the spans that it covers. A fused pass counts as computing only for its share
 * of computing. Intervals must come in the order of time and must not overlap. */
static void add_busy(cursor *c, double from_s, double to_s) {
    ms_sum_add(&c->busy, ms_steady_length_s(c->repeat, from_s, to_s));
    while (c->at < c->spans->count && from_s < to_s) {
        const ms_time_span *span = &MS_AT(c->spans, ms_time_span, c->at);
        if (span->end_s <= from_s) {
            c->at++;
            continue;
        }
        double until_s = span->end_s < to_s ? span->end_s : to_s;
        bool is_computing =
            span->category == MS_TIME_COMPUTE || span->category == MS_TIME_OPTIMIZER;
        ms_sum *sum = is_computing               ? &c->overlapped
                      : span->category == c->own ? &c->exposed
                                                 : &c->in_idle;
        double share = is_computing ? ms_span_computing(span) : 1.0;
        double length_s = ms_steady_length_s(c->repeat, from_s, until_s);
        ms_sum_add(sum, length_s * share);
        ms_sum_add(&c->in_idle, length_s * (1.0 - share));
        from_s = until_s;
    }
}

/* Merge the intervals of one axis, from `first` to before `end`, into busy intervals, and add them
 * to its use. */
static void add_axis(const ms_rank_ops *ops, const ms_vector *spans, const ms_interval *first,
                     const ms_interval *end, ms_axis_use *use) {
    double steps = ops->measured.steps;
    cursor c = {.spans = spans,
                .repeat = &ops->timeline->steady,
                .own = ms_time_category_of_axis((ms_axis)first->axis)};
    double from_s = first->start_s;
    double to_s = first->end_s;
    for (const ms_interval *i = first + 1; i < end; i++) {
        if (i->start_s > to_s) {
            add_busy(&c, from_s, to_s);
            from_s = i->start_s;
        }
        to_s = i->end_s > to_s ? i->end_s : to_s;
    }
    add_busy(&c, from_s, to_s);
    use->busy_s += ms_sum_total(&c.busy) / steps;
    use->exposed_s += ms_sum_total(&c.exposed) / steps;
    use->overlapped_s += ms_sum_total(&c.overlapped) / steps;
    use->in_idle_s += ms_sum_total(&c.in_idle) / steps;
}

/* Add the communications inside fused passes to the use of their axes, for the share of each fused
 * pass that is in the rank's window. Another communication of the same axis at the same time would
 * count twice. */
static void add_fused_passes(const ms_rank_ops *ops, const ms_vector *spans,
                             const ms_window *window, ms_rank_metrics *rank_out) {
    double next_s = 0.0;
    for (size_t i = 0; i < spans->count; i++) {
        const ms_time_span *span = &MS_AT(spans, ms_time_span, i);
        double from_s = ms_max(next_s, window->from_s);
        double to_s = ms_min(span->end_s, window->to_s);
        next_s = span->end_s;
        if (span->fused == NULL || to_s <= from_s) {
            continue;
        }
        double inside_s = ms_steady_length_s(&ops->timeline->steady, from_s, to_s);
        double share = inside_s / span->length_s / ops->measured.steps;
        for (unsigned axes = span->fused->comm_axes; axes != 0;) {
            ms_axis axis = ms_axes_take(&axes);
            const ms_fused_pass_axis *own = &span->fused->axes[axis];
            rank_out->axes[axis].busy_s += share * own->busy_s;
            rank_out->axes[axis].exposed_s += share * own->exposed_s;
            rank_out->axes[axis].overlapped_s += share * own->overlapped_s;
            rank_out->axes[axis].in_idle_s += share * own->in_idle_s;
        }
    }
}

ms_status ms_rank_axes(const ms_rank_ops *ops, int32_t rank, const ms_vector *spans,
                       ms_vector *intervals, ms_rank_metrics *rank_out) {
    size_t counts[MS_AXIS_COUNT] = {0};
    collect_intervals(ops, rank, intervals, counts);
    const ms_interval *next = intervals->failed ? NULL : sort_by_axis(intervals, counts);
    if (next == NULL) {
        return MS_E_NOMEM;
    }
    add_fused_passes(ops, spans, &ops->measured.ranks[rank], rank_out);
    for (int axis = 0; axis < MS_AXIS_COUNT; next += counts[axis++]) {
        if (counts[axis] > 0) {
            add_axis(ops, spans, next, next + counts[axis], &rank_out->axes[axis]);
        }
    }
    return MS_OK;
}
