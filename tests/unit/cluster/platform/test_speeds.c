/* The slowest of many GPUs. */
#include "platform_fixture.h"

static ms_platform platform_of(double spread, ms_slow_nodes slow) {
    return (ms_platform){
        .nodes = 4096, .gpus_per_node = 8, .gpu.clock.spread = spread, .slow_nodes = slow};
}

/* Expected largest of n values of a normal distribution cut off at Tukey's fences, which are 8 %
 * apart: integrated numerically (the fence less the integral of the distribution's n-th power). */
Test(speeds, slowest_is_the_expected_largest_of_so_many) {
    const struct {
        int gpus;
        double time;
    } ROWS[] = {{2, 1.008169},   {7, 1.019470},    {8, 1.020469},     {64, 1.032249},
                {512, 1.038002}, {2048, 1.039383}, {12288, 1.039888}, {100000, 1.039986}};
    const ms_platform platform = platform_of(0.08, (ms_slow_nodes){0});
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        double time = ms_platform_slowest(&platform, ROWS[i].gpus, true);
        cr_assert_float_eq(time, ROWS[i].time, 8e-4, "%d GPUs: %.6f", ROWS[i].gpus, time);
    }
    cr_assert_eq(ms_platform_slowest(&platform, 1, true), 1, "a GPU waits for no other");
}

Test(speeds, slowest_of_more_is_no_faster_and_of_equal_ones_none) {
    const ms_platform platform = platform_of(0.2, (ms_slow_nodes){.share = 0.01, .time = 1.2});
    const ms_platform equal = platform_of(0, (ms_slow_nodes){0});
    double before = 1;
    for (int gpus = 1; gpus <= 32768; gpus *= 2) {
        double time = ms_platform_slowest(&platform, gpus, true);
        cr_assert_geq(time, before, "%d GPUs", gpus);
        cr_assert_leq(time, 1.1 * 1.2 + 1e-12);
        cr_assert_eq(ms_platform_slowest(&equal, gpus, true), 1);
        before = time;
    }
}

/* One node of a hundred takes a quarter longer: a job of one node meets it once in a hundred times,
 * a job of 1,000 nodes always. */
Test(speeds, slow_nodes_are_met_by_chance) {
    const ms_platform platform = platform_of(0, (ms_slow_nodes){.share = 0.01, .time = 1.25});
    cr_assert_float_eq(ms_platform_slowest(&platform, 8, true), 1.0025, 1e-12);
    cr_assert_float_eq(ms_platform_slowest(&platform, 4, true), 1.0025, 1e-12);
    cr_assert_float_eq(ms_platform_slowest(&platform, 16, true), 1 + 0.25 * (1 - 0.99 * 0.99),
                       1e-12);
    cr_assert_float_eq(ms_platform_slowest(&platform, 8000, true), 1.25, 2e-5);
    cr_assert_eq(ms_platform_slowest(&platform, 8000, false), 1, "they were replaced");
}
