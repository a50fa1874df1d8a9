/* Overlap moves time from exposed to overlapped and leaves the bytes alone. */
#include <criterion/criterion.h>
#include <math.h>

#include "job_fixture.h"

static double apart(double a, double b) {
    return a == b ? 0 : fabs(a - b) / fmax(fabs(a), fabs(b));
}

/* Large products on one node and one replica per group: private links, pieces fill the GPU. */
#define BASE                                                                                       \
    "platform: {file: dgx-h100, nodes: 2, library: none}\n"                                        \
    "model: {type: llama, layers: 4, hidden: 8192, heads: 64, kv_heads: 8, ffn: 28672,\n"          \
    "  vocab: 0, sequence: 16384}\n"                                                               \
    "fidelity: analytic\n"

typedef struct overlap_case {
    const char *name;
    const char *text;    /* beside BASE */
    const char *with;    /* what turns overlap on */
    const char *without; /* and off */
    ms_axis axis;
} overlap_case;

static const overlap_case CASES[] = {
    {"bulk", "mesh: {tp: 8, dp: 2}\nbatch: {microbatches: 2}\n",
     "tensor_parallel: {sequence: true, overlap: bulk}\n", "tensor_parallel: {sequence: true}\n",
     MS_AXIS_TP},
    {"bulk all-reduce", "mesh: {tp: 8, dp: 2}\nbatch: {microbatches: 2}\n",
     "tensor_parallel: {overlap: bulk}\n", "", MS_AXIS_TP},
    {"chunks", "mesh: {tp: 8, dp: 2}\nbatch: {microbatches: 2}\n",
     "tensor_parallel: {sequence: true, overlap: chunks}\n", "tensor_parallel: {sequence: true}\n",
     MS_AXIS_TP},
    {"ring of products", "mesh: {tp: 8, dp: 2}\nbatch: {microbatches: 2}\n",
     "tensor_parallel: {sequence: true, overlap: ring}\n", "tensor_parallel: {sequence: true}\n",
     MS_AXIS_TP},
    {"ring of keys and values", "mesh: {cp: 8, dp: 2}\nbatch: {microbatches: 2}\n",
     "context_parallel: {overlap: true}\n", "context_parallel: {overlap: false}\n", MS_AXIS_CP},
    {"gradients", "mesh: {tp: 8, dp: 2}\nbatch: {microbatches: 3}\n",
     "data_parallel: {overlap_reduce: true}\n", "", MS_AXIS_DP},
    {"optimizer", "mesh: {tp: 8, dp: 2}\nbatch: {microbatches: 3}\n",
     "data_parallel: {zero: 1, overlap_reduce: true, overlap_gather: true}\n",
     "data_parallel: {zero: 1}\n", MS_AXIS_DP},
    {"parameters", "mesh: {tp: 8, dp: 2}\nbatch: {microbatches: 3}\n",
     "data_parallel: {zero: 3, reduce: every, overlap_reduce: true, overlap_gather: true}\n",
     "data_parallel: {zero: 3, reduce: every}\n", MS_AXIS_DP},
    {"kept parameters", "mesh: {tp: 4, pp: 2, dp: 2}\nbatch: {microbatches: 4}\n",
     "data_parallel: {zero: 3, keep_parameters: true, overlap_reduce: true,\n"
     "  overlap_gather: true}\n",
     "data_parallel: {zero: 3, keep_parameters: true}\n", MS_AXIS_DP},
};

static const ms_result *run(job_fixture *f, const overlap_case *c, const char *choice) {
    char text[2048];
    snprintf(text, sizeof text, "%s%s%s", BASE, c->text, choice);
    ms_status status = job_fixture_load_text(f, text);
    cr_assert_eq(status, MS_OK, "%s: %s", c->name, ms_buffer_text(&f->messages));
    status = ms_job_run(&f->job, &f->arena, &f->diag, &f->result);
    cr_assert_eq(status, MS_OK, "%s: %s", c->name, ms_buffer_text(&f->messages));
    return &f->result;
}

Test(job_overlap, exposed_time_turns_into_overlapped_time) {
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const overlap_case *c = &CASES[i];
        job_fixture on, off;
        const ms_result *with = run(&on, c, c->with);
        const ms_result *without = run(&off, c, c->without);
        for (int axis = MS_AXIS_TP; axis < MS_AXIS_COUNT; axis++) {
            double a = with->metrics.axes[axis].bytes, b = without->metrics.axes[axis].bytes;
            cr_assert_lt(apart(a, b), 1e-12, "%s: %g, %g", c->name, a, b);
        }
        const ms_axis_use *a = &with->metrics.axes[c->axis];
        const ms_axis_use *b = &without->metrics.axes[c->axis];
        cr_assert_lt(a->exposed_s, b->exposed_s, "%s", c->name);
        cr_assert_gt(a->overlapped_s, b->overlapped_s, "%s", c->name);
        cr_assert_leq(with->metrics.step_time_s, without->metrics.step_time_s * (1 + 1e-12),
                      "%s: %g, %g", c->name, with->metrics.step_time_s,
                      without->metrics.step_time_s);
        job_fixture_release(&on);
        job_fixture_release(&off);
    }
}

/* Fully sharded against plain data parallelism as the simulation counts bytes: 1.5 times with one
 * microbatch and one type; (a M p + r g) / 2 g in general. */
Test(job_overlap, fully_sharded_bytes_against_plain_ones) {
    static const struct {
        const char *choice;
        int microbatches;
        double ratio;
    } ROWS[] = {
        {"data_parallel: {zero: 3, reduce: every}\nprecision: {gradients: bf16}\n", 1, 1.5},
        {"data_parallel: {zero: 3, reduce: every}\nprecision: {gradients: bf16}\n", 4,
         (2 * 4 * 2 + 4 * 2) / 4.0},
        {"data_parallel: {zero: 3}\nprecision: {gradients: fp32}\n", 4, (2 * 4 * 2 + 4 * 4) / 8.0},
        {"data_parallel: {zero: 3, reduce: last}\nprecision: {gradients: fp32}\n", 4,
         (2 * 4 * 2 + 4) / 8.0},
        {"data_parallel: {zero: 3, reduce: last, keep_parameters: true}\n"
         "precision: {gradients: fp32}\n",
         4, (2 + 4) / 8.0},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        char layout[128];
        snprintf(layout, sizeof layout, "mesh: {tp: 2, dp: 8}\nbatch: {microbatches: %d}\n",
                 ROWS[i].microbatches);
        overlap_case c = {.name = ROWS[i].choice, .text = layout};
        job_fixture sharded, plain;
        double a = run(&sharded, &c, ROWS[i].choice)->metrics.axes[MS_AXIS_DP].bytes;
        const char *precision = strstr(ROWS[i].choice, "precision");
        double b = run(&plain, &c, precision)->metrics.axes[MS_AXIS_DP].bytes;
        cr_assert_lt(apart(a / b, ROWS[i].ratio), 1e-12, "row %zu: %g", i, a / b);
        job_fixture_release(&sharded);
        job_fixture_release(&plain);
    }
}
