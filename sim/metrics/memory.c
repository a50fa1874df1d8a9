#include <stdlib.h>

#include "metrics/internal.h"

/* One virtual stage's life with one microbatch on a rank. start_s > end_s: has not happened. */
typedef struct slot {
    struct {
        double start_s, end_s;
    } passes[MS_PASS_COUNT];
} slot;

/* A change of what a rank keeps. */
typedef struct change {
    double time_s;
    int32_t stage;  /* index into the rank's stages */
    int8_t kept;    /* +1 / -1 activations of one microbatch */
    int8_t working; /* +1 / -1 working memory */
} change;

/* Memory of one rank under construction. Counts, not bytes, are carried from change to change, so
 * that equal states have equal totals and rounding does not pile up. */
typedef struct tracker {
    const ms_dag *dag;
    const ms_timeline *timeline;
    const ms_stage_costs *costs;
    int32_t microbatches;
    int32_t *local;   /* [S] index of a virtual stage among the rank's own, -1 none */
    int32_t *stages;  /* [S] the rank's own virtual stages; the first `stage_count` hold */
    int32_t *kept;    /* [S] microbatches whose activations are kept, per own stage */
    int32_t *working; /* [S] passes under way, per own stage */
    int32_t stage_count;
    ms_vector slots;   /* slot [stage_count][microbatches] */
    ms_vector changes; /* change */
    ms_vector points;  /* ms_memory_point */
} tracker;

static void own_stage(tracker *t, int32_t stage) {
    if (t->local[stage] < 0) {
        t->local[stage] = t->stage_count;
        t->stages[t->stage_count++] = stage;
    }
}

/* Pass an operation belongs to; MS_PASS_COUNT if none that uses memory. The input gradient shares
 * the fused backward pass's place, and so does the recomputation that opens either. */
static ms_pass pass_of(const ms_dag_op *op) {
    switch ((ms_op_kind)op->kind) {
    case MS_OP_FORWARD:
        return MS_PASS_F;
    case MS_OP_INPUT_GRAD:
    case MS_OP_RECOMPUTE:
    case MS_OP_BACKWARD:
        return MS_PASS_B;
    case MS_OP_WEIGHT_GRAD:
        return MS_PASS_W;
    default:
        return MS_PASS_COUNT;
    }
}

static bool has_place(const tracker *t, const ms_dag_op *op) {
    return op->stage >= 0 && op->stage < t->costs->stages && op->mb >= 0 &&
           pass_of(op) != MS_PASS_COUNT;
}

/* The rank's own stages: those the program places there, and any other it runs (a second copy). */
static void find_stages(tracker *t, const ms_rank_ops *ops, int32_t rank,
                        const int *program_stage_rank) {
    t->stage_count = 0;
    for (int32_t s = 0; s < t->costs->stages; s++) {
        t->local[s] = -1;
        t->kept[s] = 0;
        t->working[s] = 0;
    }
    for (int32_t s = 0; s < t->costs->stages; s++) {
        if (program_stage_rank[s] == t->dag->ranks[rank].pp) {
            own_stage(t, s);
        }
    }
    for (int32_t i = ops->compute_first[rank]; i < ops->compute_first[rank + 1]; i++) {
        const ms_dag_op *op = &t->dag->ops[ops->compute_ops[i]];
        if (has_place(t, op)) {
            own_stage(t, op->stage);
        }
    }
}

static slot *slot_at(const tracker *t, int32_t own, int32_t mb) {
    return &MS_AT(&t->slots, slot, (size_t)own * (size_t)t->microbatches + (size_t)mb);
}

/* Find when each pass over each (stage, microbatch) began and ended. */
static void fill_slots(tracker *t, const ms_rank_ops *ops, int32_t rank) {
    size_t count = (size_t)t->stage_count * (size_t)t->microbatches;
    t->slots.count = 0;
    if (count == 0 || ms_vector_add(&t->slots, NULL, count) == NULL) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        for (int p = 0; p < MS_PASS_COUNT; p++) {
            MS_AT(&t->slots, slot, i).passes[p].end_s = -1.0;
        }
    }
    for (int32_t i = ops->compute_first[rank]; i < ops->compute_first[rank + 1]; i++) {
        int32_t index = ops->compute_ops[i];
        const ms_dag_op *op = &t->dag->ops[index];
        if (!has_place(t, op)) {
            continue;
        }
        slot *s = slot_at(t, t->local[op->stage], op->mb);
        ms_pass pass = pass_of(op);
        if (s->passes[pass].end_s < 0.0) {
            s->passes[pass].start_s = t->timeline->start_s[index];
        }
        s->passes[pass].end_s = fmax(s->passes[pass].end_s, t->timeline->end_s[index]);
    }
}

static void add_change(tracker *t, double time_s, const change *what) {
    change copy = *what;
    copy.time_s = time_s;
    ms_vector_add(&t->changes, &copy, 1);
}

/* Activations live from F's start to the end of the last backward pass; without one, to the end of
 * the step. */
static void list_changes(tracker *t) {
    t->changes.count = 0;
    for (int32_t own = 0; own < t->stage_count; own++) {
        for (int32_t mb = 0; mb < t->microbatches; mb++) {
            const slot *s = slot_at(t, own, mb);
            if (s->passes[MS_PASS_F].end_s >= 0.0) {
                add_change(t, s->passes[MS_PASS_F].start_s, &(change){.stage = own, .kept = 1});
                double free_s = fmax(s->passes[MS_PASS_B].end_s, s->passes[MS_PASS_W].end_s);
                if (free_s >= 0.0) {
                    add_change(t, free_s, &(change){.stage = own, .kept = -1});
                }
            }
            for (int p = 0; p < MS_PASS_COUNT; p++) {
                if (s->passes[p].end_s >= 0.0) {
                    add_change(t, s->passes[p].start_s, &(change){.stage = own, .working = 1});
                    add_change(t, s->passes[p].end_s, &(change){.stage = own, .working = -1});
                }
            }
        }
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
        const ms_stage_memory *memory = &t->costs->stage[t->stages[own]].memory;
        now.parameter_B += memory->parameter_B;
        now.gradient_B += memory->gradient_B;
        now.optimizer_B += memory->optimizer_B;
        now.transformer_B += memory->transformer_B;
        now.activation_B += t->kept[own] * memory->activation_B;
        now.buffer_B += t->working[own] * memory->working_B;
        now.inflight_peak += t->kept[own];
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
            t->kept[list[i].stage] += list[i].kept;
            t->working[list[i].stage] += list[i].working;
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
    fill_slots(t, ops, rank);
    list_changes(t);
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

static int32_t count_microbatches(const ms_dag *dag) {
    int32_t count = 0;
    for (int32_t op = 0; op < dag->op_count; op++) {
        count = dag->ops[op].mb >= count ? dag->ops[op].mb + 1 : count;
    }
    return count;
}

static ms_status start_tracker(tracker *t, ms_arena *scratch) {
    t->microbatches = count_microbatches(t->dag);
    t->local = MS_NEW(scratch, int32_t, t->costs->stages);
    t->stages = MS_NEW(scratch, int32_t, t->costs->stages);
    t->kept = MS_NEW(scratch, int32_t, t->costs->stages);
    t->working = MS_NEW(scratch, int32_t, t->costs->stages);
    ms_vector_init(&t->slots, sizeof(slot));
    ms_vector_init(&t->changes, sizeof(change));
    ms_vector_init(&t->points, sizeof(ms_memory_point));
    bool failed = t->local == NULL || t->stages == NULL || t->kept == NULL || t->working == NULL;
    return failed ? MS_E_NOMEM : MS_OK;
}

static ms_status follow_ranks(tracker *t, const int *program_stage_rank, ms_arena *scratch,
                              ms_arena *arena, ms_rank_memory *ranks) {
    ms_rank_ops ops;
    ms_status status = start_tracker(t, scratch);
    if (status == MS_OK) {
        status = ms_rank_ops_collect(t->dag, t->timeline, false, scratch, &ops);
    }
    for (int32_t r = 0; r < t->dag->rank_count && status == MS_OK; r++) {
        find_stages(t, &ops, r, program_stage_rank);
        status = follow_rank(t, &ops, r, arena, &ranks[r]);
    }
    ms_vector_release(&t->slots);
    ms_vector_release(&t->changes);
    ms_vector_release(&t->points);
    return status;
}

ms_status ms_memory_compute(const ms_dag *dag, const ms_timeline *timeline,
                            const ms_stage_costs *costs, const int *program_stage_rank,
                            ms_arena *arena, ms_rank_memory **ranks_out) {
    ms_rank_memory *ranks = MS_NEW(arena, ms_rank_memory, dag->rank_count);
    if (ranks == NULL) {
        return MS_E_NOMEM;
    }
    tracker t = {.dag = dag, .timeline = timeline, .costs = costs};
    ms_arena scratch;
    ms_arena_init(&scratch);
    ms_arena_fail_after(&scratch, arena->fail_after);
    ms_status status = follow_ranks(&t, program_stage_rank, &scratch, arena, ranks);
    ms_arena_release(&scratch);
    if (status == MS_OK) {
        *ranks_out = ranks;
    }
    return status;
}
