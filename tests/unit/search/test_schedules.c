/* Many schedules in one table, on paper and in a workload: rows are typed, reasons are told. */
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job_fixture.h"
#include "search/schedules.h"
#include "text_file.h"

enum { P = 4, M = 8 };

static const double ONES[P] = {1, 1, 1, 1};
static const double LATENCY[P - 1] = {0.5, 0.25, 0.125};

static ms_schedule_choice kind(ms_schedule_kind kind) {
    return (ms_schedule_choice){.name = ms_schedule_kind_name(kind), .kind = kind};
}

static void evaluate(job_fixture *f, const ms_schedule_choice *choices, size_t count, double cap,
                     ms_paper_row *rows) {
    const ms_schedule_costs costs = {
        .forward = ONES, .input_grad = ONES, .weight_grad = ONES, .p2p = LATENCY};
    const ms_paper_study study = {.choices = choices,
                                  .count = count,
                                  .sizes = {.pipeline_ranks = P, .microbatches = M},
                                  .costs = &costs,
                                  .cap = cap};
    cr_assert_eq(ms_schedules_evaluate(&study, &f->arena, &f->diag, rows), MS_OK, "%s",
                 ms_buffer_text(&f->messages));
}

/* With one stage per rank a P-th of the model is a stage, so a row is the schedule by itself. */
Test(schedules, on_paper_as_one_by_one) {
    job_fixture f;
    job_fixture_init(&f);
    ms_dag_init(&f.result.dag);
    const ms_schedule_choice choices[] = {kind(MS_SCHEDULE_1F1B), kind(MS_SCHEDULE_ZBV)};
    ms_paper_row rows[2];
    evaluate(&f, choices, 2, 0, rows);
    const ms_schedule_costs costs = {
        .forward = ONES, .input_grad = ONES, .weight_grad = ONES, .p2p = LATENCY};
    const ms_schedule_spec spec = {
        .kind = MS_SCHEDULE_1F1B, .pipeline_ranks = P, .microbatches = M};
    ms_program program;
    ms_schedule_result result;
    cr_assert_eq(ms_schedule_build(&spec, &f.arena, &f.diag, &program), MS_OK);
    cr_assert_eq(ms_schedule_evaluate(&program, &costs, &f.arena, &f.diag, &result), MS_OK);
    cr_assert_eq(rows[0].makespan, result.makespan);
    cr_assert_eq(rows[0].peak_inflight, P);
    cr_assert_eq(rows[0].messages, 2 * (P - 1) * M);
    cr_assert(isnan(rows[0].work) != isnan(rows[0].closed_form));
    /* two stages per rank, each half a P-th: as much work, less waiting */
    cr_assert_eq(rows[1].chunks, 2);
    cr_assert_lt(rows[1].rank_makespan, rows[0].rank_makespan);
    cr_assert_eq(rows[0].rank_makespan, rows[0].makespan);
    cr_assert_eq(rows[1].makespan, 2 * rows[1].rank_makespan, "in times of half as much");
    cr_assert_eq(rows[1].share, 0.5);
    job_fixture_release(&f);
}

Test(schedules, what_does_not_go_has_a_reason) {
    job_fixture f;
    job_fixture_init(&f);
    ms_dag_init(&f.result.dag);
    const ms_schedule_choice choices[] = {kind(MS_SCHEDULE_GPIPE), kind(MS_SCHEDULE_1F1B),
                                          kind(MS_SCHEDULE_DUALPIPE)};
    ms_paper_row rows[3];
    evaluate(&f, choices, 3, 4, rows);
    cr_assert_str_eq(rows[0].reason, "needs 8 in flight, above the cap of 4");
    cr_assert_null(rows[1].reason);
    cr_assert_not_null(rows[2].reason);
    cr_assert_str_eq(ms_buffer_text(&f.messages), "", "a reason is no fault");
    job_fixture_release(&f);
}

Test(schedules, faults_of_a_file_end_it) {
    job_fixture f;
    job_fixture_init(&f);
    ms_dag_init(&f.result.dag);
    const ms_schedule_choice missing = {
        .name = "csv:/nowhere", .file = "/nowhere", .kind = MS_SCHEDULE_CUSTOM};
    ms_paper_row row;
    const ms_paper_study study = {.choices = &missing, .count = 1};
    cr_assert_neq(ms_schedules_evaluate(&study, &f.arena, &f.diag, &row), MS_OK);
    cr_assert_eq(f.diag.errors, 1);
    job_fixture_release(&f);
}

/* What the user gives stays; the first file fills in the rest, and without one it stays open. */
Test(schedules, sizes_that_are_open_come_from_a_file) {
    job_fixture f;
    job_fixture_init(&f);
    ms_dag_init(&f.result.dag);
    char folder[] = "/tmp/meshsim-sizes-XXXXXX";
    char path[64];
    cr_assert_not_null(mkdtemp(folder));
    write_text(folder, "own.csv", "0F0,0F1,0F2,0B0,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n");
    snprintf(path, sizeof path, "%s/own.csv", folder);
    const ms_schedule_choice choices[] = {
        kind(MS_SCHEDULE_1F1B), {.name = "csv:own.csv", .file = path, .kind = MS_SCHEDULE_CUSTOM}};
    ms_paper_study study = {.choices = choices, .count = 1};
    cr_assert_eq(ms_paper_sizes_from_file(&study, &f.arena, &f.diag), MS_OK);
    cr_assert_eq(study.sizes.pipeline_ranks, 0, "no file");
    study.count = 2;
    study.sizes.microbatches = 5;
    cr_assert_eq(ms_paper_sizes_from_file(&study, &f.arena, &f.diag), MS_OK, "%s",
                 ms_buffer_text(&f.messages));
    cr_assert_eq(study.sizes.pipeline_ranks, 2);
    cr_assert_eq(study.sizes.microbatches, 5);
    study.sizes.microbatches = 0;
    cr_assert_eq(ms_paper_sizes_from_file(&study, &f.arena, &f.diag), MS_OK);
    cr_assert_eq(study.sizes.microbatches, 3);
    cr_assert_eq(unlink(path), 0);
    rmdir(folder);
    job_fixture_release(&f);
}

static void simulate(job_fixture *f, const ms_schedule_choice *choices, double cap_B,
                     ms_simulated_row rows[3]) {
    const ms_simulated_study study = {.base = &f->job,
                                      .choices = choices,
                                      .count = 3,
                                      .sizes = {.chunks = 3},
                                      .cap_B = cap_B,
                                      .jobs = 2};
    cr_assert_eq(ms_schedules_simulate(&study, &f->arena, &f->diag, rows), MS_OK, "%s",
                 ms_buffer_text(&f->messages));
}

/* Simulated rows hold what a run of the same workload comes to, to the last bit. */
Test(schedules, simulated_as_one_by_one) {
    job_fixture f;
    job_fixture g;
    cr_assert_eq(job_fixture_load(&g, "tiny", NULL, NULL, false), MS_OK);
    const ms_schedule_choice choices[] = {kind(MS_SCHEDULE_GPIPE), kind(MS_SCHEDULE_1F1B),
                                          kind(MS_SCHEDULE_INTERLEAVED)};
    ms_simulated_row rows[3];
    ms_simulated_row capped[3];
    simulate(&g, choices, 0, rows);
    simulate(&g, choices, 0.75 * rows[0].peak_B, capped);
    cr_assert_str_eq(rows[0].status, "simulated");
    cr_assert_str_eq(capped[0].status, "above_cap");
    cr_assert_eq(capped[0].peak_B, rows[0].peak_B);
    cr_assert_str_eq(capped[1].status, "simulated");
    cr_assert(rows[2].is_repartitioned || rows[2].reason != NULL);
    cr_assert_eq(ms_schedules_verdict(capped, 3), MS_OK);
    cr_assert_eq(ms_schedules_verdict(capped, 1), MS_E_NO);
    capped[1].outcome = MS_E_BUG;
    cr_assert_eq(ms_schedules_verdict(capped, 3), MS_E_BUG);
    const char *sets[] = {"schedule.kind=gpipe", NULL};
    ms_run_figures expected;
    ms_result_figures(job_fixture_run(&f, "tiny", sets, NULL, false), &expected);
    cr_assert_eq(memcmp(&rows[0].figures, &expected, offsetof(ms_run_figures, fits)), 0);
    job_fixture_release(&g);
    job_fixture_release(&f);
}

/* Put a kind in the place of the schedule of the workload with given costs, and check the forward
 * times of its stages [s] and what they hold. */
static void expect_spread(const char *costs, const char *own, ms_schedule_kind other,
                          const double *forward_s, const double *states_B) {
    job_fixture f;
    const char *sets[] = {"model=null", costs, own, NULL};
    cr_assert_eq(job_fixture_load(&f, "tiny", sets, NULL, false), MS_OK, "%s",
                 ms_buffer_text(&f.messages));
    const ms_schedule_choice choice = kind(other);
    const ms_schedule_spec sizes = {0};
    ms_job job;
    cr_assert_eq(ms_schedule_in_workload(&f.job, &choice, &sizes, &f.arena, &f.diag, &job), MS_OK,
                 "%s", ms_buffer_text(&f.messages));
    for (int stage = 0; stage < job.program.model_stages; stage++) {
        const ms_stage_cost *cost = &job.costs.stage[stage];
        const ms_segment *segment = &job.costs.segments[cost->passes[MS_PASS_F].first];
        cr_assert_float_eq(segment->time_s, forward_s[stage], 1e-12, "stage %d: %g", stage,
                           segment->time_s);
        cr_assert_float_eq(cost->memory.parameter_B, states_B[stage], 1e-3, "stage %d", stage);
        cr_assert_eq(cost->send_forward_B, stage + 1 < job.program.model_stages ? 8 : 0);
    }
    job_fixture_release(&f);
}

/* Costs that a workload gives per stage are spread over the stages of another schedule: halves of
 * stages in a V, and sums of stages where there are fewer. One cost for all stages is scaled. */
Test(schedules, costs_are_spread_over_other_stages) {
    static const char OF_2[] = "costs={forward: [4 s, 2 s], input_gradient: 1 s, p2p: 8 B, "
                               "states: 6 B}";
    static const char OF_4[] = "costs={forward: [1 s, 2 s, 3 s, 4 s], input_gradient: 1 s, "
                               "p2p: 8 B, states: [1 B, 1 B, 1 B, 5 B]}";
    expect_spread(OF_2, "schedule.kind=1f1b", MS_SCHEDULE_ZBV, (double[]){2, 2, 1, 1},
                  (double[]){3, 3, 3, 3});
    expect_spread(OF_4, "schedule={kind: interleaved, v: 2}", MS_SCHEDULE_GPIPE, (double[]){3, 7},
                  (double[]){2, 6});
}
