/* What holds for every graph, over random ones. MS_SEED replays one seed. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "cases.h"

enum { RANKS = 6, COMM_STREAMS = 6, LINKS = 5, WORKS = 12, OPS = 300 };

/* How random graphs are drawn. */
typedef struct draw {
    double time_scale;      /* factor on all times */
    double bandwidth_scale; /* factor on all capacities */
    bool is_private;        /* each communication stream has links of its own */
} draw;

static double draw_time_s(ms_random *random, const draw *how) {
    return how->time_scale * 1e-3 * ms_random_unit(random);
}

static int32_t draw_work(ms_dag *dag, ms_random *random, const draw *how, int32_t first_link) {
    int32_t work = ms_dag_add_work(dag, &(ms_dag_work){.stands_for = 1,
                                                       .tier = -1,
                                                       .coll = MS_COLL_ALL_REDUCE,
                                                       .is_communication = true,
                                                       .is_pipelined = random->state % 2 == 0});
    int64_t phases = ms_random_range(random, 1, 3);
    for (int64_t p = 0; p < phases; p++) {
        ms_dag_add_phase(dag, 0.01 * draw_time_s(random, how));
        int64_t flows = how->is_private ? 1 : ms_random_range(random, 0, 2);
        for (int64_t f = 0; f < flows; f++) {
            ms_dag_add_flow(dag, (double)ms_random_range(random, 0, 2000000));
            int32_t start = (int32_t)ms_random_range(random, 0, LINKS - 1);
            int32_t count = (int32_t)ms_random_range(random, 0, LINKS);
            for (int32_t c = 0; c < count; c++) {
                int32_t weight = (int32_t)ms_random_range(random, 1, 3);
                ms_dag_add_crossing(dag, first_link + (start + c) % LINKS, weight, weight);
            }
        }
    }
    return work;
}

static void draw_deps(ms_dag *dag, ms_random *random, int32_t op) {
    int64_t count = ms_random_range(random, 0, 3);
    for (int64_t i = 0; i < count && op > 0; i++) {
        int64_t oldest = op > 40 ? op - 40 : 0;
        ms_dag_add_dep(dag, (int32_t)ms_random_range(random, oldest, op - 1));
    }
}

/* A random graph: computations on ranks, communications with one or two members. */
static void draw_graph(ms_dag *dag, uint64_t seed, const draw *how) {
    ms_random random = {seed};
    int32_t works[COMM_STREAMS][WORKS];
    int32_t streams[COMM_STREAMS];
    case_init(dag, RANKS);
    for (int32_t i = 0; i < COMM_STREAMS * LINKS; i++) {
        ms_dag_add_link(dag, how->bandwidth_scale * (1e9 + 4e9 * ms_random_unit(&random)), i, 0);
    }
    for (int32_t s = 0; s < COMM_STREAMS; s++) {
        streams[s] = case_stream(dag);
        for (int32_t w = 0; w < WORKS; w++) {
            works[s][w] = draw_work(dag, &random, how, how->is_private ? s * LINKS : 0);
        }
    }
    for (int32_t op = 0; op < OPS; op++) {
        if (ms_random_range(&random, 0, 2) == 0) {
            int32_t rank = (int32_t)ms_random_range(&random, 0, RANKS - 1);
            case_compute(dag, draw_time_s(&random, how), rank, -1);
            draw_deps(dag, &random, op);
            continue;
        }
        int32_t s = (int32_t)ms_random_range(&random, 0, COMM_STREAMS - 1);
        case_op(dag, works[s][ms_random_range(&random, 0, WORKS - 1)], streams[s], -1);
        draw_deps(dag, &random, op);
        if (!how->is_private && s + 1 < COMM_STREAMS && ms_random_range(&random, 0, 3) == 0) {
            ms_dag_add_member(dag, streams[s + 1]);
            draw_deps(dag, &random, op);
        }
    }
}

static case_run *run_drawn(uint64_t seed, const draw *how, ms_fidelity fidelity, ms_dag *dag) {
    draw_graph(dag, seed, how);
    case_run *run = case_fork(dag, fidelity);
    cr_assert_eq(run->status, MS_OK, "seed %llu: %s", (unsigned long long)seed, run->message);
    return run;
}

#define FOR_SEEDS(count)                                                                           \
    for (uint64_t seed = case_seed(1), last_ = getenv("MS_SEED") != NULL ? seed : (count);         \
         seed <= last_; seed++)

Test(properties, without_shared_links_both_engines_agree_to_the_bit) {
    FOR_SEEDS(20) {
        ms_dag dag;
        draw how = {.time_scale = 1.0, .bandwidth_scale = 1.0, .is_private = true};
        case_run *flow = run_drawn(seed, &how, MS_FIDELITY_FLOW, &dag);
        case_run *closed = case_fork(&dag, MS_FIDELITY_ANALYTIC);
        cr_assert_eq(flow->timeline.flows, 0);
        cr_assert_eq(memcmp(flow->timeline.end_s, closed->timeline.end_s, OPS * sizeof(double)), 0,
                     "seed %llu", (unsigned long long)seed);
        cr_assert_eq(memcmp(flow->timeline.cause, closed->timeline.cause, OPS * sizeof(int32_t)), 0,
                     "seed %llu", (unsigned long long)seed);
        ms_dag_release(&dag);
    }
}

Test(properties, sharing_never_makes_anything_earlier) {
    FOR_SEEDS(30) {
        ms_dag dag;
        draw how = {.time_scale = 1.0, .bandwidth_scale = 1.0};
        case_run *flow = run_drawn(seed, &how, MS_FIDELITY_FLOW, &dag);
        case_run *closed = case_fork(&dag, MS_FIDELITY_ANALYTIC);
        double tolerance = 1e-9 * closed->timeline.makespan_s;
        cr_assert_gt(flow->timeline.flows, 10, "seed %llu", (unsigned long long)seed);
        for (int32_t i = 0; i < dag.op_count; i++) {
            cr_assert_geq(flow->timeline.end_s[i], closed->timeline.end_s[i] - tolerance,
                          "seed %llu, operation %d", (unsigned long long)seed, i);
        }
        ms_dag_release(&dag);
    }
}

Test(properties, links_carry_all_bytes_and_never_more_than_they_can) {
    FOR_SEEDS(30) {
        ms_dag dag;
        double bytes[COMM_STREAMS * LINKS] = {0.0};
        draw how = {.time_scale = 1.0, .bandwidth_scale = 1.0};
        case_run *run = run_drawn(seed, &how, MS_FIDELITY_FLOW, &dag);
        for (int32_t op = 0; op < dag.op_count; op++) {
            const ms_dag_work *work = &dag.works[dag.ops[op].work];
            for (int32_t p = 0; p < work->phase_count; p++) {
                const ms_dag_phase *phase = &dag.network.phases[work->phase_first + p];
                for (int32_t f = 0; f < phase->flow_count; f++) {
                    const ms_dag_flow *flow = &dag.network.flows[phase->flow_first + f];
                    for (int32_t c = 0; c < flow->crossing_count; c++) {
                        const ms_dag_crossing *x = &dag.network.crossings[flow->crossing_first + c];
                        bytes[x->link] += flow->bytes * x->weight;
                    }
                }
            }
        }
        for (int32_t i = 0; i < dag.network.link_count; i++) {
            double least_s = bytes[i] / dag.network.links[i].capacity_Bps;
            double slack_s = 1e-9 * run->timeline.makespan_s;
            cr_assert_float_eq(run->timeline.link_bytes[i], bytes[i], 1e-9 * bytes[i]);
            cr_assert_leq(least_s, run->timeline.link_busy_s[i] + slack_s, "seed %llu, link %d",
                          (unsigned long long)seed, i);
            cr_assert_leq(run->timeline.link_busy_s[i], run->timeline.makespan_s + slack_s);
            cr_assert_leq(run->timeline.link_peak[i], 1.0);
            cr_assert_eq(run->timeline.link_peak[i] > 0.0, run->timeline.link_busy_s[i] > 0.0);
        }
        ms_dag_release(&dag);
    }
}

Test(properties, the_same_graph_gives_the_same_bits) {
    FOR_SEEDS(5) {
        ms_dag dag;
        draw how = {.time_scale = 1.0, .bandwidth_scale = 1.0};
        case_run *a = run_drawn(seed, &how, MS_FIDELITY_FLOW, &dag);
        case_run *b = case_fork(&dag, MS_FIDELITY_FLOW);
        cr_assert_eq(memcmp(a->timeline.start_s, b->timeline.start_s, OPS * sizeof(double)), 0);
        cr_assert_eq(memcmp(a->timeline.end_s, b->timeline.end_s, OPS * sizeof(double)), 0);
        cr_assert_eq(memcmp(a->timeline.cause, b->timeline.cause, OPS * sizeof(int32_t)), 0);
        ms_dag_release(&dag);
    }
}

/* More bandwidth alone may well make a step longer: a flow that ends earlier lets another start
 * earlier, which then shares with one that matters more (Graham, Bell System Technical Journal 45,
 * 1966). If computations and latencies shrink alike, the whole timeline shrinks. */
Test(properties, when_everything_is_twice_as_fast_the_timeline_halves) {
    FOR_SEEDS(10) {
        ms_dag dag;
        ms_dag fast_dag;
        draw how = {.time_scale = 1.0, .bandwidth_scale = 1.0};
        draw fast_how = {.time_scale = 0.5, .bandwidth_scale = 2.0};
        case_run *run = run_drawn(seed, &how, MS_FIDELITY_FLOW, &dag);
        case_run *fast = run_drawn(seed, &fast_how, MS_FIDELITY_FLOW, &fast_dag);
        for (int32_t i = 0; i < OPS; i++) {
            cr_assert_float_eq(2.0 * fast->timeline.end_s[i], run->timeline.end_s[i],
                               1e-9 * run->timeline.makespan_s, "seed %llu",
                               (unsigned long long)seed);
        }
        ms_dag_release(&dag);
        ms_dag_release(&fast_dag);
    }
}

/* Series-parallel cases where more bandwidth cannot hurt: flows that all start at once share one
 * link, a computation follows each. */
Test(properties, more_bandwidth_is_never_slower_for_flows_that_start_together) {
    FOR_SEEDS(10) {
        double before_s = INFINITY;
        for (double bandwidth_Bps = 1e9; bandwidth_Bps < 20e9; bandwidth_Bps *= 1.7) {
            ms_random random = {seed};
            ms_dag dag;
            case_init(&dag, RANKS);
            int32_t link = ms_dag_add_link(&dag, bandwidth_Bps, 0, 0);
            for (int32_t i = 0; i < RANKS; i++) {
                double bytes = 1e6 * ms_random_unit(&random);
                int32_t flow = case_op(&dag, case_flow_work(&dag, bytes, &link, 1, i % 3 + 1),
                                       case_stream(&dag), -1);
                case_compute(&dag, 1e-3 * ms_random_unit(&random), i, flow);
            }
            case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
            cr_assert_eq(run->status, MS_OK);
            cr_assert_leq(run->timeline.makespan_s, before_s * (1.0 + 1e-9));
            before_s = run->timeline.makespan_s;
            ms_dag_release(&dag);
        }
    }
}

/* A chain that goes over shared links one flow at a time takes its times alone, through SimGrid. */
Test(properties, flows_one_at_a_time_take_their_times_alone) {
    FOR_SEEDS(10) {
        ms_random random = {seed};
        ms_dag dag;
        case_init(&dag, 1);
        int32_t links[3];
        int32_t streams[3];
        for (int32_t i = 0; i < 3; i++) {
            links[i] = ms_dag_add_link(&dag, 1e9 + 1e9 * ms_random_unit(&random), i, 0);
            streams[i] = case_stream(&dag);
        }
        int32_t last = -1;
        for (int32_t i = 0; i < 2000; i++) {
            if (ms_random_range(&random, 0, 1) == 0) {
                last = case_compute(&dag, 1e-4 * ms_random_unit(&random), 0, last);
            } else {
                double bytes = 1e5 * ms_random_unit(&random);
                int32_t work =
                    case_flow_work(&dag, bytes, links, (int32_t)ms_random_range(&random, 1, 3), 1);
                last = case_op(&dag, work, streams[ms_random_range(&random, 0, 2)], last);
            }
        }
        case_run *flow = case_fork(&dag, MS_FIDELITY_FLOW);
        case_run *closed = case_fork(&dag, MS_FIDELITY_ANALYTIC);
        cr_assert_eq(flow->status, MS_OK, "%s", flow->message);
        cr_assert_gt(flow->timeline.flows, 500);
        cr_assert_lt(case_difference(flow, closed), 1e-9, "seed %llu", (unsigned long long)seed);
        ms_dag_release(&dag);
    }
}
