/* How much slower than the type's typical GPU the slowest of a job computes. */
#include <math.h>

#include "cluster/platform/platform.h"

/* Half of the range between Tukey's fences, in standard deviations of a normal distribution: the
 * quartile at 0.6745 and one and a half times the range between both quartiles. */
static const double FENCE = 4 * 0.674489750196082;

/* Share of a normal distribution below x standard deviations. */
static double normal_share(double x) {
    return 0.5 * erfc(-x / sqrt(2));
}

/* Where a share of a normal distribution between the fences is reached, by bisection [standard
 * deviations]. */
static double quantile(double share) {
    double below = normal_share(-FENCE);
    double wanted = below + share * (1 - 2 * below);
    double low = -FENCE, high = FENCE;
    for (int i = 0; i < 40; i++) {
        double middle = 0.5 * (low + high);
        *(normal_share(middle) < wanted ? &low : &high) = middle;
    }
    return 0.5 * (low + high);
}

/* Expected largest of n values: Blom, Statistical Estimates and Transformed Beta-Variables (1958),
 * which is within 1 % of the exact mean for a whole normal distribution and here leads to
 * times within 0.1 %. */
static double largest_of(double n) {
    const double BLOM = 0.375;
    return n > 1 ? quantile((n - BLOM) / (n + 1 - 2 * BLOM)) : 0;
}

static double slowest_of(const ms_gpu_type *gpu, double gpus) {
    return 1 + 0.5 * gpu->clock.spread / FENCE * largest_of(gpus);
}

double ms_platform_slowest(const ms_platform *platform, int gpus, bool has_slow_nodes) {
    const ms_slow_nodes *slow = &platform->slow_nodes;
    double ordinary = slowest_of(&platform->gpu, gpus);
    if (!has_slow_nodes || slow->share <= 0) {
        return ordinary;
    }
    double per_node = platform->gpus_per_node;
    double nodes = ceil(gpus / per_node);
    double none = pow(1 - slow->share, nodes);
    double expected =
        slow->share * nodes / (1 - none); /* number of slow nodes in jobs that have at least one */
    double slowed = slow->time * slowest_of(&platform->gpu, fmin(gpus, expected * per_node));
    return none * ordinary + (1 - none) * fmax(ordinary, slowed);
}
