#include "estimate/clocks.h"

#include <math.h>
#include <string.h>

#include "base/number.h"

/* Room for what arrives, which is read only behind where it was written, so that it stays as it
 * was left: to clear it would take as long as a tenth of a plain step. */
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
                              .unsharded_s = MS_NEW(arena, double, program->stages),
                              .passes = MS_NEW(arena, ms_plain_pass, order->slot_count)};
    return arena->has_failed || arrivals->failed ? MS_E_NOMEM : MS_OK;
}

/* Gather the parameters of a stage: after all that its rank has started, beside what follows. */
static void unshard(ms_clocks *clocks, const ms_order_op *op, const ms_order_times *times) {
    for (int i = 0; i < MS_UNSHARDS_MAX; i++) {
        const ms_unshard_time *unshard = &times->unshards[MS_UNSHARDS_MAX * op->stage + i];
        double start_s = clocks->rank_s[op->rank];
        if (unshard->time_s < 0.0) {
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

/* A pass that its rank's host may hold up.  rank_s, input_s: as it starts; host_s: the host's
 * clock, which goes on.  Returns its end. */
static double run_launched(double *host_s, const ms_pass_map *map, double rank_s, double input_s) {
    const double from_s[] = {
        [MS_FROM_RANK] = rank_s, [MS_FROM_INPUT] = input_s, [MS_FROM_HOST] = *host_s};
    *host_s = latest(from_s, map->host_s, MS_FROM_STREAM);
    return latest(from_s, map->end_s, MS_FROM_STREAM);
}

/* A pass whose collectives outlive it, or wait for those of passes before. */
static double run_carrying(ms_clocks *clocks, const ms_order_times *times, const ms_pass_map *map,
                           int32_t rank, double input_s) {
    double *stream_s = &clocks->stream_s[rank * MS_CARRIED_MAX], *host_s = &clocks->host_s[rank];
    double from[MS_CLOCKS], streams[MS_CARRIED_MAX];
    int carried = times->carried, count = MS_FROM_STREAM + carried;
    from[MS_FROM_RANK] = clocks->rank_s[rank];
    from[MS_FROM_INPUT] = input_s;
    from[MS_FROM_HOST] = *host_s;
    for (int k = 0; k < carried; k++) {
        from[MS_FROM_STREAM + k] = stream_s[k];
        streams[k] = -INFINITY;
    }
    *host_s = times->launch_s > 0.0 ? latest(from, map->host_s, count) : *host_s;
    double end_s = latest(from, map->end_s, count);
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < carried; k++) {
            streams[k] = ms_max(streams[k], from[i] + map->stream_s[k][i]);
        }
    }
    for (int k = 0; k < carried; k++) {
        stream_s[k] = streams[k];
    }
    return end_s;
}

/* Hand a result on; returns when it is where it is needed. */
static double hand_on(ms_clocks *clocks, const ms_order *order, const ms_order_times *times,
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

/* When a message can leave that is ready at `end_s`: its rank's host has launched it, too. */
static double launch_message(double *host_s, const ms_order_times *times, int message,
                             double end_s) {
    if (message < 0 || times->launch_s <= 0.0) {
        return end_s;
    }
    *host_s += times->launch_s;
    return ms_max(end_s, *host_s);
}

/* When all inputs of a pass or pair are there. */
static double inputs_s(const ms_clocks *clocks, const ms_order_op *op) {
    double first_s = op->inputs[0] < 0 ? -INFINITY : clocks->arrival_s[op->inputs[0]];
    return op->inputs[1] < 0 ? first_s : ms_max(first_s, clocks->arrival_s[op->inputs[1]]);
}

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
    double *host_s = &clocks->host_s[op->rank];
    if (times->carried > 0) {
        *rank_s = run_carrying(clocks, times, map, op->rank, input_s);
    } else if (times->launch_s > 0.0) {
        *rank_s = run_launched(host_s, map, *rank_s, input_s);
    } else {
        *rank_s = ms_max(*rank_s + map->end_s[MS_FROM_RANK], input_s + map->end_s[MS_FROM_INPUT]);
    }
    double end_s = *rank_s;
    for (int i = 0; i < 2; i++) {
        double ready_s = launch_message(host_s, times, op->sends[i], end_s);
        double arrival_s = hand_on(clocks, order, times, op->sends[i], ready_s);
        clocks->arrival_s[2 * at + i] = arrival_s;
        *rank_s = times->is_blocking ? ms_max(*rank_s, arrival_s) : *rank_s;
    }
}

/* Whether an order has single passes only, of which nothing outlives its pass, messages that
 * nothing waits for but what needs them, and hosts that launch in no time. */
static bool is_plain(const ms_order *order, const ms_order_times *times) {
    return order->plain_ops != NULL && times->carried == 0 && times->sharing == NULL &&
           times->launch_s <= 0.0 && !times->is_blocking;
}

/* Put what passes take side by side for all slots: each is two numbers. */
static void list_passes(const ms_clocks *clocks, const ms_order *order,
                        const ms_order_times *times) {
    for (int slot = 0; slot < order->slot_count; slot++) {
        const double *end_s = times->maps[slot]->end_s;
        clocks->passes[slot] = (ms_plain_pass){end_s[MS_FROM_RANK], end_s[MS_FROM_INPUT]};
    }
}

/* The same as run_op for all operations of such an order, in a third of the time: nearly all that
 * searches estimate. */
static void run_plain(const ms_clocks *clocks, const ms_order *order, const ms_order_times *times) {
    double *restrict rank_s = clocks->rank_s, *restrict queue_s = clocks->queue_s;
    double *restrict arrival_s = clocks->arrival_s;
    const ms_plain_pass *restrict passes = clocks->passes;
    const ms_message_time *restrict messages = times->messages;
    const ms_plain_op *restrict op = order->plain_ops;
    for (int at = 0; at < order->op_count; at++, op++) {
        const ms_plain_pass *pass = &passes[op->slot];
        double end_s = rank_s[op->rank] + pass->from_rank_s;
        if (op->input >= 0) {
            end_s = ms_max(end_s, arrival_s[op->input] + pass->from_input_s);
        }
        rank_s[op->rank] = end_s;
        if (op->message != MS_NO_MESSAGE) {
            const ms_message_time *message = &messages[op->message];
            double sent_s = ms_max(end_s, queue_s[op->queue]) + message->transfer_s;
            queue_s[op->queue] = sent_s;
            end_s = sent_s + message->latency_s;
        }
        arrival_s[at] = end_s;
    }
}

void ms_clocks_run(ms_clocks *clocks, const ms_order *order, const ms_order_times *times) {
    if (is_plain(order, times)) {
        list_passes(clocks, order, times);
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
