/* Runs the operations of one step in order on the clocks of the pipeline ranks (clocks.h): a pass
 * by its map, a message by its queue, an unshard beside the passes. All arrivals that an operation
 * needs come from operations before it. */
#include "estimate/clocks.h"

#include <math.h>
#include <string.h>

#include "base/number.h"

/* Storage for `count` arrival times. It is not cleared, which would take a tenth of the time of a
 * plain step: each arrival time is written before it is read. */
static double *reserve_arrivals(ms_vector *arrivals, size_t count) {
    if (arrivals->count < count) {
        ms_vector_add(arrivals, NULL, count - arrivals->count);
    }
    return arrivals->data;
}

ms_status ms_clocks_new(const ms_order *order, ms_arena *arena, ms_vector *arrivals,
                        ms_clocks *clocks_out) {
    const ms_program *program = order->program;
    int ranks = program->spec.pipeline_ranks;
    *clocks_out = (ms_clocks){.rank_s = MS_NEW(arena, double, ranks),
                              .host_s = MS_NEW(arena, double, ranks),
                              .stream_s = MS_NEW(arena, double, MS_CARRIED_MAX *ranks),
                              .queue_s = MS_NEW(arena, double, order->queue_count),
                              .arrival_s = reserve_arrivals(arrivals, 2 * (size_t)order->op_count),
                              .unsharded_s = MS_NEW(arena, double, program->stages)};
    return arena->has_failed || arrivals->failed ? MS_E_NOMEM : MS_OK;
}

/* Gather the parameters of a stage, and store in unsharded_s when they are whole. The collectives
 * start when the rank has ended its passes so far, and run beside the passes that follow. Each is
 * launched by the host, and one with a carried communicator (stream >= 0) also waits until that
 * communicator is free. */
static void unshard(ms_clocks *clocks, const ms_order_op *op, const ms_order_times *times) {
    for (int i = 0; i < MS_UNSHARDS_MAX; i++) {
        const ms_unshard_time *unshard = &times->unshards[MS_UNSHARDS_MAX * op->stage + i];
        double start_s = clocks->rank_s[op->rank];
        if (unshard->time_s < 0.0) { /* there is no such collective */
            continue;
        }
        if (times->launch_s > 0.0) {
            clocks->host_s[op->rank] += times->launch_s;
            start_s = ms_max(start_s, clocks->host_s[op->rank]);
        }
        if (unshard->stream >= 0) {
            double *stream_s = &clocks->stream_s[op->rank * MS_CARRIED_MAX + unshard->stream];
            start_s = ms_max(start_s, *stream_s);
            *stream_s = start_s + unshard->time_s;
        }
        clocks->unsharded_s[op->stage] =
            ms_max(clocks->unsharded_s[op->stage], start_s + unshard->time_s);
    }
}

/* Maximum over `count` clocks of clock + entry [s]. */
static double latest(const double *from_s, const double *entries_s, int count) {
    double latest_s = -INFINITY;
    for (int i = 0; i < count; i++) {
        latest_s = ms_max(latest_s, from_s[i] + entries_s[i]);
    }
    return latest_s;
}

/* Run a pass: its map turns the clocks of the rank, of its host and of the carried communicators at
 * the start of the pass into those at its end.  input_s: when the inputs of the pass have arrived
 * [s]. */
static void run_pass(ms_clocks *clocks, const ms_order_times *times, const ms_pass_map *map,
                     int32_t rank, double input_s) {
    double *stream_s = &clocks->stream_s[rank * MS_CARRIED_MAX], *host_s = &clocks->host_s[rank];
    int carried = times->carried, count = MS_FROM_STREAM + carried;
    double from_s[MS_CLOCKS] = {
        [MS_FROM_RANK] = clocks->rank_s[rank], [MS_FROM_INPUT] = input_s, [MS_FROM_HOST] = *host_s};
    /* a copy, as stream_s changes while the clocks after the pass are computed */
    memcpy(&from_s[MS_FROM_STREAM], stream_s, (size_t)carried * sizeof *stream_s);
    clocks->rank_s[rank] = latest(from_s, map->end_s, count);
    *host_s = times->launch_s > 0.0 ? latest(from_s, map->host_s, count) : *host_s;
    for (int k = 0; k < carried; k++) {
        stream_s[k] = latest(from_s, map->stream_s[k], count);
    }
}

/* Send a result, which is ready at `end_s`, to the rank that needs it, after the earlier messages
 * of its queue.  message: -1: the result stays on its rank.  Returns when the result arrives [s].
 */
static double send_result(ms_clocks *clocks, const ms_order *order, const ms_order_times *times,
                          int message, double end_s) {
    if (message < 0) {
        return end_s;
    }
    const ms_message_time *time = &times->messages[message];
    double *queue_s = &clocks->queue_s[order->queues[message]];
    double start_s = ms_max(end_s, *queue_s);
    *queue_s = times->sharing == NULL
                   ? start_s + time->transfer_s
                   : ms_queue_sharing_end_s(times->sharing, order->queues[message], start_s,
                                            time->transfer_s);
    return *queue_s + time->latency_s;
}

/* When a message whose data is ready at `end_s` can start: its rank's host has to launch it first.
 */
static double launch_message(double *host_s, const ms_order_times *times, int message,
                             double end_s) {
    if (message < 0 || times->launch_s <= 0.0) {
        return end_s;
    }
    *host_s += times->launch_s;
    return ms_max(end_s, *host_s);
}

/* When all inputs of a pass or pair have arrived [s]; -INFINITY: it has no inputs. */
static double inputs_s(const ms_clocks *clocks, const ms_order_op *op) {
    double first_s = op->inputs[0] < 0 ? -INFINITY : clocks->arrival_s[op->inputs[0]];
    return op->inputs[1] < 0 ? first_s : ms_max(first_s, clocks->arrival_s[op->inputs[1]]);
}

/* Run operation number `at`, a pass or an overlapped pair: apply its map when its inputs have
 * arrived and, if passes wait for them, the gathers of its stages' parameters (unshards) have
 * ended. Then send each result that leaves the rank, two for a pair. With blocking sends the rank
 * waits for the arrivals. */
static void run_op(ms_clocks *clocks, const ms_order *order, const ms_order_times *times, int at) {
    const ms_order_op *op = &order->ops[at];
    const ms_pass_map *map = times->maps[op->slot];
    double *rank_s = &clocks->rank_s[op->rank];
    double input_s = inputs_s(clocks, op);
    if (order->has_unshards && times->waits_for_unshards) {
        const ms_order_slot *slot = &order->slots[op->slot];
        input_s = ms_max(input_s, clocks->unsharded_s[slot->stage]);
        if (slot->second_stage >= 0) {
            input_s = ms_max(input_s, clocks->unsharded_s[slot->second_stage]);
        }
    }
    run_pass(clocks, times, map, op->rank, input_s);
    double end_s = *rank_s;
    for (int i = 0; i < 2; i++) {
        double ready_s = launch_message(&clocks->host_s[op->rank], times, op->sends[i], end_s);
        double arrival_s = send_result(clocks, order, times, op->sends[i], ready_s);
        clocks->arrival_s[2 * at + i] = arrival_s;
        *rank_s = times->is_blocking ? ms_max(*rank_s, arrival_s) : *rank_s;
    }
}

/* Whether an order has single passes only, no collective outlives its pass, launches take no time,
 * and a message delays nothing but the pass that needs it. */
static bool is_plain(const ms_order *order, const ms_order_times *times) {
    return !order->has_pairs && !order->has_unshards && times->carried == 0 &&
           times->sharing == NULL && times->launch_s <= 0.0 && !times->is_blocking;
}

/* Run all operations of a plain order as run_op does, in a third of the time: nearly all orders
 * that a search estimates are plain. */
static void run_plain(const ms_clocks *clocks, const ms_order *order, const ms_order_times *times) {
    double *restrict rank_s = clocks->rank_s, *restrict queue_s = clocks->queue_s;
    double *restrict arrival_s = clocks->arrival_s;
    for (int at = 0; at < order->op_count; at++) {
        const ms_order_op *op = &order->ops[at];
        const double *pass_s = times->maps[op->slot]->end_s;
        double end_s = rank_s[op->rank] + pass_s[MS_FROM_RANK];
        if (op->inputs[0] >= 0) {
            end_s = ms_max(end_s, arrival_s[op->inputs[0]] + pass_s[MS_FROM_INPUT]);
        }
        rank_s[op->rank] = end_s;
        if (op->sends[0] >= 0) {
            const ms_message_time *message = &times->messages[op->sends[0]];
            double *free_s = &queue_s[order->queues[op->sends[0]]];
            *free_s = ms_max(end_s, *free_s) + message->transfer_s;
            end_s = *free_s + message->latency_s;
        }
        arrival_s[2 * at] = end_s;
    }
}

void ms_clocks_run(ms_clocks *clocks, const ms_order *order, const ms_order_times *times) {
    if (is_plain(order, times)) {
        run_plain(clocks, order, times);
        return;
    }
    for (int at = 0; at < order->op_count; at++) {
        if (order->ops[at].slot < 0) {
            unshard(clocks, &order->ops[at], times);
        } else {
            run_op(clocks, order, times, at);
        }
    }
}

double ms_clocks_rank_end_s(const ms_clocks *clocks, int rank, int carried) {
    double end_s = clocks->rank_s[rank];
    for (int k = 0; k < carried; k++) {
        end_s = ms_max(end_s, clocks->stream_s[rank * MS_CARRIED_MAX + k]);
    }
    return end_s;
}
