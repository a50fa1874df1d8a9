/* Computations that communication on their rank slows down (slowdown.h). Each rank has a factor,
 * the largest of the communications that run on it now. When it changes, the computations under way
 * on the rank get another end, which moves in the event queue of the replay. */
#include "simulate/engine/slowdown.h"

#include <math.h>

#include "base/firsts.h"

bool ms_work_slows_compute(const ms_dag *dag, const ms_dag_work *work) {
    return work->is_communication && dag->network.compute_slowdown[work->coll] > 1.0;
}

/* List the streams of each rank (base/firsts.h). */
static void list_streams(ms_slowdown *slowdown) {
    const ms_dag *dag = slowdown->dag;
    for (int32_t i = 0; i < dag->stream_count; i++) {
        slowdown->stream_first[dag->streams[i].rank + 1]++;
    }
    ms_firsts_make(slowdown->stream_first, dag->rank_count);
    for (int32_t i = 0; i < dag->stream_count; i++) {
        slowdown->streams[slowdown->stream_first[dag->streams[i].rank]++] = i;
    }
    ms_firsts_rewind(slowdown->stream_first, dag->rank_count);
}

/* No stream runs a computation at first (-1), and the factor of every rank is 1. */
ms_status ms_slowdown_init(ms_slowdown *slowdown, const ms_dag *dag, ms_event_queue *queue,
                           ms_arena *scratch) {
    *slowdown = (ms_slowdown){
        .dag = dag,
        .queue = queue,
        .running = MS_NEW(scratch, ms_running, dag->stream_count),
        .on_stream = MS_NEW(scratch, int32_t, dag->stream_count),
        .stream_first = MS_NEW(scratch, int32_t, (size_t)dag->rank_count + 1),
        .streams = MS_NEW(scratch, int32_t, dag->stream_count),
        .live = MS_NEW(scratch, int32_t, (size_t)dag->rank_count * MS_COLL_COUNT),
        .factor = MS_NEW(scratch, double, dag->rank_count),
        .computing = MS_NEW(scratch, int32_t, dag->rank_count),
    };
    if (scratch->has_failed) {
        return MS_E_NOMEM;
    }
    for (int32_t i = 0; i < dag->stream_count; i++) {
        slowdown->on_stream[i] = -1;
    }
    for (int32_t r = 0; r < dag->rank_count; r++) {
        slowdown->factor[r] = 1.0;
    }
    list_streams(slowdown);
    return MS_OK;
}

/* The stream of the first member of an operation, which identifies a computation under way. */
static int32_t first_stream(const ms_dag *dag, int32_t op) {
    return dag->member_stream[dag->member_first[op]];
}

bool ms_slowdown_is_running(const ms_slowdown *slowdown, int32_t op) {
    return slowdown->on_stream[first_stream(slowdown->dag, op)] == op;
}

/* The factor on the time of computation `op` now: the largest over the ranks of its members, as the
 * slowest member holds up the others. In a fused pass only the time in which it computes takes
 * longer, not its waits. So the excess of the factor over 1 is scaled by the share of that time,
 * without what communication inside the fused pass adds to it already. */
static double factor_of(const ms_slowdown *slowdown, int32_t op) {
    const ms_dag *dag = slowdown->dag;
    double factor = 1.0;
    for (int32_t j = dag->member_first[op]; j < dag->member_first[op + 1]; j++) {
        factor = fmax(factor, slowdown->factor[dag->streams[dag->member_stream[j]].rank]);
    }
    const ms_dag_work *work = &dag->works[dag->ops[op].work];
    const ms_fused_pass *fused = ms_fused_pass_of(dag, work);
    if (fused == NULL || work->time_s <= 0.0) {
        return factor;
    }
    return 1.0 + (factor - 1.0) * ((fused->compute_s - fused->slowed_s) / work->time_s);
}

/* Enter computation `op` on all its streams when it begins (value: `op`), or remove it when it has
 * ended (value: -1), and count the computations of their ranks. */
static void set_on_streams(ms_slowdown *slowdown, int32_t op, int32_t value) {
    const ms_dag *dag = slowdown->dag;
    for (int32_t j = dag->member_first[op]; j < dag->member_first[op + 1]; j++) {
        slowdown->on_stream[dag->member_stream[j]] = value;
        slowdown->computing[dag->streams[dag->member_stream[j]].rank] += value < 0 ? -1 : 1;
    }
}

void ms_slowdown_begin(ms_slowdown *slowdown, ms_event start) {
    const ms_dag *dag = slowdown->dag;
    ms_running *running = &slowdown->running[first_stream(dag, start.op)];
    *running = (ms_running){.left_s = dag->works[dag->ops[start.op].work].time_s,
                            .since_s = start.time_s,
                            .factor = factor_of(slowdown, start.op)};
    set_on_streams(slowdown, start.op, start.op);
    ms_event_queue_add(slowdown->queue, (ms_event){.time_s = ms_running_end_s(running),
                                                   .op = start.op,
                                                   .mover = 1 + first_stream(dag, start.op)});
}

void ms_slowdown_end(ms_slowdown *slowdown, int32_t op) {
    set_on_streams(slowdown, op, -1);
}

/* Move the end of computation `op` if its factor has changed at `now_s`. */
static void update_end(ms_slowdown *slowdown, int32_t op, double now_s) {
    ms_running *running = &slowdown->running[first_stream(slowdown->dag, op)];
    double factor = factor_of(slowdown, op);
    if (factor == running->factor) {
        return;
    }
    ms_running_change(running, now_s, factor);
    ms_event_queue_move(slowdown->queue, (ms_event){.time_s = ms_running_end_s(running),
                                                    .op = op,
                                                    .mover = 1 + first_stream(slowdown->dag, op)});
}

/* The largest factor of the communications that run on a rank now; 1 without any. */
static double largest_factor(const ms_slowdown *slowdown, int32_t rank) {
    double factor = 1.0;
    for (int kind = 0; kind < MS_COLL_COUNT; kind++) {
        if (slowdown->live[rank * MS_COLL_COUNT + kind] > 0) {
            factor = fmax(factor, slowdown->dag->network.compute_slowdown[kind]);
        }
    }
    return factor;
}

/* Set the factor of a rank at `now_s`, and move the ends of the computations under way on its
 * streams. */
static void set_factor(ms_slowdown *slowdown, int32_t rank, double factor, double now_s) {
    slowdown->factor[rank] = factor;
    for (int32_t i = slowdown->stream_first[rank];
         i < slowdown->stream_first[rank + 1] && slowdown->computing[rank] > 0; i++) {
        if (slowdown->on_stream[slowdown->streams[i]] >= 0) {
            update_end(slowdown, slowdown->on_stream[slowdown->streams[i]], now_s);
        }
    }
}

/* Count a communication of a kind (ms_coll_kind) that starts (change 1) or ends (change -1) on a
 * rank. The factor of the rank changes if a start has a larger factor, or if the last communication
 * with the current factor has ended. */
static void communicate_on(ms_slowdown *slowdown, int32_t rank, int32_t kind, int32_t change,
                           double now_s) {
    int32_t live = slowdown->live[rank * MS_COLL_COUNT + kind] += change;
    double own = slowdown->dag->network.compute_slowdown[kind];
    if (change > 0 && own > slowdown->factor[rank]) {
        set_factor(slowdown, rank, own, now_s);
    } else if (live == 0 && own == slowdown->factor[rank]) {
        double factor = largest_factor(slowdown, rank);
        if (factor != own) {
            set_factor(slowdown, rank, factor, now_s);
        }
    }
}

void ms_slowdown_change_comm(ms_slowdown *slowdown, ms_event event, int32_t change) {
    const ms_dag *dag = slowdown->dag;
    int32_t kind = dag->works[dag->ops[event.op].work].coll;
    for (int32_t j = dag->member_first[event.op]; j < dag->member_first[event.op + 1]; j++) {
        const ms_dag_stream *stream = &dag->streams[dag->member_stream[j]];
        communicate_on(slowdown, stream->rank, kind, change, event.time_s);
        if (stream->peer >= 0 && stream->peer != stream->rank) {
            communicate_on(slowdown, stream->peer, kind, change, event.time_s);
        }
    }
}
