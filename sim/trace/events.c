/* Columns of operations. */
#include "trace/events.h"

#include "meshsim/engine.h"
#include "trace/repeat.h"

/* ---- /events ---- */

static inline int32_t op_of(const ms_event_rows *rows, size_t row) {
    return rows->first_op == NULL ? (int32_t)row : rows->first_op[row];
}

/* A function that makes the cells of a column: `value` of operation `op`, in `row`. It looks at
 * copies of the structs, which stay in registers: cells of one byte might be part of anything else.
 */
#define FILL_EVENTS(function, type, value)                                                         \
    static void function(const void *source, size_t count, void *cells_out) {                      \
        const ms_event_rows own_rows = *(const ms_event_rows *)source, *rows = &own_rows;          \
        const ms_dag own_dag = rows->result->dag, *dag = &own_dag;                                 \
        const ms_timeline *timeline = &rows->result->timeline;                                     \
        typedef type cell;                                                                         \
        cell *cells = cells_out;                                                                   \
        (void)timeline;                                                                            \
        for (size_t row = 0; row < count; row++) {                                                 \
            int32_t op = op_of(rows, row);                                                         \
            const ms_dag_op *facts = &dag->ops[op];                                                \
            (void)facts;                                                                           \
            cells[row] = (cell)(value);                                                            \
        }                                                                                          \
    }

/* Microbatches of its step that are left out before an operation. */
static int32_t more_mbs(const ms_dag *dag, const ms_timeline *timeline, int32_t op) {
    const ms_steady *steady = &timeline->steady;
    int32_t step = 0;
    while (step < steady->count && op >= dag->step_first[step + 1]) {
        step++;
    }
    bool is_behind = step < steady->count && dag->ops[op].mb >= 0 &&
                     ms_steady_stretch_is_before(&steady->of_step[step], timeline->start_s[op]);
    return is_behind ? dag->repeat.times * dag->repeat.mbs : 0;
}

/* The time by which an operation is later than in the timeline [s]. */
static inline double later_s(const ms_timeline *timeline, int32_t op) {
    return ms_steady_later_s(&timeline->steady, timeline->start_s[op]);
}

static int32_t step_of(const ms_dag *dag, int32_t op) {
    int32_t step = 0;
    while (op >= dag->step_first[step + 1]) {
        step++;
    }
    return step;
}

/* The row of what released an operation. Of listed ranks: -1 where that is of no listed rank. Of a
 * pass: past the communication inside passes, which has no rows, to what that waited for. */
static int32_t cause_of(const ms_event_rows *rows, int32_t row) {
    const int32_t *cause = rows->result->timeline.cause;
    int32_t at = cause[op_of(rows, (size_t)row)];
    if (rows->row_of == NULL) {
        return at;
    }
    while (rows->kind != NULL && at >= 0 && (rows->row_of[at] < 0 || rows->row_of[at] == row)) {
        at = cause[at];
    }
    return at < 0 ? -1 : rows->row_of[at];
}

/* Computations of a pass are of several layers. */
static bool is_pass(const ms_event_rows *rows, const ms_dag_op *op) {
    return rows->kind != NULL && op->mb >= 0 && op->axis == MS_AXIS_NONE;
}

FILL_EVENTS(fill_start, int64_t, ms_to_ps(timeline->start_s[op] + later_s(timeline, op)))
FILL_EVENTS(fill_end, int64_t,
            ms_to_ps((rows->end_s == NULL ? timeline->end_s[op] : rows->end_s[row]) +
                     later_s(timeline, op)))
FILL_EVENTS(fill_rank, int32_t, dag->ranks[dag->streams[ms_rows_stream(rows, op)].rank].rank)
FILL_EVENTS(fill_stream, int32_t, ms_rows_stream(rows, op))
FILL_EVENTS(fill_kind, int8_t, rows->kind == NULL ? facts->kind : rows->kind[row])
FILL_EVENTS(fill_axis, int8_t, facts->axis)
FILL_EVENTS(fill_stage, int16_t, facts->stage)
FILL_EVENTS(fill_chunk, int16_t, facts->chunk)
FILL_EVENTS(fill_mb, int32_t, facts->mb + more_mbs(dag, timeline, op))
FILL_EVENTS(fill_step, int16_t, step_of(dag, op))
FILL_EVENTS(fill_layer, int16_t, is_pass(rows, facts) ? -1 : facts->layer)
FILL_EVENTS(fill_bytes, double,
            rows->bytes == NULL ? dag->works[facts->work].bytes : rows->bytes[row])
FILL_EVENTS(fill_flop, double, rows->flop == NULL ? dag->works[facts->work].flop : rows->flop[row])
FILL_EVENTS(fill_cause, int32_t, cause_of(rows, (int32_t)row))

/* What the level leaves out, so that nobody takes a part for all. */
static void describe(ms_h5 *h5, const ms_event_rows *rows) {
    const ms_steady *repeat = &rows->result->timeline.steady;
    hid_t group = h5->failed ? -1 : H5Gopen2(h5->file, "events", H5P_DEFAULT);
    ms_h5_text(h5, group, "level", ms_trace_level_name(rows->detail->level));
    if (rows->detail->level == MS_TRACE_RANKS) {
        ms_h5_attribute(
            h5, group, "ranks",
            (ms_h5_cells){H5T_NATIVE_INT, rows->detail->rank_count, rows->detail->ranks});
    }
    if (repeat->count > 0) {
        char text[MS_TRACE_REPEAT_TEXT_B];
        ms_h5_text(h5, group, "fast_forwarded", ms_trace_repeat_write(repeat, text, sizeof text));
    }
    (void)H5Gclose(group);
}

#define EVENT_CELL(function) .source = rows, .fill = (function)

static void write_events(ms_h5 *h5, const ms_event_rows *rows) {
    const ms_column columns[] = {
        {"start_ps", MS_H5_I64, "ps", "start of the operation", EVENT_CELL(fill_start)},
        {"end_ps", MS_H5_I64, "ps", "end of the operation", EVENT_CELL(fill_end)},
        {"rank", MS_H5_I32, "1", "rank of the job of the first member", EVENT_CELL(fill_rank)},
        {"stream", MS_H5_I32, "1", "stream of the first member, row of /streams",
         EVENT_CELL(fill_stream)},
        {"kind", MS_H5_KIND, "1", "what the operation does", EVENT_CELL(fill_kind)},
        {"axis", MS_H5_AXIS, "1", "mesh axis of a communication, none for a computation",
         EVENT_CELL(fill_axis)},
        {"stage", MS_H5_I16, "1", "virtual pipeline stage, -1 none", EVENT_CELL(fill_stage)},
        {"chunk", MS_H5_I16, "1", "which of its rank's stages it is, -1 none",
         EVENT_CELL(fill_chunk)},
        {"mb", MS_H5_I32, "1", "microbatch, of sequences in K parts microbatch * K + part; -1 none",
         EVENT_CELL(fill_mb)},
        {"step", MS_H5_I16, "1", "optimizer step, row of /steps", EVENT_CELL(fill_step)},
        {"layer", MS_H5_I16, "1", "layer of the model, -1 none", EVENT_CELL(fill_layer)},
        {"bytes", MS_H5_F64, "B",
         "communication: bytes each member sends; computation: bytes moved to and from memory",
         EVENT_CELL(fill_bytes)},
        {"flop", MS_H5_F64, "FLOP", "floating-point operations executed", EVENT_CELL(fill_flop)},
        {"cause", MS_H5_I32, "1", "event whose end released this one, -1 none",
         EVENT_CELL(fill_cause)},
    };
    const ms_h5_table table = {"events", "event",
                               rows->kind == NULL
                                   ? "one row per operation, in order of the graph"
                                   : "one row per pass, and per operation that is in none",
                               (size_t)rows->count};
    ms_h5_write_table(h5, &table, columns, 14);
    describe(h5, rows);
}

/* ---- /members ---- */

typedef struct member_row {
    int32_t event;
    int32_t stream;
} member_row;

/* The members of a row's operation after its first. */
static void add_members(const ms_event_rows *rows, int32_t row, ms_vector *members) {
    const ms_dag *dag = &rows->result->dag;
    int32_t op = op_of(rows, (size_t)row);
    int32_t first = ms_rows_stream(rows, op);
    for (int32_t at = dag->member_first[op]; at < dag->member_first[op + 1]; at++) {
        const member_row member = {row, dag->member_stream[at]};
        if (member.stream != first && ms_rows_have(rows, member.stream)) {
            ms_vector_add(members, &member, 1);
        }
    }
}

static void write_members(ms_h5 *h5, const ms_event_rows *rows) {
    ms_vector members;
    ms_vector_init(&members, sizeof(member_row));
    for (int32_t row = 0; row < rows->count; row++) {
        add_members(rows, row, &members);
    }
    if (members.failed) {
        ms_h5_fail(h5, "out of memory");
    }
    const ms_column columns[] = {
        {"event", MS_H5_I32, "1", "row of /events", MS_RECORD(members.data, member_row, event)},
        {"stream", MS_H5_I32, "1", "row of /streams", MS_RECORD(members.data, member_row, stream)},
    };
    const ms_h5_table table = {"members", "member",
                               "members of collective operations after their first", members.count};
    ms_h5_write_table(h5, &table, columns, 2);
    ms_vector_release(&members);
}

void ms_event_rows_write(ms_h5 *h5, const ms_event_rows *rows) {
    write_events(h5, rows);
    write_members(h5, rows);
}
