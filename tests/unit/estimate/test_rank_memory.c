/* The memory model, by hand and against the kinds' known numbers of microbatches in flight. */
#include "estimate/rank_memory.h"
#include "schedule_fixture.h"

static const ms_stage_memory MEMORY = {.parameter_B = 100.0,
                                       .gradient_B = 200.0,
                                       .optimizer_B = 600.0,
                                       .activation_B = 10.0,
                                       .working_B = 3.0,
                                       .transformer_B = 700.0,
                                       .round_B = 40.0,
                                       .unsharded_B = 1000.0};

enum { STAGES = 16 };

/* Costs of equal stages, of which only the memory is set. */
static ms_stage_costs even_costs(fixture *f, int slices) {
    ms_stage_costs costs = {.stages = STAGES, .slices = slices};
    costs.stage = MS_NEW(&f->arena, ms_stage_cost, STAGES * slices);
    cr_assert_not_null(costs.stage);
    for (int i = 0; i < STAGES * slices; i++) {
        costs.stage[i].memory = MEMORY;
    }
    return costs;
}

static ms_memory_model make_model(fixture *f, const ms_program *program,
                                  const ms_stage_costs *costs) {
    ms_memory_model model;
    cr_assert_eq(ms_memory_model_init(program, costs, &f->arena, &model), MS_OK);
    return model;
}

static ms_held_memory peak_of(fixture *f, ms_memory_model *model, int rank) {
    ms_memory_moments moments;
    cr_assert_eq(ms_memory_moments_find(model, &f->arena, &moments), MS_OK);
    return ms_memory_model_peak(model, &moments, rank);
}

/* One action after the other: working memory as long as it runs, activations from F to W, whole
 * gradients of a round from the first W to the last one. */
Test(rank_memory, actions_allocate_and_free) {
    fixture f;
    fixture_init(&f);
    ms_schedule_spec spec = SPEC(MS_SCHEDULE_ZBH1, 1, 1, 2, 0);
    ms_program program = fixture_build(&f, &spec);
    program.round = 2;
    ms_stage_costs costs = even_costs(&f, 1);
    costs.allocator_overhead = 0.5;
    ms_memory_model model = make_model(&f, &program, &costs);
    static const struct {
        ms_action action;
        double while_B, after_B; /* beside 900 of states */
    } STEPS[] = {
        {{.pass = MS_PASS_F, .mb = 0}, 1.5 * 13, 1.5 * 10},
        {{.pass = MS_PASS_F, .mb = 1}, 1.5 * 23, 1.5 * 20},
        {{.pass = MS_PASS_I, .mb = 0}, 1.5 * 23, 1.5 * 20},
        {{.pass = MS_PASS_W, .mb = 0}, 1.5 * 23 + 40, 1.5 * 10 + 40},
        {{.pass = MS_PASS_I, .mb = 1}, 1.5 * 13 + 40, 1.5 * 10 + 40},
        {{.pass = MS_PASS_W, .mb = 1}, 1.5 * 13 + 40, 0},
    };
    ms_memory_model_set_rank(&model, 0);
    for (size_t i = 0; i < sizeof STEPS / sizeof STEPS[0]; i++) {
        ms_memory_model_start(&model, &STEPS[i].action);
        cr_assert_float_eq(ms_memory_model_weigh(&model).total_B, 900 + STEPS[i].while_B, 1e-9,
                           "while %zu", i);
        ms_memory_model_end(&model, &STEPS[i].action);
        cr_assert_float_eq(ms_memory_model_weigh(&model).total_B, 900 + STEPS[i].after_B, 1e-9,
                           "after %zu", i);
    }
    /* the list itself has F I W of one microbatch after the other */
    ms_held_memory peak = peak_of(&f, &model, 0);
    cr_assert_float_eq(peak.total_B, 900 + 1.5 * 13 + 40, 1e-9);
    cr_assert_float_eq(peak.other_B, 0.5 * 13, 1e-9);
    cr_assert_eq(peak.inflight, 1);
    fixture_release(&f);
}

/* A rank has the workspaces once, and the buffers of the stage with most, all the time. */
Test(rank_memory, stages_share_what_the_framework_holds) {
    fixture f;
    fixture_init(&f);
    ms_schedule_spec spec = SPEC(MS_SCHEDULE_INTERLEAVED, 2, 2, 2, 0);
    ms_program program = fixture_build(&f, &spec);
    ms_stage_costs costs = even_costs(&f, 1);
    costs.workspace_B = 50.0;
    costs.stage[1].memory.framework_B = 5.0;
    costs.stage[3].memory.framework_B = 7.0;
    ms_memory_model model = make_model(&f, &program, &costs);
    ms_held_memory first = peak_of(&f, &model, 0), last = peak_of(&f, &model, 1);
    cr_assert_eq(first.framework_B, 50.0);
    cr_assert_eq(last.framework_B, 57.0);
    cr_assert_eq(last.other_B, 57.0);
    ms_memory_model_set_rank(&model, 1);
    cr_assert_float_eq(ms_memory_model_weigh(&model).total_B, 2 * 900.0 + 57, 1e-9);
    fixture_release(&f);
}

/* Three stages at a time are whole; a rank that has three of its eight holds three. */
Test(rank_memory, unsharded_stages_are_whole) {
    fixture f;
    fixture_init(&f);
    ms_schedule_spec spec = SPEC(MS_SCHEDULE_LOOPED_BFS, 2, 8, 4, 0);
    ms_program program = fixture_build(&f, &spec);
    ms_stage_costs costs = even_costs(&f, 1);
    ms_memory_model model = make_model(&f, &program, &costs);
    double sharded_B = peak_of(&f, &model, 1).parameter_B;
    cr_assert_float_eq(sharded_B, 8 * 100.0, 1e-9);
    for (int active = 1; active <= 3; active++) {
        cr_assert_eq(ms_program_place_unshards(&program, active, &f.arena, &f.diag), MS_OK);
        double parameter_B = peak_of(&f, &model, 1).parameter_B;
        cr_assert_float_eq(parameter_B, sharded_B + active * 1000.0, 1e-9, "%d: %g", active,
                           parameter_B);
    }
    fixture_release(&f);
}

/* Each slice of a sequence keeps what its own stage costs say. */
Test(rank_memory, slices_keep_their_own) {
    fixture f;
    fixture_init(&f);
    ms_schedule_spec spec = SPEC(MS_SCHEDULE_SEQ1F1B, 1, 1, 1, 0);
    spec.slices = 2;
    ms_program program = fixture_build(&f, &spec);
    ms_stage_costs costs = even_costs(&f, 2);
    costs.stages = 1;
    costs.stage[1].memory = (ms_stage_memory){.activation_B = 70.0, .working_B = 7.0};
    ms_memory_model model = make_model(&f, &program, &costs);
    ms_held_memory peak = peak_of(&f, &model, 0);
    cr_assert_float_eq(peak.activation_B, 80.0, 1e-9);
    cr_assert_float_eq(peak.buffer_B, 7.0, 1e-9);
    cr_assert_float_eq(peak.parameter_B, 100.0, 1e-9, "states are the whole stage's");
    fixture_release(&f);
}

/* In flight as the evaluation on paper counts it, for every kind; a pair's passes are under way
 * together. */
Test(rank_memory, in_flight_is_the_schedules) {
    fixture f;
    fixture_init(&f);
    ms_stage_costs costs = even_costs(&f, 2);
    for (int kind = 0; kind < MS_SCHEDULE_KIND_COUNT; kind++) {
        int chunks = ms_schedule_kind_traits((ms_schedule_kind)kind).chunks;
        ms_schedule_spec spec = SPEC((ms_schedule_kind)kind, 4, chunks == 0 ? 2 : chunks, 16, 0);
        ms_program program = fixture_build(&f, &spec);
        costs.stages = program.model_stages;
        ms_memory_model model = make_model(&f, &program, &costs);
        ms_schedule_costs times = fixture_even_costs(&f, STAGES, (double[4]){1, 1, 1, 0});
        ms_schedule_result result = fixture_evaluate(&f, &program, &times);
        for (int rank = 0; rank < 4; rank++) {
            ms_held_memory peak = peak_of(&f, &model, rank);
            int inflight = result.ranks[rank].peak_inflight;
            cr_assert_eq(peak.inflight, inflight, "%s rank %d: %d, on paper %d", program.name, rank,
                         peak.inflight, inflight);
            int running = ms_program_has_pairs(&program) ? 2 : 1;
            cr_assert_leq(peak.buffer_B, 3.0 * running);
        }
    }
    fixture_release(&f);
}
