/* Textbook figures of what the axes communicate, as a simulation reports them. */
#include <criterion/criterion.h>
#include <math.h>

#include "collective/collective.h"
#include "job_fixture.h"

static bool is_near(double value, double expected) {
    return fabs(value - expected) <= 1e-9 * expected;
}

/* 30 billion parameters over pp 4 and tp 4 in bf16 leave 3.75 GB of gradients; at dp 8 a rank
 * sends 3.28125 GB in a reduce-scatter and as much in an all-gather, 6.5625 GB in an all-reduce. */
static const char THIRTY_BILLION[] =
    "platform: {file: dgx-a100, nodes: 16}\n"
    "model: {type: gpt, layers: 32, hidden: 4096, heads: 32, vocab: 0, sequence: 1024, "
    "parameters_override: 30000000000}\n"
    "mesh: {pp: 4, dp: 8, tp: 4, order: [pp, dp, tp]}\n"
    "batch: {global: 32}\n"
    "precision: {parameters: bf16, gradients: bf16}\n"
    "recompute: full\n"
    "fidelity: analytic\n";

static const ms_result *run_text(job_fixture *f, const char *text, const char *more) {
    char whole[1024];
    snprintf(whole, sizeof whole, "%s%s", text, more);
    cr_assert_eq(job_fixture_load_text(f, whole), MS_OK, "%s", ms_buffer_text(&f->messages));
    cr_assert_eq(ms_job_run(&f->job, &f->arena, &f->diag, &f->result), MS_OK);
    return &f->result;
}

Test(communication_figures, data_parallel_gradients) {
    job_fixture plain;
    job_fixture sharded;
    const ms_result *a = run_text(&plain, THIRTY_BILLION, "");
    const ms_result *b = run_text(&sharded, THIRTY_BILLION, "data_parallel: {zero: 1}\n");
    cr_assert(is_near(plain.job.costs.stage[0].memory.gradient_B, 3.75e9));
    cr_assert(is_near(a->metrics.axes[MS_AXIS_DP].bytes, 6.5625e9), "%.10g",
              a->metrics.axes[MS_AXIS_DP].bytes);
    cr_assert(is_near(b->metrics.axes[MS_AXIS_DP].bytes, 2 * 3.28125e9));
    for (int i = 0; i < b->metrics.collective_count; i++) {
        const ms_coll_row *row = &b->metrics.collectives[i];
        cr_assert(row->axis != MS_AXIS_DP || is_near(row->size_B, 3.75e9));
    }
    job_fixture_release(&plain);
    job_fixture_release(&sharded);
}

/* b 2, s 2048, h 8192 in bf16: 67.1 MB cross a stage boundary per microbatch and direction, and
 * each of a layer's two all-reduces has that payload. */
Test(communication_figures, boundary_and_layer_payload) {
    job_fixture f;
    const ms_result *r = run_text(
        &f,
        "platform: {file: dgx-a100, nodes: 1}\n"
        "model: {type: gpt, layers: 4, hidden: 8192, heads: 64, vocab: 0, sequence: 2048}\n"
        "mesh: {pp: 2, tp: 4, order: [pp, tp]}\n"
        "batch: {global: 8, micro: 2}\n"
        "fidelity: analytic\n",
        "");
    for (int i = 0; i < r->metrics.collective_count; i++) {
        bool is_norm = r->metrics.collectives[i].axis == MS_AXIS_OTHER;
        cr_assert(is_norm || is_near(r->metrics.collectives[i].size_B, 67108864.0));
    }
    /* four microbatches, one boundary: each rank sends four times */
    cr_assert(is_near(r->metrics.axes[MS_AXIS_PP].bytes, 4 * 67108864.0));
    /* two layers a rank, two all-reduces forward and two backward, 2(n-1)/n of the payload each */
    cr_assert(is_near(r->metrics.axes[MS_AXIS_TP].bytes, 4 * 2 * 4 * 1.5 * 67108864.0));
    job_fixture_release(&f);
}

/* b 1, s 8192, h 16384, 80 layers: 42.95 GB of tp payload per forward pass, 47.7 ms at 900 GB/s and
 * 859 ms at 50 GB/s; a ring over tp 8 takes 7/4 of that. */
Test(communication_figures, tensor_payload_over_a_bandwidth) {
    const double bandwidths_Bps[] = {900e9, 50e9};
    const double payload_s[] = {47.7e-3, 859e-3};
    for (int i = 0; i < 2; i++) {
        char text[768];
        snprintf(text, sizeof text,
                 "platform: {file: dgx-h100, nodes: 1, library: none, tiers: {nvlink: {bandwidth: "
                 "%.0f GB/s, "
                 "efficiency: 1, latency: 0 s}}}\n"
                 "model: {type: gpt, layers: 80, hidden: 16384, heads: 128, vocab: 0, sequence: "
                 "8192}\n"
                 "mesh: {tp: 8, order: [tp]}\n"
                 "batch: {global: 1}\n"
                 "fidelity: analytic\n",
                 bandwidths_Bps[i] * 1e-9);
        job_fixture f;
        const ms_result *r = run_text(&f, text, "");
        double forward_s = 0.0;
        double payload_B = 0.0;
        for (int32_t op = 0; op < r->dag.op_count; op++) {
            /* the forward pass comes first: two all-reduces for each of 80 layers */
            if (r->dag.ops[op].axis == MS_AXIS_TP && payload_B < 42.9e9) {
                forward_s += r->timeline.end_s[op] - r->timeline.start_s[op];
                payload_B += r->dag.works[r->dag.ops[op].work].size_B;
            }
        }
        cr_assert(is_near(payload_B, 42.94967296e9), "%.10g", payload_B);
        cr_assert(is_near(forward_s, 1.75 * payload_B / bandwidths_Bps[i]), "%.10g", forward_s);
        cr_assert_lt(fabs(forward_s / 1.75 / payload_s[i] - 1), 1e-3);
        job_fixture_release(&f);
    }
}

/* Interleaving V chunks sends V P - 1 messages per microbatch and direction in place of P - 1. */
Test(communication_figures, messages_of_interleaving) {
    static const int CHUNKS[] = {1, 2, 4};
    for (int i = 0; i < 3; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "platform: {file: ideal, nodes: 4}\n"
                 "mesh: {pp: 4, order: [pp]}\n"
                 "costs: {forward: 1 ms, input_gradient: 1 ms, weight_gradient: 1 ms}\n"
                 "schedule: {kind: %s, v: %d}\n"
                 "batch: {microbatches: 8}\n"
                 "fidelity: analytic\n",
                 CHUNKS[i] == 1 ? "1f1b" : "interleaved", CHUNKS[i]);
        job_fixture f;
        const ms_result *r = run_text(&f, text, "");
        int messages = 0;
        for (int32_t op = 0; op < r->dag.op_count; op++) {
            messages += r->dag.ops[op].kind == MS_OP_P2P ? 1 : 0;
        }
        cr_assert_eq(messages, 2 * 8 * (CHUNKS[i] * 4 - 1), "%d", messages);
        job_fixture_release(&f);
    }
}

/* The norm among 2,048 ranks of two sites: four ways over the WAN of 10.5 ms each, as the
 * all-reduce of 4 bytes that `collective` times, 42.1 ms. */
Test(communication_figures, norm_over_two_sites) {
    job_fixture f;
    const ms_result *r = run_text(
        &f,
        "platform: {file: two-sites}\n"
        "model: {type: gpt, layers: 128, hidden: 1024, heads: 16, vocab: 0, sequence: 1024}\n"
        "mesh: {dp: 2, pp: 128, tp: 8, order: [dp, pp, tp]}\n"
        "batch: {global: 64}\n"
        "precision: {parameters: bf16, gradients: fp32, optimizer: 12 B}\n",
        "");
    double norm_s = 0.0;
    for (int i = 0; i < r->metrics.collective_count; i++) {
        const ms_coll_row *row = &r->metrics.collectives[i];
        norm_s = row->axis == MS_AXIS_OTHER && row->size_B <= 4.0 ? row->time_s : norm_s;
    }
    cr_assert_float_eq(norm_s, 42.1e-3, 0.05e-3, "%g", norm_s);
    job_fixture_release(&f);
}
