#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "schedule_fixture.h"

/* tf, tb, tw, p2p: a dyadic mix, so that sums are exact */
static const double COSTS[][4] = {
    {1, 1, 1, 0},     {1, 1, 1, 0.125}, {1.5, 1.25, 0.75, 0.25}, {2, 1, 0.5, 1.5}, {1, 2, 0, 1},
    {0.5, 3, 1, 0.5}, {1, 1, 1, 8},     {4, 0.25, 0.25, 16},
};

enum { COST_COUNT = sizeof COSTS / sizeof COSTS[0] };

static bool hides(const double costs[4]) {
    return costs[3] <= costs[0] && costs[3] <= costs[1] + costs[2];
}

/* Closed form against evaluation; says whether there was one. */
static bool formula_holds(const ms_schedule_spec *spec, const double costs[4]) {
    fixture f;
    fixture_init(&f);
    ms_program program = fixture_build(&f, spec);
    cr_assert_eq(ms_program_check(&program, &f.diag), MS_OK, "%s", ms_buffer_text(&f.talk));
    ms_schedule_costs spread = fixture_even_costs(&f, program.stages, costs);
    ms_schedule_result result = fixture_evaluate(&f, &program, &spread);
    if (result.has_formula) {
        cr_assert(fabs(result.formula_makespan - result.makespan) <= 1e-9 * result.makespan,
                  "%s P=%d V=%d M=%d N=%d costs %g %g %g %g: closed form %.17g, evaluation %.17g",
                  program.name, spec->pipeline_ranks, spec->chunks, spec->microbatches, spec->group,
                  costs[0], costs[1], costs[2], costs[3], result.formula_makespan, result.makespan);
    }
    bool has_formula = result.has_formula;
    fixture_release(&f);
    return has_formula;
}

Test(schedule_formula, single_stage_schedules_have_one_for_all_sizes_and_latencies) {
    for (int kind = MS_SCHEDULE_GPIPE; kind <= MS_SCHEDULE_1F1B; kind++) {
        for (int p = 1; p <= 9; p++) {
            for (int m = 1; m <= 21; m++) {
                ms_schedule_spec spec = SPEC((ms_schedule_kind)kind, p, 1, m, 0);
                cr_assert(formula_holds(&spec, COSTS[(p * 5 + m) % COST_COUNT]));
            }
        }
    }
}

Test(schedule_formula, interleaved_has_one_for_whole_groups_and_hidden_latency) {
    for (int p = 1; p <= 6; p++) {
        for (int v = 2; v <= 5; v++) {
            for (int groups = 1; groups <= 4; groups++) {
                for (int width = 1; width <= 2; width++) {
                    const double *costs = COSTS[(p + v + groups) % COST_COUNT];
                    ms_schedule_spec spec =
                        SPEC(MS_SCHEDULE_INTERLEAVED, p, v, p * width * groups, p * width);
                    bool is_hidden = hides(costs) || p == 1;
                    cr_assert_eq(formula_holds(&spec, costs), is_hidden, "P=%d V=%d M=%d N=%d", p,
                                 v, spec.microbatches, spec.group);
                }
            }
        }
    }
}

Test(schedule_formula, interleaved_with_one_chunk_is_1f1b) {
    for (int p = 1; p <= 6; p++) {
        for (int m = p; m <= 3 * p; m += p) {
            fixture f;
            fixture_init(&f);
            ms_program one =
                fixture_build(&f, &(ms_schedule_spec)SPEC(MS_SCHEDULE_1F1B, p, 1, m, 0));
            ms_program other =
                fixture_build(&f, &(ms_schedule_spec)SPEC(MS_SCHEDULE_INTERLEAVED, p, 1, m, 0));
            cr_assert_eq(ms_program_crc32(&one), ms_program_crc32(&other));
            fixture_release(&f);
            ms_schedule_spec spec = SPEC(MS_SCHEDULE_INTERLEAVED, p, 1, m, 0);
            cr_assert(formula_holds(&spec, COSTS[6]));
        }
    }
}

Test(schedule_formula, gpipe_has_one_for_unequal_stages_without_latency) {
    const char *text = getenv("MS_SEED");
    uint64_t seed = text == NULL ? 20261121U : strtoull(text, NULL, 0);
    ms_random random = {seed};
    for (int trial = 0; trial < 200; trial++) {
        fixture f;
        fixture_init(&f);
        int p = (int)ms_random_range(&random, 1, 9);
        int m = (int)ms_random_range(&random, 1, 20);
        ms_program program =
            fixture_build(&f, &(ms_schedule_spec)SPEC(MS_SCHEDULE_GPIPE, p, 1, m, 0));
        double lists[3][9];
        for (int i = 0; i < 3 * p; i++) {
            lists[i / p][i % p] = ms_random_unit(&random) * 4;
        }
        double p2p[9] = {0};
        ms_schedule_costs costs = {
            .forward = lists[0], .input_grad = lists[1], .weight_grad = lists[2], .p2p = p2p};
        ms_schedule_result result = fixture_evaluate(&f, &program, &costs);
        cr_assert(result.has_formula);
        cr_assert(fabs(result.formula_makespan - result.makespan) <= 1e-9 * result.makespan,
                  "MS_SEED=%llu P=%d M=%d", (unsigned long long)seed, p, m);
        if (p > 1) {
            p2p[0] = 0.5;
            result = fixture_evaluate(&f, &program, &costs);
            cr_assert_not(result.has_formula);
        }
        fixture_release(&f);
    }
}

/* Bubble fractions printed in textbooks: equal stages, free communication. */
Test(schedule_formula, textbook_bubbles) {
    static const struct {
        int p, v, m;
        double percent, half_unit;
    } BOOK[] = {
        {8, 1, 16, 30, 0.5},     {8, 4, 16, 10, 0.5},     {16, 1, 32, 31.9, 0.05},
        {16, 2, 32, 19.0, 0.05}, {16, 4, 32, 10.5, 0.05}, {16, 1, 64, 19, 0.5},
        {16, 4, 64, 5.5, 0.05},  {16, 4, 128, 3, 0.5},
    };
    for (size_t i = 0; i < sizeof BOOK / sizeof BOOK[0]; i++) {
        fixture f;
        fixture_init(&f);
        ms_schedule_spec spec = SPEC(BOOK[i].v == 1 ? MS_SCHEDULE_1F1B : MS_SCHEDULE_INTERLEAVED,
                                     BOOK[i].p, BOOK[i].v, BOOK[i].m, 0);
        ms_program program = fixture_build(&f, &spec);
        ms_schedule_costs costs = fixture_even_costs(&f, program.stages, COSTS[0]);
        ms_schedule_result result = fixture_evaluate(&f, &program, &costs);
        cr_assert(fabs(100 * result.bubble_fraction - BOOK[i].percent) <= BOOK[i].half_unit + 1e-9,
                  "row %zu: %g", i, result.bubble_fraction);
        fixture_release(&f);
    }
}
