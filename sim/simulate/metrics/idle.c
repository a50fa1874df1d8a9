/* Where the time of a rank goes (metrics.h defines the categories): fills a rank's time with spans
 * of one category each, splitting every gap of its compute stream among the communications and
 * computations that caused it; and the same for the critical path. A cause is the operation whose
 * end released another one (ms_timeline.cause). */
#include "simulate/metrics/internal.h"

/* Operations of one stream may overlap by this share of the makespan, as the engine's clock rounds.
 * It is far above rounding (1e-16 per operation), and far below what a table shows. */
static const double OVERLAP_TOLERANCE = 1e-9;

/* A computation counts as slowed down only if it takes longer than its work by more than this share
 * of the makespan: less may be rounding of its start and end. */
static const double SLOWED_TOLERANCE = 1e-12;

/* An operation was held back by its host only if it starts later than this after the end of its
 * cause [s, plus this share of the date]: the engine treats ends that are as close as simultaneous
 * (replay.c). */
static const double LAUNCHED_TOLERANCE = 4e-12;

/* Two dates count as one period apart within this share of the period, far above the differences
 * that the engine accepts (steady.c). */
static const double PERIOD_TOLERANCE = 1e-7;

/* A gap of a rank's compute stream. */
typedef struct idle_gap {
    double from_s, to_s;
    int32_t rank;            /* simulated rank */
    int32_t cause;           /* operation whose end ended the gap */
    ms_time_category bubble; /* bubble category of the pipeline phase that the gap is in */
} idle_gap;

/* The value, limited to the range from `low` to `high`. */
static inline double clamp(double value, double low, double high) {
    return ms_min(ms_max(value, low), high);
}

/* Append the span from from_s to to_s, if it is not empty; only its end is stored, as each span
 * begins where the one before it ends.  part: only for MS_TIME_OTHER. */
static void add_part(ms_vector *spans, double from_s, double to_s, ms_time_category category,
                     ms_other_part part) {
    ms_time_span *span = to_s > from_s ? ms_vector_next(spans) : NULL;
    if (span != NULL) {
        *span = (ms_time_span){.end_s = to_s, .category = category, .part = part};
    }
}

/* Append a span; if its category is MS_TIME_OTHER, it is waiting for the host. */
static void add_span(ms_vector *spans, double from_s, double to_s, ms_time_category category) {
    add_part(spans, from_s, to_s, category, MS_OTHER_HOST);
}

/* Reverse the order of the spans from index `first` on. */
static void reverse_spans(ms_vector *spans, size_t first) {
    if (spans->count == first) {
        return;
    }
    for (size_t i = first, j = spans->count - 1; i < j; i++, j--) {
        ms_time_span span = MS_AT(spans, ms_time_span, i);
        MS_AT(spans, ms_time_span, i) = MS_AT(spans, ms_time_span, j);
        MS_AT(spans, ms_time_span, j) = span;
    }
}

/* Category of a gap in which the rank waits for computation `op`: a bubble if it is one of another
 * pipeline rank, imbalance if it is one of another rank of the same stage. A computation of the
 * rank itself has ended before the gap begins, so its category covers no time. */
static ms_time_category category_of_wait(const ms_dag *dag, const idle_gap *gap, int32_t op) {
    int32_t other = dag->streams[dag->member_stream[dag->member_first[op]]].rank;
    if (other == gap->rank) {
        return MS_TIME_OTHER;
    }
    return dag->ranks[other].pp != dag->ranks[gap->rank].pp ? gap->bubble : MS_TIME_IMBALANCE;
}

/* From when on an operation that started at `to_s` waited only for its host: the end of its cause
 * `op`; `to_s` itself if the operation started at that end, within the tolerance. */
static double launched_from_s(const ms_timeline *timeline, int32_t op, double to_s) {
    double end_s = timeline->end_s[op];
    return to_s - end_s > LAUNCHED_TOLERANCE * (1.0 + to_s) ? end_s : to_s;
}

/* Append the spans of a gap, walking back from its end along causes. Each communication on the way
 * covers the time from its start to the start of its successor; if the successor started later than
 * the communication ended, that time is waiting for the host. A pipelined message ends after its
 * successor has started, so only the part before that start counts. The walk ends at the first
 * computation or at the start of the gap: all earlier operations had ended by then. The spans are
 * found from the last to the first, and are reversed at the end.  Returns MS_OK; MS_E_BUG if causes
 * form a circle. */
static ms_status split_gap(const ms_rank_ops *ops, const idle_gap *gap, ms_vector *spans) {
    const ms_timeline *timeline = ops->timeline;
    size_t first = spans->count;
    double to_s = gap->to_s;
    int32_t op = gap->cause;
    int32_t steps = 0;
    while (op >= 0 && to_s > gap->from_s && !ms_dag_is_compute(ops->dag, op)) {
        if (++steps > timeline->op_count) {
            return MS_E_BUG;
        }
        double until_s = clamp(launched_from_s(timeline, op, to_s), gap->from_s, to_s);
        add_span(spans, until_s, to_s, MS_TIME_OTHER);
        to_s = until_s;
        double from_s = clamp(timeline->start_s[op], gap->from_s, to_s);
        /* the part counts only for communications of no axis: those of the norm */
        add_part(spans, from_s, to_s, ms_time_category_of_axis((ms_axis)ms_op_axis(ops->dag, op)),
                 MS_OTHER_NORM);
        to_s = from_s;
        op = timeline->cause[op];
    }
    /* the rest: the wait for computation `op` until its end, and for the host from then on */
    if (to_s > gap->from_s) {
        double until_s = op < 0 ? gap->from_s : clamp(timeline->end_s[op], gap->from_s, to_s);
        add_span(spans, until_s, to_s, MS_TIME_OTHER);
        if (op >= 0) {
            add_span(spans, gap->from_s, until_s, category_of_wait(ops->dag, gap, op));
        }
    }
    reverse_spans(spans, first);
    return MS_OK;
}

/* The phases of the pipeline (warm-up, steady, cool-down) of one step on a rank, as positions in
 * its list of computations.  list: [count] operations of the step. */
static ms_pipeline_phases find_phases(const ms_dag *dag, const int32_t *list, int32_t count) {
    ms_pipeline_phases phases = MS_NO_PHASES;
    for (int32_t i = 0; i < count; i++) {
        ms_pass pass = ms_op_pass(dag, list[i]);
        if (pass != MS_PASS_COUNT) {
            ms_phases_add(&phases, i, pass);
        }
    }
    return phases;
}

/* Bubble category of the gap before position `i` of a step's computations. A gap between two steps
 * is before position 0 of the second one, and so in its warm-up. */
static ms_time_category bubble_before(const ms_pipeline_phases *phases, int32_t i) {
    static const ms_time_category CATEGORIES[] = {
        [MS_PHASE_WARMUP] = MS_TIME_BUBBLE_WARMUP,
        [MS_PHASE_STEADY] = MS_TIME_BUBBLE_STEADY,
        [MS_PHASE_COOLDOWN] = MS_TIME_BUBBLE_COOLDOWN,
    };
    return CATEGORIES[ms_phase_before(phases, i)];
}

/* A walk through a rank's computations, step by step. */
typedef struct step_walk {
    const ms_dag *dag;
    const int32_t *list; /* [count] computations of the rank */
    int32_t count;
    int32_t end;               /* first operation after the current step */
    int32_t step;              /* index of the step after the current one */
    int32_t first;             /* position in `list` of the current step's first computation */
    ms_pipeline_phases phases; /* of the current step, in positions counted from `first` */
} step_walk;

/* Move the walk to the step that computation number `i` of the rank belongs to; the end of the run
 * (`i` is walk->count) belongs to the last step. */
static void walk_to(step_walk *walk, int32_t i) {
    if (i == walk->count || walk->list[i] < walk->end) {
        return;
    }
    while (walk->list[i] >= walk->end) {
        walk->end = walk->dag->step_first[++walk->step];
    }
    int32_t next = i;
    while (next < walk->count && walk->list[next] < walk->end) {
        next++;
    }
    walk->first = i;
    walk->phases = find_phases(walk->dag, walk->list + i, next - i);
}

/* Add `length_s` of a span to the sums of its category. Of a fused pass, the time in which it waits
 * for an axis goes to the category of that axis, in proportion to the length, and the rest to
 * computing. */
static void sum_span(const ms_time_span *span, double length_s, ms_sum *sums) {
    double rest_s = length_s;
    for (unsigned axes = span->fused == NULL ? 0 : span->fused->comm_axes; axes != 0;) {
        ms_axis axis = ms_axes_take(&axes);
        double waited_s = span->fused->axes[axis].waited_s;
        if (waited_s > 0.0) {
            double part_s = ms_min(rest_s, length_s * (waited_s / span->length_s));
            ms_sum_add(&sums[ms_time_category_of_axis(axis)], part_s);
            rest_s -= part_s;
        }
    }
    ms_sum_add(&sums[span->category], rest_s);
}

/* Sum the spans inside a rank's window by category, and divide by the number of measured steps. */
static void sum_spans(const ms_rank_ops *ops, int32_t rank, const ms_vector *spans,
                      ms_rank_metrics *rank_out) {
    const ms_window *window = &ops->measured.ranks[rank];
    ms_sum sums[MS_TIME_COUNT] = {0};
    ms_sum parts[MS_OTHER_COUNT] = {0};
    ms_sum slowed = {0};
    double from_s = window->from_s;
    for (size_t i = 0; i < spans->count && from_s < window->to_s; i++) {
        const ms_time_span *span = &MS_AT(spans, ms_time_span, i);
        double to_s = span->end_s < window->to_s ? span->end_s : window->to_s;
        if (to_s > from_s) {
            double length_s = ms_steady_length_s(&ops->timeline->steady, from_s, to_s);
            sum_span(span, length_s, sums);
            if (span->category == MS_TIME_OTHER) {
                ms_sum_add(&parts[span->part], length_s);
            }
            if (span->slowed_share > 0.0) {
                ms_sum_add(&slowed, span->slowed_share * length_s);
            }
            from_s = to_s;
        }
    }
    for (int c = 0; c < MS_TIME_COUNT; c++) {
        rank_out->time_s[c] = ms_sum_total(&sums[c]) / ops->measured.steps;
    }
    rank_out->slowed_s = ms_sum_total(&slowed) / ops->measured.steps;
    for (int part = 0; part < MS_OTHER_COUNT; part++) {
        rank_out->other_s[part] = ms_sum_total(&parts[part]) / ops->measured.steps;
    }
}

/* Category of the time in which a computation runs. */
static ms_time_category category_of_compute(const ms_dag *dag, int32_t op) {
    return dag->ops[op].kind == MS_OP_OPTIMIZER ? MS_TIME_OPTIMIZER : MS_TIME_COMPUTE;
}

/* Append the span of computation `op`, from `from_s` on, to its end. slowed_share: the excess of
 * its duration over the time of its work, if that is more than rounding; in a fused pass also what
 * communication inside it has added to the time of its work. */
static void add_compute(ms_vector *spans, const ms_rank_ops *ops, int32_t op, double from_s) {
    const ms_dag_work *work = &ops->dag->works[ops->dag->ops[op].work];
    double end_s = ops->timeline->end_s[op];
    double length_s = end_s - ops->timeline->start_s[op];
    double slowed_s = length_s - work->time_s;
    ms_time_span span = {.end_s = end_s,
                         .category = category_of_compute(ops->dag, op),
                         .fused = ms_fused_pass_of(ops->dag, work),
                         .length_s = length_s};
    bool is_slowed =
        span.category == MS_TIME_COMPUTE && slowed_s > SLOWED_TOLERANCE * ops->timeline->makespan_s;
    slowed_s = is_slowed ? slowed_s : 0.0;
    slowed_s += span.fused == NULL ? 0.0 : span.fused->slowed_s;
    span.slowed_share = slowed_s > 0.0 ? slowed_s / length_s : 0.0;
    ms_time_span *slot = end_s > from_s ? ms_vector_next(spans) : NULL;
    if (slot != NULL) {
        *slot = span;
    }
}

/* The computations of the rank are visited in order. Each gap before one is split by its causes
 * (split_gap), and the computation itself is a span. Overlapping computations are a bug of the
 * timeline. */
ms_status ms_rank_spans(const ms_rank_ops *ops, int32_t rank, ms_vector *spans,
                        ms_rank_metrics *rank_out) {
    const ms_timeline *timeline = ops->timeline;
    const int32_t *list = ops->compute_ops + ops->compute_first[rank];
    int32_t count = ops->compute_first[rank + 1] - ops->compute_first[rank];
    step_walk walk = {
        .dag = ops->dag, .list = list, .count = count, .phases = find_phases(ops->dag, NULL, 0)};
    double now_s = 0.0;
    spans->count = 0;
    /* position `count` is the end of the run: the gap there is caused by the last operation */
    for (int32_t i = 0; i <= count; i++) {
        walk_to(&walk, i);
        int32_t op = i < count ? list[i] : ops->last_op;
        idle_gap gap = {.from_s = now_s,
                        .to_s = i < count ? timeline->start_s[op] : timeline->makespan_s,
                        .rank = rank,
                        .cause = i < count ? timeline->cause[op] : op,
                        .bubble = bubble_before(&walk.phases, i - walk.first)};
        if (gap.to_s < now_s - OVERLAP_TOLERANCE * timeline->makespan_s ||
            split_gap(ops, &gap, spans) != MS_OK) {
            return MS_E_BUG;
        }
        now_s = ms_max(now_s, gap.to_s);
        if (i < count) {
            add_compute(spans, ops, op, now_s);
            now_s = ms_max(now_s, timeline->end_s[op]);
        }
    }
    if (spans->failed) {
        return MS_E_NOMEM;
    }
    sum_spans(ops, rank, spans, rank_out);
    return MS_OK;
}

/* Add `length_s` that the critical path spends in operation `op` to the sums of its category. Of a
 * fused pass, the shares of axes are those of the critical path through it. */
static void sum_of_path(const ms_rank_ops *ops, int32_t op, double length_s, ms_sum *sums) {
    const ms_timeline *timeline = ops->timeline;
    const ms_fused_pass *fused =
        ms_fused_pass_of(ops->dag, &ops->dag->works[ops->dag->ops[op].work]);
    double all_s = timeline->end_s[op] - timeline->start_s[op];
    double rest_s = length_s;
    for (unsigned axes = fused != NULL && all_s > 0.0 ? fused->comm_axes : 0; axes != 0;) {
        ms_axis axis = ms_axes_take(&axes);
        double part_s = ms_min(rest_s, length_s * (fused->axes[axis].critical_s / all_s));
        ms_sum_add(&sums[ms_time_category_of_axis(axis)], part_s);
        rest_s -= part_s;
    }
    ms_time_category category = ms_dag_is_compute(ops->dag, op)
                                    ? category_of_compute(ops->dag, op)
                                    : ms_time_category_of_axis((ms_axis)ms_op_axis(ops->dag, op));
    ms_sum_add(&sums[category], rest_s);
}

/* A walk back along causes, from the end of the run. A repeated period (a part of the timeline that
 * stands for several repetitions, engine.h) is walked through once for each repetition: at its
 * beginning the walk jumps to its end, to the operation one period later. */
typedef struct path_walk {
    const ms_rank_ops *ops;
    int32_t op;         /* current operation, -1: the walk is at the beginning of the run */
    double to_s;        /* the time after this instant has been counted [s] */
    int32_t period;     /* the current repeated period, or the next one on the way back; -1: none */
    int32_t times_left; /* repetitions of that repeated period still to be walked through */
} path_walk;

/* Whether `later` does the same as `op` one period later. */
static bool is_period_later(const ms_rank_ops *ops, double period_s, int32_t op, int32_t later) {
    const ms_dag_op *a = &ops->dag->ops[op];
    const ms_dag_op *b = &ops->dag->ops[later];
    double apart_s = ops->timeline->start_s[later] - ops->timeline->start_s[op];
    return a->work == b->work && a->stage == b->stage && a->layer == b->layer &&
           a->kind == b->kind && fabs(apart_s - period_s) <= PERIOD_TOLERANCE * period_s;
}

/* The operation on the first stream of `op` that does the same one period later; -1: none. */
static int32_t find_next_occurrence(const ms_rank_ops *ops, double period_s, int32_t op) {
    const ms_dag *dag = ops->dag;
    int32_t member = dag->member_first[op];
    int32_t stream = dag->member_stream[member];
    int32_t later = dag->member_next[member];
    while (later >= 0 && !is_period_later(ops, period_s, op, later)) {
        member = dag->member_first[later];
        while (dag->member_stream[member] != stream) {
            member++;
        }
        later = dag->member_next[member];
    }
    return later;
}

/* Make `period` the next repeated period of the walk; -1: none is left. */
static void set_repeated_period(path_walk *walk, int32_t period) {
    walk->period = period;
    walk->times_left = period < 0 ? 0 : walk->ops->timeline->steady.of_step[period].times;
}

/* If the walk has reached the beginning of its repeated period with repetitions left, move it one
 * period later, to the end of the repeated period. Causes may lie several periods back, so the walk
 * may have to move several times. Returns false if the operation one period later does not
 * exist. */
static bool repeat_period(path_walk *walk) {
    if (walk->period < 0) {
        return true;
    }
    const ms_repeated_period *repeated = &walk->ops->timeline->steady.of_step[walk->period];
    while (walk->times_left > 0 && walk->op >= 0 && walk->to_s <= repeated->from_s) {
        walk->times_left--;
        walk->to_s += repeated->period_s;
        walk->op = find_next_occurrence(walk->ops, repeated->period_s, walk->op);
    }
    bool is_there = walk->times_left == 0 || walk->op >= 0;
    if (walk->times_left == 0) {
        set_repeated_period(walk, walk->period - 1);
    }
    return is_there;
}

/* The walk goes back from the last operation of the run, from each operation to its cause. Time
 * between the end of a cause and the start of the operation is the host's, and counts as
 * `other`. */
ms_status ms_critical_path(const ms_rank_ops *ops, double *critical_s) {
    const ms_timeline *timeline = ops->timeline;
    const ms_window *window = &ops->measured.path;
    ms_sum sums[MS_TIME_COUNT] = {0};
    path_walk walk = {.ops = ops, .op = ops->last_op, .to_s = window->to_s};
    set_repeated_period(&walk, timeline->steady.count - 1);
    /* a walk of more operations than this has met a circle */
    int64_t most = timeline->op_count;
    for (int32_t i = 0; i < timeline->steady.count; i++) {
        most += (int64_t)timeline->op_count * timeline->steady.of_step[i].times;
    }
    while (walk.op >= 0 && walk.to_s > window->from_s) {
        if (most-- == 0) {
            return MS_E_BUG;
        }
        double until_s =
            clamp(launched_from_s(timeline, walk.op, walk.to_s), window->from_s, walk.to_s);
        ms_sum_add(&sums[MS_TIME_OTHER], walk.to_s - until_s);
        double from_s = clamp(timeline->start_s[walk.op], window->from_s, until_s);
        sum_of_path(ops, walk.op, until_s - from_s, sums);
        walk.to_s = from_s;
        walk.op = timeline->cause[walk.op];
        if (!repeat_period(&walk)) {
            return MS_E_BUG;
        }
    }
    ms_sum_add(&sums[MS_TIME_OTHER], walk.to_s - window->from_s);
    for (int c = 0; c < MS_TIME_COUNT; c++) {
        critical_s[c] = ms_sum_total(&sums[c]) / ops->measured.steps;
    }
    return MS_OK;
}
