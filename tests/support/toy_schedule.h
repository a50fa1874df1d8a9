/* A schedule of a test's own: one microbatch after the other, without a pipeline. It is one row and
 * what the row names; nothing else in the program knows of it. */
#ifndef MS_TOY_SCHEDULE_H
#define MS_TOY_SCHEDULE_H

#include "schedule/internal.h"

static void toy_generate(const ms_schedule_spec *spec, int rank, ms_action_list *list) {
    for (int mb = 0; mb < spec->microbatches; mb++) {
        ms_action_list_add(list, MS_PASS_F, rank, mb);
        ms_action_list_add(list, MS_PASS_B, rank, mb);
    }
}

/* Every microbatch goes all the way down and up again, alone. */
static bool toy_formula(const ms_program *program, const ms_schedule_costs *costs,
                        double *makespan_out) {
    ms_even_costs even;
    if (!ms_schedule_costs_are_even(program, costs, &even)) {
        return false;
    }
    int ranks = program->spec.pipeline_ranks;
    *makespan_out = program->spec.microbatches *
                    (ranks * (even.forward + even.backward) + 2.0 * (ranks - 1) * even.p2p);
    return true;
}

static const ms_schedule_type TOY_SCHEDULE = {
    .name = "one-by-one",
    .passes = 2,
    .directions = 1,
    .chunks = 1,
    .rank_of_stage = ms_stage_rank_loop,
    .generate = toy_generate,
    .formula = toy_formula,
};

#endif
