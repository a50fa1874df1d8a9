/* Keys of guards and tolerances against the paths of quantities. */
#ifndef MS_STUDY_COMPARE_KEYS_H
#define MS_STUDY_COMPARE_KEYS_H

#include "search/compare.h"

/* How a key matches the path of a quantity. */
typedef enum ms_key_match {
    MS_KEY_NONE,     /* the key does not match the path */
    MS_KEY_ANCESTOR, /* the key is the path of an object or a list that has the quantity */
    MS_KEY_ITSELF    /* the key is the path of the quantity itself */
} ms_key_match;

/* How a key of a guard or a tolerance matches the path of a quantity; compare.h says how both are
 * written. O(length). */
ms_key_match ms_key_matches(const char *key, const char *path);

#endif
