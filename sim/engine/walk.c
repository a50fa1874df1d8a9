/* The walk over the operation graph that both engines share. */
#include "engine/core.h"

#include <math.h>

/* Events no farther apart than this, and this share of the time, are together. */
#define TOGETHER_S 1e-12
#define TOGETHER   1e-12

ms_status ms_engine_no_memory(ms_diag *diag) {
    ms_diag_error(diag, "out of memory while running the operation graph");
    return MS_E_NOMEM;
}

/* Transfers over links that one operation of `work` makes. */
static int64_t count_transfers(const ms_dag *dag, const ms_dag_work *work) {
    int64_t count = 0;
    for (int32_t p = 0; p < work->phase_count; p++) {
        const ms_dag_phase *phase = &dag->phases[work->phase_first + p];
        for (int32_t f = 0; f < phase->flow_count; f++) {
            count += dag->flows[phase->flow_first + f].crossing_count > 0;
        }
    }
    return count;
}

static bool alloc_timeline(ms_walk *walk, ms_arena *arena) {
    const ms_dag *dag = walk->dag;
    ms_timeline *t = &walk->timeline;
    t->op_count = dag->op_count;
    t->start_s = MS_NEW(arena, double, dag->op_count);
    t->end_s = MS_NEW(arena, double, dag->op_count);
    t->cause = MS_NEW(arena, int32_t, dag->op_count);
    t->link_bytes = MS_NEW(arena, double, dag->link_count);
    t->link_busy_s = MS_NEW(arena, double, dag->link_count);
    t->link_peak = MS_NEW(arena, double, dag->link_count);
    return t->start_s != NULL && t->end_s != NULL && t->cause != NULL && t->link_bytes != NULL &&
           t->link_busy_s != NULL && t->link_peak != NULL;
}

static bool alloc_walk(ms_walk *walk, ms_arena *scratch) {
    const ms_dag *dag = walk->dag;
    size_t ops = (size_t)dag->op_count;
    int64_t edges = dag->dep_count;
    for (int32_t j = 0; j < dag->member_count; j++) {
        edges += dag->member_prev[j] >= 0;
    }
    if (edges >= INT32_MAX) {
        return false; /* 2^31 edges would take 8 GiB: as good as out of memory */
    }
    walk->work_time_s = MS_NEW(scratch, double, dag->work_count);
    walk->work_transfer_s = MS_NEW(scratch, double, dag->work_count);
    walk->waiting = MS_NEW(scratch, int32_t, ops);
    walk->next_first = MS_NEW(scratch, int32_t, ops + 1);
    walk->next = MS_NEW(scratch, int32_t, edges);
    walk->ready = MS_NEW(scratch, int32_t, ops);
    return walk->work_time_s != NULL && walk->work_transfer_s != NULL && walk->waiting != NULL &&
           walk->next_first != NULL && walk->next != NULL && walk->ready != NULL;
}

static bool alloc_account(ms_walk *walk, ms_arena *scratch) {
    const ms_dag *dag = walk->dag;
    int64_t total = 0;
    for (int32_t i = 0; i < dag->op_count; i++) {
        const ms_dag_work *work = &dag->works[dag->ops[i].work];
        total += work->phase_count > 0 ? count_transfers(dag, work) : 0;
    }
    walk->account.capacity = total;
    walk->account.records = MS_NEW(scratch, ms_flow_record, total);
    return walk->account.records != NULL;
}

/* Calls `visit(walk, before, entry)` for every edge of the graph; entry as in ms_walk.next. */
static void for_each_edge(ms_walk *walk, void (*visit)(ms_walk *, int32_t, int32_t)) {
    const ms_dag *dag = walk->dag;
    for (int32_t op = 0; op < dag->op_count; op++) {
        for (int32_t j = dag->member_first[op]; j < dag->member_first[op + 1]; j++) {
            for (int32_t d = dag->dep_first[j]; d < dag->dep_first[j + 1]; d++) {
                visit(walk, dag->deps[d], op);
            }
            if (dag->member_prev[j] >= 0) {
                visit(walk, dag->member_prev[j], ~op);
            }
        }
    }
}

static void count_edge(ms_walk *walk, int32_t before, int32_t entry) {
    walk->next_first[before + 1]++;
    walk->waiting[entry < 0 ? ~entry : entry]++;
}

/* Fills from the back of each operation's range, so that next_first ends up at its beginnings. */
static void place_edge(ms_walk *walk, int32_t before, int32_t entry) {
    walk->next[--walk->next_first[before + 1]] = entry;
}

static void link_successors(ms_walk *walk) {
    int32_t ops = walk->dag->op_count;
    for_each_edge(walk, count_edge);
    for (int32_t i = 0; i < ops; i++) {
        walk->next_first[i + 1] += walk->next_first[i];
    }
    int32_t total = walk->next_first[ops];
    for_each_edge(walk, place_edge);
    /* next_first[i + 1] now holds the beginning of i: shift down by one */
    for (int32_t i = 0; i < ops; i++) {
        walk->next_first[i] = walk->next_first[i + 1];
    }
    walk->next_first[ops] = total;
}

ms_status ms_walk_init(ms_walk *walk, const ms_dag *dag, ms_fidelity fidelity, ms_arena *scratch,
                       ms_arena *timeline, ms_diag *diag) {
    *walk = (ms_walk){.dag = dag, .is_alone = fidelity == MS_FIDELITY_ANALYTIC};
    if (!alloc_timeline(walk, timeline) || !alloc_walk(walk, scratch) ||
        !alloc_account(walk, scratch)) {
        return ms_engine_no_memory(diag);
    }
    for (int32_t i = 0; i < dag->work_count; i++) {
        walk->work_time_s[i] =
            ms_dag_work_time_s(dag, &dag->works[i], walk->is_alone, &walk->work_transfer_s[i]);
    }
    for (int32_t i = 0; i < dag->op_count; i++) {
        walk->timeline.cause[i] = -1;
        walk->timeline.end_s[i] = -1.0; /* not settled */
    }
    link_successors(walk);
    return MS_OK;
}

void ms_walk_start(ms_walk *walk) {
    for (int32_t i = 0; i < walk->dag->op_count; i++) {
        if (walk->waiting[i] == 0) {
            walk->ready[walk->ready_count++] = i;
        }
    }
}

/* `op` may not start before `time_s`, when `before` releases it. Of those that release it together,
 * as far as rounding and SimGrid's clock can tell, the lowest is its cause: else the cause, and
 * what the wait counts as, would depend on how a simulation adds up, folded or not. */
static inline void release(ms_walk *walk, int32_t op, int32_t before, double time_s) {
    double *start_s = &walk->timeline.start_s[op];
    int32_t *cause = &walk->timeline.cause[op];
    double later_s = time_s - *start_s;
    double together_s = TOGETHER_S + TOGETHER * time_s;
    if (*cause < 0 || later_s > together_s || (later_s >= -together_s && before < *cause)) {
        *cause = before;
    }
    *start_s = fmax(*start_s, time_s);
    if (--walk->waiting[op] == 0) {
        walk->ready[walk->ready_count++] = op;
    }
}

void ms_walk_settle(ms_walk *walk, int32_t op, double transfer_s, double end_s) {
    double release_s = walk->dag->works[walk->dag->ops[op].work].is_pipelined ? transfer_s : end_s;
    walk->timeline.end_s[op] = end_s;
    walk->timeline.makespan_s = fmax(walk->timeline.makespan_s, end_s);
    walk->settled++;
    for (int32_t i = walk->next_first[op]; i < walk->next_first[op + 1]; i++) {
        int32_t next = walk->next[i];
        if (next < 0) {
            release(walk, ~next, op, release_s);
        } else {
            release(walk, next, op, end_s);
        }
    }
}

/* Write down the transfers of an operation whose flows run alone on their links. */
static void record_alone(ms_walk *walk, int32_t op) {
    const ms_dag *dag = walk->dag;
    const ms_dag_work *work = &dag->works[dag->ops[op].work];
    double phase_s = walk->timeline.start_s[op];
    for (int32_t p = 0; p < work->phase_count; p++) {
        const ms_dag_phase *phase = &dag->phases[work->phase_first + p];
        double slowest_s = 0.0;
        for (int32_t f = phase->flow_first; f < phase->flow_first + phase->flow_count; f++) {
            double time_s = ms_dag_flow_time_s(dag, f, walk->is_alone);
            slowest_s = fmax(slowest_s, time_s);
            if (dag->flows[f].crossing_count > 0) {
                walk->account.records[walk->account.count++] = (ms_flow_record){
                    .start_s = phase_s, .end_s = phase_s + time_s, .flow = f, .stream = -1};
            }
        }
        phase_s += slowest_s + phase->latency_s;
        walk->timeline.timers += (slowest_s > 0.0) + (phase->latency_s > 0.0);
    }
}

void ms_walk_drain(ms_walk *walk) {
    while (walk->ready_count > 0) {
        int32_t op = walk->ready[--walk->ready_count];
        int32_t work = walk->dag->ops[op].work;
        if (walk->is_contended != NULL && walk->is_contended[work]) {
            walk->begin(walk->context, op);
            continue;
        }
        if (walk->dag->works[work].is_communication) {
            record_alone(walk, op);
        } else {
            walk->timeline.timers++;
        }
        double start_s = walk->timeline.start_s[op];
        ms_walk_settle(walk, op, start_s + walk->work_transfer_s[work],
                       start_s + walk->work_time_s[work]);
    }
}
