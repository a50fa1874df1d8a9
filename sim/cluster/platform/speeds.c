/* How many times as long as a typical GPU the slowest GPU of a job computes (ms_platform_slowest);
 * a step whose ranks wait for each other runs at its pace. See speeds.md for the model and its
 * sources. */
#include <math.h>

#include "cluster/platform/platform.h"

/* Distance of Tukey's fences from the mean of a normal distribution, in standard deviations: the
 * upper quartile q = 0.6745, and 1.5 times the range between both quartiles, q + 1.5 * 2q = 4q. */
static const double FENCE = 4 * 0.674489750196082;

/* Share of a normal distribution below x standard deviations. */
static double normal_share(double x) {
    return 0.5 * erfc(-x / sqrt(2));
}

/* The value below which a share of a normal distribution lies that is cut at the fences, by
 * bisection [standard deviations]. */
static double quantile(double share) {
    double below = normal_share(-FENCE);
    double wanted = below + share * (1 - 2 * below);
    double low = -FENCE, high = FENCE;
    for (int i = 0; i < 40; i++) { /* to 5.4 / 2^40 standard deviations */
        double middle = 0.5 * (low + high);
        *(normal_share(middle) < wanted ? &low : &high) = middle;
    }
    return 0.5 * (low + high);
}

/* Expected largest of n values of the cut normal distribution [standard deviations]. Source: Blom,
 * Statistical Estimates and Transformed Beta-Variables (1958), which is within 1 % of the exact
 * mean for a whole normal distribution, and here leads to times within 0.1 %. */
static double largest_of(double n) {
    const double BLOM = 0.375;
    return n > 1 ? quantile((n - BLOM) / (n + 1 - 2 * BLOM)) : 0;
}

/* Expected time of the slowest of so many ordinary GPUs over that of the typical one. The range
 * `spread` is 2 * FENCE standard deviations. */
static double slowest_of(const ms_gpu_type *gpu, double gpus) {
    return 1 + 0.5 * gpu->clock.spread / FENCE * largest_of(gpus);
}

/* The mean of two cases: no node of the job is slow, or some are, and the slowest GPU of these
 * decides. */
double ms_platform_slowest(const ms_platform *platform, int gpus, bool has_slow_nodes) {
    const ms_slow_nodes *slow = &platform->slow_nodes;
    double ordinary = slowest_of(&platform->gpu, gpus);
    if (!has_slow_nodes || slow->share <= 0) {
        return ordinary;
    }
    double per_node = platform->gpus_per_node;
    double nodes = ceil(gpus / per_node);
    double none = pow(1 - slow->share, nodes); /* probability that no node of the job is slow */
    /* mean number of slow nodes in jobs that have at least one */
    double expected = slow->share * nodes / (1 - none);
    double slowed = slow->time * slowest_of(&platform->gpu, fmin(gpus, expected * per_node));
    return none * ordinary + (1 - none) * fmax(ordinary, slowed);
}
