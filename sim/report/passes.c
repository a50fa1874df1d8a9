#include "report/passes.h"

/* Communications in a row without a computation between them; a damaged file may chase its tail. */
enum { CHAIN_MAX = 1000 };

static double seconds(int64_t ps) {
    return (double)ps / MS_PS_PER_S;
}

/* One row under construction. */
typedef struct row_state {
    int64_t end_ps;     /* of its last computation */
    ptrdiff_t open;     /* index of the pass that may still grow, -1 none */
    int16_t open_stage; /* of that pass */
    int32_t open_mb;
} row_state;

typedef struct collecting {
    const ms_trace *trace;
    row_state *rows; /* [rank_count] */
    ms_vector *boxes;
} collecting;

static bool is_communication(const ms_trace *trace, int32_t event) {
    return trace->streams[trace->stream[event]].axis != MS_AXIS_NONE;
}

static void add_box(collecting *c, const ms_gantt_box *box) {
    (void)ms_vector_add(c->boxes, box, 1);
}

/* Waiting of a row in [from, to): the communications on the chain of causes that leads to what
 * ended the gap. The rest of the gap, up to the end of the computation at the head of the chain, is
 * left white. */
static void add_waiting(collecting *c, int32_t row, int32_t cause, const int64_t gap[2],
                        bool is_part) {
    const ms_trace *trace = c->trace;
    int64_t to = gap[1];
    int32_t at = cause;
    for (int step = 0; step < CHAIN_MAX && at >= 0 && is_communication(trace, at) && to > gap[0];
         step++, at = trace->cause[at]) {
        int64_t start = trace->start_ps[at] > gap[0] ? trace->start_ps[at] : gap[0];
        int64_t end = trace->end_ps[at] < to ? trace->end_ps[at] : to;
        if (end > start) {
            const ms_gantt_box box = {.start = seconds(start),
                                      .end = seconds(end),
                                      .row = row,
                                      .mb = -1,
                                      .kind = trace->kind[at],
                                      .axis = trace->axis[at],
                                      .is_part = is_part};
            add_box(c, &box);
            to = start;
        }
    }
}

/* Recomputation belongs to the backward pass that follows it. */
static bool belongs(const collecting *c, const row_state *row, int32_t event) {
    const ms_trace *trace = c->trace;
    if (row->open < 0 || row->open_stage != trace->stage[event] ||
        row->open_mb != trace->mb[event]) {
        return false;
    }
    uint8_t open_kind = MS_AT(c->boxes, ms_gantt_box, row->open).kind;
    uint8_t kind = trace->kind[event];
    bool is_backward = open_kind == MS_OP_BACKWARD || open_kind == MS_OP_INPUT_GRAD;
    return kind == open_kind || (is_backward && kind == MS_OP_RECOMPUTE) ||
           (open_kind == MS_OP_RECOMPUTE && (kind == MS_OP_BACKWARD || kind == MS_OP_INPUT_GRAD));
}

static void add_recomputation(collecting *c, int32_t row, int32_t event) {
    const ms_trace *trace = c->trace;
    const ms_gantt_box part = {.start = seconds(trace->start_ps[event]),
                               .end = seconds(trace->end_ps[event]),
                               .row = row,
                               .mb = -1,
                               .kind = MS_OP_RECOMPUTE,
                               .is_part = true};
    add_box(c, &part);
}

static void open_box(collecting *c, int32_t row, int32_t event) {
    const ms_trace *trace = c->trace;
    row_state *state = &c->rows[row];
    const ms_gantt_box box = {.start = seconds(trace->start_ps[event]),
                              .end = seconds(trace->end_ps[event]),
                              .row = row,
                              .mb = trace->mb[event],
                              .chunk = trace->chunk[event] < 0 ? 0 : trace->chunk[event],
                              .kind = trace->kind[event]};
    state->open = (ptrdiff_t)c->boxes->count;
    state->open_stage = trace->stage[event];
    state->open_mb = trace->mb[event];
    add_box(c, &box);
}

static void add_computation(collecting *c, int32_t event) {
    const ms_trace *trace = c->trace;
    int32_t row = trace->streams[trace->stream[event]].rank_index;
    row_state *state = &c->rows[row];
    bool is_same = belongs(c, state, event);
    const int64_t gap[2] = {state->end_ps, trace->start_ps[event]};
    add_waiting(c, row, trace->cause[event], gap, is_same);
    if (is_same && !c->boxes->failed) {
        ms_gantt_box *open = &MS_AT(c->boxes, ms_gantt_box, state->open);
        open->end = seconds(trace->end_ps[event]);
        open->kind = open->kind == MS_OP_RECOMPUTE ? trace->kind[event] : open->kind;
    } else {
        open_box(c, row, event);
    }
    if (trace->kind[event] == MS_OP_RECOMPUTE) {
        add_recomputation(c, row, event);
    }
    state->end_ps = trace->end_ps[event];
}

/* Every row waits for whatever ends last. */
static void add_end(collecting *c) {
    const ms_trace *trace = c->trace;
    int32_t last = -1;
    for (int32_t i = 0; i < trace->event_count; i++) {
        if (last < 0 || trace->end_ps[i] > trace->end_ps[last]) {
            last = i;
        }
    }
    for (int32_t row = 0; row < trace->rank_count; row++) {
        const int64_t gap[2] = {c->rows[row].end_ps, trace->step_ps};
        add_waiting(c, row, last, gap, false);
    }
}

void ms_passes_collect(const ms_trace *trace, ms_arena *scratch, ms_vector *boxes) {
    collecting c = {trace, MS_NEW(scratch, row_state, trace->rank_count), boxes};
    if (c.rows == NULL) {
        boxes->failed = true;
        return;
    }
    for (int32_t row = 0; row < trace->rank_count; row++) {
        c.rows[row].open = -1;
    }
    /* operations of one stream stand in the order in which they run */
    for (int32_t i = 0; i < trace->event_count && !boxes->failed; i++) {
        if (!is_communication(trace, i)) {
            add_computation(&c, i);
        }
    }
    add_end(&c);
}
