/* Cost and energy of a step against hand-made numbers. */
#include <criterion/criterion.h>
#include <math.h>

#include "cluster/platform/price.h"

/* Nodes of two GPUs: 300 W computing, 100 W waiting; 200 W the rest of a node, 50 W a GPU the
 * network; 3.6 USD/h a GPU. */
static ms_platform platform_of(double pue) {
    return (ms_platform){
        .gpus_per_node = 2,
        .gpu.clock.power = {.load_W = 300, .idle_W = 100},
        .upkeep = {.rent_USD_per_h = 3.6, .node_W = 200, .network_W = 50, .pue = pue}};
}

static void check_near(double value, double expected) {
    cr_assert_lt(fabs(value / expected - 1), 1e-12, "%.17g, not %.17g", value, expected);
}

Test(price, cost_and_energy_by_hand) {
    const ms_platform platform = platform_of(1.5);
    const ms_price_use use = {.gpus = 4, .step_s = 10, .busy_s = 6};
    check_near(ms_price_step_USD(&platform, &use), 0.001 * 4 * 10);
    /* a GPU computes 6 s and waits 4 s; its node and the network are on for 10 s */
    double gpu_J = 6 * 300 + 4 * 100 + 10 * (100 + 50);
    check_near(ms_price_step_J(&platform, &use), 1.5 * 4 * gpu_J);
}

Test(price, spare_gpus_wait_all_the_time) {
    const ms_platform platform = platform_of(1);
    const ms_price_use use = {.gpus = 4, .spare_gpus = 2, .step_s = 10, .busy_s = 10};
    check_near(ms_price_step_USD(&platform, &use), 0.001 * 6 * 10);
    check_near(ms_price_step_J(&platform, &use), 4 * 10 * 300 + 2 * 10 * 100 + 6 * 10 * (100 + 50));
}

Test(price, what_is_not_given_is_not_made_up) {
    const ms_price_use use = {.gpus = 4, .step_s = 10, .busy_s = 6};
    ms_platform platform = platform_of(1);
    cr_assert(ms_price_has_rent(&platform) && ms_price_has_power(&platform));
    platform.upkeep.rent_USD_per_h = 0;
    platform.upkeep.node_W = 0;
    cr_assert(!ms_price_has_rent(&platform) && !ms_price_has_power(&platform));
    cr_assert_eq(ms_price_step_USD(&platform, &use), 0);
    cr_assert_eq(ms_price_step_J(&platform, &use), 0);
    platform = platform_of(1);
    platform.gpu.clock.power = (ms_gpu_power){0};
    cr_assert(!ms_price_has_power(&platform));
    cr_assert_eq(ms_price_step_J(&platform, &use), 0);
}

/* Lower bounds of the two times give lower bounds of both, to the last bit. */
Test(price, grows_with_both_times) {
    const ms_platform platform = platform_of(1.1);
    double last_J = 0, last_USD = 0;
    for (int i = 0; i < 1000; i++) {
        const ms_price_use use = {.gpus = 7, .step_s = 1 + i * 1e-15, .busy_s = 0.3 + i * 1e-16};
        double energy_J = ms_price_step_J(&platform, &use);
        double cost_USD = ms_price_step_USD(&platform, &use);
        cr_assert_geq(energy_J, last_J);
        cr_assert_geq(cost_USD, last_USD);
        last_J = energy_J;
        last_USD = cost_USD;
    }
}
