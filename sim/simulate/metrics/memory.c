/* Memory over the time of a run: when the actions of a simulated rank started and ended, in the
 * memory model that all estimates share. */
#include <stdlib.h>

#include "estimate/rank_memory.h"
#include "simulate/metrics/internal.h"

/* end_s < 0: has not happened. */
typedef struct period {
    double start_s, end_s;
} period;

/* One stage's life with one microbatch (or slice of one) in one step on a rank. */
typedef struct slot {
    period passes[MS_PASS_COUNT];
} slot;

typedef enum memory_event_kind { ACTION_START, ACTION_END, SHARD_MOVE } memory_event_kind;

/* Something that changes what a rank holds. */
typedef struct memory_event {
    double time_s;
    size_t index; /* of the program's action or move */
    memory_event_kind kind;
} memory_event;

/* Memory of one rank under construction. */
typedef struct tracker {
    const ms_dag *dag;
    const ms_timeline *timeline;
    const ms_program *program;
    ms_memory_model model;
    ms_vector slots;  /* slot [own stage][mb_count] */
    ms_vector events; /* memory_event */
    ms_vector points; /* ms_memory_point */
} tracker;

static bool has_slot(const tracker *t, int32_t index) {
    const ms_dag_op *op = &t->dag->ops[index];
    return op->stage >= 0 && op->stage < t->program->stages && t->model.place[op->stage] >= 0 &&
           op->mb >= 0 && op->mb < t->program->mb_count &&
           ms_op_pass(t->dag, index) != MS_PASS_COUNT;
}

static slot *slot_at(const tracker *t, int stage, int mb) {
    size_t own = (size_t)t->model.place[stage];
    return &MS_AT(&t->slots, slot, own * (size_t)t->program->mb_count + (size_t)mb);
}

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

/* Find when each pass over each stage and microbatch began and ended, whatever ran in between. */
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

/* When an action ran: an input gradient's operations are where a whole backward pass's would be. */
static period period_of(const tracker *t, const ms_action *action) {
    ms_pass pass = action->pass == MS_PASS_I ? MS_PASS_B : (ms_pass)action->pass;
    return slot_at(t, action->stage, action->mb)->passes[pass];
}

/* When the actions of a stop were under way: both of an overlapped pair as long as the pair is. */
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

static void add_event(tracker *t, double time_s, memory_event_kind kind, size_t index) {
    memory_event *event = ms_vector_next(&t->events);
    if (event != NULL) {
        *event = (memory_event){.time_s = time_s, .index = index, .kind = kind};
    }
}

/* The events of one step. Whole parameters take their place when the unshard is asked for, which is
 * when the pass before it in the list has ended, and leave it likewise.
 *  begin_s: of the step on this rank. */
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

/* The events of all steps: each has its own passes over the same stages and microbatches. */
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

static int compare_events(const void *left, const void *right) {
    double a = ((const memory_event *)left)->time_s;
    double b = ((const memory_event *)right)->time_s;
    return (a > b) - (a < b);
}

/* A rank that runs one action after the other lists them in order. */
static void sort_events(ms_vector *events) {
    const memory_event *list = events->data;
    for (size_t i = 1; i < events->count; i++) {
        if (list[i].time_s < list[i - 1].time_s) {
            qsort(events->data, events->count, sizeof(memory_event), compare_events);
            return;
        }
    }
}

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

static void add_point(tracker *t, double time_s, double bytes) {
    size_t count = t->points.count;
    bool is_new = count == 0 || MS_AT(&t->points, ms_memory_point, count - 1).bytes != bytes;
    ms_memory_point *point = is_new ? ms_vector_next(&t->points) : NULL;
    if (point != NULL) {
        *point = (ms_memory_point){.time_s = time_s, .bytes = bytes};
    }
}

/* Apply the events in time order. All events of one instant count together: what ends makes room
 * for what starts. */
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
