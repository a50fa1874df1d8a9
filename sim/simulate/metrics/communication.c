/* Counts the communications of the measured steps: bytes and waiting times of each rank by axis,
 * and a table of collectives (ms_coll_row): one row for all communications of the same axis, kind,
 * size, group size, tier, algorithm and protocol, including those inside fused passes. */
#include "base/memo.h"
#include "simulate/metrics/internal.h"

/* When an operation releases its streams [s]: at its end; a pipelined one before its last latency.
 */
static double release_s(const ms_dag *dag, const ms_timeline *timeline, int32_t op) {
    const ms_dag_work *work = &dag->works[dag->ops[op].work];
    double end_s = timeline->end_s[op];
    if (!work->is_pipelined || work->phase_count == 0) {
        return end_s;
    }
    return end_s - dag->network.phases[work->phase_first + work->phase_count - 1].latency_s;
}

/* When a member is ready by itself [s]: the latest end of its dependencies and the release of its
 * stream, but no later than the start of its operation.  released_s: release of its stream [s]. */
static double member_arrival_s(const ms_dag *dag, const ms_timeline *timeline, int32_t op,
                               int32_t member, double released_s) {
    double arrival_s = ms_max(0.0, released_s);
    for (int32_t d = dag->dep_first[member]; d < dag->dep_first[member + 1]; d++) {
        arrival_s = ms_max(arrival_s, timeline->end_s[dag->deps[d]]);
    }
    return ms_min(arrival_s, timeline->start_s[op]);
}

/* When the last member of an operation is ready by itself [s]. This is the operation's start; where
 * hosts take time to launch, the start may be later, and the time from the last arrival on is no
 * waiting for another rank.  released_s: [stream_count] releases of the streams [s]. */
static double last_arrival_s(const ms_dag *dag, const ms_timeline *timeline, int32_t op,
                             const double *released_s) {
    if (dag->works[dag->ops[op].work].host_s <= 0.0) {
        return timeline->start_s[op];
    }
    double last_s = 0.0;
    for (int32_t m = dag->member_first[op]; m < dag->member_first[op + 1]; m++) {
        last_s = ms_max(last_s,
                        member_arrival_s(dag, timeline, op, m, released_s[dag->member_stream[m]]));
    }
    return last_s;
}

/* Values that all communications of one work have in common. */
typedef struct work_facts {
    int32_t row;               /* row of the last communication of the work, + 1; 0: none yet */
    double alone_s, latency_s; /* as in ms_coll_row [s] */
} work_facts;

/* Rows under construction. */
typedef struct rows {
    work_facts *of_work; /* [work_count] */
    double *released_s; /* [stream_count] when the last operation so far released each stream [s] */
    ms_vector list;     /* of ms_coll_row; times and count_per_rank are sums, weighted by ranks */
    ms_memo keys;       /* of ms_coll_row without sums; the number of a key is that of its row */
    int32_t *of_op;   /* [op_count] row of each operation, + 1; 0: a computation, or not measured */
    int32_t *of_part; /* [parts of all fused passes] row of each communication in a measured fused
                         pass, + 1; 0: none */
    double *fused; /* [work_count] how often a work that is a fused pass runs, summed over ranks */
} rows;

/* The row for communications of a work on an axis, added if it is new; NULL when memory runs out.
 */
static ms_coll_row *find_new_row(rows *all, const ms_dag_work *work, int axis) {
    const ms_coll_row key = {.axis = (ms_axis)axis,
                             .kind = (ms_coll_kind)work->coll,
                             .tier = work->tier,
                             .algorithm = work->algorithm,
                             .protocol = work->protocol,
                             .group_size = work->group_size,
                             .size_B = work->size_B};
    int number = 0;
    bool is_new = false;
    if (ms_memo_find_or_add(&all->keys, &key, &number, &is_new) != MS_OK ||
        (is_new && ms_vector_add(&all->list, &key, 1) == NULL)) {
        return NULL;
    }
    return &MS_AT(&all->list, ms_coll_row, number);
}

/* The row of an operation's communication, added if it is new; NULL when memory runs out. The last
 * row of the operation's work is tried first, since most works have one axis. */
static ms_coll_row *find_row(rows *all, const ms_dag *dag, int32_t op) {
    work_facts *facts = &all->of_work[dag->ops[op].work];
    ms_coll_row *row = facts->row > 0 ? &MS_AT(&all->list, ms_coll_row, facts->row - 1) : NULL;
    if (row == NULL || (int)row->axis != ms_op_axis(dag, op)) {
        const ms_dag_work *work = &dag->works[dag->ops[op].work];
        row = find_new_row(all, work, ms_op_axis(dag, op));
        facts->row = row == NULL ? 0 : 1 + (int32_t)(row - (const ms_coll_row *)all->list.data);
        facts->alone_s = ms_dag_work_time_s(dag, work, true, NULL);
        facts->latency_s = ms_dag_work_latency_s(dag, work);
    }
    return row;
}

/* Add the ranks of the job that simulated rank `rank` stands for to a row (-1: none), unless they
 * have been added already.  last: [rows] the last rank added to each row, + 1. */
static void count_rank(const ms_dag *dag, rows *all, int32_t row, int32_t rank, int32_t *last) {
    if (row >= 0 && last[row] != rank + 1) {
        last[row] = rank + 1;
        MS_AT(&all->list, ms_coll_row, row).ranks += dag->ranks[rank].multiplicity;
    }
}

/* Add the ranks that simulated rank `rank` stands for to the rows of all collectives inside its
 * fused passes (count_rank).  last_fused: [works] the last rank whose fused pass of this work has
 * been counted, + 1. */
static void count_fused_of_rank(const ms_rank_ops *ops, rows *all, int32_t rank, int32_t *last,
                                int32_t *last_fused) {
    const ms_dag *dag = ops->dag;
    for (int32_t i = ops->compute_first[rank]; i < ops->compute_first[rank + 1]; i++) {
        int32_t work = dag->ops[ops->compute_ops[i]].work;
        const ms_fused_pass *fused = ms_fused_pass_of(dag, &dag->works[work]);
        if (fused == NULL || last_fused[work] == rank + 1) {
            continue;
        }
        last_fused[work] = rank + 1;
        for (int32_t p = 0; p < fused->part_count; p++) {
            count_rank(dag, all, all->of_part[fused->part_first + p] - 1, rank, last);
        }
    }
}

/* Set `ranks` of every row: the number of the job's ranks that take part in its communications,
 * each counted once; of messages only the senders.  Returns MS_OK; MS_E_NOMEM. */
static ms_status count_ranks(const ms_rank_ops *ops, rows *all, ms_arena *scratch) {
    const ms_dag *dag = ops->dag;
    int32_t *last = MS_NEW(scratch, int32_t, all->list.count); /* rank + 1 that a row has counted */
    int32_t *last_fused = MS_NEW(scratch, int32_t, dag->work_count);
    if (last == NULL || last_fused == NULL) {
        return MS_E_NOMEM;
    }
    for (int32_t rank = 0; rank < dag->rank_count; rank++) {
        count_fused_of_rank(ops, all, rank, last, last_fused);
        for (int32_t i = ops->comm_first[rank]; i < ops->comm_first[rank + 1]; i++) {
            int32_t op = ops->comm_ops[i];
            int32_t row = all->of_op[op] - 1;
            const ms_dag_stream *stream = &dag->streams[dag->member_stream[dag->member_first[op]]];
            bool only_receives = stream->peer >= 0 && stream->rank != rank;
            count_rank(dag, all, only_receives ? -1 : row, rank, last);
        }
    }
    return MS_OK;
}

/* Add a communication to the figures of its members' ranks and to its row. One with a single member
 * (a message, or a group of which one rank is simulated) waits for no other rank. */
static void count_op(const ms_rank_ops *ops, int32_t op, const rows *all, ms_coll_row *row,
                     ms_metrics *metrics) {
    const ms_dag *dag = ops->dag;
    const ms_timeline *timeline = ops->timeline;
    const ms_dag_work *work = &dag->works[dag->ops[op].work];
    const work_facts *facts = &all->of_work[dag->ops[op].work];
    bool is_alone = dag->member_first[op + 1] - dag->member_first[op] == 1;
    double times = ms_steady_count(&timeline->steady, timeline->start_s[op]);
    double last_s = is_alone ? 0.0 : last_arrival_s(dag, timeline, op, all->released_s);
    for (int32_t m = dag->member_first[op]; m < dag->member_first[op + 1]; m++) {
        int32_t rank = dag->streams[dag->member_stream[m]].rank;
        double weight = times * dag->ranks[rank].multiplicity;
        double released_s = all->released_s[dag->member_stream[m]];
        double wait_s =
            is_alone ? 0.0 : last_s - member_arrival_s(dag, timeline, op, m, released_s);
        ms_axis_use *use = &metrics->ranks[rank].axes[ms_op_axis(dag, op)];
        use->bytes += times * work->bytes;
        use->wait_s += times * wait_s;
        row->count_per_rank += weight;
        row->time_s += weight * (timeline->end_s[op] - timeline->start_s[op]);
        row->alone_s += weight * facts->alone_s;
        row->latency_s += weight * facts->latency_s;
        row->wait_s += weight * wait_s;
    }
}

/* Set when operation `op` releases its streams. */
static void set_released(const ms_rank_ops *ops, int32_t op, double *released_s) {
    double time_s = release_s(ops->dag, ops->timeline, op);
    for (int32_t m = ops->dag->member_first[op]; m < ops->dag->member_first[op + 1]; m++) {
        released_s[ops->dag->member_stream[m]] = time_s;
    }
}

/* Count one operation that is a fused pass: the bytes of its communications for each rank that runs
 * it, and how often the fused pass runs. The first operation of a fused pass enters the rows of the
 * communications inside it.  Returns MS_OK; MS_E_NOMEM. */
static ms_status count_fused_pass(const ms_rank_ops *ops, int32_t op, rows *all,
                                  ms_metrics *metrics) {
    const ms_dag *dag = ops->dag;
    int32_t index = dag->ops[op].work;
    const ms_fused_pass *fused = ms_fused_pass_of(dag, &dag->works[index]);
    for (int32_t p = 0; p < fused->part_count && all->fused[index] == 0.0; p++) {
        const ms_dag_part *part = &dag->network.fused.parts[fused->part_first + p];
        if (!dag->works[part->work].is_communication) {
            continue;
        }
        const ms_coll_row *row = find_new_row(all, &dag->works[part->work], part->axis);
        if (row == NULL) {
            return MS_E_NOMEM;
        }
        all->of_part[fused->part_first + p] =
            1 + (int32_t)(row - (const ms_coll_row *)all->list.data);
    }
    double times = ms_steady_count(&ops->timeline->steady, ops->timeline->start_s[op]);
    for (int32_t m = dag->member_first[op]; m < dag->member_first[op + 1]; m++) {
        int32_t rank = dag->streams[dag->member_stream[m]].rank;
        all->fused[index] += times * dag->ranks[rank].multiplicity;
        for (unsigned axes = fused->comm_axes; axes != 0;) {
            ms_axis axis = ms_axes_take(&axes);
            metrics->ranks[rank].axes[axis].bytes += times * fused->axes[axis].bytes;
        }
    }
    return MS_OK;
}

/* Add the communications inside fused passes to their rows, as often as the fused passes run. They
 * add no wait_s, as all members go through a fused pass together. */
static void count_parts(const ms_dag *dag, rows *all) {
    for (int32_t w = 0; w < dag->work_count; w++) {
        const ms_fused_pass *fused = ms_fused_pass_of(dag, &dag->works[w]);
        double weight = all->fused[w];
        for (int32_t p = 0; fused != NULL && weight > 0.0 && p < fused->part_count; p++) {
            int32_t index = fused->part_first + p;
            if (all->of_part[index] == 0) {
                continue;
            }
            const ms_dag_part *part = &dag->network.fused.parts[index];
            const ms_dag_work *work = &dag->works[part->work];
            ms_coll_row *row = &MS_AT(&all->list, ms_coll_row, all->of_part[index] - 1);
            row->count_per_rank += weight;
            row->time_s += weight * (part->end_s - part->start_s);
            row->alone_s += weight * ms_dag_work_time_s(dag, work, true, NULL);
            row->latency_s += weight * ms_dag_work_latency_s(dag, work);
        }
    }
}

/* Divide the sums of ranks by the number of measured steps. */
static void finish_ranks(const ms_rank_ops *ops, ms_metrics *metrics) {
    for (int32_t r = 0; r < ops->dag->rank_count; r++) {
        for (int axis = 0; axis < MS_AXIS_COUNT; axis++) {
            metrics->ranks[r].axes[axis].bytes /= ops->measured.steps;
            metrics->ranks[r].axes[axis].wait_s /= ops->measured.steps;
        }
    }
}

/* Turn the weighted sums of rows into means, and move the rows to `arena`.  Returns MS_OK;
 * MS_E_NOMEM. */
static ms_status finish_rows(rows *all, const ms_rank_ops *ops, ms_arena *arena,
                             ms_metrics *metrics) {
    double ranks = 0.0;
    for (int32_t r = 0; r < ops->dag->rank_count; r++) {
        ranks += ops->dag->ranks[r].multiplicity;
    }
    metrics->collective_count = (int)all->list.count;
    metrics->collectives = ms_vector_keep(&all->list, arena);
    if (metrics->collectives == NULL) {
        return MS_E_NOMEM;
    }
    for (int i = 0; i < metrics->collective_count; i++) {
        ms_coll_row *row = &metrics->collectives[i];
        /* count_per_rank is the sum of the weights until it is divided itself */
        row->time_s /= row->count_per_rank;
        row->alone_s /= row->count_per_rank;
        row->latency_s /= row->count_per_rank;
        row->wait_s /= row->count_per_rank;
        row->count_per_rank /= ranks * ops->measured.steps;
    }
    return MS_OK;
}

/* Count all communications and fused passes of the measured steps. Operations before them only
 * release streams.  Returns MS_OK; MS_E_NOMEM. */
static ms_status count_ops(const ms_rank_ops *ops, rows *all, ms_metrics *metrics) {
    const ms_dag *dag = ops->dag;
    for (int32_t op = 0; op < dag->op_count; op++) {
        bool is_measured = op >= ops->measured.first_op;
        if (is_measured && !ms_dag_is_compute(dag, op)) {
            ms_coll_row *row = find_row(all, dag, op);
            if (row == NULL) {
                return MS_E_NOMEM;
            }
            all->of_op[op] = 1 + (int32_t)(row - (const ms_coll_row *)all->list.data);
            count_op(ops, op, all, row, metrics);
        } else if (is_measured && dag->works[dag->ops[op].work].fused > 0) {
            ms_status status = count_fused_pass(ops, op, all, metrics);
            if (status != MS_OK) {
                return status;
            }
        }
        set_released(ops, op, all->released_s);
    }
    return MS_OK;
}

/* Number of parts of all fused passes of a graph; fused passes lie side by side. */
static size_t count_all_parts(const ms_dag *dag) {
    const ms_fused_passes *all = &dag->network.fused;
    const ms_fused_pass *last = all->count == 0 ? NULL : &all->passes[all->count - 1];
    return last == NULL ? 0 : (size_t)(last->part_first + last->part_count);
}

/* Allocate the arrays for the rows of a graph.  Returns MS_OK; MS_E_NOMEM. */
static ms_status init_rows(rows *all, const ms_dag *dag, ms_arena *scratch) {
    ms_vector_init(&all->list, sizeof(ms_coll_row));
    ms_memo_init(&all->keys, sizeof(ms_coll_row), 0);
    all->of_op = MS_NEW(scratch, int32_t, dag->op_count);
    all->of_part = MS_NEW(scratch, int32_t, count_all_parts(dag));
    all->of_work = MS_NEW(scratch, work_facts, dag->work_count);
    all->released_s = MS_NEW(scratch, double, dag->stream_count);
    all->fused = MS_NEW(scratch, double, dag->work_count);
    return scratch->has_failed ? MS_E_NOMEM : MS_OK;
}

ms_status ms_count_communication(const ms_rank_ops *ops, ms_arena *scratch, ms_arena *arena,
                                 ms_metrics *metrics) {
    const ms_dag *dag = ops->dag;
    rows all;
    ms_status status = init_rows(&all, dag, scratch);
    status = status == MS_OK ? count_ops(ops, &all, metrics) : status;
    status = status == MS_OK ? count_ranks(ops, &all, scratch) : status;
    if (status == MS_OK) {
        count_parts(dag, &all);
        finish_ranks(ops, metrics);
        status = finish_rows(&all, ops, arena, metrics);
    }
    ms_vector_release(&all.list);
    ms_memo_release(&all.keys);
    return status;
}
