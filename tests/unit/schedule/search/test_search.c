/* The search: regression targets, proofs, and what every result must hold. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search_fixture.h"

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
 * 0.5; one microbatch in flight leaves all of it idle. So do ten, one after the other; with two in
 * flight, the second rank's work counts. */
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
    cr_assert_float_eq(ms_schedule_span_bound(&spec, &costs, &rank), 10 * 9, 1e-12);
    cr_assert_eq(rank, 0);
    spec.memory_cap = 2;
    cr_assert_float_eq(ms_schedule_span_bound(&spec, &costs, &rank), 50, 1e-12);
    cr_assert_eq(rank, 1);
}

/* F = I = W = 1: under a cap of 1 each microbatch goes down and up alone, 2P+1. */
Test(schedule_search, one_microbatch_at_a_time) {
    for (int p = 1; p <= 8; p++) {
        fixture f;
        fixture_init(&f);
        ms_schedule_costs costs = fixture_even_costs(&f, p, (const double[]){1, 1, 1, 0});
        ms_search_spec spec = {.pipeline_ranks = p, .microbatches = 32, .memory_cap = 1};
        ms_search_result found = search(&f, &spec, &costs);
        cr_assert_float_eq(found.span, 32 * (2 * p + 1), 1e-9);
        cr_assert(found.is_optimal);
        fixture_release(&f);
    }
}

/* Caps below P: no worse than F of microbatch m in slot r + 4m and I in slot 2P-1-r + 4m, which
 * hold about P/2 microbatches. */
Test(schedule_search, small_caps) {
    for (int p = 4; p <= 16; p *= 2) {
        fixture f;
        fixture_init(&f);
        int m = 4 * p;
        ms_schedule_costs costs = fixture_even_costs(&f, p, (const double[]){1, 1, 1, 0});
        ms_search_spec spec = {.pipeline_ranks = p, .microbatches = m, .memory_cap = p / 2 + 1};
        ms_search_result found = search(&f, &spec, &costs);
        cr_assert_leq(found.span, 4 * (m - 1) + 2 * p + 1 + 1e-9, "P=%d: %g", p, found.span);
        cr_assert_not(found.is_cut_short);
        fixture_release(&f);
    }
}

/* Too many passes for all rules: the same result again, which says that it was cut short, and no
 * worse than the building block of 4 slots; a proven one needs no such word. */
Test(schedule_search, cut_short, .timeout = 300) {
    fixture f;
    fixture_init(&f);
    ms_schedule_costs costs = fixture_even_costs(&f, 4, (const double[]){1, 1, 1, 0});
    ms_search_spec spec = {.pipeline_ranks = 4, .microbatches = 20000, .memory_cap = 3};
    ms_search_result one = search(&f, &spec, &costs);
    cr_assert(one.is_cut_short);
    cr_assert_leq(one.span, 4 * (20000 - 1) + 9 + 1e-9, "%g", one.span);
    ms_search_result other = search(&f, &spec, &costs);
    cr_assert_eq(ms_program_crc32(&one.program), ms_program_crc32(&other.program));
    spec.memory_cap = 7;
    ms_search_result proven = search(&f, &spec, &costs);
    cr_assert(proven.is_optimal);
    cr_assert_not(proven.is_cut_short);
    fixture_release(&f);
}

static int peak_of(const ms_schedule_result *result, int ranks) {
    int peak = 0;
    for (int r = 0; r < ranks; r++) {
        peak = result->ranks[r].peak_inflight > peak ? result->ranks[r].peak_inflight : peak;
    }
    return peak;
}

/* No worse than any fixed schedule of one stage per rank that fits the cap. */
Test(schedule_search, against_the_kinds) {
    static const ms_schedule_kind KINDS[] = {MS_SCHEDULE_GPIPE, MS_SCHEDULE_1F1B, MS_SCHEDULE_ZBH1,
                                             MS_SCHEDULE_ZBH2};
    const char *text = getenv("MS_SEED");
    uint64_t seed = text == NULL ? 20261124U : strtoull(text, NULL, 0);
    ms_random random = {seed};
    for (int trial = 0; trial < 80; trial++) {
        fixture f;
        fixture_init(&f);
        int p = (int)ms_random_range(&random, 1, 8);
        ms_schedule_costs costs =
            trial % 4 == 0 ? fixture_even_costs(&f, p, (const double[]){1, 1, 1, 0.125 * p})
                           : random_costs(&f, &random, p);
        ms_search_spec spec = {.pipeline_ranks = p,
                               .microbatches = (int)ms_random_range(&random, 1, 3 * p),
                               .memory_cap = (int)ms_random_range(&random, p, 2 * p),
                               .effort = 100};
        ms_search_result found = search(&f, &spec, &costs);
        for (size_t k = 0; k < sizeof KINDS / sizeof KINDS[0]; k++) {
            ms_schedule_spec kind = SPEC(KINDS[k], p, 1, spec.microbatches, 0);
            ms_program program = fixture_build(&f, &kind);
            ms_schedule_result result = fixture_evaluate(&f, &program, &costs);
            cr_assert(peak_of(&result, p) > spec.memory_cap ||
                          found.span <= result.max_span * (1 + 1e-9),
                      "MS_SEED=%llu trial %d: %s P=%d M=%d cap %d: %g, search %g",
                      (unsigned long long)seed, trial, program.name, p, spec.microbatches,
                      spec.memory_cap, result.max_span, found.span);
        }
        fixture_release(&f);
    }
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
        ms_schedule_costs costs = random_costs(&f, &random, p);
        costs.is_blocking = trial % 5 == 0;
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
        int peak = peak_of(&found, p);
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
    spec = (ms_search_spec){.pipeline_ranks = 2, .chunks = 2, .microbatches = 2, .memory_cap = 1};
    cr_assert_eq(ms_schedule_search(&spec, &costs, &f.arena, &f.diag, &result), MS_E_INPUT);
    cr_assert_not_null(strstr(ms_buffer_text(&f.talk), "which is 2 with two stages per rank"));
    spec.memory_cap = 0;
    spec.chunks = 3;
    cr_assert_eq(ms_schedule_search(&spec, &costs, &f.arena, &f.diag, &result), MS_E_INPUT);
    cr_assert_not_null(strstr(ms_buffer_text(&f.talk), "got V = '3'"));
    spec.chunks = 2;
    spec.microbatches = -1;
    cr_assert_eq(ms_schedule_search(&spec, &costs, &f.arena, &f.diag, &result), MS_E_INPUT);
    spec.microbatches = INT32_MAX;
    cr_assert_eq(ms_schedule_search(&spec, &costs, &f.arena, &f.diag, &result), MS_E_INPUT);
    cr_assert_eq(result.variant, -7);
    fixture_release(&f);
}

/* The costs of a V: the same for all stages, but the first and the last one times as much. */
static ms_schedule_costs v_costs(fixture *f, int p, const double costs[4], const double ends[2]) {
    double *lists[4];
    for (int i = 0; i < 4; i++) {
        lists[i] = MS_NEW(&f->arena, double, 2 * p);
        for (int stage = 0; stage < 2 * p; stage++) {
            double times = stage == 0 ? ends[0] : stage == 2 * p - 1 ? ends[1] : 1;
            lists[i][stage] = i == 3 ? costs[3] : costs[i] * times;
        }
    }
    return (ms_schedule_costs){
        .forward = lists[0], .input_grad = lists[1], .weight_grad = lists[2], .p2p = lists[3]};
}

static const double EVEN_ENDS[2] = {1, 1};

/* The shortest span among ZB-V, V-Half and V-Min, reordered or not, that fit a cap. */
static double best_pattern(fixture *f, const ms_search_spec *size, const ms_schedule_costs *costs) {
    static const ms_schedule_kind KINDS[] = {MS_SCHEDULE_ZBV, MS_SCHEDULE_VHALF, MS_SCHEDULE_VMIN};
    double best = INFINITY;
    for (int i = 0; i < 5; i++) {
        ms_schedule_spec spec =
            SPEC(KINDS[(i + 1) / 2], size->pipeline_ranks, 2, size->microbatches, 0);
        spec.is_reordered = i > 0 && i % 2 == 0;
        ms_program program = fixture_build(f, &spec);
        ms_schedule_result result = fixture_evaluate(f, &program, costs);
        if (peak_of(&result, size->pipeline_ranks) <= size->memory_cap) {
            best = fmin(best, result.max_span);
        }
    }
    return best;
}

/* F = I = W: no bubble under a cap of P microbatches from M = 2P-1 on, as ZB-V has none. */
Test(schedule_search_v, reaches_zbv) {
    for (int p = 2; p <= 8; p++) {
        for (int m = 2 * p - 1; m <= 4 * p; m += p) {
            fixture f;
            fixture_init(&f);
            ms_schedule_costs costs = v_costs(&f, p, (const double[]){1, 1, 1, 0}, EVEN_ENDS);
            ms_search_spec spec = {
                .pipeline_ranks = p, .chunks = 2, .microbatches = m, .memory_cap = 2 * p};
            ms_search_result found = search(&f, &spec, &costs);
            cr_assert_float_eq(found.span, 6 * m, 1e-9, "P=%d M=%d: %g", p, m, found.span);
            cr_assert(found.is_optimal);
            fixture_release(&f);
        }
    }
}

/* No worse than any fixed pattern that fits the cap, whatever the costs, and better than ZB-V's
 * order or proven best in most of a list of uneven ones. */
Test(schedule_search_v, against_the_patterns) {
    static const double COSTS[][4] = {{1, 1, 1, 0},     {1, 1.3, 0.7, 0.05}, {1, 1.6, 1, 0.2},
                                      {1, 1, 0.6, 0.1}, {1, 1.4, 1, 0.5},    {1, 2, 1, 0}};
    static const double ENDS[][2] = {{1, 1}, {1.5, 1.8}, {1, 2}};
    int better = 0;
    int tried = 0;
    int improved = 0;
    for (int i = 0; i < 36; i++) {
        fixture f;
        fixture_init(&f);
        int p = i % 2 == 0 ? 4 : 6;
        ms_schedule_costs costs = v_costs(&f, p, COSTS[i / 2 % 6], ENDS[i / 12]);
        const int caps[3] = {2 * p, 2 * ((p + 2) / 2), 2 * ((p + 4) / 3)};
        for (int c = 0; c < 3; c++) {
            ms_search_spec spec = {.pipeline_ranks = p,
                                   .chunks = 2,
                                   .microbatches = 2 * p,
                                   .memory_cap = caps[c],
                                   .effort = 1000};
            ms_search_result found = search(&f, &spec, &costs);
            double pattern = best_pattern(&f, &spec, &costs);
            cr_assert_leq(found.span, pattern * (1 + 1e-9), "P=%d cap %d case %d: %g, pattern %g",
                          p, caps[c], i, found.span, pattern);
            improved += found.span < found.heuristic_span * (1 - 1e-9);
            tried += c == 0;
            better += c == 0 && (found.is_optimal || found.span < pattern * (1 - 1e-9));
        }
        fixture_release(&f);
    }
    cr_assert_geq(better * 4, tried * 3, "%d of %d", better, tried);
    cr_assert_gt(improved, 10, "the local improvement does something: %d", improved);
}

/* A larger cap is never worse, and any cap from one microbatch on works; with one stage per rank
 * and two. */
Test(schedule_search_v, larger_caps_are_not_worse) {
    for (int i = 0; i < 12; i++) {
        fixture f;
        fixture_init(&f);
        int chunks = 1 + i / 6;
        int p = 2 + i % 6;
        int m = 3 + 2 * (i % 6);
        ms_schedule_costs costs =
            v_costs(&f, p, (const double[]){1, 1.3, 0.7, 0.05 * i}, (const double[]){1.5, 1.2});
        double before = INFINITY;
        double bound_before = INFINITY;
        for (int cap = chunks; cap <= chunks * m + 1; cap++) {
            ms_search_spec spec = {.pipeline_ranks = p,
                                   .chunks = chunks,
                                   .microbatches = m,
                                   .memory_cap = cap > chunks * m ? 0 : cap,
                                   .effort = 60};
            ms_search_result found = search(&f, &spec, &costs);
            cr_assert_leq(found.span, before + 1e-9 * before, "P=%d V=%d M=%d cap %d: %.12g", p,
                          chunks, m, cap, found.span);
            cr_assert_leq(found.bound, bound_before);
            cr_assert_leq(found.peak_inflight, cap);
            cr_assert_not(found.is_cut_short);
            before = found.span;
            bound_before = found.bound;
        }
        fixture_release(&f);
    }
}

Test(schedule_search_v, results_hold_what_they_promise) {
    const char *text = getenv("MS_SEED");
    uint64_t seed = text == NULL ? 20261122U : strtoull(text, NULL, 0);
    ms_random random = {seed};
    for (int trial = 0; trial < 100; trial++) {
        fixture f;
        fixture_init(&f);
        int p = (int)ms_random_range(&random, 1, 5);
        double *lists[4];
        for (int i = 0; i < 4; i++) {
            lists[i] = MS_NEW(&f.arena, double, 2 * p);
            for (int stage = 0; stage < 2 * p; stage++) {
                /* weight gradients and messages may be free */
                lists[i][stage] =
                    (double)ms_random_range(&random, i >= 2 ? 0 : 4, i == 3 ? 4 : 24) / 8;
            }
        }
        ms_schedule_costs costs = {
            .forward = lists[0], .input_grad = lists[1], .weight_grad = lists[2], .p2p = lists[3]};
        costs.is_blocking = trial % 5 == 0;
        ms_search_spec spec = {.pipeline_ranks = p,
                               .chunks = 2,
                               .microbatches = (int)ms_random_range(&random, 1, 10),
                               .memory_cap = (int)ms_random_range(&random, 2, 2 * p + 3),
                               .effort = 400};
        ms_search_result result = search(&f, &spec, &costs);
        cr_assert_eq(ms_program_check(&result.program, &f.diag), MS_OK, "MS_SEED=%llu: %s",
                     (unsigned long long)seed, ms_buffer_text(&f.talk));
        ms_schedule_result found = fixture_evaluate(&f, &result.program, &costs);
        cr_assert_float_eq(found.max_span, result.span, 1e-9);
        cr_assert_float_eq(found.makespan, result.makespan, 1e-9);
        cr_assert_eq(peak_of(&found, p), result.peak_inflight);
        cr_assert_leq(result.peak_inflight, spec.memory_cap);
        cr_assert(result.span >= result.bound - 1e-9, "MS_SEED=%llu", (unsigned long long)seed);
        cr_assert(result.span <= result.heuristic_span + 1e-9);
        cr_assert_eq(result.is_optimal, result.span <= result.bound + 1e-9 * (1 + result.bound));
        cr_assert_geq(best_pattern(&f, &spec, &costs), result.bound - 1e-9);
        cr_assert_eq(result.program.stage_rank[2 * p - 1], 0, "a V");
        fixture_release(&f);
    }
}

/* The same twice, to the byte. */
Test(schedule_search_v, is_deterministic) {
    fixture f;
    fixture_init(&f);
    ms_schedule_costs costs =
        v_costs(&f, 4, (const double[]){1, 1.3, 0.7, 0.05}, (const double[]){1.5, 1.8});
    ms_search_spec spec = {
        .pipeline_ranks = 4, .chunks = 2, .microbatches = 9, .memory_cap = 7, .effort = 2000};
    ms_search_result one = search(&f, &spec, &costs);
    ms_search_result other = search(&f, &spec, &costs);
    cr_assert_eq(ms_program_crc32(&one.program), ms_program_crc32(&other.program));
    cr_assert_eq(one.evaluations, other.evaluations);
    fixture_release(&f);
}

/* One microbatch after the other, by hand: P = 1, cap 2, costs 1, 2, 3 per chunk. W of chunk 1 may
 * not wait for the next microbatch, but all passes follow each other: no idle time. With P = 2 and
 * one microbatch, rank 0 waits for rank 1 to run four passes less what it fills with its own W. */
Test(schedule_search_v, bound_by_hand) {
    fixture f;
    fixture_init(&f);
    int rank = -1;
    ms_schedule_costs costs = v_costs(&f, 1, (const double[]){1, 2, 3, 9}, EVEN_ENDS);
    ms_search_spec spec = {.pipeline_ranks = 1, .chunks = 2, .microbatches = 4, .memory_cap = 2};
    cr_assert_float_eq(ms_schedule_span_bound(&spec, &costs, &rank), 48, 1e-12);
    costs = v_costs(&f, 2, (const double[]){1, 2, 3, 0.5}, EVEN_ENDS);
    spec = (ms_search_spec){.pipeline_ranks = 2, .chunks = 2, .microbatches = 1, .memory_cap = 2};
    /* F F F F, two messages, I of rank 0, two I of rank 1 and two messages, I, W; the W of chunk 1
     * runs meanwhile */
    cr_assert_float_eq(ms_schedule_span_bound(&spec, &costs, &rank), 4 + 1 + 2 + 4 + 1 + 2 + 3,
                       1e-12);
    cr_assert_eq(rank, 0);
    cr_assert_float_eq(search(&f, &spec, &costs).span, 17, 1e-12);
    fixture_release(&f);
}
