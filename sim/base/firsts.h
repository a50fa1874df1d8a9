/**
 * @file
 * Many lists in one array, as in compressed sparse rows (CSR): the items of list i are those from
 * index first[i] on, before first[i + 1].
 *
 * Such lists are made in three steps: count the items of list i at first[i + 1], call
 * ms_firsts_make, store each item at items[first[i]++], call ms_firsts_rewind.
 */
#ifndef MESHSIM_FIRSTS_H
#define MESHSIM_FIRSTS_H

#include <stdint.h>

/** Turn counts into first indices.  first: [lists + 1], the number of items of list i at i + 1, 0
 * at 0.  Returns the number of all items.  O(lists). */
static inline int32_t ms_firsts_make(int32_t *first, int32_t lists) {
    for (int32_t i = 0; i < lists; i++) {
        first[i + 1] += first[i];
    }
    return first[lists];
}

/** Move each first index, which storing the items has moved to the end of its list, back to the
 * beginning of the list.  first: [lists + 1].  O(lists). */
static inline void ms_firsts_rewind(int32_t *first, int32_t lists) {
    for (int32_t i = lists; i > 0; i--) {
        first[i] = first[i - 1];
    }
    first[0] = 0;
}

#endif
