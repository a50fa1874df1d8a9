/* Keys of guards and tolerances against the paths of quantities. */
#ifndef MS_STUDY_COMPARE_KEYS_H
#define MS_STUDY_COMPARE_KEYS_H

#include "search/compare.h"

typedef enum ms_key_match {
    MS_KEY_NONE,  /* the key does not hold for the path */
    MS_KEY_ABOVE, /* it names a family that the path belongs to */
    MS_KEY_ITSELF /* it names the path, and nothing else below it */
} ms_key_match;

/* How a key stands to the path of a quantity; compare.h says how both are written.  O(length). */
ms_key_match ms_key_holds(const char *key, const char *path);

#endif
