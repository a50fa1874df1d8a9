/* Uneven experts slow a step by what the busiest expert rank explains, and by nothing else. */
#include <criterion/criterion.h>
#include <math.h>

#include "job_fixture.h"

static const char WORKLOAD[] =
    "platform: {file: dgx-h100, nodes: 2}\n"
    "model:\n"
    "  type: llama\n"
    "  layers: 6\n"
    "  hidden: 2048\n"
    "  heads: 16\n"
    "  ffn: 8192\n"
    "  vocab: 32000\n"
    "  sequence: 4096\n"
    "  moe: {experts: 64, top_k: 6, ffn: 1408, first_dense_layers: 1, seed: 3, imbalance: {spread: "
    "%s}}\n"
    "mesh: {dp: 2, ep: 8, order: [dp, ep]}\n"
    "batch: {global: 64}\n"
    "fidelity: analytic\n";

static const ms_result *run_spread(job_fixture *f, const char *spread) {
    char text[1024];
    snprintf(text, sizeof text, WORKLOAD, spread);
    cr_assert_eq(job_fixture_load_text(f, text), MS_OK, "%s", ms_buffer_text(&f->messages));
    cr_assert_eq(ms_job_run(&f->job, &f->arena, &f->diag, &f->result), MS_OK);
    return &f->result;
}

/* One pipeline rank without overlap does one thing after the other, so the step is the sum of its
 * operations. */
Test(experts, the_busiest_rank_explains_the_step) {
    job_fixture a;
    job_fixture b;
    const ms_result *even = run_spread(&a, "0");
    const ms_result *uneven = run_spread(&b, "0.3");
    cr_assert_eq(even->dag.op_count, uneven->dag.op_count);
    double explained_s = 0.0;
    for (int32_t op = 0; op < even->dag.op_count; op++) {
        double even_s = even->timeline.end_s[op] - even->timeline.start_s[op];
        double uneven_s = uneven->timeline.end_s[op] - uneven->timeline.start_s[op];
        const ms_dag_op *o = &uneven->dag.ops[op];
        cr_assert_geq(uneven_s, even_s * (1 - 1e-9));
        /* the first layer is dense: nothing there differs */
        cr_assert(o->layer >= 1 || fabs(uneven_s - even_s) <= 1e-9 * even_s, "op %d", op);
        if (o->axis == MS_AXIS_EP) {
            /* busiest over mean; the latency does not stretch */
            double skew = uneven->dag.works[o->work].skew;
            cr_assert_gt(skew, 1.0);
            cr_assert_leq(uneven_s, skew * even_s * (1 + 1e-9));
        }
        explained_s += uneven_s - even_s;
    }
    double slower_s = uneven->metrics.step_time_s - even->metrics.step_time_s;
    cr_assert_gt(slower_s, 0.01 * even->metrics.step_time_s);
    cr_assert_lt(fabs(slower_s / explained_s - 1), 1e-6, "%g against %g", slower_s, explained_s);
    cr_assert_lt(
        fabs(uneven->metrics.axes[MS_AXIS_EP].bytes / even->metrics.axes[MS_AXIS_EP].bytes - 1),
        1e-12, "every token is sent once, wherever it goes");
    job_fixture_release(&a);
    job_fixture_release(&b);
}

/* The same seed draws the same experts. */
Test(experts, a_seed_is_reproducible) {
    job_fixture a;
    job_fixture b;
    double first_s = run_spread(&a, "0.3")->metrics.step_time_s;
    double again_s = run_spread(&b, "0.3")->metrics.step_time_s;
    cr_assert(first_s == again_s);
    job_fixture_release(&a);
    job_fixture_release(&b);
}
