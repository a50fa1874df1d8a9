#include <stdlib.h>

#include "metrics/internal.h"

static int compare_intervals(const void *left, const void *right) {
    const ms_interval *a = left;
    const ms_interval *b = right;
    if (a->axis != b->axis) {
        return a->axis < b->axis ? -1 : 1;
    }
    return (a->start_s > b->start_s) - (a->start_s < b->start_s);
}

static void collect_intervals(const ms_rank_ops *ops, int32_t rank, ms_vector *intervals) {
    const ms_window *window = &ops->measured.ranks[rank];
    intervals->count = 0;
    for (int32_t i = ops->comm_first[rank]; i < ops->comm_first[rank + 1]; i++) {
        int32_t op = ops->comm_ops[i];
        ms_interval part = {.start_s = fmax(ops->timeline->start_s[op], window->from_s),
                            .end_s = fmin(ops->timeline->end_s[op], window->to_s),
                            .axis = ms_op_axis(ops->dag, op)};
        if (part.end_s > part.start_s) {
            ms_vector_add(intervals, &part, 1);
        }
    }
    if (intervals->count > 1) {
        qsort(intervals->data, intervals->count, sizeof(ms_interval), compare_intervals);
    }
}

/* A place in a rank's spans, and what one axis has met so far. */
typedef struct cursor {
    const ms_vector *spans;
    size_t at;
    ms_time_category own; /* idle charged to this axis */
    ms_sum busy, exposed, overlapped, in_idle;
} cursor;

/* Add a stretch during which the axis is busy; stretches come in time order and do not overlap. */
static void meet_spans(cursor *c, double from_s, double to_s) {
    ms_sum_add(&c->busy, to_s - from_s);
    while (c->at < c->spans->count && from_s < to_s) {
        const ms_time_span *span = &MS_AT(c->spans, ms_time_span, c->at);
        if (span->end_s <= from_s) {
            c->at++;
            continue;
        }
        double until_s = fmin(span->end_s, to_s);
        ms_sum *sum = span->category == MS_TIME_COMPUTE || span->category == MS_TIME_OPTIMIZER
                          ? &c->overlapped
                      : span->category == c->own ? &c->exposed
                                                 : &c->in_idle;
        ms_sum_add(sum, until_s - from_s);
        from_s = until_s;
    }
}

/* Account for the intervals [first, end) of one axis, which are of so many steps. */
static void add_axis(const ms_vector *spans, const ms_interval *first, const ms_interval *end,
                     double steps, ms_axis_use *use) {
    cursor c = {.spans = spans, .own = ms_time_category_of_axis((ms_axis)first->axis)};
    double from_s = first->start_s;
    double to_s = first->end_s;
    for (const ms_interval *i = first + 1; i < end; i++) {
        if (i->start_s > to_s) {
            meet_spans(&c, from_s, to_s);
            from_s = i->start_s;
        }
        to_s = fmax(to_s, i->end_s);
    }
    meet_spans(&c, from_s, to_s);
    use->busy_s = ms_sum_total(&c.busy) / steps;
    use->exposed_s = ms_sum_total(&c.exposed) / steps;
    use->overlapped_s = ms_sum_total(&c.overlapped) / steps;
    use->in_idle_s = ms_sum_total(&c.in_idle) / steps;
}

ms_status ms_rank_axes(const ms_rank_ops *ops, int32_t rank, const ms_vector *spans,
                       ms_vector *intervals, ms_rank_metrics *rank_out) {
    collect_intervals(ops, rank, intervals);
    if (intervals->failed) {
        return MS_E_NOMEM;
    }
    const ms_interval *all = intervals->data;
    for (size_t first = 0, end = 0; first < intervals->count; first = end) {
        while (end < intervals->count && all[end].axis == all[first].axis) {
            end++;
        }
        add_axis(spans, all + first, all + end, ops->measured.steps,
                 &rank_out->axes[all[first].axis]);
    }
    return MS_OK;
}
