/* Every axis pays its own collective on its own tier; folding agrees with simulating every rank. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>

#include "job_fixture.h"
#include "simulate/lower/lower.h"

static double apart(double a, double b) {
    return fabs(a - b) / fmax(fabs(b), 1e-300);
}

/* Mean time of the first collective of an axis. */
static double collective_time_s(const ms_result *r, ms_axis axis) {
    for (int i = 0; i < r->metrics.collective_count; i++) {
        if (r->metrics.collectives[i].axis == axis) {
            return r->metrics.collectives[i].time_s;
        }
    }
    return -1.0;
}

#define NO_LATENCY                                                                                 \
    "platform.library=none", "platform.tiers.nvlink.latency=0 s",                                  \
        "platform.tiers.rail.latency=0 s", "platform.tiers.spine.latency=0 s"

/* With tp across nodes its collectives slow down by the ratio of the bandwidths, and the axis order
 * shows it in exposed_tp. */
Test(job_axes, tp_across_nodes_slows_by_the_bandwidth_ratio) {
    const char *inside_sets[] = {
        "platform.nodes=2",        "mesh.tp=2",       "mesh.dp=8", "mesh.pp=1",
        "mesh.order=[dp, pp, tp]", "batch.global=16", NO_LATENCY,  NULL};
    const char *across_sets[] = {
        "platform.nodes=2",        "mesh.tp=2",       "mesh.dp=8", "mesh.pp=1",
        "mesh.order=[tp, pp, dp]", "batch.global=16", NO_LATENCY,  NULL};
    job_fixture a;
    job_fixture b;
    const ms_result *inside = job_fixture_run(&a, "tiny", inside_sets, "analytic", false);
    const ms_result *across = job_fixture_run(&b, "tiny", across_sets, "analytic", false);
    double ratio = (300e9 * 0.803) / (25e9 * 0.92);
    cr_assert_lt(
        apart(collective_time_s(across, MS_AXIS_TP) / collective_time_s(inside, MS_AXIS_TP), ratio),
        1e-9);
    double inside_s = inside->metrics.share[MS_TIME_EXPOSED_TP] * inside->metrics.step_time_s;
    double across_s = across->metrics.share[MS_TIME_EXPOSED_TP] * across->metrics.step_time_s;
    cr_assert_lt(apart(across_s / inside_s, ratio), 1e-9, "%g", across_s / inside_s);
    cr_assert_lt(
        apart(across->metrics.axes[MS_AXIS_TP].bytes, inside->metrics.axes[MS_AXIS_TP].bytes),
        1e-12, "bytes do not depend on the order");
    job_fixture_release(&a);
    job_fixture_release(&b);
}

/* Bytes a rank sends per step, from the shapes: tiny has 8 layers of hidden 1024 at sequence 1024
 * in bf16. */
Test(job_axes, bytes_per_rank_follow_the_closed_forms) {
    job_fixture f;
    const ms_result *r = job_fixture_run(&f, "tiny", NULL, "analytic", false);
    const double boundary_B = 1024.0 * 1024 * 2;
    const double microbatches = 8;
    /* per pipeline rank 4 layers, 4 all-reduces a layer and microbatch, each sends 2(n-1)/n of its
     * size; embedding and loss add theirs */
    double layers_B = 4 * 4 * microbatches * boundary_B;
    cr_assert_geq(r->metrics.axes[MS_AXIS_TP].bytes, layers_B);
    cr_assert_leq(r->metrics.axes[MS_AXIS_TP].bytes, 1.2 * layers_B);
    /* one boundary each way between two stages: each rank sends one tensor per microbatch; the tied
     * embedding's gradient is reduced too */
    double tied_B = f.job.costs.stage[0].tied_B;
    cr_assert_lt(apart(r->metrics.axes[MS_AXIS_PP].bytes, microbatches * boundary_B + tied_B),
                 1e-12);
    /* dp all-reduce over 2: every rank sends its gradient bytes once */
    const ms_stage_cost *stage = f.job.costs.stage;
    double gradient_B = 0.5 * (stage[0].memory.gradient_B + stage[1].memory.gradient_B);
    cr_assert_lt(apart(r->metrics.axes[MS_AXIS_DP].bytes, gradient_B), 1e-12);
    job_fixture_release(&f);
}

/* ZeRO-1 moves what an all-reduce moves when gradients and parameters have the same width. */
Test(job_axes, zero_1_moves_the_bytes_of_an_all_reduce) {
    const char *plain_sets[] = {"precision.gradients=bf16", NULL};
    const char *zero_sets[] = {"precision.gradients=bf16", "data_parallel.zero=1", NULL};
    job_fixture a;
    job_fixture b;
    const ms_result *plain = job_fixture_run(&a, "tiny", plain_sets, "analytic", false);
    const ms_result *zero = job_fixture_run(&b, "tiny", zero_sets, "analytic", false);
    cr_assert_lt(apart(zero->metrics.axes[MS_AXIS_DP].bytes, plain->metrics.axes[MS_AXIS_DP].bytes),
                 1e-12);
    cr_assert_lt(zero->memory[0].held.optimizer_B, 0.51 * plain->memory[0].held.optimizer_B);
    job_fixture_release(&a);
    job_fixture_release(&b);
}

/* Where all ranks of a class are alike, one stands for all of them exactly. */
static const char *const FOLD_CASES[][6] = {
    {NULL},
    {"platform.nodes=2", "mesh.dp=4", "batch.global=32", NULL},
    {"platform.nodes=2", "mesh.pp=4", "schedule.kind=interleaved", "schedule.v=2", NULL},
    {"platform.nodes=4", "mesh.tp=4", "mesh.dp=4", "batch.global=32", NULL},
    {"mesh.pp=1", "mesh.dp=4", "data_parallel.zero=1", NULL},
    {"platform.nodes=2", "mesh.tp=1", "mesh.dp=8", "batch.global=64", "schedule.kind=gpipe", NULL},
};

ParameterizedTestParameters(job_axes, folded_equals_unfolded) {
    static int indices[sizeof FOLD_CASES / sizeof FOLD_CASES[0]];
    for (int i = 0; i < (int)(sizeof FOLD_CASES / sizeof FOLD_CASES[0]); i++) {
        indices[i] = i;
    }
    return cr_make_param_array(int, indices, sizeof FOLD_CASES / sizeof FOLD_CASES[0]);
}

/* What case 3 waits for and the closed form does not have: on their way to the first stage the last
 * message's 2 MiB share a NIC with the tree of the gradients, which crosses it twice.  A third of
 * its 23 GB/s is left, and so they take two times their time more. */
static double shared_s(int index) {
    return index == 3 ? 2.0 * 2097152.0 / 23e9 : 0.0;
}

ParameterizedTest(int *index, job_axes, folded_equals_unfolded) {
    job_fixture a;
    job_fixture b;
    job_fixture c;
    const ms_result *folded = job_fixture_run(&a, "tiny", FOLD_CASES[*index], "analytic", false);
    const ms_result *every = job_fixture_run(&b, "tiny", FOLD_CASES[*index], "flow", true);
    const ms_result *flow = job_fixture_run(&c, "tiny", FOLD_CASES[*index], "flow", false);
    cr_assert_eq(every->dag.rank_count, b.job.mesh.ranks);
    cr_assert_eq(folded->dag.rank_count, a.job.layout.pp);
    cr_assert_eq(flow->dag.rank_count, a.job.layout.pp);
    double alone_s = folded->metrics.step_time_s + shared_s(*index);
    cr_assert_lt(apart(alone_s, every->metrics.step_time_s), *index == 3 ? 1e-9 : 5e-3,
                 "case %d: folded %.9g, every rank %.9g", *index, alone_s,
                 every->metrics.step_time_s);
    cr_assert_lt(apart(flow->metrics.step_time_s, every->metrics.step_time_s), 1e-9,
                 "case %d: folded %.9g, every rank %.9g", *index, flow->metrics.step_time_s,
                 every->metrics.step_time_s);
    for (int axis = MS_AXIS_TP; axis < MS_AXIS_COUNT; axis++) {
        cr_assert_leq(fabs(folded->metrics.axes[axis].bytes - every->metrics.axes[axis].bytes),
                      1e-9 * every->metrics.axes[axis].bytes, "axis %d", axis);
    }
    for (int t = 0; t < a.job.platform->tier_count; t++) {
        double folded_B = folded->tiers[t].bytes;
        double every_B = every->tiers[t].bytes;
        cr_assert_leq(fabs(folded_B - every_B), 1e-9 * every_B, "case %d: %s %g against %g", *index,
                      a.job.platform->tiers[t].name, folded_B, every_B);
    }
    job_fixture_release(&a);
    job_fixture_release(&b);
    job_fixture_release(&c);
}

/* More bandwidth is never slower on these workloads. */
Test(job_axes, twice_the_bandwidth_is_never_slower) {
    const char *faster[] = {"platform.tiers.nvlink.bandwidth=600 GB/s",
                            "platform.tiers.rail.bandwidth=400 Gbit/s", NULL};
    static const char *const NAMES[] = {"tiny", "gpt3-175b-1024", "textbook-70b-64"};
    for (size_t i = 0; i < 3; i++) {
        job_fixture a;
        job_fixture b;
        const ms_result *slow = job_fixture_run(&a, NAMES[i], NULL, "analytic", false);
        const ms_result *fast = job_fixture_run(&b, NAMES[i], faster, "analytic", false);
        cr_assert_leq(fast->metrics.step_time_s, slow->metrics.step_time_s * (1.0 + 1e-12));
        job_fixture_release(&a);
        job_fixture_release(&b);
    }
}

/* Every dependency has a lower index, so the graph is topologically sorted. */
Test(job_axes, the_graph_is_sorted) {
    job_fixture f;
    const ms_result *r = job_fixture_run(&f, "tiny", NULL, "analytic", true);
    for (int32_t i = 0; i < r->dag.op_count; i++) {
        for (int32_t m = r->dag.member_first[i]; m < r->dag.member_first[i + 1]; m++) {
            cr_assert_lt(ms_dag_find_previous(&r->dag, m), i);
            for (int32_t d = r->dag.dep_first[m]; d < r->dag.dep_first[m + 1]; d++) {
                cr_assert_lt(r->dag.deps[d], i);
            }
        }
    }
    job_fixture_release(&f);
}

/* tp beyond the scale-up domain is refused unless the workload says that it is meant. */
Test(job_axes, slow_tp_needs_the_flag) {
    const char *refused[] = {"platform.nodes=2", "mesh.tp=16", "mesh.dp=1", "mesh.pp=1", NULL};
    const char *meant[] = {"platform.nodes=2",
                           "mesh.tp=16",
                           "mesh.dp=1",
                           "mesh.pp=1",
                           "tensor_parallel.allow_slow=true",
                           NULL};
    job_fixture f;
    cr_assert_eq(job_fixture_load(&f, "tiny", refused, NULL, false), MS_E_INPUT);
    cr_assert_not_null(strstr(ms_buffer_text(&f.messages), "16 tensor-parallel ranks"), "%s",
                       ms_buffer_text(&f.messages));
    job_fixture_release(&f);
    cr_assert_eq(job_fixture_load(&f, "tiny", meant, NULL, false), MS_OK, "%s",
                 ms_buffer_text(&f.messages));
    job_fixture_release(&f);
}

/* An axis of size 1 changes nothing wherever it stands, beside another axis with a name of its own
 * too. */
Test(job_axes, an_axis_of_one_changes_nothing) {
    static const char *const ORDERS[] = {"mesh.order=[pp, right, tp, dp]",
                                         "mesh.order=[pp, left, right, tp, dp]",
                                         "mesh.order=[pp, right, left, tp, dp]"};
    double step_s[2][3];
    double bytes[2][3];
    for (int i = 0; i < 6; i++) {
        const char *sets[] = {"mesh.right=2", "mesh.dp=1", i % 3 == 0 ? "steps=1" : "mesh.left=1",
                              ORDERS[i % 3], NULL};
        job_fixture f;
        const ms_result *r = job_fixture_run(&f, "tiny", sets, "analytic", i >= 3);
        step_s[i / 3][i % 3] = r->metrics.step_time_s;
        bytes[i / 3][i % 3] = job_fixture_tier(r, "nvlink")->bytes;
        job_fixture_release(&f);
    }
    for (int i = 1; i < 6; i++) {
        cr_assert_lt(apart(step_s[i / 3][i % 3], step_s[0][0]), 1e-12, "case %d", i);
        cr_assert_lt(apart(bytes[i / 3][i % 3], bytes[0][0]), 1e-12, "case %d", i);
    }
}
