/* Jobs whose passes, messages and collectives are given by hand, on a network where every GPU has
 * a port of its own of 25 GB/s and a message arrives 1 us after its last byte left. Their steps are
 * sums that a reader can check on paper. */
#ifndef MS_HAND_JOB_H
#define MS_HAND_JOB_H

#include <math.h>

#include "estimate/estimate.h"
#include "platform_fixture.h"

enum { HAND_STAGES_MAX = 8, HAND_SEGMENTS_MAX = 32 };

typedef struct hand_job {
    platform_fixture f;
    ms_job job;
    ms_stage_cost stage[HAND_STAGES_MAX];
    ms_segment segments[HAND_SEGMENTS_MAX];
    double optimizer_s[HAND_STAGES_MAX];
    ms_pass_plan before[HAND_STAGES_MAX], after[HAND_STAGES_MAX];
} hand_job;

/* Time of a message on this network. */
static inline double hand_message_s(double bytes) {
    return 1e-6 + bytes / 25e9;
}

/* Time of an all-reduce of `bytes` among two ranks: two steps of half the bytes.  Source: Thakur,
 * Rabenseifner, Gropp, IJHPCA 2005. */
static inline double hand_reduce_s(double bytes) {
    return 2 * (1e-6 + bytes / 2 / 25e9);
}

/* Time of an all-gather whose result has `bytes`, among two ranks. */
static inline double hand_gather_s(double bytes) {
    return 1e-6 + bytes / 2 / 25e9;
}

static inline ms_segment hand_compute(double time_s) {
    return (ms_segment){.layer = -1, .time_s = time_s};
}

static inline ms_segment hand_collective(ms_coll_kind kind, double bytes) {
    return (ms_segment){
        .is_collective = true, .layer = -1, .axis = MS_AXIS_DP, .coll = kind, .coll_B = bytes};
}

/* A job of `pp` x 2 data-parallel ranks without any cost, on a shipped platform with overrides. */
static inline void hand_job_init_on(hand_job *x, const char *platform, const char *overrides,
                                    const ms_schedule_spec *spec) {
    const char *const names[] = {"pp", "dp"};
    memset(x, 0, sizeof *x);
    fixture_platform(&x->f, platform, overrides);
    const int sizes[] = {spec->pipeline_ranks, 2};
    x->job =
        (ms_job){.platform = &x->f.platform, .spec = {.simulation.fidelity = MS_FIDELITY_ANALYTIC}};
    cr_assert_eq(ms_mesh_init(&x->job.mesh, names, sizes, 2, &x->f.diag), MS_OK);
    cr_assert_eq(ms_schedule_build(spec, &x->f.arena, &x->f.diag, &x->job.program), MS_OK, "%s",
                 ms_buffer_text(&x->f.messages));
    cr_assert_leq(x->job.program.model_stages, HAND_STAGES_MAX);
    x->job.costs = (ms_stage_costs){.stages = x->job.program.model_stages,
                                    .stage = x->stage,
                                    .segments = x->segments,
                                    .segment_count = HAND_SEGMENTS_MAX,
                                    .optimizer_s = x->optimizer_s,
                                    .before_update = x->before,
                                    .after_update = x->after};
}

static inline void hand_job_init(hand_job *x, ms_schedule_kind kind, int pp, int microbatches) {
    const ms_schedule_spec spec = {
        .kind = kind, .pipeline_ranks = pp, .microbatches = microbatches};
    hand_job_init_on(x, "flat", "{nodes: 32}", &spec);
}

/* Let segments [first, first + count) be a pass of all stages. */
static inline void hand_job_pass(hand_job *x, ms_pass pass, int first, int count) {
    for (int s = 0; s < x->job.costs.stages; s++) {
        x->stage[s].passes[pass] = (ms_pass_plan){.first = first, .count = count};
    }
}

/* Forward passes of `forward_s`, backward ones of twice that, and messages of `message_B`. */
static inline void hand_job_plain(hand_job *x, double forward_s, double message_B) {
    x->segments[0] = hand_compute(forward_s);
    x->segments[1] = hand_compute(2 * forward_s);
    hand_job_pass(x, MS_PASS_F, 0, 1);
    hand_job_pass(x, MS_PASS_B, 1, 1);
    for (int s = 0; s < x->job.costs.stages; s++) {
        x->stage[s].send_forward_B = s + 1 < x->job.costs.stages ? message_B : 0.0;
        x->stage[s].send_backward_B = s > 0 ? message_B : 0.0;
    }
}

/* The estimate's step, in an arena that is released with the job. */
static inline ms_estimate hand_job_estimate(hand_job *x) {
    ms_estimate estimate;
    cr_assert_eq(ms_job_estimate(&x->job, &x->f.arena, &x->f.diag, &estimate), MS_OK, "%s",
                 ms_buffer_text(&x->f.messages));
    return estimate;
}

/* The step, and the bound that is the same where nothing shares a link. */
static inline void hand_job_expect(hand_job *x, double step_s, const char *what) {
    ms_estimate estimate = hand_job_estimate(x);
    cr_assert_float_eq(estimate.step_s, step_s, 1e-12 * step_s, "%s: %.12g, expected %.12g", what,
                       estimate.step_s, step_s);
    cr_assert_leq(estimate.lower_bound_s, step_s, "%s", what);
    cr_assert_geq(estimate.lower_bound_s, step_s * (1.0 - 2e-9), "%s: bound %.12g of %.12g", what,
                  estimate.lower_bound_s, step_s);
}

static inline void hand_job_release(hand_job *x) {
    fixture_release(&x->f);
}

#endif
