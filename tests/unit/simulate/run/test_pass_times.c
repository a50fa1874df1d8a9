/* Pass times by hand: halves of a layer, phases of a step, memory of the last pipeline rank. */
#include "simulate/run/pass_times.h"

#include <math.h>

#include "job_fixture.h"

typedef struct fixture {
    job_fixture job;
    ms_pass_times times;
} fixture;

/* Run a text, every operation of it.  To be released. */
static const ms_result *run(fixture *f, const char *text) {
    cr_assert_eq(job_fixture_load_text(&f->job, text), MS_OK, "%s",
                 ms_buffer_text(&f->job.messages));
    f->job.job.run.no_fast_forward = true;
    ms_status status = ms_job_run(&f->job.job, &f->job.arena, &f->job.diag, &f->job.result);
    cr_assert_eq(status, MS_OK, "%s", ms_buffer_text(&f->job.messages));
    ms_result_pass_times(&f->job.result, &f->times);
    return &f->job.result;
}

#define LAYER                                                                                      \
    "model: {type: gpt, layers: 1, hidden: 6144, heads: 64, ffn: 24576, vocab: 0, sequence: "      \
    "2048, tied_embeddings: false, positions: rotary}\n"                                           \
    "batch: {global: 4, micro: 4}\n"                                                               \
    "data_parallel: {zero: 0}\n"

/* A layer alone, without tensor parallelism: its halves are what its passes compute, and both
 * together are its step but for the update. */
Test(pass_times, a_layer_is_timed_in_halves) {
    fixture f;
    const ms_result *result = run(&f, LAYER "framework: megatron-lm-2022\n"
                                            "platform: {file: selene-a100, nodes: 1}\n"
                                            "mesh: {dp: 1}\n"
                                            "placement: {spares: 0}\n"
                                            "recompute: full\n");
    const double *pass_s = f.times.pass_s;
    ms_run_figures figures;
    ms_result_figures(result, &figures);
    cr_assert_float_eq(f.times.forward_s, pass_s[MS_OP_FORWARD], 1e-12);
    cr_assert_float_eq(f.times.backward_s, pass_s[MS_OP_BACKWARD] + pass_s[MS_OP_RECOMPUTE], 1e-12);
    double update_s = figures.share[MS_TIME_OPTIMIZER] * figures.step_time_s;
    cr_assert_float_eq(f.times.forward_s + f.times.backward_s + update_s, figures.step_time_s,
                       1e-9);
    job_fixture_release(&f.job);
}

/* With sequence parallelism a layer gathers and scatters twice forward; its backward pass begins
 * with two gathers, of its output's gradient and of its input, before it computes anything. A
 * gather takes as long as a reduce-scatter, so backward half as much again is exposed as forward.
 */
Test(pass_times, a_layer_s_backward_half_has_its_own_gathers) {
    fixture f;
    run(&f, LAYER "framework: megatron-lm-2021\n"
                  "platform: {file: dgx-a100, nodes: 1}\n"
                  "mesh: {tp: 8}\n"
                  "tensor_parallel: {sequence: true}\n"
                  "recompute: none\n"
                  "host: {launch: 0 s}\n"); /* it would stand between the kernels */
    double forward_s = f.times.forward_s - f.times.pass_s[MS_OP_FORWARD];
    double backward_s = f.times.backward_s - f.times.pass_s[MS_OP_BACKWARD];
    cr_assert_gt(forward_s, 0);
    cr_assert_float_eq(backward_s, 1.5 * forward_s, 1e-9);
    job_fixture_release(&f.job);
}

/* Two pipeline ranks, whose passes communicate nothing inside and whose kernels are so long that no
 * host is late: the phases sum to the step. */
static const double *phases_of(fixture *f, const char *kind, int microbatches) {
    char text[1024];
    snprintf(text, sizeof text,
             "platform: {file: dgx-a100, nodes: 1}\n"
             "mesh: {pp: 2}\n"
             "placement: {spares: 0}\n"
             "model: {type: gpt, layers: 4, hidden: 8192, heads: 64, ffn: 32768, vocab: 1024, "
             "sequence: 2048}\n"
             "schedule: {kind: %s}\n"
             "batch: {global: %d, micro: 1}\n",
             kind, microbatches);
    const ms_result *result = run(f, text);
    double sum_s = 0;
    for (int i = 0; i < MS_STEP_PHASE_COUNT; i++) {
        sum_s += f->times.phase_s[i];
    }
    cr_assert_float_eq(sum_s, result->metrics.step_time_s, 1e-12);
    return f->times.phase_s;
}

/* Six forward passes alone on each rank; 1F1B has neither pairs nor weight gradients of their own,
 * ZB-H1 delays some of them, and no phase makes any other computation longer. */
Test(pass_times, a_step_is_divided_into_phases) {
    fixture plain, split;
    const double *phase_s = phases_of(&plain, "1f1b", 6);
    const double *pass_s = plain.times.pass_s;
    cr_assert_float_eq(phase_s[MS_STEP_FORWARD], 6 * pass_s[MS_OP_FORWARD], 1e-12);
    cr_assert_float_eq(phase_s[MS_STEP_BACKWARD], 6 * pass_s[MS_OP_BACKWARD], 1e-12);
    cr_assert_eq(phase_s[MS_STEP_PAIR], 0);
    cr_assert_eq(phase_s[MS_STEP_WEIGHT], 0);
    cr_assert_gt(phase_s[MS_STEP_BUBBLE], 0);
    cr_assert_gt(phase_s[MS_STEP_END], 0);
    phase_s = phases_of(&split, "zbh1", 6);
    cr_assert_gt(phase_s[MS_STEP_WEIGHT], 0);
    cr_assert_float_eq(phase_s[MS_STEP_WEIGHT], 6 * split.times.pass_s[MS_OP_WEIGHT_GRAD], 1e-12);
    job_fixture_release(&plain.job);
    job_fixture_release(&split.job);
}

/* Of DualPipe's four microbatches a rank of two runs one forward and one backward pass as a pair;
 * each further one of both directions adds a pair on either stage. */
Test(pass_times, pairs_are_a_phase) {
    fixture few, many;
    const double *few_s = phases_of(&few, "dualpipe", 4);
    const double *many_s = phases_of(&many, "dualpipe", 8);
    const double *few_pass_s = few.times.pass_s, *many_pass_s = many.times.pass_s;
    double added_s = 8 * (many_pass_s[MS_OP_FORWARD] + many_pass_s[MS_OP_BACKWARD]) -
                     4 * (few_pass_s[MS_OP_FORWARD] + few_pass_s[MS_OP_BACKWARD]);
    cr_assert_gt(few_s[MS_STEP_PAIR], 0);
    cr_assert_gt(added_s, 0);
    cr_assert_float_eq(many_s[MS_STEP_PAIR] - few_s[MS_STEP_PAIR], added_s, 1e-12);
    cr_assert_float_eq(many_s[MS_STEP_FORWARD], few_s[MS_STEP_FORWARD], 1e-12);
    job_fixture_release(&few.job);
    job_fixture_release(&many.job);
}

/* Several steps have no phases of one. */
Test(pass_times, phases_are_of_one_step) {
    fixture f;
    run(&f, LAYER "platform: {file: selene-a100, nodes: 1}\n"
                  "mesh: {dp: 1}\n"
                  "placement: {spares: 0}\n"
                  "steps: 2\n");
    cr_assert(isnan(f.times.phase_s[MS_STEP_FORWARD]));
    cr_assert_gt(f.times.pass_s[MS_OP_FORWARD], 0);
    job_fixture_release(&f.job);
}

/* Of two stages the last one has head and loss; between steps it keeps 18 bytes a parameter (bf16,
 * fp32 gradients, 12 bytes of state), which are 2 of 4 layers, the head and the last norm. */
Test(pass_times, memory_of_the_last_rank_is_that_of_the_last_stage) {
    fixture f;
    run(&f, "platform: {file: dgx-a100, nodes: 1}\n"
            "mesh: {pp: 2}\n"
            "placement: {spares: 0}\n"
            "model: {type: llama, layers: 4, hidden: 1024, heads: 16, ffn: 4096, vocab: 51200, "
            "sequence: 512}\n"
            "batch: {global: 4, micro: 1}\n"
            "precision: {gradients: fp32, optimizer: 12 B}\n");
    double layer = 4 * 1024.0 * 1024 + 3 * 1024.0 * 4096 + 2 * 1024;
    double head = 51200 * 1024.0 + 1024;
    cr_assert_float_eq(f.times.last_static_B, 18 * (2 * layer + head), 1.0, "%.0f",
                       f.times.last_static_B);
    cr_assert_gt(f.times.last_peak_B, f.times.last_static_B);
    cr_assert_float_eq(f.times.reserve_B, 3 * 1073741824.0, 1);
    job_fixture_release(&f.job);
}
