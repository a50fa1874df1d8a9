/**
 * @file
 * The maximum and the minimum of two numbers, in line: a comparison, where fmax and fmin are calls
 * of the mathematical library. For loops over all operations or links.
 */
#ifndef MESHSIM_NUMBER_H
#define MESHSIM_NUMBER_H

/** The maximum of two numbers.  a: no NaN.  b: a NaN stands for nothing, then `a` is returned. */
static inline double ms_max(double a, double b) {
    return b > a ? b : a;
}
/** The minimum of two numbers, likewise. */
static inline double ms_min(double a, double b) {
    return b < a ? b : a;
}

#endif
