#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "schedule_fixture.h"

Test(schedule_program, names_and_kinds_go_both_ways) {
    const char *const *names = ms_schedule_kind_names();
    int count = 0;
    for (; names[count] != NULL; count++) {
        ms_schedule_kind kind;
        cr_assert_eq(ms_schedule_kind_from_name(names[count], &kind), MS_OK);
        cr_assert_eq((int)kind, count);
        cr_assert_str_eq(ms_schedule_kind_name(kind), names[count]);
    }
    cr_assert_eq(count, MS_SCHEDULE_KIND_COUNT);
    ms_schedule_kind kind = MS_SCHEDULE_1F1B;
    cr_assert_eq(ms_schedule_kind_from_name("2f2b", &kind), MS_E_RANGE);
    cr_assert_eq(kind, MS_SCHEDULE_1F1B);
    cr_assert_str_eq(ms_schedule_kind_name((ms_schedule_kind)99), "unknown");
}

Test(schedule_program, loop_placement) {
    fixture f;
    fixture_init(&f);
    ms_program program =
        fixture_build(&f, &(ms_schedule_spec)SPEC(MS_SCHEDULE_INTERLEAVED, 3, 4, 6, 0));
    cr_assert_eq(program.stages, 12);
    for (int stage = 0; stage < 12; stage++) {
        cr_assert_eq(program.stage_rank[stage], stage % 3);
        cr_assert_eq(program.stage_chunk[stage], stage / 3);
    }
    fixture_release(&f);
}

Test(schedule_program, csv_text) {
    fixture f;
    fixture_init(&f);
    ms_buffer text;
    ms_buffer_init(&text);
    ms_program program = fixture_build(&f, &(ms_schedule_spec)SPEC(MS_SCHEDULE_1F1B, 2, 1, 3, 0));
    fixture_write_csv(&f, &program, &text);
    cr_assert_str_eq(ms_buffer_text(&text), "0F0,0F1,0B0,0F2,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n");
    ms_buffer_release(&text);
    ms_buffer_init(&text);
    program = fixture_build(&f, &(ms_schedule_spec)SPEC(MS_SCHEDULE_GPIPE, 1, 1, 11, 0));
    fixture_write_csv(&f, &program, &text);
    cr_assert_not_null(strstr(ms_buffer_text(&text), ",0F9,0F10,0B0,"));
    ms_buffer_release(&text);
    fixture_release(&f);
}

/* What is refused, and the words that must stand in the one message. */
Test(schedule_program, clashing_sizes_are_refused) {
    static const struct {
        ms_schedule_spec spec;
        const char *words;
    } BAD[] = {
        {SPEC(MS_SCHEDULE_1F1B, 0, 1, 4, 0), "at least 1, got '0'"},
        {SPEC(MS_SCHEDULE_1F1B, 4, -1, 4, 0), "at least 1, got '-1'"},
        {SPEC(MS_SCHEDULE_GPIPE, 4, 1, 0, 0), "microbatches M must be at least 1"},
        {SPEC(MS_SCHEDULE_GPIPE, 4, 2, 4, 0), "nearest legal V: 1"},
        {SPEC(MS_SCHEDULE_1F1B, 4, 1, 8, 4), "no groups of microbatches"},
        {SPEC(MS_SCHEDULE_INTERLEAVED, 4, 2, 3, 0), "nearest legal M: 4"},
        {SPEC(MS_SCHEDULE_INTERLEAVED, 4, 2, 8, 3), "nearest legal N: 4"},
        {SPEC(MS_SCHEDULE_INTERLEAVED, 4, 2, 8, 9), "nearest legal N: 8"},
        {SPEC(MS_SCHEDULE_INTERLEAVED, 4, 2, 9, 0), "nearest legal M: 8 or 12"},
        {SPEC(MS_SCHEDULE_INTERLEAVED, 4, 2, 13, 5), "nearest legal M: 10 or 14"},
        {SPEC(MS_SCHEDULE_INTERLEAVED, 4, 2, 8, -2), "got '-2'"},
        {SPEC(MS_SCHEDULE_INTERLEAVED, 2147483647, 2147483647, 2147483647, 0),
         "virtual stages are too many"},
        {SPEC(MS_SCHEDULE_1F1B, 32767, 1, 2147483647, 0), "the limit is 50000000"},
        {SPEC((ms_schedule_kind)77, 2, 1, 2, 0), "unknown schedule kind '77'"},
    };
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        fixture f;
        fixture_init(&f);
        ms_program program = {.stages = -7};
        cr_assert_eq(ms_schedule_build(&BAD[i].spec, &f.arena, &f.diag, &program), MS_E_INPUT,
                     "row %zu", i);
        cr_assert_eq(f.diag.errors, 1, "row %zu", i);
        cr_assert_not_null(strstr(ms_buffer_text(&f.talk), BAD[i].words), "row %zu: %s", i,
                           ms_buffer_text(&f.talk));
        cr_assert_eq(program.stages, -7, "row %zu wrote its output", i);
        fixture_release(&f);
    }
}

Test(schedule_program, running_out_of_memory_is_reported) {
    ms_schedule_spec spec = SPEC(MS_SCHEDULE_INTERLEAVED, 4, 2, 8, 0);
    for (long allocations = 0; allocations < 5; allocations++) {
        fixture f;
        fixture_init(&f);
        ms_arena_fail_after(&f.arena, allocations);
        ms_program program = {.stages = -7};
        cr_assert_eq(ms_schedule_build(&spec, &f.arena, &f.diag, &program), MS_E_NOMEM);
        cr_assert_eq(f.diag.errors, 1);
        cr_assert_eq(program.stages, -7);
        fixture_release(&f);
    }
}

/* Sizes of a random legal schedule. */
static ms_schedule_spec random_spec(ms_random *random) {
    int p = (int)ms_random_range(random, 1, 8);
    int m = (int)ms_random_range(random, 1, 20);
    ms_schedule_kind kind = (ms_schedule_kind)ms_random_range(random, 0, 2);
    if (kind != MS_SCHEDULE_INTERLEAVED) {
        return (ms_schedule_spec)SPEC(kind, p, 1, m, 0);
    }
    int group = p + (int)ms_random_range(random, 0, p);
    int rest = (int)ms_random_range(random, p, group);
    int whole = (int)ms_random_range(random, 1, 3);
    return (ms_schedule_spec)SPEC(kind, p, (int)ms_random_range(random, 1, 4), whole * group + rest,
                                  group);
}

static uint64_t seed_of_run(void) {
    const char *text = getenv("MS_SEED");
    return text == NULL ? 20261121U : strtoull(text, NULL, 0);
}

static double random_cost(ms_random *random) {
    return (double)ms_random_range(random, 0, 64) / 16;
}

/* Random unequal costs. */
static ms_schedule_costs random_costs(fixture *f, ms_random *random, int stages) {
    double *lists[4];
    for (int i = 0; i < 4; i++) {
        lists[i] = MS_NEW(&f->arena, double, stages);
        for (int stage = 0; stage < stages; stage++) {
            lists[i][stage] = random_cost(random);
        }
    }
    return (ms_schedule_costs){
        .forward = lists[0], .input_grad = lists[1], .weight_grad = lists[2], .p2p = lists[3]};
}

static void check_rank_sums(const ms_program *program, const ms_schedule_result *result) {
    for (int r = 0; r < program->spec.pipeline_ranks; r++) {
        const ms_schedule_rank *rank = &result->ranks[r];
        double idle = rank->idle_warmup + rank->idle_steady + rank->idle_cooldown;
        cr_assert_float_eq(rank->busy + idle, result->makespan, 1e-9 * (1 + result->makespan));
        cr_assert(rank->exposed_p2p <= idle + 1e-9);
        cr_assert(rank->span <= result->makespan + 1e-9);
        for (size_t i = program->first[r]; i < program->first[r + 1]; i++) {
            double before = i == program->first[r] ? 0 : result->slots[i - 1].end;
            cr_assert(result->slots[i].start >= before);
        }
    }
}

Test(schedule_program, random_programs_hold_their_invariants) {
    uint64_t seed = seed_of_run();
    ms_random random = {seed};
    for (int trial = 0; trial < 400; trial++) {
        fixture f;
        fixture_init(&f);
        ms_schedule_spec spec = random_spec(&random);
        ms_program program = fixture_build(&f, &spec);
        cr_assert_eq(ms_program_check(&program, &f.diag), MS_OK, "MS_SEED=%llu: %s",
                     (unsigned long long)seed, ms_buffer_text(&f.talk));
        ms_schedule_costs costs = random_costs(&f, &random, program.stages);
        ms_schedule_result result = fixture_evaluate(&f, &program, &costs);
        check_rank_sums(&program, &result);
        if (result.has_formula) {
            cr_assert_float_eq(result.formula_makespan, result.makespan,
                               1e-9 * (1 + result.makespan), "MS_SEED=%llu",
                               (unsigned long long)seed);
        }
        /* a dearer stage or a slower link never makes it faster */
        double *forward = MS_NEW(&f.arena, double, program.stages);
        double *p2p = MS_NEW(&f.arena, double, program.stages);
        for (int stage = 0; stage < program.stages; stage++) {
            forward[stage] = costs.forward[stage] + random_cost(&random);
            p2p[stage] = costs.p2p[stage] + random_cost(&random);
        }
        ms_schedule_costs dearer = costs;
        dearer.forward = forward;
        dearer.p2p = p2p;
        cr_assert(fixture_evaluate(&f, &program, &dearer).makespan >= result.makespan,
                  "MS_SEED=%llu", (unsigned long long)seed);
        fixture_release(&f);
    }
}

Test(schedule_program, peaks_match_their_formulas) {
    for (int p = 1; p <= 6; p++) {
        for (int m = p; m <= 4 * p; m += p) {
            for (int v = 1; v <= 4; v++) {
                fixture f;
                fixture_init(&f);
                ms_schedule_spec spec =
                    SPEC(v == 1 ? MS_SCHEDULE_1F1B : MS_SCHEDULE_INTERLEAVED, p, v, m, 0);
                ms_program program = fixture_build(&f, &spec);
                ms_schedule_costs costs =
                    fixture_even_costs(&f, program.stages, (const double[]){1, 1, 1, 0});
                ms_schedule_result result = fixture_evaluate(&f, &program, &costs);
                for (int r = 0; r < p; r++) {
                    int bound = v == 1 ? p - r : 2 * (p - 1 - r) + (v - 1) * p + 1;
                    int want = v * m < bound ? v * m : bound;
                    cr_assert_eq(result.ranks[r].peak_inflight, want);
                }
                cr_assert_eq(result.messages_total, 2L * m * (p == 1 ? 0 : v * p - 1));
                fixture_release(&f);
            }
        }
    }
}

Test(schedule_program, large_interleaved_is_quick_and_right) {
    fixture f;
    fixture_init(&f);
    ms_program program =
        fixture_build(&f, &(ms_schedule_spec)SPEC(MS_SCHEDULE_INTERLEAVED, 64, 4, 1024, 0));
    ms_schedule_costs costs =
        fixture_even_costs(&f, program.stages, (const double[]){1, 1, 1, 0.5});
    ms_schedule_result result = fixture_evaluate(&f, &program, &costs);
    cr_assert(result.has_formula);
    cr_assert_float_eq(result.makespan, result.formula_makespan, 1e-6);
    cr_assert_float_eq(result.makespan, (4.0 * 1024 + 63) * 3 + 255, 1e-6);
    fixture_release(&f);
}

Test(schedule_program, costs_out_of_range_are_refused) {
    static const double BAD[] = {-1, NAN, INFINITY};
    for (int which = 0; which < 4; which++) {
        for (int i = 0; i < 3; i++) {
            fixture f;
            fixture_init(&f);
            ms_program program =
                fixture_build(&f, &(ms_schedule_spec)SPEC(MS_SCHEDULE_GPIPE, 2, 1, 2, 0));
            double values[4] = {1, 1, 1, 1};
            values[which] = BAD[i];
            ms_schedule_costs costs = fixture_even_costs(&f, 2, values);
            ms_schedule_result result;
            cr_assert_eq(ms_schedule_evaluate(&program, &costs, &f.arena, &f.diag, &result),
                         MS_E_RANGE);
            cr_assert_eq(f.diag.errors, 1);
            fixture_release(&f);
        }
    }
}

/* Units whose F, I, W and B of stage 1 have run: 5, 2, 1 and 3. A whole backward pass has given as
 * many input gradients as I, and as many weight gradients as W. */
Test(schedule_program, passes_that_do_the_same_are_counted_together) {
    static const int RUNS[2 * MS_PASS_COUNT] = {
        9, 9, 9, 9, [MS_PASS_COUNT + MS_PASS_F] = 5, 2, 1, 3,
    };
    static const struct {
        ms_pass pass;
        int at_start, at_end;
    } CASES[] = {{MS_PASS_F, 5, 5}, {MS_PASS_I, 5, 5}, {MS_PASS_W, 4, 4}, {MS_PASS_B, 5, 4}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const ms_action action = {.pass = (uint8_t)CASES[i].pass, .stage = 1};
        cr_assert_eq(ms_action_count_earlier(&action, RUNS, false), CASES[i].at_start, "case %zu",
                     i);
        cr_assert_eq(ms_action_count_earlier(&action, RUNS, true), CASES[i].at_end, "case %zu", i);
    }
}
