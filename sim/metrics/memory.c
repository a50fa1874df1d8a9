#include <stdlib.h>

#include "metrics/internal.h"

/* end_s < 0: has not happened. */
typedef struct period {
    double start_s, end_s;
} period;

/* One stage's life with one unit of work (a microbatch or a part of one) in one step on a rank. */
typedef struct slot {
    period passes[MS_PASS_COUNT];
} slot;

/* A change of what a rank keeps. */
typedef struct change {
    double time_s;
    int32_t place;  /* into the rank's places */
    int8_t kept;    /* +1 / -1 activations of one unit */
    int8_t working; /* +1 / -1 working memory */
    int8_t whole;   /* +1 / -1 whole parameters of the place's stage */
    int8_t rounds;  /* +1 / -1 whole gradients of the place's stage */
} change;

/* Memory of one rank under construction. Counts, not bytes, are carried from change to change, so
 * that equal states have equal totals and rounding does not pile up. A place is one part of one of
 * the rank's own stages: units of one place keep alike. */
typedef struct tracker {
    const ms_dag *dag;
    const ms_timeline *timeline;
    const ms_stage_costs *costs;
    const ms_program *program;
    int32_t parts;    /* of a sequence, >= 1 */
    int32_t *local;   /* [program stages] index of a stage among the rank's own, -1 none */
    int32_t *stages;  /* [program stages] the rank's own stages; the first `stage_count` hold */
    int32_t *kept;    /* [program stages * parts] units whose activations are kept, per place */
    int32_t *working; /* [program stages * parts] passes under way, per place */
    int32_t *whole;   /* [program stages] whether the parameters are gathered, per own stage */
    int32_t *rounds;  /* [program stages] whether a round of microbatches makes whole gradients */
    int32_t stage_count;
    ms_vector slots;   /* slot [stage_count][units] */
    ms_vector changes; /* change */
    ms_vector points;  /* ms_memory_point */
} tracker;

static bool has_slot(const tracker *t, int32_t index) {
    const ms_dag_op *op = &t->dag->ops[index];
    return op->stage >= 0 && op->stage < t->program->stages && t->local[op->stage] >= 0 &&
           op->mb >= 0 && op->mb < t->program->mb_count &&
           ms_op_pass(t->dag, index) != MS_PASS_COUNT;
}

/* The stages that the program places on a rank. */
static void find_stages(tracker *t, int32_t rank) {
    t->stage_count = 0;
    for (int32_t s = 0; s < t->program->stages; s++) {
        bool is_own = t->program->stage_rank[s] == t->dag->ranks[rank].pp;
        t->local[s] = is_own ? t->stage_count : -1;
        if (is_own) {
            t->stages[t->stage_count++] = s;
        }
    }
    for (int32_t place = 0; place < t->stage_count * t->parts; place++) {
        t->kept[place] = 0;
        t->working[place] = 0;
    }
    for (int32_t own = 0; own < t->stage_count; own++) {
        t->whole[own] = 0;
        t->rounds[own] = 0;
    }
}

static slot *slot_at(const tracker *t, int32_t own, int32_t unit) {
    return &MS_AT(&t->slots, slot, (size_t)own * (size_t)t->program->mb_count + (size_t)unit);
}

static void clear_slots(tracker *t) {
    size_t count = (size_t)t->stage_count * (size_t)t->program->mb_count;
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

/* Find when each pass over each stage and unit began and ended, whatever ran in between. */
static void fill_slots(tracker *t, const int32_t *ops, int32_t count) {
    clear_slots(t);
    for (int32_t i = 0; i < count && !t->slots.failed; i++) {
        const ms_dag_op *op = &t->dag->ops[ops[i]];
        if (!has_slot(t, ops[i])) {
            continue;
        }
        slot *s = slot_at(t, t->local[op->stage], op->mb);
        ms_pass pass = ms_op_pass(t->dag, ops[i]);
        if (s->passes[pass].end_s < 0.0) {
            s->passes[pass].start_s = t->timeline->start_s[ops[i]];
        }
        s->passes[pass].end_s = fmax(s->passes[pass].end_s, t->timeline->end_s[ops[i]]);
    }
}

/* Both passes of an overlapped pair are under way as long as the pair is. */
static void widen_pairs(tracker *t, int32_t rank) {
    int pp = t->dag->ranks[rank].pp;
    for (size_t i = t->program->first[pp]; i + 1 < t->program->first[pp + 1]; i++) {
        const ms_action *pair = &t->program->actions[i];
        if (pair->is_overlapped == 0) {
            continue;
        }
        int at = pair[0].pass == MS_PASS_F ? 0 : 1; /* either may stand first */
        slot *forward = slot_at(t, t->local[pair[at].stage], pair[at].mb);
        slot *backward = slot_at(t, t->local[pair[1 - at].stage], pair[1 - at].mb);
        period *f = &forward->passes[MS_PASS_F], *b = &backward->passes[MS_PASS_B];
        f->start_s = b->start_s = fmin(f->start_s, b->start_s);
        f->end_s = b->end_s = fmax(f->end_s, b->end_s);
    }
}

static void add_change(tracker *t, double time_s, const change *what) {
    change copy = *what;
    copy.time_s = time_s;
    ms_vector_add(&t->changes, &copy, 1);
}

/* Activations live from F's start to the end of the last backward pass; without one, to the end. */
static void list_changes_of(tracker *t, const slot *s, int32_t place) {
    if (s->passes[MS_PASS_F].end_s >= 0.0) {
        add_change(t, s->passes[MS_PASS_F].start_s, &(change){.place = place, .kept = 1});
        double free_s = fmax(s->passes[MS_PASS_B].end_s, s->passes[MS_PASS_W].end_s);
        if (free_s >= 0.0) {
            add_change(t, free_s, &(change){.place = place, .kept = -1});
        }
    }
    for (int p = 0; p < MS_PASS_COUNT; p++) {
        if (s->passes[p].end_s >= 0.0) {
            add_change(t, s->passes[p].start_s, &(change){.place = place, .working = 1});
            add_change(t, s->passes[p].end_s, &(change){.place = place, .working = -1});
        }
    }
}

static void list_changes(tracker *t) {
    for (int32_t own = 0; own < t->stage_count; own++) {
        for (int32_t unit = 0; unit < t->program->mb_count && !t->slots.failed; unit++) {
            list_changes_of(t, slot_at(t, own, unit), own * t->parts + unit % t->parts);
        }
    }
}

/* End of an action, which stands in the list before `index`. */
static double end_of(const tracker *t, size_t index) {
    const ms_action *action = &t->program->actions[index];
    ms_pass pass = action->pass == MS_PASS_I ? MS_PASS_B : (ms_pass)action->pass;
    return slot_at(t, t->local[action->stage], action->mb)->passes[pass].end_s;
}

/* Whole parameters take their place when the gather is asked for, which is when the pass before it
 * in the list has ended, and leave it likewise. start_s: of the step on this rank. */
static void list_moves(tracker *t, int pp, double start_s) {
    const ms_program *program = t->program;
    if (program->shard_moves == NULL) {
        return;
    }
    for (size_t i = program->shard_first[pp]; i < program->shard_first[pp + 1]; i++) {
        const ms_shard_move *move = &program->shard_moves[i];
        bool is_first = move->before == program->first[pp];
        add_change(t, is_first ? start_s : end_of(t, move->before - 1),
                   &(change){.place = t->local[move->stage] * t->parts,
                             .whole = move->is_unshard ? 1 : -1});
    }
}

/* Whole gradients are there while the passes of a round make them. */
static void list_rounds(tracker *t, int pp) {
    const ms_program *program = t->program;
    for (size_t i = program->first[pp]; i < program->first[pp + 1]; i++) {
        const ms_action *action = &program->actions[i];
        const period *run = &slot_at(t, t->local[action->stage], action->mb)->passes[action->pass];
        int32_t place = t->local[action->stage] * t->parts;
        if (ms_action_opens_round(program, action)) {
            add_change(t, run->start_s, &(change){.place = place, .rounds = 1});
        }
        if (ms_action_closes_round(program, action)) {
            add_change(t, run->end_s, &(change){.place = place, .rounds = -1});
        }
    }
}

/* The changes of all steps: each has its own passes over the same stages and units. */
static void list_all_changes(tracker *t, const ms_rank_ops *ops, int32_t rank) {
    const int32_t *next = ops->compute_ops + ops->compute_first[rank];
    const int32_t *end = ops->compute_ops + ops->compute_first[rank + 1];
    t->changes.count = 0;
    for (int32_t step = 0; step < t->dag->step_count; step++) {
        const int32_t *first = next;
        while (next < end && *next < t->dag->step_first[step + 1]) {
            next++;
        }
        fill_slots(t, first, (int32_t)(next - first));
        widen_pairs(t, rank);
        list_changes(t);
        list_rounds(t, t->dag->ranks[rank].pp);
        bool has_passed = first > ops->compute_ops + ops->compute_first[rank];
        list_moves(t, t->dag->ranks[rank].pp, has_passed ? t->timeline->end_s[first[-1]] : 0.0);
    }
}

static int compare_changes(const void *left, const void *right) {
    double a = ((const change *)left)->time_s;
    double b = ((const change *)right)->time_s;
    return (a > b) - (a < b);
}

/* What the rank holds now. */
static ms_rank_memory weigh(const tracker *t, double time_s) {
    ms_rank_memory now = {.peak_time_s = time_s};
    for (int32_t own = 0; own < t->stage_count; own++) {
        int stage = ms_program_model_stage(t->program, t->stages[own]);
        const ms_stage_memory *states = &t->costs->stage[stage].memory;
        now.parameter_B += states->parameter_B + t->whole[own] * states->gathered_B;
        now.gradient_B += states->gradient_B + t->rounds[own] * states->round_B;
        now.optimizer_B += states->optimizer_B;
        now.transformer_B += states->transformer_B +
                             t->whole[own] * states->gathered_transformer_B +
                             t->rounds[own] * states->round_transformer_B;
        for (int32_t part = 0; part < t->parts; part++) {
            const ms_stage_memory *memory = &ms_stage_cost_of(t->costs, stage, part)->memory;
            int32_t place = own * t->parts + part;
            now.activation_B += t->kept[place] * memory->activation_B;
            now.buffer_B += t->working[place] * memory->working_B;
            now.inflight_peak += t->kept[place];
        }
    }
    now.other_B = t->costs->allocator_overhead * (now.activation_B + now.buffer_B);
    now.peak_B = now.parameter_B + now.gradient_B + now.optimizer_B + now.activation_B +
                 now.buffer_B + now.other_B;
    return now;
}

static void add_point(tracker *t, const ms_rank_memory *now) {
    size_t count = t->points.count;
    if (count > 0 && MS_AT(&t->points, ms_memory_point, count - 1).bytes == now->peak_B) {
        return;
    }
    ms_memory_point point = {.time_s = now->peak_time_s, .bytes = now->peak_B};
    ms_vector_add(&t->points, &point, 1);
}

/* Apply the changes in time order. All changes of one instant count together: what ends makes room
 * for what starts. */
static ms_rank_memory follow(tracker *t) {
    const change *list = t->changes.data;
    size_t count = t->changes.count;
    size_t i = 0;
    t->points.count = 0;
    ms_rank_memory peak = {.peak_B = -1.0};
    double time_s = 0.0;
    for (;;) {
        for (; i < count && list[i].time_s <= time_s; i++) {
            t->kept[list[i].place] += list[i].kept;
            t->working[list[i].place] += list[i].working;
            t->whole[list[i].place / t->parts] += list[i].whole;
            t->rounds[list[i].place / t->parts] += list[i].rounds;
        }
        ms_rank_memory now = weigh(t, time_s);
        int inflight =
            now.inflight_peak > peak.inflight_peak ? now.inflight_peak : peak.inflight_peak;
        add_point(t, &now);
        if (now.peak_B > peak.peak_B) {
            peak = now;
        }
        peak.inflight_peak = inflight;
        if (i == count) {
            return peak;
        }
        time_s = list[i].time_s;
    }
}

static ms_status follow_rank(tracker *t, const ms_rank_ops *ops, int32_t rank, ms_arena *arena,
                             ms_rank_memory *rank_out) {
    find_stages(t, rank);
    list_all_changes(t, ops, rank);
    if (t->slots.failed || t->changes.failed) {
        return MS_E_NOMEM;
    }
    if (t->changes.count > 1) {
        qsort(t->changes.data, t->changes.count, sizeof(change), compare_changes);
    }
    ms_rank_memory memory = follow(t);
    memory.points = MS_NEW(arena, ms_memory_point, t->points.count);
    if (t->points.failed || memory.points == NULL) {
        return MS_E_NOMEM;
    }
    memory.point_count = (int)t->points.count;
    for (size_t i = 0; i < t->points.count; i++) {
        memory.points[i] = MS_AT(&t->points, ms_memory_point, i);
    }
    *rank_out = memory;
    return MS_OK;
}

static ms_status start_tracker(tracker *t, ms_arena *scratch) {
    t->parts = t->costs->parts > 1 ? t->costs->parts : 1;
    t->local = MS_NEW(scratch, int32_t, t->program->stages);
    t->stages = MS_NEW(scratch, int32_t, t->program->stages);
    t->kept = MS_NEW(scratch, int32_t, t->program->stages * t->parts);
    t->working = MS_NEW(scratch, int32_t, t->program->stages * t->parts);
    t->whole = MS_NEW(scratch, int32_t, t->program->stages);
    t->rounds = MS_NEW(scratch, int32_t, t->program->stages);
    ms_vector_init(&t->slots, sizeof(slot));
    ms_vector_init(&t->changes, sizeof(change));
    ms_vector_init(&t->points, sizeof(ms_memory_point));
    bool failed = t->local == NULL || t->stages == NULL || t->kept == NULL || t->working == NULL ||
                  t->whole == NULL || t->rounds == NULL;
    return failed ? MS_E_NOMEM : MS_OK;
}

static ms_status follow_ranks(tracker *t, ms_arena *scratch, ms_arena *arena,
                              ms_rank_memory *ranks) {
    ms_rank_ops ops;
    ms_status status = start_tracker(t, scratch);
    if (status == MS_OK) {
        status = ms_rank_ops_collect(t->dag, t->timeline, false, scratch, &ops);
    }
    for (int32_t r = 0; r < t->dag->rank_count && status == MS_OK; r++) {
        status = follow_rank(t, &ops, r, arena, &ranks[r]);
    }
    ms_vector_release(&t->slots);
    ms_vector_release(&t->changes);
    ms_vector_release(&t->points);
    return status;
}

ms_status ms_memory_compute(const ms_dag *dag, const ms_timeline *timeline,
                            const ms_stage_costs *costs, const ms_program *program, ms_arena *arena,
                            ms_rank_memory **ranks_out) {
    ms_rank_memory *ranks = MS_NEW(arena, ms_rank_memory, dag->rank_count);
    if (ranks == NULL) {
        return MS_E_NOMEM;
    }
    tracker t = {.dag = dag, .timeline = timeline, .costs = costs, .program = program};
    ms_arena scratch;
    ms_arena_init(&scratch);
    ms_arena_fail_after(&scratch, arena->fail_after);
    ms_status status = follow_ranks(&t, &scratch, arena, ranks);
    ms_arena_release(&scratch);
    if (status == MS_OK) {
        *ranks_out = ranks;
    }
    return status;
}
