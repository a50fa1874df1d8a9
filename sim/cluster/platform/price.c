/* Rent and energy of a step (price.h). */
#include "cluster/platform/price.h"

static const double HOUR_S = 3600.0;

bool ms_price_has_rent(const ms_platform *platform) {
    return platform->upkeep.rent_USD_per_h > 0.0;
}

bool ms_price_has_power(const ms_platform *platform) {
    return platform->gpu.clock.power.load_W > 0.0 && platform->upkeep.node_W > 0.0;
}

double ms_price_step_USD(const ms_platform *platform, const ms_price_use *use) {
    double rent_USD_per_s = platform->upkeep.rent_USD_per_h / HOUR_S;
    return rent_USD_per_s * (use->gpus + use->spare_gpus) * use->step_s;
}

/* Every term is a product of numbers that are not negative, and grows with step_s or busy_s, also
 * after rounding. So the energy is a lower bound where both times are lower bounds. */
double ms_price_step_J(const ms_platform *platform, const ms_price_use *use) {
    const ms_gpu_power *gpu = &platform->gpu.clock.power;
    const ms_upkeep *upkeep = &platform->upkeep;
    if (!ms_price_has_power(platform)) {
        return 0.0;
    }
    /* per GPU, whether it computes or not */
    double held_W = gpu->idle_W + upkeep->node_W / platform->gpus_per_node + upkeep->network_W;
    double held_J = held_W * (use->gpus + use->spare_gpus) * use->step_s;
    double computing_J = (gpu->load_W - gpu->idle_W) * use->gpus * use->busy_s;
    return (held_J + computing_J) * upkeep->pue;
}

const char *ms_price_energy_convention(void) {
    return "GPUs at load power while their compute streams run, at idle power otherwise; rest of "
           "the nodes and network constant; times PUE";
}
