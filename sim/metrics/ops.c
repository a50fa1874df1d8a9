#include "metrics/internal.h"

ms_pass ms_op_pass(const ms_dag *dag, int32_t op) {
    switch ((ms_op_kind)dag->ops[op].kind) {
    case MS_OP_FORWARD:
        return MS_PASS_F;
    case MS_OP_INPUT_GRAD:
    case MS_OP_RECOMPUTE:
    case MS_OP_BACKWARD:
        return MS_PASS_B;
    case MS_OP_WEIGHT_GRAD:
        return MS_PASS_W;
    default:
        return MS_PASS_COUNT;
    }
}

/* Turn counts at [rank + 1] into first indices at [rank], ready to be filled by add_op. */
static int32_t make_firsts(int32_t *first, int32_t rank_count) {
    for (int32_t r = 0; r < rank_count; r++) {
        first[r + 1] += first[r];
    }
    return first[rank_count];
}

/* After filling, first[rank] has moved to the end of the rank's part: move all back by one part. */
static void rewind_firsts(int32_t *first, int32_t rank_count) {
    for (int32_t r = rank_count; r > 0; r--) {
        first[r] = first[r - 1];
    }
    first[0] = 0;
}

/* Count (at [rank + 1]) or, where there are places for them, enter the operations of each rank. */
static void visit_compute(ms_rank_ops *ops) {
    const ms_dag *dag = ops->dag;
    for (int32_t op = 0; op < dag->op_count; op++) {
        if (!ms_dag_is_compute(dag, op)) {
            continue;
        }
        for (int32_t m = dag->member_first[op]; m < dag->member_first[op + 1]; m++) {
            int32_t rank = dag->streams[dag->member_stream[m]].rank;
            if (dag->ranks[rank].compute != dag->member_stream[m]) {
                continue;
            }
            if (ops->compute_ops == NULL) {
                ops->compute_first[rank + 1]++;
            } else {
                ops->compute_ops[ops->compute_first[rank]++] = op;
            }
        }
    }
}

static void enter_comm(ms_rank_ops *ops, int32_t rank, int32_t op) {
    if (ops->comm_ops == NULL) {
        ops->comm_first[rank + 1]++;
    } else {
        ops->comm_ops[ops->comm_first[rank]++] = op;
    }
}

static void visit_comm(ms_rank_ops *ops) {
    const ms_dag *dag = ops->dag;
    for (int32_t op = 0; op < dag->op_count; op++) {
        if (ms_dag_is_compute(dag, op)) {
            continue;
        }
        for (int32_t m = dag->member_first[op]; m < dag->member_first[op + 1]; m++) {
            const ms_dag_stream *stream = &dag->streams[dag->member_stream[m]];
            enter_comm(ops, stream->rank, op);
            if (stream->peer >= 0 && stream->peer != stream->rank) {
                enter_comm(ops, stream->peer, op);
            }
        }
    }
}

static int32_t find_last_op(const ms_timeline *timeline) {
    int32_t last = -1;
    for (int32_t op = 0; op < timeline->op_count; op++) {
        if (last < 0 || timeline->end_s[op] > timeline->end_s[last]) {
            last = op;
        }
    }
    return last;
}

static ms_status collect(ms_rank_ops *ops, void (*visit)(ms_rank_ops *), int32_t **first,
                         int32_t **list, ms_arena *scratch) {
    int32_t ranks = ops->dag->rank_count;
    *first = MS_NEW(scratch, int32_t, ranks + 1);
    if (*first == NULL) {
        return MS_E_NOMEM;
    }
    visit(ops);
    *list = MS_NEW(scratch, int32_t, make_firsts(*first, ranks));
    if (*list == NULL) {
        return MS_E_NOMEM;
    }
    visit(ops);
    rewind_firsts(*first, ranks);
    return MS_OK;
}

ms_status ms_rank_ops_collect(const ms_dag *dag, const ms_timeline *timeline, bool with_comm,
                              ms_arena *scratch, ms_rank_ops *ops_out) {
    ms_rank_ops ops = {.dag = dag, .timeline = timeline, .last_op = find_last_op(timeline)};
    ms_status status = collect(&ops, visit_compute, &ops.compute_first, &ops.compute_ops, scratch);
    if (status == MS_OK && with_comm) {
        status = collect(&ops, visit_comm, &ops.comm_first, &ops.comm_ops, scratch);
    }
    if (status == MS_OK) {
        *ops_out = ops;
    }
    return status;
}
