/* A schedule that a test adds by its row runs a whole step, and check foresees its memory. */
#include <math.h>

#include "job_fixture.h"
#include "toy_schedule.h"

static const char *const TWO_STAGES[] = {"mesh.pp=2", "mesh.dp=2", "mesh.tp=2", "model.vocab=0"};
enum { SETS = sizeof TWO_STAGES / sizeof TWO_STAGES[0] };

static const ms_result *run(job_fixture *f, const char *kind) {
    const char *sets[SETS + 2] = {0};
    memcpy(sets, TWO_STAGES, sizeof TWO_STAGES);
    sets[SETS] = kind;
    return job_fixture_run(f, "tiny", sets, "analytic", false);
}

/* One microbatch at a time: while one of two equal stages computes, the other waits; GPipe's
 * microbatches overlap. Activations of one microbatch are kept, of GPipe's all eight. */
Test(job_toy_schedule, runs_a_step) {
    ms_schedule_add_kind(&TOY_SCHEDULE);
    job_fixture toy, gpipe;
    const ms_result *alone = run(&toy, "schedule.kind=one-by-one");
    const ms_result *filled = run(&gpipe, "schedule.kind=gpipe");
    cr_assert_str_eq(toy.job.program.name, "one-by-one");
    cr_assert_gt(alone->metrics.step_time_s, 1.3 * filled->metrics.step_time_s);
    cr_assert_eq(alone->memory[alone->peak_rank].inflight_peak, 1);
    cr_assert_eq(filled->memory[filled->peak_rank].inflight_peak, 8);
    cr_assert_float_eq(8.0 * alone->memory[0].held.activation_B,
                       filled->memory[0].held.activation_B, 0.0);
    ms_estimate estimate;
    cr_assert_eq(ms_job_estimate(&toy.job, &toy.arena, &toy.diag, &estimate), MS_OK);
    cr_assert_eq(estimate.ranks[0].peak_B, alone->memory[0].held.total_B);
    job_fixture_release(&toy);
    job_fixture_release(&gpipe);
    ms_schedule_add_kind(NULL);
}
