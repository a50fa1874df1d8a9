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

/* Whether an operation belongs to a pass of one of the rank's stages; those of the step's end,
 * without stage or microbatch, do not. */
static bool has_slot(const tracker *state, int32_t index) {
    const ms_dag_op *op = &state->dag->ops[index];
    return op->stage >= 0 && op->stage < state->program->stages &&
           state->model.local_stage[op->stage] >= 0 && op->mb >= 0 &&
           op->mb < state->program->mb_count && ms_op_pass(state->dag, index) != MS_PASS_COUNT;
}

/* The slot of a program's stage, which must be one of the rank's, and a unit of work. */
static slot *slot_at(const tracker *state, int stage, int mb) {
    size_t own = (size_t)state->model.local_stage[stage];
    return &MS_AT(&state->slots, slot, own * (size_t)state->program->mb_count + (size_t)mb);
}

/* Make the slots of the rank, with no pass in any of them (end_s -1). */
static void clear_slots(tracker *state) {
    size_t count = (size_t)state->model.stage_count * (size_t)state->program->mb_count;
    state->slots.count = 0;
    if (count == 0 || ms_vector_add(&state->slots, NULL, count) == NULL) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        for (int p = 0; p < MS_PASS_COUNT; p++) {
            MS_AT(&state->slots, slot, i).passes[p].end_s = -1.0;
        }
    }
}

/* Set when each pass of each stage and unit of work runs: from the start of its first computation
 * to the end of its last one, whatever runs in between.  ops: [count] the rank's computations in
 * one step. */
static void fill_slots(tracker *state, const int32_t *ops, int32_t count) {
    clear_slots(state);
    for (int32_t i = 0; i < count && !state->slots.failed; i++) {
        const ms_dag_op *op = &state->dag->ops[ops[i]];
        if (!has_slot(state, ops[i])) {
            continue;
        }
        period *run = &slot_at(state, op->stage, op->mb)->passes[ms_op_pass(state->dag, ops[i])];
        if (run->end_s < 0.0) {
            run->start_s = state->timeline->start_s[ops[i]];
        }
        double end_s = state->timeline->end_s[ops[i]];
        run->end_s = end_s > run->end_s ? end_s : run->end_s;
    }
}

/* When an action runs. The operations of an input gradient (I) are stored under the backward pass
 * B, as in ms_op_pass. */
static period period_of(const tracker *state, const ms_action *action) {
    ms_pass pass = action->pass == MS_PASS_I ? MS_PASS_B : (ms_pass)action->pass;
    return slot_at(state, action->stage, action->mb)->passes[pass];
}

/* When a stop of the program (one action, or both of an overlapped pair) runs: from the start of
 * the first action to the end of the last, as both actions of a pair hold their memory for the
 * whole pair. end_s < 0: neither runs. */
static period period_of_stop(const tracker *state, const ms_program_stop *stop) {
    period whole = {.end_s = -1.0};
    for (int member = 0; member < stop->width; member++) {
        period run = period_of(state, &stop->actions[member]);
        if (run.end_s >= 0.0) {
            whole.start_s = whole.end_s < 0.0 ? run.start_s : ms_min(whole.start_s, run.start_s);
            whole.end_s = ms_max(whole.end_s, run.end_s);
        }
    }
    return whole;
}

/* Append an event.  index: as in memory_event. */
static void add_event(tracker *state, double time_s, memory_event_kind kind, size_t index) {
    memory_event *event = ms_vector_next(&state->events);
    if (event != NULL) {
        *event = (memory_event){.time_s = time_s, .index = index, .kind = kind};
    }
}

/* Append the events of one step of pipeline rank `pp`, in the order of its list. Unsharded
 * parameters take memory from the end of the pass before the unshard in the list, when the rank
 * asks for the gather, and free it at the end of the pass before the reshard.  begin_s: when the
 * step begins on the rank [s]. */
static void list_step(tracker *state, int pp, double begin_s) {
    ms_rank_cursor cursor = ms_rank_begin(state->program, pp);
    ms_program_stop stop;
    double ended_s = begin_s;
    while (ms_rank_next(&cursor, &stop)) {
        for (size_t i = 0; i < stop.move_count; i++) {
            add_event(state, ended_s, SHARD_MOVE,
                      (size_t)(&stop.moves[i] - state->program->shard_moves));
        }
        period run = period_of_stop(state, &stop);
        for (int member = 0; member < stop.width && run.end_s >= 0.0; member++) {
            add_event(state, run.start_s, ACTION_START, stop.index + (size_t)member);
            add_event(state, run.end_s, ACTION_END, stop.index + (size_t)member);
        }
        ended_s = run.end_s >= 0.0 ? run.end_s : ended_s;
    }
}

/* List the events of a rank in all steps, step by step, as every step has passes of the same stages
 * and microbatches. A step begins when the last computation of the step before has ended. */
static void list_events(tracker *state, const ms_rank_ops *ops, int32_t rank) {
    const int32_t *begin = ops->compute_ops + ops->compute_first[rank];
    const int32_t *end = ops->compute_ops + ops->compute_first[rank + 1];
    const int32_t *next = begin;
    state->events.count = 0;
    for (int32_t step = 0; step < state->dag->step_count && !state->slots.failed; step++) {
        const int32_t *first = next;
        while (next < end && *next < state->dag->step_first[step + 1]) {
            next++;
        }
        fill_slots(state, first, (int32_t)(next - first));
        if (!state->slots.failed) {
            double begin_s = first > begin ? state->timeline->end_s[first[-1]] : 0.0;
            list_step(state, state->dag->ranks[rank].pp, begin_s);
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
static void apply(tracker *state, const memory_event *event) {
    switch (event->kind) {
    case ACTION_START:
        ms_memory_model_start(&state->model, &state->program->actions[event->index]);
        break;
    case ACTION_END:
        ms_memory_model_end(&state->model, &state->program->actions[event->index]);
        break;
    case SHARD_MOVE:
        ms_memory_model_move(&state->model, &state->program->shard_moves[event->index]);
        break;
    }
}

/* Append a point of the rank's memory curve, if the total has changed. */
static void add_point(tracker *state, double time_s, double bytes) {
    size_t count = state->points.count;
    bool is_new = count == 0 || MS_AT(&state->points, ms_memory_point, count - 1).bytes != bytes;
    ms_memory_point *point = is_new ? ms_vector_next(&state->points) : NULL;
    if (point != NULL) {
        *point = (ms_memory_point){.time_s = time_s, .bytes = bytes};
    }
}

/* Apply the events in the order of time, and record the memory after each instant. All events of
 * one instant count together, since memory that is freed is used by passes that start then. Returns
 * the peak; its points are in state->points. */
static ms_rank_memory follow(tracker *state) {
    const memory_event *list = state->events.data;
    size_t count = state->events.count;
    size_t i = 0;
    state->points.count = 0;
    ms_rank_memory peak = {.held.total_B = -1.0};
    double time_s = 0.0;
    for (;;) {
        for (; i < count && list[i].time_s <= time_s; i++) {
            apply(state, &list[i]);
        }
        ms_held_memory now = ms_memory_model_weigh(&state->model);
        add_point(state, time_s, now.total_B);
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
 * repetitions of repeated periods (ms_steady_date_s).  Returns MS_OK; MS_E_NOMEM. */
static ms_status follow_rank(tracker *state, const ms_rank_ops *ops, int32_t rank, ms_arena *arena,
                             ms_rank_memory *rank_out) {
    ms_memory_model_set_rank(&state->model, state->dag->ranks[rank].pp);
    list_events(state, ops, rank);
    if (state->slots.failed || state->events.failed) {
        return MS_E_NOMEM;
    }
    sort_events(&state->events);
    ms_rank_memory memory = follow(state);
    memory.points = MS_NEW(arena, ms_memory_point, state->points.count);
    if (state->points.failed || memory.points == NULL) {
        return MS_E_NOMEM;
    }
    memory.point_count = (int)state->points.count;
    const ms_steady *repeat = &state->timeline->steady;
    memory.peak_time_s = ms_steady_date_s(repeat, memory.peak_time_s);
    for (size_t i = 0; i < state->points.count; i++) {
        memory.points[i] = MS_AT(&state->points, ms_memory_point, i);
        memory.points[i].time_s = ms_steady_date_s(repeat, memory.points[i].time_s);
    }
    *rank_out = memory;
    return MS_OK;
}

/* Find the memory of all simulated ranks.  ranks: [rank_count] output.  Returns MS_OK; MS_E_NOMEM.
 */
static ms_status follow_ranks(tracker *state, ms_arena *scratch, ms_arena *arena,
                              ms_rank_memory *ranks) {
    ms_rank_ops ops;
    ms_vector_init(&state->slots, sizeof(slot));
    ms_vector_init(&state->events, sizeof(memory_event));
    ms_vector_init(&state->points, sizeof(ms_memory_point));
    ms_status status = ms_rank_ops_collect(state->dag, state->timeline, false, scratch, &ops);
    for (int32_t r = 0; r < state->dag->rank_count && status == MS_OK; r++) {
        status = follow_rank(state, &ops, r, arena, &ranks[r]);
    }
    ms_vector_release(&state->slots);
    ms_vector_release(&state->events);
    ms_vector_release(&state->points);
    return status;
}

ms_status ms_memory_compute(const ms_job *job, const ms_dag *dag, const ms_timeline *timeline,
                            ms_arena *arena, ms_rank_memory **ranks_out) {
    ms_rank_memory *ranks = MS_NEW(arena, ms_rank_memory, dag->rank_count);
    if (ranks == NULL) {
        return MS_E_NOMEM;
    }
    tracker state = {.dag = dag, .timeline = timeline, .program = &job->program};
    ms_arena scratch;
    ms_arena_init(&scratch);
    ms_arena_fail_after(&scratch, arena->fail_after);
    ms_status status = ms_memory_model_init(&job->program, &job->costs, &scratch, &state.model);
    if (status == MS_OK) {
        status = follow_ranks(&state, &scratch, arena, ranks);
    }
    ms_arena_release(&scratch);
    if (status == MS_OK) {
        *ranks_out = ranks;
    }
    return status;
}
