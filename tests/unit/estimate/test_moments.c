/* Moments in which a rank may hold most: few are kept, and they are the right ones. */
#include "estimate/rank_memory.h"
#include "schedule_fixture.h"

enum { STAGES = 16 };

/* Equal stages, of which only the memory is set. */
static ms_stage_costs costs_of(fixture *f, const ms_program *program,
                               const ms_stage_memory *memory) {
    int slices = program->spec.slices > 1 ? program->spec.slices : 1;
    ms_stage_costs costs = {.stages = program->model_stages, .slices = slices};
    costs.stage = MS_NEW(&f->arena, ms_stage_cost, STAGES * slices);
    cr_assert_not_null(costs.stage);
    for (int i = 0; i < STAGES * slices; i++) {
        costs.stage[i].memory = *memory;
    }
    return costs;
}

static ms_memory_moments moments_of(fixture *f, ms_memory_model *model, const ms_program *program,
                                    const ms_stage_costs *costs) {
    ms_memory_moments moments;
    cr_assert_eq(ms_memory_model_init(program, costs, &f->arena, model), MS_OK);
    cr_assert_eq(ms_memory_moments_find(model, &f->arena, &moments), MS_OK);
    return moments;
}

/* Of 1F1B with one stage a rank a moment has two numbers, microbatches kept and passes under way.
 * The one with most kept while a pass runs has as much as any other: rank p keeps P - p. */
Test(moments, of_1f1b_one_is_left_for_each_rank) {
    static const ms_stage_memory MEMORY = {.parameter_B = 100, .activation_B = 10, .working_B = 3};
    fixture f;
    fixture_init(&f);
    ms_schedule_spec spec = SPEC(MS_SCHEDULE_1F1B, 4, 1, 32, 0);
    ms_program program = fixture_build(&f, &spec);
    ms_stage_costs costs = costs_of(&f, &program, &MEMORY);
    ms_memory_model model;
    ms_memory_moments moments = moments_of(&f, &model, &program, &costs);
    for (int p = 0; p < 4; p++) {
        const int *counts = moments.counts + moments.first[p];
        cr_assert_eq(moments.first[p + 1] - moments.first[p], 2, "rank %d: %zu numbers", p,
                     moments.first[p + 1] - moments.first[p]);
        cr_assert_eq(counts[0], 4 - p, "rank %d keeps %d", p, counts[0]);
        cr_assert_eq(counts[1], 1);
        cr_assert_eq(moments.inflight[p], 4 - p);
        cr_assert_float_eq(ms_memory_model_peak(&model, &moments, p).total_B,
                           100 + 10 * (4 - p) + 3, 1e-9);
    }
    cr_assert_float_eq(ms_memory_highest_B(&model, &moments), 143, 1e-9);
    fixture_release(&f);
}

/* A rank that keeps less than the one before holds more where its own stages weigh more. */
Test(moments, a_later_rank_may_weigh_more) {
    static const ms_stage_memory MEMORY = {.parameter_B = 100, .activation_B = 10, .working_B = 3};
    fixture f;
    fixture_init(&f);
    ms_schedule_spec spec = SPEC(MS_SCHEDULE_1F1B, 4, 1, 8, 0);
    ms_program program = fixture_build(&f, &spec);
    ms_stage_costs costs = costs_of(&f, &program, &MEMORY);
    ms_memory_model model;
    costs.stage[2].memory.parameter_B = 200;
    ms_memory_moments moments = moments_of(&f, &model, &program, &costs);
    cr_assert_float_eq(ms_memory_highest_B(&model, &moments), 200 + 2 * 10 + 3, 1e-9);
    costs.stage[2].memory.parameter_B = 100;
    costs.stage[3].memory.activation_B = 1000;
    cr_assert_float_eq(ms_memory_highest_B(&model, &moments), 100 + 1000 + 3, 1e-9);
    fixture_release(&f);
}

/* A chunk that keeps more of one stage and less of another: both moments stay. Two stages on one
 * rank, GPipe order within a microbatch: F0 F1 B1 B0; while F1 runs both are kept. */
Test(moments, of_two_stages_the_heavier_counts) {
    static const ms_stage_memory MEMORY = {.activation_B = 10, .working_B = 3};
    fixture f;
    fixture_init(&f);
    ms_schedule_spec spec = SPEC(MS_SCHEDULE_INTERLEAVED, 1, 2, 1, 0);
    ms_program program = fixture_build(&f, &spec);
    ms_stage_costs costs = costs_of(&f, &program, &MEMORY);
    ms_memory_model model;
    ms_memory_moments moments = moments_of(&f, &model, &program, &costs);
    /* kept 1 1 with F1 or B1 running, and 1 0 with F0 or B0 running: neither has as much of all */
    costs.stage[0].memory.working_B = 5;
    cr_assert_float_eq(ms_memory_model_peak(&model, &moments, 0).total_B, 10 + 10 + 3, 1e-9);
    costs.stage[0].memory.working_B = 50;
    cr_assert_float_eq(ms_memory_model_peak(&model, &moments, 0).total_B, 10 + 50, 1e-9);
    cr_assert_eq(ms_memory_model_peak(&model, &moments, 0).inflight, 2);
    fixture_release(&f);
}

/* Rounds have whole gradients: layers of them and of gathered parameters are told apart. */
Test(moments, shares_of_layers_are_counted) {
    static const ms_stage_memory MEMORY = {.parameter_B = 100,
                                           .gradient_B = 50,
                                           .optimizer_B = 300,
                                           .activation_B = 10,
                                           .transformer_B = 400,
                                           .round_B = 40,
                                           .round_transformer_B = 30,
                                           .unsharded_B = 1000,
                                           .unsharded_transformer_B = 800,
                                           .update_B = 6};
    fixture f;
    fixture_init(&f);
    ms_schedule_spec spec = SPEC(MS_SCHEDULE_LOOPED_BFS, 1, 2, 2, 0);
    ms_program program = fixture_build(&f, &spec);
    program.round = 2;
    ms_stage_costs costs = costs_of(&f, &program, &MEMORY);
    ms_memory_model model;
    cr_assert_eq(ms_memory_model_init(&program, &costs, &f.arena, &model), MS_OK);
    ms_memory_model_set_rank(&model, 0);
    ms_held_memory held = ms_memory_model_weigh(&model);
    cr_assert_float_eq(held.transformer_B, 2 * 400.0, 1e-9);
    cr_assert_float_eq(held.update_B, 2 * 6.0, 1e-9);
    cr_assert_float_eq(ms_held_static_B(&held), 2 * 450.0, 1e-9);
    ms_memory_model_move(&model, &(ms_shard_move){.stage = 1, .is_unshard = true});
    held = ms_memory_model_weigh(&model);
    cr_assert_float_eq(held.parameter_B, 2 * 100.0 + 1000, 1e-9);
    cr_assert_float_eq(held.transformer_B, 2 * 400.0 + 800, 1e-9);
    ms_memory_model_move(&model, &(ms_shard_move){.stage = 1, .is_unshard = false});
    ms_memory_model_start(&model, &(ms_action){.pass = MS_PASS_F, .stage = 0, .mb = 0});
    ms_memory_model_end(&model, &(ms_action){.pass = MS_PASS_F, .stage = 0, .mb = 0});
    ms_memory_model_start(&model, &(ms_action){.pass = MS_PASS_B, .stage = 0, .mb = 0});
    held = ms_memory_model_weigh(&model);
    cr_assert_float_eq(held.gradient_B, 2 * 50.0 + 40, 1e-9);
    cr_assert_float_eq(held.transformer_B, 2 * 400.0 + 30, 1e-9);
    cr_assert_float_eq(held.total_B, 2 * 450.0 + 40 + 10, 1e-9);
    fixture_release(&f);
}
