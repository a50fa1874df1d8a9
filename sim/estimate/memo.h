/* What has been worked out already, by the bytes of what it follows from. */
#ifndef MS_ESTIMATE_MEMO_H
#define MS_ESTIMATE_MEMO_H

#include <stdint.h>

#include "meshsim/buffer.h"
#include "meshsim/status.h"

/* Keys of one size, numbered in the order they were added. */
typedef struct ms_memo {
    ms_vector keys;  /* of key_B bytes each */
    ms_vector slots; /* open hash of numbers + 1, 0 free, each with its key's hash */
} ms_memo;

/* key_B: size of a key, whose unused bytes are 0. */
void ms_memo_init(ms_memo *memo, size_t key_B);
void ms_memo_release(ms_memo *memo);

/* A number that is another one for nearly every other run of bytes. */
uint64_t ms_memo_hash(const void *bytes, size_t size);

/* Number of a key, added if it is new.  *is_new_out: whether it was.  *number_out: from 0.  Returns
 * MS_OK; MS_E_NOMEM.  O(key_B). */
ms_status ms_memo_find(ms_memo *memo, const void *key, int *number_out, bool *is_new_out);

#endif
