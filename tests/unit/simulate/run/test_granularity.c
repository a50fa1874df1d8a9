/* Passes as single operations against the layers that they stand for, where both say the same: no
 * other traffic crosses the links of what a pass hides, and messages slow nothing down. */
#include <math.h>

#include "job_fixture.h"

/* Everything but messages slows computations down, each kind by another factor. */
#define SLOWED                                                                                     \
    "platform.gpu.compute_slowdown={all_reduce: 1.3, all_gather: 1.5, reduce_scatter: 1.2, "       \
    "all_to_all: 1.4, ring_shift: 1.6}"
#define BULK "tensor_parallel={sequence: true, overlap: bulk}"

typedef struct granularity_case {
    const char *sets[8];
    bool is_alone; /* one pipeline rank: ranks never wait for each other in a pass */
} granularity_case;

static const ms_result *run(job_fixture *f, const granularity_case *c, const char *granularity,
                            const char *steps) {
    const char *sets[11] = {granularity, steps};
    for (int i = 0; i < 8 && c->sets[i] != NULL; i++) {
        sets[2 + i] = c->sets[i];
    }
    return job_fixture_run(f, "tiny", sets, "analytic", false);
}

static void expect(double a, double b, double of, const char *what, size_t i) {
    cr_assert_leq(fabs(a - b), 1e-9 * of, "case %zu, %s: %.12g of layers, %.12g of passes", i, what,
                  a, b);
}

/* A rank of a pipeline is early at a pass at one granularity and at its first collective at the
 * other: what it waits there is exposed or idle, and their sum is the same. */
static void expect_axes(const ms_result *layer, const ms_result *pass, bool is_alone, size_t i) {
    double step_s = layer->metrics.step_time_s;
    for (int axis = 0; axis < MS_AXIS_COUNT; axis++) {
        const char *name = ms_axis_name((ms_axis)axis);
        const ms_axis_use *a = &layer->metrics.axes[axis], *b = &pass->metrics.axes[axis];
        expect(a->bytes, b->bytes, a->bytes, name, i);
        expect(a->busy_s, b->busy_s, step_s, name, i);
        expect(b->busy_s, b->exposed_s + b->overlapped_s + b->in_idle_s, step_s, name, i);
        if (is_alone) {
            expect(a->exposed_s, b->exposed_s, step_s, name, i);
            expect(a->overlapped_s, b->overlapped_s, step_s, name, i);
        }
        expect(a->exposed_s + a->overlapped_s + a->in_idle_s,
               b->exposed_s + b->overlapped_s + b->in_idle_s, step_s, name, i);
    }
}

static void compare(const granularity_case *c, const char *steps, size_t i) {
    job_fixture layers, passes;
    const ms_result *layer = run(&layers, c, "granularity=layer", steps);
    const ms_result *pass = run(&passes, c, "granularity=pass", steps);
    cr_assert_lt(pass->dag.op_count, layer->dag.op_count, "case %zu: nothing is fused", i);
    expect(layer->metrics.step_time_s, pass->metrics.step_time_s, layer->metrics.step_time_s,
           "step", i);
    expect_axes(layer, pass, c->is_alone, i);
    if (c->is_alone) {
        for (int category = 0; category < MS_TIME_COUNT; category++) {
            expect(layer->metrics.share[category], pass->metrics.share[category], 1.0, "share", i);
        }
    }
    job_fixture_release(&layers);
    job_fixture_release(&passes);
}

/* What runs beside a computation inside the pass slows it down as it does layer by layer. */
Test(job_granularity, a_slowed_pass_takes_what_its_layers_take) {
    static const granularity_case CASES[] = {
        {{"mesh.pp=1", "mesh.dp=4", SLOWED, BULK}, true},
        {{"mesh={tp: 4, dp: 2}", SLOWED, BULK, "recompute=full"}, true},
        {{"mesh={tp: 2, cp: 2, dp: 2, order: [dp, cp, tp]}", SLOWED, BULK,
          "context_parallel.overlap=true"},
         true},
        {{SLOWED, BULK}, false},
        {{SLOWED, BULK, "schedule={kind: interleaved, v: 2}"}, false},
        {{SLOWED, "tensor_parallel.sequence=true", "schedule.kind=dualpipev"}, false},
        {{SLOWED, "schedule.kind=dualpipe", "batch.global=32"}, false},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        compare(&CASES[i], "steps=1", i);
    }
}

/* A slowed pass is slower than one that is not, by the same time at both granularities. */
Test(job_granularity, slowing_passes_down_costs_time) {
    static const granularity_case PLAIN = {{"mesh.pp=1", "mesh.dp=4", BULK}, true};
    static const granularity_case SLOW = {{"mesh.pp=1", "mesh.dp=4", BULK, SLOWED}, true};
    job_fixture plain, slow;
    double plain_s = run(&plain, &PLAIN, "granularity=pass", "steps=1")->metrics.step_time_s;
    double slow_s = run(&slow, &SLOW, "granularity=pass", "steps=1")->metrics.step_time_s;
    cr_assert_gt(slow_s, 1.002 * plain_s, "%g, %g", slow_s, plain_s);
    job_fixture_release(&plain);
    job_fixture_release(&slow);
}

/* Of several steps each figure is a step's, for every axis. */
Test(job_granularity, axes_of_several_steps_are_those_of_layers) {
    static const granularity_case CASES[] = {
        {{"mesh.pp=1", "mesh.dp=4", "data_parallel.zero=1"}, true},
        {{"mesh.pp=1", "mesh.dp=4", "data_parallel.zero=3"}, true},
        {{"mesh.pp=1", "mesh.dp=4", BULK, SLOWED}, true},
        {{"mesh={tp: 2, cp: 2, dp: 2, order: [dp, cp, tp]}", "context_parallel.overlap=true"},
         true},
        {{"mesh={tp: 2, cp: 2, dp: 2, order: [dp, cp, tp]}", "context_parallel.overlap=false",
          BULK},
         true},
        {{"mesh={tp: 1, dp: 4, ep: 2, order: [dp, ep, tp]}", "model.bias=false",
          "model.moe={experts: 8, top_k: 2}"},
         true},
        {{"mesh={tp: 2, dp: 2, ep: 2, order: [dp, ep, tp]}", "model.bias=false",
          "tensor_parallel.sequence=true", "model.moe={experts: 8, top_k: 2}"},
         true},
        {{BULK}, false},
        {{"tensor_parallel.sequence=true", "data_parallel.zero=1"}, false},
        {{"schedule={kind: interleaved, v: 2}", BULK}, false},
        {{"schedule.step_end=post_validation", BULK}, false},
        {{"schedule={kind: zbh1, step_end: post_validation}", "tensor_parallel.sequence=true"},
         false},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        compare(&CASES[i], "steps=3", i);
    }
}

/* Steps whose ranks all meet are alike, so that a step's figures do not depend on how many there
 * are. */
Test(job_granularity, steps_that_meet_have_the_figures_of_one) {
    static const granularity_case CASES[] = {
        {{"mesh.pp=1", "mesh.dp=4", BULK}, true},
        {{"mesh={tp: 2, cp: 2, dp: 2, order: [dp, cp, tp]}", "context_parallel.overlap=true"},
         true},
        {{BULK, "schedule={kind: interleaved, v: 2}"}, false},
    };
    static const char *const GRANULARITIES[] = {"granularity=layer", "granularity=pass"};
    for (size_t i = 0; i < 2 * sizeof CASES / sizeof CASES[0]; i++) {
        job_fixture one, three;
        const granularity_case *c = &CASES[i / 2];
        const ms_result *a = run(&one, c, GRANULARITIES[i % 2], "steps=1");
        const ms_result *b = run(&three, c, GRANULARITIES[i % 2], "steps=3");
        expect(a->metrics.step_time_s, b->metrics.step_time_s, a->metrics.step_time_s, "step", i);
        expect_axes(a, b, true, i);
        job_fixture_release(&one);
        job_fixture_release(&three);
    }
}

/* Pairs of tp across two nodes with one NIC each, which four pairs share: rows of collectives say
 * of passes what they say of layers, how long one takes with the others, and how long alone. */
Test(job_granularity, rows_of_collectives_are_those_of_layers) {
    const char *layer_sets[] = {"platform={file: dgx-a100, nodes: 2, node: {gpus: 4, nics: 1}, "
                                "library: none}",
                                "mesh={tp: 2, dp: 4, order: [tp, dp]}", "granularity=layer", NULL};
    const char *pass_sets[] = {layer_sets[0], layer_sets[1], "granularity=pass", NULL};
    job_fixture layers, passes;
    const ms_metrics *a = &job_fixture_run(&layers, "tiny", layer_sets, "flow", false)->metrics;
    const ms_metrics *b = &job_fixture_run(&passes, "tiny", pass_sets, "flow", false)->metrics;
    cr_assert_lt(passes.result.dag.op_count, layers.result.dag.op_count);
    cr_assert_eq(a->collective_count, b->collective_count);
    int shared = 0;
    for (int i = 0; i < a->collective_count; i++) {
        const ms_coll_row *row = &a->collectives[i], *other = NULL;
        for (int k = 0; k < b->collective_count; k++) {
            const ms_coll_row *c = &b->collectives[k];
            bool is_it = c->axis == row->axis && c->kind == row->kind && c->size_B == row->size_B;
            other = is_it ? c : other;
        }
        cr_assert_not_null(other, "row %d", i);
        expect(row->count_per_rank, other->count_per_rank, row->count_per_rank, "count", 0);
        expect(row->time_s, other->time_s, row->time_s, "time", 0);
        expect(row->alone_s, other->alone_s, row->alone_s, "alone", 0);
        expect(row->latency_s, other->latency_s, row->latency_s, "latency", 0);
        bool is_shared = row->axis == MS_AXIS_TP && row->size_B > 0.0;
        if (is_shared) {
            double bytes_s = row->alone_s - row->latency_s;
            expect(row->time_s, row->latency_s + 4 * bytes_s, row->time_s, "four share", 0);
            shared++;
        }
    }
    cr_assert_gt(shared, 0);
    job_fixture_release(&layers);
    job_fixture_release(&passes);
}
