/* Makes the rows of /events and /members (events.h). An operation of the graph becomes a row of its
 * own; at level `passes` the computations of a pass share a row, and communication inside passes
 * has none. */
#include "trace/events.h"

#include <stdio.h>

#include "simulate/engine/engine.h"
#include "trace/repeat.h"

static const char *const LEVEL_NAMES[MS_TRACE_LEVEL_COUNT] = {
    [MS_TRACE_FULL] = "full",
    [MS_TRACE_RANKS] = "ranks",
    [MS_TRACE_PASSES] = "passes",
    [MS_TRACE_SUMMARY] = "summary",
};

const char *ms_trace_level_name(ms_trace_level level) {
    return LEVEL_NAMES[level];
}

/* ---- listed ranks ---- */

/* Index of a rank of the job among the simulated ranks; -1: another rank stands for it. */
static int32_t find_simulated(const ms_dag *dag, int32_t rank) {
    for (int32_t i = 0; i < dag->rank_count; i++) {
        if (dag->ranks[i].rank == rank) {
            return i;
        }
    }
    return -1;
}

/* Report that a listed rank is not simulated, with some ranks that are.  Returns MS_E_INPUT. */
static ms_status report_not_simulated(const ms_dag *dag, int32_t rank, ms_diag *diag) {
    char some[96] = "";
    size_t used = 0;
    for (int32_t i = 0; i < dag->rank_count && i < 4; i++) {
        used += (size_t)snprintf(some + used, sizeof some - used, "%s%d", i == 0 ? "" : ", ",
                                 dag->ranks[i].rank);
    }
    ms_diag_error(diag,
                  "cannot trace rank %d, which is folded; simulated are %s%s (all with --no-fold)",
                  rank, some, dag->rank_count > 4 ? ", ..." : "");
    return MS_E_INPUT;
}

/* Only level `ranks` leaves events out: it needs a list of the ranks, each of which must be
 * simulated. */
ms_status ms_events_choose(const ms_result *result, const ms_trace_detail *detail,
                           ms_arena *scratch, ms_diag *diag, ms_event_choice *choice_out) {
    *choice_out = (ms_event_choice){.result = result, .detail = detail};
    if (detail->level != MS_TRACE_RANKS) {
        return MS_OK;
    }
    bool *is_listed = MS_NEW(scratch, bool, result->dag.rank_count);
    if (is_listed == NULL) {
        ms_diag_error(diag, "out of memory while choosing what to trace");
        return MS_E_NOMEM;
    }
    for (int i = 0; i < detail->rank_count; i++) {
        int32_t at = find_simulated(&result->dag, detail->ranks[i]);
        if (at < 0) {
            return report_not_simulated(&result->dag, detail->ranks[i], diag);
        }
        is_listed[at] = true;
    }
    choice_out->is_listed = is_listed;
    return MS_OK;
}

/* Whether the trace holds rows of the rank that a stream belongs to. */
static bool has_stream(const ms_event_choice *choice, int32_t stream) {
    return choice->is_listed == NULL || choice->is_listed[choice->result->dag.streams[stream].rank];
}

/* Whether an operation has a member on a listed rank, or is a message to a listed rank. */
static bool concerns_listed(const ms_event_choice *choice, int32_t op) {
    const ms_dag *dag = &choice->result->dag;
    for (int32_t at = dag->member_first[op]; at < dag->member_first[op + 1]; at++) {
        int32_t peer = dag->streams[dag->member_stream[at]].peer;
        if (has_stream(choice, dag->member_stream[at]) || (peer >= 0 && choice->is_listed[peer])) {
            return true;
        }
    }
    return false;
}

/* ---- which operations have rows ---- */

/* The rows of /events: row_of says which operations they hold, and make_event makes a row. */
typedef struct event_rows {
    const ms_event_choice *choice;
    const ms_dag *dag;
    const ms_timeline *timeline;
    int32_t count;
    int32_t *row_of;   /* [op_count] row of an operation; -1: none */
    int32_t *first_op; /* [count] the operation of a row, or the first one of its pass */
    ms_vector members; /* of ms_trace_member */
    int32_t step;      /* of the operation that is handled; operations are handled in their order */
    /* Level passes, else NULL. next_op: [op_count] the next computation of the same pass; 0: none.
     * last_op: [count] the last computation of a row's pass so far. streams: [stream_count] the
     * pass to which the next computation of each stream may belong. */
    int32_t *next_op, *last_op;
    ms_open_stream *streams;
} event_rows;

/* Set `step` to that of the next operation that is handled. */
static void go_to(event_rows *rows, int32_t op) {
    while (op >= rows->dag->step_first[rows->step + 1]) {
        rows->step++;
    }
}

/* The stream of an operation's first member whose rank has rows; if none has, that of the first
 * member. */
static int32_t first_stream(const event_rows *rows, int32_t op) {
    const ms_dag *dag = rows->dag;
    for (int32_t at = dag->member_first[op]; at < dag->member_first[op + 1]; at++) {
        if (has_stream(rows->choice, dag->member_stream[at])) {
            return dag->member_stream[at];
        }
    }
    return dag->member_stream[dag->member_first[op]];
}

/* Append a row for an operation, and its members after the first. */
static void add_row(event_rows *rows, int32_t op) {
    const ms_dag *dag = rows->dag;
    int32_t first = first_stream(rows, op);
    for (int32_t at = dag->member_first[op]; at < dag->member_first[op + 1]; at++) {
        const ms_trace_member member = {rows->count, dag->member_stream[at]};
        if (member.stream != first && has_stream(rows->choice, member.stream)) {
            ms_vector_add(&rows->members, &member, 1);
        }
    }
    rows->row_of[op] = rows->count;
    rows->first_op[rows->count++] = op;
}

/* Whether an operation is communication inside a pass: along an axis along which layers
 * communicate. */
static bool is_inside_pass(const ms_dag_op *op) {
    return op->mb >= 0 && op->stage >= 0 && (MS_AXIS_BIT(op->axis) & MS_AXES_WITHIN_PASSES) != 0;
}

/* Whether an operation is a computation of a pass. */
static bool is_part_of_pass(const ms_dag_op *op) {
    return op->axis == MS_AXIS_NONE && op->mb >= 0;
}

/* Allocate the lists of passes, all 0.  Returns false when memory runs out. */
static bool make_pass_lists(event_rows *rows, ms_arena *scratch) {
    rows->next_op = MS_NEW(scratch, int32_t, rows->dag->op_count);
    rows->last_op = MS_NEW(scratch, int32_t, rows->dag->op_count);
    rows->streams = ms_open_streams_new(scratch, rows->dag->stream_count);
    return rows->next_op != NULL && rows->last_op != NULL && rows->streams != NULL;
}

/* Add a computation to the row of its pass, which is appended with its first computation. */
static void add_to_pass(event_rows *rows, int32_t op) {
    const ms_dag_op *facts = &rows->dag->ops[op];
    const ms_trace_event key = {
        .mb = facts->mb, .stage = facts->stage, .step = (int16_t)rows->step, .kind = facts->kind};
    int32_t row = ms_open_stream_add(&rows->streams[first_stream(rows, op)], &key, rows->count);
    if (row == rows->count) {
        add_row(rows, op);
    } else {
        rows->next_op[rows->last_op[row]] = op;
        rows->row_of[op] = row;
    }
    rows->last_op[row] = op;
}

/* Append the rows of all operations that the level holds. */
static void add_rows(event_rows *rows) {
    ms_trace_level level = rows->choice->detail->level;
    for (int32_t op = 0; op < rows->dag->op_count; op++) {
        const ms_dag_op *facts = &rows->dag->ops[op];
        go_to(rows, op);
        rows->row_of[op] = -1;
        if (level == MS_TRACE_PASSES && is_part_of_pass(facts)) {
            add_to_pass(rows, op);
        } else if (level == MS_TRACE_FULL || (level == MS_TRACE_PASSES && !is_inside_pass(facts)) ||
                   (level == MS_TRACE_RANKS && concerns_listed(rows->choice, op))) {
            add_row(rows, op);
        }
    }
}

/* ---- one row ---- */

/* Number of microbatches that fast-forward skips in the current step before an operation, by
 * which its microbatch is higher in the run; 0 for operations before or in the counted period. */
static int32_t more_mbs(const event_rows *rows, int32_t op) {
    const ms_steady *steady = &rows->timeline->steady;
    bool is_behind =
        rows->step < steady->count && rows->dag->ops[op].mb >= 0 &&
        ms_repeated_period_is_before(&steady->of_step[rows->step], rows->timeline->start_s[op]);
    return is_behind ? rows->dag->repeat.times * rows->dag->repeat.mbs : 0;
}

/* The end of an operation in the run [ps].  first: the first operation of its row; the row moves as
 * a whole, by the skipped time before the start of `first`. */
static int64_t end_ps(const event_rows *rows, int32_t op, int32_t first) {
    const ms_timeline *timeline = rows->timeline;
    return ms_to_ps(timeline->end_s[op] +
                    ms_steady_repeated_before_s(&timeline->steady, timeline->start_s[first]));
}

/* The row of the operation that a row's first operation waited for; -1: none. At level ranks that
 * operation may have no row. At level passes communication inside passes has none: the cause is
 * then the operation for which that communication waited. */
static int32_t cause_of(const event_rows *rows, int32_t row) {
    int32_t at = rows->timeline->cause[rows->first_op[row]];
    bool has_passes = rows->next_op != NULL;
    while (has_passes && at >= 0 && (rows->row_of[at] < 0 || rows->row_of[at] == row)) {
        at = rows->timeline->cause[at];
    }
    return at < 0 ? -1 : rows->row_of[at];
}

/* Add the other computations of a pass to its row. A row that began with recomputation gets the
 * kind of its backward pass. */
static void add_rest_of_pass(const event_rows *rows, int32_t first, ms_trace_event *pass) {
    const ms_dag *dag = rows->dag;
    pass->layer = -1;
    for (int32_t op = rows->next_op[first]; op > 0; op = rows->next_op[op]) {
        const ms_dag_work *work = &dag->works[dag->ops[op].work];
        int64_t last_ps = end_ps(rows, op, first);
        pass->end_ps = last_ps > pass->end_ps ? last_ps : pass->end_ps;
        pass->bytes += work->bytes;
        pass->flop += work->flop;
        pass->kind = pass->kind == MS_OP_RECOMPUTE ? dag->ops[op].kind : pass->kind;
    }
}

/* Make a row of /events (ms_record_maker).  context: event_rows. */
static void make_event(void *context, size_t row, void *record_out) {
    event_rows *rows = context;
    const ms_dag *dag = rows->dag;
    int32_t op = rows->first_op[row];
    int32_t stream = first_stream(rows, op);
    const ms_dag_op *facts = &dag->ops[op];
    const ms_dag_work *work = &dag->works[facts->work];
    ms_trace_event *event = record_out;
    go_to(rows, op);
    *event = (ms_trace_event){.start_ps = ms_to_ps(ms_steady_date_s(&rows->timeline->steady,
                                                                    rows->timeline->start_s[op])),
                              .end_ps = end_ps(rows, op, op),
                              .bytes = work->bytes,
                              .flop = work->flop,
                              .rank = dag->ranks[dag->streams[stream].rank].rank,
                              .stream = stream,
                              .mb = facts->mb + more_mbs(rows, op),
                              .cause = cause_of(rows, (int32_t)row),
                              .stage = facts->stage,
                              .chunk = facts->chunk,
                              .layer = facts->layer,
                              .step = (int16_t)rows->step,
                              .kind = facts->kind,
                              .axis = facts->axis};
    if (rows->next_op != NULL && is_part_of_pass(facts)) {
        add_rest_of_pass(rows, op, event);
    }
}

/* ---- all rows ---- */

/* Write the attributes of /events that say which operations the trace holds. */
static void write_attributes(ms_h5 *h5, const ms_event_choice *choice) {
    const ms_steady *repeat = &choice->result->timeline.steady;
    const ms_trace_detail *detail = choice->detail;
    hid_t group = h5->failed ? -1 : H5Gopen2(h5->file, "events", H5P_DEFAULT);
    ms_h5_text(h5, group, "level", ms_trace_level_name(detail->level));
    if (detail->level == MS_TRACE_RANKS) {
        ms_h5_attribute(h5, group, "ranks",
                        (ms_h5_cells){H5T_NATIVE_INT, detail->rank_count, detail->ranks});
    }
    if (repeat->count > 0) {
        char text[MS_TRACE_REPEAT_TEXT_B];
        ms_h5_text(h5, group, "fast_forwarded", ms_trace_repeat_write(repeat, text, sizeof text));
    }
    (void)H5Gclose(group);
}

/* Rows are numbered first, one for each operation or pass, as causes refer to rows by number; they
 * are made while the table is written. Failures are kept in h5. */
void ms_events_write(ms_h5 *h5, const ms_event_choice *choice) {
    const ms_dag *dag = &choice->result->dag;
    bool has_passes = choice->detail->level == MS_TRACE_PASSES;
    event_rows rows = {.choice = choice, .dag = dag, .timeline = &choice->result->timeline};
    ms_vector_init(&rows.members, sizeof(ms_trace_member));
    rows.row_of = MS_NEW(h5->scratch, int32_t, dag->op_count);
    rows.first_op = MS_NEW(h5->scratch, int32_t, dag->op_count);
    if (rows.row_of != NULL && rows.first_op != NULL &&
        (!has_passes || make_pass_lists(&rows, h5->scratch))) {
        add_rows(&rows);
    } else {
        ms_h5_fail(h5, "out of memory");
    }
    rows.step = 0; /* the rows are made from the first step on */
    if (rows.members.failed) {
        ms_h5_fail(h5, "out of memory");
    }
    ms_h5_write_made(h5, has_passes ? &MS_TABLE_PASSES : &MS_TABLE_EVENTS, make_event, &rows,
                     (size_t)rows.count);
    write_attributes(h5, choice);
    ms_h5_write_table(h5, &MS_TABLE_MEMBERS, rows.members.data, rows.members.count);
    ms_vector_release(&rows.members);
}
