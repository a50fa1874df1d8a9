/* How far two values differ, and whether the rules let that pass. */
#ifndef MS_STUDY_COMPARE_JUDGE_H
#define MS_STUDY_COMPARE_JUDGE_H

#include "search/compare.h"

/* The verdict of the rules on the two values of a key. */
typedef struct ms_compare_verdict {
    bool is_compared; /* the rules look at the quantity at all */
    bool differs;     /* the values differ by more than rounding, within the tolerance too */
    bool is_listed;   /* the values differ by more than the tolerance, or the guard is broken */
    bool has_failed;  /* the guard is broken */
    int guard;        /* as in ms_difference */
} ms_compare_verdict;

/* Relative change (b - a) / |a|; INFINITY where a value is no number, or a is 0. */
double ms_compare_relative(const ms_value *a, const ms_value *b);

/* Judge two leaves of a key. a, b: one of them may be NULL, for a missing value. O(rules). */
ms_compare_verdict ms_compare_judge(const ms_compare_rules *rules, const char *key,
                                    const ms_value *a, const ms_value *b);

#endif
