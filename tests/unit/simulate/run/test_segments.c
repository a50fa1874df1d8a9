/* What the kinds of segments mean in time: blocking and asynchronous collectives, waits, first and
 * last microbatch, empty passes. */
#include <criterion/criterion.h>
#include <math.h>

#include "platform_fixture.h"
#include "simulate/engine/engine.h"
#include "simulate/lower/lower.h"
#include "simulate/metrics/metrics.h"

enum { SEGMENTS_MAX = 32 };
static const double COMPUTE_S = 1e-3;
/* two GPUs of `flat` exchange this in 1 ms: each sends (n-1)/n of it at 25 GB/s, twice, less 2 us
 * latency */
static const double COLLECTIVE_B = (1e-3 - 2e-6) * 25e9;

typedef struct segments_fixture {
    platform_fixture f;
    ms_job job;
    ms_stage_cost stages[2];
    ms_segment segments[SEGMENTS_MAX];
    double optimizer_s[2];
    ms_pass_plan *after_update; /* NULL: nothing */
    ms_dag dag;
    ms_timeline timeline;
    ms_metrics metrics;
} segments_fixture;

/* Segments that another may wait for. */
static const int PLACES[] = {0, 1, 2, 3};

/* A computation; it waits for segment `after` - 1 of its pass, 0: for none. */
static ms_segment compute(int after) {
    return (ms_segment){.layer = -1,
                        .time_s = COMPUTE_S,
                        .waits = after > 0 ? &PLACES[after - 1] : NULL,
                        .wait_count = after > 0};
}

static ms_segment reduce(bool is_async, ms_when when) {
    return (ms_segment){.is_collective = true,
                        .is_async = is_async,
                        .when = when,
                        .layer = -1,
                        .axis = MS_AXIS_DP,
                        .coll = MS_COLL_ALL_REDUCE,
                        .coll_B = COLLECTIVE_B};
}

/* `stages` pipeline ranks of two replicas; every stage's F is the segments given, its B one
 * computation. */
static void run(segments_fixture *x, int stages, int microbatches, int count) {
    char nodes[32];
    snprintf(nodes, sizeof nodes, "{nodes: %d}", 2 * stages);
    fixture_platform(&x->f, "flat", nodes);
    for (int kind = 0; kind < MS_COLL_COUNT; kind++) {
        x->f.platform.gpu.compute_slowdown[kind] = 1.0;
    }
    x->job = (ms_job){.platform = &x->f.platform, .spec.simulation.fidelity = MS_FIDELITY_FLOW};
    const char *names[] = {"pp", "dp"};
    const int sizes[] = {stages, 2};
    cr_assert_eq(ms_mesh_init(&x->job.mesh, names, sizes, 2, &x->f.diag), MS_OK);
    ms_schedule_spec spec = {.kind = MS_SCHEDULE_GPIPE,
                             .pipeline_ranks = stages,
                             .chunks = 1,
                             .microbatches = microbatches};
    cr_assert_eq(ms_schedule_build(&spec, &x->f.arena, &x->f.diag, &x->job.program), MS_OK);
    x->segments[SEGMENTS_MAX - 1] = compute(0);
    for (int s = 0; s < stages; s++) {
        x->stages[s].passes[MS_PASS_F] = (ms_pass_plan){.first = 0, .count = count};
        x->stages[s].passes[MS_PASS_B] = (ms_pass_plan){.first = SEGMENTS_MAX - 1, .count = 1};
    }
    x->job.costs = (ms_stage_costs){.stages = stages,
                                    .stage = x->stages,
                                    .segments = x->segments,
                                    .segment_count = SEGMENTS_MAX,
                                    .optimizer_s = x->optimizer_s,
                                    .after_update = x->after_update};
    ms_lower_fold fold = {0};
    cr_assert_eq(ms_lower(&x->job, &x->f.diag, &x->dag, &fold), MS_OK, "%s",
                 ms_buffer_text(&x->f.messages));
    cr_assert_eq(ms_engine_run(&x->dag, MS_FIDELITY_ANALYTIC, MS_SOLVER_SIMGRID, &x->f.arena,
                               &x->f.diag, &x->timeline),
                 MS_OK);
    cr_assert_eq(ms_metrics_compute(&x->dag, &x->timeline, &x->f.arena, &x->f.diag, &x->metrics),
                 MS_OK);
}

static void finish(segments_fixture *x) {
    ms_dag_release(&x->dag);
    fixture_release(&x->f);
}

static bool is_about(double value, double expected) {
    return fabs(value - expected) <= 1e-9 * expected;
}

/* F = compute, all-reduce, compute, B = compute: a blocking collective adds its time. */
Test(segments, blocking_collective_holds_up_the_next) {
    segments_fixture x = {0};
    x.segments[0] = compute(0);
    x.segments[1] = reduce(false, MS_WHEN_ALWAYS);
    x.segments[2] = compute(0);
    run(&x, 1, 1, 3);
    cr_assert(is_about(x.timeline.makespan_s, 4e-3), "%.9g", x.timeline.makespan_s);
    cr_assert(is_about(x.metrics.axes[MS_AXIS_DP].exposed_s, 1e-3));
    finish(&x);
}

/* The same collective beside the second computation costs nothing, and moves the same bytes. */
Test(segments, asynchronous_collective_hides) {
    segments_fixture x = {0};
    x.segments[0] = compute(0);
    x.segments[1] = reduce(true, MS_WHEN_ALWAYS);
    x.segments[2] = compute(0);
    x.segments[3] = compute(2);
    run(&x, 1, 1, 4);
    cr_assert(is_about(x.timeline.makespan_s, 4e-3), "%.9g", x.timeline.makespan_s);
    cr_assert(is_about(x.metrics.axes[MS_AXIS_DP].overlapped_s, 1e-3));
    cr_assert(is_about(x.metrics.axes[MS_AXIS_DP].bytes, COLLECTIVE_B));
    finish(&x);
}

/* A segment right behind it that waits for it exposes it again. */
Test(segments, a_wait_right_behind_exposes) {
    segments_fixture x = {0};
    x.segments[0] = compute(0);
    x.segments[1] = reduce(true, MS_WHEN_ALWAYS);
    x.segments[2] = compute(2);
    run(&x, 1, 1, 3);
    cr_assert(is_about(x.timeline.makespan_s, 4e-3), "%.9g", x.timeline.makespan_s);
    cr_assert(is_about(x.metrics.axes[MS_AXIS_DP].exposed_s, 1e-3));
    finish(&x);
}

/* What nothing waits for holds up the optimizer: two collectives behind 2 ms of passes end at 3 ms.
 */
Test(segments, the_optimizer_waits_for_what_is_left) {
    segments_fixture x = {0};
    x.optimizer_s[0] = 1e-3;
    x.segments[0] = compute(0);
    x.segments[1] = reduce(true, MS_WHEN_ALWAYS);
    x.segments[2] = reduce(true, MS_WHEN_ALWAYS);
    run(&x, 1, 1, 3);
    cr_assert(is_about(x.timeline.makespan_s, 4e-3), "%.9g", x.timeline.makespan_s);
    cr_assert(is_about(x.metrics.axes[MS_AXIS_DP].exposed_s, 1e-3));
    cr_assert(is_about(x.metrics.axes[MS_AXIS_DP].overlapped_s, 1e-3));
    finish(&x);
}

/* A segment waits for all that it names, here on two communicators, and what it waited for is not
 * left to the step's end. */
Test(segments, several_waits_end_with_the_last) {
    for (int order = 0; order < 2; order++) {
        segments_fixture x = {0};
        x.segments[0] = reduce(true, MS_WHEN_ALWAYS);
        x.segments[1] = reduce(true, MS_WHEN_ALWAYS);
        x.segments[1 - order].group_axes = MS_AXIS_BIT(MS_AXIS_DP) | MS_AXIS_BIT(MS_AXIS_CP);
        x.segments[order].coll_B = (3e-3 - 2e-6) * 25e9;
        x.segments[2] = compute(0);
        x.segments[3] = compute(1);
        x.segments[3].wait_count = 2;
        run(&x, 1, 1, 4);
        /* 3 ms of the longer one, the segment behind it, B */
        cr_assert(is_about(x.timeline.makespan_s, 5e-3), "%.9g", x.timeline.makespan_s);
        finish(&x);
    }
}

/* On however many communicators: each of 24 is the longest once, and the optimizer waits for it. */
Test(segments, the_optimizer_waits_for_any_number_of_communicators) {
    enum { COUNT = 24 };
    for (int longest = 0; longest < COUNT; longest++) {
        segments_fixture x = {0};
        x.optimizer_s[0] = 1e-3;
        for (int i = 0; i < COUNT; i++) {
            static const ms_axis AXES[] = {MS_AXIS_DP, MS_AXIS_TP, MS_AXIS_EP};
            unsigned others = (i & 1 ? MS_AXIS_BIT(MS_AXIS_TP) : 0) |
                              (i & 2 ? MS_AXIS_BIT(MS_AXIS_CP) : 0) |
                              (i & 4 ? MS_AXIS_BIT(MS_AXIS_EP) : 0);
            x.segments[i] = reduce(true, MS_WHEN_ALWAYS);
            x.segments[i].axis = AXES[i / 8];
            x.segments[i].group_axes = MS_AXIS_BIT(MS_AXIS_DP) | others;
        }
        x.segments[longest].coll_B = (4e-3 - 2e-6) * 25e9;
        run(&x, 1, 1, COUNT);
        cr_assert(is_about(x.timeline.makespan_s, 5e-3), "%d: %.9g", longest,
                  x.timeline.makespan_s);
        finish(&x);
    }
}

/* First and last microbatch only: of five microbatches each pays once. */
Test(segments, first_and_last_microbatch) {
    segments_fixture x = {0};
    x.segments[0] = reduce(false, MS_WHEN_FIRST);
    x.segments[1] = compute(0);
    x.segments[2] = reduce(false, MS_WHEN_LAST);
    run(&x, 1, 5, 3);
    cr_assert(is_about(x.timeline.makespan_s, 12e-3), "%.9g", x.timeline.makespan_s);
    cr_assert(is_about(x.metrics.axes[MS_AXIS_DP].bytes, 2 * COLLECTIVE_B));
    finish(&x);
}

/* An asynchronous gather in front does not take the input's place: the computation still waits for
 * the stage before. */
Test(segments, inputs_gate_the_first_blocking_segment) {
    segments_fixture x = {0};
    x.segments[0] = reduce(true, MS_WHEN_ALWAYS);
    x.segments[1] = compute(1);
    run(&x, 2, 1, 2);
    /* stage 0: gather, F; message; stage 1: F, B; message; stage 0: B */
    cr_assert(is_about(x.timeline.makespan_s, 5e-3 + 2e-6), "%.9g", x.timeline.makespan_s);
    finish(&x);
}

/* A stage without any work passes its input on. */
Test(segments, empty_pass_passes_on) {
    segments_fixture x = {0};
    run(&x, 2, 1, 0);
    cr_assert(is_about(x.timeline.makespan_s, 2e-3 + 2e-6), "%.9g", x.timeline.makespan_s);
    finish(&x);
}

/* Without an optimizer the step still ends after what is outstanding, and a gather behind it waits.
 */
Test(segments, what_is_left_is_joined_without_an_optimizer) {
    segments_fixture x = {0};
    ms_pass_plan gather = {.first = 4, .count = 1};
    x.segments[0] = compute(0);
    x.segments[1] = reduce(true, MS_WHEN_ALWAYS);
    x.segments[2] = reduce(true, MS_WHEN_ALWAYS);
    x.segments[4] = reduce(false, MS_WHEN_ALWAYS);
    x.segments[4].group_axes = MS_AXIS_BIT(MS_AXIS_DP) | MS_AXIS_BIT(MS_AXIS_CP);
    x.after_update = &gather;
    run(&x, 1, 1, 3);
    cr_assert(is_about(x.timeline.makespan_s, 4e-3), "%.9g", x.timeline.makespan_s);
    finish(&x);
}
