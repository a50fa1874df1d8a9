/**
 * @file
 * The larger and the smaller of two numbers.
 */
#ifndef MESHSIM_NUMBER_H
#define MESHSIM_NUMBER_H

/** The larger of two numbers, neither of them a NaN: a comparison, where fmax is a call of the
 * mathematical library for the sake of NaNs. For loops over all operations or links. */
static inline double ms_larger(double a, double b) {
    return a > b ? a : b;
}
/** The smaller of two numbers, likewise. */
static inline double ms_smaller(double a, double b) {
    return a < b ? a : b;
}

#endif
