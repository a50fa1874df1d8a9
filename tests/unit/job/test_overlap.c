/* Overlap hides communication and never changes what is sent; folding agrees with simulating every
 * rank, for every axis. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>

#include "job_fixture.h"

/* cp, sequence parallelism and sharded parameters on two nodes */
static const char LONG_CONTEXT[] =
    "platform: {file: dgx-h100, nodes: 2}\n"
    "model: {type: llama, layers: 4, hidden: 2048, heads: 16, kv_heads: 8, ffn: 8192, vocab: "
    "32000, sequence: 16384}\n"
    "mesh: {tp: 2, cp: 4, dp: 2, order: [dp, cp, tp]}\n"
    "batch: {global: 8}\n"
    "tensor_parallel: {sequence: true%s}\n"
    "context_parallel: {kind: %s}\n"
    "data_parallel: {%s}\n";

/* experts over ep, latent attention */
static const char EXPERTS[] =
    "platform: {file: dgx-h100, nodes: 2}\n"
    "model:\n"
    "  type: llama\n"
    "  layers: 4\n"
    "  hidden: 2048\n"
    "  heads: 16\n"
    "  ffn: 8192\n"
    "  vocab: 32000\n"
    "  sequence: 4096\n"
    "  moe: {experts: 64, top_k: 6, ffn: 1408, shared_experts: 2, first_dense_layers: 1%s}\n"
    "  mla: {kv_rank: 512, qk_nope: 128, qk_rope: 64, v_dim: 128}\n"
    "mesh: {%s}\n"
    "batch: {global: 32}\n"
    "data_parallel: {%s}\n";

typedef struct overlap_case {
    const char *text;
    const char *plain[3];  /* fills the text's places */
    const char *hidden[3]; /* the same with overlap */
    ms_axis axis;          /* whose exposed time shrinks */
} overlap_case;

static const overlap_case CASES[] = {
    {LONG_CONTEXT, {"", "ring, overlap: false", "zero: 1"}, {"", "ring", "zero: 1"}, MS_AXIS_CP},
    {LONG_CONTEXT,
     {"", "all_gather", "zero: 1"},
     {", overlap: bulk", "all_gather", "zero: 1"},
     MS_AXIS_TP},
    {LONG_CONTEXT,
     {"", "all_to_all", "zero: 1"},
     {", overlap: ring", "all_to_all", "zero: 1"},
     MS_AXIS_TP},
    {LONG_CONTEXT,
     {"", "ring", "zero: 3"},
     {"", "ring", "zero: 3, overlap_reduce: true, overlap_gather: true"},
     MS_AXIS_DP},
    {LONG_CONTEXT,
     {"", "ring", "zero: 2, reduce_every: true"},
     {"", "ring", "zero: 2, reduce_every: true, overlap_reduce: true"},
     MS_AXIS_DP},
    {LONG_CONTEXT,
     {"", "ring", "zero: 3, shard: [cp], keep_parameters: true"},
     {"", "ring", "zero: 3, shard: [cp], keep_parameters: true, overlap_reduce: true"},
     MS_AXIS_DP},
    {EXPERTS,
     {"", "dp: 2, ep: 8, order: [dp, ep]", "zero: 1"},
     {", overlap: shared", "dp: 2, ep: 8, order: [dp, ep]", "zero: 1"},
     MS_AXIS_EP},
    {EXPERTS,
     {"", "pp: 2, ep: 4, tp: 2, order: [pp, ep, tp]", "zero: 0"},
     {"", "pp: 2, ep: 4, tp: 2, order: [pp, ep, tp]", "zero: 0, overlap_reduce: true"},
     MS_AXIS_DP},
};
enum { CASE_COUNT = sizeof CASES / sizeof CASES[0] };

static const ms_result *run_text(job_fixture *f, const overlap_case *c, const char *const *fill,
                                 bool no_fold) {
    char text[1024];
    /* the formats are the three texts above */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, c->text, fill[0], fill[1], fill[2]);
#pragma GCC diagnostic pop
    cr_assert_eq(job_fixture_load_text(f, text), MS_OK, "%s\n%s", text,
                 ms_buffer_text(&f->messages));
    f->job.no_fold = no_fold;
    f->job.fidelity = MS_FIDELITY_ANALYTIC;
    cr_assert_eq(ms_job_run(&f->job, &f->arena, &f->diag, &f->result), MS_OK, "%s",
                 ms_buffer_text(&f->messages));
    return &f->result;
}

ParameterizedTestParameters(job_overlap, hides_and_keeps_the_bytes) {
    static int indices[CASE_COUNT];
    for (int i = 0; i < CASE_COUNT; i++) {
        indices[i] = i;
    }
    return cr_make_param_array(int, indices, CASE_COUNT);
}

ParameterizedTest(int *index, job_overlap, hides_and_keeps_the_bytes) {
    const overlap_case *c = &CASES[*index];
    job_fixture a;
    job_fixture b;
    const ms_result *plain = run_text(&a, c, c->plain, false);
    const ms_result *hidden = run_text(&b, c, c->hidden, false);
    const ms_axis_use *before = &plain->metrics.axes[c->axis];
    const ms_axis_use *after = &hidden->metrics.axes[c->axis];
    cr_assert_gt(after->overlapped_s, before->overlapped_s, "case %d", *index);
    cr_assert_lt(after->exposed_s, before->exposed_s, "case %d", *index);
    cr_assert_leq(hidden->metrics.step_time_s, plain->metrics.step_time_s * (1 + 1e-9),
                  "case %d: %g against %g", *index, hidden->metrics.step_time_s,
                  plain->metrics.step_time_s);
    for (int axis = MS_AXIS_TP; axis < MS_AXIS_COUNT; axis++) {
        double bytes = plain->metrics.axes[axis].bytes;
        cr_assert_leq(fabs(hidden->metrics.axes[axis].bytes - bytes), 1e-9 * bytes,
                      "case %d axis %d: %g against %g", *index, axis,
                      hidden->metrics.axes[axis].bytes, bytes);
    }
    job_fixture_release(&a);
    job_fixture_release(&b);
}

ParameterizedTestParameters(job_overlap, folding_agrees) {
    static int indices[2 * CASE_COUNT];
    for (int i = 0; i < 2 * CASE_COUNT; i++) {
        indices[i] = i;
    }
    return cr_make_param_array(int, indices, 2 * CASE_COUNT);
}

ParameterizedTest(int *index, job_overlap, folding_agrees) {
    const overlap_case *c = &CASES[*index / 2];
    const char *const *fill = *index % 2 == 0 ? c->plain : c->hidden;
    job_fixture a;
    job_fixture b;
    const ms_result *folded = run_text(&a, c, fill, false);
    const ms_result *every = run_text(&b, c, fill, true);
    cr_assert_eq(every->dag.rank_count, 16);
    cr_assert_lt(fabs(folded->metrics.step_time_s / every->metrics.step_time_s - 1), 5e-3,
                 "case %d: %g against %g", *index, folded->metrics.step_time_s,
                 every->metrics.step_time_s);
    for (int axis = MS_AXIS_TP; axis < MS_AXIS_COUNT; axis++) {
        double bytes = every->metrics.axes[axis].bytes;
        cr_assert_leq(fabs(folded->metrics.axes[axis].bytes - bytes), 1e-9 * bytes);
    }
    job_fixture_release(&a);
    job_fixture_release(&b);
}
