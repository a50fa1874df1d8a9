/* Lists the operations of each simulated rank: computations on its compute stream, and its
 * communications. The metrics of all ranks start from these lists. */
#include "base/firsts.h"
#include "simulate/metrics/internal.h"

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

/* Count an operation of a rank (at first[rank + 1], base/firsts.h) while `list` is NULL; later
 * enter it in the list. */
static inline void enter(int32_t *first, int32_t *list, int32_t rank, int32_t op) {
    if (list == NULL) {
        first[rank + 1]++;
    } else {
        list[first[rank]++] = op;
    }
}

/* Count or enter a computation (enter) for the rank of each member that is on its rank's compute
 * stream. */
static void visit_compute(ms_rank_ops *ops, int32_t op) {
    const ms_dag *dag = ops->dag;
    for (int32_t m = dag->member_first[op]; m < dag->member_first[op + 1]; m++) {
        int32_t rank = dag->streams[dag->member_stream[m]].rank;
        if (dag->ranks[rank].compute == dag->member_stream[m]) {
            enter(ops->compute_first, ops->compute_ops, rank, op);
        }
    }
}

/* Count or enter a communication for the rank of each member, and a message also for its receiver.
 */
static void visit_comm(ms_rank_ops *ops, int32_t op) {
    const ms_dag *dag = ops->dag;
    for (int32_t m = dag->member_first[op]; m < dag->member_first[op + 1]; m++) {
        const ms_dag_stream *stream = &dag->streams[dag->member_stream[m]];
        enter(ops->comm_first, ops->comm_ops, stream->rank, op);
        if (stream->peer >= 0 && stream->peer != stream->rank) {
            enter(ops->comm_first, ops->comm_ops, stream->peer, op);
        }
    }
}

/* Count or enter the operations of all ranks; communications only if their lists are asked for. */
static void visit_all(ms_rank_ops *ops) {
    for (int32_t op = 0; op < ops->dag->op_count; op++) {
        if (ms_dag_is_compute(ops->dag, op)) {
            visit_compute(ops, op);
        } else if (ops->comm_first != NULL) {
            visit_comm(ops, op);
        }
    }
}

/* The last operation of the timeline. Of several that end together (ms_together_s) it is the one of
 * the lowest role (ms_dag_role), as for causes; -1: the graph is empty. */
static int32_t find_last_op(const ms_dag *dag, const ms_timeline *timeline) {
    int32_t last = -1;
    double from_s = timeline->makespan_s - ms_together_s(timeline->makespan_s);
    for (int32_t op = 0; op < timeline->op_count; op++) {
        if (timeline->end_s[op] >= from_s &&
            (last < 0 || ms_dag_role(dag, op) < ms_dag_role(dag, last))) {
            last = op;
        }
    }
    return last;
}

/* Fill the lists of all ranks: count, allocate, enter. visit_all counts while there are no lists,
 * and enters once there are.  Returns MS_OK; MS_E_NOMEM. */
static ms_status collect(ms_rank_ops *ops, bool with_comm, ms_arena *scratch) {
    int32_t ranks = ops->dag->rank_count;
    ops->compute_first = MS_NEW(scratch, int32_t, ranks + 1);
    ops->comm_first = with_comm ? MS_NEW(scratch, int32_t, ranks + 1) : NULL;
    if (ops->compute_first == NULL || (with_comm && ops->comm_first == NULL)) {
        return MS_E_NOMEM;
    }
    visit_all(ops);
    ops->compute_ops = MS_NEW(scratch, int32_t, ms_firsts_make(ops->compute_first, ranks));
    ops->comm_ops =
        with_comm ? MS_NEW(scratch, int32_t, ms_firsts_make(ops->comm_first, ranks)) : NULL;
    if (ops->compute_ops == NULL || (with_comm && ops->comm_ops == NULL)) {
        return MS_E_NOMEM;
    }
    visit_all(ops);
    ms_firsts_rewind(ops->compute_first, ranks);
    if (with_comm) {
        ms_firsts_rewind(ops->comm_first, ranks);
    }
    return MS_OK;
}

ms_status ms_rank_ops_collect(const ms_dag *dag, const ms_timeline *timeline, bool with_comm,
                              ms_arena *scratch, ms_rank_ops *ops_out) {
    ms_rank_ops ops = {.dag = dag, .timeline = timeline, .last_op = find_last_op(dag, timeline)};
    ms_status status = collect(&ops, with_comm, scratch);
    if (status == MS_OK) {
        *ops_out = ops;
    }
    return status;
}
