/* How far two values differ, and whether the rules let that pass. */
#ifndef MS_STUDY_COMPARE_JUDGE_H
#define MS_STUDY_COMPARE_JUDGE_H

#include "search/compare.h"

/* Whether the rules let two values of one key pass. */
typedef struct ms_compare_verdict {
    bool is_compared; /* it is looked at at all */
    bool is_listed;   /* it differs by more than the tolerance, or has failed */
    bool has_failed;
    int guard; /* as in ms_difference */
} ms_compare_verdict;

/* (b - a) / |a|; INFINITY where one of them is no number, or a is 0. */
double ms_compare_relative(const ms_value *a, const ms_value *b);

/* Judge two leaves, of which one may be NULL for missing.  O(rules). */
ms_compare_verdict ms_compare_judge(const ms_compare_rules *rules, const char *key,
                                    const ms_value *a, const ms_value *b);

#endif
