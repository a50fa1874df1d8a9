/**
 * @file
 * Memos: tables that number keys and keep a value for each, so that a result is computed once for
 * each key. A key is a struct that holds everything that the result depends on.
 */
#ifndef MESHSIM_MEMO_H
#define MESHSIM_MEMO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/status.h"

/** Keys of one size, numbered in the order in which they were added. */
typedef struct ms_memo {
    ms_vector keys;   /**< of key_B bytes each */
    ms_vector values; /**< [keys] of value_B bytes each; none where value_B is 0 */
    ms_vector slots;  /**< hash table with open addressing: number + 1 of a key, 0 free, and hash */
} ms_memo;

/** An empty memo. Keys are compared byte by byte, so the padding of a key has to be 0.  key_B: size
 * of a key [B].  value_B: size of a value [B]; 0: the caller keeps the results, in the order of the
 * numbers. */
void ms_memo_init(ms_memo *memo, size_t key_B, size_t value_B);
/** Free the storage of a memo. */
void ms_memo_release(ms_memo *memo);

/** Find the number of a key. A key that the memo does not have is added, with a value of zeros.
 *  *number_out: from 0.  *is_new_out: whether the key was added.  Returns MS_OK; MS_E_NOMEM.
 * O(key_B). */
ms_status ms_memo_find_or_add(ms_memo *memo, const void *key, int *number_out, bool *is_new_out);

/** The value of a key by its number, as `type`. Its address is valid until a key is added. */
#define MS_MEMO_VALUE(memo, type, number) (&MS_AT(&(memo)->values, type, number))

/** The number of a key; -1 where the memo does not have the key.  O(key_B). */
int ms_memo_find(const ms_memo *memo, const void *key);

#endif
