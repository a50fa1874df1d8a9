/* Which ranks stand for others, counted by hand: a job with one pass of collectives on hand-made
 * clusters. */
#include <math.h>
#include <string.h>

#include "plan_fixture.h"
#include "simulate/lower/lower.h"

static const double SIZE_B = 48e6;

/* A job of one pipeline rank: a forward pass of one all-reduce over each axis asked for. */
typedef struct fold_job {
    platform_fixture f;
    ms_job job;
    ms_segment segments[3];
    ms_stage_cost stage;
    double optimizer_s;
    ms_dag dag;
    ms_lower_fold fold;
} fold_job;

static void init(fold_job *x, const char *platform, const char *overrides, int dp, int tp) {
    static const char *const NAMES[] = {"dp", "tp"};
    const int sizes[] = {dp, tp};
    const ms_schedule_spec spec = {
        .kind = MS_SCHEDULE_GPIPE, .pipeline_ranks = 1, .chunks = 1, .microbatches = 1};
    memset(x, 0, sizeof *x);
    fixture_platform(&x->f, platform, overrides);
    x->job = (ms_job){.platform = &x->f.platform,
                      .spec = {.schedule.step_end = MS_STEP_END_POST_VALIDATION,
                               .simulation.fidelity = MS_FIDELITY_FLOW}};
    cr_assert_eq(ms_mesh_init(&x->job.mesh, NAMES, sizes, 2, &x->f.diag), MS_OK);
    cr_assert_eq(ms_schedule_build(&spec, &x->f.arena, &x->f.diag, &x->job.program), MS_OK);
    x->segments[0] = (ms_segment){.time_s = 1e-3, .layer = -1};
    for (int i = 1; i < 3; i++) {
        x->segments[i] = (ms_segment){.is_collective = true,
                                      .layer = -1,
                                      .axis = i == 1 ? MS_AXIS_TP : MS_AXIS_DP,
                                      .coll = MS_COLL_ALL_REDUCE};
    }
    x->stage.passes[MS_PASS_F] = (ms_pass_plan){.first = 0, .count = 3};
    x->stage.passes[MS_PASS_B] = (ms_pass_plan){.first = 0, .count = 1};
    x->job.costs = (ms_stage_costs){.stages = 1,
                                    .stage = &x->stage,
                                    .segments = x->segments,
                                    .segment_count = 3,
                                    .optimizer_s = &x->optimizer_s};
}

/* Lower it with what the axes send; it must come to so many classes. */
static void expect(fold_job *x, double tp_B, double dp_B, int classes, const char *what) {
    x->segments[1].coll_B = tp_B;
    x->segments[2].coll_B = dp_B;
    cr_assert_eq(ms_lower(&x->job, &x->f.diag, &x->dag, &x->fold), MS_OK, "%s: %s", what,
                 ms_buffer_text(&x->f.messages));
    cr_assert(x->fold.is_exact, "%s", what);
    cr_assert_eq(x->fold.classes, classes, "%s: %d classes", what, x->fold.classes);
    cr_assert_eq(x->dag.rank_count, classes, "%s: %d ranks", what, x->dag.rank_count);
    ms_dag_release(&x->dag);
}

static void release(fold_job *x) {
    fixture_release(&x->f);
}

/* Every GPU has a port of its own: nothing tells ranks apart. Without folding all are simulated. */
Test(lower_fold, ranks_on_one_switch_are_alike) {
    fold_job x;
    init(&x, "flat", NULL, 4, 3);
    expect(&x, SIZE_B, 0, 1, "tp");
    expect(&x, SIZE_B, SIZE_B, 1, "tp and dp");
    x.job.run.no_fold = true;
    expect(&x, SIZE_B, SIZE_B, 12, "all of them");
    release(&x);
}

/* Nodes of eight: tp groups of three are 0 1 2, 3 4 5, 6 7 8 and 9 10 11, of which the third lies
 * on two nodes. Its ranks are one class and the others one. Where messages take the NIC of their
 * destination's rail, the way from 7 to 8 goes through the port of GPU 0, whose group is one more.
 */
Test(lower_fold, groups_across_nodes_are_told_apart) {
    fold_job x;
    init(&x, "dgx-h100", "{library: none, nodes: 2, pxn: false}", 4, 3);
    expect(&x, SIZE_B, 0, 2, "tp");
    release(&x);
    init(&x, "dgx-h100", "{library: none, nodes: 2, pxn: true}", 4, 3);
    expect(&x, SIZE_B, 0, 3, "tp through ports of others");
    x.job.spec.simulation.fidelity = MS_FIDELITY_ANALYTIC;
    expect(&x, SIZE_B, 0, 2, "which is no matter where groups do not meet");
    release(&x);
    init(&x, "dgx-h100", "{library: none, nodes: 2}", 4, 4);
    expect(&x, SIZE_B, 0, 1, "groups of four fit in nodes");
    expect(&x, SIZE_B, SIZE_B, 1, "and their replicas cross alike");
    release(&x);
}

/* Pairs on a ring of GPUs, at distances of one link and of three, equally fast: only the latency
 * of their ways tells them apart. */
Test(lower_fold, latency_tells_groups_apart) {
    static const int NEAR[] = {0, 1, 2, 3, 4, 5, 6, 7}, FAR[] = {0, 1, 2, 5, 3, 4, 6, 7};
    fold_job x;
    init(&x, "tpu-v4", "{nodes: 2, fabric: {shape: [8, 1, 1]}}", 4, 2);
    x.job.spec.simulation.fidelity = MS_FIDELITY_ANALYTIC;
    cr_assert_eq(ms_mesh_set_devices(&x.job.mesh, NEAR, 8, &x.f.arena, &x.f.diag), MS_OK);
    expect(&x, SIZE_B, 0, 1, "all pairs are neighbours");
    cr_assert_eq(ms_mesh_set_devices(&x.job.mesh, FAR, 8, &x.f.arena, &x.f.diag), MS_OK);
    expect(&x, SIZE_B, 0, 2, "2 and 5 are not");
    release(&x);
}

/* A class's work takes what its own groups take. */
Test(lower_fold, works_stand_for_groups_that_take_as_long) {
    fold_job x;
    init(&x, "dgx-h100",
         "{library: none, nodes: 2, tiers: {nvlink: {bandwidth: 100 GB/s, efficiency: 1, latency: "
         "0 s}, rail: {bandwidth: 10 GB/s, efficiency: 1, latency: 0 s}}}",
         4, 3);
    x.segments[1].coll_B = SIZE_B;
    cr_assert_eq(ms_lower(&x.job, &x.f.diag, &x.dag, &x.fold), MS_OK);
    int inside = 0, across = 0;
    for (int32_t i = 0; i < x.dag.work_count; i++) {
        const ms_dag_work *work = &x.dag.works[i];
        double time_s = ms_dag_work_time_s(&x.dag, work, false, NULL);
        if (work->is_communication && time_s > 0.0) {
            bool is_inside = fabs(time_s - 4 / 3.0 * SIZE_B / 100e9) < 1e-12;
            cr_assert(is_inside || fabs(time_s - 4 / 3.0 * SIZE_B / 10e9) < 1e-12, "%g", time_s);
            *(is_inside ? &inside : &across) += work->stands_for;
        }
    }
    cr_assert_eq(inside, 3);
    cr_assert_eq(across, 1);
    ms_dag_release(&x.dag);
    release(&x);
}

/* Rings over ways of 1, 2 and 3 links, and of 2, 3 and 1: the sums of their latencies differ by
 * rounding, which tells no ranks apart. */
Test(lower_fold, rounding_tells_nothing_apart) {
    static const int DEVICES[] = {0, 1, 3, 5, 7, 4};
    fold_job x;
    init(&x, "tpu-v4", "{nodes: 2, fabric: {shape: [8, 1, 1]}, tiers: {ici: {latency: 300 ns}}}", 2,
         3);
    double latency_s[2];
    for (int g = 0; g < 2; g++) {
        const ms_coll_request request = {
            .kind = MS_COLL_ALL_REDUCE, .gpus = DEVICES + 3 * g, .members = 3, .size_B = SIZE_B};
        ms_coll_plan plan;
        cr_assert_eq(ms_coll_plan_build(&x.f.platform, &request, &x.f.arena, &plan), MS_OK);
        latency_s[g] = ms_coll_plan_latency_s(&plan);
    }
    cr_assert_neq(latency_s[0], latency_s[1], "both are %.17g", latency_s[0]);
    cr_assert_float_eq(latency_s[0], latency_s[1], 1e-18);
    x.job.spec.simulation.fidelity = MS_FIDELITY_ANALYTIC;
    cr_assert_eq(ms_mesh_set_devices(&x.job.mesh, DEVICES, 6, &x.f.arena, &x.f.diag), MS_OK);
    expect(&x, SIZE_B, 0, 1, "six alike");
    release(&x);
}

/* Twelve tp groups of five nodes each, of which the seventh has two nodes in one unit of 32 and
 * three in the next. Its ranks on two and on three nodes are told apart, and so are all others by
 * which of these their replica is: four classes. Uplinks of the units have room for all that the
 * NICs below them hold, so that they tell nothing more apart. */
Test(lower_fold, uplinks_with_room_for_their_nics_tell_nothing_apart) {
    fold_job x;
    init(&x, "dgx-h100", "{library: none, nodes: 64, pxn: false}", 12, 40);
    x.segments[1].coll = MS_COLL_ALL_TO_ALL;
    expect(&x, SIZE_B, SIZE_B, 4, "across units");
    release(&x);
}
