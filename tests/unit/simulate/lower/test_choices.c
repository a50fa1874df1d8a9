/* Groups of one class that choose different algorithms, with different numbers of phases and flows.
 */
#include <math.h>
#include <string.h>

#include "plan_fixture.h"
#include "simulate/lower/lower.h"

enum { TP = 6, DP = 4 };
static const double SIZE_B = 46e6;

/* One pass with one all-reduce over tp. Of its groups of six on nodes of eight GPUs, the first and
 * the last stand on one node, the others on two. */
static void lower(platform_fixture *f, ms_coll_algorithm asked, bool no_fold, ms_dag *dag,
                  ms_lower_fold *fold) {
    ms_job job = {.platform = &f->platform,
                  .spec = {.algorithms = {.of = {[MS_COLL_ALL_REDUCE] = asked}},
                           .schedule.step_end = MS_STEP_END_POST_VALIDATION,
                           .simulation.fidelity = MS_FIDELITY_FLOW},
                  .run.no_fold = no_fold};
    const char *const names[] = {"dp", "tp", "pp"};
    cr_assert_eq(ms_mesh_init(&job.mesh, names, (const int[]){DP, TP, 1}, 3, &f->diag), MS_OK);
    const ms_schedule_spec spec = {
        .kind = MS_SCHEDULE_GPIPE, .pipeline_ranks = 1, .chunks = 1, .microbatches = 1};
    cr_assert_eq(ms_schedule_build(&spec, &f->arena, &f->diag, &job.program), MS_OK);
    ms_segment segments[2] = {{.is_collective = true,
                               .layer = -1,
                               .axis = MS_AXIS_TP,
                               .coll = MS_COLL_ALL_REDUCE,
                               .coll_B = SIZE_B},
                              {.time_s = 1e-3, .layer = -1}};
    double optimizer_s = 0.0;
    ms_stage_cost stage = {
        .passes = {[MS_PASS_F] = {.first = 0, .count = 1}, [MS_PASS_B] = {.first = 1, .count = 1}}};
    job.costs = (ms_stage_costs){.stages = 1,
                                 .stage = &stage,
                                 .segments = segments,
                                 .segment_count = 2,
                                 .optimizer_s = &optimizer_s};
    cr_assert_eq(ms_lower(&job, &f->diag, dag, fold), MS_OK, "%s", ms_buffer_text(&f->messages));
}

/* Time of a group by itself; groups of the same algorithm share no links here. */
static double alone_s(platform_fixture *f, int group, ms_coll_algorithm *algorithm_out) {
    int gpus[TP];
    for (int i = 0; i < TP; i++) {
        gpus[i] = TP * group + i;
    }
    const ms_coll_request request = {
        .kind = MS_COLL_ALL_REDUCE, .gpus = gpus, .members = TP, .size_B = SIZE_B};
    ms_coll_plan plan;
    cr_assert_eq(ms_coll_plan_build(&f->platform, &request, &f->arena, &plan), MS_OK);
    *algorithm_out = plan.algorithm;
    return fixture_plan_time_s(f, &plan);
}

/* Which of the works are communications; returns how many. */
static int list_collectives(const ms_dag *dag, const ms_dag_work **works) {
    int count = 0;
    for (int32_t i = 0; i < dag->work_count; i++) {
        if (dag->works[i].is_communication) {
            works[count++] = &dag->works[i];
        }
    }
    return count;
}

/* Every group is one of those that some work stands for, as it chooses and for as long. */
static void check_groups(const ms_dag *dag, const ms_coll_algorithm *chosen, const double *times_s,
                         bool is_folded, const char *what) {
    const ms_dag_work *works[DP];
    int count = list_collectives(dag, works);
    int groups = 0;
    for (int i = 0; i < count; i++) {
        double time_s = ms_dag_work_time_s(dag, works[i], false, NULL);
        int alike = 0;
        for (int g = 0; g < DP; g++) {
            alike += works[i]->algorithm == chosen[g] && fabs(time_s / times_s[g] - 1.0) < 1e-12;
        }
        cr_assert_geq(alike, works[i]->stands_for, "%s: work %d", what, i);
        groups += works[i]->stands_for;
    }
    cr_assert_eq(groups, DP, "%s", what);
    cr_assert(is_folded ? count <= DP : count == DP, "%s: %d works", what, count);
}

static void check(platform_fixture *f, const char *what) {
    double times_s[DP];
    ms_coll_algorithm chosen[DP];
    for (int g = 0; g < DP; g++) {
        times_s[g] = alone_s(f, g, &chosen[g]);
    }
    cr_assert_neq(chosen[0], chosen[1], "%s", what);
    for (int no_fold = 0; no_fold < 2; no_fold++) {
        ms_dag dag;
        ms_lower_fold fold = {0};
        lower(f, MS_ALGORITHM_AUTO, no_fold, &dag, &fold);
        cr_assert(fold.is_exact, "%s", what);
        check_groups(&dag, chosen, times_s, !no_fold, what);
        ms_dag_release(&dag);
    }
}

Test(choices, groups_of_a_class_choose_for_themselves) {
    static const char *const PLATFORMS[] = {"dgx-a100", "dgx-h100"};
    for (size_t i = 0; i < sizeof PLATFORMS / sizeof PLATFORMS[0]; i++) {
        platform_fixture f;
        fixture_platform(&f, PLATFORMS[i], "nodes: 3");
        check(&f, PLATFORMS[i]);
        fixture_release(&f);
    }
}

/* What a job asks for is laid out in every group, whatever the groups would choose. */
Test(choices, a_job_asks_for_a_tree) {
    platform_fixture f;
    fixture_platform(&f, "dgx-a100", "nodes: 3");
    for (int no_fold = 0; no_fold < 2; no_fold++) {
        const ms_dag_work *works[DP];
        ms_dag dag;
        ms_lower_fold fold = {0};
        lower(&f, MS_ALGORITHM_TREE, no_fold, &dag, &fold);
        int count = list_collectives(&dag, works);
        cr_assert(no_fold ? count == DP : count <= DP);
        for (int i = 0; i < count; i++) {
            cr_assert_eq(works[i]->algorithm, MS_ALGORITHM_TREE);
        }
        ms_dag_release(&dag);
    }
    fixture_release(&f);
}

/* Where what is asked for lays no group out, the job is refused and says what it needs. */
Test(choices, a_job_asks_for_what_does_not_apply) {
    platform_fixture f;
    fixture_platform(&f, "dgx-a100", "nodes: 3");
    ms_dag dag;
    const ms_collective_row row = {.kind = MS_COLL_ALL_REDUCE,
                                   .algorithm = MS_ALGORITHM_NVLS,
                                   .members = 24,
                                   .sizes_B = &SIZE_B,
                                   .count = 1};
    cr_assert_eq(ms_lower_collectives(&f.platform, &row, &f.diag, &dag), MS_E_INPUT);
    cr_assert_not_null(
        strstr(ms_buffer_text(&f.messages),
               "all_reduce among 24 ranks is not laid out; algorithm 'nvls' needs one "
               "node whose NVLink switches reduce"),
        "%s", ms_buffer_text(&f.messages));
    ms_dag_release(&dag);
    fixture_release(&f);
}

/* A collective lasts as long by its plan as in a graph, to the last bit, by every algorithm. */
Test(choices, plan_and_graph_agree_on_times) {
    static const char *const NAMES[] = {"ring", "tree", "direct"};
    platform_fixture f;
    fixture_platform(&f, "dgx-h100", "nodes: 3");
    int gpus[24];
    for (int i = 0; i < 24; i++) {
        gpus[i] = i;
    }
    int found = 0;
    for (ms_coll_kind kind = MS_COLL_P2P; kind < MS_COLL_COUNT; kind++) {
        for (int i = 0; i < 3; i++) {
            ms_coll_request request = {.kind = kind, .gpus = gpus, .size_B = SIZE_B};
            request.members = kind == MS_COLL_P2P ? 2 : 24;
            if (ms_coll_algorithm_read(kind, NAMES[i], &request.algorithm) != MS_OK) {
                continue;
            }
            const ms_collective_row row = {.kind = kind,
                                           .algorithm = request.algorithm,
                                           .members = request.members,
                                           .sizes_B = &SIZE_B,
                                           .count = 1};
            ms_coll_plan plan;
            ms_dag dag;
            cr_assert_eq(ms_coll_plan_build(&f.platform, &request, &f.arena, &plan), MS_OK);
            cr_assert_eq(ms_lower_collectives(&f.platform, &row, &f.diag, &dag), MS_OK);
            for (int is_alone = 0; is_alone < 2; is_alone++) {
                cr_assert_eq(ms_dag_work_time_s(&dag, &dag.works[0], is_alone, NULL),
                             fixture_plan_time_s(&f, &plan), "%s %s", ms_coll_kind_name(kind),
                             NAMES[i]);
            }
            cr_assert_eq(ms_dag_work_latency_s(&dag, &dag.works[0]), ms_coll_plan_latency_s(&plan));
            ms_dag_release(&dag);
            found++;
        }
    }
    cr_assert_eq(found, 7, "rows of the table");
    fixture_release(&f);
}
