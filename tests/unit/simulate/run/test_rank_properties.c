/* Jobs with ranks of their own speed: against sums by hand, and what has to hold of every job. */
#include <math.h>

#include "base/random.h"
#include "estimate/estimate.h"
#include "estimate/work_bound.h"
#include "job_fixture.h"

enum { RANKS_MAX = 64, TEXT_MAX = 1024 };

/* Passes of 1 ms forwards and 2 ms backwards, updates of 5 ms, messages of no bytes. */
static const char COSTS[] =
    "platform: {file: ideal, nodes: %d}\n"
    "mesh: {pp: %d, dp: %d, order: [pp, dp]}\n"
    "schedule: {kind: 1f1b}\n"
    "costs: {forward: 1 ms, input_gradient: 1 ms, weight_gradient: 1 ms, optimizer: 5 ms}\n"
    "batch: {microbatches: %d}\n"
    "fidelity: analytic\n";

/* Give one rank factors of its own, all others 1. */
static void slow_down(job_fixture *f, int rank, double compute_factor, double link_factor) {
    ms_rank_properties all[RANKS_MAX];
    cr_assert_leq(f->job.mesh.ranks, RANKS_MAX);
    for (int r = 0; r < f->job.mesh.ranks; r++) {
        all[r] = (ms_rank_properties){1.0, 1.0};
    }
    all[rank] = (ms_rank_properties){compute_factor, link_factor};
    cr_assert_eq(ms_job_set_rank_properties(&f->job, all, &f->arena), MS_OK);
}

static void load_costs(job_fixture *f, int pp, int dp, int microbatches) {
    char text[TEXT_MAX];
    snprintf(text, sizeof text, COSTS, pp * dp, pp, dp, microbatches);
    cr_assert_eq(job_fixture_load_text(f, text), MS_OK, "%s", ms_buffer_text(&f->messages));
}

static double step_of(job_fixture *f) {
    ms_result_release(&f->result);
    cr_assert_eq(ms_job_run(&f->job, &f->arena, &f->diag, &f->result), MS_OK, "%s",
                 ms_buffer_text(&f->messages));
    return f->result.metrics.step_time_s;
}

static ms_estimate estimate_of(job_fixture *f) {
    ms_estimate estimate;
    cr_assert_eq(ms_job_estimate(&f->job, &f->arena, &f->diag, &estimate), MS_OK, "%s",
                 ms_buffer_text(&f->messages));
    return estimate;
}

static void expect_near(double found, double expected, const char *what) {
    cr_assert_lt(fabs(found - expected), 1e-12 * expected, "%s: %.15g, expected %.15g", what, found,
                 expected);
}

/* Replicas wait for the slowest one before they update, and its update is the last one to end. */
Test(rank_properties, a_data_parallel_step_is_that_of_the_slowest_rank) {
    job_fixture f;
    load_costs(&f, 1, 4, 6);
    expect_near(step_of(&f), 6 * 3e-3 + 5e-3, "all alike");
    slow_down(&f, 2, 1.5, 1.0);
    expect_near(step_of(&f), 1.5 * (6 * 3e-3 + 5e-3), "one is slow");
    cr_assert_eq(f.result.fold.classes, 2, "the slow one and the others");
    ms_estimate estimate = estimate_of(&f);
    expect_near(estimate.step_s, 1.5 * (6 * 3e-3 + 5e-3), "estimate");
    expect_near(estimate.ranks[0].compute_s, 1.5 * (6 * 3e-3 + 5e-3), "computation");
    cr_assert_leq(estimate.lower_bound_s, step_of(&f));
    job_fixture_release(&f);
}

/* The share of computing is a mean over the ranks: three of four compute two thirds of the time. */
Test(rank_properties, the_others_wait) {
    job_fixture f;
    load_costs(&f, 1, 4, 6);
    slow_down(&f, 2, 1.5, 1.0);
    step_of(&f);
    double busy =
        f.result.metrics.share[MS_TIME_COMPUTE] + f.result.metrics.share[MS_TIME_OPTIMIZER];
    expect_near(busy, (1.0 + 3.0 / 1.5) / 4.0, "busy");
    ms_estimate estimate = estimate_of(&f);
    cr_assert_leq(estimate.busy_s, busy * f.result.metrics.step_time_s);
    job_fixture_release(&f);
}

/* One stage of 1F1B is slow by x. The last one is busy from its first forward pass on: p - 1 stages
 * before it, M microbatches of its own, p - 1 stages behind it. The first one, with x = 3, always
 * has forward passes to do while the others bring a microbatch back, and is busy all the time.
 * After the passes all ranks meet, and the slow one's update is the longest.  Source: longest path
 * through the lists of Narayanan et al., SC'21. */
Test(rank_properties, a_slow_stage_of_1f1b_follows_the_closed_form) {
    enum { P = 4, M = 10 };
    const double passes_s = 3e-3, update_s = 5e-3;
    job_fixture f;
    load_costs(&f, P, 1, M);
    expect_near(step_of(&f), (M + P - 1) * passes_s + update_s, "all alike");
    for (int i = 0; i < 3; i++) {
        const double x = (const double[]){1.25, 2.0, 3.5}[i];
        slow_down(&f, P - 1, x, 1.0);
        const double expected_s = (P - 1) * passes_s + M * x * passes_s + x * update_s;
        expect_near(step_of(&f), expected_s, "the last stage");
        expect_near(estimate_of(&f).step_s, expected_s, "estimate of the last stage");
        cr_assert_geq(estimate_of(&f).lower_bound_s, expected_s * (1.0 - 2e-9));
    }
    slow_down(&f, 0, 3.0, 1.0);
    expect_near(step_of(&f), M * 3.0 * passes_s + 3.0 * update_s, "the first stage");
    expect_near(estimate_of(&f).step_s, M * 3.0 * passes_s + 3.0 * update_s, "its estimate");
    job_fixture_release(&f);
}

/* Every stage, with any number of microbatches, against the schedule evaluated on paper. */
Test(rank_properties, passes_take_what_they_take_on_paper) {
    enum { P = 5 };
    for (int slow = 0; slow < P; slow++) {
        for (int microbatches = 1; microbatches <= 21; microbatches += 5) {
            job_fixture f;
            ms_schedule_costs times;
            ms_schedule_result paper;
            load_costs(&f, P, 1, microbatches);
            slow_down(&f, slow, 1.75, 1.0);
            cr_assert_eq(ms_estimate_pass_times(&f.job, &f.arena, &times), MS_OK);
            cr_assert_eq(ms_schedule_evaluate(&f.job.program, &times, &f.arena, &f.diag, &paper),
                         MS_OK);
            expect_near(times.forward[slow], 1.75e-3, "a pass on paper");
            expect_near(step_of(&f), paper.makespan + 1.75 * 5e-3, "step");
            job_fixture_release(&f);
        }
    }
}

/* A ring of two GPUs, each with a port of its own: all bytes of an all-reduce go through both. */
Test(rank_properties, slow_links_slow_down_what_crosses_them) {
    static const char TEXT[] =
        "platform: {file: flat, nodes: 4}\n"
        "mesh: {dp: 4}\n"
        "model: {type: gpt, layers: 2, hidden: 1024, heads: 16, vocab: 0, sequence: 512}\n"
        "batch: {microbatches: 1}\n"
        "fidelity: analytic\n";
    job_fixture f;
    cr_assert_eq(job_fixture_load_text(&f, TEXT), MS_OK, "%s", ms_buffer_text(&f.messages));
    step_of(&f);
    double alike_s = f.result.metrics.axes[MS_AXIS_DP].busy_s;
    double bound_s = estimate_of(&f).lower_bound_s;
    slow_down(&f, 3, 1.0, 4.0);
    double step_s = step_of(&f), slow_s = f.result.metrics.axes[MS_AXIS_DP].busy_s;
    double latency_s = 2 * 3 * 1e-6; /* steps of a ring of four, 1 us each */
    expect_near(slow_s - latency_s, 4.0 * (alike_s - latency_s), "bytes take four times as long");
    ms_estimate estimate = estimate_of(&f);
    cr_assert_lt(fabs(estimate.step_s / step_s - 1.0), 1e-9, "%g against %g", estimate.step_s,
                 step_s);
    cr_assert_leq(estimate.lower_bound_s, step_s);
    cr_assert_gt(estimate.lower_bound_s, bound_s);
    slow_down(&f, 3, 1.0, 1.0);
    expect_near(f.job.platform->link_factors == NULL ? 1.0 : 0.0, 1.0, "the cluster's own links");
    job_fixture_release(&f);
}

/* Two GPUs of a node share its NIC, which takes the larger of their factors, both ways. */
Test(rank_properties, a_ranks_links_are_the_ends_of_its_routes) {
    static const char TEXT[] = "platform: {file: dgx-a100, nodes: 2, node: {gpus: 2, nics: 1}}\n"
                               "mesh: {dp: 4}\n"
                               "costs: {forward: 1 ms, input_gradient: 1 ms}\n"
                               "batch: {microbatches: 1}\n";
    job_fixture f;
    ms_route route;
    cr_assert_eq(job_fixture_load_text(&f, TEXT), MS_OK, "%s", ms_buffer_text(&f.messages));
    const ms_rank_properties all[] = {{1.0, 4.0}, {1.0, 1.5}, {1.0, 1.0}, {1.0, 1.0}};
    cr_assert_eq(ms_job_set_rank_properties(&f.job, all, &f.arena), MS_OK);
    const double *factors = f.job.platform->link_factors;
    ms_platform_route(f.job.platform, 0, 2, &route);
    cr_assert_eq(factors[route.links[0]], 4.0, "out of the node");
    cr_assert_eq(factors[route.links[route.count - 1]], 1.0, "into the other one");
    ms_platform_route(f.job.platform, 2, 0, &route);
    cr_assert_eq(factors[route.links[route.count - 1]], 4.0, "into the node");
    ms_platform_route(f.job.platform, 0, 1, &route);
    cr_assert_eq(factors[route.links[0]], 4.0, "its own port");
    cr_assert_eq(factors[route.links[route.count - 1]], 1.5, "the port of the other one");
    job_fixture_release(&f);
}

/* Groups of two that lie alike but for one rank's links: whichever it is, the step waits for it. */
Test(rank_properties, the_estimate_finds_the_slow_group) {
    static const char TEXT[] =
        "platform: {file: dgx-a100, nodes: 4, node: {gpus: 2, nics: 2}}\n"
        "mesh: {dp: 4, tp: 2, order: [dp, tp]}\n"
        "model: {type: gpt, layers: 2, hidden: 1024, heads: 16, vocab: 0, sequence: 512}\n"
        "batch: {microbatches: 2}\n"
        "fidelity: analytic\n";
    for (int rank = 0; rank < 8; rank++) {
        job_fixture f;
        cr_assert_eq(job_fixture_load_text(&f, TEXT), MS_OK, "%s", ms_buffer_text(&f.messages));
        double alike_s = step_of(&f);
        slow_down(&f, rank, 1.0, 8.0);
        double step_s = step_of(&f);
        cr_assert_gt(step_s, 1.1 * alike_s);
        cr_assert_lt(fabs(estimate_of(&f).step_s / step_s - 1.0), 1e-6, "rank %d: %g against %g",
                     rank, estimate_of(&f).step_s, step_s);
        job_fixture_release(&f);
    }
}

static const struct {
    const char *kind;
    int chunks;
} KINDS[] = {{"1f1b", 1}, {"gpipe", 1}, {"interleaved", 2},
             {"zbh1", 1}, {"zbv", 2},   {"dualpipev", 2}};

/* A job of up to 8 ranks with a small model: any kind of schedule, tp or dp beside pp. */
static void load_random(job_fixture *f, ms_random *random, const char *fidelity) {
    int row = (int)ms_random_range(random, 0, 5), chunks = KINDS[row].chunks;
    int pp = 1 << ms_random_range(random, 0, 2), beside = 1 << ms_random_range(random, 0, 1);
    bool is_tp = ms_random_range(random, 0, 1) == 1;
    char text[TEXT_MAX];
    snprintf(text, sizeof text,
             "platform: {file: dgx-a100, nodes: %d, node: {gpus: 2, nics: 2}}\n"
             "mesh: {pp: %d, %s: %d, order: [pp, %s]}\n"
             "model: {type: gpt, layers: %d, hidden: 1024, heads: 16, vocab: 1024, sequence: 512}\n"
             "schedule: {kind: %s, v: %d}\n"
             "batch: {microbatches: %d}\n"
             "granularity: %s\n"
             "fidelity: %s\n",
             pp * beside > 2 ? pp * beside / 2 : 1, pp, is_tp ? "tp" : "dp",
             pp * beside == 1 ? 2 : beside, is_tp ? "tp" : "dp", pp * chunks * 2, KINDS[row].kind,
             chunks, pp * (int)ms_random_range(random, 2, 4),
             ms_random_range(random, 0, 1) == 1 ? "pass" : "layer", fidelity);
    cr_assert_eq(job_fixture_load_text(f, text), MS_OK, "%s: %s", text,
                 ms_buffer_text(&f->messages));
}

/* Factors from 0.5 to 2 for some ranks. */
static void draw_properties(ms_random *random, int ranks, ms_rank_properties *all) {
    for (int r = 0; r < ranks; r++) {
        bool is_slow = ms_random_range(random, 0, 2) == 0;
        all[r] = (ms_rank_properties){1.0, 1.0};
        if (is_slow) {
            all[r].compute_factor = 0.5 + 0.25 * (double)ms_random_range(random, 0, 6);
            all[r].link_factor = 0.5 + 0.5 * (double)ms_random_range(random, 0, 3);
        }
    }
}

static uint64_t seed_of(void) {
    const char *given = getenv("MS_SEED");
    return given == NULL ? 20270210U : strtoull(given, NULL, 0);
}

/* Without shared links times are sums and maxima of what everything takes by itself. */
Test(rank_properties, a_slower_rank_never_makes_a_step_shorter) {
    for (uint64_t i = 0; i < 60; i++) {
        ms_random random = {seed_of() + i};
        ms_rank_properties all[RANKS_MAX];
        job_fixture f;
        load_random(&f, &random, "analytic");
        draw_properties(&random, f.job.mesh.ranks, all);
        cr_assert_eq(ms_job_set_rank_properties(&f.job, all, &f.arena), MS_OK);
        double before_s = step_of(&f), bound_s = estimate_of(&f).lower_bound_s;
        int rank = (int)ms_random_range(&random, 0, f.job.mesh.ranks - 1);
        bool has_slow_links = ms_random_range(&random, 0, 1) == 1;
        *(has_slow_links ? &all[rank].link_factor : &all[rank].compute_factor) *= 1.5;
        cr_assert_eq(ms_job_set_rank_properties(&f.job, all, &f.arena), MS_OK);
        cr_assert_geq(step_of(&f), before_s * (1.0 - 1e-12), "MS_SEED=%llu",
                      (unsigned long long)(seed_of() + i));
        cr_assert_geq(estimate_of(&f).lower_bound_s, bound_s * (1.0 - 1e-12), "MS_SEED=%llu",
                      (unsigned long long)(seed_of() + i));
        job_fixture_release(&f);
    }
}

/* The bound of a model's work is that of its fastest rank: half of the bound where every rank takes
 * half as long, and unchanged where another rank becomes slower. */
Test(rank_properties, the_bound_of_the_work_is_the_fastest_ranks) {
    job_fixture f;
    ms_memo bounds;
    ms_work_bound even, halved, slowed;
    cr_assert_eq(job_fixture_load(&f, "tiny", NULL, NULL, false), MS_OK, "%s",
                 ms_buffer_text(&f.messages));
    ms_work_bounds_init(&bounds);
    cr_assert_eq(ms_work_bound_find(&bounds, &f.job, &f.arena, &even), MS_OK);
    ms_rank_properties *all = MS_NEW(&f.arena, ms_rank_properties, f.job.mesh.ranks);
    for (int r = 0; r < f.job.mesh.ranks; r++) {
        all[r] = (ms_rank_properties){0.5, 1.0};
    }
    cr_assert_eq(ms_job_set_rank_properties(&f.job, all, &f.arena), MS_OK);
    cr_assert_eq(ms_work_bound_find(&bounds, &f.job, &f.arena, &halved), MS_OK);
    all[0].compute_factor = 3.0;
    cr_assert_eq(ms_job_set_rank_properties(&f.job, all, &f.arena), MS_OK);
    cr_assert_eq(ms_work_bound_find(&bounds, &f.job, &f.arena, &slowed), MS_OK);
    cr_assert_gt(even.step_s, 0.0);
    cr_assert_float_eq(halved.busy_s / even.busy_s, 0.5, 1e-12);
    cr_assert_float_eq(halved.step_s / even.step_s, 0.5, 1e-12);
    cr_assert_eq(slowed.busy_s, halved.busy_s);
    cr_assert_eq(slowed.step_s, halved.step_s);
    ms_memo_release(&bounds);
    job_fixture_release(&f);
}

/* Ranks that differ are told apart, and no simulation is below the bound. */
Test(rank_properties, folded_is_unfolded_and_not_below_the_bound) {
    static const char *const FIDELITIES[] = {"analytic", "flow"};
    for (uint64_t i = 0; i < 60; i++) {
        ms_random random = {seed_of() + i};
        ms_rank_properties all[RANKS_MAX];
        job_fixture f;
        load_random(&f, &random, FIDELITIES[i % 2]);
        draw_properties(&random, f.job.mesh.ranks, all);
        cr_assert_eq(ms_job_set_rank_properties(&f.job, all, &f.arena), MS_OK);
        double bound_s = estimate_of(&f).lower_bound_s;
        double folded_s = step_of(&f);
        cr_assert(f.result.fold.is_exact);
        f.job.run.no_fold = true;
        double unfolded_s = step_of(&f);
        cr_assert_lt(fabs(folded_s / unfolded_s - 1.0), 1e-9, "MS_SEED=%llu: %.15g against %.15g",
                     (unsigned long long)(seed_of() + i), folded_s, unfolded_s);
        cr_assert_leq(bound_s, folded_s, "MS_SEED=%llu: bound %g of %g",
                      (unsigned long long)(seed_of() + i), bound_s, folded_s);
        job_fixture_release(&f);
    }
}

/* Factors of 1 change no bit of anything, and factors that cannot be used change nothing. */
Test(rank_properties, factors_of_1_are_none) {
    static const double BAD[] = {0.0, -1.0, INFINITY, NAN};
    for (uint64_t i = 0; i < 40; i++) {
        ms_random random = {seed_of() + i};
        ms_run_figures before, after;
        job_fixture f;
        load_random(&f, &random, i % 2 == 0 ? "analytic" : "flow");
        ms_estimate one = estimate_of(&f);
        step_of(&f);
        ms_result_figures(&f.result, &before);
        int operations = f.result.dag.op_count;
        slow_down(&f, 0, 1.0, 1.0);
        ms_estimate two = estimate_of(&f);
        step_of(&f);
        ms_result_figures(&f.result, &after);
        cr_assert_eq(memcmp(&before, &after, sizeof before), 0);
        cr_assert_eq(operations, f.result.dag.op_count);
        cr_assert(one.step_s == two.step_s && one.lower_bound_s == two.lower_bound_s &&
                  one.busy_s == two.busy_s &&
                  one.ideal_bubble_fraction == two.ideal_bubble_fraction);
        ms_rank_properties all[RANKS_MAX];
        draw_properties(&random, f.job.mesh.ranks, all);
        const ms_rank_properties *kept = f.job.rank_properties;
        *(i % 2 == 0 ? &all[0].compute_factor : &all[0].link_factor) = BAD[i / 2 % 4];
        cr_assert_eq(ms_job_set_rank_properties(&f.job, all, &f.arena), MS_E_RANGE);
        cr_assert_eq(f.job.rank_properties, kept);
        job_fixture_release(&f);
    }
}

/* Steps that repeat themselves are cut short with slow ranks, too, and come to the same. Of two
 * replicas the faster one runs ahead, so that nothing repeats itself on all ranks at once. */
Test(rank_properties, fast_forward_comes_to_the_same) {
    for (int dp = 1; dp <= 2; dp++) {
        job_fixture f;
        load_costs(&f, 4, dp, 400);
        slow_down(&f, 4 * dp - 1, 1.3, 1.0);
        double step_s = step_of(&f);
        cr_assert_eq(f.result.fast_forwarded > 300, dp == 1, "%d", f.result.fast_forwarded);
        f.job.run.no_fast_forward = true;
        expect_near(step_of(&f), step_s, "every microbatch");
        cr_assert_eq(f.result.fast_forwarded, 0);
        job_fixture_release(&f);
    }
}

/* Passes that are one operation take what their layers take. */
Test(rank_properties, fused_passes_take_what_layers_take) {
    for (uint64_t i = 0; i < 40; i++) {
        ms_random random = {seed_of() + i};
        ms_rank_properties all[RANKS_MAX];
        job_fixture f;
        load_random(&f, &random, "analytic");
        draw_properties(&random, f.job.mesh.ranks, all);
        cr_assert_eq(ms_job_set_rank_properties(&f.job, all, &f.arena), MS_OK);
        f.job.spec.simulation.granularity = MS_GRANULARITY_LAYER;
        double layers_s = step_of(&f);
        f.job.spec.simulation.granularity = MS_GRANULARITY_PASS;
        double passes_s = step_of(&f);
        cr_assert_lt(fabs(passes_s / layers_s - 1.0), 1e-9, "MS_SEED=%llu: %.15g against %.15g",
                     (unsigned long long)(seed_of() + i), passes_s, layers_s);
        job_fixture_release(&f);
    }
}

/* One rank cannot stand for others that compute at another speed. */
Test(rank_properties, bounds_of_folding_are_refused) {
    job_fixture f;
    load_costs(&f, 1, 4, 6);
    f.job.run.is_bounded = true;
    slow_down(&f, 2, 1.5, 1.0);
    cr_assert_eq(ms_job_run(&f.job, &f.arena, &f.diag, &f.result), MS_E_INPUT);
    cr_assert_not_null(strstr(ms_buffer_text(&f.messages), "ranks of pipeline rank 0 compute at "
                                                           "different speeds"));
    job_fixture_release(&f);
}

/* With a host that launches in time, a slow rank's last kernel is launched before it ends. */
Test(rank_properties, hosts_launch_slow_ranks_alike) {
    for (uint64_t i = 0; i < 20; i++) {
        ms_random random = {seed_of() + i};
        job_fixture f;
        load_random(&f, &random, "analytic");
        f.job.host.launch_s = 5e-6 * (double)ms_random_range(&random, 1, 4);
        slow_down(&f, (int)ms_random_range(&random, 0, f.job.mesh.ranks - 1), 3.0, 1.0);
        ms_estimate estimate = estimate_of(&f);
        cr_assert_leq(estimate.lower_bound_s, step_of(&f), "MS_SEED=%llu",
                      (unsigned long long)(seed_of() + i));
        job_fixture_release(&f);
    }
}
