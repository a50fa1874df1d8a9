/**
 * @file
 * Random numbers that are the same on every machine.
 */
#ifndef MESHSIM_RANDOM_H
#define MESHSIM_RANDOM_H

#include <stdint.h>

/** State of one stream; any value is a valid seed. */
typedef struct ms_random {
    uint64_t state;
} ms_random;

/** Bits of `z` mixed one to one, so that any change of them changes about half of the result.
 *  Source: Steele, Lea, Flood, OOPSLA'14, SplitMix64's finaliser. */
static inline uint64_t ms_random_mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
}

/** Next 64 uniform bits.  Source: Steele, Lea, Flood, OOPSLA'14, SplitMix64. */
static inline uint64_t ms_random_next(ms_random *random) {
    return ms_random_mix(random->state += 0x9E3779B97F4A7C15U);
}

/** Uniform double in [0, 1) with 53 random bits. */
static inline double ms_random_unit(ms_random *random) {
    return (double)(ms_random_next(random) >> 11) /
           9007199254740992.0; /* 2^53, in digits that every C++ reads */
}

/** Uniform integer in [low, high]; high >= low. The bias, below (high-low)/2^64, is accepted. */
static inline int64_t ms_random_range(ms_random *random, int64_t low, int64_t high) {
    return low + (int64_t)(ms_random_next(random) % (uint64_t)(high - low + 1));
}

#endif
