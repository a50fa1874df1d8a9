/* The search: regression targets, proofs, and what every result must hold. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "meshsim/random.h"
#include "meshsim/schedule_search.h"
#include "schedule_fixture.h"

static ms_search_result search(fixture *f, const ms_search_spec *spec,
                               const ms_schedule_costs *costs) {
    ms_search_result result = {.variant = -1};
    cr_assert_eq(ms_schedule_search(spec, costs, &f->arena, &f->diag, &result), MS_OK, "%s",
                 ms_buffer_text(&f->talk));
    return result;
}

static double span_of(fixture *f, ms_schedule_kind kind, const ms_search_spec *size,
                      const ms_schedule_costs *costs) {
    ms_schedule_spec spec = SPEC(kind, size->pipeline_ranks, 1, size->microbatches, 0);
    ms_program program = fixture_build(f, &spec);
    return fixture_evaluate(f, &program, costs).max_span;
}

/* With equal costs and caps P and 2P-1: the spans of ZB-H1 and ZB-H2, proven best. */
Test(schedule_search, reaches_h1_and_h2) {
    for (int p = 1; p <= 8; p++) {
        for (int m = 2 * p; m <= 5 * p; m += 1 + p) {
            fixture f;
            fixture_init(&f);
            ms_schedule_costs costs = fixture_even_costs(&f, p, (const double[]){1, 1, 1, 0});
            ms_search_spec spec = {.pipeline_ranks = p, .microbatches = m, .memory_cap = p};
            ms_search_result h1 = search(&f, &spec, &costs);
            cr_assert_float_eq(h1.span, 3 * m + p - 1, 1e-9, "P=%d M=%d: %g", p, m, h1.span);
            cr_assert_float_eq(h1.span, span_of(&f, MS_SCHEDULE_ZBH1, &spec, &costs), 1e-9);
            cr_assert(h1.is_optimal);
            cr_assert_float_eq(h1.bound, h1.span, 1e-9);
            spec.memory_cap = 2 * p - 1;
            ms_search_result h2 = search(&f, &spec, &costs);
            cr_assert_float_eq(h2.span, 3 * m, 1e-9, "P=%d M=%d: %g", p, m, h2.span);
            cr_assert(h2.is_optimal);
            fixture_release(&f);
        }
    }
}

/* The bound by hand: P = 2, the second rank's forward and input gradient are 3 + 2, the way 2 *
 * 0.5; one microbatch in flight leaves all of it idle, three fill it. */
Test(schedule_search, bound_by_hand) {
    const double f[] = {1, 3};
    const double i[] = {1, 2};
    const double w[] = {1, 0};
    const double p2p[] = {0.5};
    ms_schedule_costs costs = {.forward = f, .input_grad = i, .weight_grad = w, .p2p = p2p};
    ms_search_spec spec = {.pipeline_ranks = 2, .microbatches = 1, .memory_cap = 1};
    int rank = -1;
    cr_assert_float_eq(ms_schedule_span_bound(&spec, &costs, &rank), 3 + 6, 1e-12);
    cr_assert_eq(rank, 0);
    spec.microbatches = 10;
    cr_assert_float_eq(ms_schedule_span_bound(&spec, &costs, &rank), 50, 1e-12);
    cr_assert_eq(rank, 1);
}

Test(schedule_search, results_hold_what_they_promise) {
    const char *text = getenv("MS_SEED");
    uint64_t seed = text == NULL ? 20261121U : strtoull(text, NULL, 0);
    ms_random random = {seed};
    int improved = 0;
    for (int trial = 0; trial < 120; trial++) {
        fixture f;
        fixture_init(&f);
        int p = (int)ms_random_range(&random, 1, 6);
        double *lists[4];
        for (int i = 0; i < 4; i++) {
            lists[i] = MS_NEW(&f.arena, double, p);
            for (int stage = 0; stage < p; stage++) {
                lists[i][stage] =
                    (double)ms_random_range(&random, i == 3 ? 0 : 4, i == 3 ? 4 : 24) / 8;
            }
        }
        ms_schedule_costs costs = {
            .forward = lists[0], .input_grad = lists[1], .weight_grad = lists[2], .p2p = lists[3]};
        ms_search_spec spec = {.pipeline_ranks = p,
                               .microbatches = (int)ms_random_range(&random, 1, 16),
                               .memory_cap = (int)ms_random_range(&random, 0, 2 * p + 1),
                               .effort = 400};
        ms_search_result result = search(&f, &spec, &costs);
        cr_assert_eq(ms_program_check(&result.program, &f.diag), MS_OK, "MS_SEED=%llu: %s",
                     (unsigned long long)seed, ms_buffer_text(&f.talk));
        ms_schedule_result found = fixture_evaluate(&f, &result.program, &costs);
        cr_assert_float_eq(found.max_span, result.span, 1e-9);
        cr_assert_float_eq(found.makespan, result.makespan, 1e-9);
        int peak = 0;
        for (int r = 0; r < p; r++) {
            peak = found.ranks[r].peak_inflight > peak ? found.ranks[r].peak_inflight : peak;
        }
        cr_assert_eq(peak, result.peak_inflight);
        cr_assert(spec.memory_cap == 0 || peak <= spec.memory_cap);
        cr_assert(result.span >= result.bound - 1e-9, "MS_SEED=%llu", (unsigned long long)seed);
        cr_assert(result.span <= result.heuristic_span + 1e-9);
        cr_assert_eq(result.is_optimal, result.span <= result.bound + 1e-9 * (1 + result.bound));
        improved += result.span < result.heuristic_span - 1e-9;
        /* no known schedule under the same cap beats the bound */
        if (spec.memory_cap >= p) {
            cr_assert(span_of(&f, MS_SCHEDULE_ZBH1, &spec, &costs) >= result.bound - 1e-9);
        }
        fixture_release(&f);
    }
    cr_assert_gt(improved, 5, "the local improvement does something: %d", improved);
}

Test(schedule_search, refusals) {
    fixture f;
    fixture_init(&f);
    ms_schedule_costs costs = fixture_even_costs(&f, 2, (const double[]){1, -1, 1, 0});
    ms_search_result result = {.variant = -7};
    ms_search_spec spec = {.pipeline_ranks = 2, .microbatches = 2, .memory_cap = -1};
    cr_assert_eq(ms_schedule_search(&spec, &costs, &f.arena, &f.diag, &result), MS_E_INPUT);
    spec.memory_cap = 2;
    cr_assert_eq(ms_schedule_search(&spec, &costs, &f.arena, &f.diag, &result), MS_E_RANGE);
    spec.pipeline_ranks = 0;
    cr_assert_eq(ms_schedule_search(&spec, &costs, &f.arena, &f.diag, &result), MS_E_INPUT);
    cr_assert_eq(f.diag.errors, 3);
    cr_assert_eq(result.variant, -7);
    fixture_release(&f);
}
