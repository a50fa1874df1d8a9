/* The items of a page's timeline (page.h): passes and spans of idle time, sorted by row and start
 * and written as columns. A part is an item inside a pass: recomputation, or waiting. */
#include "trace/report/html/page.h"

#include <math.h>
#include <stdlib.h>

/* NONE: no number. The others are bits of marks: an item inside a pass, the pass in the upper or
 * the lower half of its row, waiting for other ranks' communication. */
enum { NONE = -1, PART = 1, UPPER = 2, LOWER = 4, FOREIGN = 8 };

/* An item: a pass, or a span of idle time (a time in which the rank waits for one cause). */
typedef struct page_item {
    int64_t start_ps, end_ps;
    int64_t waited_ps; /* of a pass: waiting inside it */
    int64_t slack_ps;  /* of a pass; of others NONE */
    int32_t row;
    int32_t mb;    /* of a pass; of others NONE */
    int32_t cause; /* of idle time: the event that it waits for; NONE: none, or a pass */
    int16_t chunk;
    uint8_t code; /* as MS_PAGE_IDLE describes */
    uint8_t marks;
} page_item;

/* The state of ms_page_put_items. */
typedef struct collecting_items {
    ms_page *page;
    ms_passes passes;
    ms_idle_phases phases;
    ms_vector items; /* page_item */
    bool has_parts;  /* items inside passes are among them */
} collecting_items;

/* Seconds as whole picoseconds. */
static int64_t to_ps(double seconds) {
    return llrint(seconds * MS_PS_PER_S);
}

/* Append the items of passes and, with has_parts, of recomputation inside them. */
static void add_passes(collecting_items *state) {
    for (size_t i = 0; i < state->passes.boxes.count; i++) {
        const ms_gantt_box *box = &MS_AT(&state->passes.boxes, ms_gantt_box, i);
        int32_t row = state->page->rows.row_of[box->row];
        bool is_part = box->is_part && box->kind == MS_OP_RECOMPUTE;
        if (row < 0 || box->axis != MS_AXIS_NONE || (is_part && !state->has_parts)) {
            continue;
        }
        page_item item = {.start_ps = to_ps(box->start),
                          .end_ps = to_ps(box->end),
                          .waited_ps = is_part ? 0 : to_ps(box->waited),
                          .slack_ps = is_part ? NONE : to_ps(box->slack),
                          .row = row,
                          .mb = box->mb,
                          .cause = NONE,
                          .chunk = box->chunk,
                          .code = box->kind,
                          .marks = (uint8_t)((is_part ? PART : 0) | (box->half == 1 ? UPPER : 0) |
                                             (box->half == 2 ? LOWER : 0))};
        (void)ms_vector_add(&state->items, &item, 1);
    }
}

/* The code of a span of idle time in the page's data: MS_PAGE_IDLE plus its category. */
static uint8_t code_of_idle(const collecting_items *state, const ms_idle_span *idle) {
    return (uint8_t)(MS_PAGE_IDLE + (idle->cause == MS_IDLE_UNKNOWN
                                         ? (int)MS_TIME_COUNT
                                         : (int)ms_idle_category(&state->phases, idle)));
}

/* Append the items of idle time, with has_parts also of that inside passes. */
static void add_idle(collecting_items *state) {
    for (size_t i = 0; i < state->passes.idle.count; i++) {
        const ms_idle_span *idle = &MS_AT(&state->passes.idle, ms_idle_span, i);
        int32_t row = state->page->rows.row_of[idle->row];
        if (row < 0 || (idle->is_part && !state->has_parts)) {
            continue;
        }
        const page_item item = {.start_ps = idle->start_ps,
                                .end_ps = idle->end_ps,
                                .slack_ps = NONE,
                                .row = row,
                                .mb = NONE,
                                .cause = idle->event,
                                .code = code_of_idle(state, idle),
                                .marks = (uint8_t)((idle->is_part ? PART : 0) |
                                                   (idle->cause == MS_IDLE_FOREIGN ? FOREIGN : 0))};
        (void)ms_vector_add(&state->items, &item, 1);
    }
}

/* Comparison for qsort: items by row, then start; items that contain others before these. */
static int by_position(const void *left, const void *right) {
    const page_item *a = left;
    const page_item *b = right;
    if (a->row != b->row) {
        return a->row < b->row ? -1 : 1;
    }
    if (a->start_ps != b->start_ps) {
        return a->start_ps < b->start_ps ? -1 : 1;
    }
    int parts = (a->marks & PART) - (b->marks & PART);
    return parts != 0 ? parts : (a->end_ps < b->end_ps) - (a->end_ps > b->end_ps);
}

/* Count the items of the rows that are shown.  *whole_out: those that are not inside passes. */
static void count_items(const collecting_items *state, size_t *all_out, size_t *whole_out) {
    const int32_t *row_of = state->page->rows.row_of;
    *all_out = *whole_out = 0;
    for (size_t i = 0; i < state->passes.boxes.count; i++) {
        const ms_gantt_box *box = &MS_AT(&state->passes.boxes, ms_gantt_box, i);
        bool is_shown = row_of[box->row] >= 0 && box->axis == MS_AXIS_NONE;
        *all_out += is_shown;
        *whole_out += is_shown && !box->is_part;
    }
    for (size_t i = 0; i < state->passes.idle.count; i++) {
        const ms_idle_span *idle = &MS_AT(&state->passes.idle, ms_idle_span, i);
        *all_out += row_of[idle->row] >= 0;
        *whole_out += row_of[idle->row] >= 0 && !idle->is_part;
    }
}

/* Remove every second row from the picture; the ranks of removed rows get row -1. */
static void thin_rows(ms_shown_rows *rows) {
    int32_t kept = 0;
    for (int32_t row = 0; row < rows->count; row++) {
        bool is_kept = row % 2 == 0;
        rows->row_of[rows->rank_of[row]] = is_kept ? kept : -1;
        rows->rank_of[kept] = rows->rank_of[row];
        kept += is_kept;
    }
    rows->count = kept;
    rows->is_choice = true;
}

/* Remove rows until the items fit into a page, and choose whether items inside passes are among
 * them. */
static void choose_items(collecting_items *state) {
    size_t all;
    size_t whole;
    for (count_items(state, &all, &whole); whole > MS_PAGE_ITEMS_MAX && state->page->rows.count > 1;
         count_items(state, &all, &whole)) {
        thin_rows(&state->page->rows);
    }
    state->has_parts = all <= MS_PAGE_PARTS_MAX && state->page->trace->merged.count == 0;
}

/* ---- writing ---- */

/* Write the columns of all items: gap to the end of the item before in the row, length, code and
 * marks. */
static void put_spans(const ms_vector *items, ms_buffer *json) {
    ms_buffer gap = {0}, length = {0}, code = {0};
    for (size_t i = 0; i < items->count; i++) {
        const page_item *item = &MS_AT(items, page_item, i);
        const page_item *before = i > 0 && item[-1].row == item->row ? &item[-1] : NULL;
        ms_varint_put_signed(&gap, item->start_ps - (before == NULL ? 0 : before->end_ps));
        ms_varint_put(&length, (uint64_t)(item->end_ps - item->start_ps));
        ms_varint_put(&code, item->code + MS_PAGE_CODES * (uint64_t)item->marks);
    }
    ms_column_write("gap_ps", &gap, json);
    ms_column_write("length_ps", &length, json);
    ms_column_write("code", &code, json);
}

/* Write the columns of passes only: waiting, slack, microbatch and chunk. */
static void put_passes(const ms_vector *items, ms_buffer *json) {
    ms_buffer waited = {0}, slack = {0}, mb = {0}, chunk = {0};
    for (size_t i = 0; i < items->count; i++) {
        const page_item *item = &MS_AT(items, page_item, i);
        if (item->code < MS_PAGE_IDLE) {
            ms_varint_put(&waited, (uint64_t)item->waited_ps);
            ms_varint_put_signed(&slack, item->slack_ps);
            ms_varint_put_signed(&mb, item->mb);
            ms_varint_put_signed(&chunk, item->chunk);
        }
    }
    ms_column_write("waited_ps", &waited, json);
    ms_column_write("slack_ps", &slack, json);
    ms_column_write("mb", &mb, json);
    ms_column_write("chunk", &chunk, json);
}

/* Write the columns of idle time only: kind, microbatch and pipeline rank of the event that it
 * waits for; -1 in each column where idle time waits for no event. */
static void put_causes(const ms_page *page, const ms_vector *items) {
    const ms_trace *trace = page->trace;
    ms_buffer kind = {0}, mb = {0}, pp = {0};
    for (size_t i = 0; i < items->count; i++) {
        const page_item *item = &MS_AT(items, page_item, i);
        int32_t event = item->cause;
        int32_t rank = event < 0 ? 0 : trace->streams[trace->events[event].stream].rank_index;
        if (item->code >= MS_PAGE_IDLE) {
            ms_varint_put_signed(&kind, event < 0 ? NONE : trace->events[event].kind);
            ms_varint_put_signed(&mb, event < 0 ? NONE : trace->events[event].mb);
            ms_varint_put_signed(&pp, event < 0 ? NONE : trace->ranks[rank].pp);
        }
    }
    ms_column_write("cause_kind", &kind, page->json);
    ms_column_write("cause_mb", &mb, page->json);
    ms_column_write("cause_pp", &pp, page->json);
}

/* Write the items as columns, preceded by the number of items of each row. */
static void put_items(const collecting_items *state) {
    const ms_page *page = state->page;
    ms_buffer row = {0};
    size_t next = 0;
    for (int32_t r = 0; r < page->rows.count; r++) { /* how many items each row has */
        size_t first = next;
        while (next < state->items.count && MS_AT(&state->items, page_item, next).row == r) {
            next++;
        }
        ms_varint_put(&row, next - first);
    }
    ms_buffer_puts(page->json, "\"items\":{");
    ms_column_write("row_items", &row, page->json);
    put_spans(&state->items, page->json);
    put_passes(&state->items, page->json);
    put_causes(page, &state->items);
    ms_buffer_printf(page->json, ",\"count\":%zu,\"has_parts\":%s}", state->items.count,
                     state->has_parts ? "true" : "false");
}

/* Collect the items of all rows, sorted. */
static ms_status collect(collecting_items *state) {
    const ms_trace *trace = state->page->trace;
    const ms_passes_choice choice = {&state->page->rows, state->page->slack.slack_ps};
    ms_status status = ms_passes_collect(trace, &choice, state->page->arena, &state->passes);
    status = status == MS_OK ? ms_idle_phases_find(trace, &state->passes.boxes, state->page->arena,
                                                   &state->phases)
                             : status;
    if (status == MS_OK) {
        choose_items(state);
        add_passes(state);
        add_idle(state);
        status = state->items.failed ? MS_E_NOMEM : MS_OK;
    }
    ms_passes_release(&state->passes);
    if (status == MS_OK && state->items.count > 0) {
        qsort(state->items.data, state->items.count, state->items.item_B, by_position);
    }
    return status;
}

ms_status ms_page_put_items(ms_page *page) {
    collecting_items state = {.page = page};
    ms_vector_init(&state.items, sizeof(page_item));
    ms_status status = collect(&state);
    if (status == MS_OK) {
        put_items(&state);
    }
    ms_vector_release(&state.items);
    return status;
}
