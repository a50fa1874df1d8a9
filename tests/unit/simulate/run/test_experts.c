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
            const ms_dag_network *network = &uneven->dag.network;
            int32_t phase = uneven->dag.works[o->work].phase_first;
            double slowness = network->flows[network->phases[phase].flow_first].slowness;
            cr_assert_gt(slowness, 1.0);
            cr_assert_leq(uneven_s, slowness * even_s * (1 + 1e-9));
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

/* Two nodes of DGX H100, one all-to-all group over both; the limit of nodes a token may reach. */
static double exchange_s(const char *limit, const ms_coll_row **row_out) {
    static const char LIMITED[] =
        "platform: {file: dgx-h100, nodes: 2}\n"
        "model: {type: llama, layers: 4, hidden: 2048, heads: 16, ffn: 8192, vocab: 0,\n"
        "  sequence: 4096, moe: {experts: 64, top_k: 6, ffn: 1408%s}}\n"
        "mesh: {ep: 16, order: [ep]}\n"
        "batch: {global: 16}\n";
    char text[1024];
    static job_fixture f;
    snprintf(text, sizeof text, LIMITED, limit);
    cr_assert_eq(job_fixture_load_text(&f, text), MS_OK, "%s", ms_buffer_text(&f.messages));
    cr_assert_eq(ms_job_run(&f.job, &f.arena, &f.diag, &f.result), MS_OK);
    for (int i = 0; i < f.result.metrics.collective_count; i++) {
        if (f.result.metrics.collectives[i].axis == MS_AXIS_EP) {
            *row_out = &f.result.metrics.collectives[i];
        }
    }
    return (*row_out)->time_s;
}

/* Of 4,096 tokens of 4 KiB, half cross the rail of 46 GB/s where one node is open to each, 0.182
 * ms; meanwhile each is forwarded to 4.67 of the 8 ranks, 7/8 of that over NVLink of 366.75 GB/s,
 * 0.187 ms. Rail and NVLink take 17.4 us to cross, and the
 * exchange 2 us on the GPU. With both nodes open 1.976 nodes see a token. */
Test(experts, a_limit_of_one_node_is_bound_by_forwarding) {
    const ms_coll_row *row = NULL;
    double time_s = exchange_s(", node_limit: 1", &row);
    double ranks = 8 * (1 - 28.0 * 27 * 26 * 25 * 24 * 23 / (32.0 * 31 * 30 * 29 * 28 * 27));
    double nvlink_s = 4096 * 4096 * ranks * 7 / 8 / (450e9 * 0.815);
    cr_assert_gt(nvlink_s, 4096 * 4096 / 2 / (400e9 / 8 * 0.92));
    cr_assert_lt(fabs(time_s / (nvlink_s + 19.4e-6) - 1), 1e-9, "%g", time_s);
    cr_assert_lt(fabs(time_s / 0.2065e-3 - 1), 0.02);
    cr_assert_lt(fabs(row->alone_s / time_s - 1), 1e-12);
}

Test(experts, a_limit_of_two_nodes_is_bound_by_rails) {
    const ms_coll_row *row = NULL;
    double time_s = exchange_s(", node_limit: 2", &row);
    double missed = 1.0; /* no expert of a token's six on a node with 32 of the 64 */
    for (int i = 0; i < 6; i++) {
        missed *= (32.0 - i) / (64.0 - i);
    }
    double rail_s = 4096 * 4096 * (1 - missed) / (400e9 / 8 * 0.92);
    cr_assert_lt(fabs(time_s / (rail_s + 19.4e-6) - 1), 1e-9, "%g", time_s);
    cr_assert_lt(fabs(time_s / 0.380e-3 - 1), 0.02);
    cr_assert_lt(fabs(row->alone_s / time_s - 1), 1e-12);
}

Test(experts, without_a_limit_every_copy_crosses) {
    const ms_coll_row *row = NULL;
    double time_s = exchange_s("", &row);
    double rail_s = 4096 * 4096 * 6.0 / 2 / (400e9 / 8 * 0.92);
    cr_assert_lt(fabs(time_s / (rail_s + 19.4e-6) - 1), 1e-9, "%g", time_s);
    cr_assert_gt(time_s, 0.378e-3);
}
