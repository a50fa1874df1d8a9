#include <math.h>

#include "fixture.h"

Test(kernels, lossless_gpu_gives_the_roofline) {
    ms_gpu_type gpu = fixture_ideal();
    /* 2 * 4096^3 FLOP at 1e15 FLOP/s, bound by arithmetic */
    double compute_s = 2.0 * 4096 * 4096 * 4096 / 1e15;
    cr_assert_lt(
        fixture_gap(ms_gemm_time_s(&gpu, (ms_gemm_shape){4096, 4096, 4096, 1}, 2), compute_s),
        1e-14);
    /* k = 1: 2 bytes in and out dominate */
    double memory_s = 2.0 * (4096 + 4096 + 4096.0 * 4096) / 1e13;
    cr_assert_lt(fixture_gap(ms_gemm_time_s(&gpu, (ms_gemm_shape){4096, 4096, 1, 1}, 2), memory_s),
                 1e-14);
}

Test(kernels, launch_and_batch_add_up) {
    ms_gpu_type gpu = fixture_ideal();
    double one_s = ms_gemm_time_s(&gpu, (ms_gemm_shape){512, 512, 512, 1}, 2);
    cr_assert_lt(fixture_gap(ms_gemm_time_s(&gpu, (ms_gemm_shape){512, 512, 512, 7}, 2), 7 * one_s),
                 1e-14);
    gpu.kernel_launch_s = 5e-6;
    cr_assert_lt(
        fixture_gap(ms_gemm_time_s(&gpu, (ms_gemm_shape){512, 512, 512, 1}, 2), one_s + 5e-6),
        1e-14);
}

/* What a pass takes longer without 20 of 132 SMs. */
static double pair_extra_s(ms_gpu_type gpu, double *pass_s_out) {
    gpu.sms = 132;
    fixture_costs f;
    fixture_init(&f);
    f.layout.communication_sms = 20;
    ms_model model = fixture_llama(1, 1024, 8, 8, 4096);
    fixture_run(&f, &model, &gpu);
    cr_assert_eq(f.status, MS_OK, "%s", f.log.text);
    ms_pass_plan plan = f.costs.stage[0].passes[MS_PASS_B];
    double sum_s = 0;
    *pass_s_out = fixture_pass_s(&f.costs, 0, MS_PASS_B);
    for (int i = plan.first; i < plan.first + plan.count; i++) {
        sum_s += f.costs.segments[i].pair_extra_s;
    }
    fixture_clear(&f);
    return sum_s;
}

/* Arithmetic has 112 SMs left; memory's traffic and launches take what they took. */
Test(kernels, held_sms_slow_arithmetic_alone) {
    ms_gpu_type arithmetic = fixture_ideal(), memory = fixture_ideal(), launching = fixture_ideal();
    double pass_s = 0, launched_s = 0;
    arithmetic.hbm_Bps = launching.hbm_Bps = 1e300;
    launching.kernel_launch_s = 1e-3;
    memory.peak_flop_per_s = 1e300;
    double extra_s = pair_extra_s(arithmetic, &pass_s);
    cr_assert_lt(fixture_gap(extra_s, pass_s * 20 / 112), 1e-9);
    cr_assert_lt(fixture_gap(pair_extra_s(launching, &launched_s), extra_s), 1e-9);
    cr_assert_gt(launched_s, 1.001 * pass_s);
    cr_assert_eq(pair_extra_s(memory, &pass_s), 0);
}

Test(kernels, tile_and_wave_quantisation_show) {
    ms_gpu_type gpu = fixture_a100();
    gpu.kernel_launch_s = 0;
    /* 108 tiles of 128x256 fill the GPU; one column more starts a second wave */
    double full = ms_gemm_time_s(&gpu, (ms_gemm_shape){128 * 12, 256 * 9, 8192, 1}, 2);
    double over = ms_gemm_time_s(&gpu, (ms_gemm_shape){128 * 12, 256 * 9 + 1, 8192, 1}, 2);
    cr_assert_gt(over / full, 1.05);
    double rate = 2.0 * (128 * 12) * (256 * 9) * 8192 / full;
    double expected = 312e12 * 0.844 * 8192 / (8192 + 150);
    cr_assert_lt(fixture_gap(rate, expected), 1e-12);
}

/* Twice the SMs at the same peak multiply half as fast each. 324 tiles of 128x256 are three full
 * waves on 108 SMs. On 216 SMs they are one wave and a half: half of the last wave idles, which
 * costs three quarters of it, 1.875 waves instead of 1.5. The library rather takes 648 tiles of
 * 128x128 at 0.88 of the throughput, three full waves again. Where the tile of an SM is half as
 * large, too, nothing changes. Source: NVIDIA, Matrix Multiplication Background User's Guide,
 * section on wave quantization. */
Test(kernels, more_sms_at_the_same_peak_have_emptier_waves) {
    const ms_gemm_shape shape = {128.0 * 18, 256.0 * 18, 8192, 1};
    ms_gpu_type gpu = fixture_a100();
    gpu.kernel_launch_s = 0;
    double before_s = ms_gemm_time_s(&gpu, shape, 2);
    gpu.sms *= 2;
    double after_s = ms_gemm_time_s(&gpu, shape, 2);
    cr_assert_lt(fixture_gap(after_s / before_s, fmin(1.875 / 1.5, 1 / 0.88)), 1e-12);
    gpu.tile_n /= 2;
    cr_assert_lt(fixture_gap(ms_gemm_time_s(&gpu, shape, 2), before_s), 1e-12);
}

/* Measured on an A100 PCIe, whose best shape reaches 0.803 of the peak: TFLOP/s over 312 of
 * bf16 products m, k, n.  Source: SimuMax (MooreThreads), system file a100_pcie. */
Test(kernels, measured_products_are_met_within_a_tenth) {
    const struct {
        double m, k, n, efficiency;
    } ROWS[] = {{4096, 16384, 5120, 0.7493}, {4096, 5120, 24576, 0.7504},
                {4096, 4096, 4096, 0.7214},  {4096, 4096, 28672, 0.7373},
                {4096, 2048, 4096, 0.6821},  {4096, 1024, 4096, 0.6162},
                {4096, 512, 4096, 0.6101},   {4096, 8192, 8192, 0.7327},
                {4096, 8192, 1280, 0.6625},  {33024, 7168, 4096, 0.7506}};
    ms_gpu_type gpu = fixture_a100();
    gpu.gemm_efficiency = 0.78;
    gpu.hbm_Bps = 1.935e12;
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        double time_s =
            ms_gemm_time_s(&gpu, (ms_gemm_shape){ROWS[i].m, ROWS[i].n, ROWS[i].k, 1}, 2);
        double efficiency = 2 * ROWS[i].m * ROWS[i].n * ROWS[i].k / time_s / 312e12;
        cr_assert_lt(fixture_gap(efficiency, ROWS[i].efficiency), 0.10, "row %zu: %g, measured %g",
                     i, efficiency, ROWS[i].efficiency);
    }
}

Test(kernels, better_gpus_are_never_slower) {
    uint64_t seed = fixture_seed();
    ms_random random = {seed};
    for (int i = 0; i < 2000; i++) {
        ms_gpu_type gpu = fixture_a100();
        double m = (double)ms_random_range(&random, 1, 9000);
        double n = (double)ms_random_range(&random, 1, 9000);
        double k = (double)ms_random_range(&random, 1, 9000);
        double before_s = ms_gemm_time_s(&gpu, (ms_gemm_shape){m, n, k, 1}, 2);
        cr_assert(before_s > 0 && isfinite(before_s), "seed %llu", (unsigned long long)seed);
        gpu.peak_flop_per_s *= 1 + ms_random_unit(&random);
        double faster_s = ms_gemm_time_s(&gpu, (ms_gemm_shape){m, n, k, 1}, 2);
        gpu.hbm_Bps *= 1 + ms_random_unit(&random);
        double fastest_s = ms_gemm_time_s(&gpu, (ms_gemm_shape){m, n, k, 1}, 2);
        cr_assert(faster_s <= before_s && fastest_s <= faster_s, "seed %llu: %g x %g x %g",
                  (unsigned long long)seed, m, n, k);
        double longer_s = ms_gemm_time_s(&gpu, (ms_gemm_shape){m, n, k + 64, 1}, 2);
        cr_assert_geq(longer_s, fastest_s, "seed %llu", (unsigned long long)seed);
    }
}

Test(kernels, clock_slows_arithmetic_alone) {
    ms_gpu_type gpu = fixture_ideal(), slow = gpu;
    slow.clock.sustained = 0.5;
    ms_gemm_shape square = {4096, 4096, 4096, 1}, flat = {4096, 4096, 1, 1};
    cr_assert_lt(fixture_gap(ms_gemm_time_s(&slow, square, 2), 2 * ms_gemm_time_s(&gpu, square, 2)),
                 1e-14);
    cr_assert_eq(ms_gemm_time_s(&slow, flat, 2), ms_gemm_time_s(&gpu, flat, 2));
}

/* Rows of 8 elements of 2 bytes are copied 16 bytes at a time; each halving costs as much. */
Test(kernels, rows_that_are_not_aligned_cost_throughput) {
    const struct {
        double m, n, k, element_B, halvings;
    } ROWS[] = {{4096, 4096, 4096, 2, 0}, {4096, 4096, 4104, 2, 0}, {4096, 4096, 4100, 2, 1},
                {4096, 4098, 4096, 2, 2}, {4095, 4096, 4096, 2, 3}, {4096, 4096, 4100, 4, 0},
                {4096, 4098, 4096, 4, 1}, {4096, 4099, 4096, 4, 2}, {4096.5, 4096, 4096, 2, 0}};
    ms_gpu_type gpu = fixture_ideal();
    gpu.hbm_Bps = 1e300;
    gpu.products.unaligned.share = 0.125;
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        ms_gemm_shape shape = {ROWS[i].m, ROWS[i].n, ROWS[i].k, 1};
        double whole_s = 2 * shape.m * shape.n * shape.k / 1e15;
        double tiles = ceil(shape.m) / shape.m; /* tiles of one element */
        cr_assert_lt(fixture_gap(ms_gemm_time_s(&gpu, shape, ROWS[i].element_B),
                                 whole_s * tiles * pow(2, ROWS[i].halvings)),
                     1e-12, "row %zu", i);
    }
}

/* Heads of 108 elements of 2 bytes: batched products run at the rate without matrix units, as
 * slow in any step of alignment; a single product, and heads of 112, keep theirs. */
Test(kernels, batched_rows_that_are_not_aligned_have_no_matrix_units) {
    ms_gpu_type gpu = fixture_ideal();
    gpu.hbm_Bps = 1e300;
    gpu.products.unaligned = (ms_unaligned_rate){.share = 0.125, .batched_flop_per_s = 4e13};
    const struct {
        ms_gemm_shape shape;
        double flop_per_s;
    } ROWS[] = {{{2048, 2048, 108, 32}, 4e13},
                {{2048, 107, 2048, 32}, 4e13},
                {{2048, 2048, 112, 32}, 1e15},
                {{2048, 2048, 108, 1}, 1e15 / 2}};
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        ms_gemm_shape shape = ROWS[i].shape;
        double flop = 2 * shape.m * shape.n * shape.k * shape.batch;
        cr_assert_lt(fixture_gap(ms_gemm_time_s(&gpu, shape, 2), flop / ROWS[i].flop_per_s), 1e-12,
                     "row %zu", i);
    }
}
