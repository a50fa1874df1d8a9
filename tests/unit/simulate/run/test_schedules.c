/* Every schedule takes on a platform what it takes on paper: free bandwidth, equal latency, no
 * other axis, no optimizer; whether sends block or not, and pairs run together or one after the
 * other. */
#include <criterion/parameterized.h>
#include <math.h>

#include "base/random.h"
#include "job_fixture.h"

enum { STAGES_MAX = 12 };

static const double LATENCY_S = 1e-4;

typedef struct schedule_case {
    char kind[24];
    int p, v, m;
    char more[40]; /* further keys of the schedule */
} schedule_case;

typedef struct schedule_run {
    schedule_case c;
    bool is_blocking, is_serial;
} schedule_run;

static schedule_case CASES[] = {
    {"gpipe", 4, 1, 6, ""},
    {"1f1b", 4, 1, 7, ""},
    {"interleaved", 3, 2, 6, ""},
    {"interleaved", 3, 2, 10, ", group: 5"},
    {"interleaved_torch", 4, 2, 10, ""},
    {"looped_bfs", 3, 3, 5, ""},
    {"interleaved_flexible", 3, 2, 7, ""},
    {"zbh1", 4, 1, 9, ""},
    {"zbh2", 4, 1, 9, ""},
    {"zb1p", 4, 2, 8, ""},
    {"zbv", 4, 2, 8, ""},
    {"zbv", 3, 2, 4, ""},
    {"vhalf", 4, 2, 8, ""},
    {"vhalf", 4, 2, 8, ", reorder: true"},
    {"vmin", 3, 2, 8, ""},
    {"vmin", 3, 2, 8, ", reorder: true"},
    {"dualpipe", 4, 1, 8, ""},
    {"dualpipe", 6, 1, 14, ""},
    {"dualpipev", 3, 2, 6, ""},
    {"dualpipev", 4, 2, 11, ""},
    {"chimera", 4, 1, 8, ""},
    {"chimera", 6, 1, 12, ""},
    {"seq1f1b", 3, 1, 5, ""},
    {"seq1f1b", 4, 1, 6, ", splits: 4"},
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

/* Every case four times: a simulation with flows needs a process of its own. */
ParameterizedTestParameters(job_schedules, as_on_paper) {
    enum { COUNT = sizeof CASES / sizeof CASES[0] };
    static schedule_run all[4 * COUNT];
    for (size_t i = 0; i < 4 * (size_t)COUNT; i++) {
        all[i].c = CASES[i / 4];
        all[i].is_blocking = i % 2 == 1;
        all[i].is_serial = i % 4 >= 2;
    }
    return cr_make_param_array(schedule_run, all, 4 * (size_t)COUNT);
}

ParameterizedTest(schedule_run *run, job_schedules, as_on_paper) {
    const schedule_case *c = &run->c;
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
    char text[1536];
    snprintf(text, sizeof text,
             "platform: {file: ideal, nodes: %d, tiers: {fabric: {bandwidth: unlimited, latency: "
             "50 us}}}\n"
             "mesh: {pp: %d, order: [pp]}\n"
             "costs: {forward: %s, input_gradient: %s, weight_gradient: %s, p2p: 1 MB}\n"
             "schedule: {kind: %s, v: %d, sends: %s, overlap: %s%s}\n"
             "batch: {microbatches: %d}\n",
             c->p, c->p, lists[0], lists[1], lists[2], c->kind, c->v,
             run->is_blocking ? "blocking" : "async", run->is_serial ? "serial" : "fused", c->more,
             c->m);
    job_fixture f;
    ms_status status = job_fixture_load_text(&f, text);
    cr_assert_eq(status, MS_OK, "%s", ms_buffer_text(&f.messages));
    cr_assert_eq(ms_job_run(&f.job, &f.arena, &f.diag, &f.result), MS_OK);
    ms_schedule_costs costs = {.forward = costs_s[0],
                               .input_grad = costs_s[1],
                               .weight_grad = costs_s[2],
                               .p2p = p2p_s,
                               .is_blocking = run->is_blocking,
                               .is_serial = run->is_serial};
    ms_schedule_result paper;
    cr_assert_eq(ms_schedule_evaluate(&f.job.program, &costs, &f.arena, &f.diag, &paper), MS_OK);
    double idle = 1 - f.result.metrics.share[MS_TIME_COMPUTE];
    cr_assert_lt(fabs(idle - paper.bubble_fraction), 1e-9, "%s: %.15g idle, on paper %.15g",
                 c->kind, idle, paper.bubble_fraction);
    double gap = f.result.metrics.step_time_s / paper.makespan - 1;
    cr_assert_lt(fabs(gap), 1e-9, "MS_SEED=%llu %s: %.3g off", (unsigned long long)seed, c->kind,
                 gap);
    job_fixture_release(&f);
}
