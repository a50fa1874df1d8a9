/* Several optimizer steps: their ends synchronised, or validated late by every rank. */
#include <math.h>

#include "base/random.h"
#include "job_fixture.h"

static double apart(double a, double b) {
    return fabs(a - b) / fmax(fabs(a), fabs(b));
}

/* A pipeline of given costs in closed form. */
typedef struct steps_case {
    char kind[16];
    int p, v, m;
    char costs[256];
    char more[48]; /* keys of the platform's tier */
} steps_case;

static const ms_result *run_case(job_fixture *f, const steps_case *c, int steps, bool is_late) {
    char text[1024];
    snprintf(text, sizeof text,
             "platform: {file: ideal, nodes: %d, tiers: {fabric: {bandwidth: unlimited, latency: "
             "%s}}}\n"
             "mesh: {pp: %d, order: [pp]}\n"
             "costs: {%s}\n"
             "schedule: {kind: %s, v: %d, step_end: %s}\n"
             "batch: {microbatches: %d}\n"
             "fidelity: analytic\n"
             "steps: %d\n",
             c->p, c->more[0] == '\0' ? "0 s" : c->more, c->p, c->costs, c->kind, c->v,
             is_late ? "post_validation" : "synchronous", c->m, steps);
    ms_status status = job_fixture_load_text(f, text);
    cr_assert_eq(status, MS_OK, "%s", ms_buffer_text(&f->messages));
    cr_assert_eq(ms_job_run(&f->job, &f->arena, &f->diag, &f->result), MS_OK);
    return &f->result;
}

static double idle_of(const ms_result *r) {
    ms_run_figures figures;
    ms_result_figures(r, &figures);
    return figures.idle_fraction;
}

/* Where ranks meet at the end of every step and their updates take equally long, nothing reaches
 * from one step into the next. */
Test(job_steps, synchronised_steps_are_all_alike) {
    static const steps_case CASES[] = {
        {"1f1b", 4, 1, 6, "forward: 1 ms, input_gradient: 2 ms", ""},
        {"1f1b", 3, 1, 7, "forward: 1 ms, input_gradient: 2 ms, p2p: 1 MB", "30 us"},
        {"1f1b", 4, 1, 6, "forward: 1 ms, input_gradient: 2 ms, optimizer: 3 ms", ""},
        {"gpipe", 4, 1, 5, "forward: [1 ms, 2 ms, 1 ms, 3 ms], input_gradient: 2 ms", ""},
        {"interleaved", 4, 2, 8, "forward: 1 ms, input_gradient: 2 ms", ""},
        {"zbh2", 4, 1, 9, "forward: 1 ms, input_gradient: 1 ms, weight_gradient: 1 ms", ""},
        {"dualpipev", 4, 2, 9, "forward: 1 ms, input_gradient: 1 ms, weight_gradient: 1 ms", ""},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        job_fixture one;
        job_fixture many;
        const ms_result *a = run_case(&one, &CASES[i], 1, false);
        const ms_result *b = run_case(&many, &CASES[i], 3, false);
        cr_assert_lt(apart(a->metrics.step_time_s, b->metrics.step_time_s), 1e-12, "case %zu", i);
        cr_assert_lt(fabs(idle_of(a) - idle_of(b)), 1e-12, "case %zu: %g, %g", i, idle_of(a),
                     idle_of(b));
        for (int r = 0; r < a->dag.rank_count; r++) {
            cr_assert_eq(a->memory[r].inflight_peak, b->memory[r].inflight_peak);
        }
        job_fixture_release(&one);
        job_fixture_release(&many);
    }
}

/* The other example of sim/simulate/metrics/steps.md. A first step: F 0-1 and 1-2, B 2-3 and 3-4,
 * updates until 5 and 7. Each later step, from the norm on: stage 0 updates until 1, F until 2;
 * stage 1 updates until 3, F until 4, B until 5; B of stage 0 until 6, where the next norm is. With
 * the longer update on stage 0 a first step is as long as each later one: that stage begins each.
 */
Test(job_steps, a_later_step_begins_on_each_stage_behind_its_own_update) {
    static const struct {
        steps_case c;
        double one_s, many_s;
    } CASES[] = {
        {{"1f1b", 2, 1, 1, "forward: 1 ms, input_gradient: 1 ms, optimizer: [1 ms, 3 ms]", ""},
         7e-3,
         6e-3},
        {{"1f1b", 2, 1, 1, "forward: 1 ms, input_gradient: 1 ms, optimizer: [3 ms, 1 ms]", ""},
         7e-3,
         7e-3},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        for (int steps = 1; steps <= 4; steps++) {
            job_fixture f;
            double step_s = run_case(&f, &CASES[i].c, steps, false)->metrics.step_time_s;
            double expected_s = steps == 1 ? CASES[i].one_s : CASES[i].many_s;
            cr_assert_lt(apart(step_s, expected_s), 1e-12, "case %zu, %d steps: %g", i, steps,
                         step_s);
            job_fixture_release(&f);
        }
    }
}

/* Source: Qi et al., arXiv:2401.10241, sections 2.3 and 4: with F = I = W, H2 and V have no bubble
 * between the first and the last pass of a rank; where ranks meet, the skew between them costs
 * (P - 1) F. Post-validation leaves a step the longest span of any rank. */
Test(job_steps, late_validation_leaves_the_span) {
    static const struct {
        steps_case c;
        bool is_full; /* no idle time at all */
    } CASES[] = {
        {{"zbh2", 4, 1, 9, "forward: 1 ms, input_gradient: 1 ms, weight_gradient: 1 ms", ""}, true},
        {{"zbh2", 8, 1, 24, "forward: 2 ms, input_gradient: 2 ms, weight_gradient: 2 ms", ""},
         true},
        {{"zbv", 4, 2, 8, "forward: 1 ms, input_gradient: 1 ms, weight_gradient: 1 ms", ""}, true},
        {{"zbv", 6, 2, 20, "forward: 3 ms, input_gradient: 3 ms, weight_gradient: 3 ms", ""}, true},
        {{"zbh1", 4, 1, 9, "forward: 1 ms, input_gradient: 1 ms, weight_gradient: 1 ms", ""},
         false},
        {{"zbh1", 6, 1, 12, "forward: 2 ms, input_gradient: 3 ms, weight_gradient: 1 ms", ""},
         false},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const steps_case *c = &CASES[i].c;
        job_fixture late;
        job_fixture met;
        const ms_result *a = run_case(&late, c, 4, true);
        const ms_result *b = run_case(&met, c, 4, false);
        double costs_s[3][16];
        double p2p_s[16] = {0};
        for (int s = 0; s < c->p * c->v; s++) {
            for (int pass = 0; pass < 3; pass++) { /* F, I, W are the first segments */
                const ms_stage_costs *costs = &late.job.costs;
                costs_s[pass][s] = costs->segments[costs->stage[s].passes[pass].first].time_s;
            }
        }
        ms_schedule_costs costs = {.forward = costs_s[MS_PASS_F],
                                   .input_grad = costs_s[MS_PASS_I],
                                   .weight_grad = costs_s[MS_PASS_W],
                                   .p2p = p2p_s};
        ms_schedule_result paper;
        cr_assert_eq(
            ms_schedule_evaluate(&late.job.program, &costs, &late.arena, &late.diag, &paper),
            MS_OK);
        cr_assert_lt(apart(a->metrics.step_time_s, paper.max_span), 1e-12, "case %zu: %g, span %g",
                     i, a->metrics.step_time_s, paper.max_span);
        cr_assert_lt(apart(b->metrics.step_time_s, paper.makespan), 1e-12, "case %zu", i);
        ms_estimate estimate;
        cr_assert_eq(ms_job_estimate(&late.job, &late.arena, &late.diag, &estimate), MS_OK);
        cr_assert_leq(estimate.lower_bound_s, a->metrics.step_time_s * (1.0 + 1e-12));
        if (CASES[i].is_full) {
            cr_assert_lt(fabs(estimate.ideal_bubble_fraction), 1e-9);
            cr_assert_lt(apart(estimate.step_s, a->metrics.step_time_s), 1e-12);
            double work_s = c->m * c->v * 3 * costs_s[MS_PASS_F][0];
            cr_assert_lt(fabs(idle_of(a)), 1e-9, "case %zu: %g idle", i, idle_of(a));
            cr_assert_lt(apart(a->metrics.step_time_s, work_s), 1e-12);
            cr_assert_lt(apart(b->metrics.step_time_s, work_s + (c->p - 1) * costs_s[MS_PASS_F][0]),
                         1e-12);
        }
        job_fixture_release(&late);
        job_fixture_release(&met);
    }
}

static void random_list(ms_random *random, int count, const char *key, char *text) {
    text += sprintf(text, "%s: [", key);
    for (int i = 0; i < count; i++) {
        text += sprintf(text, "%s%d us", i == 0 ? "" : ", ", (int)ms_random_range(random, 1, 999));
    }
    sprintf(text, "]");
}

/* Whatever the schedule and its costs, not waiting is never slower. */
Test(job_steps, late_validation_is_never_slower) {
    static const char *const KINDS[] = {"gpipe", "1f1b",     "interleaved", "zbh1",  "zbh2",
                                        "zbv",   "dualpipe", "dualpipev",   "vhalf", "chimera"};
    static const int CHUNKS[] = {1, 1, 2, 1, 1, 2, 1, 2, 2, 1};
    const char *given = getenv("MS_SEED");
    uint64_t seed = given == NULL ? 7U : strtoull(given, NULL, 0);
    int faster = 0;
    for (uint64_t i = 0; i < 40; i++) {
        ms_random random = {seed + i};
        steps_case c = {.p = 4, .v = CHUNKS[i % 10], .m = 4 * (int)ms_random_range(&random, 2, 4)};
        char lists[3][80];
        snprintf(c.kind, sizeof c.kind, "%s", KINDS[i % 10]);
        random_list(&random, i % 2 == 0 ? 1 : c.p * c.v, "forward", lists[0]);
        random_list(&random, 1, "input_gradient", lists[1]);
        random_list(&random, 1, "weight_gradient", lists[2]);
        snprintf(c.costs, sizeof c.costs, "%s, %s, %s", lists[0], lists[1], lists[2]);
        snprintf(c.more, sizeof c.more, "%d us", (int)ms_random_range(&random, 0, 50));
        job_fixture late;
        job_fixture met;
        double late_s = run_case(&late, &c, 4, true)->metrics.step_time_s;
        double met_s = run_case(&met, &c, 4, false)->metrics.step_time_s;
        ms_estimate estimate;
        cr_assert_eq(ms_job_estimate(&late.job, &late.arena, &late.diag, &estimate), MS_OK);
        cr_assert_leq(estimate.lower_bound_s, late_s * (1.0 + 1e-12), "%s", c.kind);
        cr_assert_leq(late_s, met_s * (1.0 + 1e-12), "MS_SEED=%llu %s: %g, %g",
                      (unsigned long long)(seed + i), c.kind, late_s, met_s);
        faster += late_s < met_s * (1.0 - 1e-6);
        job_fixture_release(&late);
        job_fixture_release(&met);
    }
    cr_assert_gt(faster, 5);
}

/* Shares, the critical path and bytes of a model's step, whatever the number of steps. */
Test(job_steps, nothing_is_lost_between_steps) {
    static const char *const CHOICES[][3] = {
        {"schedule.kind=1f1b", "schedule.kind=zbh2", "schedule.kind=dualpipe"},
        {"data_parallel.zero=0", "data_parallel.zero=1", "data_parallel.zero=2"},
        {"tensor_parallel.sequence=false", "tensor_parallel.sequence=true", "recompute=full"},
    };
    const char *given = getenv("MS_SEED");
    uint64_t seed = given == NULL ? 11U : strtoull(given, NULL, 0);
    for (uint64_t i = 0; i < 24; i++) {
        ms_random random = {seed + i};
        char steps[24];
        int count = 1 + (int)(i % 4);
        bool is_late = count > 2 && i % 8 >= 4;
        snprintf(steps, sizeof steps, "steps=%d", count);
        const char *sets[] = {CHOICES[0][ms_random_range(&random, 0, 2)],
                              CHOICES[1][ms_random_range(&random, 0, 2)],
                              CHOICES[2][ms_random_range(&random, 0, 2)],
                              "steps=1",
                              NULL,
                              NULL};
        job_fixture one;
        job_fixture many;
        const ms_result *a = job_fixture_run(&one, "tiny", sets, "analytic", i % 3 == 0);
        sets[3] = steps;
        sets[4] = is_late ? "schedule.step_end=post_validation" : NULL;
        const ms_result *b = job_fixture_run(&many, "tiny", sets, "analytic", i % 3 == 0);
        double step_s = b->metrics.step_time_s;
        cr_assert_lt(fabs(job_fixture_sum(b->metrics.share) - 1.0), 1e-9, "MS_SEED=%llu",
                     (unsigned long long)(seed + i));
        cr_assert_lt(apart(job_fixture_sum(b->metrics.critical_s), step_s), 1e-9);
        for (int r = 0; r < b->dag.rank_count; r++) {
            double sum = 0.0;
            for (int c = 0; c < MS_TIME_COUNT; c++) {
                sum += b->metrics.ranks[r].time_s[c];
            }
            cr_assert_lt(apart(sum, step_s), 1e-9);
            for (int axis = MS_AXIS_TP; axis < MS_AXIS_OTHER; axis++) {
                cr_assert_float_eq(a->metrics.ranks[r].axes[axis].bytes,
                                   b->metrics.ranks[r].axes[axis].bytes,
                                   1e-12 * a->metrics.ranks[r].axes[axis].bytes);
            }
            cr_assert_lt(apart(a->memory[r].held.total_B, b->memory[r].held.total_B), 1e-12);
        }
        double bytes[2] = {job_fixture_tier(a, "nvlink")->bytes,
                           job_fixture_tier(b, "nvlink")->bytes};
        cr_assert_gt(bytes[0], 0.0);
        cr_assert_lt(apart(bytes[0], bytes[1]), 1e-12);
        job_fixture_release(&one);
        job_fixture_release(&many);
    }
}

/* Time of an all-reduce of 4 bytes among the first ranks of a job, as `collective` says it. */
static double four_bytes_s(job_fixture *f, int ranks) {
    ms_coll_plan plan;
    double time_s = 0.0;
    int *gpus = MS_NEW(&f->arena, int, ranks);
    for (int rank = 0; rank < ranks; rank++) {
        gpus[rank] = rank;
    }
    const ms_coll_request request = {
        .kind = MS_COLL_ALL_REDUCE, .gpus = gpus, .members = ranks, .size_B = 4.0};
    cr_assert_eq(ms_coll_plan_build(f->job.platform, &request, &f->arena, &plan), MS_OK);
    cr_assert_eq(ms_coll_plan_time(f->job.platform, &plan, &time_s), MS_OK);
    return time_s;
}

/* An all-reduce of 4 bytes: NCCL's ring with LL over NVLink, 6.6 us and 14 steps of 0.6 us, after
 * the 22 us that it takes on an A100 beside its steps; every rank starts it together with the
 * last. */
Test(job_steps, the_norm_joins_all_ranks) {
    job_fixture f;
    const ms_result *r = job_fixture_run(&f, "tiny", NULL, "analytic", true);
    const ms_coll_row *norm = NULL;
    for (int i = 0; i < r->metrics.collective_count; i++) {
        if (r->metrics.collectives[i].axis == MS_AXIS_OTHER) {
            cr_assert_null(norm, "one row");
            norm = &r->metrics.collectives[i];
        }
    }
    cr_assert_not_null(norm);
    cr_assert_float_eq(norm->time_s, four_bytes_s(&f, 8), 1e-15);
    cr_assert_float_eq(norm->time_s, 22e-6 + 6.6e-6 + 14 * 0.6e-6, 1e-9, "%g", norm->time_s);
    cr_assert_eq(norm->group_size, 8);
    cr_assert_float_eq(norm->size_B, 4.0, 0.0);
    cr_assert_float_eq(norm->count_per_rank, 1.0, 1e-12);
    for (int32_t op = 0; op < r->dag.op_count; op++) {
        if (r->dag.ops[op].axis == MS_AXIS_OTHER) {
            cr_assert_eq(r->dag.member_first[op + 1] - r->dag.member_first[op], 8);
        }
    }
    job_fixture_release(&f);
}

/* Two nodes, not the NVLink of the first rank's neighbours: NCCL's tree with LL, 6.8 us, up and
 * down 7 steps of a node at 0.6 us and one between nodes at 5 us, and the 22 us.  Without a library
 * a ring: 30 steps, of whose 16 edges 14 are in nodes and two between. */
Test(job_steps, the_norm_crosses_the_whole_platform) {
    static const char *const LIBRARIES[] = {"platform.library=nccl-2", "platform.library=none"};
    for (int i = 0; i < 2; i++) {
        job_fixture f;
        const char *sets[] = {"platform.nodes=2", "mesh.dp=4", "batch.global=32", LIBRARIES[i],
                              NULL};
        const ms_result *r = job_fixture_run(&f, "tiny", sets, "analytic", false);
        ms_route inside;
        ms_route between;
        ms_platform_route(f.job.platform, 0, 1, &inside);
        ms_platform_route(f.job.platform, 7, 8, &between);
        double norm_s = r->metrics.share[MS_TIME_OTHER] * r->metrics.step_time_s;
        double by_hand_s = i == 0 ? 22e-6 + 6.8e-6 + 2 * (7 * 0.6e-6 + 5e-6)
                                  : 30 * (14 * inside.latency_s + 2 * between.latency_s) / 16;
        cr_assert_float_eq(norm_s, four_bytes_s(&f, 16), 1e-12);
        /* 4 bytes take 2 ns on their channel */
        cr_assert_float_eq(norm_s, by_hand_s, 3e-9, "%s: %g", LIBRARIES[i], norm_s);
        job_fixture_release(&f);
    }
}

/* Copies of the parameters: their gradients are summed between pipeline ranks P-1-p and p, after
 * all they come from, and the graph stays in order. */
Test(job_steps, partners_sum_the_gradients_of_copies) {
    static const char *const ZERO[] = {"data_parallel.zero=0", "data_parallel.zero=1"};
    for (int i = 0; i < 4; i++) {
        const char *sets[] = {"schedule.kind=dualpipe", "mesh.pp=4", "mesh.tp=1", ZERO[i / 2],
                              NULL};
        job_fixture f;
        const ms_result *r = job_fixture_run(&f, "tiny", sets, "analytic", i % 2 == 1);
        const ms_dag *dag = &r->dag;
        int sums = 0;
        for (int32_t op = 0; op < dag->op_count; op++) {
            for (int32_t d = dag->dep_first[dag->member_first[op]];
                 d < dag->dep_first[dag->member_first[op + 1]]; d++) {
                cr_assert_lt(dag->deps[d], op, "an operation before what it waits for");
            }
            int first = dag->member_first[op];
            if (dag->ops[op].kind != MS_OP_ALL_REDUCE || dag->ops[op].axis != MS_AXIS_DP ||
                dag->member_first[op + 1] - first != 2) {
                continue;
            }
            const ms_dag_rank *one = &dag->ranks[dag->streams[dag->member_stream[first]].rank];
            const ms_dag_rank *two = &dag->ranks[dag->streams[dag->member_stream[first + 1]].rank];
            if (one->pp != two->pp) {
                cr_assert_eq(one->pp + two->pp, 3);
                sums++;
            }
        }
        cr_assert_eq(sums, i % 2 == 1 ? 4 : 2, "one for every pair of simulated ranks");
        job_fixture_release(&f);
    }
}

Test(job_steps, what_cannot_be_measured_is_refused) {
    static const struct {
        const char *sets[3];
        const char *word;
    } CASES[] = {
        {{"steps=0", NULL}, "steps: expected 1 to 64, got '0'"},
        {{"steps=65", NULL}, "steps: expected 1 to 64"},
        {{"schedule.step_end=post_validation", NULL}, "needs 'steps: 3' or more, got 1"},
        {{"schedule.step_end=post_validation", "steps=2", NULL}, "needs 'steps: 3' or more, got 2"},
        {{"schedule.step_end=late", NULL}, "schedule.step_end"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        job_fixture f;
        cr_assert_eq(job_fixture_load(&f, "tiny", CASES[i].sets, "analytic", false), MS_E_INPUT);
        cr_assert_not_null(strstr(ms_buffer_text(&f.messages), CASES[i].word), "%s",
                           ms_buffer_text(&f.messages));
        cr_assert_eq(f.diag.errors, 1);
        job_fixture_release(&f);
    }
}
