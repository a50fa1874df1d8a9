/* Our own max-min sharing: rates by hand, and the dates that SimGrid finds, on thousands of random
 * graphs. MS_SEED replays one seed. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "cases.h"
#include "simulate/engine/maxmin.h"

/* Ends of flows by token. */
typedef struct ends {
    ms_maxmin run;
    double end_s[64];
    double start_s;      /* of a flow that is started by a wake-up, token 9 */
    double late_payload; /* its payload, over link 0 */
} ends;

static void on_flow(void *context, int32_t token) {
    ends *e = context;
    e->end_s[token] = e->run.clock_s;
}

static void on_wake(void *context, int32_t token) {
    ends *e = context;
    int32_t link = 0;
    cr_assert_eq(e->run.clock_s, e->start_s);
    cr_assert_eq(ms_maxmin_flow(&e->run, e->late_payload, &link, 1, token), MS_OK);
}

static void init(ends *e, const double *bandwidths, int32_t links, ms_arena *arena) {
    ms_arena_init(arena);
    *e = (ends){.start_s = 0.0};
    ms_maxmin_setup setup = {.link_bandwidths = bandwidths,
                             .link_count = links,
                             .timers = 4,
                             .flows = 256,
                             .precision_s = 1e-12,
                             .context = e,
                             .on_wake = on_wake,
                             .on_flow = on_flow};
    cr_assert_eq(ms_maxmin_init(&e->run, &setup, arena), MS_OK);
}

static void start(ends *e, double payload, const int32_t *route, int32_t count, int32_t token) {
    cr_assert_eq(ms_maxmin_flow(&e->run, payload, route, count, token), MS_OK);
}

static void release(ends *e, ms_arena *arena) {
    ms_maxmin_release(&e->run);
    ms_arena_release(arena);
}

/* Link 0 has 12, link 1 has 4. Flow 0 crosses both, flow 1 the first, flow 2 the second twice: link
 * 1 is full at 4 / 3 for flows 0 and 2, flow 1 gets what is left of link 0, 32 / 3. */
Test(maxmin, rates_by_hand) {
    static const double BANDWIDTHS[] = {12.0, 4.0};
    static const int32_t BOTH[] = {0, 1};
    static const int32_t TWICE[] = {1, 1};
    ends e;
    ms_arena arena;
    init(&e, BANDWIDTHS, 2, &arena);
    start(&e, 4.0, BOTH, 2, 0);
    start(&e, 32.0, BOTH, 1, 1);
    start(&e, 8.0, TWICE, 2, 2);
    cr_assert_eq(ms_maxmin_run(&e.run), MS_OK);
    /* after 3 s flows 0 and 1 are through, and flow 2, with 4 left, runs at 2 */
    cr_assert_float_eq(e.end_s[0], 3.0, 1e-12);
    cr_assert_float_eq(e.end_s[1], 3.0, 1e-12);
    cr_assert_float_eq(e.end_s[2], 5.0, 1e-12);
    release(&e, &arena);
}

/* A flow of 10 on a link of 2, joined after 2 s by one of 3: both at 1 until the second ends at 5,
 * the first has 3 left. */
Test(maxmin, a_flow_joins) {
    static const double BANDWIDTH = 2.0;
    int32_t link = 0;
    ends e;
    ms_arena arena;
    init(&e, &BANDWIDTH, 1, &arena);
    e.start_s = 2.0;
    e.late_payload = 3.0;
    start(&e, 10.0, &link, 1, 0);
    ms_maxmin_wake_at(&e.run, 2.0, 9);
    cr_assert_eq(ms_maxmin_run(&e.run), MS_OK);
    cr_assert_float_eq(e.end_s[9], 5.0, 1e-12);
    cr_assert_float_eq(e.end_s[0], 6.5, 1e-12);
    release(&e, &arena);
}

/* Work, not time: 32 pairs of flows, each on a link of its own. Rates are found for all 64 at the
 * start, and when the first of a pair ends, for the other one alone. */
Test(maxmin, only_what_is_connected_is_solved) {
    enum { PAIRS = 32 };
    double bandwidths[PAIRS];
    ends e;
    ms_arena arena;
    for (int i = 0; i < PAIRS; i++) {
        bandwidths[i] = 1.0 + i;
    }
    init(&e, bandwidths, PAIRS, &arena);
    for (int32_t i = 0; i < 2 * PAIRS; i++) {
        int32_t link = i / 2;
        start(&e, i % 2 == 0 ? 1.0 : 3.0, &link, 1, i);
    }
    cr_assert_eq(ms_maxmin_run(&e.run), MS_OK);
    cr_assert_eq(e.run.solved, 3 * PAIRS);
    for (int i = 0; i < PAIRS; i++) {
        cr_assert_float_eq(e.end_s[2 * i], 2.0 / bandwidths[i], 1e-12);
        cr_assert_float_eq(e.end_s[2 * i + 1], 4.0 / bandwidths[i], 1e-12);
    }
    release(&e, &arena);
}

enum { GRAPHS = 60, STREAMS = 5, LINKS = 5, WORKS = 8, OPS = 40 };

static int32_t draw_work(ms_dag *dag, ms_random *random, int32_t first_link) {
    int32_t work = ms_dag_add_work(dag, &(ms_dag_work){.stands_for = 1,
                                                       .tier = -1,
                                                       .coll = MS_COLL_ALL_REDUCE,
                                                       .is_communication = true,
                                                       .is_pipelined = random->state % 2 == 0});
    int64_t phases = ms_random_range(random, 1, 2);
    for (int64_t p = 0; p < phases; p++) {
        ms_dag_add_phase(dag, 1e-5 * ms_random_unit(random));
        int64_t flows = ms_random_range(random, 1, 3);
        for (int64_t f = 0; f < flows; f++) {
            /* round numbers, so that flows also start and end together */
            ms_dag_add_flow(dag, 1e5 * (double)ms_random_range(random, 1, 20));
            int32_t start = (int32_t)ms_random_range(random, 0, LINKS - 1);
            int32_t count = (int32_t)ms_random_range(random, 1, LINKS);
            for (int32_t c = 0; c < count; c++) {
                int32_t most = ms_random_range(random, 0, 9) == 0 ? 200 : 3;
                int32_t weight = (int32_t)ms_random_range(random, 1, most);
                ms_dag_add_crossing(dag, first_link + (start + c) % LINKS, weight, 1);
            }
        }
    }
    return work;
}

/* A graph of its own, on ranks, streams and links of its own. */
static void draw_graph(ms_dag *dag, ms_random *random, int32_t rank) {
    int32_t works[STREAMS][WORKS];
    int32_t streams[STREAMS];
    int32_t first_link = ms_dag_add_link(dag, 1e9, 0, 0);
    int32_t first_op = -1;
    for (int32_t i = 1; i < LINKS; i++) {
        ms_dag_add_link(dag, 1e9 * (double)ms_random_range(random, 1, 5), i, 0);
    }
    for (int32_t s = 0; s < STREAMS; s++) {
        streams[s] = ms_dag_add_stream(dag, rank, -1, MS_AXIS_DP);
        for (int32_t w = 0; w < WORKS; w++) {
            works[s][w] = draw_work(dag, random, first_link);
        }
    }
    for (int32_t i = 0; i < OPS; i++) {
        int32_t s = (int32_t)ms_random_range(random, 0, STREAMS - 1);
        int32_t op =
            ms_random_range(random, 0, 3) == 0
                ? case_compute(dag, 1e-3 * ms_random_unit(random), rank, -1)
                : case_op(dag, works[s][ms_random_range(random, 0, WORKS - 1)], streams[s], -1);
        first_op = i == 0 ? op : first_op;
        if (i > 0 && ms_random_range(random, 0, 2) > 0) {
            int32_t oldest = i > 8 ? op - 8 : first_op;
            ms_dag_add_dep(dag, (int32_t)ms_random_range(random, oldest, op - 1));
        }
    }
}

/* Graphs that have nothing to do with each other are run side by side: each is a random graph of
 * its own, and a process that starts SimGrid serves many. */
static void draw_some_graphs(ms_dag *dag, uint64_t seed, int32_t graphs) {
    ms_random random = {seed};
    case_init(dag, graphs);
    for (int32_t g = 0; g < graphs; g++) {
        draw_graph(dag, &random, g);
    }
    if (seed % 2 == 0) {
        dag->network.compute_slowdown[MS_COLL_ALL_REDUCE] = 1.25;
    }
}

static void draw_graphs(ms_dag *dag, uint64_t seed) {
    draw_some_graphs(dag, seed, GRAPHS);
}

static case_run *run_as(ms_dag *dag, ms_solver solver) {
    case_solver = solver;
    case_run *run = case_fork(dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_OK, "%s", run->message);
    return run;
}

/* Wherever memory runs out, the run says so once. */
Test(maxmin, memory_runs_out) {
    ms_dag dag;
    draw_graphs(&dag, 2);
    case_solver = MS_SOLVER_MAXMIN;
    long allocations = 0;
    for (case_run *run = NULL; run == NULL || run->status != MS_OK; allocations++) {
        run = case_fork_failing(&dag, MS_FIDELITY_FLOW, allocations);
        if (run->status != MS_OK) {
            cr_assert_eq(run->status, MS_E_NOMEM, "after %ld allocations", allocations);
            cr_assert_not_null(strstr(run->message, "out of memory"), "%s", run->message);
        }
    }
    cr_assert_geq(allocations, 20);
    ms_dag_release(&dag);
}

/* Run a graph in this process, and hold it to a process that has run nothing before. */
static void run_again(ms_dag *dag, ms_solver solver, uint64_t seed) {
    ms_diag diag;
    ms_arena arena;
    ms_timeline timeline;
    const case_run *alone = run_as(dag, solver);
    ms_diag_init_stderr(&diag);
    ms_arena_init(&arena);
    cr_assert_eq(ms_engine_run(dag, MS_FIDELITY_FLOW, solver, &arena, &diag, &timeline), MS_OK);
    size_t size_B = (size_t)dag->op_count * sizeof(double);
    cr_assert_eq(memcmp(timeline.start_s, alone->timeline.start_s, size_B), 0, "seed %llu",
                 (unsigned long long)seed);
    cr_assert_eq(memcmp(timeline.end_s, alone->timeline.end_s, size_B), 0, "seed %llu",
                 (unsigned long long)seed);
    ms_arena_release(&arena);
}

/* Graphs of other sizes and speeds of links, one after the other. */
static void run_many(ms_solver solver) {
    for (uint64_t seed = 1; seed <= 4; seed++) {
        for (int32_t graphs = GRAPHS; graphs > 0; graphs /= 8) {
            ms_dag dag;
            draw_some_graphs(&dag, seed, graphs);
            run_again(&dag, solver, seed);
            ms_dag_release(&dag);
        }
    }
}

Test(maxmin, what_a_process_ran_before_changes_nothing) {
    run_many(MS_SOLVER_MAXMIN);
    run_many(MS_SOLVER_SIMGRID);
}

Test(maxmin, finds_the_dates_that_simgrid_finds) {
    uint64_t first = case_seed(1);
    uint64_t last = getenv("MS_SEED") != NULL ? first : 40; /* 40 times 60 graphs */
    int64_t flows = 0;
    for (uint64_t seed = first; seed <= last; seed++) {
        ms_dag dag;
        draw_graphs(&dag, seed);
        case_run *simgrid = run_as(&dag, MS_SOLVER_SIMGRID);
        case_run *own = run_as(&dag, MS_SOLVER_MAXMIN);
        cr_assert_lt(case_difference(simgrid, own), 1e-9, "seed %llu", (unsigned long long)seed);
        cr_assert_eq(own->timeline.flows, simgrid->timeline.flows);
        for (int32_t i = 0; i < dag.op_count; i++) {
            cr_assert_eq(own->timeline.cause[i], simgrid->timeline.cause[i], "seed %llu, %d",
                         (unsigned long long)seed, i);
        }
        for (int32_t i = 0; i < dag.network.link_count; i++) {
            cr_assert_float_eq(own->timeline.link_bytes[i], simgrid->timeline.link_bytes[i], 1e-3);
            cr_assert_float_eq(own->timeline.link_busy_s[i], simgrid->timeline.link_busy_s[i],
                               1e-9 * simgrid->timeline.makespan_s);
        }
        flows += own->timeline.flows;
        ms_dag_release(&dag);
    }
    cr_assert_gt(flows, (int64_t)(last - first + 1) * GRAPHS * OPS / 2);
}

/* Who shares links is told of the flows on a full one, both of them, once; not of one beside it. */
typedef struct told {
    ms_maxmin run;
    int32_t calls, flows;
    double left; /* of the flow that was under way */
} told;

static ms_status share_once(void *context) {
    told *t = context;
    t->calls++;
    cr_assert(ms_maxmin_is_full(&t->run, 0));
    cr_assert(!ms_maxmin_is_full(&t->run, 1));
    for (int32_t use = t->run.links[0].uses; use > 0;) {
        const ms_shared_use *at = ms_maxmin_use_at(&t->run, use - 1);
        int32_t flow = at->flow;
        use = at->link_next;
        ms_maxmin_hand_over(&t->run, flow);
        double left = ms_maxmin_flow_at(&t->run, flow)->left;
        t->left = left > t->left ? left : t->left;
        t->flows++;
    }
    t->run.changed.count = 0;
    return MS_OK;
}

static void start_second(void *context, int32_t token) {
    told *t = context;
    int32_t link = 0;
    cr_assert_eq(ms_maxmin_flow(&t->run, 1.0, &link, 1, token), MS_OK);
}

static void ignore(void *context, int32_t token) {
    (void)context;
    cr_assert_eq(token, 2, "the others have been given away");
}

Test(maxmin, flows_without_room_are_handed_over) {
    static const double BANDWIDTHS[] = {2.0, 2.0};
    static const int32_t NUMBERS[] = {0, 1};
    told t = {.calls = 0};
    ms_arena arena;
    ms_arena_init(&arena);
    ms_maxmin_setup setup = {.link_bandwidths = BANDWIDTHS,
                             .link_count = 2,
                             .timers = 1,
                             .flows = 3,
                             .precision_s = 1e-12,
                             .context = &t,
                             .on_wake = start_second,
                             .on_flow = ignore,
                             .share = share_once,
                             .share_context = &t};
    cr_assert_eq(ms_maxmin_init(&t.run, &setup, &arena), MS_OK);
    cr_assert_eq(ms_maxmin_flow(&t.run, 10.0, &NUMBERS[0], 1, 0), MS_OK);
    cr_assert_eq(ms_maxmin_flow(&t.run, 3.0, &NUMBERS[1], 1, 2), MS_OK);
    ms_maxmin_wake_at(&t.run, 2.0, 1);
    cr_assert_eq(ms_maxmin_run(&t.run), MS_OK);
    cr_assert_eq(t.calls, 1);
    cr_assert_eq(t.flows, 2);
    cr_assert_float_eq(t.left, 6.0, 1e-12); /* after 2 s at 2 */
    ms_maxmin_release(&t.run);
    ms_arena_release(&arena);
}
