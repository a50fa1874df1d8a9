/* The curves below the timeline of a page (page.h): memory of each row, and the rate at which GPUs
 * send along each axis. */
#include "trace/report/html/page.h"

#include <float.h>
#include <math.h>

#include "trace/repeat.h"

/* ---- memory ---- */

/* The columns of points; each number is the difference to the point before in its row. */
typedef struct memory_columns {
    ms_buffer time, level;
    int64_t time_ps; /* of the last point of the row; 0: none yet */
    int64_t level_B; /* likewise */
    int64_t count;   /* points of the row so far */
} memory_columns;

/* Append a point to the columns. */
static void put_point(memory_columns *columns, int64_t time_ps, double bytes) {
    int64_t level_B = llrint(bytes);
    ms_varint_put_signed(&columns->time, time_ps - columns->time_ps);
    ms_varint_put_signed(&columns->level, level_B - columns->level_B);
    columns->time_ps = time_ps;
    columns->level_B = level_B;
    columns->count++;
}

/* Append the points of a rank: all (bin_ps 0), or one for each bin that has points, with their
 * highest level at the time of the first.  first, end: the rank's points in ms_trace.memory. */
static void put_points(const ms_trace_memory *first, const ms_trace_memory *end, int64_t bin_ps,
                       memory_columns *columns) {
    columns->time_ps = columns->level_B = columns->count = 0;
    while (first < end) {
        const ms_trace_memory *highest = first;
        int64_t until_ps = bin_ps == 0 ? 0 : (first->time_ps / bin_ps + 1) * bin_ps;
        int64_t time_ps = first->time_ps;
        for (first++; first < end && first->time_ps < until_ps; first++) {
            highest = first->bytes > highest->bytes ? first : highest;
        }
        put_point(columns, time_ps, highest->bytes);
    }
}

/* Length of the bins with which a page holds no more than its maximum of points [ps]; 0: all points
 * fit. */
static int64_t bin_of(const ms_page *page) {
    const ms_trace *trace = page->trace;
    int64_t points = 0;
    for (int32_t i = 0; i < trace->memory_count; i++) {
        points += page->rows.row_of[trace->memory[i].rank_index] >= 0;
    }
    int32_t bins = MS_PAGE_POINTS_MAX / (page->rows.count < 1 ? 1 : page->rows.count);
    return points <= MS_PAGE_POINTS_MAX ? 0 : trace->step_ps / (bins < 1 ? 1 : bins) + 1;
}

/* Points come rank by rank in the trace; the rows of the page may have another order, so the points
 * of each rank are looked up by the end of its list. */
void ms_page_put_memory(const ms_page *page) {
    const ms_trace *trace = page->trace;
    memory_columns columns = {.count = 0};
    ms_buffer row = {0};
    int64_t bin_ps = bin_of(page);
    int32_t *end =
        MS_NEW(page->arena, int32_t, trace->rank_count); /* index behind each rank's points */
    for (int32_t i = 0; i < trace->memory_count && end != NULL; i++) {
        end[trace->memory[i].rank_index] = i + 1;
    }
    for (int32_t r = 0; r < page->rows.count && end != NULL; r++) {
        int32_t rank = page->rows.rank_of[r];
        int32_t first = end[rank];
        while (first > 0 && trace->memory[first - 1].rank_index == rank) {
            first--;
        }
        put_points(trace->memory + first, trace->memory + end[rank], bin_ps, &columns);
        ms_varint_put(&row, (uint64_t)columns.count);
    }
    page->json->failed = page->json->failed || end == NULL;
    ms_buffer_puts(page->json, "\"memory\":{");
    ms_column_write("row_points", &row, page->json);
    ms_column_write("time_ps", &columns.time, page->json);
    ms_column_write("level_B", &columns.level, page->json);
    ms_buffer_printf(page->json, ",\"is_whole\":%s}", bin_ps == 0 ? "true" : "false");
}

/* ---- what is sent ---- */

/* Bytes that are sent, in bins of time. */
typedef struct sending {
    const ms_trace *trace;
    double *sent_B; /* [MS_AXIS_COUNT][MS_PAGE_BINS] of all GPUs together */
    double bin_ps;  /* length of a bin */
} sending;

/* Add the bytes that the member of an event on `stream` sends, evenly over the event's time, for
 * all ranks that its rank stands for.  later_ps: by how much the event is moved. */
static void add_sent(sending *s, const ms_trace_event *event, int32_t stream, int64_t later_ps) {
    const ms_trace_stream *of = &s->trace->streams[stream];
    double from = (double)(event->start_ps + later_ps);
    double to = (double)(event->end_ps + later_ps);
    double bytes = event->bytes * s->trace->ranks[of->rank_index].multiplicity;
    double *bins = s->sent_B + (size_t)of->axis * MS_PAGE_BINS;
    int first = (int)fmin(from / s->bin_ps, MS_PAGE_BINS - 1);
    int last = (int)fmin(to / s->bin_ps, MS_PAGE_BINS - 1);
    if (first == last || to <= from) {
        bins[first] += bytes;
        return;
    }
    for (int bin = first; bin <= last; bin++) {
        double begin = fmax(from, bin * s->bin_ps);
        double end = bin == last ? to : (bin + 1) * s->bin_ps;
        bins[bin] += bytes * ((end - begin) / (to - from));
    }
}

/* Add the bytes of all communications, for their first members and for the others, and of those
 * inside merged passes. */
static void add_all_sent(sending *s) {
    const ms_trace *trace = s->trace;
    for (int32_t i = 0; i < trace->event_count; i++) {
        if (trace->streams[trace->events[i].stream].axis != MS_AXIS_NONE) {
            add_sent(s, &trace->events[i], trace->events[i].stream, 0);
        }
    }
    for (int32_t i = 0; i < trace->member_count; i++) {
        if (trace->streams[trace->members[i].stream].axis != MS_AXIS_NONE) {
            add_sent(s, &trace->events[trace->members[i].event], trace->members[i].stream, 0);
        }
    }
    for (int32_t i = 0; i < trace->merged.inside_count; i++) {
        const ms_trace_event *event = &trace->merged.inside[i];
        int32_t copies = ms_trace_repeat_copies(&trace->merged.repeat, event->start_ps);
        for (int32_t copy = 0; copy <= copies; copy++) {
            add_sent(s, event, event->stream,
                     ms_trace_repeat_shift_ps(&trace->merged.repeat, copy));
        }
    }
}

/* Append the column of an axis, if it is used.  gpus: number of all GPUs. */
static void put_axis(const sending *s, int axis, double gpus, ms_buffer *json) {
    const double *bins = s->sent_B + (size_t)axis * MS_PAGE_BINS;
    ms_buffer column = {0};
    bool is_used = false;
    for (int bin = 0; bin < MS_PAGE_BINS; bin++) {
        float rate = (float)fmin(bins[bin] / gpus / (s->bin_ps / MS_PS_PER_S), FLT_MAX);
        is_used = is_used || rate > 0.0F;
        ms_buffer_add(&column, (const char *)&rate, sizeof rate);
    }
    if (is_used) {
        ms_column_write(ms_axis_name((ms_axis)axis), &column, json);
    }
    ms_buffer_release_part(&column, json);
}

ms_status ms_page_put_sent(const ms_page *page) {
    const ms_trace *trace = page->trace;
    sending s = {.trace = trace,
                 .sent_B = MS_NEW(page->arena, double, (size_t)MS_AXIS_COUNT *MS_PAGE_BINS),
                 .bin_ps = (double)trace->step_ps / MS_PAGE_BINS};
    double gpus = 0.0;
    if (s.sent_B == NULL) {
        return MS_E_NOMEM;
    }
    for (int32_t i = 0; i < trace->rank_count; i++) {
        gpus += trace->ranks[i].multiplicity;
    }
    add_all_sent(&s);
    ms_buffer_puts(page->json, "\"sent\":{");
    for (int axis = MS_AXIS_NONE + 1; axis < MS_AXIS_COUNT; axis++) {
        put_axis(&s, axis, gpus, page->json);
    }
    ms_buffer_puts(page->json, "}");
    return MS_OK;
}
