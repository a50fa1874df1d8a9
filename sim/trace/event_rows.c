/* Which operations a trace holds. */
#include <math.h>
#include <stdio.h>

#include "trace/events.h"

static const char *const LEVEL_NAMES[MS_TRACE_LEVEL_COUNT] = {
    [MS_TRACE_FULL] = "full",
    [MS_TRACE_RANKS] = "ranks",
    [MS_TRACE_PASSES] = "passes",
    [MS_TRACE_SUMMARY] = "summary",
};

const char *ms_trace_level_name(ms_trace_level level) {
    return LEVEL_NAMES[level];
}

/* ---- rows of listed ranks ---- */

static int32_t find_simulated(const ms_dag *dag, int32_t rank) {
    for (int32_t i = 0; i < dag->rank_count; i++) {
        if (dag->ranks[i].rank == rank) {
            return i;
        }
    }
    return -1;
}

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

static ms_status mark_listed(ms_event_rows *rows, ms_arena *scratch, ms_diag *diag) {
    const ms_dag *dag = &rows->result->dag;
    rows->is_listed = MS_NEW(scratch, bool, dag->rank_count);
    if (rows->is_listed == NULL) {
        return MS_E_NOMEM;
    }
    for (int i = 0; i < rows->detail->rank_count; i++) {
        int32_t at = find_simulated(dag, rows->detail->ranks[i]);
        if (at < 0) {
            return report_not_simulated(dag, rows->detail->ranks[i], diag);
        }
        rows->is_listed[at] = true;
    }
    return MS_OK;
}

/* Operations with a member on a listed rank, and messages to one. */
static bool concerns_listed(const ms_event_rows *rows, int32_t op) {
    const ms_dag *dag = &rows->result->dag;
    for (int32_t at = dag->member_first[op]; at < dag->member_first[op + 1]; at++) {
        int32_t peer = dag->streams[dag->member_stream[at]].peer;
        if (ms_rows_have(rows, dag->member_stream[at]) || (peer >= 0 && rows->is_listed[peer])) {
            return true;
        }
    }
    return false;
}

/* ---- rows of passes ---- */

/* What the operations of a pass have in common: their compute stream and these. */
typedef struct pass_key {
    int32_t stream;
    int32_t mb;
    int16_t step, stage, chunk;
    uint8_t kind; /* of backward passes that of the fused one, whatever they consist of */
} pass_key;

typedef struct pass_table {
    int32_t *slots; /* [size] row + 1; 0: none */
    pass_key *keys; /* [rows] */
    uint32_t size;  /* a power of two */
} pass_table;

static bool is_same_pass(const pass_key *a, const pass_key *b) {
    return a->stream == b->stream && a->mb == b->mb && a->step == b->step && a->stage == b->stage &&
           a->chunk == b->chunk && a->kind == b->kind;
}

static uint32_t hash_of(const pass_key *key) {
    uint64_t hash = (uint64_t)(uint32_t)key->stream << 32 | (uint32_t)key->mb;
    hash = hash * 0x9E3779B97F4A7C15U + (uint64_t)(uint16_t)key->step * 7919 +
           (uint64_t)(uint16_t)key->stage * 104729 + (uint64_t)(uint16_t)key->chunk * 1299709 +
           key->kind;
    return (uint32_t)(hash * 0x9E3779B97F4A7C15U >> 32);
}

/* The slot of a pass: its own, or the free one that it gets. */
static int32_t *find_slot(const pass_table *table, const pass_key *key) {
    uint32_t at = hash_of(key) & (table->size - 1);
    while (table->slots[at] != 0 && !is_same_pass(&table->keys[table->slots[at] - 1], key)) {
        at = (at + 1) & (table->size - 1);
    }
    return &table->slots[at];
}

static bool is_computation(const ms_dag *dag, int32_t op) {
    return dag->ops[op].axis == MS_AXIS_NONE;
}

/* Communication inside a pass: of the axes that layers communicate along. */
static bool is_inside_pass(const ms_dag_op *op) {
    return op->mb >= 0 && op->stage >= 0 && (MS_AXIS_BIT(op->axis) & MS_AXES_WITHIN_PASSES) != 0;
}

/* Input gradients and what is recomputed for them are one pass, as are fused ones. */
static uint8_t pass_kind(uint8_t kind) {
    return kind == MS_OP_INPUT_GRAD || kind == MS_OP_RECOMPUTE ? (uint8_t)MS_OP_BACKWARD : kind;
}

static void add_row(ms_event_rows *rows, int32_t op) {
    rows->first_op[rows->count] = op;
    rows->row_of[op] = rows->count++;
}

static void grow_pass(ms_event_rows *rows, int32_t row, int32_t op) {
    const ms_dag *dag = &rows->result->dag;
    const ms_dag_work *work = &dag->works[dag->ops[op].work];
    rows->row_of[op] = row;
    rows->end_s[row] = fmax(rows->end_s[row], rows->result->timeline.end_s[op]);
    rows->bytes[row] += work->bytes;
    rows->flop[row] += work->flop;
    if (rows->kind[row] == MS_OP_RECOMPUTE) {
        rows->kind[row] = dag->ops[op].kind;
    }
}

static void open_row(ms_event_rows *rows, int32_t op) {
    int32_t row = rows->count;
    add_row(rows, op);
    rows->kind[row] = rows->result->dag.ops[op].kind;
    grow_pass(rows, row, op);
}

static void choose_passes(ms_event_rows *rows, const pass_table *table) {
    const ms_dag *dag = &rows->result->dag;
    int16_t step = 0;
    for (int32_t op = 0; op < dag->op_count; op++) {
        while (op >= dag->step_first[step + 1]) {
            step++;
        }
        const ms_dag_op *facts = &dag->ops[op];
        rows->row_of[op] = -1;
        if (is_inside_pass(facts)) {
            continue;
        }
        if (!is_computation(dag, op) || facts->mb < 0) {
            open_row(rows, op);
            continue;
        }
        const pass_key key = {ms_rows_stream(rows, op), facts->mb, step, facts->stage, facts->chunk,
                              pass_kind(facts->kind)};
        int32_t *slot = find_slot(table, &key);
        if (*slot > 0) {
            grow_pass(rows, *slot - 1, op);
        } else {
            *slot = rows->count + 1;
            table->keys[rows->count] = key;
            open_row(rows, op);
        }
    }
}

/* ---- choosing ---- */

/* Rows at most. */
static int32_t count_rows(const ms_event_rows *rows) {
    const ms_dag *dag = &rows->result->dag;
    int32_t count = 0;
    for (int32_t op = 0; op < dag->op_count; op++) {
        count += rows->detail->level == MS_TRACE_PASSES ? !is_inside_pass(&dag->ops[op])
                                                        : concerns_listed(rows, op);
    }
    return count;
}

static bool make_room(ms_event_rows *rows, int32_t most, ms_arena *scratch) {
    rows->first_op = MS_NEW(scratch, int32_t, most);
    rows->row_of = MS_NEW(scratch, int32_t, rows->result->dag.op_count);
    return rows->first_op != NULL && rows->row_of != NULL;
}

static ms_status choose_all_passes(ms_event_rows *rows, ms_arena *scratch) {
    int32_t most = count_rows(rows);
    pass_table table = {.size = 16};
    while (table.size < 2 * (uint32_t)most) {
        table.size *= 2;
    }
    table.slots = MS_NEW(scratch, int32_t, table.size);
    table.keys = MS_NEW(scratch, pass_key, most);
    rows->end_s = MS_NEW(scratch, double, most);
    rows->bytes = MS_NEW(scratch, double, most);
    rows->flop = MS_NEW(scratch, double, most);
    rows->kind = MS_NEW(scratch, uint8_t, most);
    if (!make_room(rows, most, scratch) || table.slots == NULL || table.keys == NULL ||
        rows->end_s == NULL || rows->bytes == NULL || rows->flop == NULL || rows->kind == NULL) {
        return MS_E_NOMEM;
    }
    choose_passes(rows, &table);
    return MS_OK;
}

static ms_status choose_listed(ms_event_rows *rows, ms_arena *scratch, ms_diag *diag) {
    ms_status status = mark_listed(rows, scratch, diag);
    if (status != MS_OK) {
        return status;
    }
    if (!make_room(rows, count_rows(rows), scratch)) {
        return MS_E_NOMEM;
    }
    for (int32_t op = 0; op < rows->result->dag.op_count; op++) {
        rows->row_of[op] = -1;
        if (concerns_listed(rows, op)) {
            add_row(rows, op);
        }
    }
    return MS_OK;
}

ms_status ms_event_rows_choose(const ms_result *result, const ms_trace_detail *detail,
                               ms_arena *scratch, ms_diag *diag, ms_event_rows *rows_out) {
    ms_event_rows rows = {.result = result, .detail = detail};
    ms_status status = MS_OK;
    if (detail->level == MS_TRACE_RANKS) {
        status = choose_listed(&rows, scratch, diag);
    } else if (detail->level == MS_TRACE_PASSES) {
        status = choose_all_passes(&rows, scratch);
    } else if (detail->level == MS_TRACE_FULL) {
        rows.count = result->dag.op_count;
    }
    if (status == MS_E_NOMEM) {
        ms_diag_error(diag, "out of memory while choosing what to trace");
    }
    *rows_out = rows;
    return status;
}
