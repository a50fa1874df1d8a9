/* Values of inputs, as users write them. */
#ifndef MS_STUDY_COMPARE_INPUTS_H
#define MS_STUDY_COMPARE_INPUTS_H

#include <stdbool.h>

/* Whether two texts of one key say the same: equal texts, or one quantity in other words, such as
 * "400 Gbit/s" and "50GB/s".  O(length * dimensions). */
bool ms_compare_says_the_same(const char *a, const char *b);

#endif
