/**
 * @file
 * The maximum and the minimum of two numbers as inline comparisons, for loops over all operations
 * or links: fmax and fmin are calls of the mathematical library. Also the order of whole numbers.
 */
#ifndef MESHSIM_NUMBER_H
#define MESHSIM_NUMBER_H

/** The maximum of two numbers.  a: no NaN.  b: where it is NaN, `a` is returned. */
static inline double ms_max(double a, double b) {
    return b > a ? b : a;
}
/** Comparison of two int for qsort: ascending. */
static inline int ms_compare_ints(const void *a, const void *b) {
    int left = *(const int *)a;
    int right = *(const int *)b;
    return (left > right) - (left < right);
}
/** The minimum of two numbers; NaN as in ms_max. */
static inline double ms_min(double a, double b) {
    return b < a ? b : a;
}

#endif
