/* Every schedule that a platform can carry takes there what it takes on paper: free bandwidth,
 * equal latency, no other axis, no optimizer. */
#include <criterion/parameterized.h>
#include <math.h>

#include "job_fixture.h"
#include "meshsim/random.h"

enum { STAGES_MAX = 12 };

static const double LATENCY_S = 1e-4;

typedef struct schedule_case {
    char kind[24];
    int p, v, m;
} schedule_case;

static schedule_case PLAIN[] = {
    {"gpipe", 4, 1, 6},       {"1f1b", 4, 1, 7},
    {"interleaved", 3, 2, 6}, {"interleaved_torch", 4, 2, 10},
    {"looped_bfs", 3, 3, 5},  {"interleaved_flexible", 3, 2, 7},
    {"zbh1", 4, 1, 9},        {"zbh2", 4, 1, 9},
    {"zb1p", 4, 2, 8},        {"zbv", 4, 2, 8},
    {"zbv", 3, 2, 4},         {"vhalf", 4, 2, 8},
    {"vmin", 3, 2, 8},        {"seq1f1b", 3, 1, 5},
};

/* Costs in whole microseconds as a YAML list, and in seconds. */
static void random_costs(ms_random *random, int stages, char *text, double *costs_s) {
    text += sprintf(text, "[");
    for (int stage = 0; stage < stages; stage++) {
        int cost_us = (int)ms_random_range(random, 100, 3000);
        costs_s[stage] = cost_us * 1e-6;
        text += sprintf(text, "%s%d us", stage == 0 ? "" : ", ", cost_us);
    }
    sprintf(text, "]");
}

static double on_paper(job_fixture *f, const ms_schedule_costs *costs) {
    ms_schedule_result result;
    cr_assert_eq(ms_schedule_evaluate(&f->job.program, costs, &f->arena, &f->diag, &result), MS_OK);
    return result.makespan;
}

ParameterizedTestParameters(job_schedules, as_on_paper) {
    return cr_make_param_array(schedule_case, PLAIN, sizeof PLAIN / sizeof PLAIN[0]);
}

ParameterizedTest(schedule_case *c, job_schedules, as_on_paper) {
    const char *given = getenv("MS_SEED");
    uint64_t seed = given == NULL ? 20261121U : strtoull(given, NULL, 0);
    ms_random random = {seed + (uint64_t)c->p * 100 + (uint64_t)c->m};
    char lists[3][256];
    double costs_s[3][STAGES_MAX];
    double p2p_s[STAGES_MAX];
    for (int i = 0; i < 3; i++) {
        random_costs(&random, c->p * c->v, lists[i], costs_s[i]);
    }
    for (int i = 0; i < STAGES_MAX; i++) {
        p2p_s[i] = LATENCY_S;
    }
    char text[1280];
    snprintf(text, sizeof text,
             "platform: {file: ideal, nodes: %d, tiers: {fabric: {bandwidth: unlimited, latency: "
             "50 us}}}\n"
             "mesh: {pp: %d, order: [pp]}\n"
             "costs: {forward: %s, input_gradient: %s, weight_gradient: %s, p2p: 1 MB}\n"
             "schedule: {kind: %s, v: %d}\n"
             "batch: {microbatches: %d}\n",
             c->p, c->p, lists[0], lists[1], lists[2], c->kind, c->v, c->m);
    job_fixture f;
    ms_status status = job_fixture_load_text(&f, text);
    cr_assert_eq(status, MS_OK, "%s", ms_buffer_text(&f.messages));
    cr_assert_eq(ms_job_run(&f.job, &f.arena, &f.diag, &f.result), MS_OK);
    ms_schedule_costs costs = {
        .forward = costs_s[0], .input_grad = costs_s[1], .weight_grad = costs_s[2], .p2p = p2p_s};
    double paper_s = on_paper(&f, &costs);
    double step_s = f.result.metrics.step_time_s;
    cr_assert_lt(fabs(step_s / paper_s - 1.0), 1e-9, "MS_SEED=%llu %s: %.15g s, on paper %.15g s",
                 (unsigned long long)seed, c->kind, step_s, paper_s);
    job_fixture_release(&f);
}

ParameterizedTestParameters(job_schedules, what_only_paper_can_carry) {
    static schedule_case bad[] = {
        {"dualpipe", 4, 1, 8}, {"dualpipev", 4, 2, 8}, {"chimera", 4, 1, 8}};
    return cr_make_param_array(schedule_case, bad, sizeof bad / sizeof bad[0]);
}

ParameterizedTest(schedule_case *c, job_schedules, what_only_paper_can_carry) {
    char text[512];
    snprintf(text, sizeof text,
             "platform: {file: ideal, nodes: %d}\nmesh: {pp: %d, order: [pp]}\n"
             "costs: {forward: 1 ms, input_gradient: 1 ms, weight_gradient: 1 ms}\n"
             "schedule: {kind: %s, v: %d}\nbatch: {microbatches: %d}\n",
             c->p, c->p, c->kind, c->v, c->m);
    job_fixture f;
    cr_assert_eq(job_fixture_load_text(&f, text), MS_E_INPUT);
    cr_assert_not_null(
        strstr(ms_buffer_text(&f.messages), "which is not simulated on a platform yet"), "%s",
        ms_buffer_text(&f.messages));
    job_fixture_release(&f);
}
