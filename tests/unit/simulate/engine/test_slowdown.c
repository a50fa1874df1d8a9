/* Computations that communication on their rank slows down, against timelines worked out by hand
 * and against an integral over random ones. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "cases.h"

enum { RANKS = 3, ITEMS = 8, CHANNELS = 3 };

/* An operation of a timeline by hand. */
typedef struct item {
    int rank;
    ms_coll_kind kind; /* MS_COLL_NONE: a computation */
    double time_s;     /* at full speed; of a communication: on a link of 1 B/s */
    double latency_s;  /* of a communication, after that */
    int channel;       /* of a communication: which of the rank's streams */
    int other;         /* of a message: the receiver; of a collective: the second member, plus 1 */
    int after[2];      /* operations it waits for, counted from 1; 0: none */
    int other_after;   /* what the second member waits for */
    double start_s, end_s;
} item;

typedef struct timeline {
    const char *name;
    bool is_shared; /* all communications cross one link */
    int32_t stands_for;
    item items[ITEMS];
} timeline;

#define AR  MS_COLL_ALL_REDUCE
#define AG  MS_COLL_ALL_GATHER
#define AA  MS_COLL_ALL_TO_ALL
#define MSG MS_COLL_P2P

/* While one runs, computations take so many times as long. */
static const double FACTORS[MS_COLL_COUNT] = {1, 2, 2, 1, 1.5, 1, 1, 1};

/* C: a computation; K: a communication that starts when it is asked for. */
static const timeline TIMELINES[] = {
    /* T + C (s - 1) / s */
    {.name = "a short one",
     .items = {{.time_s = 10, .end_s = 12}, {.kind = AR, .time_s = 4, .end_s = 4}}},
    {.name = "longer than the computation, and into the next",
     .items = {{.time_s = 3, .end_s = 6},
               {.kind = AR, .time_s = 10, .end_s = 10},
               {.time_s = 5, .start_s = 6, .end_s = 13}}},
    {.name = "starts midway",
     .items = {{.time_s = 10, .end_s = 12},
               {.rank = 1, .time_s = 3, .end_s = 3},
               {.kind = AR, .time_s = 4, .after = {2}, .start_s = 3, .end_s = 7}}},
    {.name = "ends exactly with the computation",
     .items = {{.time_s = 5, .end_s = 10},
               {.kind = AR, .time_s = 10, .end_s = 10},
               {.time_s = 1, .start_s = 10, .end_s = 11}}},
    {.name = "starts exactly at its end",
     .items = {{.time_s = 5, .end_s = 5},
               {.kind = AR, .time_s = 10, .after = {1}, .start_s = 5, .end_s = 15},
               {.time_s = 1, .start_s = 5, .end_s = 7}}},
    {.name = "the larger factor first",
     .items = {{.time_s = 10, .end_s = 8 + 16.0 / 3},
               {.kind = AR, .time_s = 4, .end_s = 4},
               {.kind = AG, .time_s = 8, .channel = 1, .end_s = 8}}},
    {.name = "the larger factor within",
     .items = {{.time_s = 10, .end_s = 13},
               {.kind = AG, .time_s = 8, .end_s = 8},
               {.rank = 1, .time_s = 2, .end_s = 2},
               {.kind = AR, .time_s = 2, .channel = 1, .after = {3}, .start_s = 2, .end_s = 4}}},
    {.name = "two of a kind, overlapping partly",
     .items = {{.time_s = 10, .end_s = 13},
               {.kind = AR, .time_s = 4, .end_s = 4},
               {.rank = 1, .time_s = 2, .end_s = 2},
               {.kind = AR, .time_s = 4, .channel = 1, .after = {3}, .start_s = 2, .end_s = 6}}},
    {.name = "waits without running",
     .items = {{.time_s = 10, .end_s = 11},
               {.rank = 1, .time_s = 6, .end_s = 6},
               {.kind = AR, .time_s = 2, .other = 2, .other_after = 2, .start_s = 6, .end_s = 8}}},
    {.name = "a kind that slows nothing",
     .items = {{.time_s = 10, .end_s = 10}, {.kind = AA, .time_s = 4, .end_s = 4}}},
    {.name = "speed given back and taken again",
     .items = {{.time_s = 10, .end_s = 11.5},
               {.kind = AR, .time_s = 1, .end_s = 1},
               {.rank = 1, .time_s = 3, .end_s = 3},
               {.rank = 1, .time_s = 3, .start_s = 3, .end_s = 6},
               {.kind = AR, .time_s = 1, .after = {3}, .start_s = 3, .end_s = 4},
               {.kind = AR, .time_s = 1, .after = {4}, .start_s = 6, .end_s = 7}}},
    {.name = "a message, at both ends and to its arrival",
     .items = {{.time_s = 10, .end_s = 12},
               {.rank = 1, .time_s = 10, .end_s = 12},
               {.rank = 2, .time_s = 10, .end_s = 10},
               {.kind = MSG, .time_s = 2, .latency_s = 2, .other = 2, .end_s = 4}}},
    {.name = "messages one behind the other, the first still on its way",
     .items = {{.time_s = 10, .end_s = 13.5},
               {.kind = MSG, .time_s = 2, .latency_s = 3, .other = 2, .end_s = 5},
               {.kind = MSG, .time_s = 2, .latency_s = 3, .other = 2, .start_s = 2, .end_s = 7}}},
    {.name = "another rank's",
     .items = {{.time_s = 10, .end_s = 10}, {.rank = 1, .kind = AR, .time_s = 4, .end_s = 4}}},
    {.name = "a collective slows all members, and what waits for them",
     .items = {{.time_s = 4, .end_s = 5},
               {.rank = 1, .time_s = 6, .end_s = 7},
               {.kind = AR, .time_s = 2, .other = 2, .end_s = 2},
               {.rank = 1, .time_s = 1, .after = {1}, .start_s = 7, .end_s = 8}}},
    {.name = "what is slowed delays communication, which slows what is later",
     .items = {{.time_s = 4, .end_s = 5},
               {.kind = AR, .time_s = 2, .end_s = 2},
               {.kind = AR, .time_s = 2, .after = {1}, .start_s = 5, .end_s = 7},
               {.time_s = 4, .start_s = 5, .end_s = 10}}},
    {.name = "one of no length", .items = {{.time_s = 10, .end_s = 10}, {.kind = AR, .end_s = 0}}},
    {.name = "for a rank and a group that stand for eight",
     .stands_for = 8,
     .items = {{.time_s = 10, .end_s = 12}, {.kind = AR, .time_s = 4, .end_s = 4}}},
    {.name = "contended alike",
     .is_shared = true,
     .items = {{.time_s = 10, .end_s = 12},
               {.rank = 1, .time_s = 10, .end_s = 12},
               {.kind = AR, .time_s = 2, .end_s = 4},
               {.rank = 1, .kind = AR, .time_s = 2, .end_s = 4}}},
    {.name = "contended, of different length",
     .is_shared = true,
     .items = {{.time_s = 10, .end_s = 11},
               {.rank = 1, .time_s = 10, .end_s = 12},
               {.kind = AR, .time_s = 1, .end_s = 2},
               {.rank = 1, .kind = AR, .time_s = 3, .end_s = 4}}},
    {.name = "contended after a while",
     .is_shared = true,
     .items = {{.time_s = 10, .end_s = 13},
               {.rank = 1, .time_s = 2, .end_s = 2},
               {.rank = 1, .time_s = 10, .start_s = 2, .end_s = 14},
               {.kind = AR, .time_s = 4, .end_s = 6},
               {.rank = 1, .kind = AR, .time_s = 2, .after = {2}, .start_s = 2, .end_s = 6}}},
    {.name = "contended once a slowed computation lets it start",
     .is_shared = true,
     .items = {{.time_s = 2, .end_s = 3},
               {.kind = AR, .latency_s = 2, .end_s = 2},
               {.kind = AR, .time_s = 2, .after = {1}, .start_s = 3, .end_s = 7},
               {.rank = 1, .time_s = 10, .end_s = 14},
               {.rank = 1, .kind = AR, .time_s = 6, .end_s = 8}}},
};
enum { TIMELINE_COUNT = sizeof TIMELINES / sizeof TIMELINES[0] };

static int32_t add_work(ms_dag *dag, const timeline *t, const item *i) {
    int32_t stands_for = t->stands_for > 1 ? t->stands_for : 1;
    bool is_communication = i->kind != MS_COLL_NONE;
    int32_t work = ms_dag_add_work(dag, &(ms_dag_work){.time_s = is_communication ? 0 : i->time_s,
                                                       .stands_for = stands_for,
                                                       .coll = (uint8_t)i->kind,
                                                       .is_communication = is_communication,
                                                       .is_pipelined = i->kind == MSG,
                                                       .tier = -1});
    if (is_communication) {
        /* private links are as many times as wide as there are groups on them */
        int32_t link = t->is_shared ? 0 : ms_dag_add_link(dag, stands_for, work, 0);
        ms_dag_add_phase(dag, i->latency_s);
        ms_dag_add_flow(dag, i->time_s);
        ms_dag_add_crossing(dag, link, stands_for, stands_for);
    }
    return work;
}

static int32_t item_stream(const item *i, int32_t channels[RANKS][CHANNELS][RANKS + 1]) {
    int peer = i->kind == MSG ? i->other : 0;
    return i->kind == MS_COLL_NONE ? i->rank : channels[i->rank][i->channel][peer];
}

static void build(const timeline *t, ms_dag *dag) {
    int32_t channels[RANKS][CHANNELS][RANKS + 1];
    ms_dag_init(dag);
    memcpy(dag->network.compute_slowdown, FACTORS, sizeof FACTORS);
    for (int r = 0; r < RANKS; r++) {
        ms_dag_add_rank(dag, r, t->stands_for > 1 ? t->stands_for : 1, 0);
        ms_dag_add_stream(dag, r, -1, MS_AXIS_NONE);
    }
    for (int c = 0; c < RANKS * CHANNELS * (RANKS + 1); c++) {
        int r = c / (CHANNELS * (RANKS + 1));
        int peer = c % (RANKS + 1);
        channels[r][c / (RANKS + 1) % CHANNELS][peer] =
            ms_dag_add_stream(dag, r, peer - 1, MS_AXIS_DP);
    }
    if (t->is_shared) {
        ms_dag_add_link(dag, 1.0, 0, 0);
    }
    for (const item *i = t->items; i->end_s > 0 || i->time_s > 0 || i->kind != 0; i++) {
        case_op(dag, add_work(dag, t, i), item_stream(i, channels), i->after[0] - 1);
        ms_dag_add_dep(dag, i->after[1] - 1);
        if (i->kind != MSG && i->other > 0) {
            ms_dag_add_member(dag, channels[i->other - 1][i->channel][0]);
            ms_dag_add_dep(dag, i->other_after - 1);
        }
    }
}

/* Run a graph with everything on SimGrid: its hosts slow down, its clock gives the dates. */
static case_run *run_on_simgrid(ms_dag *dag) {
    case_is_simgrid_all = true;
    case_run *run = case_fork(dag, MS_FIDELITY_FLOW);
    case_is_simgrid_all = false;
    return run;
}

static void check(const timeline *t, ms_fidelity fidelity) {
    ms_dag dag;
    build(t, &dag);
    case_run *run = case_fork(&dag, fidelity);
    cr_assert_eq(run->status, MS_OK, "%s: %s", t->name, run->message);
    for (int32_t i = 0; i < dag.op_count; i++) {
        cr_expect_float_eq(run->timeline.start_s[i], t->items[i].start_s, 1e-12,
                           "%s: start of %d: %.17g", t->name, i + 1, run->timeline.start_s[i]);
        cr_expect_float_eq(run->timeline.end_s[i], t->items[i].end_s, 1e-12, "%s: end of %d: %.17g",
                           t->name, i + 1, run->timeline.end_s[i]);
    }
    cr_expect_eq(run->timeline.flows > 0, t->is_shared, "%s", t->name);
    if (fidelity == MS_FIDELITY_FLOW) {
        case_run *simgrid = run_on_simgrid(&dag);
        cr_assert_eq(simgrid->status, MS_OK, "%s: %s", t->name, simgrid->message);
        cr_expect_lt(case_difference(run, simgrid), 1e-9, "%s", t->name);
    }
    ms_dag_release(&dag);
}

Test(slowdown, timelines_by_hand) {
    cr_assert_geq((int)TIMELINE_COUNT, 20);
    for (size_t i = 0; i < TIMELINE_COUNT; i++) {
        check(&TIMELINES[i], MS_FIDELITY_FLOW);
        if (!TIMELINES[i].is_shared) {
            check(&TIMELINES[i], MS_FIDELITY_ANALYTIC);
        }
    }
}

/* A computation of several members is as slow as the slowest of them. */
Test(slowdown, members_of_one_computation_wait_for_the_slowest) {
    ms_dag dag;
    case_init(&dag, 2);
    memcpy(dag.network.compute_slowdown, FACTORS, sizeof FACTORS);
    int32_t stream = ms_dag_add_stream(&dag, 1, -1, MS_AXIS_DP);
    int32_t both = case_compute(&dag, 10.0, 0, -1);
    ms_dag_add_member(&dag, 1);
    int32_t link = ms_dag_add_link(&dag, 1.0, 0, 0);
    case_op(&dag, case_p2p_work(&dag, 4.0, link, 0.0, false), stream, -1);
    case_run *run = case_fork(&dag, MS_FIDELITY_ANALYTIC);
    cr_assert_eq(run->status, MS_OK, "%s", run->message);
    cr_assert_float_eq(run->timeline.end_s[both], 12.0, 1e-12);
    ms_dag_release(&dag);
}

/* It takes more than 1 and a number to slow anything down. */
Test(slowdown, factors_below_one_are_refused) {
    static const double BAD[] = {0.5, 0.0, -1.0, NAN, INFINITY};
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        ms_dag dag;
        ms_diag diag;
        ms_diag_init_stderr(&diag);
        case_init(&dag, 1);
        dag.network.compute_slowdown[MS_COLL_P2P] = BAD[i];
        cr_assert_eq(ms_dag_finish(&dag, &diag), MS_E_BUG);
        ms_dag_release(&dag);
    }
}

/* Random graphs. */

enum { OPS = 300, LINKS = 4, STREAMS = 8 };

static int32_t draw_communication(ms_dag *dag, ms_random *random, int32_t first_link) {
    static const ms_coll_kind KINDS[] = {AR, AG, AA, MSG};
    ms_coll_kind kind = KINDS[ms_random_range(random, 0, 3)];
    int32_t work = ms_dag_add_work(dag, &(ms_dag_work){.stands_for = 1,
                                                       .tier = -1,
                                                       .coll = (uint8_t)kind,
                                                       .is_communication = true,
                                                       .is_pipelined = kind == MSG});
    int64_t phases = ms_random_range(random, 1, 2);
    for (int64_t p = 0; p < phases; p++) {
        ms_dag_add_phase(dag, 1e-4 * ms_random_unit(random));
        ms_dag_add_flow(dag, 2e6 * ms_random_unit(random));
        ms_dag_add_crossing(dag, first_link + (int32_t)ms_random_range(random, 0, LINKS - 1), 1, 1);
    }
    return work;
}

static void draw_deps(ms_dag *dag, ms_random *random, int32_t op) {
    for (int64_t i = ms_random_range(random, 0, 2); i > 0 && op > 0; i--) {
        ms_dag_add_dep(dag, (int32_t)ms_random_range(random, op > 30 ? op - 30 : 0, op - 1));
    }
}

/* Computations, and communications of one or two members. is_private: every stream has links of its
 * own, and every communication one member. */
static void draw_graph(ms_dag *dag, uint64_t seed, bool is_private) {
    ms_random random = {.state = seed};
    int32_t streams[STREAMS];
    case_init(dag, RANKS);
    for (int32_t i = 0; i < LINKS * STREAMS; i++) {
        ms_dag_add_link(dag, 1e9 + 4e9 * ms_random_unit(&random), i, 0);
    }
    for (int32_t s = 0; s < STREAMS; s++) {
        int32_t peer = (int32_t)ms_random_range(&random, -RANKS, RANKS - 1);
        streams[s] = ms_dag_add_stream(dag, s % RANKS, peer < 0 ? -1 : peer, MS_AXIS_DP);
    }
    for (int32_t op = 0; op < OPS; op++) {
        int64_t s = ms_random_range(&random, 0, STREAMS - 1);
        if (ms_random_range(&random, 0, 1) == 0) {
            case_compute(dag, 1e-3 * ms_random_unit(&random), (int32_t)s % RANKS, -1);
            draw_deps(dag, &random, op);
            continue;
        }
        int32_t work = draw_communication(dag, &random, is_private ? (int32_t)s * LINKS : 0);
        case_op(dag, work, streams[s], -1);
        draw_deps(dag, &random, op);
        if (!is_private && s + 1 < STREAMS && ms_random_range(&random, 0, 2) == 0) {
            ms_dag_add_member(dag, streams[s + 1]);
            draw_deps(dag, &random, op);
        }
    }
}

#define FOR_SEEDS(count)                                                                           \
    for (uint64_t seed = case_seed(1), last_ = getenv("MS_SEED") != NULL ? seed : (count);         \
         seed <= last_; seed++)

static case_run *run_slowed(uint64_t seed, bool is_private, double factor, ms_dag *dag) {
    draw_graph(dag, seed, is_private);
    dag->network.compute_slowdown[AR] = factor;
    dag->network.compute_slowdown[MSG] = 1.0 + 0.5 * (factor - 1.0);
    case_run *run = case_fork(dag, is_private ? MS_FIDELITY_ANALYTIC : MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_OK, "seed %llu: %s", (unsigned long long)seed, run->message);
    return run;
}

static bool runs_on(const ms_dag *dag, int32_t op, int32_t rank) {
    bool runs = false;
    for (int32_t j = dag->member_first[op]; j < dag->member_first[op + 1]; j++) {
        const ms_dag_stream *stream = &dag->streams[dag->member_stream[j]];
        runs = runs || stream->rank == rank || stream->peer == rank;
    }
    return runs;
}

/* The factor on `rank` at an instant, from the timeline alone. */
static double factor_at(const ms_dag *dag, const ms_timeline *t, int32_t rank, double time_s) {
    double factor = 1.0;
    for (int32_t op = 0; op < dag->op_count; op++) {
        const ms_dag_work *work = &dag->works[dag->ops[op].work];
        if (work->is_communication && t->start_s[op] <= time_s && time_s < t->end_s[op] &&
            runs_on(dag, op, rank)) {
            factor = fmax(factor, dag->network.compute_slowdown[work->coll]);
        }
    }
    return factor;
}

static int by_value(const void *a, const void *b) {
    const double *x = a;
    const double *y = b;
    return (*x > *y) - (*x < *y);
}

/* What a computation got done between its start and its end: between two neighbouring dates of the
 * timeline its speed is one. */
static double integrate(const ms_dag *dag, const ms_timeline *t, int32_t op) {
    double dates[2 * OPS];
    size_t count = 0;
    for (int32_t i = 0; i < dag->op_count; i++) {
        dates[count++] = fmin(fmax(t->start_s[i], t->start_s[op]), t->end_s[op]);
        dates[count++] = fmin(fmax(t->end_s[i], t->start_s[op]), t->end_s[op]);
    }
    qsort(dates, count, sizeof dates[0], by_value);
    int32_t rank = dag->streams[dag->member_stream[dag->member_first[op]]].rank;
    double done_s = 0.0;
    for (size_t i = 1; i < count; i++) {
        double middle_s = 0.5 * (dates[i - 1] + dates[i]);
        done_s += (dates[i] - dates[i - 1]) / factor_at(dag, t, rank, middle_s);
    }
    return done_s;
}

/* Every computation does all its work, at the speed that what runs beside it leaves it, no more and
 * no less: whatever the engine did to find its end, contended or not. */
Test(slowdown, work_is_conserved) {
    FOR_SEEDS(6) {
        for (int is_private = 0; is_private < 2; is_private++) {
            ms_dag dag;
            case_run *run = run_slowed(seed, is_private == 1, 1.7, &dag);
            const ms_timeline *t = &run->timeline;
            int32_t slowed = 0;
            for (int32_t op = 0; op < dag.op_count; op++) {
                double time_s = dag.works[dag.ops[op].work].time_s;
                if (dag.works[dag.ops[op].work].is_communication) {
                    continue;
                }
                slowed += t->end_s[op] - t->start_s[op] > 1.01 * time_s;
                cr_assert_float_eq(integrate(&dag, t, op), time_s, 1e-9 * t->makespan_s,
                                   "seed %llu, operation %d: %g of %g s, private %d",
                                   (unsigned long long)seed, op, integrate(&dag, t, op), time_s,
                                   is_private);
            }
            cr_assert_gt(slowed, 20, "seed %llu", (unsigned long long)seed);
            ms_dag_release(&dag);
        }
    }
}

/* SimGrid alone, which knows nothing of the queue, finds the same dates. */
Test(slowdown, simgrid_finds_the_same_dates) {
    FOR_SEEDS(6) {
        for (int is_slowed = 0; is_slowed < 2; is_slowed++) {
            ms_dag dag;
            case_run *run = run_slowed(seed, false, is_slowed == 1 ? 1.7 : 1.0, &dag);
            case_run *simgrid = run_on_simgrid(&dag);
            cr_assert_eq(simgrid->status, MS_OK, "%s", simgrid->message);
            cr_assert_gt(simgrid->timeline.timers, 100);
            cr_assert_lt(case_difference(run, simgrid), 1e-9, "seed %llu",
                         (unsigned long long)seed);
            ms_dag_release(&dag);
        }
    }
}

/* With a factor on a kind that no communication is of, every end goes through the queue, and no bit
 * changes. */
Test(slowdown, what_slows_nothing_changes_no_bit) {
    FOR_SEEDS(10) {
        for (int is_private = 0; is_private < 2; is_private++) {
            ms_dag dag;
            ms_dag watched_dag;
            case_run *run = run_slowed(seed, is_private == 1, 1.0, &dag);
            draw_graph(&watched_dag, seed, is_private == 1);
            watched_dag.network.compute_slowdown[MS_COLL_BROADCAST] = 2.0;
            case_run *watched =
                case_fork(&watched_dag, is_private == 1 ? MS_FIDELITY_ANALYTIC : MS_FIDELITY_FLOW);
            cr_assert_eq(watched->status, MS_OK, "%s", watched->message);
            cr_assert_lt(case_difference(run, watched), is_private == 1 ? 1e-300 : 1e-12,
                         "seed %llu", (unsigned long long)seed);
            cr_assert_eq(
                memcmp(run->timeline.cause, watched->timeline.cause, OPS * sizeof(int32_t)), 0,
                "seed %llu", (unsigned long long)seed);
            ms_dag_release(&dag);
            ms_dag_release(&watched_dag);
        }
    }
}

/* Nothing happens earlier than at full speed; how much later need not grow with the factor (see
 * delayed_out_of_the_way). */
Test(slowdown, nothing_is_earlier_than_at_full_speed) {
    FOR_SEEDS(10) {
        ms_dag dag;
        case_run *full = run_slowed(seed, true, 1.0, &dag);
        for (double factor = 1.2; factor <= 2.0; factor += 0.4) {
            ms_dag slowed_dag;
            case_run *slowed = run_slowed(seed, true, factor, &slowed_dag);
            for (int32_t op = 0; op < dag.op_count; op++) {
                cr_assert_geq(slowed->timeline.end_s[op],
                              full->timeline.end_s[op] - 1e-12 * full->timeline.makespan_s,
                              "seed %llu, operation %d", (unsigned long long)seed, op);
            }
            ms_dag_release(&slowed_dag);
        }
        ms_dag_release(&dag);
    }
}

/* In these timelines no communication gets out of a computation's way: the larger the factor, the
 * longer they take. */
Test(slowdown, a_larger_factor_is_never_faster) {
    double before_s[TIMELINE_COUNT] = {0.0};
    for (double factor = 1.0; factor <= 2.0; factor += 0.125) {
        for (size_t i = 0; i < TIMELINE_COUNT; i++) {
            ms_dag dag;
            build(&TIMELINES[i], &dag);
            dag.network.compute_slowdown[AR] = factor;
            dag.network.compute_slowdown[AG] = 1.0 + 0.5 * (factor - 1.0);
            dag.network.compute_slowdown[MSG] = factor;
            case_run *run = case_fork(&dag, MS_FIDELITY_ANALYTIC);
            cr_assert_geq(run->timeline.makespan_s, before_s[i] - 1e-12, "%s at %g",
                          TIMELINES[i].name, factor);
            before_s[i] = run->timeline.makespan_s;
            ms_dag_release(&dag);
        }
    }
}

/* In general it may be: slowed further, rank 1 sends its message so late that it arrives beside
 * rank 0's wait, not beside its computation. As with bandwidth (Graham, 1966), what each operation
 * loses does not bound what the whole does. */
Test(slowdown, delayed_out_of_the_way) {
    static const double FACTOR[] = {1.0, 1.5};
    static const double END_S[] = {13.0, 12.0};
    for (int i = 0; i < 2; i++) {
        timeline t = {.name = "delayed out of the way",
                      .items = {{.time_s = 10},
                                {.rank = 1, .time_s = 8},
                                {.rank = 1, .kind = AR, .time_s = 8},
                                {.rank = 1, .kind = AG, .time_s = 2, .other = 1, .after = {2}},
                                {.rank = 2, .time_s = 2, .after = {1}}}};
        ms_dag dag;
        build(&t, &dag);
        dag.network.compute_slowdown[AR] = FACTOR[i];
        dag.network.compute_slowdown[AG] = 2.0;
        case_run *run = case_fork(&dag, MS_FIDELITY_ANALYTIC);
        cr_expect_float_eq(run->timeline.end_s[4], END_S[i], 1e-12, "%g", run->timeline.end_s[4]);
        ms_dag_release(&dag);
    }
}
