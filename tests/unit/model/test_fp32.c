/* Parameters and activations in fp32: how fast their products are, and the copies to fp32 that
 * their kernels and losses do without. */
#include "fixture.h"

enum { HIDDEN = 1024, TOKENS = 1024, VOCAB = 128256 };

static ms_precision fp32(void) {
    return (ms_precision){.parameter_B = 4, .gradient_B = 4, .optimizer_B = 8};
}

/* One layer of unfused attention, with embedding and head. */
static ms_model model_of(ms_loss loss, ms_kernels kernels) {
    ms_model model = fixture_llama(1, HIDDEN, 16, 4, 4096);
    model.sequence = TOKENS;
    model.attention = MS_ATTENTION_UNFUSED;
    model.loss = loss;
    model.kernels = kernels;
    return model;
}

static void lay_out(fixture_costs *fixture, const ms_model *model, const ms_precision *precision,
                    const ms_gpu_type *gpu) {
    fixture_init(fixture);
    fixture_split(fixture, model);
    ms_status status = ms_model_costs(model, &fixture->layout, precision, gpu, &fixture->arena,
                                      &fixture->diag, &fixture->costs);
    cr_assert_eq(status, MS_OK, "%s", fixture->log.text);
}

/* Sum over the kernels of a name, in fp32: bytes, and how many there are in a layer's passes. */
static double bytes_of(const ms_model *model, const char *name) {
    const ms_precision precision = fp32();
    const ms_gpu_type gpu = fixture_ideal();
    fixture_costs fixture;
    lay_out(&fixture, model, &precision, &gpu);
    double bytes = -1;
    for (int k = 0; k < fixture.costs.kernel_count; k++) {
        const ms_kernel *kernel = &fixture.costs.kernels[k];
        bytes = strcmp(kernel->name, name) == 0 ? kernel->bytes : bytes;
    }
    fixture_clear(&fixture);
    return bytes;
}

/* Half as fast by the peak, half of that by the efficiency; without a figure as in 16 bits. */
Test(fp32, products_go_by_the_peak_of_their_own) {
    const ms_model model = model_of(MS_LOSS_FUSED, MS_KERNELS_FUSED);
    const ms_precision wide = fp32(), narrow = fixture_precision();
    ms_gpu_type gpu = fixture_ideal();
    gpu.peak_flop_per_s = 1;
    gpu.hbm_Bps = 1e300;
    fixture_costs before, silent, after;
    lay_out(&before, &model, &narrow, &gpu);
    lay_out(&silent, &model, &wide, &gpu);
    gpu.products.single =
        (ms_product_rate){.peak_flop_per_s = 0.5, .sustained_clock = 1, .gemm_efficiency = 0.5};
    lay_out(&after, &model, &wide, &gpu);
    double base_s = fixture_pass_s(&before.costs, 0, MS_PASS_F);
    cr_assert_lt(fixture_gap(fixture_pass_s(&silent.costs, 0, MS_PASS_F), base_s), 1e-9);
    cr_assert_lt(fixture_gap(fixture_pass_s(&after.costs, 0, MS_PASS_F), 4 * base_s), 1e-9);
    fixture_clear(&before);
    fixture_clear(&silent);
    fixture_clear(&after);
}

/* Copies to fp32 and back are none: of a logit 8 of 40 and 8 of 16 bytes over a split vocabulary.
 */
Test(fp32, losses_need_no_copies) {
    static const struct {
        ms_loss loss;
        double forward_B, backward_B; /* a logit */
    } CASES[] = {{MS_LOSS_VOCAB_PARALLEL, 32, 8},
                 {MS_LOSS_PLAIN, 16, 20},
                 {MS_LOSS_FUSED, 4, 8},
                 {MS_LOSS_COMPILED, 20, 8},
                 {MS_LOSS_TRANSFORMER_ENGINE, 12, 8}};
    const double logits = (double)TOKENS * VOCAB;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        ms_model model = model_of(CASES[i].loss, MS_KERNELS_FUSED);
        cr_assert_eq(bytes_of(&model, "cross_entropy"), CASES[i].forward_B * logits, "%zu", i);
        cr_assert_eq(bytes_of(&model, "cross_entropy_backward"), CASES[i].backward_B * logits,
                     "%zu", i);
    }
}

/* An RMS norm of four kernels instead of six (square, mean, root, gain) reads and writes 28 bytes
 * instead of 44, 7 a kernel, and its backward pass 88 in eleven. The fused softmax does not take
 * scores in fp32, and PyTorch's operations scale, mask and divide them. */
Test(fp32, kernels_need_no_copies) {
    const ms_model eager = model_of(MS_LOSS_FUSED, MS_KERNELS_EAGER);
    const double plane = (double)TOKENS * HIDDEN, scores = 16.0 * TOKENS * TOKENS;
    cr_assert_eq(bytes_of(&eager, "rms_norm"), 7 * plane);
    cr_assert_eq(bytes_of(&eager, "norm_backward"), 8 * plane);
    const ms_model fused = model_of(MS_LOSS_FUSED, MS_KERNELS_FUSED);
    cr_assert_eq(bytes_of(&fused, "softmax"), 8 * scores);
}

/* Probabilities take the place of the logits: 4 bytes of each are kept, and none come on top, where
 * logits of 2 bytes stand beside them. */
Test(fp32, a_loss_over_a_split_vocabulary_works_in_place) {
    const ms_model model = model_of(MS_LOSS_VOCAB_PARALLEL, MS_KERNELS_FUSED);
    const ms_precision wide = fp32(), narrow = fixture_precision();
    const ms_gpu_type gpu = fixture_ideal();
    const double logits = (double)TOKENS * VOCAB;
    fixture_costs before, after;
    lay_out(&before, &model, &narrow, &gpu);
    lay_out(&after, &model, &wide, &gpu);
    const ms_stage_memory *a = &before.costs.stage[0].memory;
    const ms_stage_memory *b = &after.costs.stage[0].memory;
    cr_assert_lt(fixture_gap(b->activation_B - 4 * logits, 2 * (a->activation_B - 4 * logits)),
                 1e-9);
    ms_model compiled = model;
    compiled.loss = MS_LOSS_COMPILED;
    fixture_costs other;
    lay_out(&other, &compiled, &wide, &gpu);
    cr_assert_geq(other.costs.stage[0].memory.working_B, 4 * logits);
    cr_assert_lt(b->working_B, 4 * logits);
    fixture_clear(&before);
    fixture_clear(&after);
    fixture_clear(&other);
}
