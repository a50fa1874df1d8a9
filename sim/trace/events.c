/* Columns of operations. */
#include "trace/events.h"

#include <math.h>
#include <string.h>

#include "meshsim/engine.h"
#include "trace/repeat.h"

enum { DATES = 256 }; /* that are made at once */

/* ---- /events ---- */

/* Below 2^51 ps, which are 2,251 s, a double of 1.5 * 2^52 more has the whole picoseconds in its
 * low bits, rounded as llrint rounds them: additions, which become vector instructions, in place of
 * calls of the C library. */
void ms_all_to_ps(const double *seconds, size_t count, int64_t *ps_out) {
    const double shift = 0x1.8p52;
    const int exponent_at = 52; /* the first of the exponent's bits, which others do not reach */
    uint64_t shift_bits, far = 0;
    memcpy(&shift_bits, &shift, sizeof shift_bits);
    for (size_t i = 0; i < count; i++) {
        double shifted = seconds[i] * MS_PS_PER_S + shift;
        uint64_t bits;
        memcpy(&bits, &shifted, sizeof bits);
        ps_out[i] = (int64_t)(bits - shift_bits);
        far |= (bits ^ shift_bits) >> exponent_at;
    }
    for (size_t i = 0; far != 0 && i < count; i++) {
        ps_out[i] = ms_to_ps(seconds[i]);
    }
}

static inline int32_t op_of(const ms_event_rows *rows, size_t row) {
    return rows->first_op == NULL ? (int32_t)row : rows->first_op[row];
}

/* A function that makes the cells of a column: `value` of operation `op`, in `row`. It looks at
 * copies of the structs, which stay in registers: cells of one byte might be part of anything else.
 */
#define FILL_EVENTS(function, type, value)                                                         \
    static void function(const ms_column *column, size_t first, size_t count, void *cells_out) {   \
        const ms_event_rows own_rows = *(const ms_event_rows *)column->source;                     \
        const ms_dag own_dag = own_rows.result->dag;                                               \
        const ms_event_rows *const rows = &own_rows;                                               \
        const ms_dag *const dag = &own_dag;                                                        \
        const ms_timeline *const timeline = &own_rows.result->timeline;                            \
        (void)dag;                                                                                 \
        (void)timeline;                                                                            \
        typedef type cell;                                                                         \
        cell *cells = cells_out;                                                                   \
        for (size_t i = 0; i < count; i++) {                                                       \
            size_t row = first + i;                                                                \
            int32_t op = op_of(rows, row);                                                         \
            cells[i] = (cell)(value);                                                              \
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

FILL_EVENTS(fill_some_streams, int32_t, ms_rows_stream(rows, op))
FILL_EVENTS(fill_kind, int8_t, rows->kind == NULL ? dag->ops[op].kind : rows->kind[row])
FILL_EVENTS(fill_axis, int8_t, dag->ops[op].axis)
FILL_EVENTS(fill_stage, int16_t, dag->ops[op].stage)
FILL_EVENTS(fill_chunk, int16_t, dag->ops[op].chunk)
FILL_EVENTS(fill_some_mbs, int32_t, dag->ops[op].mb + more_mbs(dag, timeline, op))
FILL_EVENTS(fill_layer, int16_t,
            rows->kind != NULL && dag->ops[op].mb >= 0 && dag->ops[op].axis == MS_AXIS_NONE
                ? -1
                : dag->ops[op].layer)
FILL_EVENTS(fill_some_bytes, double,
            rows->bytes == NULL ? dag->works[dag->ops[op].work].bytes : rows->bytes[row])
FILL_EVENTS(fill_some_flop, double,
            rows->flop == NULL ? dag->works[dag->ops[op].work].flop : rows->flop[row])

/* Dates of operations in a row, moved on by the periods that are repeated where they are behind
 * these: a few at a time, and stretch by stretch, so that both become vector instructions. */
static void fill_all_dates(const ms_timeline *timeline, const double *date_s, size_t count,
                           const double *start_s, int64_t *cells) {
    const ms_steady *steady = &timeline->steady;
    if (steady->count == 0) {
        ms_all_to_ps(date_s, count, cells);
        return;
    }
    for (size_t done = 0; done < count; done += DATES) {
        size_t some = count - done < DATES ? count - done : DATES;
        double some_s[DATES], later_s[DATES] = {0};
        for (int32_t stretch = 0; stretch < steady->count; stretch++) {
            const ms_steady_stretch of = steady->of_step[stretch];
            const double more_s = of.times * of.period_s;
            for (size_t i = 0; i < some; i++) {
                later_s[i] += ms_steady_stretch_is_before(&of, start_s[done + i]) ? more_s : 0.0;
            }
        }
        for (size_t i = 0; i < some; i++) {
            some_s[i] = date_s[done + i] + later_s[i];
        }
        ms_all_to_ps(some_s, some, cells + done);
    }
}

/* Time by which an operation is later than in the timeline [s]. */
static inline double later_s(const ms_timeline *timeline, int32_t op) {
    return ms_steady_later_s(&timeline->steady, timeline->start_s[op]);
}

FILL_EVENTS(fill_some_starts, int64_t, ms_to_ps(timeline->start_s[op] + later_s(timeline, op)))
FILL_EVENTS(fill_some_ends, int64_t,
            ms_to_ps((rows->end_s == NULL ? timeline->end_s[op] : rows->end_s[row]) +
                     later_s(timeline, op)))

static void fill_stream(const ms_column *column, size_t first, size_t count, void *cells_out) {
    const ms_event_rows *rows = column->source;
    const ms_dag *dag = &rows->result->dag;
    const int32_t *member_first = dag->member_first + first;
    const int32_t *member_stream = dag->member_stream;
    int32_t *cells = cells_out;
    if (rows->first_op != NULL) {
        fill_some_streams(column, first, count, cells_out);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        cells[i] = member_stream[member_first[i]];
    }
}

static void fill_rank(const ms_column *column, size_t first, size_t count, void *cells_out) {
    const ms_event_rows *rows = column->source;
    const ms_dag_stream *streams = rows->result->dag.streams;
    const ms_dag_rank *ranks = rows->result->dag.ranks;
    int32_t *cells = cells_out;
    fill_stream(column, first, count, cells_out);
    for (size_t i = 0; i < count; i++) {
        cells[i] = ranks[streams[cells[i]].rank].rank;
    }
}

static void fill_start(const ms_column *column, size_t first, size_t count, void *cells_out) {
    const ms_event_rows *rows = column->source;
    const ms_timeline *timeline = &rows->result->timeline;
    if (rows->first_op == NULL) {
        const double *start_s = timeline->start_s + first;
        fill_all_dates(timeline, start_s, count, start_s, cells_out);
    } else {
        fill_some_starts(column, first, count, cells_out);
    }
}

static void fill_end(const ms_column *column, size_t first, size_t count, void *cells_out) {
    const ms_event_rows *rows = column->source;
    const ms_timeline *timeline = &rows->result->timeline;
    if (rows->first_op == NULL) {
        fill_all_dates(timeline, timeline->end_s + first, count, timeline->start_s + first,
                       cells_out);
    } else {
        fill_some_ends(column, first, count, cells_out);
    }
}

static void fill_mb(const ms_column *column, size_t first, size_t count, void *cells_out) {
    const ms_event_rows *rows = column->source;
    if (rows->first_op != NULL) {
        fill_some_mbs(column, first, count, cells_out);
        return;
    }
    const ms_dag *dag = &rows->result->dag;
    int32_t *cells = cells_out;
    for (size_t i = 0; i < count; i++) {
        int32_t op = (int32_t)(first + i);
        cells[i] = dag->ops[op].mb + more_mbs(dag, &rows->result->timeline, op);
    }
}

/* A function that makes the cells of a column from a figure of the works: of all operations without
 * a look at what a row is, else by `some`. */
#define FILL_WORKS(function, some, figure)                                                         \
    static void function(const ms_column *column, size_t first, size_t count, void *cells_out) {   \
        const ms_event_rows *rows = column->source;                                                \
        const ms_dag_work *works = rows->result->dag.works;                                        \
        const ms_dag_op *ops = rows->result->dag.ops + first;                                      \
        double *cells = cells_out;                                                                 \
        if (rows->first_op != NULL) {                                                              \
            some(column, first, count, cells_out);                                                 \
            return;                                                                                \
        }                                                                                          \
        for (size_t i = 0; i < count; i++) {                                                       \
            cells[i] = works[ops[i].work].figure;                                                  \
        }                                                                                          \
    }

FILL_WORKS(fill_bytes, fill_some_bytes, bytes)
FILL_WORKS(fill_flop, fill_some_flop, flop)

/* Optimizer step of each row; steps follow one another. */
static void fill_step(const ms_column *column, size_t first, size_t count, void *cells_out) {
    const ms_event_rows *rows = column->source;
    const int32_t *step_first = rows->result->dag.step_first;
    int16_t *cells = cells_out;
    int16_t step = 0;
    size_t done = 0;
    while (done < count) {
        while (op_of(rows, first + done) >= step_first[step + 1]) {
            step++;
        }
        bool is_rest = op_of(rows, first + count - 1) < step_first[step + 1];
        size_t some = is_rest ? count - done : 1;
        for (size_t i = 0; i < some; i++) {
            cells[done + i] = step;
        }
        done += some;
    }
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

static void fill_cause(const ms_column *column, size_t first, size_t count, void *cells_out) {
    int32_t *cells = cells_out;
    for (size_t i = 0; i < count; i++) {
        cells[i] = cause_of(column->source, (int32_t)(first + i));
    }
}

/* What the level leaves out, so that nobody takes a part for all. */
static void describe(ms_h5 *h5, ms_h5_object *group, const void *context) {
    const ms_event_rows *rows = context;
    ms_h5_text(h5, group, "level", ms_trace_level_name(rows->detail->level));
    if (rows->detail->level == MS_TRACE_RANKS) {
        ms_h5_attribute(h5, group, "ranks",
                        (ms_h5_cells){MS_H5_I32, rows->detail->rank_count, rows->detail->ranks});
    }
    const ms_steady *repeat = &rows->result->timeline.steady;
    if (repeat->count > 0) {
        char text[MS_TRACE_REPEAT_TEXT_B];
        ms_h5_text(h5, group, "fast_forwarded", ms_trace_repeat_write(repeat, text, sizeof text));
    }
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
    const ms_h5_table table = {"events",
                               "event",
                               rows->kind == NULL
                                   ? "one row per operation, in order of the graph"
                                   : "one row per pass, and per operation that is in none",
                               (size_t)rows->count,
                               columns,
                               sizeof columns / sizeof columns[0]};
    ms_h5_write_described(h5, &table, describe, rows);
}

/* ---- /members ---- */

/* Where the cells of one column of members have come to: they are asked for from first to last. */
typedef struct member_cursor {
    const ms_event_rows *rows;
    int32_t row;
    int32_t at; /* member of the row's operation that is looked at next */
} member_cursor;

/* The first row from `row` on whose operation has more than one member, which few have. */
static int32_t skip_single(const ms_event_rows *rows, int32_t row) {
    const int32_t *first = rows->result->dag.member_first;
    const int32_t count = rows->count;
    if (rows->first_op == NULL) {
        while (row < count && first[row + 1] - first[row] == 1) {
            row++;
        }
    } else {
        while (row < count && first[rows->first_op[row] + 1] - first[rows->first_op[row]] == 1) {
            row++;
        }
    }
    return row;
}

/* The next member that stands in /members: row of /events and stream; false: there is none. */
static bool next_member(member_cursor *cursor, int32_t *stream_out) {
    const ms_event_rows *rows = cursor->rows;
    const ms_dag *dag = &rows->result->dag;
    for (; cursor->row < rows->count; cursor->row++, cursor->at = 0) {
        if (cursor->at == 0) {
            cursor->row = skip_single(rows, cursor->row);
        }
        if (cursor->row == rows->count) {
            break;
        }
        int32_t op = op_of(rows, (size_t)cursor->row);
        int32_t first = ms_rows_stream(rows, op);
        for (int32_t at = dag->member_first[op] + cursor->at; at < dag->member_first[op + 1];
             at++) {
            *stream_out = dag->member_stream[at];
            if (*stream_out != first && ms_rows_have(rows, *stream_out)) {
                cursor->at = at + 1 - dag->member_first[op];
                return true;
            }
        }
    }
    return false;
}

static size_t count_members(const ms_event_rows *rows) {
    const ms_dag *dag = &rows->result->dag;
    if (rows->first_op == NULL) {
        return (size_t)(dag->member_first[rows->count] - rows->count);
    }
    member_cursor cursor = {.rows = rows};
    int32_t stream = 0;
    size_t count = 0;
    while (next_member(&cursor, &stream)) {
        count++;
    }
    return count;
}

static void fill_member(const ms_column *column, size_t first, size_t count, void *cells_out) {
    member_cursor *cursor = *(member_cursor *const *)column->source;
    if (first == 0) {
        *cursor = (member_cursor){.rows = cursor->rows};
    }
    bool is_stream = strcmp(column->name, "stream") == 0;
    int32_t *cells = cells_out;
    for (size_t i = 0; i < count; i++) {
        int32_t stream = -1;
        (void)next_member(cursor, &stream);
        cells[i] = is_stream ? stream : cursor->row;
    }
}

static void write_members(ms_h5 *h5, const ms_event_rows *rows) {
    member_cursor cursors[] = {{.rows = rows}, {.rows = rows}};
    member_cursor *const places[] = {&cursors[0], &cursors[1]};
    const ms_column columns[] = {
        {"event", MS_H5_I32, "1", "row of /events", .source = &places[0], .fill = fill_member},
        {"stream", MS_H5_I32, "1", "row of /streams", .source = &places[1], .fill = fill_member},
    };
    const ms_h5_table table = {
        "members",           "member", "members of collective operations after their first",
        count_members(rows), columns,  2};
    ms_h5_write_table(h5, &table);
}

void ms_event_rows_write(ms_h5 *h5, const ms_event_rows *rows) {
    write_events(h5, rows);
    write_members(h5, rows);
}
