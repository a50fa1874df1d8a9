#include "moe_fixture.h"

/* Four experts of a rank get 2,048 copies each: 2 x 2048 x 1024 x 1024 x 4 FLOP at 1e15 FLOP/s,
 * and 2 bytes of 2048 x 1024 in, 1024 x 1024 weights and 2048 x 1024 out, four times, at 1e13 B/s.
 */
Test(expert_products, are_calls_of_their_own) {
    const double ARITHMETIC = 17.179869184e-6, TRAFFIC = 4.194304e-6;
    const struct {
        double call_s, exposed, time_s;
    } ROWS[] = {{0, 0, ARITHMETIC},
                {0, 0.5, ARITHMETIC + TRAFFIC / 2},
                {0, 1, ARITHMETIC + TRAFFIC},
                {4e-6, 0, ARITHMETIC},
                {5e-6, 0, 20e-6},
                {5e-6, 1, ARITHMETIC + TRAFFIC}};
    ms_model model = fixture_small_moe(1);
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        ms_gpu_type gpu = fixture_ideal();
        gpu.products.grouped =
            (ms_grouped_rate){.call_s = ROWS[i].call_s, .exposed = ROWS[i].exposed};
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout.ep = 4;
        fixture_run(&fixture, &model, &gpu);
        cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
        cr_assert_lt(
            fixture_gap(fixture_kernel(&fixture.costs, "expert_up")->time_s, ROWS[i].time_s), 1e-12,
            "row %zu: %g", i, fixture_kernel(&fixture.costs, "expert_up")->time_s);
        fixture_clear(&fixture);
    }
}

/* An odd number of tokens for each expert leaves every row as long as it was. */
Test(expert_products, tokens_need_no_alignment) {
    ms_model model = fixture_small_moe(1);
    double times_s[2][2];
    for (int i = 0; i < 2; i++) {
        ms_gpu_type gpu = fixture_ideal();
        gpu.hbm_Bps = 1e300;
        gpu.products.unaligned = (ms_unaligned_rate){.share = 0.125, .batched_flop_per_s = 4e13};
        model.sequence =
            i == 0 ? 2048 : 2044; /* 512 and 511 for each of 16, 4 of which are chosen */
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture_run(&fixture, &model, &gpu);
        cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
        times_s[i][0] = fixture_kernel(&fixture.costs, "expert_up")->time_s;
        times_s[i][1] = fixture_kernel(&fixture.costs, "expert_up_weight_grad")->time_s;
        fixture_clear(&fixture);
    }
    cr_assert_lt(fixture_gap(times_s[1][0], times_s[0][0] * 511 / 512), 1e-12);
    cr_assert_lt(fixture_gap(times_s[1][1], times_s[0][1] * 511 / 512), 1e-12);
}

/* Microseconds for an expert, of 20 to 256, measured on a B200 with Transformer Engine.
 * Source: SimuMax (MooreThreads), system file b200_bf16_ceperm. */
Test(expert_products, are_as_slow_as_measured_on_a_b200) {
    const struct {
        int experts, tokens, hidden, ffn;
        double up_us, down_us;
    } ROWS[] = {{160, 154, 5120, 1536, 10.8, 9.3},  {256, 128, 7168, 2048, 16.1, 9.4},
                {40, 616, 5120, 1536, 18.6, 13.2},  {64, 512, 7168, 2048, 36.4, 15.6},
                {20, 1232, 5120, 1536, 33.5, 21.7}, {32, 1024, 7168, 2048, 58.5, 34.8}};
    double error = 0;
    size_t count = sizeof ROWS / sizeof ROWS[0];
    for (size_t i = 0; i < count; i++) {
        ms_gpu_type gpu = fixture_ideal();
        gpu.peak_flop_per_s = 2250e12;
        gpu.hbm_Bps = 8e12;
        gpu.memory_efficiency = 0.85;
        gpu.sms = 148;
        gpu.tile_m = gpu.tile_n = 128;
        gpu.gemm_efficiency = 0.49;
        gpu.gemm_depth_half = 158;
        gpu.products.grouped = (ms_grouped_rate){.call_s = 9e-6, .exposed = 0.55};
        ms_model model = fixture_small_moe(1);
        model.hidden = ROWS[i].hidden;
        model.moe.ffn = ROWS[i].ffn;
        model.moe.experts = ROWS[i].experts;
        model.moe.top_k = 1;
        model.sequence = ROWS[i].tokens * ROWS[i].experts;
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture_run(&fixture, &model, &gpu);
        cr_assert_eq(fixture.status, MS_OK, "%s", fixture.log.text);
        double up_us = 1e6 * fixture_kernel(&fixture.costs, "expert_up")->time_s / ROWS[i].experts;
        double down_us =
            1e6 * fixture_kernel(&fixture.costs, "expert_down")->time_s / ROWS[i].experts;
        error += fixture_gap(up_us, ROWS[i].up_us) + fixture_gap(down_us, ROWS[i].down_us);
        cr_assert(fixture_gap(up_us, ROWS[i].up_us) < 0.3 &&
                      fixture_gap(down_us, ROWS[i].down_us) < 0.3,
                  "row %zu: %g and %g us", i, up_us, down_us);
        fixture_clear(&fixture);
    }
    cr_assert_lt(error / (2.0 * (double)count), 0.15, "mean error %g",
                 error / (2.0 * (double)count));
}
