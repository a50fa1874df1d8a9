#include "dag_fixture.h"
#include "simulate/metrics/metrics.h"

static ms_metrics run_pipeline(dag_fixture *f, const fixture_pipeline *p) {
    ms_metrics metrics;
    fixture_init(f);
    fixture_add_pipeline(f, p);
    fixture_run(f);
    cr_assert_eq(ms_metrics_compute(&f->dag, &f->timeline, &f->arena, &f->diag, &metrics), MS_OK);
    return metrics;
}

static double bubble_fraction(const ms_metrics *m) {
    return m->share[MS_TIME_BUBBLE_WARMUP] + m->share[MS_TIME_BUBBLE_STEADY] +
           m->share[MS_TIME_BUBBLE_COOLDOWN];
}

/* Bubble share of GPipe and 1F1B with equal stages and free messages: (P-1)/(M+P-1); interleaved
 * with V chunks and M divisible by P: (P-1)/(VM+P-1).  Source: Narayanan et al., SC'21, section 2.2
 * (there as (p-1)/m and (p-1)/(vm), relative to ideal time). */
Test(pipeline, bubble_share_is_the_closed_form) {
    static const struct {
        int ranks, chunks, microbatches;
    } CASES[] = {{1, 1, 1},  {1, 1, 7},  {2, 1, 1},  {2, 1, 4},  {3, 1, 2}, {4, 1, 4},
                 {4, 1, 13}, {8, 1, 8},  {8, 1, 64}, {5, 1, 3},  {2, 2, 4}, {4, 2, 8},
                 {4, 3, 4},  {8, 4, 16}, {3, 5, 6},  {16, 1, 40}};
    for (size_t i = 0; i < 2 * sizeof CASES / sizeof CASES[0]; i++) {
        fixture_pipeline p = {.is_gpipe = i % 2 == 1,
                              .ranks = CASES[i / 2].ranks,
                              .chunks = CASES[i / 2].chunks,
                              .microbatches = CASES[i / 2].microbatches,
                              .forward_s = 0.013,
                              .backward_s = 0.029};
        if (p.is_gpipe && p.chunks > 1) {
            continue;
        }
        dag_fixture f;
        ms_metrics m = run_pipeline(&f, &p);
        double expected = (p.ranks - 1.0) / (p.chunks * p.microbatches + p.ranks - 1.0);
        cr_assert_float_eq(bubble_fraction(&m), expected, 1e-12,
                           "gpipe %d, P %d, V %d, M %d: %.17g, expected %.17g", p.is_gpipe, p.ranks,
                           p.chunks, p.microbatches, bubble_fraction(&m), expected);
        cr_assert_float_eq(m.share[MS_TIME_COMPUTE], 1.0 - expected, 1e-12);
        fixture_release(&f);
    }
}

/* A message's latency is exposed, not bubble: GPipe's step is (M+P-1)(F+B) + 2(P-1)l, and the
 * latencies lie on the critical path. */
Test(pipeline, latency_is_exposed_communication) {
    fixture_pipeline p = {.is_gpipe = true,
                          .ranks = 4,
                          .chunks = 1,
                          .microbatches = 6,
                          .forward_s = 1.0,
                          .backward_s = 2.0,
                          .latency_s = 0.25};
    dag_fixture f;
    ms_metrics m = run_pipeline(&f, &p);
    cr_assert_float_eq(m.step_time_s, 27.0 + 1.5, 1e-12);
    cr_assert_float_eq(m.critical_s[MS_TIME_EXPOSED_PP], 1.5, 1e-12);
    cr_assert_float_eq(m.critical_s[MS_TIME_COMPUTE], 27.0, 1e-12);
    for (int r = 0; r < 4; r++) {
        const double *time_s = m.ranks[r].time_s;
        cr_assert_float_eq(time_s[MS_TIME_COMPUTE], 18.0, 1e-12);
        cr_assert_float_eq(time_s[MS_TIME_EXPOSED_PP] + time_s[MS_TIME_BUBBLE_WARMUP] +
                               time_s[MS_TIME_BUBBLE_STEADY] + time_s[MS_TIME_BUBBLE_COOLDOWN],
                           10.5, 1e-12);
    }
    /* the last stage's first input arrives after three computations and three latencies, of which
     * the last one follows the last computation it waits for */
    cr_assert_float_eq(m.ranks[3].time_s[MS_TIME_EXPOSED_PP], 0.25, 1e-12);
    fixture_release(&f);
}

/* Idle per phase of schedules with unit passes (F = 1, B = 2) and free messages, as an independent
 * evaluator in exact arithmetic found it. */
typedef struct phase_case {
    fixture_pipeline p;
    double makespan_s;
    struct {
        double warmup, steady, cooldown;
    } idle[8];
} phase_case;

#define UNIT .forward_s = 1.0, .backward_s = 2.0
static const phase_case PHASE_CASES[] = {
    {{.is_gpipe = true, .ranks = 2, .chunks = 1, .microbatches = 4, UNIT},
     15,
     {{3, 0, 0}, {1, 0, 2}}},
    {{.ranks = 2, .chunks = 1, .microbatches = 4, UNIT}, 15, {{2, 0, 1}, {1, 0, 2}}},
    {{.is_gpipe = true, .ranks = 4, .chunks = 1, .microbatches = 4, UNIT},
     21,
     {{9, 0, 0}, {7, 0, 2}, {5, 0, 4}, {3, 0, 6}}},
    {{.ranks = 4, .chunks = 1, .microbatches = 4, UNIT},
     21,
     {{6, 0, 3}, {5, 0, 4}, {4, 0, 5}, {3, 0, 6}}},
    {{.ranks = 4, .chunks = 1, .microbatches = 10, UNIT},
     39,
     {{6, 0, 3}, {5, 0, 4}, {4, 0, 5}, {3, 0, 6}}},
    {{.ranks = 8, .chunks = 1, .microbatches = 16, UNIT},
     69,
     {{14, 0, 7},
      {13, 0, 8},
      {12, 0, 9},
      {11, 0, 10},
      {10, 0, 11},
      {9, 0, 12},
      {8, 0, 13},
      {7, 0, 14}}},
    {{.ranks = 1, .chunks = 1, .microbatches = 4, UNIT}, 12, {{0, 0, 0}}},
    {{.ranks = 2, .chunks = 2, .microbatches = 4, UNIT}, 27, {{1, 0, 2}, {1, 0, 2}}},
    {{.ranks = 4, .chunks = 2, .microbatches = 8, UNIT},
     57,
     {{3, 1, 5}, {3, 0, 6}, {3, 0, 6}, {3, 0, 6}}},
    {{.ranks = 8, .chunks = 4, .microbatches = 16, UNIT},
     213,
     {{7, 5, 9},
      {7, 2, 12},
      {7, 0, 14},
      {7, 0, 14},
      {7, 0, 14},
      {7, 0, 14},
      {7, 0, 14},
      {7, 0, 14}}},
    {{.ranks = 4, .chunks = 2, .microbatches = 9, .group = 5, UNIT},
     63,
     {{3, 1, 5}, {3, 0, 6}, {3, 0, 6}, {3, 0, 6}}},
    {{.ranks = 2, .chunks = 2, .microbatches = 5, .group = 3, UNIT}, 33, {{1, 0, 2}, {1, 0, 2}}},
};

Test(pipeline, phases_match_the_golden_schedules) {
    for (size_t i = 0; i < sizeof PHASE_CASES / sizeof PHASE_CASES[0]; i++) {
        const phase_case *c = &PHASE_CASES[i];
        dag_fixture f;
        ms_metrics m = run_pipeline(&f, &c->p);
        cr_assert_float_eq(m.step_time_s, c->makespan_s, 1e-9, "case %zu: step %g", i,
                           m.step_time_s);
        for (int r = 0; r < c->p.ranks; r++) {
            const double *time_s = m.ranks[r].time_s;
            cr_assert_float_eq(time_s[MS_TIME_BUBBLE_WARMUP], c->idle[r].warmup, 1e-9,
                               "case %zu rank %d: warm-up %g", i, r, time_s[MS_TIME_BUBBLE_WARMUP]);
            cr_assert_float_eq(time_s[MS_TIME_BUBBLE_STEADY], c->idle[r].steady, 1e-9,
                               "case %zu rank %d: steady %g", i, r, time_s[MS_TIME_BUBBLE_STEADY]);
            cr_assert_float_eq(time_s[MS_TIME_BUBBLE_COOLDOWN], c->idle[r].cooldown, 1e-9,
                               "case %zu rank %d: cool-down %g", i, r,
                               time_s[MS_TIME_BUBBLE_COOLDOWN]);
        }
        fixture_release(&f);
    }
}
