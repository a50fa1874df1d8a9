#include <math.h>

#include "dag_fixture.h"
#include "simulate/metrics/metrics.h"

enum { GRAPHS = 60, OPS = 120, RANKS_MAX = 5 };

/* Times are multiples of 1/8 s as often as not, so that ties and zero times occur. */
static double random_time_s(ms_random *random) {
    return ms_random_range(random, 0, 1) == 0 ? (double)ms_random_range(random, 0, 8) / 8.0
                                              : ms_random_unit(random);
}

static int32_t random_dep(ms_random *random, int32_t op) {
    return op == 0 || ms_random_range(random, 0, 3) == 0
               ? -1
               : (int32_t)ms_random_range(random, op > 12 ? op - 12 : 0, op - 1);
}

static void add_random_collective(dag_fixture *f, ms_random *random, int32_t op, double scale) {
    static const ms_axis AXES[] = {MS_AXIS_TP, MS_AXIS_CP, MS_AXIS_EP, MS_AXIS_DP, MS_AXIS_OTHER};
    ms_axis axis = AXES[ms_random_range(random, 0, 4)];
    fixture_comm comm = {.axis = axis,
                         .kind = MS_COLL_ALL_REDUCE,
                         .transfer_s = scale * random_time_s(random),
                         .latency_s = scale * random_time_s(random),
                         .group_size = 2,
                         .is_pipelined = ms_random_range(random, 0, 1) == 1};
    fixture_add_comm(f, &comm);
    uint64_t members = ms_random_next(random) | 1U << ms_random_range(random, 0, f->ranks - 1);
    for (int32_t r = 0; r < f->ranks; r++) {
        if ((members >> r & 1U) != 0) {
            fixture_join(f, r, axis, random_dep(random, op));
        }
    }
}

/* A graph of computations, messages and collectives over a few ranks, divided into `steps`; all
 * times times `scale`. */
static void add_random_graph(dag_fixture *f, uint64_t seed, double scale, int steps) {
    ms_random random = {seed};
    int32_t ranks = (int32_t)ms_random_range(&random, 1, RANKS_MAX);
    for (int32_t r = 0; r < ranks; r++) {
        fixture_rank(f, (int32_t)ms_random_range(&random, 0, 2),
                     (int32_t)ms_random_range(&random, 1, 9));
    }
    for (int32_t op = 0; op < OPS; op++) {
        if (op % (OPS / steps) == 0) {
            ms_dag_begin_step(&f->dag);
        }
        int32_t rank = (int32_t)ms_random_range(&random, 0, ranks - 1);
        int32_t peer = (int32_t)ms_random_range(&random, 0, ranks - 1);
        int64_t sort = ms_random_range(&random, 0, 9);
        if (sort < 5) {
            ms_op_kind kind = (ms_op_kind)ms_random_range(&random, 0, MS_OP_OPTIMIZER);
            fixture_work(f, rank, kind, scale * random_time_s(&random), random_dep(&random, op));
        } else if (sort < 8 && peer != rank) {
            double transfer_s = scale * random_time_s(&random);
            double latency_s = scale * random_time_s(&random);
            fixture_p2p(f, &(fixture_message){rank, peer, transfer_s, latency_s},
                        random_dep(&random, op));
        } else {
            add_random_collective(f, &random, op, scale);
        }
    }
}

static ms_metrics run_random_steps(dag_fixture *f, uint64_t seed, double scale, int steps) {
    ms_metrics metrics;
    fixture_init(f);
    add_random_graph(f, seed, scale, steps);
    fixture_run(f);
    cr_assert_eq(ms_metrics_compute(&f->dag, &f->timeline, &f->arena, &f->diag, &metrics), MS_OK);
    return metrics;
}

static ms_metrics run_random(dag_fixture *f, uint64_t seed, double scale) {
    return run_random_steps(f, seed, scale, 1);
}

static double sum(const double *values) {
    double total = 0.0;
    for (int c = 0; c < MS_TIME_COUNT; c++) {
        total += values[c];
    }
    return total;
}

Test(property, no_time_is_lost_or_counted_twice) {
    uint64_t first = fixture_seed(1);
    for (uint64_t seed = first; seed < first + GRAPHS; seed++) {
        dag_fixture f;
        ms_metrics m = run_random_steps(&f, seed, 1.0, 1 + (int)(seed % 4));
        double step_s = m.step_time_s;
        for (int32_t r = 0; r < f.dag.rank_count; r++) {
            cr_assert_float_eq(m.ranks[r].other_s[MS_OTHER_HOST] +
                                   m.ranks[r].other_s[MS_OTHER_NORM],
                               m.ranks[r].time_s[MS_TIME_OTHER], 1e-12 * step_s, "MS_SEED=%llu",
                               (unsigned long long)seed);
            cr_assert_float_eq(sum(m.ranks[r].time_s), step_s, 1e-12 * step_s,
                               "MS_SEED=%llu rank %d", (unsigned long long)seed, r);
            for (int axis = 0; axis < MS_AXIS_COUNT; axis++) {
                const ms_axis_use *use = &m.ranks[r].axes[axis];
                cr_assert_float_eq(use->busy_s, use->exposed_s + use->overlapped_s + use->in_idle_s,
                                   1e-12 * step_s, "MS_SEED=%llu rank %d axis %d",
                                   (unsigned long long)seed, r, axis);
            }
        }
        cr_assert_float_eq(sum(m.share), 1.0, 1e-12, "MS_SEED=%llu", (unsigned long long)seed);
        cr_assert_float_eq(sum(m.critical_s), step_s, 1e-12 * step_s, "MS_SEED=%llu",
                           (unsigned long long)seed);
        fixture_release(&f);
    }
}

Test(property, twice_the_times_give_twice_the_metrics) {
    uint64_t first = fixture_seed(1000);
    for (uint64_t seed = first; seed < first + GRAPHS; seed++) {
        dag_fixture f;
        dag_fixture g;
        ms_metrics once = run_random(&f, seed, 1.0);
        ms_metrics twice = run_random(&g, seed, 2.0);
        for (int32_t r = 0; r < f.dag.rank_count; r++) {
            for (int c = 0; c < MS_TIME_COUNT; c++) {
                /* doubling is exact in binary arithmetic, and so is everything made of it */
                cr_assert_float_eq(2.0 * once.ranks[r].time_s[c], twice.ranks[r].time_s[c], 0.0,
                                   "MS_SEED=%llu rank %d category %d", (unsigned long long)seed, r,
                                   c);
            }
            for (int axis = 0; axis < MS_AXIS_COUNT; axis++) {
                const ms_axis_use *a = &once.ranks[r].axes[axis];
                const ms_axis_use *b = &twice.ranks[r].axes[axis];
                cr_assert_float_eq(2.0 * a->busy_s, b->busy_s, 0.0);
                cr_assert_float_eq(2.0 * a->exposed_s, b->exposed_s, 0.0);
                cr_assert_float_eq(2.0 * a->wait_s, b->wait_s, 0.0);
            }
        }
        fixture_release(&f);
        fixture_release(&g);
    }
}

/* ---- the definition, instant by instant ---- */

static bool runs_at(const dag_fixture *f, int32_t op, double time_s) {
    return f->timeline.start_s[op] < time_s && time_s < f->timeline.end_s[op];
}

static bool is_on_rank(const dag_fixture *f, int32_t op, int32_t rank, bool with_peer) {
    bool is_member = false;
    for (int32_t m = f->dag.member_first[op]; m < f->dag.member_first[op + 1]; m++) {
        const ms_dag_stream *stream = &f->dag.streams[f->dag.member_stream[m]];
        is_member |= stream->rank == rank || (with_peer && stream->peer == rank);
    }
    return is_member;
}

/* The operation before which the rank idles at an instant: the first of its computations that
 * starts later, or the last of the graph. */
static int32_t gap_end(const dag_fixture *f, int32_t rank, double time_s, int *position) {
    *position = 0;
    for (int32_t op = 0; op < f->dag.op_count; op++) {
        if (ms_dag_is_compute(&f->dag, op) && is_on_rank(f, op, rank, false)) {
            if (f->timeline.start_s[op] > time_s) {
                return op;
            }
            ++*position;
        }
    }
    return -1;
}

static bool is_backward(int kind) {
    return kind == MS_OP_INPUT_GRAD || kind == MS_OP_WEIGHT_GRAD || kind == MS_OP_BACKWARD ||
           kind == MS_OP_RECOMPUTE;
}

/* Phase of the gap after `position` computations of the rank. */
static ms_time_category phase_at(const dag_fixture *f, int32_t rank, int position) {
    bool has_backward = false;
    bool is_warm = false;
    bool has_forward_left = false;
    int i = 0;
    for (int32_t op = 0; op < f->dag.op_count; op++) {
        if (ms_dag_is_compute(&f->dag, op) && is_on_rank(f, op, rank, false)) {
            has_backward |= is_backward(f->dag.ops[op].kind);
            is_warm |= i < position && is_backward(f->dag.ops[op].kind);
            has_forward_left |= i >= position && f->dag.ops[op].kind == MS_OP_FORWARD;
            i++;
        }
    }
    if (position == 0 || (has_backward && !is_warm)) {
        return MS_TIME_BUBBLE_WARMUP;
    }
    return has_forward_left ? MS_TIME_BUBBLE_STEADY : MS_TIME_BUBBLE_COOLDOWN;
}

/* Whether of two operations that end together `a` counts as what is waited for. */
static bool comes_first(const ms_dag_op *a, const ms_dag_op *b) {
    if (a->axis != b->axis) {
        return a->axis > b->axis;
    }
    if (a->kind != b->kind) {
        return a->kind < b->kind;
    }
    return a->stage != b->stage ? a->stage < b->stage : a->mb < b->mb;
}

/* The operation that ends last. */
static int32_t last_of(const dag_fixture *f) {
    int32_t last = 0;
    for (int32_t i = 1; i < f->dag.op_count; i++) {
        double later_s = f->timeline.end_s[i] - f->timeline.end_s[last];
        bool is_tie = fabs(later_s) <= 1e-12 * (1.0 + f->timeline.makespan_s);
        last = later_s > 0.0 && !is_tie ? i : last;
        last = is_tie && comes_first(&f->dag.ops[i], &f->dag.ops[last]) ? i : last;
    }
    return last;
}

static ms_time_category idle_at(const dag_fixture *f, int32_t rank, double time_s) {
    int position;
    int32_t next = gap_end(f, rank, time_s, &position);
    int32_t op = next >= 0 ? f->timeline.cause[next] : last_of(f);
    int32_t running = -1;
    for (; op >= 0 && !ms_dag_is_compute(&f->dag, op); op = f->timeline.cause[op]) {
        if (running < 0 && f->timeline.start_s[op] <= time_s) {
            running = op;
        }
    }
    if (op >= 0 && time_s < f->timeline.end_s[op]) {
        int32_t other = f->dag.streams[f->dag.member_stream[f->dag.member_first[op]]].rank;
        return f->dag.ranks[other].pp == f->dag.ranks[rank].pp ? MS_TIME_IMBALANCE
                                                               : phase_at(f, rank, position);
    }
    cr_assert_geq(running, 0);
    return ms_time_category_of_axis((ms_axis)f->dag.ops[running].axis);
}

static ms_time_category category_at(const dag_fixture *f, int32_t rank, double time_s) {
    for (int32_t op = 0; op < f->dag.op_count; op++) {
        if (ms_dag_is_compute(&f->dag, op) && is_on_rank(f, op, rank, false) &&
            runs_at(f, op, time_s)) {
            return f->dag.ops[op].kind == MS_OP_OPTIMIZER ? MS_TIME_OPTIMIZER : MS_TIME_COMPUTE;
        }
    }
    return idle_at(f, rank, time_s);
}

static int compare_doubles(const void *left, const void *right) {
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Add what a rank does from `from_s` to `to_s`, between which nothing starts or ends. */
static void add_instant(const dag_fixture *f, int32_t rank, double from_s, double to_s,
                        ms_rank_metrics *out) {
    double time_s = (from_s + to_s) / 2.0;
    ms_time_category category = category_at(f, rank, time_s);
    bool is_busy[MS_AXIS_COUNT] = {false};
    out->time_s[category] += to_s - from_s;
    for (int32_t op = 0; op < f->dag.op_count; op++) {
        is_busy[f->dag.ops[op].axis] |= !ms_dag_is_compute(&f->dag, op) &&
                                        is_on_rank(f, op, rank, true) && runs_at(f, op, time_s);
    }
    for (int axis = 1; axis < MS_AXIS_COUNT; axis++) {
        ms_axis_use *use = &out->axes[axis];
        if (!is_busy[axis]) {
            continue;
        }
        bool computes = category == MS_TIME_COMPUTE || category == MS_TIME_OPTIMIZER;
        bool is_own = category == ms_time_category_of_axis((ms_axis)axis);
        *(computes ? &use->overlapped_s
          : is_own ? &use->exposed_s
                   : &use->in_idle_s) += to_s - from_s;
    }
}

static ms_rank_metrics by_definition(const dag_fixture *f, int32_t rank) {
    double times_s[2 * OPS];
    ms_rank_metrics expected = {0};
    for (int i = 0; i < OPS; i++) {
        times_s[2 * i] = f->timeline.start_s[i];
        times_s[2 * i + 1] = f->timeline.end_s[i];
    }
    qsort(times_s, 2 * OPS, sizeof(double), compare_doubles);
    for (int i = 1; i < 2 * OPS; i++) {
        /* shorter intervals are rounding: an overlapped message's release is a difference */
        if (times_s[i] - times_s[i - 1] > 1e-13) {
            add_instant(f, rank, times_s[i - 1], times_s[i], &expected);
        }
    }
    return expected;
}

Test(property, idle_and_overlap_follow_the_definition_at_every_instant) {
    uint64_t first = fixture_seed(2000);
    for (uint64_t seed = first; seed < first + GRAPHS; seed++) {
        dag_fixture f;
        ms_metrics m = run_random(&f, seed, 1.0);
        for (int32_t r = 0; r < f.dag.rank_count; r++) {
            ms_rank_metrics expected = by_definition(&f, r);
            for (int c = 0; c < MS_TIME_COUNT; c++) {
                cr_assert_float_eq(m.ranks[r].time_s[c], expected.time_s[c], 1e-10,
                                   "MS_SEED=%llu rank %d %s: %.17g, by definition %.17g",
                                   (unsigned long long)seed, r,
                                   ms_time_category_name((ms_time_category)c), m.ranks[r].time_s[c],
                                   expected.time_s[c]);
            }
            for (int axis = 0; axis < MS_AXIS_COUNT; axis++) {
                const ms_axis_use *got = &m.ranks[r].axes[axis];
                const ms_axis_use *want = &expected.axes[axis];
                cr_assert_float_eq(got->exposed_s, want->exposed_s, 1e-10,
                                   "MS_SEED=%llu rank %d axis %d: exposed %.17g, %.17g",
                                   (unsigned long long)seed, r, axis, got->exposed_s,
                                   want->exposed_s);
                cr_assert_float_eq(got->overlapped_s, want->overlapped_s, 1e-10,
                                   "MS_SEED=%llu rank %d axis %d", (unsigned long long)seed, r,
                                   axis);
                cr_assert_float_eq(got->in_idle_s, want->in_idle_s, 1e-10,
                                   "MS_SEED=%llu rank %d axis %d", (unsigned long long)seed, r,
                                   axis);
            }
        }
        fixture_release(&f);
    }
}

/* A wait is over when the operation starts, and somebody did not wait at all. */
Test(property, the_last_member_does_not_wait) {
    uint64_t first = fixture_seed(3000);
    for (uint64_t seed = first; seed < first + GRAPHS; seed++) {
        dag_fixture f;
        ms_metrics m = run_random(&f, seed, 1.0);
        for (int i = 0; i < m.collective_count; i++) {
            const ms_coll_row *row = &m.collectives[i];
            cr_assert_geq(row->wait_s, 0.0, "MS_SEED=%llu", (unsigned long long)seed);
            cr_assert_leq(row->wait_s, m.step_time_s, "MS_SEED=%llu", (unsigned long long)seed);
            if (row->kind == MS_COLL_P2P) {
                cr_assert_float_eq(row->wait_s, 0.0, 0.0);
            }
        }
        fixture_release(&f);
    }
}
