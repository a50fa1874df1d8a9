/**
 * @file
 * Memos: numbers for what has been worked out already, by the bytes of what it follows from. What
 * was worked out stands in the caller's own array, in the order of the numbers.
 */
#ifndef MESHSIM_MEMO_H
#define MESHSIM_MEMO_H

#include <stdbool.h>
#include <stdint.h>

#include "meshsim/buffer.h"
#include "meshsim/decls.h"
#include "meshsim/status.h"

MS_BEGIN_DECLS

/** Keys of one size, numbered in the order they were added. */
typedef struct ms_memo {
    ms_vector keys;  /**< of key_B bytes each */
    ms_vector slots; /**< open hash of numbers + 1, 0 free, each with its key's hash */
} ms_memo;

/** An empty memo.  key_B: size of a key, whose unused bytes are 0. */
void ms_memo_init(ms_memo *memo, size_t key_B);
/** Free its storage. */
void ms_memo_release(ms_memo *memo);

/** A number that is another one for nearly every other run of bytes.  O(size). */
uint64_t ms_memo_hash(const void *bytes, size_t size);

/** Number of a key, added if it is new.
 *  *number_out: from 0.  *is_new_out: whether it was.  Returns MS_OK; MS_E_NOMEM.  O(key_B). */
ms_status ms_memo_find(ms_memo *memo, const void *key, int *number_out, bool *is_new_out);

/** Number of a key, -1: it was not added.  O(key_B). */
int ms_memo_look(const ms_memo *memo, const void *key);

MS_END_DECLS

#endif
