/* What estimators and lists of moments do with memory: they give all of it back, and say so where
 * there is none. */
#include <malloc.h>

#include "estimate/estimate.h"
#include "estimate/rank_memory.h"
#include "schedule_fixture.h"
#include "spec_fixture.h"

/* Freed blocks that the library of C keeps at hand, at most; a table of a mesh has more. */
enum { CACHED_B = 2048 };

/* Estimates of several meshes, orders and costs, bounds among them.  Returns bytes on the heap that
 * are in use more than before. */
static long bytes_left(const ms_job_spec *tiny) {
    static const ms_schedule_kind KINDS[] = {MS_SCHEDULE_1F1B, MS_SCHEDULE_GPIPE, MS_SCHEDULE_ZBH1};
    ms_arena arena;
    ms_diag mute;
    ms_diag_init_mute(&mute);
    size_t before_B = mallinfo2().uordblks;
    ms_arena_init(&arena);
    ms_estimator *estimator = ms_estimator_new(&arena);
    for (int i = 0; i < 9; i++) {
        ms_job_spec spec = ms_job_spec_derive(tiny);
        ms_spec_estimate found;
        ms_price_use least;
        spec.schedule.kind = KINDS[i % 3];
        spec.mesh.sizes[0] = 1 << i / 3; /* pp */
        spec.mesh.sizes[1] = 8 >> i / 3; /* dp */
        spec.mesh.sizes[2] = 1;
        spec.batch = (ms_spec_batch){.global = 64, .micro = 1};
        cr_assert_eq(ms_estimator_run(estimator, &spec, &mute, &found), MS_OK, "%d", i);
        cr_assert_eq(ms_estimator_bound(estimator, &spec, &mute, &least), MS_OK, "%d", i);
    }
    ms_estimator_free(estimator);
    ms_arena_release(&arena);
    return (long)mallinfo2().uordblks - (long)before_B;
}

Test(estimator_memory, all_of_it_is_given_back) {
    spec_fixture f;
    spec_fixture_init(&f);
    const ms_job_spec tiny = spec_fixture_read(&f, "tiny", NULL, 0);
    bytes_left(&tiny); /* what the library of C keeps for itself */
    long left_B = bytes_left(&tiny);
    cr_assert_lt(left_B, CACHED_B, "%ld bytes", left_B);
    ms_estimator_free(NULL);
    spec_fixture_release(&f);
}

/* Whichever allocation fails: MS_E_NOMEM, and moments as they were. */
Test(estimator_memory, moments_say_that_there_is_none) {
    fixture f;
    fixture_init(&f);
    ms_schedule_spec spec = SPEC(MS_SCHEDULE_1F1B, 4, 1, 8, 0);
    ms_program program = fixture_build(&f, &spec);
    ms_stage_cost stages[4] = {{.layers = 1}};
    const ms_stage_costs costs = {.stages = 4, .stage = stages};
    int failures = 0;
    for (long allowed = 0;; allowed++) {
        ms_arena arena;
        ms_memory_model model;
        ms_memory_moments moments = {.counts = NULL};
        ms_arena_init(&arena);
        cr_assert_eq(ms_memory_model_init(&program, &costs, &f.arena, &model), MS_OK);
        ms_arena_fail_after(&arena, allowed);
        ms_status status = ms_memory_moments_find(&model, &arena, &moments);
        cr_assert(status == MS_OK || status == MS_E_NOMEM);
        cr_assert_eq(moments.counts == NULL, status != MS_OK);
        ms_arena_release(&arena);
        if (status == MS_OK) {
            break;
        }
        failures++;
    }
    cr_assert_geq(failures, 3, "%d", failures);
    fixture_release(&f);
}
