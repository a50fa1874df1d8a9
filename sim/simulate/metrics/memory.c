/* Memory of each simulated rank over the time of a run. The timeline gives the dates at which the
 * passes of a rank start and end; the memory model that all estimates share
 * (estimate/rank_memory.h) says what the rank holds in between. A unit of work `mb` is a
 * microbatch, or a slice of one. */
#include <stdlib.h>

#include "estimate/rank_memory.h"
#include "simulate/metrics/internal.h"

/* When a pass runs [s]; end_s < 0: it does not run. */
typedef struct period {
    double start_s, end_s;
} period;

/* When the passes of one stage and unit of work run in one step. */
typedef struct slot {
    period passes[MS_PASS_COUNT];
} slot;

/* Kinds of events; a shard move unshards or reshards the parameters of a stage. */
typedef enum memory_event_kind { ACTION_START, ACTION_END, SHARD_MOVE } memory_event_kind;

/* An event that changes what a rank holds. */
typedef struct memory_event {
    double time_s;
    size_t index; /* index of the action in the program's actions, or of the move in shard_moves */
    memory_event_kind kind;
} memory_event;

/* Memory of one rank under construction. */
typedef struct tracker {
    const ms_dag *dag;
    const ms_timeline *timeline;
    const ms_program *program;
    ms_memory_model model;
    ms_vector slots;  /* of slot, [stage of the rank][mb_count], for one step */
    ms_vector events; /* of memory_event, for all steps */
    ms_vector points; /* of ms_memory_point */
} tracker;

/* Whether an operation belongs to a pass of one of the rank's stages. */
static bool has_slot(const tracker *t, int32_t index) {
    const ms_dag_op *op = &t->dag->ops[index];
    return op->stage >= 0 && op->stage < t->program->stages && t->model.place[op->stage] >= 0 &&
           op->mb >= 0 && op->mb < t->program->mb_count &&
           ms_op_pass(t->dag, index) != MS_PASS_COUNT;
}

/* The slot of a program's stage, which must be one of the rank's, and a unit of work. */
static slot *slot_at(const tracker *t, int stage, int mb) {
    size_t own = (size_t)t->model.place[stage];
    return &MS_AT(&t->slots, slot, own * (size_t)t->program->mb_count + (size_t)mb);
}

/* Make the slots of the rank, in which no pass runs. */
static void clear_slots(tracker *t) {
    size_t count = (size_t)t->model.stage_count * (size_t)t->program->mb_count;
    t->slots.count = 0;
    if (count == 0 || ms_vector_add(&t->slots, NULL, count) == NULL) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        for (int p = 0; p < MS_PASS_COUNT; p++) {
            MS_AT(&t->slots, slot, i).passes[p].end_s = -1.0;
        }
    }
}

/* Set when each pass of each stage and unit of work runs: from the start of its first computation
 * to the end of its last one, whatever runs in between.  ops: [count] the rank's computations in
 * one step. */
static void fill_slots(tracker *t, const int32_t *ops, int32_t count) {
    clear_slots(t);
    for (int32_t i = 0; i < count && !t->slots.failed; i++) {
        const ms_dag_op *op = &t->dag->ops[ops[i]];
        if (!has_slot(t, ops[i])) {
            continue;
        }
        period *run = &slot_at(t, op->stage, op->mb)->passes[ms_op_pass(t->dag, ops[i])];
        if (run->end_s < 0.0) {
            run->start_s = t->timeline->start_s[ops[i]];
        }
        double end_s = t->timeline->end_s[ops[i]];
        run->end_s = end_s > run->end_s ? end_s : run->end_s;
    }
}

/* When an action runs. The operations of an input gradient (I) are stored under the backward pass
 * B, as in ms_op_pass. */
static period period_of(const tracker *t, const ms_action *action) {
    ms_pass pass = action->pass == MS_PASS_I ? MS_PASS_B : (ms_pass)action->pass;
    return slot_at(t, action->stage, action->mb)->passes[pass];
}

/* When the actions of a stop run: from the start of the first to the end of the last, as both
 * actions of an overlapped pair hold their memory for the whole pair. */
static period period_of_stop(const tracker *t, const ms_program_stop *stop) {
    period whole = {.end_s = -1.0};
    for (int member = 0; member < stop->width; member++) {
        period run = period_of(t, &stop->actions[member]);
        if (run.end_s >= 0.0) {
            whole.start_s = whole.end_s < 0.0 ? run.start_s : ms_min(whole.start_s, run.start_s);
            whole.end_s = ms_max(whole.end_s, run.end_s);
        }
    }
    return whole;
}

/* Append an event.  index: as in memory_event. */
static void add_event(tracker *t, double time_s, memory_event_kind kind, size_t index) {
    memory_event *event = ms_vector_next(&t->events);
    if (event != NULL) {
        *event = (memory_event){.time_s = time_s, .index = index, .kind = kind};
    }
}

/* Append the events of one step of pipeline rank `pp`, in the order of its list. Unsharded
 * parameters take memory from the end of the pass before the unshard in the list, when the rank
 * asks for the gather, and free it at the end of the pass before the reshard.  begin_s: when the
 * step begins on the rank [s]. */
static void list_step(tracker *t, int pp, double begin_s) {
    ms_rank_cursor cursor = ms_rank_begin(t->program, pp);
    ms_program_stop stop;
    double ended_s = begin_s;
    while (ms_rank_next(&cursor, &stop)) {
        for (size_t i = 0; i < stop.move_count; i++) {
            add_event(t, ended_s, SHARD_MOVE, (size_t)(&stop.moves[i] - t->program->shard_moves));
        }
        period run = period_of_stop(t, &stop);
        for (int member = 0; member < stop.width && run.end_s >= 0.0; member++) {
            add_event(t, run.start_s, ACTION_START, stop.index + (size_t)member);
            add_event(t, run.end_s, ACTION_END, stop.index + (size_t)member);
        }
        ended_s = run.end_s >= 0.0 ? run.end_s : ended_s;
    }
}

/* List the events of a rank in all steps, step by step, as every step has passes of the same stages
 * and microbatches. A step begins when the last computation of the step before has ended. */
static void list_events(tracker *t, const ms_rank_ops *ops, int32_t rank) {
    const int32_t *begin = ops->compute_ops + ops->compute_first[rank];
    const int32_t *end = ops->compute_ops + ops->compute_first[rank + 1];
    const int32_t *next = begin;
    t->events.count = 0;
    for (int32_t step = 0; step < t->dag->step_count && !t->slots.failed; step++) {
        const int32_t *first = next;
        while (next < end && *next < t->dag->step_first[step + 1]) {
            next++;
        }
        fill_slots(t, first, (int32_t)(next - first));
        if (!t->slots.failed) {
            double begin_s = first > begin ? t->timeline->end_s[first[-1]] : 0.0;
            list_step(t, t->dag->ranks[rank].pp, begin_s);
        }
    }
}

/* Order of events for qsort: by time. */
static int compare_events(const void *left, const void *right) {
    double a = ((const memory_event *)left)->time_s;
    double b = ((const memory_event *)right)->time_s;
    return (a > b) - (a < b);
}

/* Sort events by time, unless they are sorted already, as those of a rank without overlapped pairs
 * are. */
static void sort_events(ms_vector *events) {
    const memory_event *list = events->data;
    for (size_t i = 1; i < events->count; i++) {
        if (list[i].time_s < list[i - 1].time_s) {
            qsort(events->data, events->count, sizeof(memory_event), compare_events);
            return;
        }
    }
}

/* Let the memory model follow an event. */
static void apply(tracker *t, const memory_event *event) {
    switch (event->kind) {
    case ACTION_START:
        ms_memory_model_start(&t->model, &t->program->actions[event->index]);
        break;
    case ACTION_END:
        ms_memory_model_end(&t->model, &t->program->actions[event->index]);
        break;
    case SHARD_MOVE:
        ms_memory_model_move(&t->model, &t->program->shard_moves[event->index]);
        break;
    }
}

/* Append a point of the rank's memory curve, if the total has changed. */
static void add_point(tracker *t, double time_s, double bytes) {
    size_t count = t->points.count;
    bool is_new = count == 0 || MS_AT(&t->points, ms_memory_point, count - 1).bytes != bytes;
    ms_memory_point *point = is_new ? ms_vector_next(&t->points) : NULL;
    if (point != NULL) {
        *point = (ms_memory_point){.time_s = time_s, .bytes = bytes};
    }
}

/* Apply the events in the order of time, and record the memory after each instant. All events of
 * one instant count together, since memory that is freed is used by passes that start then. Returns
 * the peak; its points are in t->points. */
static ms_rank_memory follow(tracker *t) {
    const memory_event *list = t->events.data;
    size_t count = t->events.count;
    size_t i = 0;
    t->points.count = 0;
    ms_rank_memory peak = {.held.total_B = -1.0};
    double time_s = 0.0;
    for (;;) {
        for (; i < count && list[i].time_s <= time_s; i++) {
            apply(t, &list[i]);
        }
        ms_held_memory now = ms_memory_model_weigh(&t->model);
        add_point(t, time_s, now.total_B);
        peak.inflight_peak = now.inflight > peak.inflight_peak ? now.inflight : peak.inflight_peak;
        if (now.total_B > peak.held.total_B) {
            peak.held = now;
            peak.peak_time_s = time_s;
        }
        if (i == count) {
            return peak;
        }
        time_s = list[i].time_s;
    }
}

/* Find the memory of one simulated rank. Dates are converted to those of the whole run, with
 * repetitions of stretches (ms_steady_date_s).  Returns MS_OK; MS_E_NOMEM. */
static ms_status follow_rank(tracker *t, const ms_rank_ops *ops, int32_t rank, ms_arena *arena,
                             ms_rank_memory *rank_out) {
    ms_memory_model_enter(&t->model, t->dag->ranks[rank].pp);
    list_events(t, ops, rank);
    if (t->slots.failed || t->events.failed) {
        return MS_E_NOMEM;
    }
    sort_events(&t->events);
    ms_rank_memory memory = follow(t);
    memory.points = MS_NEW(arena, ms_memory_point, t->points.count);
    if (t->points.failed || memory.points == NULL) {
        return MS_E_NOMEM;
    }
    memory.point_count = (int)t->points.count;
    const ms_steady *repeat = &t->timeline->steady;
    memory.peak_time_s = ms_steady_date_s(repeat, memory.peak_time_s);
    for (size_t i = 0; i < t->points.count; i++) {
        memory.points[i] = MS_AT(&t->points, ms_memory_point, i);
        memory.points[i].time_s = ms_steady_date_s(repeat, memory.points[i].time_s);
    }
    *rank_out = memory;
    return MS_OK;
}

/* Find the memory of all simulated ranks.  ranks: [rank_count] output.  Returns MS_OK; MS_E_NOMEM.
 */
static ms_status follow_ranks(tracker *t, ms_arena *scratch, ms_arena *arena,
                              ms_rank_memory *ranks) {
    ms_rank_ops ops;
    ms_vector_init(&t->slots, sizeof(slot));
    ms_vector_init(&t->events, sizeof(memory_event));
    ms_vector_init(&t->points, sizeof(ms_memory_point));
    ms_status status = ms_rank_ops_collect(t->dag, t->timeline, false, scratch, &ops);
    for (int32_t r = 0; r < t->dag->rank_count && status == MS_OK; r++) {
        status = follow_rank(t, &ops, r, arena, &ranks[r]);
    }
    ms_vector_release(&t->slots);
    ms_vector_release(&t->events);
    ms_vector_release(&t->points);
    return status;
}

ms_status ms_memory_compute(const ms_job *job, const ms_dag *dag, const ms_timeline *timeline,
                            ms_arena *arena, ms_rank_memory **ranks_out) {
    ms_rank_memory *ranks = MS_NEW(arena, ms_rank_memory, dag->rank_count);
    if (ranks == NULL) {
        return MS_E_NOMEM;
    }
    tracker t = {.dag = dag, .timeline = timeline, .program = &job->program};
    ms_arena scratch;
    ms_arena_init(&scratch);
    ms_arena_fail_after(&scratch, arena->fail_after);
    ms_status status = ms_memory_model_init(&job->program, &job->costs, &scratch, &t.model);
    if (status == MS_OK) {
        status = follow_ranks(&t, &scratch, arena, ranks);
    }
    ms_arena_release(&scratch);
    if (status == MS_OK) {
        *ranks_out = ranks;
    }
    return status;
}
