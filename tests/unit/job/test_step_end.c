/* What a step's end tells, and in which order. */
#include <string.h>

#include "job/step_end.h"
#include "platform_fixture.h"

/* Two pipeline ranks that hold two stages in two directions, and what each of them does: a
 * collective, one between the directions, another collective, and one more after the update. */
static const ms_segment SEGMENTS[] = {
    {.is_collective = true, .coll_B = 1},
    {.is_collective = true, .coll_B = 2, .is_between_directions = true, .axis = MS_AXIS_DP},
    {.is_collective = true, .coll_B = 3},
    {.is_collective = true, .coll_B = 4},
};

typedef struct step_case {
    platform_fixture f; /* for its diagnostics */
    int stage_rank[4];
    ms_stage_cost stage;
    double optimizer_s[2];
    ms_pass_plan before[2], after[2];
    ms_job job;
    ms_buffer told;
} step_case;

static void begin(step_case *c, int directions) {
    *c = (step_case){.stage_rank = {0, 1, 1, 0},
                     .before = {{.count = 3}, {.count = 3}},
                     .after = {{.first = 3, .count = 1}, {.first = 3, .count = 1}}};
    fixture_init(&c->f);
    ms_buffer_init(&c->told);
    c->job.program = (ms_program){.spec = {.pipeline_ranks = 2},
                                  .stages = 2 * directions,
                                  .model_stages = 2,
                                  .stage_rank = c->stage_rank};
    c->job.costs = (ms_stage_costs){.segments = (ms_segment *)(uintptr_t)SEGMENTS,
                                    .stage = &c->stage,
                                    .optimizer_s = c->optimizer_s,
                                    .before_update = c->before,
                                    .after_update = c->after};
    c->job.mesh.ranks = 2;
}

static void end(step_case *c) {
    ms_buffer_release(&c->told);
    fixture_release(&c->f);
}

static ms_status tell_group(void *context, int p, const ms_segment *segment) {
    ms_buffer_printf(context, "%d:%g ", p, segment->coll_B);
    return segment->coll_B > 4 ? MS_E_INPUT : MS_OK;
}

static ms_status tell_pair(void *context, const int ends[2], ms_axis axis, double size_B) {
    ms_buffer_printf(context, "%d-%d:%s:%g ", ends[0], ends[1], ms_axis_name(axis), size_B);
    return MS_OK;
}

static ms_status tell_meeting(void *context) {
    ms_buffer_puts(context, "meet ");
    return MS_OK;
}

static void tell_update(void *context, int p) {
    ms_buffer_printf(context, "update%d ", p);
}

static const ms_step_end_visitor VISITOR = {tell_group, tell_pair, tell_meeting, tell_update};

static void expect(step_case *c, ms_status status, const char *told) {
    cr_assert_eq(ms_step_end_visit(&c->job, &VISITOR, &c->told, &c->f.diag), status);
    cr_assert_str_eq(ms_buffer_text(&c->told), told);
}

/* Both ranks come to the reduction between the directions before it is made, once. */
Test(step_end, directions_meet) {
    step_case c;
    begin(&c, 2);
    expect(&c, MS_OK, "0:1 1:1 0-1:dp:2 0:3 1:3 update0 update1 0:4 1:4 ");
    end(&c);
}

Test(step_end, tied_embeddings_come_after_all_other_reductions) {
    step_case c;
    begin(&c, 1);
    c.before[0] = c.before[1] = (ms_pass_plan){.first = 2, .count = 1};
    c.stage.tied_B = 8;
    c.optimizer_s[1] = 1;
    expect(&c, MS_OK, "0:3 1:3 0-1:pp:8 meet update0 update1 0:4 1:4 ");
    end(&c);
}

Test(step_end, without_plans_there_are_updates) {
    step_case c;
    begin(&c, 1);
    c.job.costs.before_update = c.job.costs.after_update = NULL;
    expect(&c, MS_OK, "update0 update1 ");
    end(&c);
}

/* An update that takes time, or another step: else nobody waits for the norm. */
Test(step_end, all_ranks_meet_where_something_follows) {
    step_case c;
    begin(&c, 1);
    cr_assert_not(ms_step_end_has_barrier(&c.job));
    c.optimizer_s[1] = 1e-9;
    cr_assert(ms_step_end_has_barrier(&c.job));
    c.optimizer_s[1] = 0;
    c.job.spec.simulation.steps = 2;
    cr_assert(ms_step_end_has_barrier(&c.job));
    c.job.spec.schedule.step_end = MS_STEP_END_POST_VALIDATION;
    cr_assert_not(ms_step_end_has_barrier(&c.job));
    c.job.spec.schedule.step_end = MS_STEP_END_SYNCHRONOUS;
    c.job.mesh.ranks = 1;
    cr_assert_not(ms_step_end_has_barrier(&c.job), "alone");
    end(&c);
}

Test(step_end, faults_end_it) {
    static const ms_segment REFUSED[] = {{.coll_B = 1}, {.coll_B = 5}};
    step_case c;
    begin(&c, 1);
    c.job.costs.segments = (ms_segment *)(uintptr_t)REFUSED;
    c.before[0] = c.before[1] = (ms_pass_plan){.first = 0, .count = 2};
    expect(&c, MS_E_INPUT, "0:1 0:5 ");
    end(&c);
    begin(&c, 2);
    c.before[1].count = 1;
    expect(&c, MS_E_BUG, "0:1 1:1 ");
    cr_assert_not_null(strstr(ms_buffer_text(&c.f.messages), "0 and 1 do not end a step alike"));
    end(&c);
}
