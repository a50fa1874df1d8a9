/* The invariant check must find every kind of damage. */
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "schedule_fixture.h"

static void expect_fault(fixture *f, const ms_program *program, const char *words) {
    f->talk.length = 0;
    f->diag.errors = 0;
    cr_assert_eq(ms_program_check(program, &f->diag), MS_E_INPUT);
    cr_assert_eq(f->diag.errors, 1);
    cr_assert_not_null(strstr(ms_buffer_text(&f->talk), words), "'%s' is not in: %s", words,
                       ms_buffer_text(&f->talk));
}

/* Hand-written lists of two ranks with one stage each. */
static ms_program two_ranks(fixture *f, int microbatches, const ms_action *actions,
                            const size_t *first) {
    ms_program program =
        fixture_build(f, &(ms_schedule_spec)SPEC(MS_SCHEDULE_1F1B, 2, 1, microbatches, 0));
    program.actions = MS_NEW(&f->arena, ms_action, first[2]);
    memcpy(program.actions, actions, first[2] * sizeof *actions);
    memcpy(program.first, first, 3 * sizeof *first);
    return program;
}

Test(schedule_check, split_backwards_are_fine) {
    fixture f;
    fixture_init(&f);
    const ms_action actions[] = {{MS_PASS_F, 0, 0, 0},
                                 {MS_PASS_B, 0, 0, 0},
                                 {MS_PASS_F, 0, 1, 0},
                                 {MS_PASS_I, 0, 1, 0},
                                 {MS_PASS_W, 0, 1, 0}};
    ms_program program = two_ranks(&f, 1, actions, (const size_t[]){0, 2, 5});
    cr_assert_eq(ms_program_check(&program, &f.diag), MS_OK);
    ms_schedule_costs costs = fixture_even_costs(&f, 2, (const double[]){1, 2, 4, 0.5});
    ms_schedule_result result = fixture_evaluate(&f, &program, &costs);
    /* F 0..1, message .5, F 1.5..2.5, I ..4.5, then W ..8.5 beside message and B 5..11 */
    cr_assert_float_eq(result.makespan, 11, 1e-12);
    cr_assert_float_eq(result.slots[4].end, 8.5, 1e-12);
    fixture_release(&f);
}

Test(schedule_check, forms_of_the_same_backward_exclude_each_other) {
    fixture f;
    fixture_init(&f);
    const size_t first[] = {0, 2, 5};
    ms_action actions[] = {{MS_PASS_F, 0, 0, 0},
                           {MS_PASS_B, 0, 0, 0},
                           {MS_PASS_F, 0, 1, 0},
                           {MS_PASS_I, 0, 1, 0},
                           {MS_PASS_B, 0, 1, 0}};
    ms_program program = two_ranks(&f, 1, actions, first);
    expect_fault(&f, &program, "rank 1: '1B0' stands beside the other form");
    program.actions[4].pass = MS_PASS_W;
    program.actions[3].pass = MS_PASS_W;
    expect_fault(&f, &program, "'1W0' comes before its input gradient");
    program.actions[3].pass = MS_PASS_B;
    expect_fault(&f, &program, "'1W0' stands beside the other form");
    program.first[2] = 4;
    cr_assert_eq(ms_program_check(&program, &f.diag), MS_OK);
    program.actions[3].pass = MS_PASS_I;
    expect_fault(&f, &program, "'1W0' is missing");
    fixture_release(&f);
}

Test(schedule_check, actions_that_do_not_exist) {
    fixture f;
    fixture_init(&f);
    ms_program program = fixture_build(&f, &(ms_schedule_spec)SPEC(MS_SCHEDULE_1F1B, 2, 1, 3, 0));
    static const ms_action BAD[] = {
        {MS_PASS_COUNT, 0, 0, 0}, {MS_PASS_F, 0, -1, 0}, {MS_PASS_F, 0, 2, 0},
        {MS_PASS_F, 0, 0, -1},    {MS_PASS_F, 0, 0, 3},
    };
    ms_action kept = program.actions[0];
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        program.actions[0] = BAD[i];
        expect_fault(&f, &program, "no such action");
    }
    program.actions[0] = (ms_action){MS_PASS_F, 0, 1, 0};
    expect_fault(&f, &program, "belongs to rank 1");
    program.actions[0] = (ms_action){MS_PASS_F, 1, 0, 0};
    expect_fault(&f, &program, "overlapped");
    program.actions[0] = kept;
    program.stage_rank[1] = 2;
    expect_fault(&f, &program, "stage 1 is on rank '2'");
    fixture_release(&f);
}

/* Rank 0 wants the gradient of microbatch 0 before it has sent microbatch 1, which rank 1 wants
 * first. */
Test(schedule_check, deadlock_is_shown_as_a_cycle) {
    fixture f;
    fixture_init(&f);
    const ms_action actions[] = {{MS_PASS_F, 0, 0, 0}, {MS_PASS_B, 0, 0, 0}, {MS_PASS_F, 0, 0, 1},
                                 {MS_PASS_B, 0, 0, 1}, {MS_PASS_F, 0, 1, 1}, {MS_PASS_F, 0, 1, 0},
                                 {MS_PASS_B, 0, 1, 0}, {MS_PASS_B, 0, 1, 1}};
    ms_program program = two_ranks(&f, 2, actions, (const size_t[]){0, 4, 8});
    expect_fault(&f, &program,
                 "deadlocks: rank 0 at '0B0' waits for 1B0 of rank 1; rank 1 at '1F1' waits for "
                 "0F1 of rank 0");
    f.diag.errors = 0;
    ms_schedule_costs costs = fixture_even_costs(&f, 2, (const double[]){1, 1, 1, 0});
    ms_schedule_result result = {.makespan = -1};
    cr_assert_eq(ms_schedule_evaluate(&program, &costs, &f.arena, &f.diag, &result), MS_E_INPUT);
    cr_assert_eq(f.diag.errors, 1);
    cr_assert_eq(result.makespan, -1);
    fixture_release(&f);
}

/* Evaluation of a list that was never checked, and lacks an action others wait for. */
Test(schedule_check, missing_producer_is_named_by_the_evaluation) {
    fixture f;
    fixture_init(&f);
    const ms_action actions[] = {{MS_PASS_F, 0, 0, 0}, {MS_PASS_B, 0, 0, 0}, {MS_PASS_F, 0, 1, 0}};
    ms_program program = two_ranks(&f, 1, actions, (const size_t[]){0, 2, 3});
    ms_schedule_costs costs = fixture_even_costs(&f, 2, (const double[]){1, 1, 1, 0});
    ms_schedule_result result;
    cr_assert_eq(ms_schedule_evaluate(&program, &costs, &f.arena, &f.diag, &result), MS_E_INPUT);
    cr_assert_not_null(
        strstr(ms_buffer_text(&f.talk),
               "rank 0 at '0B0' waits for 1B0 of rank 1, whose list ends without it"));
    expect_fault(&f, &program, "rank 1: '1B0' is missing");
    fixture_release(&f);
}

/* Take action `index` out of the lists. */
static void drop(ms_program *program, size_t index) {
    int ranks = program->spec.pipeline_ranks;
    size_t count = program->first[ranks];
    memmove(&program->actions[index], &program->actions[index + 1],
            (count - index - 1) * sizeof program->actions[0]);
    for (int rank = 1; rank <= ranks; rank++) {
        program->first[rank] -= program->first[rank] > index;
    }
}

static void expect_broken(fixture *f, const ms_program *program, const char *how, uint64_t seed) {
    cr_assert_eq(ms_program_check(program, &f->diag), MS_E_INPUT, "%s unseen, MS_SEED=%llu", how,
                 (unsigned long long)seed);
}

Test(schedule_check, every_mutation_is_found) {
    const char *text = getenv("MS_SEED");
    uint64_t seed = text == NULL ? 20261121U : strtoull(text, NULL, 0);
    ms_random random = {seed};
    for (int trial = 0; trial < 300; trial++) {
        fixture f;
        fixture_init(&f);
        int p = (int)ms_random_range(&random, 1, 6);
        int v = (int)ms_random_range(&random, 1, 3);
        int m = p * (int)ms_random_range(&random, 1, 3);
        ms_schedule_kind kind =
            v > 1 ? MS_SCHEDULE_INTERLEAVED : (ms_schedule_kind)ms_random_range(&random, 0, 1);
        ms_program program = fixture_build(&f, &(ms_schedule_spec)SPEC(kind, p, v, m, 0));
        size_t count = program.first[p];
        size_t at = (size_t)ms_random_range(&random, 0, (int64_t)count - 1);
        ms_action kept = program.actions[at];
        /* another microbatch in its place: one action twice, another one missing */
        if (m > 1) {
            program.actions[at].mb = (kept.mb + 1) % m;
            expect_broken(&f, &program, "duplicate", seed);
            program.actions[at] = kept;
        }
        /* forward and backward of the same stage and microbatch change places */
        size_t other = 0;
        while (program.actions[other].stage != kept.stage || program.actions[other].mb != kept.mb ||
               program.actions[other].pass == kept.pass) {
            other++;
        }
        program.actions[at] = program.actions[other];
        program.actions[other] = kept;
        expect_broken(&f, &program, "swap", seed);
        program.actions[other] = program.actions[at];
        program.actions[at] = kept;
        cr_assert_eq(ms_program_check(&program, &f.diag), MS_OK);
        drop(&program, at);
        expect_broken(&f, &program, "drop", seed);
        fixture_release(&f);
    }
}
