/* The algorithm that a workload asks for is the one simulated and named, folded or not. */
#include <math.h>

#include "job_fixture.h"

/* A dense model on two nodes: tp inside them, dp across. */
#define TWO_NODES                                                                                  \
    "platform.nodes=2", "mesh.pp=1", "mesh.dp=4", "mesh.tp=4", "mesh.order=[dp, tp]",              \
        "batch.global=16"

static const ms_coll_row *find_row(const ms_result *result, ms_axis axis) {
    for (int i = 0; i < result->metrics.collective_count; i++) {
        if (result->metrics.collectives[i].axis == axis) {
            return &result->metrics.collectives[i];
        }
    }
    cr_assert_fail("no collective of axis '%s'", ms_axis_name(axis));
    return NULL;
}

static double time_of(const job_fixture *f, const ms_coll_row *row, ms_coll_algorithm algorithm) {
    int gpus[4];
    int members = ms_mesh_members(&f->job.mesh, MS_AXIS_BIT(row->axis), 0, gpus);
    const ms_coll_request request = {.kind = MS_COLL_ALL_REDUCE,
                                     .algorithm = algorithm,
                                     .gpus = gpus,
                                     .members = members,
                                     .size_B = row->size_B};
    ms_arena scratch;
    ms_coll_plan plan;
    double time_s = 0.0;
    ms_arena_init(&scratch);
    cr_assert_eq(ms_coll_plan_build(f->job.platform, &request, &scratch, &plan), MS_OK);
    cr_assert_eq(ms_coll_plan_time(f->job.platform, &plan, &time_s), MS_OK);
    ms_arena_release(&scratch);
    return time_s;
}

static const ms_axis AXES[] = {MS_AXIS_TP, MS_AXIS_DP};

/* expected: [2] of the collectives of each of AXES */
static void check_job(const char *set, const ms_coll_algorithm *expected, bool no_fold,
                      double *step_out) {
    const char *const sets[] = {TWO_NODES, set, NULL};
    job_fixture f;
    const ms_result *result = job_fixture_run(&f, "tiny", sets, "analytic", no_fold);
    for (int i = 0; i < 2; i++) {
        const ms_coll_row *row = find_row(result, AXES[i]);
        cr_assert_eq(row->kind, MS_COLL_ALL_REDUCE);
        cr_assert_eq(row->algorithm, (int)expected[i]);
        double time_s = time_of(&f, row, expected[i]);
        cr_assert_lt(fabs(row->alone_s / time_s - 1.0), 1e-12, "%s: %g s, not %g s",
                     ms_axis_name(AXES[i]), row->alone_s, time_s);
    }
    *step_out = result->metrics.step_time_s;
    job_fixture_release(&f);
}

/* Two stages on each node reduce their gradients through its one NIC, at the same time for half of
 * the later one's, and so each takes more than its time alone: fifths more at least. */
Test(job_algorithms, reductions_of_two_stages_share_a_nic) {
    static const char *const SETS[] = {"platform.nodes=2",
                                       "platform.node.gpus=2",
                                       "platform.node.nics=1",
                                       "mesh.tp=1",
                                       "mesh.order=[dp, pp, tp]",
                                       "model.vocab=0",
                                       "batch.global=4",
                                       "data_parallel.overlap_reduce=false",
                                       NULL};
    job_fixture f;
    const ms_result *result = job_fixture_run(&f, "tiny", SETS, "flow", false);
    const ms_coll_row *row = find_row(result, MS_AXIS_DP);
    cr_assert_gt(row->time_s, 1.4 * row->alone_s, "%g s, alone %g s", row->time_s, row->alone_s);
    job_fixture_release(&f);
}

Test(job_algorithms, what_is_asked_for_is_simulated) {
    static const ms_coll_algorithm RING[] = {MS_ALGORITHM_RING, MS_ALGORITHM_RING};
    static const ms_coll_algorithm TREE[] = {MS_ALGORITHM_TREE, MS_ALGORITHM_TREE};
    /* of two nodes with two NICs each NCCL takes a tree for the gradients: nccl_cases.py */
    static const ms_coll_algorithm AUTO[] = {MS_ALGORITHM_RING, MS_ALGORITHM_TREE};
    double auto_s = 0.0;
    double ring_s = 0.0;
    double tree_s = 0.0;
    double unfolded_s = 0.0;
    check_job("collectives.algorithms.all_reduce=auto", AUTO, false, &auto_s);
    check_job("collectives.algorithms.all_reduce=ring", RING, false, &ring_s);
    check_job("collectives.algorithms.all_reduce=tree", TREE, false, &tree_s);
    check_job("collectives.algorithms.all_reduce=tree", TREE, true, &unfolded_s);
    cr_assert_gt(fabs(tree_s / ring_s - 1.0), 1e-4, "%g s either way", ring_s);
    cr_assert_gt(fabs(tree_s / auto_s - 1.0), 1e-4, "%g s either way", auto_s);
    cr_assert_gt(fabs(ring_s / auto_s - 1.0), 1e-4, "%g s either way", auto_s);
    cr_assert_lt(fabs(tree_s / unfolded_s - 1.0), 1e-12);
}

Test(job_algorithms, words_without_a_row_are_refused) {
    static const char *const SAYS[][2] = {
        {"collectives.algorithms.all_reduce=direct",
         "collectives.algorithms.all_reduce: algorithm 'direct' is not built for all_reduce; "
         "expected auto, ring, tree, nvls, nvls_tree, collnet_direct or "
         "collnet_chain"},
        {"collectives.algorithms.all_gather=tree", "unknown key; the keys here are all_reduce"},
    };
    for (size_t i = 0; i < sizeof SAYS / sizeof SAYS[0]; i++) {
        const char *const sets[] = {SAYS[i][0], NULL};
        job_fixture f;
        cr_assert_eq(job_fixture_load(&f, "tiny", sets, NULL, false), MS_E_INPUT);
        cr_assert_not_null(strstr(ms_buffer_text(&f.messages), SAYS[i][1]), "%s",
                           ms_buffer_text(&f.messages));
        job_fixture_release(&f);
    }
}
