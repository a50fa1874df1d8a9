/* Flows that take links with weights and are bound by other ones, by hand and by both solvers. */
#include <criterion/criterion.h>
#include <math.h>

#include "cases.h"

#define NEAR(actual, expected)                                                                     \
    cr_assert_float_eq((actual), (expected), 1e-9 * fabs(expected), "%.12g, not %.12g", (actual),  \
                       (double)(expected))

/* A flow over the wide link `weight` times, and over the narrow one where it is not -1. */
static int32_t add_flow(ms_dag *dag, double bytes, int32_t wide, int32_t weight, int32_t narrow) {
    int32_t work = case_flow_work(dag, bytes, &wide, 1, weight);
    if (narrow >= 0) {
        ms_dag_add_crossing(dag, narrow, 1, 1);
    }
    return case_op(dag, work, case_stream(dag), -1);
}

typedef struct weight_case {
    double first_B, second_B; /* of the flow on both links, and of one on the wide link alone */
    int weight;               /* of the first on the wide link */
    double wide_Bps;          /* the narrow one has 10 GB/s */
    double first_s, second_s; /* expected ends */
} weight_case;

/* The first is bound by the narrow link in all of them but the last. */
static const weight_case CASES[] = {
    /* 20 of 100 are taken, 80 are left */
    {800e9, 400e9, 2, 100e9, 80, 5},
    /* 20 of 100 are taken for 1 s, then nothing: 80, then 320 at 100 */
    {10e9, 400e9, 2, 100e9, 1, 1 + 3.2},
    /* 30 of 100 */
    {800e9, 350e9, 3, 100e9, 80, 5},
    /* the wide link has room for both as they are alone: 20 + 100 of 120 */
    {100e9, 1000e9, 2, 120e9, 10, 10},
    /* 2 r + r = 24: 8 each, which is less than the narrow link has */
    {80e9, 160e9, 2, 24e9, 10, 10 + 80 / 24.0},
};

static void expect(ms_solver solver) {
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const weight_case *c = &CASES[i];
        ms_dag dag;
        case_init(&dag, 1);
        case_solver = solver;
        int32_t wide = ms_dag_add_link(&dag, c->wide_Bps, 0, 0);
        int32_t narrow = ms_dag_add_link(&dag, 10e9, 1, 0);
        int32_t first = add_flow(&dag, c->first_B, wide, c->weight, narrow);
        int32_t second = add_flow(&dag, c->second_B, wide, 1, -1);
        case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
        cr_assert_eq(run->status, MS_OK, "case %zu: %s", i, run->message);
        NEAR(run->timeline.end_s[first], c->first_s);
        NEAR(run->timeline.end_s[second], c->second_s);
        NEAR(run->timeline.link_bytes[0], c->weight * c->first_B + c->second_B);
        NEAR(run->timeline.link_bytes[1], c->first_B);
        /* the first alone: its slowest link */
        case_run *alone = case_fork(&dag, MS_FIDELITY_ANALYTIC);
        NEAR(alone->timeline.end_s[first],
             fmax(c->first_B / 10e9, c->weight * c->first_B / c->wide_Bps));
        NEAR(alone->timeline.end_s[second], c->second_B / c->wide_Bps);
        ms_dag_release(&dag);
    }
}

Test(weights, heavy_flows_bound_elsewhere_with_simgrid) {
    expect(MS_SOLVER_SIMGRID);
}

Test(weights, heavy_flows_bound_elsewhere_with_maxmin) {
    expect(MS_SOLVER_MAXMIN);
}
