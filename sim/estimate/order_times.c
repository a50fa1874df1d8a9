/* The times of an order's operations: a map for each slot (pass_map.h), a transfer time for each
 * message between stages, and a time for each unshard of a stage. Slots whose passes have the same
 * segments on pipeline ranks that lie alike on the platform share a map. */
#include "estimate/order_times.h"

#include <string.h>

#include "base/memo.h"

/* All that the map of a pass, or of an overlapped pair, depends on. */
typedef struct map_key {
    int32_t first[2]; /* first segment of each pass in the costs; -1: no second pass */
    int32_t alike;    /* the first pipeline rank that lies as that of the passes (comm_classes.h) */
    uint32_t unit[2]; /* MS_UNIT_ bits on which the passes depend */
} map_key;

/* The maps of all slots while they are made; slots with equal keys share a map. */
typedef struct map_table {
    const ms_order *order;
    const ms_stage_costs *costs;
    ms_timing *timing;
    ms_carried carried;
    ms_memo keys;       /* numbers of map_key */
    ms_pass_map **maps; /* [slots] by number of the key; fewer keys than slots are used */
    double *time_s;     /* [2 * longest] times of the segments of a pass or pair [s] */
    double *end_s;      /* [2 * longest] scratch of ms_pass_map_make */
    double *slowed_s;   /* [2 * longest] slowed times [s]; NULL: no computation is slowed down */
    int longest;        /* maximum number of segments of a pass */
} map_table;

/* Costs of a stage of the program for one slice of a sequence. */
static const ms_stage_cost *cost_of(const map_table *table, int stage, int slice) {
    return ms_stage_cost_of(table->costs, ms_program_model_stage(table->order->program, stage),
                            slice);
}

/* The plan of the first (which: 0) or second (1) pass of a slot. */
static const ms_pass_plan *plan_of(const map_table *table, const ms_order_slot *slot, int which) {
    return which == 0
               ? &cost_of(table, slot->stage, slot->slice)->passes[slot->pass]
               : &cost_of(table, slot->second_stage, slot->second_slice)->passes[slot->second_pass];
}

/* Slow computations down where communication runs beside them: replaces time_s. The bound counts no
 * slow-down, so that the excess over it is noted. */
static void slow_passes_down(map_table *table, const ms_pass_view *pass,
                             const ms_pass_view *second) {
    int count = pass->count + (second == NULL ? 0 : second->count);
    memcpy(table->slowed_s, table->time_s, (size_t)count * sizeof *table->time_s);
    ms_pass_slow_down(pass, second, table->timing->comm->platform->gpu.compute_slowdown,
                      table->end_s, table->slowed_s);
    for (int i = 0; i < count; i++) {
        ms_timing_raise_excess(table->timing, table->slowed_s[i], table->time_s[i]);
    }
    memcpy(table->time_s, table->slowed_s, (size_t)count * sizeof *table->time_s);
}

/* Whether the rank's host waits for its GPU before the pass of a slot; never before a pair. In
 * orders with pairs the bound neglects waits for messages: after a pair, the simulated host waits
 * for a little less than the end of the whole pair. */
static bool synchronises(const map_table *table, const ms_order_slot *slot) {
    bool has_messages = table->order->program->spec.pipeline_ranks > 1 &&
                        (table->timing->kind == MS_TIME_EXPECTED || !table->order->has_pairs);
    return slot->second_stage < 0 &&
           ms_host_waits(&table->timing->job->host, (ms_pass)slot->pass, has_messages);
}

/* Add ms_segment.pair_extra_s to the times of a pass's computations.  time_s: [pass->count]. */
static void add_pair_extra(const ms_pass_view *pass, double *time_s) {
    for (int i = 0; i < pass->count; i++) {
        time_s[i] += pass->segments[i].is_collective
                         ? 0.0
                         : pass->segments[i].pair_extra_s * pass->compute_factor;
    }
}

/* Compute the map of a slot: time the segments of its passes, slow them down where the GPU type
 * does, and run them.  Returns as ms_segment_times. */
static ms_status make_map(map_table *table, const ms_order_slot *slot, ms_pass_map *map) {
    ms_pass_view views[2];
    int count = slot->second_stage < 0 ? 1 : 2;
    double *time_s = table->time_s;
    int p = table->order->program->stage_rank[slot->stage];
    for (int i = 0; i < count; i++) {
        const ms_pass_plan *plan = plan_of(table, slot, i);
        views[i] = (ms_pass_view){.segments = table->costs->segments + plan->first,
                                  .time_s = time_s,
                                  .count = plan->count,
                                  .repeat = plan->repeat,
                                  .unit = i == 0 ? slot->unit : slot->second_unit,
                                  .launch_s = table->timing->job->host.launch_s,
                                  .compute_factor = ms_timing_factor(table->timing, p),
                                  .synchronises = synchronises(table, slot)};
        ms_status status =
            ms_segment_times(table->timing, views[i].segments, plan->count, p, time_s);
        if (status != MS_OK) {
            return status;
        }
        if (count == 2) {
            add_pair_extra(&views[i], time_s);
        }
        time_s += plan->count;
    }
    const ms_pass_view *second = count == 2 ? &views[1] : NULL;
    if (table->slowed_s != NULL) {
        slow_passes_down(table, &views[0], second);
    }
    ms_pass_map_make(&views[0], second, &table->carried, table->end_s, map);
    return MS_OK;
}

/* Find the map of a slot, computed on first use of its key. If ranks have factors of their own, no
 * two pipeline ranks count as alike. Returns MS_OK; MS_E_NOMEM; as make_map. */
static ms_status find_map(map_table *table, ms_arena *arena, const ms_order_slot *slot,
                          const ms_pass_map **map_out) {
    int rank = table->order->program->stage_rank[slot->stage];
    const ms_pass_plan *plan = plan_of(table, slot, 0);
    bool is_alike = table->timing->job->rank_properties == NULL;
    map_key key = {.first = {plan->first, -1},
                   .alike = is_alike ? table->timing->comm->alike[rank] : rank};
    key.unit[0] = ms_unit_bits_used(slot->unit, plan);
    if (slot->second_stage >= 0) {
        plan = plan_of(table, slot, 1);
        key.first[1] = plan->first;
        key.unit[1] = ms_unit_bits_used(slot->second_unit, plan);
    }
    int number = 0;
    bool is_new = false;
    ms_status status = ms_memo_find_or_add(&table->keys, &key, &number, &is_new);
    if (status == MS_OK && is_new) {
        table->maps[number] = MS_NEW(arena, ms_pass_map, 1);
        status =
            table->maps[number] == NULL ? MS_E_NOMEM : make_map(table, slot, table->maps[number]);
    }
    *map_out = status == MS_OK ? table->maps[number] : NULL;
    return status;
}

/* Find the carried communicators of the job and the longest pass. A stage whose forward pass has
 * the same segments as that of the stage before has all passes in common with it, and is skipped.
 */
static void scan_passes(map_table *table) {
    const ms_stage_costs *costs = table->costs;
    int entries = costs->stages * (costs->slices > 1 ? costs->slices : 1);
    table->longest = 1;
    for (int s = 0; s < entries; s++) {
        const ms_stage_cost *stage = &costs->stage[s];
        bool is_known =
            s > 0 && stage->passes[MS_PASS_F].first == costs->stage[s - 1].passes[MS_PASS_F].first;
        for (int pass = 0; pass < MS_PASS_COUNT && !is_known; pass++) {
            const ms_pass_plan *plan = &stage->passes[pass];
            ms_carried_add(&table->carried, costs->segments + plan->first, plan->count);
            table->longest = plan->count > table->longest ? plan->count : table->longest;
        }
        ms_carried_add(&table->carried, costs->segments + stage->unshard.first,
                       stage->unshard.count);
    }
}

/* Find the maps of all slots.  maps: [slot_count]. Communication slows computation down only where
 * the expected time is estimated, not in a bound. */
static ms_status find_maps(map_table *table, ms_arena *arena, const ms_pass_map **maps) {
    int slots = table->order->slot_count;
    table->maps = MS_NEW(arena, ms_pass_map *, slots); /* few of which differ */
    table->time_s = MS_NEW(arena, double, 2 * table->longest);
    table->end_s = MS_NEW(arena, double, 2 * table->longest);
    bool is_slowed = table->timing->kind == MS_TIME_EXPECTED &&
                     ms_slowdown_is_needed(table->timing->comm->platform->gpu.compute_slowdown);
    table->slowed_s = is_slowed ? MS_NEW(arena, double, 2 * table->longest) : NULL;
    if (table->maps == NULL || table->time_s == NULL || table->end_s == NULL ||
        (is_slowed && table->slowed_s == NULL)) {
        return MS_E_NOMEM;
    }
    ms_status status = MS_OK;
    for (int i = 0; i < slots && status == MS_OK; i++) {
        status = find_map(table, arena, &table->order->slots[i], &maps[i]);
    }
    return status;
}

/* Times of a message of `bytes`. times: of its class. For the expected time, the excess of the
 * message over its time alone is recorded in `timing`; a bound takes the time alone. */
static ms_message_time time_message(ms_timing *timing, const ms_class_times *times, double bytes) {
    const ms_time_line *line = &times->narrowest, *alone = &times->alone;
    double transfer_s = bytes * line->per_B_s, alone_s = bytes * alone->per_B_s;
    if (timing->kind == MS_TIME_BOUND) {
        return (ms_message_time){.transfer_s = alone_s, .latency_s = alone->latency_s};
    }
    /* The next message of the queue starts after the transfer, but the receiver waits for the
     * latency too: the excess of each of the two paths counts. */
    ms_timing_raise_excess(timing, transfer_s, alone_s);
    ms_timing_raise_excess(timing, transfer_s + line->latency_s, alone_s + alone->latency_s);
    return (ms_message_time){.transfer_s = transfer_s, .latency_s = line->latency_s};
}

/* Find the times of the message that leaves a stage in one direction; *message stays zeros where
 * there is none or it stays on the rank. */
static ms_status find_message(const map_table *table, int stage, bool is_forward,
                              ms_message_time *message) {
    int from = table->order->program->stage_rank[stage];
    int to = ms_order_receiver(table->order->program, 2 * stage + is_forward);
    if (to < 0 || to == from) {
        return MS_OK;
    }
    const ms_stage_cost *cost = cost_of(table, stage, 0);
    double bytes = is_forward ? cost->send_forward_B : cost->send_backward_B;
    ms_class_key key = {.kind = MS_COLL_P2P, .from = from, .to = to};
    const ms_class_times *times = NULL;
    ms_status status =
        ms_comm_classes_find(table->timing->comm, table->timing->space, &key, &times);
    if (status == MS_OK) {
        *message = time_message(table->timing, times, bytes);
    }
    return status;
}

/* Find the times of all messages: times->messages, indexed as ms_order_op.sends. */
static ms_status find_messages(const map_table *table, ms_arena *arena, ms_order_times *times) {
    int stages = table->order->program->stages;
    ms_message_time *messages = MS_NEW(arena, ms_message_time, 2 * stages);
    ms_status status = messages == NULL ? MS_E_NOMEM : MS_OK;
    for (int i = 0; i < 2 * stages && status == MS_OK; i++) {
        status = find_message(table, i / 2, i % 2 == 1, &messages[i]);
    }
    times->messages = messages;
    return status;
}

/* Find the times of the collectives that gather the parameters of each stage: times->unshards. Its
 * array is empty if the order has no unshards. */
static ms_status find_unshards(const map_table *table, ms_arena *arena, ms_order_times *times) {
    const ms_program *program = table->order->program;
    int count = table->order->has_unshards ? program->stages : 0;
    ms_unshard_time *unshards = MS_NEW(arena, ms_unshard_time, MS_UNSHARDS_MAX * count);
    ms_status status = unshards == NULL ? MS_E_NOMEM : MS_OK;
    for (int s = 0; s < count && status == MS_OK; s++) {
        const ms_pass_plan *plan = &cost_of(table, s, 0)->unshard;
        for (int i = 0; i < MS_UNSHARDS_MAX; i++) {
            /* no collective, unless the plan has one (below) */
            unshards[MS_UNSHARDS_MAX * s + i] = (ms_unshard_time){.time_s = -1.0, .stream = -1};
        }
        for (int i = 0; i < plan->count && i < MS_UNSHARDS_MAX && status == MS_OK; i++) {
            const ms_segment *segment = &table->costs->segments[plan->first + i];
            ms_unshard_time *unshard = &unshards[MS_UNSHARDS_MAX * s + i];
            unshard->stream = ms_carried_find(&table->carried, segment);
            status = ms_segment_times(table->timing, segment, 1, program->stage_rank[s],
                                      &unshard->time_s);
        }
    }
    times->unshards = unshards;
    return status;
}

/* The carried communicators must be known first (scan_passes), as every map has a clock for each of
 * them. A bound leaves out the wait for unshards. */
ms_status ms_order_times_find(const ms_order *order, const ms_stage_costs *costs, ms_timing *timing,
                              ms_arena *arena, ms_carried *carried_out, ms_order_times *times_out) {
    map_table table = {.order = order, .costs = costs, .timing = timing};
    const ms_pass_map **maps = MS_NEW(arena, const ms_pass_map *, order->slot_count);
    ms_memo_init(&table.keys, sizeof(map_key), 0);
    scan_passes(&table);
    *times_out = (ms_order_times){.maps = maps,
                                  .carried = table.carried.count,
                                  .launch_s = timing->job->host.launch_s,
                                  .waits_for_unshards = timing->kind == MS_TIME_EXPECTED};
    ms_status status = maps == NULL ? MS_E_NOMEM : find_maps(&table, arena, maps);
    status = status == MS_OK ? find_messages(&table, arena, times_out) : status;
    status = status == MS_OK ? find_unshards(&table, arena, times_out) : status;
    ms_memo_release(&table.keys);
    *carried_out = table.carried;
    return status;
}
