/* Fused attention in fp8: what its kernel, the casts around it and what is kept of it come to, by
 * hand. */
#include "fixture.h"

enum { HIDDEN = 1024, TOKENS = 2048 };
static const double NH = (double)TOKENS * HIDDEN;

/* Three maxima of 4 bytes each way, read and written as scales. */
static const double SCALES_B = 3 * 4 * 2;

static ms_precision precision_of(ms_scaling scaling, ms_attention_format format) {
    ms_precision precision = fixture_precision();
    precision.products = (ms_products){.format = MS_PRODUCT_FP8,
                                       .scaling = scaling,
                                       .weight_gradients = MS_TYPE_OF_PRODUCTS,
                                       .kept = MS_TYPE_OF_PRODUCTS,
                                       .tensor_gathers = MS_TYPE_OF_PRODUCTS,
                                       .attention = format};
    return precision;
}

/* A GPU that takes no time but for memory traffic, 1 B/s. */
static ms_gpu_type gpu_of_bytes(ms_product_layouts layouts) {
    ms_gpu_type gpu = fixture_ideal();
    gpu.peak_flop_per_s = 1e300;
    gpu.hbm_Bps = 1;
    gpu.products.of[MS_PRODUCT_FP8] = (ms_product_rate){
        .peak_flop_per_s = 1e300, .sustained_clock = 1, .gemm_efficiency = 1, .layouts = layouts};
    ms_attention_rates rates = gpu.attention[MS_ATTENTION_FUSED];
    rates.fp8_forward = rates.forward;
    rates.fp8_backward = rates.backward;
    gpu.attention[MS_ATTENTION_CUDNN] = gpu.attention[MS_ATTENTION_FLASH3] = rates;
    return gpu;
}

/* Learned positions: nothing stands between the product of q, k and v and the attention. */
static ms_model layer(void) {
    ms_model model = fixture_gpt(1, HIDDEN, 16, 0);
    model.attention = MS_ATTENTION_CUDNN;
    model.has_fused_accumulation = true;
    model.dropout = 0;
    return model;
}

/* What an attention in fp8 adds to that in the working type: to the passes [s], that is [B] here,
 * and to what is kept [B]. */
typedef struct added {
    double forward, backward, kept_B;
} added;

static added added_by(const ms_model *model, const ms_gpu_type *gpu, ms_precision precision,
                      ms_recompute recompute) {
    fixture_costs fixture;
    fixture_init(&fixture);
    fixture_split(&fixture, model);
    fixture.layout.recompute = recompute;
    added found = {0};
    for (int sign = 1; sign >= -1; sign -= 2) {
        ms_stage_costs costs;
        cr_assert_eq(ms_model_costs(model, &fixture.layout, &precision, gpu, &fixture.arena,
                                    &fixture.diag, &costs),
                     MS_OK, "%s", fixture.log.text);
        found.forward += sign * fixture_pass_s(&costs, 0, MS_PASS_F);
        found.backward += sign * fixture_pass_s(&costs, 0, MS_PASS_B);
        found.kept_B += sign * costs.stage[0].memory.activation_B;
        precision.products.attention = MS_ATTENTION_IN_PARAMETERS;
    }
    fixture_clear(&fixture);
    return found;
}

static void expect(added found, added wanted) {
    const double *got = (const double *)&found, *hand = (const double *)&wanted;
    static const char *const NAMES[] = {"forward", "backward", "kept"};
    for (int i = 0; i < 3; i++) {
        cr_assert_float_eq(got[i], hand[i], 1e-9 * NH, "%s: %.17g NH, not %.17g NH", NAMES[i],
                           got[i] / NH, hand[i] / NH);
    }
}

/* Forward: q, k and v (3 h) are copied in 2 bytes and cast from 2 to 1; the kernel reads 3 h and
 * writes h in 1 byte instead of 2; the result is cast back. Backward: the result's gradient is
 * cast; the kernel reads 5 h and writes 3 h in 1 byte; gradients of q, k and v are copied in 1 byte
 * and cast back. Kept: q, k and v in 1 byte, the result in 1 beside the projection's own copy. */
Test(attention_casts, delayed_scaling_casts_what_goes_in_and_what_comes_out) {
    ms_gpu_type gpu = gpu_of_bytes(MS_LAYOUTS_TN);
    ms_model model = layer();
    expect(added_by(&model, &gpu, precision_of(MS_SCALING_DELAYED, MS_ATTENTION_FP8_DOT_PRODUCT),
                    MS_RECOMPUTE_NONE),
           (added){.forward = (3 * 4 + 3 * 3 - 4 + 3) * NH + SCALES_B,
                   .backward = (3 - 8 + 3 * 2 + 3 * 3) * NH + SCALES_B,
                   .kept_B = -(3 + 1) * NH});
}

/* Maxima first (2 bytes read); the kernel writes 2 bytes both ways, so that nothing is cast back,
 * reads the result in 2 bytes backward, and that is kept so. */
Test(attention_casts, current_scaling_finds_maxima_and_writes_the_working_type) {
    ms_gpu_type gpu = gpu_of_bytes(MS_LAYOUTS_TN);
    ms_model model = layer();
    expect(added_by(&model, &gpu, precision_of(MS_SCALING_CURRENT, MS_ATTENTION_FP8_DOT_PRODUCT),
                    MS_RECOMPUTE_NONE),
           (added){.forward = (3 * 4 + 3 * 2 + 3 * 3 - 3) * NH,
                   .backward = (2 + 3 - 4) * NH,
                   .kept_B = -3 * NH});
}

/* The forward kernel alone: backward passes and what they keep are as they were. */
Test(attention_casts, fp8_forward_alone_changes_nothing_behind_it) {
    ms_gpu_type gpu = gpu_of_bytes(MS_LAYOUTS_TN);
    ms_model model = layer();
    ms_precision precision = precision_of(MS_SCALING_DELAYED, MS_ATTENTION_FP8_FORWARD);
    expect(added_by(&model, &gpu, precision, MS_RECOMPUTE_NONE),
           (added){.forward = (3 * 4 + 3 * 3 - 4 + 3) * NH + SCALES_B});
    /* FlashAttention 3: cast one by one, written in the working type */
    model.attention = MS_ATTENTION_FLASH3;
    expect(added_by(&model, &gpu, precision, MS_RECOMPUTE_NONE),
           (added){.forward = (3 * 3 - 3) * NH + SCALES_B});
}

/* The product of q, k and v makes fp8, the projection takes the result as it is: instead of a cast
 * in both forms (4 bytes) it copies the other form (2). Backward the same of the gradients of q, k
 * and v, whose bias's gradient (2 bytes of 3 h) is no longer summed in a cast. Where products take
 * any layout, nothing is copied, and attention and projection keep one tensor. */
Test(attention_casts, neighbours_hand_on_fp8) {
    ms_model model = layer();
    ms_precision precision = precision_of(MS_SCALING_DELAYED, MS_ATTENTION_FP8_MULTI_HEAD);
    ms_gpu_type gpu = gpu_of_bytes(MS_LAYOUTS_TN);
    expect(added_by(&model, &gpu, precision, MS_RECOMPUTE_NONE),
           (added){.forward = (-4 - 2) * NH + SCALES_B,
                   .backward = (-8 - 3 * 2 + 3 * 2) * NH + SCALES_B,
                   .kept_B = -(3 + 1) * NH});
    gpu = gpu_of_bytes(MS_LAYOUTS_ANY);
    expect(added_by(&model, &gpu, precision, MS_RECOMPUTE_NONE),
           (added){.forward = (-4 - 3) * NH + SCALES_B,
                   .backward = (-8 - 3 * 3 + 3 * 2) * NH + SCALES_B,
                   .kept_B = -(3 + 2) * NH});
}

/* Rotated queries and keys, and products that stay in the working type, need the casts. */
Test(attention_casts, what_stands_between_needs_the_casts) {
    ms_model model = layer();
    ms_gpu_type gpu = gpu_of_bytes(MS_LAYOUTS_ANY);
    ms_precision precision = precision_of(MS_SCALING_DELAYED, MS_ATTENTION_FP8_MULTI_HEAD);
    precision.products.kinds = MS_PRODUCT_MLP;
    const added between = {.forward = (3 * 4 + 3 * 3 - 4 + 3) * NH + SCALES_B,
                           .backward = (3 - 8 + 3 * 2 + 3 * 3) * NH + SCALES_B,
                           .kept_B = (-3 + 1) * NH};
    expect(added_by(&model, &gpu, precision, MS_RECOMPUTE_NONE), between);
    precision.products.kinds = 0;
    model.has_positions = false; /* rotated */
    expect(added_by(&model, &gpu, precision, MS_RECOMPUTE_NONE),
           (added){.forward = (3 * 4 + 3 * 3 - 4 - 3) * NH + SCALES_B,
                   .backward = (-8 + 3 * 2 + 3 * 3) * NH + SCALES_B,
                   .kept_B = -(3 + 2) * NH});
}

/* A pass that repeats the attention keeps what goes into it as it is, and casts it twice. */
Test(attention_casts, a_repeated_attention_keeps_the_working_type) {
    ms_gpu_type gpu = gpu_of_bytes(MS_LAYOUTS_TN);
    ms_model model = layer();
    const double once = (3 * 4 + 3 * 3 - 4 + 3) * NH;
    expect(added_by(&model, &gpu, precision_of(MS_SCALING_DELAYED, MS_ATTENTION_FP8_DOT_PRODUCT),
                    MS_RECOMPUTE_SELECTIVE),
           (added){.forward = once + SCALES_B,
                   .backward = once + (3 - 8 + 3 * 2 + 3 * 3) * NH + SCALES_B});
}

Test(attention_casts, layers_at_the_ends_can_stay_plain) {
    ms_gpu_type gpu = gpu_of_bytes(MS_LAYOUTS_TN);
    ms_model model = layer();
    ms_precision precision = precision_of(MS_SCALING_DELAYED, MS_ATTENTION_FP8_MULTI_HEAD);
    precision.products.last_plain_layers = 1;
    expect(added_by(&model, &gpu, precision, MS_RECOMPUTE_NONE), (added){0});
}

/* Half of the share of a peak that is four times as high is twice as fast, and the file of kernels
 * says which one it was. */
Test(attention_casts, figures_are_shares_of_the_peak_in_fp8) {
    ms_gpu_type gpu = gpu_of_bytes(MS_LAYOUTS_TN);
    gpu.peak_flop_per_s = 1;
    gpu.hbm_Bps = 1e300;
    gpu.products.of[MS_PRODUCT_FP8].peak_flop_per_s = 4;
    gpu.attention[MS_ATTENTION_CUDNN].forward.efficiency[0] = 0.5;
    gpu.attention[MS_ATTENTION_CUDNN].fp8_forward.efficiency[0] = 0.25;
    ms_model model = layer();
    fixture_costs fixture;
    fixture_init(&fixture);
    fixture_split(&fixture, &model);
    double times[2] = {0, 0};
    for (int is_fp8 = 0; is_fp8 < 2; is_fp8++) {
        ms_precision precision = precision_of(
            MS_SCALING_DELAYED, is_fp8 ? MS_ATTENTION_FP8_DOT_PRODUCT : MS_ATTENTION_IN_PARAMETERS);
        ms_stage_costs costs;
        cr_assert_eq(ms_model_costs(&model, &fixture.layout, &precision, &gpu, &fixture.arena,
                                    &fixture.diag, &costs),
                     MS_OK);
        for (int i = 0; i < costs.kernel_count; i++) {
            if (strcmp(costs.kernels[i].name, "attention") == 0) {
                times[is_fp8] = costs.kernels[i].time_s;
                cr_assert_eq(strstr(costs.kernels[i].shape, " fp8") != NULL, is_fp8);
            }
        }
    }
    cr_assert_gt(times[1], 0);
    cr_assert_float_eq(times[0] / times[1], 2, 1e-9);
    fixture_clear(&fixture);
}
